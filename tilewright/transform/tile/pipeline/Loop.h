// Loop: the ops of one iteration, the units that they occupy, and their dependences. Independent of
// the IR: scheduling needs only numbers.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOP_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace tilewright::pipeline {

/// A resource that ops occupy, with `count` identical instances: a copy engine, the tensor core,
/// the lanes. A warp that issues an op to an `asynchronous` unit continues before the op completes.
struct Unit {
  std::string name;
  int64_t count = 1;
  bool asynchronous = false;
  /// Whether the unit itself frees the slots of its operands when it has read them, so that the
  /// issuing role need not wait for that.
  bool signals = false;
};

/// An op of the loop's body. It occupies one instance of its unit for `occupancy` cycles from its
/// start. After `latency` cycles its result is available and its operands are no longer read.
struct LoopOp {
  std::string name;
  unsigned unit;
  int64_t occupancy;
  int64_t latency;
};

/// Op `to`, `distance` iterations later, must start at least `latency` cycles after op `from`.
struct Dependence {
  unsigned from, to;
  int64_t latency;
  int64_t distance = 0;
};

struct Loop {
  llvm::SmallVector<Unit> units;
  llvm::SmallVector<LoopOp> ops;
  llvm::SmallVector<Dependence> dependences;
};

/// The start cycle of each op of iteration 0; iteration i starts `interval * i` cycles later.
struct Schedule {
  int64_t interval = 0;
  llvm::SmallVector<int64_t> start;

  /// The pipeline stage of an op: the number of whole intervals between the start of its iteration
  /// and the start of the op.
  int64_t stage(unsigned op) const { return start[op] / interval; }
};

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOP_H
