#include "tilewright/dialect/indexing/IndexingRelation.h"

#include "tilewright/dialect/elements/Commutative.h"
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

  /// Adds the next operand.
  void operand(ArrayRef<AffineExpr> index, bool mayLeave = false,
               SmallVector<std::pair<AffineExpr, int64_t>> spread = {}) {
    relation.operands.push_back({static_cast<unsigned>(relation.operands.size()), mapTo(index),
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

  /// Adds an element of the gather's indices to the index along dimension `dim` of the operand.
  void start(int64_t dim, ArrayRef<AffineExpr> index, int64_t limit) {
    relation.starts.push_back(
        {static_cast<unsigned>(dim), static_cast<unsigned>(relation.operands.size()), limit});
    relation.operands.push_back({/*operand=*/1, mapTo(index)});
  }

  IndexingRelation take() { return std::move(relation); }

private:
  AffineMap mapTo(ArrayRef<AffineExpr> index) const {
    return AffineMap::get(static_cast<unsigned>(relation.sizes.size()),
                          static_cast<unsigned>(relation.positions.size()), index, context);
  }

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

static IndexingRelation relationOf(stablehlo::DynamicUpdateSliceOp op) {
  Builder builder(op, shapeOf(op.getUpdate()));
  SmallVector<AffineExpr> index;
  for (auto [i, sizes] :
       llvm::enumerate(llvm::zip_equal(shapeOf(op.getOperand()), shapeOf(op.getUpdate())))) {
    auto [whole, size] = sizes;
    AffineExpr dim = builder.dim(static_cast<int64_t>(i));
    index.push_back(
        whole == size ? dim : dim + builder.position(static_cast<unsigned>(i + 2), whole - size));
  }
  builder.operand(index);
  builder.elementwise(op.getUpdate());
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

/// One value for each spatial dimension; 1 or false if the attribute is absent.
template <typename T> static T valueAt(std::optional<ArrayRef<T>> values, size_t i, T otherwise) {
  return values ? (*values)[i] : otherwise;
}

/// Whether a convolution places its input's elements at a distance greater than 1.
static bool dilatesInput(stablehlo::ConvolutionOp op) {
  ArrayRef<int64_t> spatial = op.getDimensionNumbers().getInputSpatialDimensions();
  for (auto [i, dim] : llvm::enumerate(spatial))
    if (valueAt<int64_t>(op.getLhsDilation(), i, 1) != 1 &&
        shapeOf(op.getLhs())[static_cast<size_t>(dim)] > 1)
      return true;
  return false;
}

namespace {
/// The dimensions that a convolution sums over: those of the window and the input features of a
/// group. The order puts the dimension that is best to tile last. A window with no more taps than
/// positions is iterated tap by tap, so it comes first; a larger one (in the gradient of the
/// weights) is treated like a contracted dimension.
struct ConvolutionSum {
  static constexpr int64_t features = -1; // instead of a spatial dimension
  SmallVector<int64_t> order;             // spatial dimensions, or `features`
  SmallVector<int64_t> sizes;

  explicit ConvolutionSum(stablehlo::ConvolutionOp op) {
    auto numbers = op.getDimensionNumbers();
    ArrayRef<int64_t> kernel = shapeOf(op.getRhs()), result = shapeOf(op.getResult());
    struct Part {
      bool isContracted;
      int64_t size, dim;
    };
    SmallVector<Part> parts;
    for (auto [i, dims] : llvm::enumerate(llvm::zip_equal(numbers.getKernelSpatialDimensions(),
                                                          numbers.getOutputSpatialDimensions()))) {
      auto [window, output] = dims;
      const int64_t taps = kernel[static_cast<size_t>(window)];
      const int64_t positions = result[static_cast<size_t>(output)];
      parts.push_back({positions == 1 || taps > positions, taps, static_cast<int64_t>(i)});
    }
    parts.push_back(
        {true, kernel[static_cast<size_t>(numbers.getKernelInputFeatureDimension())], features});
    llvm::stable_sort(parts, [](const Part &a, const Part &b) {
      return std::pair(a.isContracted, a.isContracted ? a.size : 0) <
             std::pair(b.isContracted, b.isContracted ? b.size : 0);
    });
    for (const Part &part : parts) {
      order.push_back(part.dim);
      sizes.push_back(part.size);
    }
  }
};
} // namespace

static FailureOr<IndexingRelation> relationOf(stablehlo::ConvolutionOp op) {
  if (dilatesInput(op))
    return failure();
  auto numbers = op.getDimensionNumbers();
  ArrayRef<int64_t> lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs()),
                    result = shapeOf(op.getResult());
  const ConvolutionSum sum(op);
  Builder builder(op, result, sum.sizes);
  auto reduced = [&](int64_t dim) {
    return builder.dim(static_cast<int64_t>(result.size()) +
                       (llvm::find(sum.order, dim) - sum.order.begin()));
  };
  AffineExpr batch = builder.dim(numbers.getOutputBatchDimension());
  AffineExpr output = builder.dim(numbers.getOutputFeatureDimension());
  AffineExpr input = reduced(ConvolutionSum::features);
  // Group g consists of the output features from g * outputs on.
  const auto featureGroups = static_cast<int64_t>(op.getFeatureGroupCount());
  const auto batchGroups = static_cast<int64_t>(op.getBatchGroupCount());
  const int64_t groups = std::max(featureGroups, batchGroups);
  const int64_t outputs = result[static_cast<size_t>(numbers.getOutputFeatureDimension())] / groups;
  AffineExpr group = outputs > 0 ? output.floorDiv(outputs) : builder.constant(0);
  SmallVector<AffineExpr> left(lhs.size()), right(rhs.size());
  const auto lhsBatch = static_cast<size_t>(numbers.getInputBatchDimension());
  const auto lhsFeature = static_cast<size_t>(numbers.getInputFeatureDimension());
  left[lhsBatch] = batchGroups == 1 ? batch : group * (lhs[lhsBatch] / groups) + batch;
  left[lhsFeature] = featureGroups == 1 ? input : group * (lhs[lhsFeature] / groups) + input;
  right[static_cast<size_t>(numbers.getKernelInputFeatureDimension())] = input;
  right[static_cast<size_t>(numbers.getKernelOutputFeatureDimension())] = output;
  for (size_t i = 0; i < numbers.getInputSpatialDimensions().size(); ++i) {
    const auto window = static_cast<size_t>(numbers.getKernelSpatialDimensions()[i]);
    const int64_t low = op.getPadding() ? op.getPadding()->getValues<int64_t>()[2 * i] : 0;
    // Dimensions of one position or tap do not occur in the index, so that a kernel of one element
    // reads its input like a matmul.
    const int64_t place = numbers.getOutputSpatialDimensions()[i];
    AffineExpr tap = rhs[window] == 1 ? builder.constant(0) : reduced(static_cast<int64_t>(i));
    AffineExpr position =
        result[static_cast<size_t>(place)] == 1 ? builder.constant(0) : builder.dim(place);
    left[static_cast<size_t>(numbers.getInputSpatialDimensions()[i])] =
        position * valueAt<int64_t>(op.getWindowStrides(), i, 1) +
        tap * valueAt<int64_t>(op.getRhsDilation(), i, 1) - low;
    right[window] =
        valueAt<bool>(op.getWindowReversal(), i, false) ? tap * -1 + (rhs[window] - 1) : tap;
  }
  builder.operand(left, /*mayLeave=*/true);
  builder.operand(right);
  return builder.take();
}

static IndexingRelation relationOf(stablehlo::GatherOp op) {
  stablehlo::GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  ArrayRef<int64_t> operand = shapeOf(op.getOperand());
  Builder builder(op, shapeOf(op.getResult()));
  // The batch dimensions of the result are the dimensions of the indices without the dimension of
  // the index vectors, in order.
  SmallVector<AffineExpr> batch;
  for (size_t dim = 0; dim < shapeOf(op.getResult()).size(); ++dim)
    if (!llvm::is_contained(numbers.getOffsetDims(), static_cast<int64_t>(dim)))
      batch.push_back(builder.dim(static_cast<int64_t>(dim)));
  const int64_t vector = numbers.getIndexVectorDim();

  SmallVector<AffineExpr> index(operand.size(), builder.constant(0));
  for (auto [dim, indicesDim] :
       llvm::zip_equal(numbers.getOperandBatchingDims(), numbers.getStartIndicesBatchingDims()))
    index[static_cast<size_t>(dim)] =
        batch[static_cast<size_t>(indicesDim - (indicesDim > vector))];
  size_t offset = 0;
  for (size_t dim = 0; dim < operand.size(); ++dim)
    if (!llvm::is_contained(numbers.getCollapsedSliceDims(), static_cast<int64_t>(dim)) &&
        !llvm::is_contained(numbers.getOperandBatchingDims(), static_cast<int64_t>(dim)))
      index[dim] = builder.dim(numbers.getOffsetDims()[offset++]);
  builder.operand(index);

  for (auto [component, dim] : llvm::enumerate(numbers.getStartIndexMap())) {
    const auto at = static_cast<size_t>(dim);
    // A slice of the whole dimension always starts at 0.
    if (operand[at] == op.getSliceSizes()[at])
      continue;
    SmallVector<AffineExpr> place = batch;
    if (place.size() < shapeOf(op.getStartIndices()).size())
      place.insert(place.begin() + vector, builder.constant(static_cast<int64_t>(component)));
    builder.start(dim, place, operand[at] - op.getSliceSizes()[at]);
  }
  return builder.take();
}

bool isRowGather(stablehlo::GatherOp op) {
  auto numbers = op.getDimensionNumbers();
  auto operand = cast<RankedTensorType>(op.getOperand().getType());
  return operand.getRank() == 2 && shapeOf(op.getStartIndices()).size() == 1 &&
         numbers.getIndexVectorDim() == 1 && numbers.getOffsetDims() == ArrayRef<int64_t>(1) &&
         numbers.getCollapsedSliceDims() == ArrayRef<int64_t>(0) &&
         numbers.getStartIndexMap() == ArrayRef<int64_t>(0) &&
         op.getSliceSizes() == ArrayRef<int64_t>({1, operand.getDimSize(1)});
}

/// Whether a scatter writes whole rows of a table, with one index for each row of the updates.
static bool hasRowForm(stablehlo::ScatterOp op) {
  stablehlo::ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  if (op.getInputs().size() != 1)
    return false;
  ArrayRef<int64_t> indices = shapeOf(op.getScatterIndices()),
                    updates = shapeOf(op.getUpdates().front()),
                    input = shapeOf(op.getInputs().front());
  // A table of a single row would lose its row dimension, and with it the check of the index.
  return input.size() == 2 && input[0] > 1 && updates.size() == 2 && updates[1] == input[1] &&
         indices.size() == 1 && numbers.getIndexVectorDim() == 1 &&
         numbers.getUpdateWindowDims() == ArrayRef<int64_t>(1) &&
         numbers.getInsertedWindowDims() == ArrayRef<int64_t>(0) &&
         numbers.getScatterDimsToOperandDims() == ArrayRef<int64_t>(0);
}

/// Whether the body of a scatter is one of the given ops on both of its arguments.
template <typename... Ops> static bool isOneOp(Block &body) {
  if (!llvm::hasNItems(body, 2) || body.getNumArguments() != 2)
    return false;
  Operation &inner = body.front();
  return isa<Ops...>(inner) && body.getTerminator()->getOperand(0) == inner.getResult(0) &&
         inner.getOperand(0) != inner.getOperand(1) &&
         llvm::all_of(inner.getOperands(), llvm::IsaPred<BlockArgument>);
}

static bool overwrites(Block &body) {
  return body.without_terminator().empty() &&
         body.getTerminator()->getOperand(0) == body.getArgument(1);
}

bool combinesAnyOrder(stablehlo::ScatterOp op) {
  auto element = cast<RankedTensorType>(op.getInputs().front().getType()).getElementType();
  return op.getInputs().size() == 1 && (element.isInteger(32) || element.isInteger(64)) &&
         op.getResultTypes().front() == op.getInputs().front().getType() &&
         cast<RankedTensorType>(op.getUpdates().front().getType()).getElementType() == element &&
         isOneOp<stablehlo::AddOp, stablehlo::MinimumOp, stablehlo::MaximumOp, stablehlo::AndOp,
                 stablehlo::OrOp, stablehlo::XorOp>(op.getUpdateComputation().front());
}

bool isRowScatter(stablehlo::ScatterOp op) {
  return hasRowForm(op) &&
         ((overwrites(op.getUpdateComputation().front()) && op.getUniqueIndices()) ||
          combinesAnyOrder(op));
}

bool isSortedScatter(stablehlo::ScatterOp op) {
  Block &body = op.getUpdateComputation().front();
  return hasRowForm(op) && !isRowScatter(op) && op.getIndicesAreSorted() &&
         op.getResultTypes().front() == op.getInputs().front().getType() &&
         cast<RankedTensorType>(op.getUpdates().front().getType()).getElementType() ==
             cast<RankedTensorType>(op.getInputs().front().getType()).getElementType() &&
         (overwrites(body) ||
          isOneOp<stablehlo::AddOp, stablehlo::MultiplyOp, stablehlo::MinimumOp,
                  stablehlo::MaximumOp, stablehlo::AndOp, stablehlo::OrOp, stablehlo::XorOp>(body));
}

Value updateOf(Operation *op) {
  if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op))
    return update.getUpdate();
  if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op); scatter && isRowScatter(scatter))
    return scatter.getUpdates().front();
  return {};
}

MutableArrayRef<OpOperand> readOperands(Operation *op) {
  return op->getOpOperands().drop_front(updateOf(op) ? 1 : 0);
}

/// As for a gather, the table's map contains 0 where the index is computed.
static FailureOr<IndexingRelation> relationOf(stablehlo::ScatterOp op) {
  if (!isRowScatter(op))
    return failure();
  Builder builder(op, shapeOf(op.getUpdates().front()));
  builder.operand({builder.constant(0), builder.dim(1)});
  builder.operand({builder.dim(0)});
  builder.elementwise(op.getUpdates().front());
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
            stablehlo::ConvolutionOp, stablehlo::DynamicUpdateSliceOp, stablehlo::GatherOp,
            stablehlo::ScatterOp>(
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
  if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op))
    return isSortedScatter(scatter);
  return isa<stablehlo::SortOp>(op);
}

/// Why a sort, a scan or a scatter of sorted rows cannot be tiled; empty if it can.
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
  if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op)) {
    if (llvm::is_contained(shapeOf(scatter.getUpdates().front()), 0))
      return "has no updates";
    return isScalarRegion(scatter.getUpdateComputation())
               ? ""
               : "has a body that is not a function of scalars";
  }
  auto window = cast<stablehlo::ReduceWindowOp>(op);
  for (Value init : window.getInitValues())
    if (!init.getDefiningOp<stablehlo::ConstantOp>())
      return "is a scan whose initial value is not a constant";
  if (!isScalarRegion(window.getBody()))
    return "has a body that is not a function of scalars";
  // A kernel scans from the end, so it combines each element with those after it.
  if (scannedDimension(window)->isReverse && !elements::isCommutative(window.getBody()))
    return "is a scan from the end whose body is not known to be commutative";
  return "";
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
  auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op);
  if (convolution && dilatesInput(convolution))
    return "dilates its input, which must be expanded before";
  if (failed(indexingRelation(op)))
    return "has no indexing relation, or is not defined for single elements of its types";
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense || !dense.isSplat())
      return "is a constant whose elements differ, which must be in memory";
  }
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
    if (!isScalarRegion(reduce.getBody()))
      return "has a body that is not a function of scalars";
    if (!elements::isCommutative(reduce.getBody()))
      return "has a body that is not known to be commutative, and kernels combine in any order";
  }
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
    if (cast<RankedTensorType>(dot.getType()).getElementType().isInteger(1))
      return "is a dot of predicates";
    // Algorithms that `simplify` and `fuse` know have already been replaced by types and
    // precisions.
    if (dot.getAlgorithm())
      return "specifies an algorithm that is not supported";
  }
  if (convolution && cast<RankedTensorType>(convolution.getType()).getElementType().isInteger(1))
    return "is a convolution of predicates";
  return {};
}

bool canTile(Operation *op, std::string *reason) {
  std::string why = whyNot(op);
  if (reason)
    *reason = why;
  return why.empty();
}

} // namespace tilewright::indexing
