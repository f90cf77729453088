#include "tilewright/transform/tile/rows/SortKey.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::tile {

namespace {

/// Compares two expressions of a comparator that should differ only in the side that they read.
struct Mirror {
  bool readsLeft = false, readsRight = false; // what the first expression reads
  llvm::DenseSet<std::pair<Value, Value>> known;

  bool match(Value a, Value b) {
    if (!known.insert({a, b}).second)
      return true;
    auto left = dyn_cast<BlockArgument>(a), right = dyn_cast<BlockArgument>(b);
    if (left || right) {
      // The arguments 2k and 2k + 1 are the two elements of operand k.
      if (!left || !right || (left.getArgNumber() ^ 1u) != right.getArgNumber())
        return false;
      (left.getArgNumber() % 2 == 0 ? readsLeft : readsRight) = true;
      return true;
    }
    Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
    return x->getName() == y->getName() && x->getNumRegions() == 0 && y->getNumRegions() == 0 &&
           x->getAttrDictionary() == y->getAttrDictionary() &&
           x->getNumOperands() == y->getNumOperands() && a.getType() == b.getType() &&
           cast<OpResult>(a).getResultNumber() == cast<OpResult>(b).getResultNumber() &&
           llvm::all_of(llvm::zip_equal(x->getOperands(), y->getOperands()),
                        [&](auto pair) { return match(std::get<0>(pair), std::get<1>(pair)); });
  }
};

} // namespace

std::optional<SortKey> SortKey::of(stablehlo::SortOp op) {
  using enum stablehlo::ComparisonDirection;
  Operation *end = op.getComparator().front().getTerminator();
  auto compare = end->getOperand(0).getDefiningOp<stablehlo::CompareOp>();
  if (!compare ||
      (compare.getComparisonDirection() != LT && compare.getComparisonDirection() != GT))
    return std::nullopt;
  Mirror mirror;
  if (!mirror.match(compare.getLhs(), compare.getRhs()) || mirror.readsLeft == mirror.readsRight)
    return std::nullopt;
  SortKey key;
  key.element = cast<RankedTensorType>(compare.getLhs().getType()).getElementType();
  key.descends = (compare.getComparisonDirection() == GT) == mirror.readsLeft;
  key.isTotal = compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER;
  const bool isFloat =
      key.element.isF16() || key.element.isBF16() || key.element.isF32() || key.element.isF64();
  if (!isFloat && !(key.element.isInteger() &&
                    llvm::is_contained({8u, 16u, 32u, 64u}, key.element.getIntOrFloatBitWidth())))
    return std::nullopt;
  IRMapping mapping;
  key.copy = cast<stablehlo::SortOp>(op->clone(mapping));
  Block &block = key.copy->getComparator().front();
  block.getTerminator()->setOperand(
      0, mapping.lookup(mirror.readsLeft ? compare.getLhs() : compare.getRhs()));
  // Erase the ops that only the right side and the comparison needed.
  SmallVector<Operation *> ops;
  for (Operation &each : block.without_terminator())
    ops.push_back(&each);
  for (Operation *each : llvm::reverse(ops))
    if (each->use_empty())
      each->erase();
  return key;
}

int64_t SortKey::bits() const { return element.getIntOrFloatBitWidth(); }

bool SortKey::reads(unsigned operand) {
  return !copy->getComparator().front().getArgument(2 * operand).use_empty();
}

Value SortKey::emit(OpBuilder &builder, Location loc, ValueRange operands) {
  // The copy reads only the left elements.
  SmallVector<Value> arguments;
  for (Value operand : operands)
    arguments.append(2, operand);
  // canTile() has checked every op of the comparator.
  Value value = elements::emitRegion(builder, copy->getComparator(), arguments)->front();
  auto type = builder.getIntegerType(static_cast<unsigned>(bits()));
  auto constant = [&](const APInt &bits) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, bits));
  };
  auto flip = [&](Value a, Value b) -> Value { return arith::XOrIOp::create(builder, loc, a, b); };
  const auto width = static_cast<unsigned>(bits());
  Value sign = constant(APInt::getSignMask(width)), all = constant(APInt::getAllOnes(width)),
        zero = constant(APInt::getZero(width));
  if (isa<FloatType>(element)) {
    value = arith::BitcastOp::create(builder, loc, type, value);
    // The two zeros are equal, unless the order is total.
    if (!isTotal)
      value = arith::SelectOp::create(
          builder, loc, arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value, sign),
          zero, value);
    // Larger bits are further from zero.
    Value isNegative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, value, zero);
    value = flip(value, arith::SelectOp::create(builder, loc, isNegative, all, sign));
  } else if (!element.isUnsignedInteger()) {
    value = flip(value, sign);
  }
  return descends ? flip(value, all) : value;
}

} // namespace tilewright::tile
