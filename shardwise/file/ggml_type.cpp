// The numbers that GGUF gives to tensor types. A type that is merely known by name can be refused by name.
#include <array>

#include "shardwise/base/check.h"
#include "shardwise/file/gguf.h"

namespace shardwise {
namespace {

constexpr std::array<GgmlType, 43> kGgmlTypes = {{
    {"F32", DType::F32},   {"F16", DType::F16},   {"Q4_0", DType::Q4_0}, {"Q4_1", DType::Q4_1}, {"Q4_2", {}},
    {"Q4_3", {}},          {"Q5_0", DType::Q5_0}, {"Q5_1", DType::Q5_1}, {"Q8_0", DType::Q8_0}, {"Q8_1", {}},
    {"Q2_K", DType::Q2_K}, {"Q3_K", DType::Q3_K}, {"Q4_K", DType::Q4_K}, {"Q5_K", DType::Q5_K}, {"Q6_K", DType::Q6_K},
    {"Q8_K", {}},          {"IQ2_XXS", {}},       {"IQ2_XS", {}},        {"IQ3_XXS", {}},       {"IQ1_S", {}},
    {"IQ4_NL", {}},        {"IQ3_S", {}},         {"IQ2_S", {}},         {"IQ4_XS", {}},        {"I8", {}},
    {"I16", {}},           {"I32", {}},           {"I64", {}},           {"F64", {}},           {"IQ1_M", {}},
    {"BF16", DType::BF16}, {"Q4_0_4_4", {}},      {"Q4_0_4_8", {}},      {"Q4_0_8_8", {}},      {"TQ1_0", {}},
    {"TQ2_0", {}},         {"IQ4_NL_4_4", {}},    {"IQ4_NL_4_8", {}},    {"IQ4_NL_8_8", {}},    {"MXFP4", {}},
    {"NVFP4", {}},         {"Q1_0", {}},          {"Q2_0", {}},
}};

}  // namespace

GgmlType ggml_type(uint32_t id) { return id < kGgmlTypes.size() ? kGgmlTypes[id] : GgmlType{}; }

uint32_t ggml_type_id(DType dtype) {
  for (uint32_t id = 0; id < kGgmlTypes.size(); ++id)
    if (kGgmlTypes[id].dtype == dtype) return id;
  CHECK(false, "dtype {} has no number in GGUF", int(dtype));
  return 0;
}

}  // namespace shardwise
