// Runs sharded programs on one rank. A program is bound once to kernels, buffers and shapes; a run then walks an array.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "shardwise/comm/comm.h"
#include "shardwise/engine/arena.h"
#include "shardwise/engine/box.h"
#include "shardwise/engine/cache_index.h"
#include "shardwise/engine/job.h"
#include "shardwise/engine/weights.h"
#include "shardwise/model/forward.h"

namespace shardwise {

// A program, and how its tokens and rows lie; shared by all ranks.
struct CompiledStep {
  BatchShape shape;
  Program program;
  RowLayout rows;
  Layout token_cuts;  // where tokens are cut when their rows are appended, or when they attend
};

class Binder;

// The cache rows of one rank: for each of its layers, pages that hold its KV heads.
class KvPool {
 public:
  KvPool(const Program&, int rank, kernel::CacheType, int64_t pages);

  std::byte* page(int layer, int32_t page) { return layers_.at(layer).data() + page * page_bytes_; }
  int64_t page_bytes() const { return page_bytes_; }  // of one layer
  int layers() const { return int(layers_.size()); }
  kernel::CacheType type() const { return type_; }

 private:
  kernel::CacheType type_;
  int64_t page_bytes_ = 0;
  std::map<int, Buffer> layers_;
};

// What one worker needs to know of the job that runs.
struct Run {
  Job& job;
  kernel::Share share;
};

struct BoundStep {
  std::function<void(const Run&)> run;
  int step;  // of the program
};

class Executor {
 public:
  // All outlive the executor. `workers` threads call run() together.
  Executor(World&, const ModelSpec&, const RankWeights&, KvPool&, const CacheIndex&, int workers);

  void run(Job&, int worker);
  ~Executor();
  int64_t scratch_bytes() const;  // activations and buffers of collectives

 private:
  friend class Binder;
  struct Bound {
    std::shared_ptr<CompiledStep> compiled;
    std::unique_ptr<Binder> binder;  // its steps refer to it
    std::vector<BoundStep> steps;
  };
  const Bound& bind(const std::shared_ptr<CompiledStep>&);
  float* at(int64_t offset) { return reinterpret_cast<float*>(arena_.data() + offset); }
  static void grow(Buffer&, int64_t bytes);

  World& world_;
  const ModelSpec& spec_;
  const RankWeights& weights_;
  KvPool& pool_;
  const CacheIndex& index_;
  const int workers_;
  Barrier team_;
  Buffer arena_, quantized_, padded_, outgoing_, incoming_;
  std::vector<Bound> bound_;  // most recently used last
  const Bound* current_ = nullptr;
};

}  // namespace shardwise
