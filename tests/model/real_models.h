// Real models for tests: SHARDWISE_MODELS names a folder with smollm2.gguf and, if wanted, gemma3.gguf and qwen05.gguf.
// A test whose model is not there is skipped and says so.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "shardwise/engine/engine.h"
#include "shardwise/engine/language.h"

namespace shardwise {

struct RealModel {
  ModelFile file;
  ModelSpec spec;
  Tokenizer tokenizer;

  std::vector<int> ids(std::string_view text) const { return tokenizer.with_ends(tokenizer.encode(text, false)); }
};

inline constexpr const char* kRealModels[] = {"smollm2", "gemma3", "qwen05"};

class OnRealModel : public testing::Test {
 protected:
  void open(const std::string& name);  // skips the test, or leaves a model

  // An engine whose ranks share the cores; fails the test when it does not start.
  std::unique_ptr<Engine> start(const std::string& plan, int sequences, int64_t context) const;

  std::unique_ptr<RealModel> model_;
};

}  // namespace shardwise
