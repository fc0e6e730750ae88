// The walk: every worker of the rank takes its share of each step, with a barrier after each.
#include "shardwise/engine/executor.h"

#include <algorithm>
#include <chrono>

#include "shardwise/base/check.h"
#include "shardwise/engine/bind.h"

namespace shardwise {

namespace {
constexpr size_t kBoundPrograms = 32;
}

KvPool::KvPool(const Program& p, int rank, kernel::CacheType type, int64_t pages) : type_(type) {
  for (const Step& s : p.steps) {
    const auto* c = std::get_if<Compute>(&s.op);
    if (!c || c->kind != OpKind::Append || s.stage != p.stage(rank)) continue;
    const Value& cache = p.value(c->in.back());
    const int64_t heads = range(*cache.find(Dim::K), cache.layout, p.mesh, rank).size;
    page_bytes_ = heads * kernel::page_head_bytes(type, cache.find(Dim::H)->size / 2);
    layers_.emplace(s.layer, Buffer(size_t(pages * page_bytes_), Buffer::Touch::Sparse));
  }
}

Executor::Executor(World& world, const ModelSpec& spec, const RankWeights& weights, KvPool& pool,
                   const CacheIndex& index, int workers)
    : world_(world), spec_(spec), weights_(weights), pool_(pool), index_(index), workers_(workers), team_(workers) {}

Executor::~Executor() = default;

void Executor::grow(Buffer& b, int64_t bytes) {
  if (b.bytes() < size_t(bytes)) b = Buffer(size_t(bytes));
}

int64_t Executor::scratch_bytes() const {
  return int64_t(arena_.bytes() + quantized_.bytes() + padded_.bytes() + outgoing_.bytes() + incoming_.bytes());
}

const Executor::Bound& Executor::bind(const std::shared_ptr<CompiledStep>& compiled) {
  const auto known = std::find_if(bound_.begin(), bound_.end(), [&](const Bound& b) { return b.compiled == compiled; });
  if (known != bound_.end()) {
    std::rotate(known, known + 1, bound_.end());
    return bound_.back();
  }
  if (bound_.size() == kBoundPrograms) bound_.erase(bound_.begin());
  auto binder = std::make_unique<Binder>(*this, compiled->program);
  std::vector<BoundStep> steps = binder->run();
  bound_.push_back({compiled, std::move(binder), std::move(steps)});
  return bound_.back();
}

void Executor::run(Job& job, int worker) {
  using Clock = std::chrono::steady_clock;
  if (worker == 0) current_ = &bind(job.step);
  if (workers_ > 1) team_.wait();
  const Run now{job, {worker, workers_}};
  auto* seconds = job.measure && worker == 0 ? &job.seconds[size_t(world_.rank)] : nullptr;
  if (seconds != nullptr) seconds->assign(job.step->program.steps.size(), 0);
  for (const BoundStep& s : current_->steps) {
    const auto begin = seconds != nullptr ? Clock::now() : Clock::time_point{};
    s.run(now);
    if (workers_ > 1) team_.wait();
    if (seconds != nullptr) (*seconds)[size_t(s.step)] += std::chrono::duration<double>(Clock::now() - begin).count();
  }
}

}  // namespace shardwise
