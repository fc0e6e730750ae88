// perplexity: over windows of a text, second half of each, in the way llama.cpp measures it.
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>

#include "apps/commands.h"
#include "apps/model.h"
#include "apps/report.h"
#include "apps/terminal.h"

namespace shardwise {
namespace {

struct PerplexityOptions : RunFlags {
  std::string path;
  int64_t context = 512, chunks = 0;
};

constexpr int64_t kScoredAtOnce = 64;  // tokens whose logits are held together

// Sum of the negative log probabilities of the second half of a window, each given all before it.
double score(Engine& engine, const std::vector<int>& window) {
  const auto n = int64_t(window.size()), first = n / 2;
  const auto vocabulary = size_t(engine.spec().vocab);
  double nll = 0;
  engine.truncate(0, 0);
  for (int64_t at = 0; at < n - 1;) {
    const bool scored = at >= first;
    const int64_t size = scored ? std::min(kScoredAtOnce, n - 1 - at) : std::min(kPrefillTokens, first - at);
    const auto job = engine.submit({{0, {window.begin() + at, window.begin() + at + size}, scored ? size : 0}});
    engine.wait(*job);
    for (int64_t i = 0; scored && i < size; ++i)
      nll -= logprob(std::span(job->logits).subspan(size_t(i) * vocabulary, vocabulary), window[size_t(at + i + 1)]);
    at += size;
  }
  return nll;
}

Status run(const PerplexityOptions& o) {
  std::ifstream in(o.path, std::ios::binary);
  if (!in) return fail("{}: can not be read; give a text file with -f", o.path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto plan = resolve_plan(o.plan);
  if (!plan) return plan.error();
  auto model = open_model(o.model);
  if (!model) return model.error();
  const Tokenizer& tokenizer = (*model)->tokenizer;
  const std::vector<int> ids = tokenizer.with_ends(tokenizer.encode(text, true));
  const bool bos = !ids.empty() && ids[0] == tokenizer.bos();
  int64_t windows = int64_t(ids.size()) / o.context;
  if (o.chunks > 0) windows = std::min(windows, o.chunks);
  if (windows == 0) return fail("{}: {} tokens, a window has {}; give a longer text or a smaller --ctx", o.path, ids.size(), o.context);
  auto engine = start_engine(**model, *plan, o, 1, o.context);
  if (!engine) return engine.error();
  ProgressBar bar("measuring");
  double nll = 0;
  for (int64_t w = 0; w < windows; ++w) {
    std::vector<int> window(ids.begin() + w * o.context, ids.begin() + (w + 1) * o.context);
    if (bos) window[0] = tokenizer.bos();
    nll += score(**engine, window);
    bar.show(double(w + 1) / double(windows));
  }
  const int64_t scored = windows * (o.context - o.context / 2 - 1);
  const double perplexity = std::exp(nll / double(scored));
  if (o.json) {
    nlohmann::ordered_json j = report(**engine);
    j["perplexity"] = perplexity, j["chunks"] = windows, j["ctx"] = o.context, j["scored_tokens"] = scored;
    std::cout << j.dump() << "\n";
  } else {
    std::cout << fmt::format("perplexity {:.4f} over {} tokens in {} windows of {}, plan {}\n", perplexity, scored, windows, o.context, plan->text);
  }
  return {};
}

}  // namespace

void add_perplexity(CLI::App& app, Action& action) {
  auto o = std::make_shared<PerplexityOptions>();
  CLI::App* c = app.add_subcommand("perplexity", "of a text: how surprised the model is by it");
  add_run_flags(*c, *o);
  c->add_option("-f,--file", o->path, "the text")->required();
  c->add_option("--ctx", o->context, "tokens of a window")->check(CLI::Range(4, 1 << 20))->capture_default_str();
  c->add_option("--chunks", o->chunks, "windows at most; 0: the whole text")->check(CLI::Range(0, 1 << 20));
  c->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace shardwise
