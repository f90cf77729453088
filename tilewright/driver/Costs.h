// Costs: the arithmetic of a program and the memory traffic of its plan.
#ifndef TILEWRIGHT_DRIVER_COSTS_H
#define TILEWRIGHT_DRIVER_COSTS_H

#include "tilewright/artifact/StepCosts.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace tilewright::driver {

/// Floating-point arithmetic. An op on one element counts as 1, a multiply-add as 2, and a function
/// such as exp as 1 transcendental.
struct Arithmetic {
  double flops = 0, transcendentals = 0;
};

/// Arithmetic by kind of op, named without the dialect. The body of a loop counts once per
/// iteration if the trip count is known, otherwise once. Of the branches of an op only the most
/// expensive counts.
using CostsByOp = std::map<std::string, Arithmetic>;

/// Counts the arithmetic of `@main` in a simplified module, in which composites and calls are
/// inlined and nothing is fused yet.
CostsByOp countArithmetic(mlir::ModuleOp module);

/// Adds the statistics "flops", "transcendentals" and "bytes accessed" of the program, and "flops
/// of dot_general" and so on for each kind of op. Bytes are those of the plan: every step reads its
/// operands and writes its results once.
void addCosts(artifact::Executable &executable, const CostsByOp &costs);

/// Records the arithmetic of each fusion, and of attention, in its attribute "exec.work", which the
/// launch of its kernel keeps: later stages replace the ops from which it is counted.
void markWork(mlir::ModuleOp module);

/// The cost of a step that was emitted from `op`.
artifact::StepCost costOf(const artifact::Executable &executable, const artifact::Step &step,
                          mlir::Operation *op);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_COSTS_H
