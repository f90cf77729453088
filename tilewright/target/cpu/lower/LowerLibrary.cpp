// Lowers StableHLO ops to the library calls of the same names: one function for each op, in a
// table.
#include "tilewright/target/cpu/lower/Lowering.h"

#include "tilewright/dialect/exec/LibraryOps.h"
#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"

using namespace mlir;

namespace tilewright::cpu {

/// Replaces `op` by a library call with the same results.
template <typename Call, typename... Arguments>
static LogicalResult replaceBy(Operation *op, Arguments &&...arguments) {
  OpBuilder builder(op);
  auto call = Call::create(builder, op->getLoc(), TypeRange(op->getResultTypes()),
                           std::forward<Arguments>(arguments)...);
  op->replaceAllUsesWith(call.getOperation());
  op->erase();
  return success();
}

static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

/// The values of an attribute that the op may omit; `count` times `otherwise` if it does.
static SmallVector<int64_t> listOr(std::optional<ArrayRef<int64_t>> list, int64_t count,
                                   int64_t otherwise) {
  return list ? SmallVector<int64_t>(*list)
              : SmallVector<int64_t>(static_cast<size_t>(count), otherwise);
}

/// The low and high paddings of `rank` dimensions; zeros if the op omits them.
static SmallVector<int64_t> paddingOr(std::optional<DenseIntElementsAttr> padding, int64_t rank) {
  if (!padding)
    return SmallVector<int64_t>(static_cast<size_t>(2 * rank), 0);
  SmallVector<int64_t> values;
  for (const APInt &value : padding->getValues<APInt>())
    values.push_back(value.getSExtValue());
  return values;
}

/// The strictest precision of all operands.
static numerics::Precision precisionOf(std::optional<ArrayAttr> config) {
  auto strictest = numerics::Precision::standard;
  if (config)
    for (auto entry : config->getAsRange<stablehlo::PrecisionAttr>())
      switch (entry.getValue()) {
      case stablehlo::Precision::DEFAULT:
        break;
      case stablehlo::Precision::HIGH:
        strictest = std::max(strictest, numerics::Precision::high);
        break;
      case stablehlo::Precision::HIGHEST:
        strictest = numerics::Precision::highest;
        break;
      }
  return strictest;
}

//===- Data movement ------------------------------------------------------===//

static LogicalResult lower(Lowering &, stablehlo::BroadcastInDimOp op) {
  return replaceBy<exec::BroadcastInDimOp>(op, op.getOperand(), op.getBroadcastDimensions());
}
static LogicalResult lower(Lowering &, stablehlo::ConcatenateOp op) {
  return replaceBy<exec::ConcatenateOp>(op, op.getInputs(), op.getDimension());
}
static LogicalResult lower(Lowering &, stablehlo::DynamicSliceOp op) {
  return replaceBy<exec::DynamicSliceOp>(op, op.getOperand(), op.getStartIndices(),
                                         op.getSliceSizes());
}
static LogicalResult lower(Lowering &, stablehlo::DynamicUpdateSliceOp op) {
  return replaceBy<exec::DynamicUpdateSliceOp>(op, op.getOperand(), op.getUpdate(),
                                               op.getStartIndices(),
                                               DenseI64ArrayAttr::get(op.getContext(), {0, 0}));
}
static LogicalResult lower(Lowering &, stablehlo::GatherOp op) {
  stablehlo::GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  return replaceBy<exec::GatherOp>(
      op, op.getOperand(), op.getStartIndices(), numbers.getOffsetDims(),
      numbers.getCollapsedSliceDims(), numbers.getOperandBatchingDims(),
      numbers.getStartIndicesBatchingDims(), numbers.getStartIndexMap(),
      numbers.getIndexVectorDim(), op.getSliceSizes());
}
static LogicalResult lower(Lowering &, stablehlo::IotaOp op) {
  return replaceBy<exec::IotaOp>(op, op.getIotaDimension());
}
static LogicalResult lower(Lowering &, stablehlo::PadOp op) {
  return replaceBy<exec::PadOp>(op, op.getOperand(), op.getPaddingValue(), op.getEdgePaddingLow(),
                                op.getEdgePaddingHigh(), op.getInteriorPadding());
}
static LogicalResult lower(Lowering &, stablehlo::ReverseOp op) {
  return replaceBy<exec::ReverseOp>(op, op.getOperand(), op.getDimensions());
}
static LogicalResult lower(Lowering &, stablehlo::SliceOp op) {
  return replaceBy<exec::SliceOp>(op, op.getOperand(), op.getStartIndices(), op.getLimitIndices(),
                                  op.getStrides());
}
static LogicalResult lower(Lowering &, stablehlo::TransposeOp op) {
  return replaceBy<exec::TransposeOp>(op, op.getOperand(), op.getPermutation());
}
static LogicalResult lower(Lowering &, stablehlo::PartitionIdOp op) {
  return replaceBy<exec::RankIdOp>(op, numerics::RankKind::partition);
}
static LogicalResult lower(Lowering &, stablehlo::ReplicaIdOp op) {
  return replaceBy<exec::RankIdOp>(op, numerics::RankKind::replica);
}

//===- Products -----------------------------------------------------------===//

exec::DotGeneralOp createProduct(OpBuilder &builder, Location loc, TypeRange results,
                                 Operation *product, ValueRange epilogueInputs,
                                 TypeAttr productType, ArrayAttr bodies) {
  if (auto scaled = dyn_cast<exec::ScaledDotOp>(product)) {
    SmallVector<Value> inputs = {scaled.getLhsScale(), scaled.getRhsScale()};
    llvm::append_range(inputs, epilogueInputs);
    const auto lhsDim = static_cast<int64_t>(scaled.getLhsContractingDimension()),
               rhsDim = static_cast<int64_t>(scaled.getRhsContractingDimension());
    return exec::DotGeneralOp::create(
        builder, loc, results, scaled.getLhs(), scaled.getRhs(), inputs,
        scaled.getLhsBatchingDimensions(), scaled.getRhsBatchingDimensions(), ArrayRef(lhsDim),
        ArrayRef(rhsDim), numerics::Precision::standard, productType, scaled.getBlock(), bodies);
  }
  auto dot = cast<stablehlo::DotGeneralOp>(product);
  stablehlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
  return exec::DotGeneralOp::create(
      builder, loc, results, dot.getLhs(), dot.getRhs(), epilogueInputs,
      numbers.getLhsBatchingDimensions(), numbers.getRhsBatchingDimensions(),
      numbers.getLhsContractingDimensions(), numbers.getRhsContractingDimensions(),
      precisionOf(dot.getPrecisionConfig()), productType, /*block=*/0, bodies);
}

static LogicalResult lower(Lowering &, stablehlo::DotGeneralOp op) {
  OpBuilder builder(op);
  auto call = createProduct(builder, op.getLoc(), TypeRange(op.getType()), op, {}, {}, {});
  op->replaceAllUsesWith(call.getOperation());
  op.erase();
  return success();
}
static LogicalResult lower(Lowering &, stablehlo::ConvolutionOp op) {
  stablehlo::ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  const int64_t spatial = rankOf(op.getLhs()) - 2;
  const SmallVector<bool> forward(static_cast<size_t>(spatial), false);
  return replaceBy<exec::ConvolutionOp>(
      op, op.getLhs(), op.getRhs(), numbers.getInputBatchDimension(),
      numbers.getInputFeatureDimension(), numbers.getInputSpatialDimensions(),
      numbers.getKernelInputFeatureDimension(), numbers.getKernelOutputFeatureDimension(),
      numbers.getKernelSpatialDimensions(), numbers.getOutputBatchDimension(),
      numbers.getOutputFeatureDimension(), numbers.getOutputSpatialDimensions(),
      listOr(op.getWindowStrides(), spatial, 1), paddingOr(op.getPadding(), spatial),
      listOr(op.getLhsDilation(), spatial, 1), listOr(op.getRhsDilation(), spatial, 1),
      op.getWindowReversal().value_or(ArrayRef<bool>(forward)), op.getFeatureGroupCount(),
      op.getBatchGroupCount(), precisionOf(op.getPrecisionConfig()));
}

//===- Reductions, scatter, sort ------------------------------------------===//

namespace {
/// The functions that a library call refers to: one for each region that is not a known operation.
class Bodies {
public:
  explicit Bodies(Lowering &state) : state(state) {}

  /// Adds the function of a region if its kind is `function`. Fails, with an error at the op, if
  /// the region is not a function of scalars.
  template <typename Kind> LogicalResult add(Region &region, Kind kind) {
    if (kind != Kind::function)
      return success();
    FailureOr<FlatSymbolRefAttr> function = state.functionOf(region);
    if (failed(function))
      return failure();
    names.push_back(*function);
    return success();
  }
  /// Null if there are none.
  ArrayAttr get() const {
    return names.empty() ? ArrayAttr() : ArrayAttr::get(state.module.getContext(), names);
  }

private:
  Lowering &state;
  SmallVector<Attribute> names;
};
} // namespace

static LogicalResult lower(Lowering &state, stablehlo::ReduceOp op) {
  const numerics::Combiner body = Lowering::reducerOf(op.getBody());
  Bodies bodies(state);
  if (failed(bodies.add(op.getBody(), body)))
    return failure();
  return replaceBy<exec::ReduceOp>(op, op.getInputs(), op.getInitValues(), op.getDimensions(), body,
                                   bodies.get());
}
static LogicalResult lower(Lowering &state, stablehlo::ReduceWindowOp op) {
  const int64_t rank = rankOf(op.getInputs().front());
  const numerics::Combiner body = Lowering::combinerOf(op.getBody());
  Bodies bodies(state);
  if (failed(bodies.add(op.getBody(), body)))
    return failure();
  return replaceBy<exec::ReduceWindowOp>(
      op, op.getInputs(), op.getInitValues(), op.getWindowDimensions(),
      listOr(op.getWindowStrides(), rank, 1), listOr(op.getBaseDilations(), rank, 1),
      listOr(op.getWindowDilations(), rank, 1), paddingOr(op.getPadding(), rank), body,
      bodies.get());
}
static LogicalResult lower(Lowering &state, stablehlo::SelectAndScatterOp op) {
  const int64_t rank = rankOf(op.getOperand());
  const numerics::Selector select = Lowering::selectorOf(op.getSelect());
  const numerics::Combiner scatter = Lowering::combinerOf(op.getScatter());
  Bodies bodies(state);
  if (failed(bodies.add(op.getSelect(), select)) || failed(bodies.add(op.getScatter(), scatter)))
    return failure();
  return replaceBy<exec::SelectAndScatterOp>(
      op, op.getOperand(), op.getSource(), op.getInitValue(),
      listOr(op.getWindowDimensions(), rank, 1), listOr(op.getWindowStrides(), rank, 1),
      paddingOr(op.getPadding(), rank), select, scatter, bodies.get());
}
static LogicalResult lower(Lowering &state, stablehlo::ScatterOp op) {
  stablehlo::ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  const numerics::Combiner body = Lowering::updaterOf(op.getUpdateComputation());
  Bodies bodies(state);
  if (failed(bodies.add(op.getUpdateComputation(), body)))
    return failure();
  // The operands that are scattered into become the results, in place.
  SmallVector<int64_t> aliases;
  for (int64_t i = 0; i < static_cast<int64_t>(op->getNumResults()); ++i)
    aliases.append({i, i});
  return replaceBy<exec::ScatterOp>(
      op, op.getInputs(), op.getScatterIndices(), op.getUpdates(), numbers.getUpdateWindowDims(),
      numbers.getInsertedWindowDims(), numbers.getInputBatchingDims(),
      numbers.getScatterIndicesBatchingDims(), numbers.getScatterDimsToOperandDims(),
      numbers.getIndexVectorDim(), body, bodies.get(),
      DenseI64ArrayAttr::get(op.getContext(), aliases));
}
static LogicalResult lower(Lowering &state, stablehlo::SortOp op) {
  const int64_t dimension = op.getDimension();
  const Lowering::Comparator comparator = Lowering::comparatorOf(op.getComparator());
  Bodies bodies(state);
  if (failed(bodies.add(op.getComparator(), comparator.kind)))
    return failure();
  // With several operands, the others are permuted by the order of the first, which reads and
  // writes different positions. So only a single operand can be sorted in place.
  const bool isInPlace = op->getNumResults() == 1;
  // A canonical comparator treats both zeros, and all NaNs, as equal. That is the library's order
  // by value.
  return replaceBy<exec::SortOp>(
      op, op.getInputs(), dimension < 0 ? dimension + rankOf(op.getInputs().front()) : dimension,
      comparator.kind, comparator.operand, comparator.isTotalOrder && !comparator.isCanonical,
      bodies.get(),
      isInPlace ? DenseI64ArrayAttr::get(op.getContext(), {0, 0}) : DenseI64ArrayAttr());
}

LogicalResult lowerTopK(Operation *op, DictionaryAttr attributes) {
  auto k = attributes ? attributes.getAs<IntegerAttr>("k") : IntegerAttr();
  if (!k || op->getNumOperands() != 1 || op->getNumResults() != 2)
    return refuse(op, "must have an attribute k, one operand and two results");
  auto largest = attributes.getAs<BoolAttr>("largest");
  return replaceBy<exec::TopKOp>(op, op->getOperand(0), k.getValue().getSExtValue(),
                                 !largest || largest.getValue());
}
static LogicalResult lower(Lowering &, stablehlo::CompositeOp op) {
  if (op.getName() != "chlo.top_k")
    return refuse(op, "of '" + op.getName() +
                          "' has no library call; transform/simplify should have inlined it");
  return lowerTopK(op, op.getCompositeAttributesAttr());
}

//===- Random numbers, transforms, linear algebra -------------------------===//

static LogicalResult lower(Lowering &, stablehlo::RngOp op) {
  return replaceBy<exec::RngOp>(op, op.getA(), op.getB(), op.getShape(),
                                op.getRngDistribution() == stablehlo::RngDistribution::NORMAL
                                    ? numerics::RngDistribution::normal
                                    : numerics::RngDistribution::uniform);
}
static LogicalResult lower(Lowering &, stablehlo::RngBitGeneratorOp op) {
  auto algorithm = numerics::RngAlgorithm::standard;
  if (op.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY)
    algorithm = numerics::RngAlgorithm::threeFry;
  else if (op.getRngAlgorithm() == stablehlo::RngAlgorithm::PHILOX)
    algorithm = numerics::RngAlgorithm::philox;
  return replaceBy<exec::RngBitGeneratorOp>(op, op.getInitialState(), algorithm);
}
static numerics::FftType typeOf(stablehlo::FftType type) {
  switch (type) {
  case stablehlo::FftType::FFT:
    return numerics::FftType::fft;
  case stablehlo::FftType::IFFT:
    return numerics::FftType::ifft;
  case stablehlo::FftType::RFFT:
    return numerics::FftType::rfft;
  case stablehlo::FftType::IRFFT:
    return numerics::FftType::irfft;
  }
  llvm_unreachable("the verifier accepts no other type");
}
static LogicalResult lower(Lowering &, stablehlo::FftOp op) {
  return replaceBy<exec::FftOp>(op, op.getOperand(), typeOf(op.getFftType()), op.getFftLength());
}
static LogicalResult lower(Lowering &, stablehlo::CholeskyOp op) {
  return replaceBy<exec::CholeskyOp>(op, op.getA(), op.getLower());
}
static LogicalResult lower(Lowering &, stablehlo::TriangularSolveOp op) {
  auto transpose = numerics::Transpose::none;
  if (op.getTransposeA() == stablehlo::Transpose::TRANSPOSE)
    transpose = numerics::Transpose::transpose;
  else if (op.getTransposeA() == stablehlo::Transpose::ADJOINT)
    transpose = numerics::Transpose::adjoint;
  else if (op.getTransposeA() != stablehlo::Transpose::NO_TRANSPOSE)
    return refuse(op, "has an invalid transpose_a");
  return replaceBy<exec::TriangularSolveOp>(op, op.getA(), op.getB(), op.getLeftSide(),
                                            op.getLower(), op.getUnitDiagonal(), transpose);
}

//===----------------------------------------------------------------------===//

/// The common signature of lowerAs<Op>(), for the table of all ops.
using LowerFunction = LogicalResult(Lowering &, Operation *);
template <typename Op> static LogicalResult lowerAs(Lowering &state, Operation *op) {
  return lower(state, cast<Op>(op));
}
template <typename... Ops> static llvm::DenseMap<TypeID, LowerFunction *> tableOf() {
  return {{TypeID::get<Ops>(), lowerAs<Ops>}...};
}

std::optional<LogicalResult> Lowering::lowerToLibrary(Operation *op) {
  using namespace stablehlo;
  static const llvm::DenseMap<TypeID, LowerFunction *> table =
      tableOf<BroadcastInDimOp, CholeskyOp, CompositeOp, ConcatenateOp, ConvolutionOp, DotGeneralOp,
              DynamicSliceOp, DynamicUpdateSliceOp, FftOp, GatherOp, IotaOp, PadOp, PartitionIdOp,
              ReduceOp, ReduceWindowOp, ReplicaIdOp, ReverseOp, RngBitGeneratorOp, RngOp, ScatterOp,
              SelectAndScatterOp, SliceOp, SortOp, TransposeOp, TriangularSolveOp>();
  auto found = table.find(op->getName().getTypeID());
  if (found == table.end())
    return std::nullopt;
  return found->second(*this, op);
}

} // namespace tilewright::cpu
