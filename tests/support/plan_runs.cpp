// The same steps, whatever the plan.
#include "tests/support/plan_runs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shardwise {

int token_at(int sequence, int64_t position, int64_t vocab) { return int((position * 31 + sequence * 17 + 5) % vocab); }

std::vector<std::vector<float>> run_course(const OpenModel& model, const std::string& text, const Course& course) {
  const auto plan = parse_plan(text);
  EXPECT_TRUE(plan) << plan.error().what;
  if (!plan) return {};
  EngineOptions o;
  o.plan = *plan, o.sequences = course.sequences, o.unit = course.unit, o.threads = course.threads,
  o.cache = course.cache;
  o.context = 1;
  for (int s = 0; s < course.sequences; ++s) {
    int64_t length = 0;
    for (const auto& step : course.steps) length += step[size_t(s)];
    o.context = std::max(o.context, length);
  }
  auto engine = Engine::start(model.file, model.spec, o);
  EXPECT_TRUE(engine) << text << ": " << engine.error().what;
  if (!engine) return {};
  std::vector<std::vector<float>> logits;
  for (const auto& step : course.steps) {
    std::vector<Chunk> chunks;
    for (int s = 0; s < course.sequences; ++s) {
      if (step[size_t(s)] == 0) continue;
      Chunk c{s, {}, step[size_t(s)]};
      for (int i = 0; i < step[size_t(s)]; ++i)
        c.ids.push_back(token_at(s, (*engine)->length(s) + i, model.spec.vocab));
      chunks.push_back(std::move(c));
    }
    const auto job = (*engine)->submit(std::move(chunks));
    (*engine)->wait(*job);
    logits.push_back(job->logits);
  }
  return logits;
}

double difference(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0, largest = 0;
  for (size_t s = 0; s < a.size(); ++s) {
    if (a[s].size() != b[s].size()) return std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < a[s].size(); ++i) {
      if (!std::isfinite(a[s][i]) || !std::isfinite(b[s][i])) return std::numeric_limits<double>::infinity();
      worst = std::max(worst, std::fabs(double(a[s][i]) - double(b[s][i])));
      largest = std::max(largest, std::fabs(double(a[s][i])));
    }
  }
  return largest > 0 ? worst / largest : worst;
}

}  // namespace shardwise
