// What a decoder-only transformer is, as fields read from its file. No class per family and no switch on its name: the
// one table of families (families.cpp) only says which fields a family's files leave unsaid.
#pragma once

#include <string>
#include <vector>

#include "shardwise/base/result.h"
#include "shardwise/file/model_file.h"
#include "shardwise/tensor/dtype.h"

namespace shardwise {

enum class Activation : uint8_t { Silu, GeluTanh };
enum class QkNorm : uint8_t { None, Head, Full };  // over each head; over all heads together (OLMo 2)

// One matrix or vector of the file. A matrix may be a run of rows of a larger one (fused q|k|v, gate|up).
struct TensorRef {
  std::string name;  // empty: the model has none
  DType dtype = DType::F32;
  int64_t first_row = 0;

  explicit operator bool() const { return !name.empty(); }
};

struct LayerSpec {
  int64_t window = 0;  // rows a token sees, 0: all
  int table = 0;       // its rotary table
  TensorRef attn_norm, q, k, v, o, q_bias, k_bias, v_bias, o_bias, q_norm, k_norm, post_attn_norm;
  TensorRef ffn_norm, gate, up, down, gate_bias, up_bias, down_bias, post_ffn_norm;
};

// Rotary embedding: pair i of a head turns by position * frequencies[i].
struct RotaryTable {
  std::vector<float> frequencies;
  float magnitude = 1;  // of what is rotated (YaRN)
};

struct ModelSpec {
  std::string architecture, name;
  int layers = 0;
  int64_t d_model = 0, heads = 0, kv_heads = 0, head_size = 0, d_ff = 0, vocab = 0;
  int64_t context = 0;  // tokens it was trained for
  float norm_eps = 1e-5F;
  float embedding_scale = 1;
  float attention_scale = 0;  // of q . k
  float norm_offset = 0;      // added to the weights of norms (files of Hugging Face's Gemma keep w of 1 + w)
  Activation activation = Activation::Silu;
  QkNorm qk_norm = QkNorm::None;
  bool interleaved = false;  // rotary pairs are (2i, 2i+1)
  std::vector<RotaryTable> tables;
  TensorRef embedding, output_norm, output;  // output: the embedding's where tied
  std::vector<LayerSpec> per_layer;

  bool tied() const { return output.name == embedding.name; }
};

// Reads and checks the spec: every tensor that forward() will ask for is there and has the shape and type it must have.
// An architecture or rotary scaling it does not know is refused by name.
Result<ModelSpec> read_spec(const ModelFile&);

}  // namespace shardwise
