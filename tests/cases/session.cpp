// Faults of a test's own set-up throw, and so fail the test that has them.
#include "tests/cases/session.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <stdexcept>

#include "tests/support/plan_runs.h"

namespace shardwise {

Session::Session(const OpenModel& model, const std::string& text, const SessionOptions& o) {
  const auto plan = parse_plan(text);
  if (!plan) throw std::runtime_error(plan.error().what);
  EngineOptions options;
  options.plan = *plan, options.sequences = o.sequences, options.context = o.context, options.unit = o.unit;
  options.cache = CacheFormat::F32;
  auto engine = Engine::start(model.file, model.spec, options);
  if (!engine) throw std::runtime_error(engine.error().what);
  engine_ = std::move(*engine);
}

std::vector<float> Session::step(std::vector<Chunk> chunks) {
  const auto job = engine_->submit(std::move(chunks));
  engine_->wait(*job);
  return job->logits;
}

std::vector<float> Session::fresh(const std::vector<int>& ids) { return fresh(ids, ids.size()); }

std::vector<float> Session::fresh(const std::vector<int>& ids, size_t in_chunks_of) {
  engine_->truncate(0, 0);
  std::vector<float> all;
  for (size_t at = 0; at < ids.size(); at += in_chunks_of) {
    const auto begin = ids.begin() + std::ptrdiff_t(at);
    const auto part = add(0, {begin, begin + std::ptrdiff_t(std::min(in_chunks_of, ids.size() - at))});
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<float> Session::last(const std::vector<float>& logits) const {
  return {logits.end() - std::ptrdiff_t(engine_->spec().vocab), logits.end()};
}

Answer Session::answer(Request request) {
  engine_->truncate(0, 0);
  auto generated = generate(*engine_, {std::move(request)});
  if (!generated) throw std::runtime_error(generated.error().what);
  return std::move(generated->answers[0]);
}

std::vector<int> random_ids(size_t n, int64_t vocab, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> ids(n);
  for (int& id : ids) id = int(random() % uint32_t(vocab));
  return ids;
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  return difference(std::vector<std::vector<float>>{a}, std::vector<std::vector<float>>{b});
}

WallLimit::WallLimit(std::chrono::seconds limit)
    : watch_([this, limit] {
        std::unique_lock lock(mutex_);
        if (ended_.wait_for(lock, limit, [this] { return over_; })) return;
        std::fprintf(stderr, "not done after %lld s\n", static_cast<long long>(limit.count()));
        std::_Exit(1);
      }) {}

WallLimit::~WallLimit() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  watch_.join();
}

}  // namespace shardwise
