// Binding of the ops that know nothing of cache rows. Shapes stand beside the calls.
#include <algorithm>
#include <cstring>

#include "shardwise/base/check.h"
#include "shardwise/engine/bind.h"
#include "shardwise/program/shard.h"

namespace shardwise {

Binder::Binder(Executor& e, const Program& p)
    : executor_(e), program_(p), rank_(e.world_.rank), arena_(plan_arena(p, rank_)) {
  Executor::grow(e.arena_, arena_.bytes);
}

std::vector<BoundStep> Binder::run() {
  for (step_ = 0; step_ < int(program_.steps.size()); ++step_) {
    const Step& s = program_.steps[size_t(step_)];
    layer_ = s.layer;
    if (const auto* t = std::get_if<Transfer>(&s.op)) {
      bind(*t);
      continue;
    }
    if (s.stage != program_.stage(rank_)) continue;
    if (const auto* c = std::get_if<Compute>(&s.op)) bind(*c);
    if (const auto* m = std::get_if<Collective>(&s.op)) bind(*m);
    if (const auto* h = std::get_if<Shift>(&s.op)) shift(*h);
  }
  return std::move(steps_);
}

void Binder::bind(const Compute& c) {
  switch (c.kind) {
    case OpKind::Embed: return embed(c);
    case OpKind::Norm: return norm(c);
    case OpKind::Linear: return linear(c);
    case OpKind::Bias: return bias(c);
    case OpKind::Rope: return rope(c);
    case OpKind::Append: return append(c);
    case OpKind::Attend:
    case OpKind::AttendPart: return attend(c);
    case OpKind::Merge: return merge(c);
    case OpKind::Gate: return gate(c);
    case OpKind::Add: return add(c);
    case OpKind::Select: return select(c);
    case OpKind::SumSquares: return sum_squares(c);
    case OpKind::Rescale: return rescale(c);
    case OpKind::Output: return output(c);
  }
}

Range Binder::local(ValueId id, Dim d) const {
  const Extent* e = value(id).find(d);
  CHECK(e != nullptr, "{} has no dim {}", value(id).name, letter(d));
  return range(*e, value(id).layout, program_.mesh, rank_);
}

Binder::Place Binder::place(ValueId id) const {
  const Value& v = value(id);
  if (v.role == Value::Weight) return {executor_.weights_.vector(v), -1};
  CHECK(arena_.offset[size_t(id)] >= 0, "{} has no buffer", text(v, program_.mesh));
  return {nullptr, arena_.offset[size_t(id)]};
}

namespace {

// The part of [0, n) that a worker does.
Range share_of(int64_t n, kernel::Share s) {
  const int64_t begin = n * s.worker / s.workers;
  return {begin, n * (s.worker + 1) / s.workers - begin};
}

void put(kernel::Out to, int64_t at, const float* from, int64_t n, float scale) {
  for (int64_t i = 0; i < n; ++i) {
    const float x = from != nullptr ? from[i] * scale : 0;
    if (to.wide != nullptr)
      to.wide[at + i] = x;
    else
      to.narrow[at + i] = x;
  }
}

int64_t product(const Box& b, size_t first, size_t last) {
  int64_t n = 1;
  for (size_t i = first; i < last; ++i) n *= b.dims[i].size;
  return n;
}

}  // namespace

// ids[T], W[V,D] -> x[T,D]: rows of other ranks' vocabulary are zeros.
void Binder::embed(const Compute& c) {
  const Value& w = value(c.in[1]);
  const kernel::PackedMatrix matrix = executor_.weights_.matrix(w);
  const Range tokens = local(c.out, Dim::T), width = local(c.out, Dim::D), rows = local(c.in[1], Dim::V);
  const Range held = held_columns(w, w.layout, program_.mesh, rank_);
  const Place x = place(c.out);
  together([=, this, scale = c.scale, is_wide = value(c.out).wide()](const Run& r) {
    const Range mine = share_of(tokens.size, r.share);
    std::vector<float> row(size_t(held.size));
    for (int64_t t = mine.begin; t < mine.end(); ++t) {
      const int64_t id = r.job.ids[size_t(tokens.begin + t)] - rows.begin;
      const bool here = id >= 0 && id < rows.size && width.size > 0;
      if (here) kernel::unpack_row(matrix, id, row.data());
      put(out(x, is_wide), t * width.size, here ? row.data() + (width.begin - held.begin) : nullptr, width.size, scale);
    }
  });
}

void Binder::norm(const Compute& c) {  // over the last dim: x[T,D], q[T,K,G,H]
  const Box b = box(c.out);
  const int64_t width = b.dims.back().size, rows = product(b, 0, b.dims.size() - 1);
  const Place x = place(c.in[0]), w = place(c.in[1]), y = place(c.out);
  together([=, this, eps = c.eps](const Run& r) {
    kernel::rms_norm(read(x), rows, width, read(w), eps, write(y), r.share);
  });
}

// x[T,inputs] W[inputs,outputs] -> y[T,outputs]
void Binder::linear(const Compute& c) {
  const Value& w = value(c.in[1]);
  const kernel::PackedMatrix matrix = executor_.weights_.matrix(w);
  const Range own = columns(w, w.layout, program_.mesh, rank_), held = held_columns(w, w.layout, program_.mesh, rank_);
  const Box in = box(c.in[0]);
  const int64_t tokens = in.dims[0].size;
  CHECK(product(in, 1, in.dims.size()) == own.size, "{} meets {}", text(value(c.in[0]), program_.mesh),
        text(w, program_.mesh));
  CHECK(box(c.out).count() == tokens * matrix.rows, "{} does not make {}", text(w, program_.mesh),
        text(value(c.out), program_.mesh));
  const Place x = place(c.in[0]), y = place(c.out);
  const bool is_wide = value(c.out).wide();
  if (own.size == 0) {  // a sum over nothing
    together([=, this](const Run& r) {
      const Range mine = share_of(tokens * matrix.rows, r.share);
      put(out(y, is_wide), mine.begin, nullptr, mine.size, 1);
    });
  } else if (is_quantised(w.dtype)) {
    if (quantized_ != c.in[0] || !(quantized_held_ == held)) quantize(c.in[0], own, held, tokens);
    together([=, this, chunk = c.chunk](const Run& r) {
      kernel::linear_quantized(matrix, executor_.quantized_.data(), tokens, out(y, is_wide), matrix.rows, chunk,
                               r.share);
    });
  } else {
    together([=, this, chunk = c.chunk](const Run& r) {
      kernel::linear(matrix, read(x), own.size, tokens, out(y, is_wide), matrix.rows, chunk, r.share);
    });
  }
}

// Over whole blocks of the weight: activations outside the rank's own range are zeros.
void Binder::quantize(ValueId id, Range own, Range held, int64_t tokens) {
  const Place x = place(id);
  CHECK(held.begin % 32 == 0 && held.size % 32 == 0, "a part of {} is not whole blocks", value(id).name);
  Executor::grow(executor_.quantized_, kernel::quantized_bytes(tokens, held.size));
  quantized_ = id, quantized_held_ = held;
  if (own == held) {
    together([=, this](const Run& r) {
      kernel::quantize(read(x), own.size, tokens, own.size, executor_.quantized_.data(), r.share);
    });
    return;
  }
  Executor::grow(executor_.padded_, tokens * held.size * int64_t(sizeof(float)));
  together([=, this](const Run& r) {
    const Range mine = share_of(tokens, r.share);
    auto* padded = reinterpret_cast<float*>(executor_.padded_.data());
    for (int64_t t = mine.begin; t < mine.end(); ++t) {
      float* row = padded + t * held.size;
      std::fill_n(row, held.size, 0.0F);
      std::memcpy(row + own.begin - held.begin, read(x) + t * own.size, size_t(own.size) * sizeof(float));
    }
  });
  together([=, this](const Run& r) {
    kernel::quantize(reinterpret_cast<const float*>(executor_.padded_.data()), held.size, tokens, held.size,
                     executor_.quantized_.data(), r.share);
  });
}

void Binder::bias(const Compute& c) {  // y[T,outputs] b[outputs]
  const Box b = box(c.out);
  const int64_t rows = b.dims[0].size, width = product(b, 1, b.dims.size());
  const Place x = place(c.in[0]), w = place(c.in[1]), y = place(c.out);
  together([=, this](const Run& r) { kernel::add_bias(read(x), read(w), rows, width, write(y), r.share); });
}

void Binder::rope(const Compute& c) {  // q[T,K,G,H]
  const Range tokens = local(c.out, Dim::T);
  const int64_t heads = local(c.out, Dim::K).size, size = local(c.out, Dim::H).size;
  const RotaryTable& table = executor_.spec_.tables[size_t(c.table)];
  const kernel::RopeTable rotary{table.frequencies, table.magnitude, executor_.spec_.interleaved};
  const Place x = place(c.in[0]), y = place(c.out);
  together([=, this](const Run& r) {
    kernel::rope(read(x), tokens.size, heads, size, r.job.positions.data() + tokens.begin, rotary, write(y), r.share);
  });
}

void Binder::sum_squares(const Compute& c) {  // q[T,K,G,H] -> q_sums[T]: each KV head counts on one rank only
  const Value& v = value(c.in[0]);
  const Range tokens = local(c.in[0], Dim::T), heads = local(c.in[0], Dim::K);
  const Range counted = owned(*v.find(Dim::K), v.layout, program_.mesh, rank_);
  const int64_t size = local(c.in[0], Dim::H).size;
  const Place x = place(c.in[0]), y = place(c.out);
  together([=, this, is_wide = value(c.out).wide()](const Run& r) {
    const Range mine = share_of(tokens.size, r.share);
    for (int64_t t = mine.begin; t < mine.end(); ++t) {
      double sum = 0;
      for (int64_t h = counted.begin; h < counted.end(); ++h) {
        float of_head = 0;
        kernel::sum_squares(read(x) + (t * heads.size + h - heads.begin) * size, 1, size, &of_head, {});
        sum += of_head;
      }
      if (is_wide)
        wide(y)[t] = sum;
      else
        write(y)[t] = float(sum);
    }
  });
}

void Binder::rescale(const Compute& c) {  // q[T,K,G,H] q_sums[T] w[K,G,H]
  const Box b = box(c.out);
  const int64_t rows = b.dims[0].size, width = product(b, 1, b.dims.size());
  const int64_t whole = value(c.out).find(Dim::K)->size * value(c.out).find(Dim::H)->size;
  const Place x = place(c.in[0]), sums = place(c.in[1]), w = place(c.in[2]), y = place(c.out);
  together([=, this, eps = c.eps](const Run& r) {
    kernel::scale_rows(read(x), rows, width, read(sums), whole, read(w), eps, write(y), r.share);
  });
}

void Binder::gate(const Compute& c) {  // gate[T,F] up[T,F] -> a[T,F]
  const int64_t n = box(c.out).count();
  const auto activation = Activation(c.flavor) == Activation::Silu ? kernel::Gate::Silu : kernel::Gate::GeluTanh;
  const Place g = place(c.in[0]), up = place(c.in[1]), y = place(c.out);
  together([=, this](const Run& r) { kernel::gate(activation, read(g), read(up), n, write(y), r.share); });
}

void Binder::add(const Compute& c) {
  const int64_t n = box(c.out).count();
  const Place a = place(c.in[0]), b = place(c.in[1]), y = place(c.out);
  together([=, this](const Run& r) { kernel::add(read(a), read(b), n, write(y), r.share); });
}

// x[T,D] -> x[R,D]: tokens of other ranks are zeros.
void Binder::select(const Compute& c) {
  const Range tokens = local(c.in[0], Dim::T), wanted = local(c.out, Dim::R);
  const int64_t width = local(c.out, Dim::D).size;
  const Place x = place(c.in[0]), y = place(c.out);
  together([=, this, is_wide = value(c.out).wide()](const Run& r) {
    const Range mine = share_of(wanted.size, r.share);
    for (int64_t i = mine.begin; i < mine.end(); ++i) {
      const int64_t t = r.job.wanted[size_t(wanted.begin + i)] - tokens.begin;
      put(out(y, is_wide), i * width, t >= 0 && t < tokens.size ? read(x) + t * width : nullptr, width, 1);
    }
  });
}

// logits[R,V]: the first of the ranks that have a row gives it to the job.
void Binder::output(const Compute& c) {
  const Value& v = value(c.out);
  for (int a = 0; a < int(program_.mesh.axes.size()); ++a)
    if (a != program_.stage_axis && v.layout[a] != split(Dim::B) && program_.mesh.coord(rank_, a) != 0) return;
  const Range wanted = local(c.out, Dim::R);
  const int64_t width = v.find(Dim::V)->size;
  const Place x = place(c.in[0]);
  together([=, this](const Run& r) {
    const Range mine = share_of(wanted.size, r.share);
    std::copy_n(read(x) + mine.begin * width, mine.size * width,
                r.job.logits.data() + (wanted.begin + mine.begin) * width);
  });
}

}  // namespace shardwise
