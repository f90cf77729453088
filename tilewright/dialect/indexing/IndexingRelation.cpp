#include "tilewright/dialect/indexing/IndexingRelation.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::indexing {

namespace {
/// Collects the maps of one op.
class Builder {
public:
  Builder(Operation *op, ArrayRef<int64_t> resultShape, ArrayRef<int64_t> reducedSizes = {})
      : context(op->getContext()) {
    relation.resultRank = static_cast<unsigned>(resultShape.size());
    llvm::append_range(relation.sizes, resultShape);
    llvm::append_range(relation.sizes, reducedSizes);
  }

  AffineExpr dim(int64_t position) const {
    return getAffineDimExpr(static_cast<unsigned>(position), context);
  }
  AffineExpr constant(int64_t value) const { return getAffineConstantExpr(value, context); }

  void operand(ArrayRef<AffineExpr> index, bool mayLeave = false,
               SmallVector<std::pair<AffineExpr, int64_t>> spread = {}) {
    relation.operands.push_back(
        {AffineMap::get(static_cast<unsigned>(relation.sizes.size()),
                        static_cast<unsigned>(relation.positions.size()), index, context),
         mayLeave, std::move(spread)});
  }
  /// Adds an operand that is read at the result's own index, or a scalar.
  void elementwise(Value value) {
    SmallVector<AffineExpr> index;
    for (int64_t i = 0; i < cast<RankedTensorType>(value.getType()).getRank(); ++i)
      index.push_back(dim(i));
    operand(index);
  }

  /// A symbol for the value of a scalar operand, clamped to [0, limit].
  AffineExpr position(unsigned operand, int64_t limit) {
    relation.positions.push_back({operand, limit});
    return getAffineSymbolExpr(static_cast<unsigned>(relation.positions.size() - 1), context);
  }

  IndexingRelation take() { return std::move(relation); }

private:
  MLIRContext *context;
  IndexingRelation relation;
};
} // namespace

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static IndexingRelation relationOf(stablehlo::BroadcastInDimOp op) {
  Builder builder(op, shapeOf(op.getResult()));
  SmallVector<AffineExpr> index;
  for (auto [size, dim] : llvm::zip_equal(shapeOf(op.getOperand()), op.getBroadcastDimensions()))
    index.push_back(size == 1 ? builder.constant(0) : builder.dim(dim));
  builder.operand(index);
  return builder.take();
}

static IndexingRelation relationOf(stablehlo::TransposeOp op) {
  Builder builder(op, shapeOf(op.getResult()));
  SmallVector<AffineExpr> index(op.getPermutation().size());
  for (auto [dim, source] : llvm::enumerate(op.getPermutation()))
    index[static_cast<size_t>(source)] = builder.dim(static_cast<int64_t>(dim));
  builder.operand(index);
  return builder.take();
}

static IndexingRelation relationOf(stablehlo::ReshapeOp op) {
  Builder builder(op, shapeOf(op.getResult()));
  AffineExpr flat = builder.constant(0);
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getResult())))
    flat = flat * size + builder.dim(static_cast<int64_t>(dim));
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  SmallVector<AffineExpr> index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    const int64_t size = std::max<int64_t>(shape[i], 1);
    index[i] = i == 0 ? flat : flat % size;
    flat = flat.floorDiv(size);
  }
  builder.operand(index);
  return builder.take();
}

static IndexingRelation relationOf(stablehlo::SliceOp op) {
  Builder builder(op, shapeOf(op.getResult()));
  SmallVector<AffineExpr> index;
  for (auto [dim, range] :
       llvm::enumerate(llvm::zip_equal(op.getStartIndices(), op.getStrides()))) {
    auto [start, stride] = range;
    index.push_back(builder.dim(static_cast<int64_t>(dim)) * stride + start);
  }
  builder.operand(index);
  return builder.take();
}

static IndexingRelation relationOf(stablehlo::DynamicSliceOp op) {
  Builder builder(op, shapeOf(op.getResult()));
  SmallVector<AffineExpr> index;
  for (auto [i, sizes] :
       llvm::enumerate(llvm::zip_equal(shapeOf(op.getOperand()), op.getSliceSizes()))) {
    auto [whole, size] = sizes;
    AffineExpr dim = builder.dim(static_cast<int64_t>(i));
    // A slice of the whole dimension always starts at 0.
    index.push_back(
        whole == size ? dim : dim + builder.position(static_cast<unsigned>(i + 1), whole - size));
  }
  builder.operand(index);
  for (size_t i = 0; i < op.getStartIndices().size(); ++i)
    builder.operand({});
  return builder.take();
}

static IndexingRelation relationOf(stablehlo::ReverseOp op) {
  Builder builder(op, shapeOf(op.getResult()));
  SmallVector<AffineExpr> index;
  for (auto [i, size] : llvm::enumerate(shapeOf(op.getOperand()))) {
    const auto dim = static_cast<int64_t>(i);
    index.push_back(llvm::is_contained(op.getDimensions(), dim) ? builder.dim(dim) * -1 + (size - 1)
                                                                : builder.dim(dim));
  }
  builder.operand(index);
  return builder.take();
}

static IndexingRelation relationOf(stablehlo::PadOp op) {
  Builder builder(op, shapeOf(op.getResult()));
  SmallVector<AffineExpr> index;
  SmallVector<std::pair<AffineExpr, int64_t>> spread;
  for (auto [dim, edges] :
       llvm::enumerate(llvm::zip_equal(op.getEdgePaddingLow(), op.getInteriorPadding()))) {
    auto [low, interior] = edges;
    spread.push_back({builder.dim(static_cast<int64_t>(dim)) - low, interior + 1});
    index.push_back(spread.back().first.floorDiv(interior + 1));
  }
  builder.operand(index, /*mayLeave=*/true, std::move(spread));
  builder.operand({});
  return builder.take();
}

static IndexingRelation relationOf(stablehlo::ConcatenateOp op) {
  Builder builder(op, shapeOf(op.getResult()));
  int64_t start = 0;
  for (Value input : op.getInputs()) {
    SmallVector<AffineExpr> index;
    for (size_t i = 0; i < shapeOf(input).size(); ++i)
      index.push_back(builder.dim(static_cast<int64_t>(i)));
    index[op.getDimension()] = index[op.getDimension()] - start;
    builder.operand(index, /*mayLeave=*/true);
    start += shapeOf(input)[op.getDimension()];
  }
  return builder.take();
}

static IndexingRelation relationOf(stablehlo::ReduceOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getInputs().front());
  SmallVector<int64_t> reducedSizes;
  for (size_t i = 0; i < shape.size(); ++i)
    if (llvm::is_contained(op.getDimensions(), static_cast<int64_t>(i)))
      reducedSizes.push_back(shape[i]);
  ArrayRef<int64_t> result = shapeOf(op.getResults().front());
  Builder builder(op, result, reducedSizes);
  SmallVector<AffineExpr> index;
  int64_t kept = 0, reduced = static_cast<int64_t>(result.size());
  for (size_t i = 0; i < shape.size(); ++i)
    index.push_back(builder.dim(
        llvm::is_contained(op.getDimensions(), static_cast<int64_t>(i)) ? reduced++ : kept++));
  for (size_t i = 0; i < op.getInputs().size(); ++i)
    builder.operand(index);
  for (size_t i = 0; i < op.getInitValues().size(); ++i)
    builder.operand({});
  return builder.take();
}

static IndexingRelation relationOf(stablehlo::DotGeneralOp op) {
  stablehlo::DotDimensionNumbersAttr dims = op.getDotDimensionNumbers();
  ArrayRef<int64_t> lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs()),
                    result = shapeOf(op.getResult());
  SmallVector<int64_t> contracted;
  for (int64_t dim : dims.getLhsContractingDimensions())
    contracted.push_back(lhs[static_cast<size_t>(dim)]);
  Builder builder(op, result, contracted);

  // The dimensions of the result are the batching dimensions, the free dimensions of lhs, and the
  // free dimensions of rhs.
  auto next = static_cast<int64_t>(dims.getLhsBatchingDimensions().size());
  auto side = [&](ArrayRef<int64_t> shape, ArrayRef<int64_t> batching,
                  ArrayRef<int64_t> contracting) {
    SmallVector<AffineExpr> index(shape.size());
    for (auto [i, dim] : llvm::enumerate(batching))
      index[static_cast<size_t>(dim)] = builder.dim(static_cast<int64_t>(i));
    for (auto [i, dim] : llvm::enumerate(contracting))
      index[static_cast<size_t>(dim)] = builder.dim(static_cast<int64_t>(result.size() + i));
    for (AffineExpr &expr : index)
      if (!expr)
        expr = builder.dim(next++);
    builder.operand(index);
  };
  side(lhs, dims.getLhsBatchingDimensions(), dims.getLhsContractingDimensions());
  side(rhs, dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions());
  return builder.take();
}

std::optional<int64_t> gatheredDimension(stablehlo::GatherOp op) {
  stablehlo::GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  ArrayRef<int64_t> operand = shapeOf(op.getOperand()), indices = shapeOf(op.getStartIndices());
  if (numbers.getStartIndexMap().size() != 1 || !numbers.getOperandBatchingDims().empty() ||
      numbers.getCollapsedSliceDims() != numbers.getStartIndexMap())
    return std::nullopt;
  const int64_t dim = numbers.getStartIndexMap().front();
  for (auto [i, size] : llvm::enumerate(op.getSliceSizes()))
    if (static_cast<int64_t>(i) != dim && size != operand[i])
      return std::nullopt;
  const int64_t vector = numbers.getIndexVectorDim();
  if (operand[static_cast<size_t>(dim)] < 1 ||
      (vector < static_cast<int64_t>(indices.size()) && indices[static_cast<size_t>(vector)] != 1))
    return std::nullopt;
  return dim;
}

/// The operand's index in the gathered dimension depends on the values of the indices, so the map
/// contains 0 there. The code that emits the op substitutes the computed index.
static FailureOr<IndexingRelation> relationOf(stablehlo::GatherOp op) {
  std::optional<int64_t> gathered = gatheredDimension(op);
  if (!gathered)
    return failure();
  stablehlo::GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  Builder builder(op, shapeOf(op.getResult()));
  SmallVector<AffineExpr> operand, indices;
  size_t offset = 0;
  for (size_t i = 0; i < shapeOf(op.getOperand()).size(); ++i)
    operand.push_back(static_cast<int64_t>(i) == *gathered
                          ? builder.constant(0)
                          : builder.dim(numbers.getOffsetDims()[offset++]));
  for (int64_t dim = 0; dim < static_cast<int64_t>(shapeOf(op.getResult()).size()); ++dim)
    if (!llvm::is_contained(numbers.getOffsetDims(), dim))
      indices.push_back(builder.dim(dim));
  if (indices.size() < shapeOf(op.getStartIndices()).size())
    indices.insert(indices.begin() + numbers.getIndexVectorDim(), builder.constant(0));
  builder.operand(operand);
  builder.operand(indices);
  return builder.take();
}

static bool hasStaticTensors(Operation *op) {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

FailureOr<IndexingRelation> indexingRelation(Operation *op) {
  if (op->getNumResults() == 0 || !hasStaticTensors(op))
    return failure();
  return llvm::TypeSwitch<Operation *, FailureOr<IndexingRelation>>(op)
      .Case<stablehlo::BroadcastInDimOp, stablehlo::TransposeOp, stablehlo::ReshapeOp,
            stablehlo::SliceOp, stablehlo::DynamicSliceOp, stablehlo::ReverseOp, stablehlo::PadOp,
            stablehlo::ConcatenateOp, stablehlo::ReduceOp, stablehlo::DotGeneralOp,
            stablehlo::GatherOp>(
          [](auto op) -> FailureOr<IndexingRelation> { return relationOf(op); })
      .Case<stablehlo::ConstantOp, stablehlo::IotaOp>(
          [](Operation *op) -> FailureOr<IndexingRelation> {
            return Builder(op, shapeOf(op->getResult(0))).take();
          })
      .Default([](Operation *op) -> FailureOr<IndexingRelation> {
        if (!elements::canExpress(op))
          return failure();
        Builder builder(op, shapeOf(op->getResult(0)));
        for (Value operand : op->getOperands())
          builder.elementwise(operand);
        return builder.take();
      });
}

//===- Tiling -------------------------------------------------------------===//

/// Whether all ops of a scalar region have scalar semantics and use only values of the region.
static bool isScalarRegion(Region &region) {
  if (!region.hasOneBlock())
    return false;
  for (Operation &op : region.front()) {
    if (llvm::any_of(op.getOperands(),
                     [&](Value value) { return value.getParentRegion() != &region; }))
      return false;
    if (op.hasTrait<OpTrait::IsTerminator>() ||
        isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp, stablehlo::OptimizationBarrierOp>(
            op))
      continue;
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      if (!isa<DenseElementsAttr>(constant.getValue()))
        return false;
      continue;
    }
    if (!elements::canExpress(&op))
      return false;
  }
  return true;
}

std::optional<ScanDimension> scannedDimension(stablehlo::ReduceWindowOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getInputs().front());
  auto areOnes = [](std::optional<ArrayRef<int64_t>> values) {
    return !values || llvm::all_of(*values, [](int64_t value) { return value == 1; });
  };
  if (!areOnes(op.getWindowStrides()) || !areOnes(op.getBaseDilations()) ||
      !areOnes(op.getWindowDilations()))
    return std::nullopt;
  SmallVector<int64_t> padding(2 * shape.size(), 0);
  if (DenseIntElementsAttr edges = op.getPaddingAttr())
    padding.assign(edges.value_begin<int64_t>(), edges.value_end<int64_t>());
  std::optional<ScanDimension> found;
  for (auto [dim, window] : llvm::enumerate(op.getWindowDimensions())) {
    const int64_t low = padding[2 * dim], high = padding[2 * dim + 1];
    const bool isScan = window == shape[dim] && low + high == window - 1 && (low == 0 || high == 0);
    // A window of one element is a scan too, if the dimension has no more.
    if (isScan && (!found || window > 1) && !(found && shape[found->dim] > 1))
      found = {static_cast<int64_t>(dim), low == 0 && window > 1};
    else if (window != 1 || low != 0 || high != 0)
      return std::nullopt;
  }
  return found;
}

bool isRowOp(Operation *op) {
  if (auto window = dyn_cast<stablehlo::ReduceWindowOp>(op))
    return scannedDimension(window).has_value();
  return isa<stablehlo::SortOp>(op);
}

/// Why a sort or a scan cannot be tiled; empty if it can.
static std::string whyNotRows(Operation *op) {
  if (llvm::is_contained(shapeOf(op->getOperand(0)), 0))
    return "has no elements";
  if (auto sort = dyn_cast<stablehlo::SortOp>(op)) {
    if (shapeOf(op->getOperand(0)).empty())
      return "sorts a scalar";
    return isScalarRegion(sort.getComparator())
               ? ""
               : "has a comparator that is not a function of scalars";
  }
  auto window = cast<stablehlo::ReduceWindowOp>(op);
  for (Value init : window.getInitValues())
    if (!init.getDefiningOp<stablehlo::ConstantOp>())
      return "is a scan whose initial value is not a constant";
  return isScalarRegion(window.getBody()) ? "" : "has a body that is not a function of scalars";
}

static std::string whyNot(Operation *op) {
  if (!hasStaticTensors(op))
    return "has a type that is not a tensor of static shape";
  auto hasScalar = [](Type type) {
    return elements::scalarType(cast<RankedTensorType>(type).getElementType()) != Type();
  };
  if (!llvm::all_of(op->getOperandTypes(), hasScalar) ||
      !llvm::all_of(op->getResultTypes(), hasScalar))
    return "has elements that are not plain scalars";
  if (isRowOp(op))
    return whyNotRows(op);
  if (failed(indexingRelation(op)))
    return "has no indexing relation, or is not defined for single elements of its types";
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense || !dense.isSplat())
      return "is a constant whose elements differ, which must be in memory";
  }
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    if (!isScalarRegion(reduce.getBody()))
      return "has a body that is not a function of scalars";
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
    if (dot.getAlgorithm() || cast<RankedTensorType>(dot.getType()).getElementType().isInteger(1))
      return "is a dot of predicates, or specifies an algorithm";
  return {};
}

bool canTile(Operation *op, std::string *reason) {
  std::string why = whyNot(op);
  if (reason)
    *reason = why;
  return why.empty();
}

} // namespace tilewright::indexing
