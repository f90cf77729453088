// fuse-split-keys: for GPUs, divides attention with few queries and many keys along the keys.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/exec/Hint.h"
#include "tilewright/dialect/exec/SoftmaxOps.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/fuse/KeyParts.h"
#include "tilewright/transform/fuse/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_SPLITKEYSPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

/// Attention whose keys are divided into parts, each a head of its own. The parts' results have
/// the part as their first dimension; row values have it in front of the queries.
class DividedAttention {
public:
  DividedAttention(exec::SoftmaxDotOp op, int64_t pieces)
      : op(op), pieces(pieces), part(int64_t(op.getSizes().size()) - 4), key(part + 1),
        rest(op.getSizes()[size_t(key)] / pieces), builder(op), loc(op.getLoc()) {}

  void replace();

private:
  exec::SoftmaxDotOp createParts();
  void moveBody(exec::SoftmaxDotOp parts, bool hasOffset);
  Value divide(Value operand, SmallVector<int64_t> &dims);
  /// A number for each head, part and query, at each element of the parts' results.
  Value spread(Value rows, ArrayRef<int64_t> resultDims, ArrayRef<int64_t> shape);
  Value reduce(Value parts, int64_t dim, bool isMaximum);

  template <typename Op> Value join(Value a, Value b) {
    return Op::create(builder, loc, a.getType(), a, b);
  }
  Value splat(RankedTensorType type, float value) {
    return stablehlo::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, builder.getF32FloatAttr(value)));
  }
  /// `values`, or 0 where all scores of a part are -inf: other parts have the weights.
  Value unlessEmpty(Value maxima, Value values);

  exec::SoftmaxDotOp op;
  const int64_t pieces, part, key, rest;
  OpBuilder builder;
  const Location loc;
};

/// The operand with its keys divided into (parts, rest), and the numbers of its dimensions.
Value DividedAttention::divide(Value operand, SmallVector<int64_t> &dims) {
  auto *const at = llvm::find(dims, key);
  for (int64_t &dim : dims)
    dim += dim >= part;
  if (at == dims.end())
    return operand;
  const auto position = at - dims.begin();
  SmallVector<int64_t> shape(typeOf(operand).getShape());
  shape[size_t(position)] = rest;
  shape.insert(shape.begin() + position, pieces);
  dims.insert(dims.begin() + position, part);
  return stablehlo::ReshapeOp::create(
      builder, loc, RankedTensorType::get(shape, typeOf(operand).getElementType()), operand);
}

exec::SoftmaxDotOp DividedAttention::createParts() {
  const unsigned count = op.getOperands().size();
  SmallVector<Value> operands;
  SmallVector<Attribute> allDims;
  auto dimsOf = [&](unsigned number) {
    return SmallVector<int64_t>(cast<DenseI64ArrayAttr>(op.getDims()[number]).asArrayRef());
  };
  for (unsigned i = 0; i < count; ++i) {
    SmallVector<int64_t> dims = dimsOf(i);
    operands.push_back(divide(op.getOperand(i), dims));
    allDims.push_back(builder.getDenseI64ArrayAttr(dims));
  }
  const bool hasOffset = !op.getBody().getArgument(2).use_empty();
  if (hasOffset) {
    SmallVector<int32_t> first;
    for (int64_t i = 0; i < pieces; ++i)
      first.push_back(int32_t(i * rest));
    auto type = RankedTensorType::get({pieces}, builder.getI32Type());
    operands.push_back(stablehlo::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(first))));
    allDims.push_back(builder.getDenseI64ArrayAttr({part}));
  }
  SmallVector<int64_t> dims = dimsOf(count), shape{pieces};
  for (int64_t &dim : dims)
    dim += dim >= part;
  dims.insert(dims.begin(), part);
  llvm::append_range(shape, typeOf(op.getResult()).getShape());
  allDims.push_back(builder.getDenseI64ArrayAttr(dims));
  SmallVector<int64_t> sizes(op.getSizes());
  sizes[size_t(key)] = rest;
  sizes.insert(sizes.begin() + part, pieces);
  const Type single = builder.getF32Type();
  const Type rows = RankedTensorType::get(ArrayRef(sizes).drop_back(3), single);
  auto parts = exec::SoftmaxDotOp::create(
      builder, loc, RankedTensorType::get(shape, single), TypeRange({rows, rows}), operands, sizes,
      builder.getArrayAttr(allDims), op.getWeightType(), op.getMaskedScoreAttr(), op.getTf32());
  exec::copyHint(op, parts);
  moveBody(parts, hasOffset);
  return parts;
}

/// The number of a key is that in its part, plus the first one of the part.
void DividedAttention::moveBody(exec::SoftmaxDotOp parts, bool hasOffset) {
  parts.getBody().takeBody(op.getBody());
  if (!hasOffset)
    return;
  Block &body = parts.getBody().front();
  Value offset = body.addArgument(builder.getI32Type(), loc), inPart = body.getArgument(2);
  OpBuilder inside = OpBuilder::atBlockBegin(&body);
  auto number =
      arith::AddIOp::create(inside, loc, inPart, offset, arith::IntegerOverflowFlags::nsw);
  inPart.replaceAllUsesExcept(number, number);
}

Value DividedAttention::reduce(Value parts, int64_t dim, bool isMaximum) {
  const Type single = builder.getF32Type();
  auto scalar = RankedTensorType::get({}, single);
  SmallVector<int64_t> shape(typeOf(parts).getShape());
  shape.erase(shape.begin() + dim);
  Value init = splat(scalar, isMaximum ? -std::numeric_limits<float>::infinity() : 0.0F);
  auto total =
      stablehlo::ReduceOp::create(builder, loc, TypeRange(RankedTensorType::get(shape, single)),
                                  ValueRange(parts), ValueRange(init), ArrayRef<int64_t>{dim});
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&total.getBody());
  Value a = block->addArgument(scalar, loc), b = block->addArgument(scalar, loc);
  stablehlo::ReturnOp::create(
      builder, loc, isMaximum ? join<stablehlo::MaximumOp>(a, b) : join<stablehlo::AddOp>(a, b));
  return total.getResult(0);
}

Value DividedAttention::spread(Value rows, ArrayRef<int64_t> resultDims, ArrayRef<int64_t> shape) {
  // Heads of size 1 may be absent in the result, or stand for another of its dimensions.
  SmallVector<int64_t> kept, into;
  for (auto [dim, size] : llvm::enumerate(typeOf(rows).getShape()))
    if (const auto *at = llvm::find(resultDims, int64_t(dim)); at != resultDims.end()) {
      kept.push_back(size);
      into.push_back(at - resultDims.begin());
    }
  const Type single = builder.getF32Type();
  Value present = rows;
  if (kept.size() != typeOf(rows).getShape().size())
    present = stablehlo::ReshapeOp::create(builder, loc, RankedTensorType::get(kept, single), rows);
  return stablehlo::BroadcastInDimOp::create(builder, loc, RankedTensorType::get(shape, single),
                                             present, into);
}

Value DividedAttention::unlessEmpty(Value maxima, Value values) {
  RankedTensorType type = typeOf(values);
  Value lowest = splat(type, -std::numeric_limits<float>::infinity());
  Value isEmpty = stablehlo::CompareOp::create(builder, loc, type.clone(builder.getI1Type()),
                                               maxima, lowest, stablehlo::ComparisonDirection::EQ,
                                               stablehlo::ComparisonTypeAttr());
  return stablehlo::SelectOp::create(builder, loc, type, isEmpty, splat(type, 0), values);
}

/// With m and s the maximum and the sum of each part's row: the weight of a part is
/// s * exp(m - max over parts of m), and the result is the mean of the parts' results.
void DividedAttention::replace() {
  exec::SoftmaxDotOp parts = createParts();
  Value maxima = parts.getRowValues()[0], sums = parts.getRowValues()[1];
  const auto rows = typeOf(maxima);
  SmallVector<int64_t> others;
  for (int64_t i = 0; i < rows.getRank(); ++i)
    if (i != part)
      others.push_back(i);
  Value largest = reduce(maxima, part, /*isMaximum=*/true);
  Value everywhere = stablehlo::BroadcastInDimOp::create(builder, loc, rows, largest, others);
  Value relative = stablehlo::ExponentialOp::create(
      builder, loc, rows, join<stablehlo::SubtractOp>(maxima, everywhere));
  Value weights = unlessEmpty(maxima, join<stablehlo::MultiplyOp>(sums, relative));
  Value total = reduce(weights, part, /*isMaximum=*/false);

  const auto lists = parts.getDims();
  const auto dims = cast<DenseI64ArrayAttr>(lists[lists.size() - 1]).asArrayRef();
  const ArrayRef<int64_t> shape = typeOf(parts.getResult()).getShape();
  Value weighted = join<stablehlo::MultiplyOp>(
      unlessEmpty(spread(maxima, dims, shape), parts.getResult()), spread(weights, dims, shape));
  SmallVector<int64_t> whole;
  for (int64_t dim : dims.drop_front())
    whole.push_back(dim > part ? dim - 1 : dim);
  Value result = join<stablehlo::DivideOp>(reduce(weighted, 0, /*isMaximum=*/false),
                                           spread(total, whole, shape.drop_front()));
  if (result.getType() != op.getResult().getType())
    result = stablehlo::ConvertOp::create(builder, loc, op.getResult().getType(), result);
  op.getResult().replaceAllUsesWith(result);
  if (!op.getRowValues().empty()) {
    op.getRowValues()[0].replaceAllUsesWith(largest);
    op.getRowValues()[1].replaceAllUsesWith(total);
  }
  op.erase();
}

struct SplitKeys : impl::SplitKeysPassBase<SplitKeys> {
  void runOnOperation() override {
    const exec::TargetAttr target = exec::targetOf(getOperation());
    if (!target || !target.isGpu() || getOperation().isPrivate())
      return;
    SmallVector<std::pair<exec::SoftmaxDotOp, int64_t>> found;
    getOperation().walk([&](exec::SoftmaxDotOp op) {
      if (int64_t pieces = piecesOf(op, target.getUnits()); pieces > 1)
        found.push_back({op, pieces});
    });
    for (auto [op, pieces] : found)
      DividedAttention(op, pieces).replace();
  }

  /// The number of parts into which to divide the keys; 1 if they are not divided.
  int64_t piecesOf(exec::SoftmaxDotOp op, int64_t units) {
    const ArrayRef<int64_t> all = op.getSizes();
    AttentionSizes sizes{.queries = all[all.size() - 4], .keys = all[all.size() - 3]};
    for (int64_t heads : all.drop_back(4))
      sizes.heads *= heads;
    const int64_t pieces = partsOfKeys(sizes, units);
    auto options = remark::RemarkOpts::name("split-keys").category("fuse");
    const std::string what =
        llvm::formatv("attention to {0} keys would occupy {1} of {2} multiprocessors", sizes.keys,
                      queryBlocks(sizes), units);
    if (pieces > 1) {
      remark::passed(op.getLoc(), options)
          << remark::add("{0} and is divided along the keys: {1} parts of {2}, which other kernels "
                         "combine",
                         what, pieces, sizes.keys / pieces);
      TILEWRIGHT_LOG(getArgument(), op, "is divided into ", pieces, " parts of ",
                     sizes.keys / pieces, " keys");
    } else if (sizes.keys % keyGranule != 0 && partsOfKeys(sizes, units, /*granule=*/1) > 1) {
      remark::missed(op.getLoc(), options)
          << remark::add("{0}, but is not divided along the keys", what)
          << remark::reason("their number is not a multiple of {0}", keyGranule);
    }
    return pieces;
  }
};

} // namespace
} // namespace tilewright::fuse
