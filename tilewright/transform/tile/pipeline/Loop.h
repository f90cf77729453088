// Loop: the ops of one iteration, the units that they keep busy, and what must come before what.
// No IR: a schedule is a matter of numbers.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOP_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace tilewright::pipeline {

/// Something that ops keep busy: a copy engine, the tensor core, the lanes. `count` of them are
/// alike. Who gives work to an `asynchronous` one goes on before it is done.
struct Unit {
  std::string name;
  int64_t count = 1;
  bool asynchronous = false;
};

/// An op of a loop's body. It keeps one of its unit's engines busy for `occupancy` cycles from
/// its start; after `latency` its result is there and its operands are no longer read.
struct LoopOp {
  std::string name;
  unsigned unit;
  int64_t occupancy;
  int64_t latency;
};

/// `to`, `distance` iterations later, may not start before `latency` cycles after `from` did.
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

/// When each op of iteration 0 starts; those of iteration i start `interval * i` later.
struct Schedule {
  int64_t interval = 0;
  llvm::SmallVector<int64_t> start;

  /// How many iterations an op is behind the first one that is under way.
  int64_t stage(unsigned op) const { return start[op] / interval; }
};

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOP_H
