// With stages, chunks of prompts and groups of sequences are submitted ahead, so that each stage has something to do.
#include "shardwise/engine/generate.h"

#include <algorithm>
#include <chrono>
#include <deque>

#include "shardwise/base/check.h"

namespace shardwise {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

class Generator {
 public:
  Generator(Engine& engine, const std::vector<Request>& requests, const GenerationOptions& options)
      : engine_(engine), requests_(requests), options_(options), answers_(requests.size()), last_(requests.size(), -1) {
    for (const Request& r : requests) samplers_.emplace_back(r.sampling), histories_.push_back(r.prompt);
  }

  Generation run() {
    const auto begin = Clock::now();
    prefill();
    times_.ttft_s = since(begin);
    const auto first = Clock::now();
    decode();
    times_.decode_s = since(first);
    if (busy_s_ > 0) times_.comm_share = comm_s_ / busy_s_;
    return {std::move(answers_), times_};
  }

 private:
  struct Flight {
    std::shared_ptr<Job> job;
    std::vector<int> wanted;  // sequences whose logits it gives, in their order
    int64_t tokens = 0;
  };

  // Chunks take tokens of one sequence after another. With stages they are smaller, so that there are at least two a
  // stage.
  int64_t chunk_tokens(int64_t all) const {
    if (engine_.stages() == 1) return kPrefillTokens;
    return std::clamp<int64_t>(all / (2 * engine_.stages()), 32, kPrefillTokens);
  }

  void prefill() {
    int64_t all = 0, done = 0;
    for (const Request& r : requests_) all += int64_t(r.prompt.size());
    times_.prompt_tokens = all;
    const int64_t most = chunk_tokens(all);
    std::deque<Flight> flights;
    auto land = [&] {
      done += flights.front().tokens;
      finish(flights);
      if (options_.on_prefill) options_.on_prefill(done, all);
    };
    Flight next;
    std::vector<Chunk> chunks;
    auto launch = [&] {
      if (chunks.empty()) return;
      next.job = engine_.submit(std::move(chunks), options_.measure);
      flights.push_back(std::move(next));
      next = {}, chunks.clear();
      while (int(flights.size()) > 2 * engine_.stages()) land();
    };
    for (size_t s = 0; s < requests_.size(); ++s) {
      const std::vector<int>& prompt = requests_[s].prompt;
      for (int64_t at = 0, size = int64_t(prompt.size()); at < size && !cancelled();) {
        const int64_t n = std::min(size - at, most - next.tokens);
        const bool last = at + n == size;
        chunks.push_back({int(s), {prompt.begin() + at, prompt.begin() + at + n}, last ? 1 : 0});
        if (last) next.wanted.push_back(int(s));
        next.tokens += n, at += n;
        if (next.tokens == most) launch();
      }
    }
    launch();
    while (!flights.empty()) land();
  }

  void decode() {
    const int groups = std::min(engine_.stages(), int(requests_.size()));
    std::deque<Flight> flights;
    for (int g = 0; g < groups; ++g) {
      std::vector<int> members;
      for (int s = g; s < int(requests_.size()); s += groups) members.push_back(s);
      submit(flights, members);
    }
    while (!flights.empty()) {
      const std::vector<int> members = flights.front().wanted;
      finish(flights);
      submit(flights, members);
    }
    for (Answer& a : answers_)
      if (a.finish.empty()) a.finish = cancelled() ? "cancelled" : "length";
  }

  // The next step of those of a group that go on.
  void submit(std::deque<Flight>& flights, const std::vector<int>& members) {
    Flight next;
    std::vector<Chunk> chunks;
    for (int s : members) {
      if (last_[size_t(s)] < 0 || !answers_[size_t(s)].finish.empty() || cancelled()) continue;
      chunks.push_back({s, {last_[size_t(s)]}, 1});
      next.wanted.push_back(s);
    }
    if (chunks.empty()) return;
    next.job = engine_.submit(std::move(chunks), options_.measure);
    flights.push_back(std::move(next));
  }

  // Waits for the oldest step and takes a token from each row of its logits.
  void finish(std::deque<Flight>& flights) {
    const Flight f = std::move(flights.front());
    flights.pop_front();
    engine_.wait(*f.job);
    if (options_.measure) measure(*f.job);
    const auto vocabulary = size_t(engine_.spec().vocab);
    for (size_t i = 0; i < f.wanted.size(); ++i)
      take(size_t(f.wanted[i]), std::span(f.job->logits).subspan(i * vocabulary, vocabulary));
  }

  void take(size_t s, std::span<const float> logits) {
    const Request& r = requests_[s];
    Answer& a = answers_[s];
    const bool first = last_[s] < 0;
    if (r.max_tokens == 0 || cancelled()) {
      a.finish = r.max_tokens == 0 ? "length" : "cancelled";
      return;
    }
    const int id = samplers_[s].next(logits, histories_[s]);
    times_.decode_tokens += !first;
    a.logits_hash = hash_logits(logits, a.logits_hash);
    if (std::find(r.stops.begin(), r.stops.end(), id) != r.stops.end()) {
      a.finish = "stop";
      return;
    }
    last_[s] = id;
    histories_[s].push_back(id);
    a.tokens.push_back(id);
    a.margins.push_back(margin(logits));
    if (r.logprobs > 0) {
      a.logprobs.push_back(logprob(logits, id));
      a.most_likely.push_back(most_likely(logits, r.logprobs));
    }
    if (options_.on_token) options_.on_token(int(s), id);
    if (int(a.tokens.size()) == r.max_tokens) a.finish = "length";
  }

  void measure(const Job& job) {
    const Program& p = job.step->program;
    for (const std::vector<double>& seconds : job.seconds)
      for (size_t i = 0; i < seconds.size(); ++i) {
        busy_s_ += seconds[i];
        if (!std::holds_alternative<Compute>(p.steps[i].op)) comm_s_ += seconds[i];
      }
  }

  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed); }

  Engine& engine_;
  const std::vector<Request>& requests_;
  const GenerationOptions& options_;
  std::vector<Answer> answers_;
  std::vector<int> last_;  // token of each sequence that is not in the cache yet
  std::vector<Sampler> samplers_;
  std::vector<std::vector<int>> histories_;
  GenerationTimes times_;
  double busy_s_ = 0, comm_s_ = 0;
};

}  // namespace

Result<Generation> generate(Engine& engine, const std::vector<Request>& requests, const GenerationOptions& options) {
  if (int(requests.size()) > engine.sequences())
    return fail("{} requests for {} sequences", requests.size(), engine.sequences());
  for (size_t s = 0; s < requests.size(); ++s) {
    const Request& r = requests[s];
    if (r.prompt.empty()) return fail("the prompt has no tokens; give some text");
    if (r.max_tokens < 0) return fail("an answer of {} tokens is asked for, expected 0 or more", r.max_tokens);
    if (const Status ok = check_sampling(r.sampling); !ok) return ok.error();
    const int64_t needed = engine.length(int(s)) + int64_t(r.prompt.size()) + std::max(0, r.max_tokens - 1);
    if (needed > engine.context())
      return fail(
          "the prompt of {} tokens and an answer of {} need {} rows of the cache, {} are there; shorten the prompt or "
          "ask for fewer tokens",
          engine.length(int(s)) + int64_t(r.prompt.size()), r.max_tokens, needed, engine.context());
    for (int id : r.prompt)
      if (id < 0 || id >= engine.spec().vocab)
        return fail("token id {} in the prompt, expected 0 to {}", id, engine.spec().vocab - 1);
  }
  return Generator(engine, requests, options).run();
}

}  // namespace shardwise
