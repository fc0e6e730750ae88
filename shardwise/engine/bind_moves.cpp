// Binding of the moves of dense values: what each rank sends another is where their boxes meet.
#include <algorithm>
#include <cstring>

#include "shardwise/base/check.h"
#include "shardwise/engine/bind.h"

namespace shardwise {
namespace {

std::span<const std::byte> bytes_of(const float* p, int64_t n) { return std::as_bytes(std::span(p, size_t(n))); }
std::span<std::byte> bytes_of(float* p, int64_t n) { return std::as_writable_bytes(std::span(p, size_t(n))); }

}  // namespace

void Binder::bind(const Collective& m) {
  if (value(m.in).has(Dim::S)) return m.move == Move::AllGather ? gather_rows(m) : slice_rows(m);
  switch (m.move) {
    case Move::None: return;
    case Move::Slice: {
      const Box from = box(m.in), to = box(m.out);
      const Place x = place(m.in), y = place(m.out);
      return alone([=, this](const Run&) { copy(from, read(x), to, write(y), to); });
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
  const Place x = place(m.in);
  if (value(m.in).layout[m.axis].reduce == Reduce::Sum && !value(m.in).lse)
    return alone([=, this](const Run&) { group->all_reduce({write(x), size_t(n)}); });
  if (value(m.in).layout[m.axis].reduce == Reduce::Sum) {  // a sum beside a softmax that is not yet merged
    const Place y = place(m.out);
    return alone([=, this](const Run&) {
      std::memcpy(write(y), read(x), size_t(n) * sizeof(float));
      group->all_reduce({write(y), size_t(n)});
    });
  }
  const std::vector<size_t> parts(size_t(group->size()), size_t(n) * sizeof(float));
  Executor::grow(executor_.incoming_, int64_t(parts.size() * parts[0]));
  alone([=, this](const Run&) {
    group->all_gather(bytes_of(read(x), n), {executor_.incoming_.data(), parts.size() * parts[0]}, parts);
  });
  merge_parts(m.out, group->size(), n);
}

void Binder::all_gather(const Collective& m) {
  Group* group = executor_.world_.axis[size_t(m.axis)].get();
  const Box to = box(m.out);
  std::vector<Box> boxes;
  std::vector<size_t> parts;
  for (int rank : program_.mesh.group(rank_, m.axis)) {
    boxes.push_back(shardwise::box(program_, m.in, rank));
    parts.push_back(size_t(boxes.back().count()) * sizeof(float));
  }
  size_t total = 0;
  for (size_t n : parts) total += n;
  const Place x = place(m.in), y = place(m.out);
  const int64_t mine = box(m.in).count();
  // Parts along the outermost dim follow one another as they arrive.
  bool outermost = total == size_t(to.count()) * sizeof(float);
  for (size_t d = 1; d < to.dims.size(); ++d)
    for (const Box& b : boxes) outermost = outermost && (b.count() == 0 || b.dims[d] == to.dims[d]);
  if (outermost)
    return alone([=, this](const Run&) { group->all_gather(bytes_of(read(x), mine), bytes_of(write(y), to.count()), parts); });
  Executor::grow(executor_.incoming_, int64_t(total));
  alone([=, this](const Run&) {
    group->all_gather(bytes_of(read(x), mine), {executor_.incoming_.data(), total}, parts);
    const auto* from = reinterpret_cast<const float*>(executor_.incoming_.data());
    for (const Box& b : boxes) {
      copy(b, from, to, write(y), b & to);
      from += b.count();
    }
  });
}

void Binder::exchange(const Collective& m) {
  Group* group = executor_.world_.axis[size_t(m.axis)].get();
  const Box from = box(m.in), to = box(m.out);
  std::vector<Box> out, in;
  std::vector<size_t> out_parts, in_parts;
  size_t out_total = 0, in_total = 0;
  for (int rank : program_.mesh.group(rank_, m.axis)) {
    Box theirs = shardwise::box(program_, m.in, rank), wanted = shardwise::box(program_, m.out, rank);
    // A softmax that this move merges gives up its last element of H only then.
    for (size_t d = 0; d < to.dims.size(); ++d)
      if (value(m.in).shape[d].dim == Dim::H) wanted.dims[d] = from.dims[d];
    out.push_back(from & wanted), in.push_back(theirs & to);
    if (value(m.in).lse && !value(m.out).lse)
      for (size_t d = 0; d < to.dims.size(); ++d)
        if (value(m.in).shape[d].dim == Dim::H) in.back().dims[d] = from.dims[d];
    out_parts.push_back(size_t(out.back().count()) * sizeof(float)), out_total += out_parts.back();
    in_parts.push_back(size_t(in.back().count()) * sizeof(float)), in_total += in_parts.back();
  }
  Executor::grow(executor_.outgoing_, int64_t(out_total));
  Executor::grow(executor_.incoming_, int64_t(in_total));
  const Place x = place(m.in), y = place(m.out);
  const bool sums = m.move == Move::ReduceScatter && value(m.in).layout[m.axis].reduce == Reduce::Sum;
  const bool merges = m.move == Move::ReduceScatter && !sums;
  alone([=, this](const Run&) {
    auto* send = reinterpret_cast<float*>(executor_.outgoing_.data());
    for (const Box& b : out) {
      copy(from, read(x), b, send, b);
      send += b.count();
    }
    const std::span<const std::byte> outgoing{executor_.outgoing_.data(), out_total};
    if (sums) return group->reduce_scatter(outgoing, out_parts, {write(y), size_t(to.count())});
    group->all_to_all(outgoing, out_parts, {executor_.incoming_.data(), in_total}, in_parts);
    if (merges) return;
    const auto* arrived = reinterpret_cast<const float*>(executor_.incoming_.data());
    for (const Box& b : in) {
      copy(b, arrived, to, write(y), b);
      arrived += b.count();
    }
  });
  if (merges) merge_parts(m.out, group->size(), in[0].count());
}

// The partial results lie one after the other in `incoming`.
void Binder::merge_parts(ValueId out, int parts, int64_t part_floats) {
  const int64_t size = local(out, Dim::H).size, rows = part_floats / (size + 1);
  const bool lse = value(out).lse;
  const Place y = place(out);
  together([=, this](const Run& r) {
    std::vector<const float*> from;
    for (int i = 0; i < parts; ++i) from.push_back(reinterpret_cast<const float*>(executor_.incoming_.data()) + i * part_floats);
    kernel::merge(from, rows, size, write(y), lse, r.share);
  });
}

void Binder::bind(const Transfer& t) {
  const int stage = program_.stage(rank_);
  if (stage != t.from_stage && stage != t.to_stage) return;
  Group* group = executor_.world_.axis[size_t(program_.stage_axis)].get();
  const int64_t n = box(t.in).count();
  if (stage == t.from_stage) {
    const Place x = place(t.in);
    alone([=, this](const Run&) { group->send(bytes_of(read(x), n), t.to_stage); });
  } else {
    const Place y = place(t.out);
    alone([=, this](const Run&) { group->recv(bytes_of(write(y), n), t.from_stage); });
  }
}

}  // namespace shardwise
