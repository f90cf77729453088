// fuse-split-reduce: splits a reduction with few results into two levels.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/evaluate/OpEvaluator.h"
#include "tilewright/transform/fuse/Passes.h"
#include "tilewright/transform/fuse/cost/KernelCost.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_SPLITREDUCEPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

/// The number of points of a grid that is enough to keep all threads of a large machine busy.
constexpr int64_t enoughRows = 64;
/// The columns that a block of a GPU reduces at once: a line of 128 bytes of f32.
constexpr int64_t columnsOfBlock = 32;
/// The bytes that a multiprocessor loads while two kernels are launched, at 40 in a cycle.
/// Estimated.
constexpr double bytesOfTwoLaunches = 2 * launchCycles * 40;
/// The maximum number of rows of the first level, and the minimum number of elements per row.
constexpr int64_t maxRows = 1024, shortestRow = 512;
/// Results of the first level that one block still reduces in a few thousand cycles.
constexpr int64_t maxRowsAtAll = 1 << 16;

/// Whether a row of `length` elements consists of the innermost dimensions as a whole and a part of
/// the next one. A kernel can tile such rows; a reshape across dimensions would leave all of them
/// untiled.
bool isRegular(ArrayRef<int64_t> sizes, int64_t length) {
  while (!sizes.empty() && length % sizes.back() == 0) {
    length /= sizes.back();
    sizes = sizes.drop_back();
  }
  return sizes.empty() ? length == 1 : sizes.back() % length == 0;
}

/// The largest number of rows within the limits, into which dimensions of these sizes can be
/// divided; 1 if there is none. On a GPU, where each row has a block, too few are worse than too
/// many: 50257 x 768 elements are 29 rows, or 1733.
int64_t rowsFor(ArrayRef<int64_t> sizes, bool isGpu) {
  int64_t count = 1, best = 1;
  for (int64_t size : sizes)
    count *= size;
  for (int64_t rows = 2; rows <= std::min(maxRows, count / shortestRow); ++rows)
    if (count % rows == 0 && isRegular(sizes, count / rows))
      best = rows;
  if (isGpu && best < enoughRows)
    for (int64_t rows = maxRows + 1; rows <= std::min(maxRowsAtAll, count / shortestRow); ++rows)
      if (count % rows == 0 && isRegular(sizes, count / rows))
        return rows;
  return best;
}

/// Whether a kernel has too few points to occupy a machine with a reduction: one for each result
/// or, on a GPU, for as many results as have contiguous operands, if these are worth another
/// launch.
bool hasFewPoints(stablehlo::ReduceOp reduce, bool isGpu) {
  auto type = cast<RankedTensorType>(reduce.getInputs()[0].getType());
  const int64_t results = cast<RankedTensorType>(reduce.getResult(0).getType()).getNumElements();
  if (results < enoughRows)
    return true;
  const int64_t last = type.getRank() - 1;
  if (!isGpu || llvm::is_contained(reduce.getDimensions(), last))
    return false;
  const int64_t columns = type.getDimSize(static_cast<unsigned>(last));
  const int64_t points =
      results / columns *
      static_cast<int64_t>(llvm::divideCeil(static_cast<uint64_t>(columns), columnsOfBlock));
  return points < enoughRows && bytesOf(type) / static_cast<double>(points) > bytesOfTwoLaunches;
}

stablehlo::ReduceOp makeReduce(OpBuilder &builder, stablehlo::ReduceOp like, ValueRange inputs,
                               ValueRange inits, ArrayRef<Type> types, ArrayRef<int64_t> dims) {
  auto reduce = stablehlo::ReduceOp::create(builder, like.getLoc(), types, inputs, inits, dims);
  IRMapping mapping;
  like.getBody().cloneInto(&reduce.getBody(), mapping);
  return reduce;
}

/// The only op of a body that combines its two arguments; null for other bodies.
Operation *combinerOf(stablehlo::ReduceOp reduce) {
  Block &body = reduce.getBody().front();
  if (body.getNumArguments() != 2 || !llvm::hasNItems(body, 2))
    return nullptr;
  Operation &op = body.front();
  const bool isInOrder = op.getOperands() == ValueRange(body.getArguments());
  return isInOrder && body.getTerminator()->getOperands() == op.getResults() ? &op : nullptr;
}

/// Evaluates the reduction of `count` elements that are the initial values. Null if these are not
/// constants, or the body reads values from outside.
SmallVector<Attribute> reduceInits(stablehlo::ReduceOp reduce, int64_t count,
                                   interpret::OpEvaluator &evaluator) {
  OpBuilder builder(reduce);
  interpret::Context context;
  interpret::RuntimeValues operands, inits;
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  auto eraseInputs = llvm::make_scope_exit([&] {
    for (Value input : inputs)
      input.getDefiningOp()->erase();
  });
  for (auto [init, result] : llvm::zip_equal(reduce.getInitValues(), reduce.getResultTypes())) {
    DenseElementsAttr constant;
    if (!matchPattern(init, m_Constant(&constant)))
      return {};
    auto type = RankedTensorType::get({count}, constant.getElementType());
    DenseElementsAttr elements = count == 0 ? DenseElementsAttr::get(type, ArrayRef<Attribute>())
                                            : constant.resizeSplat(type);
    Result<interpret::Tensor> one = interpret::constantTensor(constant, context);
    Result<interpret::Tensor> many = interpret::constantTensor(elements, context);
    if (!one.isOk() || !many.isOk())
      return {};
    inits.emplace_back(*std::move(one));
    operands.emplace_back(*std::move(many));
    inputs.push_back(stablehlo::ConstantOp::create(builder, reduce.getLoc(), elements));
    types.push_back(RankedTensorType::get({}, cast<RankedTensorType>(result).getElementType()));
  }
  operands.insert(operands.end(), inits.begin(), inits.end());
  stablehlo::ReduceOp small =
      makeReduce(builder, reduce, inputs, reduce.getInitValues(), types, {0});
  Result<interpret::RuntimeValues> results = evaluator.evaluate(small, std::move(operands), {});
  small.erase();
  SmallVector<Attribute> values;
  if (results.isOk())
    for (auto [value, type] : llvm::zip_equal(*results, types))
      values.push_back(interpret::attributeOf(value.tensor(), cast<RankedTensorType>(type)));
  return values;
}

/// The initial values of the first level, which combines each of them once for every row. The
/// reduction's own, if combining them with themselves changes nothing; otherwise neutral ones.
/// Empty if none are known.
SmallVector<Value> initsOfRows(stablehlo::ReduceOp reduce, interpret::OpEvaluator &evaluator) {
  Operation *combiner = combinerOf(reduce);
  SmallVector<Value> own(reduce.getInitValues());
  if (isa_and_present<stablehlo::MaximumOp, stablehlo::MinimumOp, stablehlo::AndOp,
                      stablehlo::OrOp>(combiner))
    return own;
  const SmallVector<Attribute> none = reduceInits(reduce, 0, evaluator),
                               one = reduceInits(reduce, 1, evaluator);
  if (!none.empty() && none == one && !llvm::is_contained(none, Attribute()))
    return own;
  if (!isa_and_present<stablehlo::AddOp, stablehlo::MultiplyOp>(combiner))
    return {};
  OpBuilder builder(reduce);
  auto scalar = cast<RankedTensorType>(own[0].getType());
  const bool isSum = isa<stablehlo::AddOp>(combiner);
  Attribute neutral;
  if (auto integer = dyn_cast<IntegerType>(scalar.getElementType());
      integer && integer.getWidth() > 1)
    neutral = IntegerAttr::get(integer, isSum ? 0 : 1);
  else if (auto number = scalar.getElementType();
           isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(number))
    // Adding -0 changes nothing; adding 0 turns -0 into 0.
    neutral = FloatAttr::get(number, isSum ? -0.0 : 1.0);
  if (!neutral)
    return {};
  return {stablehlo::ConstantOp::create(builder, reduce.getLoc(),
                                        DenseElementsAttr::get(scalar, neutral))};
}

/// Replaces the reduction by two levels of reductions. The reduced dimensions must be adjacent.
void split(stablehlo::ReduceOp reduce, int64_t rows, ValueRange initsOfRows) {
  OpBuilder builder(reduce);
  auto type = cast<RankedTensorType>(reduce.getInputs()[0].getType());
  const int64_t first = *llvm::min_element(reduce.getDimensions());
  const auto count = static_cast<int64_t>(reduce.getDimensions().size());
  int64_t elements = 1;
  SmallVector<int64_t> apart, partial;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    const int64_t size = type.getDimSize(static_cast<unsigned>(dim));
    if (dim >= first && dim < first + count) {
      elements *= size;
      if (dim + 1 < first + count)
        continue;
      apart.append({rows, elements / rows});
      partial.push_back(rows);
      continue;
    }
    apart.push_back(size);
    partial.push_back(size);
  }
  SmallVector<Value> inputs;
  SmallVector<Type> partialTypes;
  for (Value input : reduce.getInputs()) {
    Type element = cast<RankedTensorType>(input.getType()).getElementType();
    inputs.push_back(stablehlo::ReshapeOp::create(builder, reduce.getLoc(),
                                                  RankedTensorType::get(apart, element), input));
  }
  for (Type result : reduce.getResultTypes())
    partialTypes.push_back(
        RankedTensorType::get(partial, cast<RankedTensorType>(result).getElementType()));
  auto firstLevel = makeReduce(builder, reduce, inputs, initsOfRows, partialTypes, {first + 1});
  // The body may compute in a wider type than that of the inputs; the second level's inputs have
  // it.
  SmallVector<Value> inits;
  for (auto [init, partial] : llvm::zip_equal(reduce.getInitValues(), firstLevel.getResults())) {
    auto type =
        RankedTensorType::get({}, cast<RankedTensorType>(partial.getType()).getElementType());
    inits.push_back(init.getType() == type ? init
                                           : Value(stablehlo::ConvertOp::create(
                                                 builder, reduce.getLoc(), type, init)));
  }
  auto secondLevel = makeReduce(builder, reduce, firstLevel.getResults(), inits,
                                SmallVector<Type>(reduce.getResultTypes()), {first});
  reduce.replaceAllUsesWith(secondLevel.getResults());
  reduce.erase();
}

struct SplitReduce : impl::SplitReducePassBase<SplitReduce> {
  using SplitReducePassBase::SplitReducePassBase;

  void runOnOperation() override {
    if (minElements <= 0)
      return;
    interpret::OpEvaluator evaluator(getOperation()->getParentOfType<ModuleOp>());
    const bool isGpu = exec::targetOf(getOperation()).isGpu();
    // Collect the reductions first, because the rewrite adds new ones.
    SmallVector<std::pair<stablehlo::ReduceOp, int64_t>> found;
    getOperation().walk([&](stablehlo::ReduceOp reduce) {
      auto type = dyn_cast<RankedTensorType>(reduce.getInputs()[0].getType());
      auto result = dyn_cast<RankedTensorType>(reduce.getResult(0).getType());
      if (!type || !type.hasStaticShape() || type.getNumElements() < minElements ||
          reduce.getDimensions().empty() || !hasFewPoints(reduce, isGpu)) {
        TILEWRIGHT_LOG(getArgument(), reduce, "is not split: it reduces ",
                       reduce.getInputs()[0].getType(), " to ", reduce.getResult(0).getType(),
                       ", but a split needs ", minElements.getValue(), " elements and fewer than ",
                       enoughRows, " points of a grid");
        return;
      }
      SmallVector<int64_t> dims(reduce.getDimensions());
      llvm::sort(dims);
      const bool neighbours = dims.back() - dims.front() + 1 == static_cast<int64_t>(dims.size());
      const int64_t rows = rowsFor(
          type.getShape().slice(static_cast<size_t>(dims.front()), neighbours ? dims.size() : 1),
          isGpu);
      if (rows == 1 || !neighbours) {
        const char *why = neighbours ? "the number of elements has no suitable divisor"
                                     : "the reduced dimensions are not adjacent";
        TILEWRIGHT_LOG(getArgument(), reduce, "is not split: ", why);
        remark::missed(reduce.getLoc(), remark::RemarkOpts::name("split-reduce").category("fuse"))
            << remark::reason("{0}", why);
        return;
      }
      TILEWRIGHT_LOG(getArgument(), reduce, "is split: first to ", rows,
                     " partial results for each result, then to the results");
      found.push_back({reduce, rows});
    });
    for (auto [reduce, rows] : found) {
      const SmallVector<Value> inits = initsOfRows(reduce, evaluator);
      if (!inits.empty()) {
        split(reduce, rows, inits);
        continue;
      }
      const char *why = "its initial value is not neutral, and each row would combine it";
      TILEWRIGHT_LOG(getArgument(), reduce, "is not split: ", why);
      remark::missed(reduce.getLoc(), remark::RemarkOpts::name("split-reduce").category("fuse"))
          << remark::reason("{0}", why);
    }
  }
};

} // namespace
} // namespace tilewright::fuse
