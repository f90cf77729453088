#include "tilewright/transform/distribute/FoldSlices.h"

#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/transform/distribute/rules/Rules.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::distribute {

static constexpr llvm::StringLiteral target = "tilewright.concatenate_slices";
static constexpr llvm::StringLiteral dimName = "tilewright.dimension";
static constexpr llvm::StringLiteral runsName = "tilewright.runs"; // operand, start, limit

std::optional<FoldedSlices> FoldedSlices::of(Operation *op) {
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  if (!call || call.getCallTargetName() != target)
    return std::nullopt;
  FoldedSlices folded{cast<IntegerAttr>(op->getAttr(dimName)).getInt(), {}};
  ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(op->getAttr(runsName)).asArrayRef();
  for (size_t i = 0; i < numbers.size(); i += 3)
    folded.runs.push_back({static_cast<size_t>(numbers[i]), numbers[i + 1], numbers[i + 2]});
  return folded;
}

/// The slice that defines a value, if it takes adjacent rows along `dim` and all of the other
/// dimensions.
static stablehlo::SliceOp sliceAlong(Value value, size_t dim) {
  auto slice = value.getDefiningOp<stablehlo::SliceOp>();
  if (!slice || !isPlainTensor(slice.getOperand().getType()))
    return nullptr;
  for (size_t other = 0; other < slice.getStrides().size(); ++other)
    if (slice.getStrides()[other] != 1 ||
        (other != dim && shapeOf(slice.getOperand())[other] != shapeOf(value)[other]))
      return nullptr;
  return slice;
}

static void fold(stablehlo::ConcatenateOp op) {
  const auto dim = static_cast<size_t>(op.getDimension());
  // An empty concatenation has no rows to fold.
  if (!llvm::all_of(op->getOperandTypes(), isPlainTensor) || shapeOf(op.getResult())[dim] == 0)
    return;
  SmallVector<Value> operands;
  SmallVector<int64_t> numbers;
  bool isAsLarge = false;
  for (Value input : op.getInputs()) {
    int64_t start = 0, limit = shapeOf(input)[dim];
    if (stablehlo::SliceOp slice = sliceAlong(input, dim)) {
      start = slice.getStartIndices()[dim];
      limit += start;
      input = slice.getOperand();
      isAsLarge |= shapeOf(input)[dim] == shapeOf(op.getResult())[dim];
    }
    if (limit == start)
      continue;
    const auto *known = llvm::find(operands, input);
    numbers.append({known - operands.begin(), start, limit});
    if (known == operands.end())
      operands.push_back(input);
  }
  if (!isAsLarge)
    return;
  OpBuilder builder(op);
  OperationState state(op.getLoc(), stablehlo::CustomCallOp::getOperationName());
  state.addOperands(operands);
  state.addTypes(op.getType());
  state.addAttribute("call_target_name", builder.getStringAttr(target));
  state.addAttribute(dimName, builder.getI64IntegerAttr(static_cast<int64_t>(dim)));
  state.addAttribute(runsName, builder.getDenseI64ArrayAttr(numbers));
  llvm::SmallSetVector<Operation *, 4> slices; // one may be concatenated with itself
  for (Value input : op.getInputs())
    if (auto slice = input.getDefiningOp<stablehlo::SliceOp>())
      slices.insert(slice);
  op.getResult().replaceAllUsesWith(builder.create(state)->getResult(0));
  op.erase();
  for (Operation *slice : slices)
    if (slice->use_empty())
      slice->erase();
}

void foldSlices(func::FuncOp main) {
  SmallVector<stablehlo::ConcatenateOp> found;
  main.walk([&](stablehlo::ConcatenateOp op) { found.push_back(op); });
  for (stablehlo::ConcatenateOp op : found)
    fold(op);
}

void expandFoldedSlices(func::FuncOp main) {
  SmallVector<Operation *> found;
  main.walk([&](stablehlo::CustomCallOp op) {
    if (FoldedSlices::of(op))
      found.push_back(op);
  });
  for (Operation *op : found) {
    const FoldedSlices folded = *FoldedSlices::of(op);
    const auto dim = static_cast<size_t>(folded.dim);
    OpBuilder builder(op);
    SmallVector<Value> parts;
    for (const RowRun &run : folded.runs) {
      Value operand = op->getOperand(static_cast<unsigned>(run.operand));
      SmallVector<int64_t> shape(shapeOf(operand)), starts(shape.size(), 0),
          strides(shape.size(), 1);
      SmallVector<int64_t> limits = shape;
      starts[dim] = run.start;
      limits[dim] = run.limit;
      shape[dim] = run.limit - run.start;
      if (shape[dim] != shapeOf(operand)[dim])
        operand = stablehlo::SliceOp::create(builder, op->getLoc(),
                                             cast<RankedTensorType>(operand.getType()).clone(shape),
                                             operand, starts, limits, strides);
      parts.push_back(operand);
    }
    Value joined = parts.front();
    if (parts.size() > 1)
      joined = stablehlo::ConcatenateOp::create(builder, op->getLoc(), op->getResult(0).getType(),
                                                parts, static_cast<uint64_t>(dim));
    op->getResult(0).replaceAllUsesWith(joined);
    op->erase();
  }
}

} // namespace tilewright::distribute
