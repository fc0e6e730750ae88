// bench: tokens per second of prefill and decode, each with its spread.
#include <algorithm>
#include <iostream>

#include "apps/commands.h"
#include "apps/model.h"
#include "apps/report.h"

namespace shardwise {
namespace {

struct BenchOptions : RunFlags {
  int64_t prompt = 512;
  int tokens = 64, repeat = 5, batch = 1;
};

struct Spread {
  double least, median, most;
};

Spread spread(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return {all.front(), all[all.size() / 2], all.back()};
}

nlohmann::ordered_json json(const Spread& s) { return {{"min", s.least}, {"median", s.median}, {"max", s.most}}; }

Status run(const BenchOptions& o) {
  const auto plan = resolve_plan(o.plan);
  if (!plan) return plan.error();
  auto model = open_model(o.model);
  if (!model) return model.error();
  auto engine = start_engine(**model, *plan, o, o.batch, o.prompt + o.tokens + 1);
  if (!engine) return engine.error();
  std::vector<Request> requests(static_cast<size_t>(o.batch));
  for (size_t s = 0; s < requests.size(); ++s) {
    for (int64_t i = 0; i < o.prompt; ++i)
      requests[s].prompt.push_back(int((i * 7919 + int64_t(s) * 104729) % (*model)->spec.vocab));
    requests[s].max_tokens = o.tokens + 1;  // the first comes with the prompt
  }
  std::vector<double> prefill, decode, ttft, tpot;
  for (int i = 0; i <= o.repeat; ++i) {
    for (int s = 0; s < o.batch; ++s) (*engine)->truncate(s, 0);
    auto g = generate(**engine, requests);
    if (!g) return g.error();
    if (i == 0) continue;  // warms caches and binds programs
    prefill.push_back(g->times.prefill_tps()), decode.push_back(g->times.decode_tps());
    ttft.push_back(g->times.ttft_s * 1e3), tpot.push_back(g->times.tpot_s(o.batch) * 1e3);
  }
  const Spread p = spread(prefill), d = spread(decode);
  if (o.json) {
    nlohmann::ordered_json j = report(**engine);
    j["batch"] = o.batch, j["prompt_tokens"] = o.prompt, j["n"] = o.tokens, j["repeat"] = o.repeat;
    j["prefill_tps"] = p.median, j["decode_tps"] = d.median;
    j["ttft_ms"] = spread(ttft).median, j["tpot_ms"] = spread(tpot).median;
    j["prefill_tps_spread"] = json(p), j["decode_tps_spread"] = json(d);
    std::cout << j.dump() << "\n";
    return {};
  }
  std::cout << fmt::format("plan {}, {} threads a rank, batch {}\n", plan->text, (*engine)->threads(), o.batch);
  std::cout << fmt::format("prefill {:5}  {:8.1f} tokens/s  ({:.1f} to {:.1f})\n", o.prompt, p.median, p.least, p.most);
  std::cout << fmt::format("decode  {:5}  {:8.1f} tokens/s  ({:.1f} to {:.1f})\n", o.tokens, d.median, d.least, d.most);
  return {};
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto o = std::make_shared<BenchOptions>();
  CLI::App* c = app.add_subcommand("bench", "tokens per second of prefill and decode, each with its spread");
  add_run_flags(*c, *o);
  c->add_option("-p", o->prompt, "tokens of the prompt")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  c->add_option("-n", o->tokens, "tokens decoded")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  c->add_option("--batch", o->batch, "sequences at once")->check(CLI::Range(1, 4096))->capture_default_str();
  c->add_option("--repeat", o->repeat, "runs counted, after one that is not")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  c->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace shardwise
