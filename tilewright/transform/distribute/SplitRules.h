// SplitRules: how each op may be computed in pieces.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_SPLITRULES_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_SPLITRULES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tilewright::distribute {

/// An op as a nest of loops. A matrix product of [m, k] and [k, n] has three: m and n run over the
/// result, k is summed. Devices that each take a part of a loop need the pieces of the operands
/// that run along it and give pieces of the results; where the loop is not in the result, they give
/// parts of it, which `combine` puts together.
///
/// All dimensions of one loop are cut into the same number of pieces. They need not be of one
/// size: reshape runs a dimension of 64 along the same loop as the one of 640 that it is part of.
///
/// Pure data: who divides what is decided from it by SplitPlan, or by another partitioner.
struct SplitRule {
  /// A dimension that every device needs whole.
  static constexpr int whole = -1;

  llvm::SmallVector<llvm::SmallVector<int>> operands, results; // the loop of each dimension
  int loops = 0;
  llvm::SmallVector<int, 1> combined; // loops that the result does not run along
  llvm::StringRef combine;            // "stablehlo.add", if there are such loops
  llvm::StringRef why; // what the op does with dimensions that it needs whole: "sorts"

  bool isCombined(int loop) const { return llvm::is_contained(combined, loop); }
};

/// Whether each result of an op is its operand of that number, however that is divided: barriers,
/// and calls that only tell somebody something, which simplify drops.
bool passesOn(mlir::Operation *op);

/// Nothing for an op that has to be computed whole.
std::optional<SplitRule> splitRuleOf(mlir::Operation *op);

/// Brings the attributes of an op into line with the types of its operands and results, which
/// are pieces now.
void fitAttributes(mlir::Operation *op);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_SPLITRULES_H
