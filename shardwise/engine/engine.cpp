// Starting, feeding and ending the threads of all ranks.
#include "shardwise/engine/engine.h"

#include <algorithm>

#include "shardwise/base/check.h"
#include "shardwise/engine/arrange.h"

namespace shardwise {

namespace {

constexpr uint32_t kRing = 64;            // jobs under way at most
constexpr size_t kCompiledPrograms = 32;  // shapes remembered
constexpr int64_t kLeastRows = 256;       // S counts in powers of two, so that growing contexts share programs

kernel::CacheType kernel_type(CacheFormat f) {
  return f == CacheFormat::F16 ? kernel::CacheType::F16 : kernel::CacheType::F32;
}

BatchShape rounded(BatchShape shape) {
  int64_t past = kLeastRows;
  for (const auto& c : shape.chunks)
    while (past < c.past) past *= 2;
  for (auto& c : shape.chunks) c.past = c.tokens > 0 ? past : 0;
  return shape;
}

}  // namespace

struct Engine::Rank {
  RankWeights weights;
  KvPool pool;
  Executor executor;

  Rank(World& world, const ModelSpec& spec, const Program& p, const CacheIndex& index, const EngineOptions& o)
      : weights(p, world.rank, spec.norm_offset),
        pool(p, world.rank, kernel_type(o.cache), index.pages_reserved()),
        executor(world, spec, weights, pool, index, o.threads) {}
};

Engine::Engine(const ModelFile& file, const ModelSpec& spec, EngineOptions options)
    : file_(file),
      spec_(spec),
      options_(std::move(options)),
      worlds_(thread_worlds(options_.plan.mesh)),
      lengths_(size_t(options_.sequences), 0),
      ring_(kRing),
      loaded_(int(worlds_.size()) * options_.threads) {}

BatchShape in_units(BatchShape shape, const Plan& plan, int64_t unit) {
  const int64_t all = shape.tokens();
  const bool cuts = std::any_of(plan.rules.begin(), plan.rules.end(),
                                [](const Rule& r) { return r.dim == Dim::T || r.dim == Dim::S; });
  if (!cuts || all < 2 * unit) {
    shape.unit = std::max<int64_t>(1, all);
    return shape;
  }
  for (auto& [past, tokens, wanted] : shape.chunks) {
    if (tokens == 0) continue;
    const int64_t before = past % unit;
    past -= before, tokens = (before + tokens + unit - 1) / unit * unit;
  }
  shape.unit = unit;
  return shape;
}

Result<std::unique_ptr<Engine>> Engine::start(const ModelFile& file, const ModelSpec& spec, EngineOptions options) {
  if (const Status s = check_layers(options.plan, spec.layers); !s) return s.error();
  if (const Status s = file.verify_unchanged(); !s) return s.error();
  std::unique_ptr<Engine> engine(new Engine(file, spec, std::move(options)));
  if (const Status s = engine->load(); !s) return s.error();
  if (const Status s = file.verify_unchanged(); !s) return s.error();
  return engine;
}

Status Engine::load() {
  BatchShape decode;
  decode.chunks.assign(size_t(options_.sequences), {0, 0, 0});
  decode.chunks[0] = {0, 1, 1};
  const Program& p = compiled(decode)->program;
  for (const std::string& fault : check(p))
    return fail("plan '{}' gives a program that breaks a rule: {}", options_.plan.text, fault);
  index_ = std::make_unique<CacheIndex>(p.mesh, row_layout(p).cache_layout, options_.sequences, options_.context);
  for (World& world : worlds_) {
    ranks_.push_back(std::make_unique<Rank>(world, spec_, p, *index_, options_));
    bytes_to_load_ += ranks_.back()->weights.bytes();
  }
  for (int rank = 0; rank < int(worlds_.size()); ++rank)
    for (int worker = 0; worker < options_.threads; ++worker)
      if (rank + worker > 0) threads_.emplace_back([this, rank, worker] { work(rank, worker); });
  load_share(0, 0);
  return {};
}

Engine::~Engine() {
  if (!threads_.empty()) post(std::make_shared<Job>());
  for (std::thread& t : threads_) t.join();
  unpin();
}

void Engine::load_share(int rank, int worker) {
  const std::vector<int> cores = usable_cores();
  const size_t workers = worlds_.size() * size_t(options_.threads);
  if (workers <= cores.size() && workers > 1)
    pin_to_core(cores[size_t(rank * options_.threads + worker)]);
  else
    unpin();
  const bool reports = rank == 0 && worker == 0 && options_.progress;
  ranks_[size_t(rank)]->weights.load(file_, {worker, options_.threads}, [&](int64_t bytes) {
    const int64_t done = bytes_loaded_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (reports) options_.progress(double(done) / double(bytes_to_load_));
  });
  loaded_.wait();
  if (reports) options_.progress(1);
}

void Engine::work(int rank, int worker) {
  load_share(rank, worker);
  for (uint32_t n = 0;; ++n) {
    posted_.wait_for(n + 1);
    const std::shared_ptr<Job> job = ring_[n % kRing];
    if (!job->step) return;
    run(*job, rank, worker);
  }
}

void Engine::run(Job& job, int rank, int worker) {
  ranks_[size_t(rank)]->executor.run(job, worker);
  if (worker == 0 && job.missing.fetch_sub(1, std::memory_order_acq_rel) == 1) job.done.raise();
}

void Engine::post(std::shared_ptr<Job> job) {
  std::shared_ptr<Job>& place = ring_[submitted_ % kRing];
  if (place) wait(*place);
  place = std::move(job);
  ++submitted_;
  posted_.raise();
}

std::shared_ptr<CompiledStep> Engine::compiled(const BatchShape& shape) {
  const BatchShape key = rounded(shape);
  const auto known = std::find_if(compiled_.begin(), compiled_.end(), [&](const auto& c) { return c->shape == key; });
  if (known != compiled_.end()) {
    std::rotate(known, known + 1, compiled_.end());
    return compiled_.back();
  }
  if (compiled_.size() == kCompiledPrograms) compiled_.erase(compiled_.begin());
  auto step = std::make_shared<CompiledStep>();
  step->shape = key;
  step->program = compile(forward(spec_, key, options_.cache), options_.plan);
  step->rows = row_layout(step->program);
  step->token_cuts = step->rows.token_layout;
  for (const Step& s : step->program.steps)
    if (const auto* c = std::get_if<Compute>(&s.op);
        c && (c->kind == OpKind::Attend || c->kind == OpKind::AttendPart)) {
      const Layout& q = step->program.value(c->in[0]).layout;
      for (int a = 0; a < int(mesh().axes.size()); ++a)
        if (q[a] == split(Dim::T)) step->token_cuts[a] = q[a];
      break;
    }
  // A cut by sequence must find each sequence in its place.
  for (const Value& v : step->program.values)
    for (int a = 0; a < int(mesh().axes.size()); ++a)
      if (v.has(Dim::T) && v.layout[a] == split(Dim::B)) step->token_cuts[a] = v.layout[a];
  compiled_.push_back(step);
  return step;
}

std::shared_ptr<Job> Engine::submit(std::vector<Chunk> chunks, bool measure) {
  std::sort(chunks.begin(), chunks.end(), [](const Chunk& a, const Chunk& b) { return a.slot < b.slot; });
  for (size_t i = 0; i < chunks.size(); ++i) {
    const Chunk& c = chunks[i];
    CHECK(!c.ids.empty() && (i == 0 || c.slot != chunks[i - 1].slot), "slot {} is there twice, or without tokens",
          c.slot);
    CHECK(length(c.slot) + int64_t(c.ids.size()) <= options_.context, "slot {}: {} + {} tokens of {}", c.slot,
          length(c.slot), c.ids.size(), options_.context);
    for (int id : c.ids) CHECK(id >= 0 && id < spec_.vocab, "token {} of {}", id, spec_.vocab);
  }
  BatchShape asked;
  asked.chunks.assign(size_t(options_.sequences), {0, 0, 0});
  std::vector<int> holders(size_t(options_.sequences), -1);
  for (const Chunk& c : chunks) {
    const auto n = int64_t(c.ids.size()), past = length(c.slot);
    asked.chunks[size_t(c.slot)] = {past, n, std::min(n, c.wanted)};
    if (past % kernel::kPageRows == 0) continue;
    if (const int part = index_->holder(c.slot, int32_t(past)); part >= 0)
      holders[size_t(c.slot)] = index_->rank_of(part);
  }
  BatchShape shape = in_units(asked, options_.plan, options_.unit);
  auto job = std::make_shared<Job>();
  job->step = compiled(shape);
  auto arranged = arrange(asked, shape, job->step->rows, job->step->token_cuts, holders);
  if (!arranged) {  // tokens are few, and their pages lie badly: every rank computes them all
    shape = in_units(asked, options_.plan, asked.tokens());
    job->step = compiled(shape);
    arranged = arrange(asked, shape, job->step->rows, job->step->token_cuts, holders);
  }
  CHECK(arranged.has_value(), "tokens of an uncut step can not be placed");
  const CompiledStep& step = *job->step;
  const std::vector<int64_t>& order = *arranged;
  std::vector<int32_t> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[size_t(order[i])] = int32_t(i);

  job->ids.assign(order.size(), 0), job->positions.assign(order.size(), -1), job->slots.assign(order.size(), 0);
  for (const Chunk& c : chunks) {
    const auto [past, tokens, wanted] = shape.chunks[size_t(c.slot)];
    const auto first = size_t(step.rows.tokens.sequences[size_t(c.slot)]), before = size_t(length(c.slot) - past);
    for (size_t i = 0; i < size_t(tokens); ++i) job->slots[size_t(place[first + i])] = c.slot;
    for (size_t i = 0; i < c.ids.size(); ++i) {
      const auto at = size_t(place[first + before + i]);
      job->ids[at] = c.ids[i], job->positions[at] = int32_t(past) + int32_t(before + i);
    }
    for (int64_t i = wanted; i > 0; --i) job->wanted.push_back(place[first + before + c.ids.size() - size_t(i)]);
    lengths_[size_t(c.slot)] += int64_t(c.ids.size());
  }
  job->logits.resize(job->wanted.size() * size_t(spec_.vocab));
  job->parts = index_->append(step.rows, job->positions, job->slots);
  job->measure = measure;
  job->seconds.resize(worlds_.size());
  job->missing = int(worlds_.size());
  post(job);
  return job;
}

void Engine::wait(Job& job) {
  while (job.done.value() == 0 && ran_here_ != submitted_) run(*ring_[ran_here_++ % kRing], 0, 0);
  job.done.wait_for(1);
}

void Engine::truncate(int slot, int64_t length) {
  index_->truncate(slot, length);
  lengths_[size_t(slot)] = std::min(lengths_[size_t(slot)], length);
}

int Engine::stages() const {
  const int axis = options_.plan.stage_axis();
  return axis < 0 ? 1 : mesh().size(axis);
}

std::vector<int64_t> Engine::weight_bytes() const {
  std::vector<int64_t> bytes;
  for (const auto& r : ranks_) bytes.push_back(r->weights.bytes());
  return bytes;
}

std::vector<int64_t> Engine::cache_bytes() const {
  std::vector<int64_t> bytes;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const KvPool& pool = ranks_[r]->pool;
    bytes.push_back(index_->pages_used(index_->part_of(int(r))) * pool.page_bytes() * pool.layers());
  }
  return bytes;
}

const Program& Engine::program(const BatchShape& shape) { return compiled(shape)->program; }

}  // namespace shardwise
