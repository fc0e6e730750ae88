// What the files of each family leave unsaid: one row a family, and the names of tensors in each format.
#pragma once

#include <string>
#include <string_view>

#include "shardwise/model/spec.h"

namespace shardwise {

struct Family {
  std::string_view gguf, hugging_face;  // its name as general.architecture, as model_type
  bool interleaved_gguf = false;        // GGUF permutes the rows of q and k so that rotary pairs are neighbours
  Activation activation = Activation::Silu;
  float norm_offset_hugging_face = 0;  // norms multiply by 1 + w; converters to GGUF add the 1
  bool scales_embedding = false;       // by sqrt(d_model)
  int64_t window_pattern = 0;          // every so many layers one sees all, the others a window; 0: all alike
  double local_base = 0;               // rotary base of layers with a window; 0: as the others
  bool qkv_bias_required = false;
  bool pre_norms = true, post_norms = false;  // norms before, and after, attention and FFN
};

const Family* family_of_gguf(std::string_view architecture);
const Family* family_of_hugging_face(std::string_view model_type);
std::string known_families();  // for messages

// Tensor names of one layer; "" where the format has none. q|k|v and gate|up may stand fused in one tensor.
struct LayerNames {
  std::string prefix;
  std::string_view attn_norm, q, k, v, qkv, o, q_norm, k_norm, post_attn_norm;
  std::string_view ffn_norm, gate, up, gate_up, down, post_ffn_norm;
};
LayerNames gguf_names(int layer);
LayerNames hugging_face_names(const Family&, std::string_view prefix, int layer);

// Finds and checks each tensor of the spec, whose sizes are set: names per layer, then embedding, output norm and
// output.
Status bind_tensors(const ModelFile&, const Family&, const std::vector<LayerNames>&, std::string_view embedding,
                    std::string_view output_norm, std::string_view output, bool tied, ModelSpec&);

// Sanity of the sizes read from a file, before anything is computed from them.
Status check_sizes(const std::string& file, const ModelSpec&);

}  // namespace shardwise
