// Rotary frequencies and their scalings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shardwise/model/spec.h"

namespace shardwise {

struct RotaryScaling {
  enum class Kind : uint8_t { None, Linear, Llama3, Yarn } kind = Kind::None;
  double factor = 1;
  double original_context = 0;             // llama3, YaRN
  double low_factor = 1, high_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;    // YaRN
  std::optional<double> magnitude = {};    // YaRN: of what is rotated; 0.1 ln(factor) + 1 where unsaid
};

// Frequencies of the pairs of `rotated` elements: base^(-2i/rotated), scaled. Linear: Chen et al. 2023. Llama3: the
// Llama 3.1 release. YaRN: Peng et al. 2023, section 3. `divisors` (may be empty) divide them, as llama.cpp's
// rope_freqs do.
RotaryTable rotary_table(double base, int64_t rotated, const RotaryScaling&, const std::vector<float>& divisors);

// "linear", "llama3", "yarn", "none", "default"; others are refused by name.
Result<RotaryScaling::Kind> rotary_scaling_named(const std::string& name);

}  // namespace shardwise
