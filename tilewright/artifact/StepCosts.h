// StepCosts: the arithmetic and memory traffic of each step of an executable, for predictions.
#ifndef TILEWRIGHT_ARTIFACT_STEPCOSTS_H
#define TILEWRIGHT_ARTIFACT_STEPCOSTS_H

#include "tilewright/artifact/Executable.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::artifact {

/// The cost of running a step once, without the steps of the blocks that it runs.
struct StepCost {
  enum class Class : uint8_t {
    none,    // control flow, the end of a collective
    memory,  // bound by memory: elementwise ops, reductions, copies
    product, // has a matrix product
    call,    // a handler of the user, of unknown cost
  };
  Class kind = Class::none;
  int64_t flops = 0, transcendentals = 0;
  int64_t bytes = 0; // read and written
  /// The largest product: batch times (m x k) by (k x n), and the type of its operands.
  int64_t batch = 0, m = 0, n = 0, k = 0;
  ElementType element = ElementType::f32;
  bool operator==(const StepCost &) const = default;
};
inline constexpr size_t stepClassCount = 4;

/// By block, then by step.
using StepCosts = std::vector<std::vector<StepCost>>;

/// The bytes that a step reads and writes: every operand and every result once.
int64_t bytesOf(const Step &step);
/// The cost that follows from the step itself: bytes, and the shape of a library's product. A
/// launch adds what the compiler knows about its kernel.
StepCost costOf(const Executable &executable, const Step &step);

/// Adds the costs as statistics. There must be one for each step.
void addStepCosts(Executable &executable, const StepCosts &costs);
/// The costs; empty if the executable does not have one valid cost for each step.
StepCosts stepCostsOf(const Executable &executable);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_STEPCOSTS_H
