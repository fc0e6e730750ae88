// A model on the ranks of a plan, as threads of this process. The caller's thread is a worker of rank 0: it submits
// steps and waits for them; steps of different batches may be under way together, so that stages have work.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "shardwise/engine/executor.h"
#include "shardwise/program/shard.h"

namespace shardwise {

struct EngineOptions {
  Plan plan;
  int threads = 1;         // of each rank
  int sequences = 1;       // slots: sequences in the cache at once
  int64_t context = 4096;  // rows of the cache for each
  CacheFormat cache = CacheFormat::F16;
  // Cuts of tokens fall on pages of the cache, 16 positions, so that no plan changes a rounding; 1 cuts anywhere, for
  // tests.
  int64_t unit = kernel::kPageRows;
  std::function<void(double)> progress = {};  // of loading, 0 to 1
};

// What one sequence adds to a step: its next tokens, and for how many of the last of them logits are wanted.
struct Chunk {
  int slot = 0;
  std::vector<int> ids;
  int64_t wanted = 1;
};

// A step's shape as the engine cuts it. Where the plan cuts tokens, and there are enough of them, each sequence's part
// of the step is filled up to whole units (pages of the cache) with tokens that nobody reads. Fewer are not worth
// cutting: every rank computes them.
BatchShape in_units(BatchShape, const Plan&, int64_t unit = kernel::kPageRows);

class Engine {
 public:
  // Loads the weights. The file and the spec outlive the engine. Errors: a plan that does not fit the model, a file
  // that changed meanwhile; all before the first collective.
  static Result<std::unique_ptr<Engine>> start(const ModelFile&, const ModelSpec&, EngineOptions);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // REQUIRES: chunks of different slots, each with a token at least, ids inside the vocabulary, room in the context.
  // Logits come by slot, then by position.
  std::shared_ptr<Job> submit(std::vector<Chunk>, bool measure = false);
  void wait(Job&);

  int64_t length(int slot) const { return lengths_[size_t(slot)]; }
  void truncate(int slot, int64_t length);  // REQUIRES no step of that slot under way

  const Mesh& mesh() const { return options_.plan.mesh; }
  const Plan& plan() const { return options_.plan; }
  const ModelSpec& spec() const { return spec_; }
  int64_t context() const { return options_.context; }
  int sequences() const { return options_.sequences; }
  int stages() const;
  int threads() const { return options_.threads; }

  std::vector<int64_t> weight_bytes() const;  // by rank
  std::vector<int64_t> cache_bytes() const;   // by rank: pages in use at most
  const Program& program(const BatchShape&);  // as it would run

 private:
  struct Rank;
  Engine(const ModelFile&, const ModelSpec&, EngineOptions);
  Status load();
  std::shared_ptr<CompiledStep> compiled(const BatchShape&);
  void work(int rank, int worker);  // the loop of a thread
  void load_share(int rank, int worker);
  void run(Job&, int rank, int worker);
  void post(std::shared_ptr<Job>);

  const ModelFile& file_;
  const ModelSpec& spec_;
  EngineOptions options_;
  std::vector<World> worlds_;
  std::unique_ptr<CacheIndex> index_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::shared_ptr<CompiledStep>> compiled_;
  std::vector<int64_t> lengths_;
  std::vector<std::shared_ptr<Job>> ring_;  // jobs under way, by number
  uint32_t submitted_ = 0, ran_here_ = 0;
  Signal posted_;
  Barrier loaded_;
  std::atomic<int64_t> bytes_loaded_{0};
  int64_t bytes_to_load_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace shardwise
