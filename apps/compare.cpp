// compare: one rank, then the three ways of sharding on N ranks, measured side by side. A rank has the same threads in
// every plan, so N ranks have N times the hardware of one.
#include <algorithm>
#include <iostream>

#include "apps/commands.h"
#include "apps/model.h"
#include "apps/report.h"
#include "apps/terminal.h"

namespace shardwise {
namespace {

using Json = nlohmann::ordered_json;

struct CompareOptions : RunFlags {
  int ranks = 2, tokens = 32, batch = 8;
  int64_t prompt = 256;
};

struct Row {
  std::string plan, way;
  int ranks = 1;
  std::vector<int64_t> weights, cache;
  double ttft_ms = 0, tpot_ms = 0, prefill_tps = 0, decode_tps = 0;  // one sequence
  double batch_tps = 0;                                              // of all sequences together, prompts included
  double wire_bytes = 0, comm_share = 0;
  int64_t steps = 0;  // on the way of a token, through all stages
  int64_t peak = 0;
  std::string hash;
  std::vector<int> tokens;

  double largest_weights() const { return double(*std::max_element(weights.begin(), weights.end())); }
  double largest_cache() const { return double(*std::max_element(cache.begin(), cache.end())); }
};

std::vector<Request> requests(const CompareOptions& o, const ModelSpec& spec, int sequences) {
  std::vector<Request> all(static_cast<size_t>(sequences));
  for (size_t s = 0; s < all.size(); ++s) {
    for (int64_t i = 0; i < o.prompt; ++i)
      all[s].prompt.push_back(int((i * 7919 + int64_t(s) * 104729 + 11) % spec.vocab));
    all[s].max_tokens = o.tokens;
  }
  return all;
}

Result<Row> measure(const CompareOptions& o, const Model& model, const std::string& text, const std::string& way) {
  const auto plan = parse_plan(text);
  if (!plan) return plan.error();
  auto started = start_engine(model, *plan, o, o.batch, o.prompt + o.tokens);
  if (!started) return started.error();
  Engine& engine = **started;
  auto run = [&](int sequences, bool measured) -> Result<Generation> {
    for (int s = 0; s < o.batch; ++s) engine.truncate(s, 0);
    GenerationOptions options;
    options.measure = measured;
    return generate(engine, requests(o, model.spec, sequences), options);
  };
  Row row;
  row.plan = text, row.way = way, row.ranks = engine.mesh().ranks();
  std::vector<Generation> ones;
  for (int i = 0; i < 4; ++i) {  // the first warms caches and binds programs
    auto one = run(1, false);
    if (!one) return one.error();
    if (i > 0) ones.push_back(std::move(*one));
  }
  std::sort(ones.begin(), ones.end(), [](const auto& a, const auto& b) {
    return a.times.ttft_s + a.times.decode_s < b.times.ttft_s + b.times.decode_s;
  });
  const Generation& median = ones[ones.size() / 2];
  row.ttft_ms = median.times.ttft_s * 1e3, row.tpot_ms = median.times.tpot_s(1) * 1e3;
  row.prefill_tps = median.times.prefill_tps(), row.decode_tps = median.times.decode_tps();
  row.hash = hex(median.answers[0].logits_hash), row.tokens = median.answers[0].tokens;
  row.cache = engine.cache_bytes();  // of one sequence
  row.wire_bytes = wire_bytes_per_token(engine, o.prompt);
  auto measured = run(1, true);
  if (!measured) return measured.error();
  row.comm_share = measured->times.comm_share;
  for (int i = 0; i < 2; ++i) {
    auto many = run(o.batch, false);
    if (!many) return many.error();
    const GenerationTimes& t = many->times;
    row.batch_tps = std::max(row.batch_tps, double(o.batch * o.tokens) / (t.ttft_s + t.decode_s));
  }
  row.weights = engine.weight_bytes();
  BatchShape decode;
  decode.chunks.assign(size_t(o.batch), {0, 0, 0});
  decode.chunks[0] = {o.prompt, 1, 1};
  row.steps = int64_t(engine.program(decode).steps.size());
  row.peak = private_bytes();
  return row;
}

// What the figures say about sharding this model on this machine.
std::string verdict(const CompareOptions& o, const std::vector<Row>& rows) {
  const Row& one = rows[0];
  const auto fastest =
      std::min_element(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.tpot_ms < b.tpot_ms; });
  const auto smallest = std::min_element(
      rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.largest_weights() < b.largest_weights(); });
  const auto busiest =
      std::max_element(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.batch_tps < b.batch_tps; });
  std::string s = fmt::format(
      "One rank holds the whole model in {}: where that fits and {:.1f} ms a token is soon enough, do not shard.",
      human_bytes(one.largest_weights()), one.tpot_ms);
  if (fastest != rows.begin())
    s += fmt::format(" For latency, {} answers {:.2f} times as fast, {:.0f} % of its time in communication.",
                     fastest->plan, one.tpot_ms / fastest->tpot_ms, 100 * fastest->comm_share);
  else
    s += " No plan here makes a single answer faster: what sharding costs is more than it gains.";
  if (smallest != rows.begin())
    s += fmt::format(" For size, {} holds {:.0f} % of the weights on its largest rank.", smallest->plan,
                     100 * smallest->largest_weights() / one.largest_weights());
  if (busiest != rows.begin())
    s += fmt::format(" For {} sequences at once, {} gives {:.2f} times the tokens per second.", o.batch, busiest->plan,
                     busiest->batch_tps / one.batch_tps);
  return s;
}

void print(const CompareOptions& o, const std::vector<Row>& rows) {
  std::cout << fmt::format("prompt {} tokens, answer {}, {} sequences for throughput, {} thread(s) a rank\n\n",
                           o.prompt, o.tokens, o.batch, rows.empty() ? 0 : std::max(1, o.threads));
  std::cout << fmt::format("{:<10} {:<12} {:>12} {:>11} {:>9} {:>9} {:>10} {:>12} {:>7} {:>7}\n", "plan", "cuts",
                           "weights/rank", "cache/rank", "TTFT", "TPOT", "tokens/s", "sent/token", "comm", "steps+");
  for (const Row& r : rows)
    std::cout << fmt::format("{:<10} {:<12} {:>12} {:>11} {:>6.0f} ms {:>6.2f} ms {:>10.1f} {:>12} {:>5.0f} % {:>7}\n",
                             r.plan, r.way, human_bytes(r.largest_weights()), human_bytes(r.largest_cache()), r.ttft_ms,
                             r.tpot_ms, r.batch_tps, human_bytes(r.wire_bytes), 100 * r.comm_share,
                             r.steps - rows[0].steps);
  std::cout << "\n" << verdict(o, rows) << "\n";
}

Json json(const Row& r, const Row& one) {
  return {{"plan", r.plan},
          {"way", r.way},
          {"ranks", r.ranks},
          {"weight_bytes", r.weights},
          {"cache_bytes", r.cache},
          {"peak_bytes", r.peak},
          {"ttft_ms", r.ttft_ms},
          {"tpot_ms", r.tpot_ms},
          {"prefill_tps", r.prefill_tps},
          {"decode_tps", r.decode_tps},
          {"throughput_tps", r.batch_tps},
          {"wire_bytes_per_token", r.wire_bytes},
          {"comm_share", r.comm_share},
          {"steps_added", r.steps - one.steps},
          {"logits_hash", r.hash},
          {"tokens", r.tokens}};
}

Status run(CompareOptions o) {
  auto model = open_model(o.model);
  if (!model) return model.error();
  const int cores = int(usable_cores().size());
  if (o.threads == 0) o.threads = std::max(1, cores / o.ranks);
  const auto n = std::to_string(o.ranks);
  const std::pair<std::string, std::string> ways[] = {{"none", "nothing"},
                                                      {"tp=" + n, "weights"},
                                                      {"cp=" + n, "activations"},
                                                      {"dp=" + n, "sequences"},
                                                      {"pp=" + n, "layers"}};
  std::vector<Row> rows;
  ProgressBar bar("measuring");
  for (const auto& [plan, way] : ways) {
    bar.show(double(rows.size()) / double(std::size(ways)));
    auto row = measure(o, **model, plan, way);
    if (!row) return row.error();
    rows.push_back(std::move(*row));
  }
  if (!o.json) return print(o, rows), Status{};
  Json j;
  j["prompt_tokens"] = o.prompt, j["n"] = o.tokens, j["batch"] = o.batch, j["threads"] = o.threads;
  for (const Row& r : rows) j["plans"].push_back(json(r, rows[0]));
  j["verdict"] = verdict(o, rows);
  std::cout << j.dump() << "\n";
  return {};
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto o = std::make_shared<CompareOptions>();
  CLI::App* c = app.add_subcommand("compare", "one rank, then the three ways of sharding, side by side");
  c->add_option("MODEL", o->model, "a .gguf (or its first part), or a folder with config.json and safetensors")
      ->required();
  c->add_option("--ranks", o->ranks, "of each way")->check(CLI::Range(2, 64))->capture_default_str();
  c->add_option("--prompt-tokens", o->prompt, "tokens of the prompt")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->add_option("-n", o->tokens, "tokens of the answer")->check(CLI::Range(2, 1 << 20))->capture_default_str();
  c->add_option("--batch", o->batch, "sequences at once, for throughput")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  c->add_option("--threads", o->threads, "of each rank; by default the ranks share the cores")
      ->check(CLI::Range(1, 1024));
  c->add_flag("--json", o->json, "one JSON object on stdout");
  c->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace shardwise
