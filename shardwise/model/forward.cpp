// A layer reads like the figure in the paper. Every difference between models is a field of ModelSpec.
#include "shardwise/model/forward.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace shardwise {
namespace {

// Cuts of the FFN width fall on whole blocks of the down projection, so that no block is stored twice, as long as there
// are enough of them to share out evenly; else on 32, the block of quantised activations.
int64_t ffn_granule(const ModelSpec& m) {
  int64_t block = 1;
  for (const LayerSpec& l : m.per_layer) block = std::max(block, info(l.down.dtype).block);
  for (const int64_t granule : {std::max<int64_t>(block, 64), int64_t{32}})
    if (m.d_ff % granule == 0 && m.d_ff / granule >= 8) return granule;
  return m.d_ff % 32 == 0 ? 32 : 1;
}

// Columns of the attention output that are summed before any cut can fall: a head, or what of it lies in one block.
int64_t head_chunk(const ModelSpec& m, const TensorRef& o) {
  const int64_t block = info(o.dtype).block, chunk = block <= 32 ? m.head_size : std::gcd(m.head_size, block);
  return block > 1 && chunk % 32 != 0 ? 32 : chunk;
}

class Forward {
 public:
  Forward(const ModelSpec& m, const BatchShape& b, CacheFormat cache) : m_(m), cache_(cache) {
    for (const auto& [past, tokens, wanted] : b.chunks) {
      t_.sequences.push_back(t_.size), r_.sequences.push_back(r_.size), s_.sequences.push_back(s_.size);
      t_.size += tokens, r_.size += wanted, s_.size += tokens > 0 ? past + tokens : 0;
    }
    t_.granule = b.unit;
    q_ = {Dim::K, m.heads, 1, m.heads / m.kv_heads, false};
    kv_ = {Dim::K, m.kv_heads, 1, m.heads / m.kv_heads, true};
    f_ = {Dim::F, m.d_ff, ffn_granule(m)};
    d_ = {Dim::D, m.d_model, m.d_model % 32 == 0 ? 32 : 1};
  }

  Program run() {
    const ValueId ids = p_.add({.name = "ids", .shape = {t_}, .role = Value::Input});
    layer_ = 0;
    ValueId x = op({.kind = OpKind::Embed,
                    .in = {ids, matrix("embed", {vocab_dim()}, {d_}, m_.embedding)},
                    .out = 0,
                    .scale = m_.embedding_scale},
                   stream("x", {t_, d_}));
    for (layer_ = 0; layer_ < m_.layers; ++layer_) {
      const LayerSpec& l = m_.per_layer[size_t(layer_)];
      x = op({OpKind::Add, {x, attention(x, l)}, 0}, stream("x", {t_, d_}));
      x = op({OpKind::Add, {x, ffn(x, l)}, 0}, stream("x", {t_, d_}));
    }
    layer_ = m_.layers - 1;
    ValueId h = op({OpKind::Select, {x}, 0}, act("x", {r_, d_}));
    h = norm(h, "out_norm", {r_, d_}, d_, m_.output_norm);
    const ValueId logits =
        op({OpKind::Linear, {h, matrix("head", {vocab_dim()}, {d_}, m_.output)}, 0}, act("logits", {r_, vocab_dim()}));
    op({OpKind::Output, {logits}, 0}, act("logits", {r_, vocab_dim()}));
    return std::move(p_);
  }

 private:
  ValueId attention(ValueId x, const LayerSpec& l) {
    const ValueId h = norm(x, "attn_norm", {t_, d_}, d_, l.attn_norm);
    ValueId q = projection(h, "q", {q_, head_dim()}, l.q, l.q_bias);
    ValueId k = projection(h, "k", {kv_, head_dim()}, l.k, l.k_bias);
    const ValueId v = projection(h, "v", {kv_, head_dim()}, l.v, l.v_bias);
    q = head_norm(q, "q", q_, l.q_norm);
    k = head_norm(k, "k", kv_, l.k_norm);
    q = op({.kind = OpKind::Rope, .in = {q}, .out = 0, .table = l.table}, act("q", {t_, q_, head_dim()}));
    k = op({.kind = OpKind::Rope, .in = {k}, .out = 0, .table = l.table}, act("k", {t_, kv_, head_dim()}));
    const Shape rows = {s_, kv_, {Dim::H, 2 * m_.head_size}};  // a row holds k and v
    const DType type = cache_ == CacheFormat::F16 ? DType::F16 : DType::F32;
    const ValueId cache = p_.add({.name = "cache", .shape = rows, .dtype = type, .role = Value::Cache});
    const ValueId kv = op({OpKind::Append, {k, v, cache}, 0}, {.name = "kv", .shape = rows, .dtype = type});
    const ValueId o =
        op({.kind = OpKind::Attend, .in = {q, kv}, .out = 0, .window = l.window, .scale = m_.attention_scale},
           stream("o", {t_, q_, head_dim()}));
    ValueId y = op({.kind = OpKind::Linear,
                    .in = {o, matrix("Wo", {d_}, {q_, head_dim()}, l.o)},
                    .out = 0,
                    .chunk = head_chunk(m_, l.o)},
                   act("y", {t_, d_}));
    y = bias(y, "y", {d_}, l.o_bias);
    return l.post_attn_norm ? norm(y, "post_attn_norm", {t_, d_}, d_, l.post_attn_norm) : y;
  }

  ValueId ffn(ValueId x, const LayerSpec& l) {
    const ValueId h = norm(x, "ffn_norm", {t_, d_}, d_, l.ffn_norm);
    const ValueId gate = projection(h, "gate", {f_}, l.gate, l.gate_bias);
    const ValueId up = projection(h, "up", {f_}, l.up, l.up_bias);
    const ValueId a =
        op({.kind = OpKind::Gate, .in = {gate, up}, .out = 0, .flavor = int(m_.activation)}, act("a", {t_, f_}));
    ValueId y =
        op({.kind = OpKind::Linear, .in = {a, matrix("Wdown", {d_}, {f_}, l.down)}, .out = 0, .chunk = f_.granule},
           act("y", {t_, d_}));
    y = bias(y, "y", {d_}, l.down_bias);
    return l.post_ffn_norm ? norm(y, "post_ffn_norm", {t_, d_}, d_, l.post_ffn_norm) : y;
  }

  ValueId projection(ValueId h, const std::string& name, const Shape& outputs, const TensorRef& weight,
                     const TensorRef& b) {
    Shape shape = {t_};
    shape.insert(shape.end(), outputs.begin(), outputs.end());
    const ValueId y = op({OpKind::Linear, {h, matrix("W" + name, outputs, {d_}, weight)}, 0}, act(name, shape));
    return bias(y, name, outputs, b);
  }

  ValueId bias(ValueId y, const std::string& name, const Shape& dims, const TensorRef& b) {
    if (!b) return y;
    Shape shape = {t_};
    shape.insert(shape.end(), dims.begin(), dims.end());
    return op({OpKind::Bias, {y, vector("b" + name, dims, b)}, 0}, act(name, shape));
  }

  ValueId norm(ValueId x, const std::string& name, Shape shape, const Extent& over, const TensorRef& w) {
    if (!w) return x;
    return op({.kind = OpKind::Norm, .in = {x, vector(name, {over}, w)}, .out = 0, .eps = m_.norm_eps},
              act("h", std::move(shape)));
  }

  // Over each head by itself, or over all heads: then ranks that hold some of the heads add up their squares.
  ValueId head_norm(ValueId x, const std::string& name, const Extent& heads, const TensorRef& w) {
    if (!w) return x;
    const Shape shape = {t_, heads, head_dim()};
    if (m_.qk_norm == QkNorm::Head)
      return op(
          {.kind = OpKind::Norm, .in = {x, vector(name + "_norm", {head_dim()}, w)}, .out = 0, .eps = m_.norm_eps},
          act(name, shape));
    const ValueId sums = op({OpKind::SumSquares, {x}, 0}, act(name + "_sums", {t_}));
    return op({.kind = OpKind::Rescale,
               .in = {x, sums, vector(name + "_norm", {heads, head_dim()}, w)},
               .out = 0,
               .eps = m_.norm_eps},
              act(name, shape));
  }

  ValueId op(Compute c, Value out) { return p_.compute(std::move(c), std::move(out), layer_); }
  ValueId matrix(std::string name, Shape outputs, const Shape& inputs, const TensorRef& t) {
    const int rows = int(outputs.size());
    outputs.insert(outputs.end(), inputs.begin(), inputs.end());
    return p_.add({.name = std::move(name),
                   .shape = std::move(outputs),
                   .dtype = t.dtype,
                   .role = Value::Weight,
                   .tensor = t.name,
                   .first_row = t.first_row,
                   .outputs = rows});
  }
  ValueId vector(std::string name, Shape shape, const TensorRef& t) {  // held as f32
    return p_.add({.name = std::move(name), .shape = std::move(shape), .role = Value::Weight, .tensor = t.name});
  }
  static Value act(std::string name, Shape shape) { return {.name = std::move(name), .shape = std::move(shape)}; }
  static Value stream(std::string name, Shape shape) {
    return {.name = std::move(name), .shape = std::move(shape), .pinned = true};
  }
  Extent head_dim() const { return {Dim::H, m_.head_size}; }
  Extent vocab_dim() const { return {Dim::V, m_.vocab}; }

  const ModelSpec& m_;
  const CacheFormat cache_;
  Program p_;
  int layer_ = 0;
  Extent t_{Dim::T, 0}, r_{Dim::R, 0}, s_{Dim::S, 0, 16}, q_{}, kv_{}, f_{}, d_{};  // 16 rows make a page of the cache
};

}  // namespace

Program forward(const ModelSpec& m, const BatchShape& b, CacheFormat cache) { return Forward(m, b, cache).run(); }

}  // namespace shardwise
