// Looking for a model never fails a test; a model that is there and does not open does.
#include "tests/model/real_models.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace shardwise {

void OnRealModel::open(const std::string& name) {
  const char* folder = std::getenv("SHARDWISE_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "SHARDWISE_MODELS is not set: no model to run";
  const std::string path = (std::filesystem::path(folder) / (name + ".gguf")).string();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " does not exist";
  auto file = ModelFile::open(path);
  ASSERT_TRUE(file) << file.error().what;
  auto spec = read_spec(*file);
  ASSERT_TRUE(spec) << spec.error().what;
  auto tokenizer = read_tokenizer(*file);
  ASSERT_TRUE(tokenizer) << tokenizer.error().what;
  model_.reset(new RealModel{*std::move(file), *std::move(spec), *std::move(tokenizer)});
}

std::unique_ptr<Engine> OnRealModel::start(const std::string& plan, int sequences, int64_t context) const {
  const auto parsed = parse_plan(plan);
  EXPECT_TRUE(parsed) << parsed.error().what;
  if (!parsed) return nullptr;
  EngineOptions options;
  options.plan = *parsed;
  options.threads = std::max(1, int(usable_cores().size()) / parsed->mesh.ranks());
  options.sequences = sequences, options.context = context;
  auto engine = Engine::start(model_->file, model_->spec, std::move(options));
  EXPECT_TRUE(engine) << plan << ": " << engine.error().what;
  return engine ? *std::move(engine) : nullptr;
}

}  // namespace shardwise
