#include "tilewright/transform/tile/pipeline/FindProduct.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tilewright::pipeline {

bool isZero(Value value) {
  auto map = value.getDefiningOp<tile::MapOp>();
  if (!map || !map.getInputs().empty())
    return false;
  Value yielded = map.getBody().front().getTerminator()->getOperand(0);
  return matchPattern(yielded, m_AnyZeroFloat()) || matchPattern(yielded, m_Zero());
}

namespace {

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

/// An index of a tile as a digit of an index of the matrix: (index / stride) % size.
struct MatrixDigit {
  unsigned dim; // of the tile
  unsigned of;  // the dimension of the matrix
  int64_t stride = 1, size;
  bool isLimited = false; // has the remainder, so it need not be the first digit
};

std::optional<MatrixDigit> digitOf(AffineExpr expr, unsigned dim, int64_t size) {
  MatrixDigit digit{.dim = dim, .of = 0, .size = size};
  auto constantOf = [](AffineExpr value) {
    auto constant = dyn_cast<AffineConstantExpr>(value);
    return constant ? constant.getValue() : 0;
  };
  if (auto rest = dyn_cast<AffineBinaryOpExpr>(expr);
      rest && rest.getKind() == AffineExprKind::Mod && constantOf(rest.getRHS()) == size) {
    digit.isLimited = true;
    expr = rest.getLHS();
  }
  if (auto quotient = dyn_cast<AffineBinaryOpExpr>(expr);
      quotient && quotient.getKind() == AffineExprKind::FloorDiv &&
      constantOf(quotient.getRHS()) > 0) {
    digit.stride = constantOf(quotient.getRHS());
    expr = quotient.getLHS();
  }
  auto position = dyn_cast<AffineDimExpr>(expr);
  if (!position)
    return std::nullopt;
  digit.of = position.getPosition();
  return digit;
}

/// Whether digits, the outermost first, are all of an index of `size` values, except the `packing`
/// values that share an element.
bool areDigitsOf(ArrayRef<MatrixDigit> digits, int64_t size, int64_t packing) {
  int64_t stride = packing;
  for (const MatrixDigit &digit : llvm::reverse(digits)) {
    if (digit.stride != stride || (!digit.isLimited && &digit != digits.begin()))
      return false;
    stride *= digit.size;
  }
  return !digits.empty() && stride == size;
}

/// How many values of an index share an element of the tile: a byte may hold two or four.
int64_t packingOf(Value tile, ArrayRef<MatrixDigit> digits) {
  const int64_t least = digits.empty() ? 1 : digits.back().stride;
  const bool isByte = cast<RankedTensorType>(tile.getType()).getElementType().isInteger(8);
  return isByte && (least == 2 || least == 4) ? least : 1;
}

/// The dimensions of a load's tile that correspond to the operand's last two, in the operand's
/// order, as digits of those, the outermost first; all other dimensions have size 1. Returns
/// nullopt if the load is not the operand's matrix but, for example, a scale.
using MatrixDims = std::array<SmallVector<MatrixDigit>, 2>;
std::optional<MatrixDims> matrixDims(const TracedTile &traced, ArrayRef<int64_t> sizes) {
  auto shape = cast<RankedTensorType>(traced.value.getType()).getShape();
  const size_t leading = sizes.size() - 2;
  MatrixDims at;
  for (auto [dim, expr] : llvm::enumerate(traced.map.getResults())) {
    if (shape[dim] == 1)
      continue;
    std::optional<MatrixDigit> digit = digitOf(expr, static_cast<unsigned>(dim), shape[dim]);
    if (!digit || digit->of < leading)
      return std::nullopt;
    at[digit->of - leading].push_back(*digit);
  }
  for (auto [digits, size] : llvm::zip_equal(at, sizes.drop_front(leading))) {
    llvm::sort(digits,
               [](const MatrixDigit &a, const MatrixDigit &b) { return a.stride > b.stride; });
    if (!areDigitsOf(digits, size, packingOf(traced.value, digits)))
      return std::nullopt;
  }
  return at;
}

} // namespace

std::optional<Operand> findOperand(Value tile, llvm::function_ref<bool(tile::LoadOp)> isOfOperand,
                                   StringRef side, std::string &reason) {
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
  MatrixDims dims;
  for (const TracedTile &traced : loads.found) {
    std::optional<MatrixDims> found = matrixDims(traced, sizes);
    auto load = traced.value.getDefiningOp<tile::LoadOp>();
    if (!found || !isOfOperand(load))
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
  // The matrix is contiguous along the index that has the last dimension of memory.
  operand.transposed = dims[0].back().dim == memory.getRank() - 1;
  const SmallVector<MatrixDigit> &inner = dims[operand.transposed ? 0 : 1],
                                 &outer = dims[operand.transposed ? 1 : 0];
  operand.innerDim = inner.back().dim;
  if (operand.innerDim != memory.getRank() - 1 || inner.size() != 1)
    return no("is not loaded along the contiguous dimension of memory");
  operand.packing = packingOf(load.getResult(), inner);
  if (packingOf(load.getResult(), outer) != 1)
    return no("is unpacked along another than the contiguous dimension of memory");
  auto strideOf = [&](int64_t dim) {
    return load.getStrides() ? (*load.getStrides())[static_cast<size_t>(dim)] : 1;
  };
  for (const MatrixDigit &digit : outer) {
    operand.outerDims.push_back(digit.dim);
    operand.outerSizes.push_back(digit.size);
    operand.outerStrides.push_back(strideOf(digit.dim));
  }
  if (strideOf(operand.innerDim) != 1 ||
      llvm::any_of(operand.outerStrides, [](int64_t stride) { return stride < 1; }))
    return no("is loaded with strides along the contiguous dimension of memory or backwards");
  if (operand.hasPrologue && (outer.size() > 1 || operand.outerStrides[0] != 1))
    return no("has a prologue and is loaded with strides or along several dimensions of memory");
  if (Value padding = load.getPadding();
      padding && !matchPattern(padding, m_AnyZeroFloat()) && !matchPattern(padding, m_Zero()))
    return no("is padded with something other than zero");
  if (memory.getRank() > 5)
    return no("has " + llvm::Twine(memory.getRank()) +
              " dimensions, but the copy engine supports at most 5");
  if (!type.getElementType().isIntOrFloat())
    return no("has elements that the copy engine does not support");
  // A sub-byte element that the load does not unpack occupies a whole byte.
  operand.bits = std::max<int64_t>(8, type.getElementTypeBitWidth());
  return operand;
}

namespace {

/// The load of ordered scales: lines of 128 bytes of one or more groups of rows.
Operand scalesOf(Value tile) {
  Operand operand;
  operand.load = tile.getDefiningOp<tile::LoadOp>();
  operand.tile = tile;
  const ArrayRef<int64_t> shape = cast<RankedTensorType>(tile.getType()).getShape();
  const auto rank = static_cast<int64_t>(shape.size());
  operand.innerDim = rank - 1;
  operand.bits = 8;
  for (int64_t dim = 0; dim < rank - 1; ++dim)
    if (shape[static_cast<size_t>(dim)] > 1 || dim == rank - 2) {
      operand.outerDims.push_back(dim);
      operand.outerSizes.push_back(shape[static_cast<size_t>(dim)]);
      operand.outerStrides.push_back(1);
    }
  return operand;
}

} // namespace

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

bool isScalar(Operation *op) {
  auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
  return op->getNumRegions() == 0 && isPure(op) && llvm::none_of(op->getOperandTypes(), isTile) &&
         llvm::none_of(op->getResultTypes(), isTile);
}

void beginBody(OpBuilder &builder, tile::KernelOp old, sm::KernelOp made, IRMapping &scalars) {
  Block *block = builder.createBlock(&made.getBody());
  for (BlockArgument argument : old.getBlock().getArguments())
    scalars.map(argument, block->addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToStart(block);
  for (Operation &op : old.getBlock().without_terminator())
    if (isScalar(&op))
      builder.clone(op, scalars);
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
  if ((dot.getLhsScale() && !dot.getBlock()) ||
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
  // Bytes of scaled elements have the rate of f8, also if they are two of f4.
  product.type = dot.getBlock() ? "f8" : typeName(lhsType.getElementType(), dot.getTf32());
  if (product.type.empty() ||
      (!dot.getBlock() && lhsType.getElementType() != rhsType.getElementType())) {
    reason = "no matrix instruction multiplies its types";
    return std::nullopt;
  }
  auto isInLoop = [&](tile::LoadOp load) { return load->getParentOp() == loop; };
  std::optional<Operand> lhs = findOperand(dot.getLhs(), isInLoop, "lhs", reason),
                         rhs = lhs ? findOperand(dot.getRhs(), isInLoop, "rhs", reason)
                                   : std::nullopt;
  if (!lhs || !rhs)
    return std::nullopt;
  product.lhs = *lhs;
  product.rhs = *rhs;
  if (dot.getBlock()) {
    product.lhsScale = scalesOf(dot.getLhsScale());
    product.rhsScale = scalesOf(dot.getRhsScale());
    if (!product.lhsScale.load || !product.rhsScale.load || lhs->hasPrologue || rhs->hasPrologue) {
      reason = "its elements and scales are not loaded as they are";
      return std::nullopt;
    }
  }
  product.m = lhsType.getShape().drop_back().back();
  product.k = lhsType.getShape().back();
  product.n = rhsType.getShape().back();
  // The instruction can take only its left operand from registers, so compute the transposed
  // product.
  if (rhs->hasPrologue && !lhs->hasPrologue) {
    product.isSwapped = true;
    std::swap(product.lhs, product.rhs);
    std::swap(product.m, product.n);
    product.lhs.transposed = !product.lhs.transposed;
    product.rhs.transposed = !product.rhs.transposed;
  }
  return product;
}

sm::BufferType scaleBuffer(const Operand &scale) {
  int64_t lines = 1;
  for (int64_t size : scale.outerSizes)
    lines *= size;
  const sm::Layout layout(llvm::ArrayRef<sm::Layout::Digits>(
      {{{lines, sm::Axis::offset, 128}}, {{128, sm::Axis::offset, 1}}}));
  MLIRContext *context = scale.tile.getContext();
  return sm::BufferType::get(context, {lines, 128}, IntegerType::get(context, 8), sm::Space::shared,
                             sm::LayoutAttr::get(context, layout));
}

void multiplyWithScales(sm::MmaOp mma, tile::DotOp dot, Value lhsScale, Value rhsScale) {
  mma.getLhsScaleMutable().assign(lhsScale);
  mma.getRhsScaleMutable().assign(rhsScale);
  mma.setLhsTypeAttr(dot.getLhsTypeAttr());
  mma.setRhsTypeAttr(dot.getRhsTypeAttr());
  mma.setScaleTypeAttr(dot.getScaleTypeAttr());
  mma.setBlockAttr(dot.getBlockAttr());
}

void copyOperand(OpBuilder &b, sm::Engine engine, Operand operand, Value buffer,
                 const IRMapping &at, bool tf32, int64_t firstRow) {
  tile::LoadOp load = operand.load;
  SmallVector<Value> offsets;
  for (Value offset : load.getOffsets())
    offsets.push_back(at.lookup(offset));
  if (firstRow) {
    Value &offset = offsets[size_t(operand.transposed ? operand.innerDim : operand.outerDims[0])];
    offset = arith::AddIOp::create(
        b, load.getLoc(), offset,
        arith::ConstantIndexOp::create(b, load.getLoc(), firstRow).getResult());
  }
  SmallVector<int64_t> dims = operand.outerDims, box = operand.outerSizes,
                       strides = operand.outerStrides;
  dims.push_back(operand.innerDim);
  DenseI64ArrayAttr dimsAttr, boxAttr, stridesAttr;
  if (operand.outerDims.size() > 1 || operand.outerStrides[0] != 1) {
    const sm::Layout &layout = cast<sm::BufferType>(buffer.getType()).getLayout().getValue();
    const int64_t outer = operand.transposed ? 1 : 0;
    // The layout may have more rows than the tile. They are copied too, but nothing reads them.
    int64_t rows = 1;
    for (int64_t size : box)
      rows *= size;
    box.front() *= layout.cover(outer) / rows;
    box.push_back(layout.cover(1 - outer));
    strides.push_back(1);
    boxAttr = b.getDenseI64ArrayAttr(box);
    if (llvm::any_of(strides, [](int64_t stride) { return stride != 1; }))
      stridesAttr = b.getDenseI64ArrayAttr(strides);
  }
  if (boxAttr || dims.front() != operand.innerDim - 1)
    dimsAttr = b.getDenseI64ArrayAttr(dims);
  sm::CopyOp::create(b, load.getLoc(), Type(), engine, at.lookup(load.getSource()), offsets, buffer,
                     ValueRange(), operand.transposed, dimsAttr, boxAttr, stridesAttr, tf32);
}

void enterIteration(OpBuilder &b, const Product &product, Value number, IRMapping &scalars) {
  scf::ForOp loop = product.loop;
  scalars.map(loop.getInductionVar(), number);
  for (Operation &op : loop.getBody()->without_terminator())
    if (isScalar(&op))
      b.clone(op, scalars);
}

} // namespace tilewright::pipeline
