// Lifetimes: when each value is needed, on one line of time.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_LIFETIMES_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_LIFETIMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace tilewright::schedule {

/// A span of time, both ends included.
struct Segment {
  int64_t begin = 0, end = 0;
  bool overlaps(const Segment &other) const { return begin <= other.end && other.begin <= end; }
  bool operator==(const Segment &) const = default;
};

/// Numbers the ops of a function in the order they run, those of regions between
/// the begin and the end of their op. An op needs its operands to its end and its
/// results from its begin, so they meet; a copy reads at its begin and writes at
/// its end, so its two sides do not. A value lives from its definition to its last use; one that a
/// loop reads from outside lives to the end of the loop, and a loop's own values live from its
/// begin, because they survive the condition.
class Lifetimes {
public:
  explicit Lifetimes(mlir::func::FuncOp function);

  int64_t beginOf(mlir::Operation *op) const { return times.lookup(op).begin; }
  int64_t endOf(mlir::Operation *op) const { return times.lookup(op).end; }
  /// Whether the ops of this block are steps of the plan, not part of another op.
  bool isOnPlan(mlir::Block *block) const {
    return !block->empty() && times.contains(&block->front());
  }
  /// When `value` must be intact.
  Segment of(mlir::Value value) const;
  /// The last moment of the function.
  int64_t end() const { return clock; }

private:
  void number(mlir::Block &block);
  /// When `user` reads a value defined in `block`, seen from there.
  int64_t useTime(mlir::Operation *user, mlir::Block *block) const;

  int64_t clock = 0;
  llvm::DenseMap<mlir::Operation *, Segment> times;
};

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_LIFETIMES_H
