// Small models with random weights, written as GGUF files for a test and removed with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "shardwise/file/model_file.h"
#include "shardwise/model/spec.h"

namespace shardwise {

struct RandomModel {
  std::string architecture = "llama";
  int layers = 2;
  int64_t d_model = 64, heads = 8, kv_heads = 2, head_size = 8, d_ff = 128, vocab = 256;
  DType type = DType::F32;  // of matrices; quantised ones are random blocks with sane scales
  bool tied = false;
  bool biases = false;      // of every matrix, N(0,1)
  bool fused = false;       // q|k|v and gate|up in one tensor each
  bool head_norms = false;  // of q and k, over each head
  bool full_norms = false;  // of q and k, over all heads
  int64_t window = 0;       // of local layers (gemma3: five of six)
  uint32_t experts = 0;     // says so in the metadata only: such models are refused
  unsigned seed = 7;
};

// A folder of the test's own, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Writes the model; weights N(0, 0.05), norms near 1. Fails the running test on error.
void write_random_model(const RandomModel&, const std::string& path);

// The same, opened.
struct OpenModel {
  ModelFile file;
  ModelSpec spec;
};
OpenModel open_random_model(const RandomModel&, const std::string& path);

}  // namespace shardwise
