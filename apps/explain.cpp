// explain: the program of a plan, a line a step, with what each sends and, on request, its measured seconds.
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/model.h"
#include "apps/report.h"
#include "apps/terminal.h"
#include "shardwise/program/traffic.h"

namespace shardwise {
namespace {

using Json = nlohmann::ordered_json;

struct ExplainOptions : RunFlags {
  int64_t prefill = 0, decode = 0;
  bool measure = false;
};

// One step measured on the engine, as the median of several runs: seconds by program step, of the slowest rank.
Result<std::vector<double>> measured(const Model& model, const Plan& plan, const ExplainOptions& o) {
  constexpr int kRuns = 5;
  const int64_t past = o.prefill > 0 ? 0 : o.decode - 1, tokens = o.prefill > 0 ? o.prefill : 1;
  auto engine = start_engine(model, plan, o, 1, past + tokens);
  if (!engine) return engine.error();
  auto ids = [&](int64_t n) {
    std::vector<int> all;
    for (int64_t i = 0; i < n; ++i) all.push_back(int(i * 7919 % model.spec.vocab));
    return all;
  };
  for (int64_t done = 0; done < past;) {
    const int64_t n = std::min<int64_t>(kPrefillTokens, past - done);
    (*engine)->wait(*(*engine)->submit({{0, ids(n), 0}}));
    done += n;
  }
  std::vector<std::vector<double>> runs;
  for (int i = 0; i <= kRuns; ++i) {
    (*engine)->truncate(0, past);
    const auto job = (*engine)->submit({{0, ids(tokens), 1}}, true);
    (*engine)->wait(*job);
    if (i == 0) continue;  // the first binds the program
    std::vector<double> slowest(job->step->program.steps.size(), 0);
    for (const auto& rank : job->seconds)
      for (size_t s = 0; s < slowest.size(); ++s) slowest[s] = std::max(slowest[s], rank[s]);
    runs.push_back(std::move(slowest));
  }
  std::vector<double> median(runs[0].size());
  for (size_t s = 0; s < median.size(); ++s) {
    std::vector<double> all;
    for (const auto& r : runs) all.push_back(r[s]);
    std::nth_element(all.begin(), all.begin() + kRuns / 2, all.end());
    median[s] = all[kRuns / 2];
  }
  return median;
}

Status run(const ExplainOptions& o) {
  const auto plan = resolve_plan(o.plan);
  if (!plan) return plan.error();
  auto model = open_model(o.model);
  if (!model) return model.error();
  if (const Status s = check_layers(*plan, (*model)->spec.layers); !s) return s;
  BatchShape shape;
  shape.chunks = {o.prefill > 0 ? BatchShape::Chunk{0, o.prefill, 1} : BatchShape::Chunk{o.decode - 1, 1, 1}};
  shape = in_units(std::move(shape), *plan);
  const CacheFormat cache = o.cache == "f32" ? CacheFormat::F32 : CacheFormat::F16;
  const Program p = compile(forward((*model)->spec, shape, cache), *plan);
  std::vector<double> seconds;
  if (o.measure) {
    auto m = measured(**model, *plan, o);
    if (!m) return m.error();
    seconds = std::move(*m);
    if (seconds.size() != p.steps.size())
      return fail("the program that ran has {} steps, the one explained {}", seconds.size(), p.steps.size());
  }
  Json steps = Json::array();
  double total_s = 0;
  for (size_t i = 0; i < p.steps.size(); ++i) {
    const Step& s = p.steps[i];
    double bytes = 0;
    for (int rank = 0; rank < p.mesh.ranks(); ++rank) bytes = std::max(bytes, sent_bytes(p, s, rank));
    if (o.measure) total_s += seconds[i];
    if (o.json) {
      Json line = {{"stage", s.stage}, {"layer", s.layer}, {"step", text(p, s)}, {"wire_bytes", bytes}};
      if (o.measure) line["measured_s"] = seconds[i];
      steps.push_back(std::move(line));
      continue;
    }
    const std::string sent = bytes > 0 ? human_bytes(bytes) : "";
    std::cout << (o.measure ? fmt::format("{:9.1f} us ", seconds[i] * 1e6) : "")
              << fmt::format("{:>10}  {}.{}  {}\n", sent, s.stage, s.layer, text(p, s));
  }
  double most_bytes = 0, all_bytes = 0;
  for (int rank = 0; rank < p.mesh.ranks(); ++rank) {
    most_bytes = std::max(most_bytes, sent_bytes(p, rank));
    all_bytes += sent_bytes(p, rank);
  }
  if (o.json) {
    std::cout << Json{{"plan", plan->text},
                      {"ranks", p.mesh.ranks()},
                      {"steps", std::move(steps)},
                      {"wire_bytes", most_bytes},
                      {"wire_bytes_per_token", all_bytes / double(o.prefill > 0 ? o.prefill : 1)}}
                     .dump()
              << "\n";
  } else {
    std::cout << fmt::format("{} steps on {} ranks; the busiest rank sends {}", p.steps.size(), p.mesh.ranks(),
                             human_bytes(most_bytes));
    std::cout << (o.measure ? fmt::format("; {:.2f} ms measured\n", total_s * 1e3) : "\n");
  }
  return {};
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto o = std::make_shared<ExplainOptions>();
  CLI::App* c = app.add_subcommand("explain", "the program of a plan, a line a step");
  add_run_flags(*c, *o);
  auto* prefill =
      c->add_option("--prefill", o->prefill, "of a prompt of so many tokens")->check(CLI::Range(1, 1 << 20));
  c->add_option("--decode", o->decode, "of the token after so many (default 512)")
      ->check(CLI::Range(1, 1 << 24))
      ->excludes(prefill);
  c->add_flag("--measure", o->measure, "run it, and put the seconds beside each step");
  c->callback([o, &action] {
    if (o->prefill == 0 && o->decode == 0) o->decode = 512;
    action = [o] { return run(*o); };
  });
}

}  // namespace shardwise
