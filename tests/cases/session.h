// An engine under test: sequences are added to, cut back and begun anew, and every token's logits come back.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "shardwise/engine/generate.h"
#include "tests/support/random_model.h"

namespace shardwise {

struct SessionOptions {
  int64_t context = 128;
  int sequences = 1;
  int64_t unit = kernel::kPageRows;
};

class Session {
 public:
  Session(const OpenModel&, const std::string& plan, const SessionOptions& = {});

  Engine& engine() { return *engine_; }
  // Logits of all tokens of one step: [tokens, vocabulary], by slot.
  std::vector<float> step(std::vector<Chunk>);
  std::vector<float> add(int slot, const std::vector<int>& ids) { return step({{slot, ids, int64_t(ids.size())}}); }
  std::vector<float> fresh(const std::vector<int>& ids);  // slot 0, begun anew
  std::vector<float> fresh(const std::vector<int>& ids, size_t in_chunks_of);
  std::vector<float> last(const std::vector<float>& logits) const;  // of the last token
  Answer answer(Request);                                           // slot 0, begun anew

 private:
  std::unique_ptr<Engine> engine_;
};

std::vector<int> random_ids(size_t n, int64_t vocab, unsigned seed);

// The largest difference in parts of the largest logit; infinite where anything is not finite, or sizes differ.
double difference(const std::vector<float>&, const std::vector<float>&);

// Ends the process when its time is up: a plan that hangs must fail, not stay.
class WallLimit {
 public:
  explicit WallLimit(std::chrono::seconds);
  ~WallLimit();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread watch_;
};

}  // namespace shardwise
