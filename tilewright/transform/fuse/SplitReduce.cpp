// fuse-split-reduce: splits a reduction with few results into two levels.
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/fuse/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_SPLITREDUCEPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

/// The number of results that is enough to keep all threads of a large machine busy.
constexpr int64_t enoughRows = 64;
/// The maximum number of rows of the first level, and the minimum number of elements per row.
constexpr int64_t maxRows = 1024, shortestRow = 512;

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
/// divided; 1 if there is none.
int64_t rowsFor(ArrayRef<int64_t> sizes) {
  int64_t count = 1, best = 1;
  for (int64_t size : sizes)
    count *= size;
  for (int64_t rows = 2; rows <= std::min(maxRows, count / shortestRow); ++rows)
    if (count % rows == 0 && isRegular(sizes, count / rows))
      best = rows;
  return best;
}

stablehlo::ReduceOp makeReduce(OpBuilder &builder, stablehlo::ReduceOp like, ValueRange inputs,
                               ArrayRef<Type> types, ArrayRef<int64_t> dims) {
  auto reduce = stablehlo::ReduceOp::create(builder, like.getLoc(), types, inputs,
                                            like.getInitValues(), dims);
  IRMapping mapping;
  like.getBody().cloneInto(&reduce.getBody(), mapping);
  return reduce;
}

/// Replaces the reduction by two levels of reductions. The reduced dimensions must be adjacent.
void split(stablehlo::ReduceOp reduce, int64_t rows) {
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
  auto firstLevel = makeReduce(builder, reduce, inputs, partialTypes, {first + 1});
  auto secondLevel = makeReduce(builder, reduce, firstLevel.getResults(),
                                SmallVector<Type>(reduce.getResultTypes()), {first});
  reduce.replaceAllUsesWith(secondLevel.getResults());
  reduce.erase();
}

struct SplitReduce : impl::SplitReducePassBase<SplitReduce> {
  using SplitReducePassBase::SplitReducePassBase;

  void runOnOperation() override {
    if (minElements <= 0)
      return;
    // Collect the reductions first, because the rewrite adds new ones.
    SmallVector<std::pair<stablehlo::ReduceOp, int64_t>> found;
    getOperation().walk([&](stablehlo::ReduceOp reduce) {
      auto type = dyn_cast<RankedTensorType>(reduce.getInputs()[0].getType());
      auto result = dyn_cast<RankedTensorType>(reduce.getResult(0).getType());
      if (!type || !type.hasStaticShape() || type.getNumElements() < minElements ||
          result.getNumElements() >= enoughRows || reduce.getDimensions().empty()) {
        TILEWRIGHT_LOG(getArgument(), reduce, "is not split: it reduces ",
                       reduce.getInputs()[0].getType(), " to ", reduce.getResult(0).getType(),
                       ", but a split needs ", minElements.getValue(), " elements and fewer than ",
                       enoughRows, " results");
        return;
      }
      SmallVector<int64_t> dims(reduce.getDimensions());
      llvm::sort(dims);
      const bool neighbours = dims.back() - dims.front() + 1 == static_cast<int64_t>(dims.size());
      const int64_t rows = rowsFor(
          type.getShape().slice(static_cast<size_t>(dims.front()), neighbours ? dims.size() : 1));
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
    for (auto [reduce, rows] : found)
      split(reduce, rows);
  }
};

} // namespace
} // namespace tilewright::fuse
