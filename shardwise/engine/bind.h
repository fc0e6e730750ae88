// Turns the steps of a program into calls of kernels and collectives on one rank's buffers.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "shardwise/engine/executor.h"

namespace shardwise {

class Binder {
 public:
  Binder(Executor&, const Program&);
  std::vector<BoundStep> run();

 private:
  // Rows of the cache as a value has them here: whose rows, where they lie, and which heads.
  struct Rows {
    std::vector<int> parts;
    std::shared_ptr<Buffer> gathered = nullptr;  // pages one after the other, by part; null: in the pool
    int layer = 0;
    Range heads = {};               // that lie there
    int from_axis = -1, from = -1;  // of a shift that was not received yet: from whom it comes
  };

  // bind_compute.cpp
  void bind(const Compute&);
  void embed(const Compute&);
  void norm(const Compute&);
  void linear(const Compute&);
  void quantize(ValueId x, Range own, Range held, int64_t tokens);
  void bias(const Compute&);
  void rope(const Compute&);
  void sum_squares(const Compute&);
  void rescale(const Compute&);
  void gate(const Compute&);
  void add(const Compute&);
  void select(const Compute&);
  void output(const Compute&);

  // bind_attend.cpp
  void append(const Compute&);
  void attend(const Compute&);
  void merge(const Compute&);
  void gather_rows(const Collective&);
  void slice_rows(const Collective&);
  void shift(const Shift&);
  Rows& arrived(ValueId);  // receives it first, where a shift brings it
  std::vector<int> parts_of(ValueId, int rank) const;
  int64_t pages(const Job&, const std::vector<int>& parts) const;

  // bind_moves.cpp
  void bind(const Collective&);
  void bind(const Transfer&);
  void all_reduce(const Collective&);
  void all_gather(const Collective&);
  void exchange(const Collective&);  // all_to_all and reduce_scatter
  void merge_parts(ValueId out, int parts, int64_t part_numbers);

  // All workers take part, or the first alone.
  template <class F>
  void together(F f) {
    steps_.push_back({std::move(f), step_});
  }
  template <class F>
  void alone(F f) {
    steps_.push_back({[f = std::move(f)](const Run& r) {
                        if (r.share.worker == 0) f(r);
                      },
                      step_});
  }

  const Value& value(ValueId id) const { return program_.value(id); }
  Box box(ValueId id) const { return shardwise::box(program_, id, rank_); }
  Range local(ValueId id, Dim d) const;
  // A dense value: in the arena, or the weight vector that it is.
  struct Place {
    const float* fixed = nullptr;
    int64_t offset = -1;
  };
  Place place(ValueId id) const;
  const float* read(Place p) const { return p.offset < 0 ? p.fixed : executor_.at(p.offset); }
  float* write(Place p) const { return executor_.at(p.offset); }
  double* wide(Place p) const { return reinterpret_cast<double*>(executor_.at(p.offset)); }
  const std::byte* raw(Place p) const { return reinterpret_cast<const std::byte*>(read(p)); }
  kernel::Out out(Place p, bool is_wide) const {
    return is_wide ? kernel::Out{nullptr, wide(p)} : kernel::Out{write(p), nullptr};
  }
  int64_t element_bytes(ValueId id) const { return value(id).wide() ? 8 : 4; }

  Executor& executor_;
  const Program& program_;
  const int rank_;
  ArenaPlan arena_;
  std::vector<BoundStep> steps_;
  std::map<ValueId, Rows> rows_;
  std::map<ValueId, const Step*> made_by_;  // of cache rows
  ValueId quantized_ = -1;                  // whose activations the scratch holds
  Range quantized_held_;
  int step_ = 0, layer_ = 0;
};

}  // namespace shardwise
