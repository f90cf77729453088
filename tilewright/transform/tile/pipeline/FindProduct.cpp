#include "tilewright/transform/tile/pipeline/FindProduct.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tilewright::pipeline {
namespace {

/// Whether a tile is a splat of zero: a map without inputs that yields zero.
bool isZero(Value value) {
  auto map = value.getDefiningOp<tile::MapOp>();
  if (!map || !map.getInputs().empty())
    return false;
  Value yielded = map.getBody().front().getTerminator()->getOperand(0);
  return matchPattern(yielded, m_AnyZeroFloat()) || matchPattern(yielded, m_Zero());
}

/// A tile on the path from memory to the matmul: its index as a function of the operand's index,
/// and whether a map is on the path.
struct TracedTile {
  Value value;
  AffineMap map;
  bool isMapped;
};

/// The loads that an operand is computed from, or the problem if it is not computed from loads by
/// views, maps and iotas only.
struct Loads {
  SmallVector<TracedTile> found;
  std::string problem;
};

Loads loadsOf(Value tile) {
  Loads loads;
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<TracedTile> open{
      {tile,
       AffineMap::getMultiDimIdentityMap(static_cast<unsigned>(type.getRank()), tile.getContext()),
       false}};
  llvm::DenseSet<std::pair<Value, AffineMap>> seen;
  while (!open.empty() && loads.problem.empty()) {
    TracedTile traced = open.pop_back_val();
    if (!seen.insert({traced.value, traced.map}).second)
      continue;
    Operation *op = traced.value.getDefiningOp();
    if (auto view = dyn_cast_or_null<tile::ViewOp>(op)) {
      open.push_back({view.getSource(), simplifyAffineMap(view.getMap().compose(traced.map)),
                      traced.isMapped});
    } else if (auto map = dyn_cast_or_null<tile::MapOp>(op)) {
      for (Value input : map.getInputs())
        open.push_back({input, traced.map, true});
    } else if (isa_and_nonnull<tile::LoadOp>(op)) {
      loads.found.push_back(traced);
    } else if (!isa_and_nonnull<tile::IotaOp>(op)) {
      loads.problem = op ? llvm::formatv("passes through '{0}'", op->getName().getStringRef()).str()
                         : std::string("comes from outside the kernel's loop");
    }
  }
  return loads;
}

/// The two dimensions of a load's tile that correspond to the operand's last two, in the operand's
/// order; all other dimensions have size 1. Returns nullopt if the load is not the operand's matrix
/// but, for example, a scale.
std::optional<std::pair<unsigned, unsigned>> matrixDims(const TracedTile &traced,
                                                        ArrayRef<int64_t> sizes) {
  auto shape = cast<RankedTensorType>(traced.value.getType()).getShape();
  std::optional<unsigned> at[2];
  for (auto [dim, expr] : llvm::enumerate(traced.map.getResults())) {
    if (shape[dim] == 1)
      continue;
    // If the tile has a single group, the index within the group (k mod group size) is the index
    // itself.
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

/// Finds an operand that is loaded as one tile, possibly transposed, possibly with maps as a
/// prologue.
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
  for (const TracedTile &traced : loads.found) {
    std::optional<std::pair<unsigned, unsigned>> found = matrixDims(traced, sizes);
    auto load = traced.value.getDefiningOp<tile::LoadOp>();
    if (!found || load->getParentOp() != loop)
      continue;
    if (operand.load)
      return no("is computed from two loads of its size");
    operand.load = load;
    operand.hasPrologue = traced.isMapped;
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
    return no("is not loaded along the contiguous dimension of memory");
  if (load.getStrides() &&
      llvm::any_of(*load.getStrides(), [](int64_t stride) { return stride != 1; }))
    return no("is loaded with strides");
  if (Value padding = load.getPadding();
      padding && !matchPattern(padding, m_AnyZeroFloat()) && !matchPattern(padding, m_Zero()))
    return no("is padded with something other than zero");
  if (memory.getRank() > 5)
    return no("has " + llvm::Twine(memory.getRank()) +
              " dimensions, but the copy engine supports at most 5");
  if (!type.getElementType().isIntOrFloat())
    return no("has elements that the copy engine does not support");
  // A sub-byte element occupies a whole byte.
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
  if (kernel.getUpdates()) {
    reason = "it writes a part of an input in place";
    return std::nullopt;
  }
  auto loops = kernel.getBody().getOps<scf::ForOp>();
  if (std::distance(loops.begin(), loops.end()) != 1) {
    reason = "it does not have exactly one loop";
    return std::nullopt;
  }
  scf::ForOp loop = product.loop = *loops.begin();
  APInt lower, upper, step;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) || !lower.isZero() || !step.isOne() ||
      upper.getSExtValue() < 1) {
    reason = "its loop does not run from 0 to a constant in steps of 1";
    return std::nullopt;
  }
  product.iterations = upper.getSExtValue();
  product.dot = loop.getBody()->getTerminator()->getNumOperands() == 1
                    ? loop.getBody()->getTerminator()->getOperand(0).getDefiningOp<tile::DotOp>()
                    : tile::DotOp();
  tile::DotOp dot = product.dot;
  if (!dot || dot.getAcc() != loop.getRegionIterArg(0) || !isZero(loop.getInitArgs()[0])) {
    reason = "its loop does not sum products starting from zero";
    return std::nullopt;
  }
  if (dot.getLhsScale() ||
      llvm::any_of(dot.getType().getShape().drop_back(2), [](int64_t size) { return size != 1; })) {
    reason = "its product has scales or more than one batch";
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
    reason = "both operands have a prologue, but the instruction reads only one from registers";
    return std::nullopt;
  }
  product.lhs = *lhs;
  product.rhs = *rhs;
  product.m = lhsType.getShape().drop_back().back();
  product.k = lhsType.getShape().back();
  product.n = rhsType.getShape().back();
  // The instruction can take only its left operand from registers, so compute the transposed
  // product.
  if (rhs->hasPrologue) {
    product.isSwapped = true;
    std::swap(product.lhs, product.rhs);
    std::swap(product.m, product.n);
    product.lhs.transposed = !product.lhs.transposed;
    product.rhs.transposed = !product.rhs.transposed;
  }
  return product;
}

DenseI64ArrayAttr copiedDims(OpBuilder &b, Operand operand) {
  const int64_t rank = cast<MemRefType>(operand.load.getSource().getType()).getRank();
  if (operand.outerDim == rank - 2)
    return {};
  return b.getDenseI64ArrayAttr({operand.outerDim, operand.innerDim});
}

void enterIteration(OpBuilder &b, const Product &product, Value number, IRMapping &scalars) {
  scf::ForOp loop = product.loop;
  scalars.map(loop.getInductionVar(), number);
  for (Operation &op : loop.getBody()->without_terminator())
    if (isScalar(&op))
      b.clone(op, scalars);
}

} // namespace tilewright::pipeline
