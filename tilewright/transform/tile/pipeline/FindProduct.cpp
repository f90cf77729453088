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

/// Where a tile stands on the way from memory to the product: its index as a function of the
/// product's index, and whether a map came in between.
struct Step {
  Value value;
  AffineMap map;
  bool isMapped;
};

/// What is loaded on the way to one side. Everything on the way is a load, a view, a map or an
/// iota.
struct Loads {
  SmallVector<Step> found;
  std::string problem;
};

Loads loadsOf(Value tile) {
  Loads loads;
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<Step> open{
      {tile,
       AffineMap::getMultiDimIdentityMap(static_cast<unsigned>(type.getRank()), tile.getContext()),
       false}};
  llvm::DenseSet<std::pair<Value, AffineMap>> seen;
  while (!open.empty() && loads.problem.empty()) {
    Step step = open.pop_back_val();
    if (!seen.insert({step.value, step.map}).second)
      continue;
    Operation *op = step.value.getDefiningOp();
    if (auto view = dyn_cast_or_null<tile::ViewOp>(op)) {
      open.push_back(
          {view.getSource(), simplifyAffineMap(view.getMap().compose(step.map)), step.isMapped});
    } else if (auto map = dyn_cast_or_null<tile::MapOp>(op)) {
      for (Value input : map.getInputs())
        open.push_back({input, step.map, true});
    } else if (isa_and_nonnull<tile::LoadOp>(op)) {
      loads.found.push_back(step);
    } else if (!isa_and_nonnull<tile::IotaOp>(op)) {
      loads.problem =
          op ? llvm::formatv("comes by way of '{0}'", op->getName().getStringRef()).str()
             : std::string("comes from outside the kernel's loop");
    }
  }
  return loads;
}

/// Which two dimensions of a load's tile are the product's two, in the product's order; the others
/// have one index. Nothing if the load is another part of it.
std::optional<std::pair<unsigned, unsigned>> matrixDims(const Step &step, ArrayRef<int64_t> sizes) {
  auto shape = cast<RankedTensorType>(step.value.getType()).getShape();
  std::optional<unsigned> at[2];
  for (auto [dim, expr] : llvm::enumerate(step.map.getResults())) {
    if (shape[dim] == 1)
      continue;
    // What is left of an index within a group is the index, where a group is all there is.
    AffineExpr index = expr;
    if (auto rest = dyn_cast<AffineBinaryOpExpr>(expr);
        rest && rest.getKind() == AffineExprKind::Mod &&
        cast<AffineConstantExpr>(rest.getRHS()).getValue() == shape[dim])
      index = rest.getLHS();
    auto position = dyn_cast<AffineDimExpr>(index);
    const size_t leading = sizes.size() - 2;
    if (!position || position.getPosition() < leading ||
        shape[dim] != sizes[position.getPosition()] || at[position.getPosition() - leading])
      return std::nullopt;
    at[position.getPosition() - leading] = static_cast<unsigned>(dim);
  }
  if (!at[0] || !at[1])
    return std::nullopt;
  return std::pair(*at[0], *at[1]);
}

/// A load of the whole tile, transposed or not, and possibly maps that make the product's operand
/// of it.
std::optional<Operand> operandOf(Value tile, scf::ForOp loop, StringRef side, std::string &reason) {
  auto no = [&](const llvm::Twine &why) {
    reason = ("its " + side + " " + why).str();
    return std::nullopt;
  };
  auto sizes = cast<RankedTensorType>(tile.getType()).getShape();
  Loads loads = loadsOf(tile);
  if (!loads.problem.empty())
    return no(loads.problem);
  Operand operand;
  operand.tile = tile;
  std::pair<unsigned, unsigned> dims;
  for (const Step &step : loads.found) {
    std::optional<std::pair<unsigned, unsigned>> found = matrixDims(step, sizes);
    auto load = step.value.getDefiningOp<tile::LoadOp>();
    if (!found || load->getParentOp() != loop)
      continue;
    if (operand.load)
      return no("is made of two tiles of its size");
    operand.load = load;
    operand.hasPrologue = step.isMapped;
    dims = *found;
  }
  if (!operand.load)
    return no("is not loaded as one tile of its size in the loop");
  tile::LoadOp load = operand.load;
  auto type = cast<RankedTensorType>(load.getType());
  auto memory = cast<MemRefType>(load.getSource().getType());
  operand.transposed = dims.first > dims.second;
  operand.outerDim = std::min(dims.first, dims.second);
  operand.innerDim = std::max(dims.first, dims.second);
  if (operand.innerDim != memory.getRank() - 1)
    return no("is not loaded along what is contiguous in memory");
  if (load.getStrides() &&
      llvm::any_of(*load.getStrides(), [](int64_t stride) { return stride != 1; }))
    return no("is loaded with strides");
  if (Value padding = load.getPadding();
      padding && !matchPattern(padding, m_AnyZeroFloat()) && !matchPattern(padding, m_Zero()))
    return no("is padded with something other than zero");
  if (memory.getRank() > 5)
    return no("has " + llvm::Twine(memory.getRank()) + " dimensions, and the copy engine takes 5");
  if (!type.getElementType().isIntOrFloat())
    return no("has elements that the copy engine does not take");
  // What is smaller than a byte has one of its own.
  operand.bits = std::max<int64_t>(8, type.getElementTypeBitWidth());
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

bool isScalar(Operation *op) {
  auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
  return op->getNumRegions() == 0 && isPure(op) && llvm::none_of(op->getOperandTypes(), isTile) &&
         llvm::none_of(op->getResultTypes(), isTile);
}

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
  if (dot.getLhsScale() ||
      llvm::any_of(dot.getType().getShape().drop_back(2), [](int64_t size) { return size != 1; })) {
    reason = "its product has scales or several batches";
    return std::nullopt;
  }
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isa<tile::LoadOp, tile::ViewOp, tile::MapOp, tile::IotaOp, tile::DotOp>(op) &&
        !isScalar(&op)) {
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
  if (lhs->hasPrologue && rhs->hasPrologue) {
    reason = "both sides are computed on the way to it, and the instruction takes one from "
             "registers";
    return std::nullopt;
  }
  product.lhs = *lhs;
  product.rhs = *rhs;
  product.m = lhsType.getShape().drop_back().back();
  product.k = lhsType.getShape().back();
  product.n = rhsType.getShape().back();
  // Instructions take the left side from registers: the transposed product has it there.
  if (rhs->hasPrologue) {
    product.isSwapped = true;
    std::swap(product.lhs, product.rhs);
    std::swap(product.m, product.n);
    product.lhs.transposed = !product.lhs.transposed;
    product.rhs.transposed = !product.rhs.transposed;
  }
  return product;
}

void enterIteration(OpBuilder &b, const Product &product, Value number, IRMapping &scalars) {
  scf::ForOp loop = product.loop;
  scalars.map(loop.getInductionVar(), number);
  for (Operation &op : loop.getBody()->without_terminator())
    if (isScalar(&op))
      b.clone(op, scalars);
}

} // namespace tilewright::pipeline
