// Small models whose tensors a test sets itself, written in either format; and one that shows what a token sees.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "shardwise/file/writer.h"
#include "tests/support/random_model.h"

namespace shardwise {

struct CraftedTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

class CraftedModel {
 public:
  explicit CraftedModel(const RandomModel&);  // with the tensors of that model

  RandomModel sizes;
  float norm_eps = 1e-5F, rope_base = 10000;
  std::map<std::string, CraftedTensor> tensors;                // by their names in GGUF
  std::vector<std::function<void(GgufWriter&)>> gguf_pairs{};  // beyond the sizes

  std::span<float> floats(const std::string& name);  // REQUIRES F32
  float& at(const std::string& name, int64_t row, int64_t column);
  void fill(const std::string& name, float value) { std::ranges::fill(floats(name), value); }
  void add(const std::string& name, std::vector<int64_t> shape, const std::vector<float>& values);
  // row i of the result is row order(i) of the matrix, or element of the vector, as it was.
  void reorder_rows(const std::string& name, const std::function<int64_t(int64_t)>& order);

  OpenModel open_gguf(const std::string& path) const;
  // A folder of config.json and model.safetensors; `config` has the fields beyond the sizes, model_type among them.
  OpenModel open_hugging_face(const std::string& folder, const nlohmann::json& config) const;
};

// One layer that does nothing but attend, all scores equal: a token's answer is the mean of the ids that it sees. The
// embedding of id i has i/V, what fills up its length to be the same for all, and 1; V and the output pass on the
// first and the last; the head shows both, so that no norm hides the mean.
CraftedModel uniform_probe(RandomModel sizes);
double probed_mean(std::span<const float> logits);

}  // namespace shardwise
