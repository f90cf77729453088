// Measure: the termination measure of the rewrite rules.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_MEASURE_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_MEASURE_H

#include "mlir/IR/Operation.h"

#include <array>
#include <cstdint>
#include <string>

namespace tilewright::simplify {

/// Quantities of a function, the most significant first. Each rule (Rules.def) makes the measure
/// lexicographically smaller: it decreases one quantity and increases none before it; later
/// quantities may grow. No quantity is negative, so rewriting terminates. Dead ops do not count;
/// neither do constants and splats, unless stated otherwise.
enum class Quantity {
#define TILEWRIGHT_QUANTITY(name, words) name,
#include "tilewright/transform/simplify/Rules.def"
  count
};

using Measure = std::array<int64_t, static_cast<size_t>(Quantity::count)>;

/// Measures a function in time linear in its number of ops.
Measure measureOf(mlir::Operation *function);

/// "loopState 0, control 1, …"
std::string toString(const Measure &measure);

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_MEASURE_H
