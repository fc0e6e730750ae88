// Binding of the moves of dense values: what each rank sends another is where their boxes meet.
#include <algorithm>
#include <cstring>

#include "shardwise/base/check.h"
#include "shardwise/engine/bind.h"

namespace shardwise {

void Binder::bind(const Collective& m) {
  if (value(m.in).has(Dim::S)) return m.move == Move::AllGather ? gather_rows(m) : slice_rows(m);
  switch (m.move) {
    case Move::None: return;
    case Move::Slice: {
      const Box from = box(m.in), to = box(m.out);
      const Place x = place(m.in), y = place(m.out);
      return alone([=, this, bytes = element_bytes(m.in)](const Run&) {
        copy(from, raw(x), to, reinterpret_cast<std::byte*>(write(y)), to, bytes);
      });
    }
    case Move::AllGather: return all_gather(m);
    case Move::AllReduce: return all_reduce(m);
    case Move::ReduceScatter:
    case Move::AllToAll: return exchange(m);
  }
}

void Binder::all_reduce(const Collective& m) {
  Group* group = executor_.world_.axis[size_t(m.axis)].get();
  const int64_t n = box(m.in).count();
  const Place x = place(m.in), y = place(m.out);
  if (value(m.in).layout[m.axis].reduce == Reduce::Sum) {
    return alone([=, this, still_wide = value(m.out).wide()](const Run&) {
      group->all_reduce({wide(x), size_t(n)});
      if (still_wide)
        std::copy_n(wide(x), n, wide(y));
      else
        std::copy_n(wide(x), n, write(y));
    });
  }
  const std::vector<size_t> parts(size_t(group->size()), size_t(n) * sizeof(double));
  Executor::grow(executor_.incoming_, int64_t(parts.size() * parts[0]));
  alone([=, this](const Run&) {
    group->all_gather({raw(x), parts[0]}, {executor_.incoming_.data(), parts.size() * parts[0]}, parts);
  });
  merge_parts(m.out, group->size(), n);
}

void Binder::all_gather(const Collective& m) {
  Group* group = executor_.world_.axis[size_t(m.axis)].get();
  const Box to = box(m.out);
  const int64_t bytes = element_bytes(m.in);
  std::vector<Box> boxes;
  std::vector<size_t> parts;
  size_t total = 0;
  for (int rank : program_.mesh.group(rank_, m.axis)) {
    boxes.push_back(shardwise::box(program_, m.in, rank));
    parts.push_back(size_t(boxes.back().count() * bytes)), total += parts.back();
  }
  const Place x = place(m.in), y = place(m.out);
  const size_t mine = parts[size_t(group->rank())], whole = size_t(to.count() * bytes);
  // Parts along the outermost dim follow one another as they arrive.
  bool outermost = total == whole;
  for (size_t d = 1; d < to.dims.size(); ++d)
    for (const Box& b : boxes) outermost = outermost && (b.count() == 0 || b.dims[d] == to.dims[d]);
  if (outermost)
    return alone([=, this](const Run&) {
      group->all_gather({raw(x), mine}, {reinterpret_cast<std::byte*>(write(y)), whole}, parts);
    });
  Executor::grow(executor_.incoming_, int64_t(total));
  alone([=, this](const Run&) {
    group->all_gather({raw(x), mine}, {executor_.incoming_.data(), total}, parts);
    const std::byte* from = executor_.incoming_.data();
    for (size_t i = 0; i < boxes.size(); from += parts[i++])
      copy(boxes[i], from, to, reinterpret_cast<std::byte*>(write(y)), boxes[i] & to, bytes);
  });
}

void Binder::exchange(const Collective& m) {
  Group* group = executor_.world_.axis[size_t(m.axis)].get();
  const int64_t bytes = element_bytes(m.in);
  // What is sent has the elements of `in`: a softmax that this move merges is divided only where it arrives.
  Value moved = value(m.out);
  moved.softmax = value(m.in).softmax;
  auto box_to = [&](int rank) { return shardwise::box(moved, moved.layout, program_.mesh, rank); };
  const Box from = box(m.in), to = box_to(rank_);
  std::vector<Box> out, in;
  std::vector<size_t> out_parts, in_parts;
  size_t out_total = 0, in_total = 0;
  for (int rank : program_.mesh.group(rank_, m.axis)) {
    out.push_back(from & box_to(rank)), in.push_back(shardwise::box(program_, m.in, rank) & to);
    out_parts.push_back(size_t(out.back().count() * bytes)), out_total += out_parts.back();
    in_parts.push_back(size_t(in.back().count() * bytes)), in_total += in_parts.back();
  }
  Executor::grow(executor_.outgoing_, int64_t(out_total));
  Executor::grow(executor_.incoming_, int64_t(in_total));
  const Place x = place(m.in), y = place(m.out);
  const bool sums = m.move == Move::ReduceScatter && value(m.in).layout[m.axis].reduce == Reduce::Sum;
  const bool merges = m.move == Move::ReduceScatter && !sums, still_wide = value(m.out).wide();
  alone([=, this](const Run&) {
    std::byte* send = executor_.outgoing_.data();
    for (size_t i = 0; i < out.size(); send += out_parts[i++]) copy(from, raw(x), out[i], send, out[i], bytes);
    const std::span<const std::byte> outgoing{executor_.outgoing_.data(), out_total};
    if (sums) {
      auto* sum = reinterpret_cast<double*>(executor_.incoming_.data());
      group->reduce_scatter(outgoing, out_parts, {sum, size_t(to.count())});
      if (still_wide)
        std::copy_n(sum, to.count(), wide(y));
      else
        std::copy_n(sum, to.count(), write(y));
      return;
    }
    group->all_to_all(outgoing, out_parts, {executor_.incoming_.data(), in_total}, in_parts);
    if (merges) return;
    const std::byte* arrived = executor_.incoming_.data();
    for (size_t i = 0; i < in.size(); arrived += in_parts[i++])
      copy(in[i], arrived, to, reinterpret_cast<std::byte*>(write(y)), in[i], bytes);
  });
  if (merges) merge_parts(m.out, group->size(), to.count());
}

// The partial results lie one after the other in `incoming`.
void Binder::merge_parts(ValueId merged, int parts, int64_t part_numbers) {
  const int64_t size = value(merged).find(Dim::H)->size, rows = part_numbers / (size + 2);
  const Place y = place(merged);
  together([=, this, is_wide = value(merged).wide()](const Run& r) {
    std::vector<const double*> from;
    for (int i = 0; i < parts; ++i)
      from.push_back(reinterpret_cast<const double*>(executor_.incoming_.data()) + i * part_numbers);
    kernel::merge(from, rows, size, out(y, is_wide), r.share);
  });
}

void Binder::bind(const Transfer& t) {
  const int stage = program_.stage(rank_);
  if (stage != t.from_stage && stage != t.to_stage) return;
  Group* group = executor_.world_.axis[size_t(program_.stage_axis)].get();
  const auto bytes = size_t(box(t.in).count() * element_bytes(t.in));
  if (stage == t.from_stage) {
    const Place x = place(t.in);
    alone([=, this](const Run&) { group->send({raw(x), bytes}, t.to_stage); });
  } else {
    const Place y = place(t.out);
    alone([=, this](const Run&) { group->recv({reinterpret_cast<std::byte*>(write(y)), bytes}, t.from_stage); });
  }
}

}  // namespace shardwise
