// Combines or removes reshape, transpose, broadcast, slice, pad, concatenate, reverse and sort.
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

LogicalResult simplifyReshape(stablehlo::ReshapeOp op, PatternRewriter &rewriter) {
  if (op.getOperand().getType() == op.getType()) {
    rewriter.replaceOp(op, op.getOperand());
    return success();
  }
  if (!isStatic(op))
    return rewriter.notifyMatchFailure(op, "the result has a dynamic shape");
  if (auto inner = op.getOperand().getDefiningOp<stablehlo::ReshapeOp>()) {
    rewriter.replaceOpWithNewOp<stablehlo::ReshapeOp>(op, op.getType(), inner.getOperand());
    return success();
  }
  // Reshape a constant directly, unless it is a resource, whose bytes belong to the file.
  if (auto elements = dyn_cast_if_present<DenseElementsAttr>(constantOf(op.getOperand()))) {
    rewriter.replaceOpWithNewOp<stablehlo::ConstantOp>(op, elements.reshape(op.getType()));
    return success();
  }
  // A reshape of a broadcast scalar is a broadcast of the scalar.
  if (auto inner = op.getOperand().getDefiningOp<stablehlo::BroadcastInDimOp>()) {
    RankedTensorType source = typeOf(inner.getOperand());
    if (source.getRank() == 0) {
      rewriter.replaceOpWithNewOp<stablehlo::BroadcastInDimOp>(op, op.getType(), inner.getOperand(),
                                                               ArrayRef<int64_t>{});
      return success();
    }
  }
  return rewriter.notifyMatchFailure(
      op, "the operand is not a reshape, a constant or a broadcast scalar");
}

bool isIdentity(ArrayRef<int64_t> permutation) {
  for (auto [index, dim] : llvm::enumerate(permutation))
    if (dim != static_cast<int64_t>(index))
      return false;
  return true;
}

/// Whether a transpose moves only dimensions of size 1, so that elements keep their order in
/// memory.
bool movesNothing(RankedTensorType source, ArrayRef<int64_t> permutation) {
  int64_t last = -1;
  for (int64_t dim : permutation) {
    if (source.getDimSize(static_cast<unsigned>(dim)) == 1)
      continue;
    if (dim < last)
      return false;
    last = dim;
  }
  return true;
}

LogicalResult simplifyTranspose(stablehlo::TransposeOp op, PatternRewriter &rewriter) {
  Value operand = op.getOperand();
  ArrayRef<int64_t> permutation = op.getPermutation();
  if (isIdentity(permutation) && operand.getType() == op.getType()) {
    rewriter.replaceOp(op, operand);
    return success();
  }
  if (!isStatic(op) || !isStatic(operand))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  if (auto inner = operand.getDefiningOp<stablehlo::TransposeOp>()) {
    SmallVector<int64_t> combined;
    for (int64_t dim : permutation)
      combined.push_back(inner.getPermutation()[static_cast<size_t>(dim)]);
    rewriter.replaceOpWithNewOp<stablehlo::TransposeOp>(op, op.getType(), inner.getOperand(),
                                                        combined);
    return success();
  }
  if (movesNothing(typeOf(operand), permutation)) {
    rewriter.replaceOpWithNewOp<stablehlo::ReshapeOp>(op, op.getType(), operand);
    return success();
  }
  if (auto inner = operand.getDefiningOp<stablehlo::BroadcastInDimOp>()) {
    SmallVector<int64_t> place(permutation.size());
    for (auto [index, dim] : llvm::enumerate(permutation))
      place[static_cast<size_t>(dim)] = static_cast<int64_t>(index);
    SmallVector<int64_t> dims;
    for (int64_t dim : inner.getBroadcastDimensions())
      dims.push_back(place[static_cast<size_t>(dim)]);
    // Keep the broadcast dimensions sorted; otherwise the broadcast would transpose its operand.
    if (!llvm::is_sorted(dims))
      return rewriter.notifyMatchFailure(op, "the combined broadcast would transpose its operand");
    rewriter.replaceOpWithNewOp<stablehlo::BroadcastInDimOp>(op, op.getType(), inner.getOperand(),
                                                             dims);
    return success();
  }
  return rewriter.notifyMatchFailure(
      op, "elements change their order, and the operand is not a transpose or a broadcast");
}

LogicalResult simplifyBroadcast(stablehlo::BroadcastInDimOp op, PatternRewriter &rewriter) {
  Value operand = op.getOperand();
  RankedTensorType source = typeOf(operand), target = op.getType();
  ArrayRef<int64_t> dims = op.getBroadcastDimensions();
  if (source == target && isIdentity(dims)) {
    rewriter.replaceOp(op, operand);
    return success();
  }
  if (!source.hasStaticShape() || !target.hasStaticShape())
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  if (source.getNumElements() == target.getNumElements() && llvm::is_sorted(dims) &&
      source.getElementType() == target.getElementType()) {
    rewriter.replaceOpWithNewOp<stablehlo::ReshapeOp>(op, target, operand);
    return success();
  }
  if (auto inner = operand.getDefiningOp<stablehlo::BroadcastInDimOp>()) {
    // Combine two broadcasts into one.
    SmallVector<int64_t> combined;
    for (int64_t dim : inner.getBroadcastDimensions())
      combined.push_back(dims[static_cast<size_t>(dim)]);
    rewriter.replaceOpWithNewOp<stablehlo::BroadcastInDimOp>(op, target, inner.getOperand(),
                                                             combined);
    return success();
  }
  // A reshape that only adds dimensions of size 1 can be part of the broadcast.
  if (auto inner = operand.getDefiningOp<stablehlo::ReshapeOp>();
      inner && isStatic(inner.getOperand())) {
    RankedTensorType innermost = typeOf(inner.getOperand());
    if (innermost.getNumElements() == 1 && innermost.getRank() == 0) {
      rewriter.replaceOpWithNewOp<stablehlo::BroadcastInDimOp>(op, target, inner.getOperand(),
                                                               ArrayRef<int64_t>{});
      return success();
    }
    SmallVector<int64_t> combined;
    int64_t at = 0;
    for (int64_t size : innermost.getShape()) {
      // Skip the dimensions of size 1 that the reshape added.
      while (at < source.getRank() && source.getDimSize(static_cast<unsigned>(at)) == 1 &&
             size != 1)
        ++at;
      if (at == source.getRank() || source.getDimSize(static_cast<unsigned>(at)) != size)
        return rewriter.notifyMatchFailure(
            op, "the reshape of its operand does more than add dimensions of size 1");
      combined.push_back(dims[static_cast<size_t>(at++)]);
    }
    for (; at < source.getRank(); ++at)
      if (source.getDimSize(static_cast<unsigned>(at)) != 1)
        return rewriter.notifyMatchFailure(
            op, "the reshape of its operand does more than add dimensions of size 1");
    rewriter.replaceOpWithNewOp<stablehlo::BroadcastInDimOp>(op, target, inner.getOperand(),
                                                             combined);
    return success();
  }
  return rewriter.notifyMatchFailure(
      op, "elements are repeated, and the operand is not a broadcast or a reshape");
}

LogicalResult simplifySlice(stablehlo::SliceOp op, PatternRewriter &rewriter) {
  Value operand = op.getOperand();
  // A slice of the whole operand.
  if (operand.getType() == op.getType() && isStatic(op)) {
    rewriter.replaceOp(op, operand);
    return success();
  }
  if (!isStatic(op) || !isStatic(operand))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  if (Attribute splat = splatOf(operand)) {
    rewriter.replaceOp(op, makeSplat(rewriter, op.getLoc(), op.getType(), splat));
    return success();
  }
  if (auto inner = operand.getDefiningOp<stablehlo::SliceOp>()) {
    SmallVector<int64_t> starts, limits, strides;
    for (unsigned d = 0; d < op.getType().getRank(); ++d) {
      // The stride of fewer than two elements may be any number, so its product could overflow, as
      // could the start of none.
      const int64_t size = op.getType().getDimSize(d);
      const int64_t start =
          size == 0 ? 0
                    : inner.getStartIndices()[d] + op.getStartIndices()[d] * inner.getStrides()[d];
      const int64_t stride = size < 2 ? 1 : inner.getStrides()[d] * op.getStrides()[d];
      starts.push_back(start);
      strides.push_back(stride);
      limits.push_back(size == 0 ? start : start + (size - 1) * stride + 1);
    }
    rewriter.replaceOpWithNewOp<stablehlo::SliceOp>(op, op.getType(), inner.getOperand(), starts,
                                                    limits, strides);
    return success();
  }
  // A slice that lies within one operand of a concatenation.
  if (auto joined = operand.getDefiningOp<stablehlo::ConcatenateOp>()) {
    const auto dim = static_cast<unsigned>(joined.getDimension());
    int64_t before = 0;
    const int64_t start = op.getStartIndices()[dim], limit = op.getLimitIndices()[dim];
    for (Value input : joined.getInputs()) {
      const int64_t size = typeOf(input).getDimSize(dim);
      if (start >= before && limit <= before + size) {
        SmallVector<int64_t> starts(op.getStartIndices()), limits(op.getLimitIndices());
        starts[dim] -= before;
        limits[dim] -= before;
        rewriter.replaceOpWithNewOp<stablehlo::SliceOp>(op, op.getType(), input, starts, limits,
                                                        op.getStrides());
        return success();
      }
      before += size;
    }
  }
  return rewriter.notifyMatchFailure(op, "the operand is not a splat or a slice, and not a "
                                         "concatenation with an operand that contains this slice");
}

LogicalResult simplifyPad(stablehlo::PadOp op, PatternRewriter &rewriter) {
  auto none = [](ArrayRef<int64_t> amounts) {
    return llvm::all_of(amounts, [](int64_t amount) { return amount == 0; });
  };
  if (none(op.getEdgePaddingLow()) && none(op.getEdgePaddingHigh()) &&
      op.getOperand().getType() == op.getType() && isStatic(op)) {
    rewriter.replaceOp(op, op.getOperand());
    return success();
  }
  if (!isStatic(op) || !isStatic(op.getOperand()))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  // If the operand is empty, only padding remains.
  if (typeOf(op.getOperand()).getNumElements() == 0) {
    rewriter.replaceOpWithNewOp<stablehlo::BroadcastInDimOp>(op, op.getType(), op.getPaddingValue(),
                                                             ArrayRef<int64_t>{});
    return success();
  }
  // A pad whose amounts are all negative or zero is a slice.
  if (none(op.getInteriorPadding()) &&
      llvm::all_of(op.getEdgePaddingLow(), [](int64_t a) { return a <= 0; }) &&
      llvm::all_of(op.getEdgePaddingHigh(), [](int64_t a) { return a <= 0; })) {
    SmallVector<int64_t> starts, limits, strides(static_cast<size_t>(op.getType().getRank()), 1);
    for (unsigned d = 0; d < op.getType().getRank(); ++d) {
      starts.push_back(-op.getEdgePaddingLow()[d]);
      limits.push_back(typeOf(op.getOperand()).getDimSize(d) + op.getEdgePaddingHigh()[d]);
    }
    rewriter.replaceOpWithNewOp<stablehlo::SliceOp>(op, op.getType(), op.getOperand(), starts,
                                                    limits, strides);
    return success();
  }
  // A splat padded with its own value.
  Attribute inside = splatOf(op.getOperand()), outside = splatOf(op.getPaddingValue());
  if (inside && inside == outside) {
    rewriter.replaceOp(op, makeSplat(rewriter, op.getLoc(), op.getType(), inside));
    return success();
  }
  return rewriter.notifyMatchFailure(op, "it adds elements other than those of a splat operand");
}

LogicalResult simplifyConcatenate(stablehlo::ConcatenateOp op, PatternRewriter &rewriter) {
  if (op.getInputs().size() == 1 && op.getInputs()[0].getType() == op.getType()) {
    rewriter.replaceOp(op, op.getInputs()[0]);
    return success();
  }
  if (!isStatic(op) || !llvm::all_of(op.getInputs(), isStatic))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  const auto dim = static_cast<unsigned>(op.getDimension());
  SmallVector<Value> inputs;
  bool changed = false;
  for (Value input : op.getInputs()) {
    if (typeOf(input).getDimSize(dim) == 0) {
      changed = true;
      continue;
    }
    // Flatten an inner concatenation along the same dimension that has no other use.
    auto inner = input.getDefiningOp<stablehlo::ConcatenateOp>();
    if (inner && inner->hasOneUse() && inner.getDimension() == op.getDimension() &&
        llvm::all_of(inner.getInputs(), isStatic)) {
      llvm::append_range(inputs, inner.getInputs());
      changed = true;
      continue;
    }
    // Adjacent slices of the same tensor form one slice.
    if (auto slice = input.getDefiningOp<stablehlo::SliceOp>(); slice && !inputs.empty()) {
      auto last = inputs.back().getDefiningOp<stablehlo::SliceOp>();
      bool joins = last && last.getOperand() == slice.getOperand() && last.getStrides()[dim] == 1 &&
                   slice.getStrides()[dim] == 1 &&
                   last.getLimitIndices()[dim] == slice.getStartIndices()[dim];
      for (unsigned d = 0; joins && d < op.getType().getRank(); ++d)
        joins = d == dim || (last.getStartIndices()[d] == slice.getStartIndices()[d] &&
                             last.getLimitIndices()[d] == slice.getLimitIndices()[d] &&
                             last.getStrides()[d] == slice.getStrides()[d]);
      if (joins) {
        SmallVector<int64_t> limits(last.getLimitIndices());
        limits[dim] = slice.getLimitIndices()[dim];
        SmallVector<int64_t> shape(typeOf(last).getShape());
        shape[dim] += typeOf(slice).getDimSize(dim);
        inputs.back() = stablehlo::SliceOp::create(
            rewriter, op.getLoc(), RankedTensorType::get(shape, op.getType().getElementType()),
            last.getOperand(), last.getStartIndices(), limits, last.getStrides());
        changed = true;
        continue;
      }
    }
    inputs.push_back(input);
  }
  if (inputs.empty())
    return rewriter.notifyMatchFailure(op, "all inputs are empty");
  if (inputs.size() == 1 && inputs[0].getType() == op.getType()) {
    rewriter.replaceOp(op, inputs[0]);
    return success();
  }
  // Equal splats.
  Attribute splat = splatOf(inputs[0]);
  if (splat && llvm::all_of(inputs, [&](Value input) { return splatOf(input) == splat; })) {
    rewriter.replaceOp(op, makeSplat(rewriter, op.getLoc(), op.getType(), splat));
    return success();
  }
  if (!changed)
    return rewriter.notifyMatchFailure(
        op,
        "no input is empty, a concatenation to flatten or a slice adjacent to the input before it");
  rewriter.replaceOpWithNewOp<stablehlo::ConcatenateOp>(op, op.getType(), inputs,
                                                        op.getDimension());
  return success();
}

LogicalResult simplifyReverse(stablehlo::ReverseOp op, PatternRewriter &rewriter) {
  if (!isStatic(op))
    return rewriter.notifyMatchFailure(op, "the result has a dynamic shape");
  // Drop dimensions of size 1, and dimensions that an inner reverse reverses too.
  llvm::SmallBitVector reversed(static_cast<unsigned>(op.getType().getRank()));
  for (int64_t dim : op.getDimensions())
    if (op.getType().getDimSize(static_cast<unsigned>(dim)) > 1)
      reversed.flip(static_cast<unsigned>(dim));
  Value operand = op.getOperand();
  auto inner = operand.getDefiningOp<stablehlo::ReverseOp>();
  if (inner) {
    for (int64_t dim : inner.getDimensions())
      reversed.flip(static_cast<unsigned>(dim));
    operand = inner.getOperand();
  }
  if ((reversed.none() || splatOf(operand)) && operand.getType() == op.getType()) {
    rewriter.replaceOp(op, operand);
    return success();
  }
  if (!inner && reversed.count() == op.getDimensions().size())
    return rewriter.notifyMatchFailure(
        op, "no reversed dimension has size 1, and the operand is not reversed");
  SmallVector<int64_t> dims;
  for (unsigned dim : reversed.set_bits())
    dims.push_back(dim);
  rewriter.replaceOpWithNewOp<stablehlo::ReverseOp>(op, op.getType(), operand, dims);
  return success();
}

LogicalResult simplifySort(stablehlo::SortOp op, PatternRewriter &rewriter) {
  auto type = cast<RankedTensorType>(op.getOperand(0).getType());
  auto dim = static_cast<int64_t>(op.getDimension()); // negative: counted from the end
  if (dim < 0)
    dim += type.getRank();
  if (type.getDimSize(static_cast<unsigned>(dim)) != 1 ||
      op.getOperandTypes() != op.getResultTypes())
    return rewriter.notifyMatchFailure(op, "it sorts several elements");
  rewriter.replaceOp(op, op.getOperands());
  return success();
}

/// Replaces every empty tensor by a constant. This leaves some ops unused, so that they are not
/// computed: some would fail, since LAPACK rejects matrices without rows.
struct KnowEmptyValues : RewritePattern {
  explicit KnowEmptyValues(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {
    setDebugName("KnowEmptyValues");
  }

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (isa<stablehlo::ConstantOp>(op))
      return rewriter.notifyMatchFailure(op, "it is a constant");
    bool changed = false;
    for (Value result : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (result.use_empty() || !type || !type.hasStaticShape() || type.getNumElements() != 0 ||
          !isa<IntegerType, FloatType, ComplexType>(type.getElementType()))
        continue;
      rewriter.setInsertionPointAfter(op);
      rewriter.replaceAllUsesWith(
          result, stablehlo::ConstantOp::create(
                      rewriter, op->getLoc(), DenseElementsAttr::get(type, ArrayRef<Attribute>())));
      changed = true;
    }
    auto call = dyn_cast<stablehlo::CustomCallOp>(op);
    if (call && !call.getHasSideEffect() && call.getNumResults() > 0 && call.use_empty()) {
      rewriter.eraseOp(op);
      return success();
    }
    if (!changed)
      return rewriter.notifyMatchFailure(op, "no used result is empty");
    return success();
  }
};

} // namespace

void addMovementPatterns(RewritePatternSet &patterns) {
  patterns.add<KnowEmptyValues>(patterns.getContext());
  using namespace stablehlo;
  addPattern<ReshapeOp>(patterns, "simplifyReshape", simplifyReshape);
  addPattern<TransposeOp>(patterns, "simplifyTranspose", simplifyTranspose);
  addPattern<BroadcastInDimOp>(patterns, "simplifyBroadcast", simplifyBroadcast);
  addPattern<SliceOp>(patterns, "simplifySlice", simplifySlice);
  addPattern<PadOp>(patterns, "simplifyPad", simplifyPad);
  addPattern<ConcatenateOp>(patterns, "simplifyConcatenate", simplifyConcatenate);
  addPattern<ReverseOp>(patterns, "simplifyReverse", simplifyReverse);
  addPattern<SortOp>(patterns, "simplifySort", simplifySort);
}

} // namespace tilewright::simplify
