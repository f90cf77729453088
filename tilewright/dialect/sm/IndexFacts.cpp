#include "tilewright/dialect/sm/IndexFacts.h"

#include "tilewright/dialect/sm/SmDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace tilewright::sm {
namespace {

int64_t divisorOf(AffineExpr expr, ValueRange operands, unsigned dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::abs(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return sm::divisorOf(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return sm::divisorOf(operands[dims + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  const int64_t left = divisorOf(binary.getLHS(), operands, dims);
  const int64_t right = divisorOf(binary.getRHS(), operands, dims);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
  case AffineExprKind::Mod: // x mod n is x minus a multiple of n
    return std::gcd(left, right);
  case AffineExprKind::Mul:
    return left * right;
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
    if (isa<AffineConstantExpr>(binary.getRHS()) && right != 0 && left % right == 0)
      return left / right;
    return 1;
  default:
    return 1;
  }
}

/// Larger ranges are treated as unknown, so that sums and products of bounds cannot overflow.
constexpr int64_t farAway = int64_t(1) << 30;

std::optional<IndexRange> near(IndexRange range) {
  if (range.least < -farAway || range.most > farAway)
    return std::nullopt;
  return range;
}

std::optional<IndexRange> add(std::optional<IndexRange> left, std::optional<IndexRange> right) {
  if (!left || !right)
    return std::nullopt;
  return near({left->least + right->least, left->most + right->most});
}

std::optional<IndexRange> multiply(std::optional<IndexRange> left,
                                   std::optional<IndexRange> right) {
  if (!left || !right)
    return std::nullopt;
  auto [least, most] = std::minmax({left->least * right->least, left->least * right->most,
                                    left->most * right->least, left->most * right->most});
  return near({least, most});
}

std::optional<IndexRange> rangeOf(AffineExpr expr, ValueRange operands, unsigned dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return near({constant.getValue(), constant.getValue()});
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return sm::rangeOf(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return sm::rangeOf(operands[dims + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<IndexRange> left = rangeOf(binary.getLHS(), operands, dims);
  auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  const bool byPositive = divisor && divisor.getValue() > 0;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return add(left, rangeOf(binary.getRHS(), operands, dims));
  case AffineExprKind::Mul:
    return multiply(left, rangeOf(binary.getRHS(), operands, dims));
  case AffineExprKind::Mod:
    if (!byPositive)
      return std::nullopt;
    if (left && left->least >= 0 && left->most < divisor.getValue())
      return left;
    return near({0, divisor.getValue() - 1});
  case AffineExprKind::FloorDiv:
    if (!byPositive || !left || left->least < 0)
      return std::nullopt;
    return IndexRange{left->least / divisor.getValue(), left->most / divisor.getValue()};
  default:
    return std::nullopt;
  }
}

std::optional<IndexRange> rangeOfArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    if (loop.getInductionVar() != argument)
      return std::nullopt;
    std::optional<IndexRange> lower = sm::rangeOf(loop.getLowerBound()),
                              upper = sm::rangeOf(loop.getUpperBound());
    if (!lower || !upper)
      return std::nullopt;
    // If the loop has no iterations, its induction variable is never used.
    return near({lower->least, std::max(lower->least, upper->most - 1)});
  }
  ArrayRef<int64_t> grid;
  if (auto kernel = dyn_cast<KernelOp>(parent))
    grid = kernel.getGrid();
  else if (auto kernel = dyn_cast<tile::KernelOp>(parent))
    grid = kernel.getGrid();
  if (argument.getArgNumber() >= grid.size())
    return std::nullopt;
  return near({0, std::max<int64_t>(grid[argument.getArgNumber()] - 1, 0)});
}

} // namespace

int64_t divisorOf(Value index) {
  // The divisor is used only for alignment, so powers of two up to 2^20 are enough.
  auto bounded = [](int64_t value) { return value == 0 ? 0 : std::gcd(value, int64_t(1) << 20); };
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && loop.getInductionVar() == argument)
      return std::gcd(divisorOf(loop.getLowerBound()), divisorOf(loop.getStep()));
    return 1;
  }
  Operation *op = index.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto value = dyn_cast<IntegerAttr>(constant.getValue());
    return value ? bounded(std::abs(value.getInt())) : 1;
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return bounded(divisorOf(apply.getAffineMap().getResult(0), apply.getMapOperands(),
                             apply.getAffineMap().getNumDims()));
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return std::gcd(divisorOf(op->getOperand(0)), divisorOf(op->getOperand(1)));
  if (isa<arith::MulIOp>(op))
    return bounded(divisorOf(op->getOperand(0)) * divisorOf(op->getOperand(1)));
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return divisorOf(op->getOperand(0));
  if (isa<arith::SelectOp>(op))
    return std::gcd(divisorOf(op->getOperand(1)), divisorOf(op->getOperand(2)));
  return 1;
}

std::optional<IndexRange> rangeOf(Value index) {
  if (auto argument = dyn_cast<BlockArgument>(index))
    return rangeOfArgument(argument);
  Operation *op = index.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto value = dyn_cast<IntegerAttr>(constant.getValue());
    return value ? near({value.getInt(), value.getInt()}) : std::nullopt;
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return rangeOf(apply.getAffineMap().getResult(0), apply.getMapOperands(),
                   apply.getAffineMap().getNumDims());
  if (isa<arith::AddIOp>(op))
    return add(rangeOf(op->getOperand(0)), rangeOf(op->getOperand(1)));
  if (isa<arith::MulIOp>(op))
    return multiply(rangeOf(op->getOperand(0)), rangeOf(op->getOperand(1)));
  return std::nullopt;
}

} // namespace tilewright::sm
