// Rules of ops that are no longer in the specification but occur in old artifacts. They have no
// numbered constraints; the rules are derived from the semantics of the ops.
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

#include "llvm/ADT/StringExtras.h"

#include <array>

using namespace mlir;
using namespace tilewright::stablehlo;

LogicalResult BroadcastOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  for (int64_t size : getBroadcastSizes())
    if (size < 0)
      return emitOpError() << "broadcast_sizes must not be negative, got " << size;
  SmallVector<int64_t> shape(getBroadcastSizes());
  llvm::append_range(shape, operand.getShape());
  if (!shapesAgree(shape, result.getShape()))
    return emitOpError() << "result must have broadcast_sizes followed by the operand's sizes, "
                         << shapeText(shape) << ", got " << result;
  if (operand.getElementType() != result.getElementType())
    return emitOpError() << "operand and result must have the same element type, got "
                         << operand.getElementType() << " and " << result.getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// einsum, unary_einsum
//===----------------------------------------------------------------------===//

namespace {
/// The sizes that the letters of an einsum stand for.
class EinsumLetters {
public:
  explicit EinsumLetters(Operation *op) : op(op) { sizes.fill(unknown); }

  /// Binds the letters of `term` to the dimensions of `type`.
  LogicalResult bind(StringRef term, RankedTensorType type);

  /// The shape that the letters of the result stand for.
  FailureOr<SmallVector<int64_t>> resultShape(StringRef term) const;

private:
  static constexpr int64_t unknown = -1; // kDynamic is the only negative size

  Operation *op;
  std::array<int64_t, 256> sizes;
};
} // namespace

LogicalResult EinsumLetters::bind(StringRef term, RankedTensorType type) {
  if (static_cast<int64_t>(term.size()) != type.getRank())
    return op->emitOpError() << "einsum_config must have one letter for each dimension of " << type
                             << ", got \"" << term << "\"";
  for (auto [letter, size] : llvm::zip_equal(term, type.getShape())) {
    if (!llvm::isAlpha(letter))
      return op->emitOpError() << "einsum_config must consist of letters, got '"
                               << StringRef(&letter, 1) << "'";
    int64_t &bound = sizes[static_cast<uint8_t>(letter)];
    if (bound != unknown && !sizesAgree(bound, size))
      return op->emitOpError() << "einsum letter '" << StringRef(&letter, 1)
                               << "' must have the same size in all operands, got " << bound
                               << " and " << size;
    if (bound == unknown || ShapedType::isDynamic(bound))
      bound = size;
  }
  return success();
}

FailureOr<SmallVector<int64_t>> EinsumLetters::resultShape(StringRef term) const {
  SmallVector<int64_t> shape;
  std::array<bool, 256> seen{};
  for (const char &letter : term) {
    int64_t size = sizes[static_cast<uint8_t>(letter)];
    if (size == unknown || std::exchange(seen[static_cast<uint8_t>(letter)], true))
      return op->emitOpError() << "each letter of the result in einsum_config must occur once in "
                                  "the result and at least once in an operand, got '"
                               << StringRef(&letter, 1) << "'";
    shape.push_back(size);
  }
  return shape;
}

/// Checks `config`, such as "ab,bc->ac", against the operands and the result.
static LogicalResult verifyEinsum(Operation *op, StringRef config, TypeRange operands,
                                  RankedTensorType result) {
  auto [inputs, output] = config.split("->");
  SmallVector<StringRef> terms;
  inputs.split(terms, ',');
  if (!config.contains("->") || terms.size() != operands.size())
    return op->emitOpError()
           << "einsum_config must be " << operands.size()
           << " terms separated by commas, then '->' and the term of the result, got \"" << config
           << "\"";
  if (config.contains("...")) // any number of dimensions: nothing more can be checked
    return success();
  EinsumLetters letters(op);
  for (auto [term, type] : llvm::zip_equal(terms, operands))
    if (failed(letters.bind(term, cast<RankedTensorType>(type))))
      return failure();
  FailureOr<SmallVector<int64_t>> shape = letters.resultShape(output);
  if (failed(shape))
    return failure();
  if (!shapesAgree(*shape, result.getShape()))
    return op->emitOpError() << "result must have the shape that einsum_config specifies, "
                             << shapeText(*shape) << ", got " << result;
  return success();
}

LogicalResult EinsumOp::verify() {
  return verifyEinsum(*this, getEinsumConfig(), getOperandTypes(),
                      cast<RankedTensorType>(getResult().getType()));
}

LogicalResult UnaryEinsumOp::verify() {
  return verifyEinsum(*this, getEinsumConfig(), getOperand().getType(),
                      cast<RankedTensorType>(getResult().getType()));
}
