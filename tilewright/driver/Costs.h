// Costs: how much arithmetic a program does and how much memory its plan touches.
#ifndef TILEWRIGHT_DRIVER_COSTS_H
#define TILEWRIGHT_DRIVER_COSTS_H

#include "tilewright/artifact/Executable.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace tilewright::driver {

/// Arithmetic on floats. An op of one element counts 1, a product with its sum 2, and a function
/// such as exp 1 transcendental.
struct Arithmetic {
  double flops = 0, transcendentals = 0;
};

/// What each kind of op does, by its name without the dialect. A loop counts as often as it turns,
/// where that is known, else once; of branches the dearest counts.
using CostsByOp = std::map<std::string, Arithmetic>;

/// Counts `@main` of a simplified module: composites and calls are gone, nothing is fused yet.
CostsByOp countArithmetic(mlir::ModuleOp module);

/// Adds the statistics "flops", "transcendentals" and "bytes accessed" of all, and
/// "flops of dot_general" and so on of each kind of op. Bytes are those of the plan: every step
/// reads its operands and writes its results once.
void addCosts(artifact::Executable &executable, const CostsByOp &costs);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_COSTS_H
