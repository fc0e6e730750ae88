// Binding of what touches rows of the cache. How many rows a step reads is known when it runs: sizes come from the job.
#include <algorithm>
#include <cstring>

#include "shardwise/base/check.h"
#include "shardwise/engine/bind.h"

namespace shardwise {

// The parts of the cache whose rows `rank` has in a value: what it appended to, and what moves brought.
std::vector<int> Binder::parts_of(ValueId id, int rank) const {
  const Step& s = *made_by_.at(id);
  if (std::holds_alternative<Compute>(s.op)) return {executor_.index_.part_of(rank)};
  if (const auto* h = std::get_if<Shift>(&s.op)) {
    const std::vector<int> group = program_.mesh.group(rank, h->axis);
    const int n = int(group.size()), before = (program_.mesh.coord(rank, h->axis) + n - 1) % n;
    return parts_of(h->in, group[size_t(before)]);
  }
  const auto& m = std::get<Collective>(s.op);
  std::vector<int> parts;
  if (m.move == Move::AllGather) {
    for (int peer : program_.mesh.group(rank, m.axis))
      for (int p : parts_of(m.in, peer)) parts.push_back(p);
    return parts;
  }
  const bool passes_by = value(m.out).layout[m.axis].dim != Dim::K && executor_.index_.cuts(m.axis);
  for (int p : parts_of(m.in, rank))
    if (!passes_by || executor_.index_.coord(p, m.axis) == program_.mesh.coord(rank, m.axis)) parts.push_back(p);
  return parts;
}

int64_t Binder::pages(const Job& job, const std::vector<int>& parts) const {
  int64_t n = 0;
  for (int p : parts) n += int64_t(job.parts[size_t(p)].pages.size());
  return n;
}

// k[T,K,H] v[T,K,H] -> kv[S,K,H]: tokens go to rows of this rank's part, where the index placed them.
void Binder::append(const Compute& c) {
  made_by_[c.out] = &program_.steps[size_t(step_)];
  const Range tokens = local(c.in[0], Dim::T), heads = local(c.in[0], Dim::K);
  const int64_t size = local(c.in[0], Dim::H).size;
  CHECK(heads == local(c.out, Dim::K), "heads of k and of the cache differ");
  const int part = executor_.index_.part_of(rank_);
  rows_[c.out] = {.parts = {part}, .layer = layer_, .heads = heads};
  const Place k = place(c.in[0]), v = place(c.in[1]);
  together([=, this, layer = layer_](const Run& r) {
    std::vector<kernel::RowPlace> places(static_cast<size_t>(tokens.size));
    for (int64_t t = 0; t < tokens.size; ++t) {
      const PartView::Place p = r.job.parts[size_t(part)].places[size_t(tokens.begin + t)];
      if (p.page >= 0) places[size_t(t)] = {executor_.pool_.page(layer, p.page), p.row};
    }
    kernel::append(executor_.pool_.type(), read(k), read(v), places, heads.size, size, r.share);
  });
}

Binder::Rows& Binder::arrived(ValueId id) {
  Rows& rows = rows_.at(id);
  if (rows.from < 0) return rows;
  Group* group = executor_.world_.axis[size_t(rows.from_axis)].get();
  alone([this, group, from = rows.from, parts = rows.parts, to = rows.gathered](const Run& r) {
    const int64_t bytes = pages(r.job, parts) * executor_.pool_.page_bytes();
    Executor::grow(*to, bytes);
    group->recv({to->data(), size_t(bytes)}, from);
  });
  rows.from = -1;
  return rows;
}

// q[T,K,G,H] kv[S,K,H] -> o[T,K,G,H]
void Binder::attend(const Compute& c) {
  const Rows rows = arrived(c.in[1]);
  const Value& q = value(c.in[0]);
  const Range tokens = local(c.in[0], Dim::T), heads = local(c.in[0], Dim::K), kv = local(c.in[1], Dim::K);
  kernel::Attend a;
  a.tokens = tokens.size, a.heads = heads.size, a.head_size = q.find(Dim::H)->size;
  a.first_head = heads.begin, a.first_kv_head = kv.begin, a.group = q.find(Dim::K)->group;
  a.window = c.window, a.scale = c.scale, a.type = executor_.pool_.type();
  const int64_t skip = (kv.begin - rows.heads.begin) * kernel::page_head_bytes(a.type, a.head_size);
  const int64_t page_bytes = rows.heads.size * kernel::page_head_bytes(a.type, a.head_size);
  const Place x = place(c.in[0]), y = place(c.out);
  together([=, this, is_wide = value(c.out).wide()](const Run& r) {
    std::vector<std::vector<kernel::Page>> pages(r.job.parts[0].begin.size() - 1);
    int64_t index = 0;  // of a gathered page
    for (int part : rows.parts) {
      const PartView& view = r.job.parts[size_t(part)];
      for (size_t s = 0; s < pages.size(); ++s)
        for (int32_t i = view.begin[s]; i < view.begin[s + 1]; ++i, ++index) {
          const std::byte* data = rows.gathered ? rows.gathered->data() + index * page_bytes
                                                : executor_.pool_.page(rows.layer, view.pages[size_t(i)]);
          pages[s].push_back({data + skip, view.positions.data() + int64_t{i} * kernel::kPageRows});
        }
    }
    std::vector<std::span<const kernel::Page>> by_sequence(pages.begin(), pages.end());
    kernel::Attend now = a;
    now.q = read(x), now.positions = r.job.positions.data() + tokens.begin,
    now.sequences = r.job.slots.data() + tokens.begin;
    now.pages = by_sequence;
    kernel::attend(now, out(y, is_wide), r.share);
  });
}

void Binder::merge(const Compute& c) {  // o[T,K,G,H] twice, with their sums of exponentials
  const Box b = box(c.in[0]);
  const int64_t size = value(c.out).find(Dim::H)->size, rows = b.count() / (size + 2);
  const Place first = place(c.in[0]), second = place(c.in[1]), y = place(c.out);
  together([=, this, is_wide = value(c.out).wide()](const Run& r) {
    const double* parts[] = {wide(first), wide(second)};
    kernel::merge(parts, rows, size, out(y, is_wide), r.share);
  });
}

namespace {

// Puts the pages that a value has one after the other.
const std::byte* pack(KvPool& pool, const Job& job, const std::vector<int>& parts,
                      const std::shared_ptr<Buffer>& gathered, int layer, Buffer& to) {
  if (gathered) return gathered->data();
  std::byte* at = to.data();
  for (int part : parts)
    for (int32_t page : job.parts[size_t(part)].pages) {
      std::memcpy(at, pool.page(layer, page), size_t(pool.page_bytes()));
      at += pool.page_bytes();
    }
  return to.data();
}

}  // namespace

void Binder::gather_rows(const Collective& m) {
  const Rows from = arrived(m.in);
  made_by_[m.out] = &program_.steps[size_t(step_)];
  std::vector<std::vector<int>> parts;
  for (int peer : program_.mesh.group(rank_, m.axis)) parts.push_back(parts_of(m.in, peer));
  Rows& to = rows_[m.out];
  to = {.parts = parts_of(m.out, rank_), .gathered = std::make_shared<Buffer>(), .layer = layer_, .heads = from.heads};
  Group* group = executor_.world_.axis[size_t(m.axis)].get();
  const int64_t page_bytes =
      from.heads.size * kernel::page_head_bytes(executor_.pool_.type(), value(m.in).find(Dim::H)->size / 2);
  alone([=, this, out = to.gathered](const Run& r) {
    std::vector<size_t> bytes;
    size_t total = 0;
    for (const auto& p : parts) bytes.push_back(size_t(pages(r.job, p) * page_bytes)), total += bytes.back();
    const size_t mine = bytes[size_t(group->rank())];
    Executor::grow(*out, int64_t(total));
    if (!from.gathered) Executor::grow(executor_.outgoing_, int64_t(mine));
    const std::byte* packed = pack(executor_.pool_, r.job, from.parts, from.gathered, from.layer, executor_.outgoing_);
    group->all_gather({packed, mine}, {out->data(), total}, bytes);
  });
}

// Rows are not moved to be read in part: heads are skipped over, parts passed by.
void Binder::slice_rows(const Collective& m) {
  made_by_[m.out] = &program_.steps[size_t(step_)];
  const Rows from = arrived(m.in);
  CHECK(!from.gathered || parts_of(m.out, rank_) == from.parts, "gathered rows are cut by part");
  rows_[m.out] = from;
  rows_[m.out].parts = parts_of(m.out, rank_);
}

void Binder::shift(const Shift& h) {
  const Rows from = arrived(h.in);
  made_by_[h.out] = &program_.steps[size_t(step_)];
  Group* group = executor_.world_.axis[size_t(h.axis)].get();
  const int n = group->size(), next = (group->rank() + 1) % n;
  alone([=, this](const Run& r) {
    const auto bytes = size_t(pages(r.job, from.parts) * executor_.pool_.page_bytes());
    if (!from.gathered) Executor::grow(executor_.outgoing_, int64_t(bytes));
    group->send({pack(executor_.pool_, r.job, from.parts, from.gathered, from.layer, executor_.outgoing_), bytes},
                next);
  });
  rows_[h.out] = {.parts = parts_of(h.out, rank_),
                  .gathered = std::make_shared<Buffer>(),
                  .layer = layer_,
                  .heads = from.heads,
                  .from_axis = h.axis,
                  .from = (group->rank() + n - 1) % n};
}

}  // namespace shardwise
