// Rotary frequencies in double precision, rounded once.
#include "shardwise/model/rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardwise {
namespace {

double llama3(double frequency, const RotaryScaling& s) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const double turns = s.original_context / wavelength;  // in the context it was first trained for
  if (turns > s.high_factor) return frequency;
  if (turns < s.low_factor) return frequency / s.factor;
  const double smooth = (turns - s.low_factor) / (s.high_factor - s.low_factor);
  return (1 - smooth) * frequency / s.factor + smooth * frequency;
}

// The pair that makes `turns` turns in the original context.
double yarn_pair(double turns, double base, double rotated, const RotaryScaling& s) {
  return rotated * std::log(s.original_context / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
}

double yarn(double frequency, int64_t pair, double base, double rotated, const RotaryScaling& s) {
  const double low = std::max(0.0, std::floor(yarn_pair(s.beta_fast, base, rotated, s)));
  const double high = std::min(rotated - 1, std::ceil(yarn_pair(s.beta_slow, base, rotated, s)));
  const double ramp = std::clamp((double(pair) - low) / std::max(0.001, high - low), 0.0, 1.0);
  return frequency / s.factor * ramp + frequency * (1 - ramp);
}

}  // namespace

RotaryTable rotary_table(double base, int64_t rotated, const RotaryScaling& s, const std::vector<float>& divisors) {
  using Kind = RotaryScaling::Kind;
  RotaryTable table;
  for (int64_t i = 0; i < rotated / 2; ++i) {
    double f = std::pow(base, -2.0 * double(i) / double(rotated));
    if (s.kind == Kind::Linear) f /= s.factor;
    if (s.kind == Kind::Llama3) f = llama3(f, s);
    if (s.kind == Kind::Yarn) f = yarn(f, i, base, double(rotated), s);
    if (!divisors.empty()) f /= double(divisors[size_t(i)]);
    table.frequencies.push_back(float(f));
  }
  if (s.kind == Kind::Yarn) table.magnitude = float(s.magnitude.value_or(0.1 * std::log(s.factor) + 1));
  return table;
}

Result<RotaryScaling::Kind> rotary_scaling_named(const std::string& name) {
  using Kind = RotaryScaling::Kind;
  if (name == "none" || name == "default" || name.empty()) return Kind::None;
  if (name == "linear") return Kind::Linear;
  if (name == "llama3") return Kind::Llama3;
  if (name == "yarn") return Kind::Yarn;
  return fail("rotary scaling '{}' is not known; known are none, linear, llama3 and yarn", name);
}

}  // namespace shardwise
