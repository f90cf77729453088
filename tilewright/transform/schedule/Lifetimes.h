// Lifetimes: the live interval of each value, on a linear numbering of the ops.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_LIFETIMES_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_LIFETIMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace tilewright::schedule {

/// A closed time interval.
struct Segment {
  int64_t begin = 0, end = 0;
  bool overlaps(const Segment &other) const { return begin <= other.end && other.begin <= end; }
  bool operator==(const Segment &) const = default;
};

/// Numbers the ops of a function in execution order; the ops of a region are numbered between the
/// start and the end of the enclosing op. A value is live from its definition to its last use.
///
///  - The operands of an op are live until its end and the results from its start, so they
///    interfere.
///  - A copy reads at its start and writes at its end, so its operand and its result do not
///    interfere.
///  - A value from outside that a loop reads is live until the end of the loop.
///  - The arguments of a loop's regions are live from the start of the loop; those of the condition
///    stay live until the condition ends.
class Lifetimes {
public:
  explicit Lifetimes(mlir::func::FuncOp function);

  int64_t beginOf(mlir::Operation *op) const { return times.lookup(op).begin; }
  int64_t endOf(mlir::Operation *op) const { return times.lookup(op).end; }
  /// Whether the ops of this block are steps of the plan, rather than part of another op.
  bool isOnPlan(mlir::Block *block) const {
    return !block->empty() && times.contains(&block->front());
  }
  /// The interval in which the memory of `value` must stay intact.
  Segment of(mlir::Value value) const;
  /// The time at which the function ends.
  int64_t end() const { return clock; }

private:
  void number(mlir::Block &block);
  /// The last time at which `user` reads a value defined in `block`. If a loop inside `block`
  /// contains `user`, that is the end of the loop.
  int64_t useTime(mlir::Operation *user, mlir::Block *block) const;

  int64_t clock = 0;
  llvm::DenseMap<mlir::Operation *, Segment> times;
};

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_LIFETIMES_H
