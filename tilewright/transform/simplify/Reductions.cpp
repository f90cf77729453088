// Reductions of little, of reductions, and of what was moved for nothing.
#include "tilewright/dialect/stablehlo/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/CreationOps.h"
#include "tilewright/dialect/stablehlo/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ReductionOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

/// The one op of a body that combines its two arguments, if it does not matter in which order.
Operation *commutativeBody(stablehlo::ReduceOp op) {
  if (op.getInputs().size() != 1)
    return nullptr;
  Block &body = op.getBody().front();
  Operation *inner = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!inner || inner->getBlock() != &body || !llvm::hasNItems(body, 2) ||
      inner->getNumOperands() != 2)
    return nullptr;
  Value a = body.getArgument(0), b = body.getArgument(1);
  Value x = inner->getOperand(0), y = inner->getOperand(1);
  if (!((x == a && y == b) || (x == b && y == a)))
    return nullptr;
  return isa<stablehlo::AddOp, stablehlo::MultiplyOp, stablehlo::MaximumOp, stablehlo::MinimumOp,
             stablehlo::AndOp, stablehlo::OrOp, stablehlo::XorOp>(inner)
             ? inner
             : nullptr;
}

bool keepsElementTypes(stablehlo::ReduceOp op) {
  for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults()))
    if (!isStatic(input) || !isStatic(result) ||
        typeOf(input).getElementType() != typeOf(result).getElementType())
      return false;
  return true;
}

/// The same reduction of other tensors.
stablehlo::ReduceOp makeLike(stablehlo::ReduceOp op, ValueRange inputs, ArrayRef<int64_t> dims,
                             PatternRewriter &rewriter) {
  auto made = stablehlo::ReduceOp::create(rewriter, op.getLoc(), op.getResultTypes(), inputs,
                                          op.getInitValues(), dims);
  rewriter.cloneRegionBefore(op.getBody(), made.getBody(), made.getBody().begin());
  return made;
}

/// Dimensions of size 1 need no reduction. How often the initial value enters
/// is left open by `reduce`, so it need not enter at all.
LogicalResult dropUnitDimensions(stablehlo::ReduceOp op, PatternRewriter &rewriter) {
  if (!keepsElementTypes(op))
    return failure();
  RankedTensorType type = typeOf(op.getInputs()[0]);
  if (type.getNumElements() == 0)
    return failure();
  SmallVector<int64_t> shape, dims;
  bool changed = op.getDimensions().empty();
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    const int64_t size = type.getDimSize(static_cast<unsigned>(dim));
    const bool reduced = llvm::is_contained(op.getDimensions(), dim);
    if (reduced && size == 1) {
      changed = true;
      continue;
    }
    if (reduced)
      dims.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(size);
  }
  if (!changed)
    return failure();
  SmallVector<Value> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(reshapeTo(rewriter, op.getLoc(), input,
                               RankedTensorType::get(shape, typeOf(input).getElementType())));
  if (dims.empty()) {
    rewriter.replaceOp(op, inputs);
    return success();
  }
  rewriter.replaceOp(op, makeLike(op, inputs, dims, rewriter));
  return success();
}

/// Nothing reduced is the initial value.
LogicalResult reduceNothing(stablehlo::ReduceOp op, PatternRewriter &rewriter) {
  if (!keepsElementTypes(op) || typeOf(op.getInputs()[0]).getNumElements() != 0)
    return failure();
  SmallVector<Value> results;
  for (auto [init, result] : llvm::zip_equal(op.getInitValues(), op.getResults()))
    results.push_back(stablehlo::BroadcastInDimOp::create(rewriter, op.getLoc(), typeOf(result),
                                                          init, ArrayRef<int64_t>{}));
  rewriter.replaceOp(op, results);
  return success();
}

/// A sum of sums is a sum.
LogicalResult reduceOfReduce(stablehlo::ReduceOp op, PatternRewriter &rewriter) {
  Operation *body = commutativeBody(op);
  if (!body || !keepsElementTypes(op))
    return failure();
  auto inner = op.getInputs()[0].getDefiningOp<stablehlo::ReduceOp>();
  if (!inner || !inner->hasOneUse() || !keepsElementTypes(inner))
    return failure();
  Operation *innerBody = commutativeBody(inner);
  if (!innerBody || innerBody->getName() != body->getName() ||
      splatOf(inner.getInitValues()[0]) != splatOf(op.getInitValues()[0]) ||
      !splatOf(op.getInitValues()[0]))
    return failure();
  SmallVector<int64_t> dims(inner.getDimensions());
  int64_t outer = 0;
  for (int64_t dim = 0; dim < typeOf(inner.getInputs()[0]).getRank(); ++dim) {
    if (llvm::is_contained(inner.getDimensions(), dim))
      continue;
    if (llvm::is_contained(op.getDimensions(), outer++))
      dims.push_back(dim);
  }
  llvm::sort(dims);
  rewriter.replaceOp(op, makeLike(op, inner.getInputs(), dims, rewriter));
  return success();
}

/// A transpose before a reduction matters only if the kept dimensions change their order.
LogicalResult reduceOfTranspose(stablehlo::ReduceOp op, PatternRewriter &rewriter) {
  if (!commutativeBody(op) || !keepsElementTypes(op))
    return failure();
  auto transpose = op.getInputs()[0].getDefiningOp<stablehlo::TransposeOp>();
  if (!transpose)
    return failure();
  SmallVector<int64_t> dims;
  int64_t last = -1;
  for (auto [index, dim] : llvm::enumerate(transpose.getPermutation())) {
    if (llvm::is_contained(op.getDimensions(), static_cast<int64_t>(index))) {
      dims.push_back(dim);
    } else {
      if (dim < last)
        return failure();
      last = dim;
    }
  }
  llvm::sort(dims);
  rewriter.replaceOp(op, makeLike(op, transpose.getOperand(), dims, rewriter));
  return success();
}

/// The largest (or least, or common bits) of equal numbers is one of them.
LogicalResult reduceOfBroadcast(stablehlo::ReduceOp op, PatternRewriter &rewriter) {
  Operation *body = commutativeBody(op);
  if (!body || !keepsElementTypes(op) ||
      !isa<stablehlo::MaximumOp, stablehlo::MinimumOp, stablehlo::AndOp, stablehlo::OrOp>(body))
    return failure();
  auto broadcast = op.getInputs()[0].getDefiningOp<stablehlo::BroadcastInDimOp>();
  if (!broadcast || typeOf(broadcast).getNumElements() == 0)
    return failure();
  // Every reduced dimension is one that the broadcast made.
  RankedTensorType source = typeOf(broadcast.getOperand());
  for (auto [index, dim] : llvm::enumerate(broadcast.getBroadcastDimensions()))
    if (llvm::is_contained(op.getDimensions(), dim) &&
        source.getDimSize(static_cast<unsigned>(index)) != 1)
      return failure();
  SmallVector<int64_t> place, dims, shape;
  int64_t kept = 0;
  for (int64_t dim = 0; dim < typeOf(broadcast).getRank(); ++dim)
    place.push_back(llvm::is_contained(op.getDimensions(), dim) ? -1 : kept++);
  for (auto [index, dim] : llvm::enumerate(broadcast.getBroadcastDimensions())) {
    if (place[static_cast<size_t>(dim)] < 0)
      continue;
    dims.push_back(place[static_cast<size_t>(dim)]);
    shape.push_back(source.getDimSize(static_cast<unsigned>(index)));
  }
  Value value = reshapeTo(rewriter, op.getLoc(), broadcast.getOperand(),
                          RankedTensorType::get(shape, source.getElementType()));
  rewriter.replaceOpWithNewOp<stablehlo::BroadcastInDimOp>(op, typeOf(op.getResult(0)), value,
                                                           dims);
  return success();
}

/// A map is its body, on tensors instead of scalars.
LogicalResult inlineMap(stablehlo::MapOp op, PatternRewriter &rewriter) {
  Block &body = op.getComputation().front();
  RankedTensorType type = typeOf(op);
  if (!isStatic(op))
    return failure();
  for (Operation &inner : body.without_terminator()) {
    const bool scalars = llvm::all_of(inner.getOperands(), [&](Value value) {
      return typeOf(value) && typeOf(value).getRank() == 0 && value.getParentBlock() == &body;
    });
    const bool known = isa<stablehlo::ConstantOp>(inner) ||
                       inner.hasTrait<OpTrait::Elementwise>() ||
                       isa<stablehlo::SelectOp, stablehlo::ClampOp>(inner);
    if (!scalars || !known || inner.getNumRegions() != 0)
      return failure();
  }
  Value result = body.getTerminator()->getOperand(0);
  if (result.getParentBlock() != &body)
    return failure();
  IRMapping mapping;
  mapping.map(body.getArguments(), op.getInputs());
  for (Operation &inner : body.without_terminator()) {
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(inner)) {
      Attribute splat = splatOf(constant);
      if (!splat)
        return failure();
      mapping.map(
          constant.getResult(),
          makeSplat(rewriter, op.getLoc(), type.clone(typeOf(constant).getElementType()), splat));
      continue;
    }
    Operation *copy = rewriter.clone(inner, mapping);
    for (Value value : copy->getResults())
      value.setType(type.clone(typeOf(value).getElementType()));
  }
  rewriter.replaceOp(op, mapping.lookup(result));
  return success();
}

} // namespace

void addReductionPatterns(RewritePatternSet &patterns) {
  addPattern<stablehlo::ReduceOp>(patterns, dropUnitDimensions);
  addPattern<stablehlo::ReduceOp>(patterns, reduceNothing);
  addPattern<stablehlo::ReduceOp>(patterns, reduceOfReduce);
  addPattern<stablehlo::ReduceOp>(patterns, reduceOfTranspose);
  addPattern<stablehlo::ReduceOp>(patterns, reduceOfBroadcast);
  addPattern<stablehlo::MapOp>(patterns, inlineMap);
}

} // namespace tilewright::simplify
