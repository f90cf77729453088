// communicate-device-forms: rewrites collectives into forms that a GPU library (NCCL) supports.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/interpret/ranks/RankGroups.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/communicate/Collective.h"
#include "tilewright/transform/communicate/DeviceElements.h"
#include "tilewright/transform/communicate/Passes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::communicate {

#define GEN_PASS_DEF_DEVICEFORMSPASS
#include "tilewright/transform/communicate/Passes.h.inc"

namespace {

/// Up to this group size, the values of all members are combined by a chain of ops.
constexpr int64_t longestChain = 64;

Value reshape(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  if (typeOf(value).getShape() == shape)
    return value;
  return stablehlo::ReshapeOp::create(builder, loc, typeOf(value).clone(shape), value);
}

/// Moves dimension `from` to position `to`; the others keep their order.
Value moveDimension(OpBuilder &builder, Location loc, Value value, int64_t from, int64_t to) {
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < typeOf(value).getRank(); ++i)
    if (i != from)
      order.push_back(i);
  order.insert(order.begin() + to, from);
  if (llvm::is_sorted(order))
    return value;
  SmallVector<int64_t> shape;
  for (int64_t dimension : order)
    shape.push_back(typeOf(value).getDimSize(dimension));
  return stablehlo::TransposeOp::create(builder, loc, typeOf(value).clone(shape), value,
                                        builder.getDenseI64ArrayAttr(order));
}

/// Splits dimension `dimension` of size n * k into n and k, and moves n to the front.
Value splitToFront(OpBuilder &builder, Location loc, Value value, int64_t dimension, int64_t n) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  shape[static_cast<size_t>(dimension)] /= n;
  shape.insert(shape.begin() + dimension, n);
  return moveDimension(builder, loc, reshape(builder, loc, value, shape), dimension, 0);
}

/// The inverse: moves the first dimension, of size n, to just before dimension `dimension` of the
/// others, and merges the two.
Value mergeFromFront(OpBuilder &builder, Location loc, Value value, int64_t dimension) {
  Value moved = moveDimension(builder, loc, value, 0, dimension);
  SmallVector<int64_t> shape(typeOf(moved).getShape());
  shape[static_cast<size_t>(dimension)] *= shape[static_cast<size_t>(dimension) + 1];
  shape.erase(shape.begin() + dimension + 1);
  return reshape(builder, loc, moved, shape);
}

bool isOutermost(Value value, int64_t dimension) {
  return llvm::all_of(typeOf(value).getShape().take_front(static_cast<size_t>(dimension)),
                      [](int64_t size) { return size == 1; });
}

SmallVector<int64_t> withFront(int64_t front, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> result = {front};
  result.append(shape.begin(), shape.end());
  return result;
}

class Forms {
public:
  Forms(ModuleOp module) : grid(interpret::rankGridOf(module)) {}

  /// Rewrites a collective if NCCL does not support its form; returns whether it did.
  bool rewrite(Operation *op) {
    if (!hasStaticTensors(op))
      return false;
    Result<interpret::RankGroups> found = interpret::rankGroupsOf(op, grid);
    if (!found.isOk() || found->empty())
      return false;
    groups = *std::move(found);
    members = static_cast<int64_t>(groups.front().size());
    if (members == 1 || llvm::any_of(groups, [&](const std::vector<int64_t> &group) {
          return static_cast<int64_t>(group.size()) != members;
        }))
      return false;
    const bool isConverted = convertFirst(op);
    return rewriteForm(op) || isConverted;
  }

private:
  bool rewriteForm(Operation *op) {
    if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op))
      return gatherOutermost(gather);
    if (auto all = dyn_cast<stablehlo::AllToAllOp>(op))
      return exchangeOutermost(all);
    if (auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(op))
      return rewriteScatter(scatter);
    if (auto reduce = dyn_cast<stablehlo::AllReduceOp>(op))
      return rewriteReduce(reduce);
    return false;
  }

  /// A reduction may convert its operands to a wider type first; NCCL does not, so a convert does.
  static bool convertFirst(Operation *op) {
    if (!isa<stablehlo::AllReduceOp, stablehlo::ReduceScatterOp>(op))
      return false;
    bool isConverted = false;
    OpBuilder builder(op);
    for (auto [operand, result] : llvm::zip_equal(op->getOpOperands(), op->getResults())) {
      const RankedTensorType type = typeOf(operand.get()).clone(typeOf(result).getElementType());
      if (type == operand.get().getType())
        continue;
      operand.set(stablehlo::ConvertOp::create(builder, op->getLoc(), type, operand.get()));
      isConverted = true;
    }
    return isConverted;
  }

  static bool hasStaticTensors(Operation *op) {
    return op->getNumOperands() > 0 && llvm::all_of(op->getOperandTypes(), [](Type type) {
             auto tensor = dyn_cast<RankedTensorType>(type);
             return tensor && tensor.hasStaticShape() && tensor.getNumElements() > 0 &&
                    isa<IntegerType, FloatType, ComplexType>(tensor.getElementType());
           });
  }

  bool gatherOutermost(stablehlo::AllGatherOp op) {
    const auto dimension = static_cast<int64_t>(op.getAllGatherDim());
    if (llvm::all_of(op.getInputs(), [&](Value each) { return isOutermost(each, dimension); }))
      return false;
    OpBuilder builder(op);
    SmallVector<Value> results = gatherRows(builder, op, op.getInputs());
    for (auto [old, rows] : llvm::zip_equal(op.getResults(), results))
      old.replaceAllUsesWith(mergeFromFront(builder, op.getLoc(), rows, dimension));
    op.erase();
    return true;
  }

  bool exchangeOutermost(stablehlo::AllToAllOp op) {
    const auto split = static_cast<int64_t>(op.getSplitDimension());
    const auto concat = static_cast<int64_t>(op.getConcatDimension());
    if (split == concat &&
        llvm::all_of(op.getInputs(), [&](Value each) { return isOutermost(each, split); }))
      return false;
    OpBuilder builder(op);
    SmallVector<Value> rows;
    SmallVector<Type> types;
    for (Value input : op.getInputs()) {
      rows.push_back(splitToFront(builder, op.getLoc(), input, split, members));
      types.push_back(rows.back().getType());
    }
    Operation *exchanged = cloneWith(builder, op, rows, types);
    cast<stablehlo::AllToAllOp>(exchanged).setSplitDimension(0);
    cast<stablehlo::AllToAllOp>(exchanged).setConcatDimension(0);
    for (auto [old, received] : llvm::zip_equal(op.getResults(), exchanged->getResults()))
      old.replaceAllUsesWith(mergeFromFront(builder, op.getLoc(), received, concat));
    op.erase();
    return true;
  }

  /// The values of all members: each operand with a new outermost dimension of the group's size.
  template <typename Op>
  SmallVector<Value> gatherRows(OpBuilder &builder, Op op, ValueRange values) {
    SmallVector<Value> rows;
    SmallVector<Type> types;
    for (Value value : values) {
      rows.push_back(reshape(builder, op.getLoc(), value, withFront(1, typeOf(value).getShape())));
      types.push_back(typeOf(value).clone(withFront(members, typeOf(value).getShape())));
    }
    auto gather = stablehlo::AllGatherOp::create(
        builder, op.getLoc(), types, rows, builder.getI64IntegerAttr(0), op.getReplicaGroupsAttr(),
        op.getChannelHandleAttr(), op.getUseGlobalDeviceIdsAttr());
    gather->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return SmallVector<Value>(gather.getResults());
  }

  /// This rank's part of every member's operand: rows[q] is the part that member q has for this
  /// rank.
  Value exchangeRows(OpBuilder &builder, stablehlo::ReduceScatterOp op, Value rows) {
    // all_to_all numbers processes differently from reduce_scatter, so the groups list the ranks
    // themselves.
    SmallVector<int64_t> flat;
    for (const std::vector<int64_t> &group : groups)
      flat.append(group.begin(), group.end());
    auto ranks = DenseIntElementsAttr::get(
        RankedTensorType::get({static_cast<int64_t>(groups.size()), members}, builder.getI64Type()),
        flat);
    auto exchange = stablehlo::AllToAllOp::create(
        builder, op.getLoc(), TypeRange{rows.getType()}, ValueRange{rows},
        builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(0),
        builder.getI64IntegerAttr(members), ranks,
        grid.partitions > 1 ? op.getChannelHandleAttr() : stablehlo::ChannelHandleAttr());
    exchange->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return exchange->getResult(0);
  }

  bool rewriteReduce(stablehlo::AllReduceOp op) {
    std::optional<DeviceReduction> form = reductionFormOf(op);
    if (!form) // NCCL reduces it
      return false;
    OpBuilder builder(op);
    const Location loc = op.getLoc();
    if (form->isFold()) {
      if (!canFold(op.getComputation(), members))
        return false;
      SmallVector<Value> rows = gatherRows(builder, op, op.getInputs());
      for (auto [old, each] : llvm::zip_equal(op.getResults(), rows))
        old.replaceAllUsesWith(fold(builder, loc, op.getComputation(), each));
      op.erase();
      return true;
    }
    SmallVector<Value> encoded;
    SmallVector<size_t> parts;
    for (Value input : op.getInputs()) {
      SmallVector<Value> each = form->encode(builder, loc, input);
      parts.push_back(each.size());
      llvm::append_range(encoded, each);
    }
    Operation *reduced = cloneWith(builder, op, encoded, ValueRange(encoded).getTypes());
    form->setCombiner(reduced->getRegion(0), typeOf(encoded.front()).getElementType());
    size_t next = 0;
    for (auto [old, count] : llvm::zip_equal(op.getResults(), parts)) {
      old.replaceAllUsesWith(
          form->decode(builder, loc, reduced->getResults().slice(next, count), typeOf(old)));
      next += count;
    }
    op.erase();
    return true;
  }

  bool rewriteScatter(stablehlo::ReduceScatterOp op) {
    const auto dimension = static_cast<int64_t>(op.getScatterDimension());
    std::optional<DeviceReduction> form = reductionFormOf(op);
    const bool isFold = form && form->isFold();
    // The groups of all_to_all cannot express ranks that are a grid of replicas and partitions.
    if (isFold &&
        (!canFold(op.getComputation(), members) || (grid.replicas > 1 && grid.partitions > 1)))
      return false;
    if (!form && isOutermost(op.getOperand(), dimension))
      return false;
    OpBuilder builder(op);
    const Location loc = op.getLoc();
    Value rows = splitToFront(builder, loc, op.getOperand(), dimension, members);
    Value part; // of this rank, in the shape of the result
    RankedTensorType result = typeOf(op.getResult());
    if (isFold) {
      part = fold(builder, loc, op.getComputation(), exchangeRows(builder, op, rows));
    } else {
      // The parts of an element (real and imaginary) become columns of a matrix.
      SmallVector<Value> parts = form ? form->encode(builder, loc, rows) : SmallVector<Value>{rows};
      const int64_t columns = typeOf(rows).getNumElements() / members;
      for (Value &each : parts)
        each = reshape(builder, loc, each, {members, columns});
      const auto count = static_cast<int64_t>(parts.size());
      Value joined = parts.front();
      if (count > 1)
        joined = stablehlo::ConcatenateOp::create(
            builder, loc, typeOf(joined).clone({members, count * columns}), parts, 1);
      Operation *scattered =
          cloneWith(builder, op, joined, typeOf(joined).clone({1, count * columns}));
      cast<stablehlo::ReduceScatterOp>(scattered).setScatterDimension(0);
      if (form)
        form->setCombiner(scattered->getRegion(0), typeOf(joined).getElementType());
      for (int64_t i = 0; i < count; ++i) {
        Value each = scattered->getResult(0);
        if (count > 1)
          each = stablehlo::SliceOp::create(builder, loc, typeOf(each).clone({1, columns}), each,
                                            builder.getDenseI64ArrayAttr({0, i * columns}),
                                            builder.getDenseI64ArrayAttr({1, (i + 1) * columns}),
                                            builder.getDenseI64ArrayAttr({1, 1}));
        parts[static_cast<size_t>(i)] = reshape(builder, loc, each, result.getShape());
      }
      part = form ? form->decode(builder, loc, parts, result) : parts.front();
    }
    op.getResult().replaceAllUsesWith(reshape(builder, loc, part, result.getShape()));
    op.erase();
    return true;
  }

  static bool canFold(Region &body, int64_t members) {
    return members <= longestChain && isElementwise(body);
  }

  /// Combines the rows in group order, as the CPU engines do.
  static Value fold(OpBuilder &builder, Location loc, Region &body, Value rows) {
    const int64_t members = typeOf(rows).getDimSize(0);
    ArrayRef<int64_t> shape = typeOf(rows).getShape().drop_front();
    Value sum;
    for (int64_t i = 0; i < members; ++i) {
      SmallVector<int64_t> starts(shape.size() + 1, 0), limits(typeOf(rows).getShape()),
          strides(shape.size() + 1, 1);
      starts[0] = i;
      limits[0] = i + 1;
      Value row = stablehlo::SliceOp::create(builder, loc, typeOf(rows).clone(withFront(1, shape)),
                                             rows, builder.getDenseI64ArrayAttr(starts),
                                             builder.getDenseI64ArrayAttr(limits),
                                             builder.getDenseI64ArrayAttr(strides));
      row = reshape(builder, loc, row, shape);
      sum = sum ? applyToTensors(builder, loc, body, {sum, row}) : row;
    }
    return sum;
  }

  const interpret::RankGrid grid;
  interpret::RankGroups groups; // of the op that is rewritten
  int64_t members = 0;
};

struct DeviceForms : impl::DeviceFormsPassBase<DeviceForms> {
  using DeviceFormsPassBase::DeviceFormsPassBase;

  void runOnOperation() override {
    if (!always && !exec::targetOf(getOperation()).isGpu())
      return;
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<stablehlo::AllGatherOp, stablehlo::AllReduceOp, stablehlo::AllToAllOp,
              stablehlo::ReduceScatterOp>(op))
        ops.push_back(op);
    });
    Forms forms(getOperation()->getParentOfType<ModuleOp>());
    for (Operation *op : ops) {
      TILEWRIGHT_LOG(getArgument(), op, "looks at ", op->getName().getStringRef().str());
      if (forms.rewrite(op))
        ++numRewritten;
    }
  }
};

} // namespace
} // namespace tilewright::communicate
