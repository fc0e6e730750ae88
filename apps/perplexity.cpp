// perplexity: over windows of a text, second half of each, in the way llama.cpp measures it.
#include "shardwise/engine/perplexity.h"

#include <iostream>

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

Status run(const PerplexityOptions& o) {
  const auto text = read_text(o.path, "give a text file with -f");
  if (!text) return text.error();
  const auto plan = resolve_plan(o.plan);
  if (!plan) return plan.error();
  auto model = open_model(o.model);
  if (!model) return model.error();
  const Tokenizer& tokenizer = (*model)->tokenizer;
  const std::vector<int> ids = tokenizer.with_ends(tokenizer.encode(*text, true));
  const int bos = !ids.empty() && ids[0] == tokenizer.bos() ? ids[0] : -1;
  const int64_t windows = window_count(int64_t(ids.size()), o.context, o.chunks);
  if (windows == 0)
    return fail("{}: {} tokens, a window has {}; give a longer text or a smaller --ctx", o.path, ids.size(), o.context);
  auto engine = start_engine(**model, *plan, o, 1, o.context);
  if (!engine) return engine.error();
  ProgressBar bar("measuring");
  const Perplexity p = perplexity(**engine, ids, o.context, windows, bos, [&](double done) { bar.show(done); });
  if (o.json) {
    nlohmann::ordered_json j = report(**engine);
    j["perplexity"] = p.value, j["chunks"] = p.windows, j["ctx"] = o.context, j["scored_tokens"] = p.scored_tokens;
    std::cout << j.dump() << "\n";
  } else {
    std::cout << fmt::format("perplexity {:.4f} over {} tokens in {} windows of {}, plan {}\n", p.value,
                             p.scored_tokens, p.windows, o.context, plan->text);
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
