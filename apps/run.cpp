// run: answers a prompt, or chats.
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "apps/commands.h"
#include "apps/model.h"
#include "apps/report.h"
#include "apps/terminal.h"
#include "shardwise/text/stream.h"
#include "shardwise/text/utf8.h"

namespace shardwise {
namespace {

using Json = nlohmann::ordered_json;

struct RunOptions : RunFlags {
  std::string prompt, system;
  bool has_prompt = false, raw = false;
  int tokens = 128, logprobs = 0;
  int64_t context = 0;
  SamplingOptions sampling;
};

// Turns ids into text as they come, and shows it at once.
class Printer {
 public:
  Printer(const Tokenizer& tokenizer, bool shows) : tokenizer_(tokenizer), shows_(shows) {}

  void add(int id) {
    if (!tokenizer_.is_special(id)) show(stream_.push(tokenizer_.token_bytes(id)));
  }
  std::string finish() {
    show(stream_.finish());
    return text_;
  }

 private:
  void show(const std::string& s) {
    text_ += s;
    if (!shows_ || s.empty()) return;
    std::cout << s << std::flush;
  }

  const Tokenizer& tokenizer_;
  const bool shows_;
  TextStream stream_;
  std::string text_;
};

class Runner {
 public:
  Runner(const RunOptions& o, Model& model, const Plan& plan) : o_(o), model_(model), plan_(plan) {}

  Status once() {
    Json messages = Json::array();
    if (!o_.system.empty()) messages.push_back({{"role", "system"}, {"content", o_.system}});
    messages.push_back({{"role", "user"}, {"content", o_.prompt}});
    auto pieces = prompt_of(messages);
    if (!pieces) return pieces.error();
    const std::vector<int> ids = model_.tokenizer.with_ends(model_.tokenizer.encode(*pieces));
    const int64_t context = o_.context > 0 ? o_.context : int64_t(ids.size()) + std::max(o_.tokens, 1);
    auto engine = start_engine(model_, plan_, o_, 1, context);
    if (!engine) return engine.error();
    auto answer = answer_to(**engine, ids);
    if (!answer) return answer.error();
    if (o_.json) return print_json(**engine, *answer, concatenate(*pieces));
    std::cout << "\n\n";
    print_figures(**engine, *answer);
    return {};
  }

  Status chat() {
    const int64_t context = o_.context > 0 ? o_.context : std::clamp<int64_t>(model_.spec.context, 512, 4096);
    auto engine = start_engine(model_, plan_, o_, 1, context);
    if (!engine) return engine.error();
    Json messages = Json::array();
    if (!o_.system.empty()) messages.push_back({{"role", "system"}, {"content", o_.system}});
    const bool terminal = isatty(STDIN_FILENO) == 1;
    for (std::string line;;) {
      if (terminal) std::cout << "> " << std::flush;
      if (!std::getline(std::cin, line) || line == "/quit") break;
      if (line.empty()) continue;
      messages.push_back({{"role", "user"}, {"content", line}});
      auto pieces = prompt_of(messages);
      if (!pieces) return pieces.error();
      auto answer = answer_to(**engine, model_.tokenizer.with_ends(model_.tokenizer.encode(*pieces)));
      if (!answer) return answer.error();
      std::cout << "\n" << std::flush;
      messages.push_back({{"role", "assistant"}, {"content", text_}});
      last_ = std::move(*answer);
      if (interrupted()) break;
    }
    if (!last_.answers.empty()) print_figures(**engine, last_);
    return {};
  }

 private:
  Result<std::vector<Piece>> prompt_of(const Json& messages) const {
    if (!o_.raw) return render_chat(model_.file, model_.tokenizer, messages, nullptr);
    return std::vector<Piece>{{messages.back()["content"].get<std::string>(), false}};
  }

  // What the cache holds of the prompt already is not computed again.
  Result<Generation> answer_to(Engine& engine, const std::vector<int>& ids) {
    const size_t known = std::min(cached_.size(), ids.empty() ? 0 : ids.size() - 1);
    const auto same =
        size_t(std::mismatch(ids.begin(), ids.begin() + std::ptrdiff_t(known), cached_.begin()).first - ids.begin());
    engine.truncate(0, int64_t(same));
    Request r;
    r.prompt.assign(ids.begin() + std::ptrdiff_t(same), ids.end());
    r.max_tokens = o_.tokens, r.sampling = o_.sampling, r.stops = model_.tokenizer.stops(), r.logprobs = o_.logprobs;
    Printer printer(model_.tokenizer, !o_.json);
    ProgressBar bar("reading the prompt");
    GenerationOptions options;
    options.on_token = [&](int, int id) { printer.add(id); };
    options.on_prefill = [&](int64_t done, int64_t all) { bar.show(double(done) / double(all)); };
    options.cancel = &interrupted();
    auto generation = generate(engine, {r}, options);
    if (!generation) return generation.error();
    text_ = printer.finish();
    cached_ = ids;
    const std::vector<int>& answered = generation->answers[0].tokens;
    cached_.insert(cached_.end(), answered.begin(), answered.end());
    cached_.resize(std::min(cached_.size(), size_t(engine.length(0))));
    return generation;
  }

  Status print_json(Engine& engine, const Generation& g, const std::string& prompt) const {
    const Answer& a = g.answers[0];
    Json j = report(engine);
    add_times(j, g.times, 1);
    j["prompt"] = sanitised(prompt);
    j["prompt_tokens"] = g.times.prompt_tokens;
    j["text"] = sanitised(text_);
    j["tokens"] = a.tokens;
    j["margins"] = a.margins;
    j["finish"] = a.finish;
    j["logits_hash"] = hex(a.logits_hash);
    if (o_.logprobs > 0) {
      Json steps = Json::array();
      for (size_t i = 0; i < a.most_likely.size(); ++i) {
        Json top = Json::array();
        for (const TokenChance& c : a.most_likely[i])
          top.push_back(
              {{"id", c.id}, {"token", sanitised(model_.tokenizer.token_bytes(c.id))}, {"logprob", c.logprob}});
        steps.push_back({{"id", a.tokens[i]}, {"logprob", a.logprobs[i]}, {"top", std::move(top)}});
      }
      j["logprobs"] = std::move(steps);
    }
    std::cout << j.dump() << "\n";
    return {};
  }

  void print_figures(Engine& engine, const Generation& g) const {
    std::cout << fmt::format(
        "plan {} on {} {}, {} {} each   TTFT {:.0f} ms ({} tokens)   TPOT {:.2f} ms   {:.0f} tokens/s\n",
        engine.plan().text, engine.mesh().ranks(), engine.mesh().ranks() == 1 ? "rank" : "ranks", engine.threads(),
        engine.threads() == 1 ? "thread" : "threads", g.times.ttft_s * 1e3, g.times.prompt_tokens,
        g.times.tpot_s(1) * 1e3, g.times.decode_tps());
    const auto weights = engine.weight_bytes(), cache = engine.cache_bytes();
    std::cout << "memory";
    for (size_t r = 0; r < weights.size(); ++r)
      std::cout << fmt::format("{} rank {}: weights {}, cache {}", r > 0 ? ";" : "", r, human_bytes(double(weights[r])),
                               human_bytes(double(cache[r])));
    std::cout << fmt::format("   logits hash {}\n", hex(g.answers[0].logits_hash)) << std::flush;
  }

  const RunOptions& o_;
  Model& model_;
  const Plan& plan_;
  std::string text_;
  std::vector<int> cached_;  // ids whose rows the cache holds
  Generation last_;
};

Status run(const RunOptions& o) {
  if (const Status s = check_sampling(o.sampling); !s) return s;
  if (!o.has_prompt && o.json) return fail("--json answers one prompt; give it with -p");
  const auto plan = resolve_plan(o.plan);
  if (!plan) return plan.error();
  auto model = open_model(o.model);
  if (!model) return model.error();
  interrupted();  // from here on Ctrl-C ends cleanly, while loading too
  Runner runner(o, **model, *plan);
  return o.has_prompt ? runner.once() : runner.chat();
}

}  // namespace

void add_run_flags(CLI::App& command, RunFlags& f) {
  command.add_option("MODEL", f.model, "a .gguf (or its first part), or a folder with config.json and safetensors")
      ->required();
  command.add_option("--plan", f.plan, "what is cut where: none, tp=2, cp=2:ring, pp=2,tp=2 ...")
      ->capture_default_str();
  command.add_option("--threads", f.threads, "of each rank; by default the ranks share the cores")
      ->check(CLI::Range(1, 1024));
  command.add_option("--cache", f.cache, "type of cache rows")
      ->check(CLI::IsMember({"f16", "f32"}))
      ->capture_default_str();
  command.add_flag("--json", f.json, "one JSON object on stdout");
}

void add_run(CLI::App& app, Action& action) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* c = app.add_subcommand("run", "answers a prompt, or chats when there is no -p");
  add_run_flags(*c, *o);
  CLI::Option* prompt = c->add_option("-p,--prompt", o->prompt, "the prompt");
  c->add_option("--system", o->system, "a system message before it");
  c->add_option("-n", o->tokens, "tokens to answer at most")->check(CLI::Range(0, 1 << 24))->capture_default_str();
  c->add_option("--context", o->context, "rows of the cache; by default what prompt and answer need")
      ->check(CLI::Range(1, 1 << 24));
  c->add_option("--temp", o->sampling.temperature, "temperature; 0: greedy")->capture_default_str();
  c->add_option("--top-k", o->sampling.top_k, "only so many most likely tokens; 0: all")->capture_default_str();
  c->add_option("--top-p", o->sampling.top_p, "only the most likely tokens with that much probability together")
      ->capture_default_str();
  c->add_option("--min-p", o->sampling.min_p, "only tokens with that share of the most likely one's probability")
      ->capture_default_str();
  c->add_option("--repeat-penalty", o->sampling.repeat_penalty, "makes the last 64 tokens less likely; 1: not")
      ->capture_default_str();
  c->add_option("--seed", o->sampling.seed, "of the draws")->check(CLI::NonNegativeNumber)->capture_default_str();
  c->add_option("--logprobs", o->logprobs, "with --json: so many most likely tokens at each step")
      ->check(CLI::Range(0, 1000));
  c->add_flag("--raw", o->raw, "no chat template; control tokens in the text count as text");
  c->callback([o, prompt, &action] {
    o->has_prompt = prompt->count() > 0;
    action = [o] { return run(*o); };
  });
}

}  // namespace shardwise
