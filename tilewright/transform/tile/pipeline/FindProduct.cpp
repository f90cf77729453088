#include "tilewright/transform/tile/pipeline/FindProduct.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tilewright::pipeline {
namespace {

/// Whether a tile is zero everywhere: a map of nothing that yields a zero.
bool isZero(Value value) {
  auto map = value.getDefiningOp<tile::MapOp>();
  if (!map || !map.getInputs().empty())
    return false;
  Value yielded = map.getBody().front().getTerminator()->getOperand(0);
  return matchPattern(yielded, m_AnyZeroFloat()) || matchPattern(yielded, m_Zero());
}

/// A load, or a transposition of one, whose tile is the last two dimensions of memory.
std::optional<Operand> operandOf(Value value, scf::ForOp loop, StringRef side,
                                 std::string &reason) {
  Operand operand;
  while (auto view = value.getDefiningOp<tile::ViewOp>()) {
    // The last two dimensions in either order; sizes of 1 come and go before them.
    AffineMap map = view.getMap();
    unsigned dims = map.getNumDims(), results = map.getNumResults();
    if (dims < 2 || results < 2)
      break;
    auto last = dyn_cast<AffineDimExpr>(map.getResult(results - 1));
    auto before = dyn_cast<AffineDimExpr>(map.getResult(results - 2));
    auto sourceShape = cast<RankedTensorType>(view.getSource().getType()).getShape();
    bool unitsBefore =
        llvm::all_of(sourceShape.drop_back(2), [](int64_t size) { return size == 1; }) &&
        llvm::all_of(view.getType().getShape().drop_back(2),
                     [](int64_t size) { return size == 1; });
    if (!last || !before || !unitsBefore || last == before)
      break;
    if (last.getPosition() == dims - 2 && before.getPosition() == dims - 1)
      operand.transposed = !operand.transposed;
    else if (last.getPosition() != dims - 1 || before.getPosition() != dims - 2)
      break;
    value = view.getSource();
  }
  operand.load = value.getDefiningOp<tile::LoadOp>();
  if (!operand.load || operand.load->getParentOp() != loop) {
    reason = llvm::formatv("its {0} is not loaded as it is in the loop", side).str();
    return std::nullopt;
  }
  tile::LoadOp load = operand.load;
  auto type = cast<RankedTensorType>(load.getType());
  auto memory = cast<MemRefType>(load.getSource().getType());
  if (llvm::any_of(type.getShape().drop_back(2), [](int64_t size) { return size != 1; }) ||
      type.getRank() < 2) {
    reason = llvm::formatv("its {0} is loaded as a tile of more than two dimensions", side).str();
    return std::nullopt;
  }
  if (load.getStrides() &&
      llvm::any_of(*load.getStrides(), [](int64_t stride) { return stride != 1; })) {
    reason = llvm::formatv("its {0} is loaded with strides", side).str();
    return std::nullopt;
  }
  if (Value padding = load.getPadding();
      padding && !matchPattern(padding, m_AnyZeroFloat()) && !matchPattern(padding, m_Zero())) {
    reason = llvm::formatv("its {0} is padded with something other than zero", side).str();
    return std::nullopt;
  }
  if (memory.getRank() > 5) {
    reason = llvm::formatv("its {0} has {1} dimensions, and the copy engine takes 5", side,
                           memory.getRank())
                 .str();
    return std::nullopt;
  }
  operand.bits = type.getElementTypeBitWidth();
  return operand;
}

std::string typeName(Type type, bool tf32) {
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isF32() && tf32)
    return "tf32";
  if (isa<Float8E4M3FNType, Float8E5M2Type>(type))
    return "f8";
  if (type.isInteger(8))
    return "s8";
  return "";
}

} // namespace

std::optional<Product> findProduct(tile::KernelOp kernel, std::string &reason) {
  Product product;
  product.kernel = kernel;
  auto loops = kernel.getBody().getOps<scf::ForOp>();
  if (std::distance(loops.begin(), loops.end()) != 1) {
    reason = "it has not one loop";
    return std::nullopt;
  }
  scf::ForOp loop = product.loop = *loops.begin();
  APInt lower, upper, step;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) || !lower.isZero() || !step.isOne() ||
      upper.getSExtValue() < 1) {
    reason = "its loop is not from 0 by 1 to a constant";
    return std::nullopt;
  }
  product.iterations = upper.getSExtValue();
  product.dot = loop.getBody()->getTerminator()->getNumOperands() == 1
                    ? loop.getBody()->getTerminator()->getOperand(0).getDefiningOp<tile::DotOp>()
                    : tile::DotOp();
  tile::DotOp dot = product.dot;
  if (!dot || dot.getAcc() != loop.getRegionIterArg(0) || !isZero(loop.getInitArgs()[0])) {
    reason = "its loop is not a sum of products from zero";
    return std::nullopt;
  }
  if (dot.getLhsScale() || dot.getType().getRank() != 2) {
    reason = "its product has scales or batches";
    return std::nullopt;
  }
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isa<tile::LoadOp, tile::ViewOp, tile::DotOp>(op) && !isPure(&op)) {
      reason = llvm::formatv("its loop has a {0} besides the product", op.getName().getStringRef())
                   .str();
      return std::nullopt;
    }
  auto lhsType = cast<RankedTensorType>(dot.getLhs().getType()),
       rhsType = cast<RankedTensorType>(dot.getRhs().getType());
  product.type = typeName(lhsType.getElementType(), dot.getTf32());
  if (product.type.empty() || lhsType.getElementType() != rhsType.getElementType()) {
    reason = "no matrix instruction multiplies its types";
    return std::nullopt;
  }
  std::optional<Operand> lhs = operandOf(dot.getLhs(), loop, "lhs", reason),
                         rhs = lhs ? operandOf(dot.getRhs(), loop, "rhs", reason) : std::nullopt;
  if (!lhs || !rhs)
    return std::nullopt;
  product.lhs = *lhs;
  product.rhs = *rhs;
  product.m = lhsType.getShape()[0];
  product.k = lhsType.getShape()[1];
  product.n = rhsType.getShape()[1];
  return product;
}

} // namespace tilewright::pipeline
