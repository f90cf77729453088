#include "tilewright/transform/schedule/BufferClasses.h"

#include "tilewright/dialect/exec/LibraryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/transform/schedule/PackArena.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::schedule {

static constexpr llvm::StringLiteral passName = "schedule-assign-buffers";

/// Whether each element occupies whole bytes in every kind of memory, not only in temporaries.
static bool hasWholeBytes(Value value) {
  const Type element = cast<ShapedType>(value.getType()).getElementType();
  return isa<ComplexType>(element) || element.getIntOrFloatBitWidth() >= 8;
}

bool isAlias(Operation *op) {
  if (isa<stablehlo::ReshapeOp, exec::CollectiveDoneOp>(op))
    return true;
  // In a temporary, each sub-byte element has its own byte, so a bitcast is a view only if all
  // bytes stay where they are.
  if (isa<stablehlo::BitcastConvertOp>(op))
    return bytesOf(op->getOperand(0).getType()) == bytesOf(op->getResult(0).getType()) &&
           hasWholeBytes(op->getOperand(0)) && hasWholeBytes(op->getResult(0));
  return viewOffsetOf(op).has_value();
}

std::optional<int64_t> viewOffsetOf(Operation *op) {
  // A view of a smaller part would keep much memory alive only to avoid a short copy.
  constexpr int64_t minBytes = 4096, minPart = 16;
  auto slice = dyn_cast<exec::SliceOp>(op);
  if (!slice || !hasWholeBytes(slice.getOperand()))
    return std::nullopt;
  const int64_t bytes = bytesOf(slice.getResult().getType()),
                whole = bytesOf(slice.getOperand().getType());
  if (bytes < minBytes || bytes < whole / minPart)
    return std::nullopt;
  // The slice is contiguous if it has one element in each outer dimension, a range of one
  // dimension, and all of the inner dimensions.
  ArrayRef<int64_t> from = cast<RankedTensorType>(slice.getOperand().getType()).getShape(),
                    to = cast<RankedTensorType>(slice.getResult().getType()).getShape();
  int64_t row = whole, offset = 0; // bytes
  bool isOuter = true;
  for (size_t dim = 0; dim < from.size(); ++dim) {
    row /= from[dim];
    if (to[dim] != from[dim]) {
      if (!isOuter || (to[dim] != 1 && slice.getStrides()[dim] != 1))
        return std::nullopt;
      offset += slice.getStartIndices()[dim] * row;
    }
    isOuter = isOuter && to[dim] == 1;
  }
  return offset % bufferAlignment == 0 ? std::optional(offset) : std::nullopt;
}

int64_t offsetInRoot(Value value) {
  int64_t offset = 0;
  while (Operation *op = value.getDefiningOp()) {
    if (!isAlias(op))
      break;
    offset += viewOffsetOf(op).value_or(0);
    value = op->getOperand(cast<OpResult>(value).getResultNumber());
  }
  return offset;
}

bool isPartOfRoot(Value value) {
  return bytesOf(value.getType()) != bytesOf(rootOf(value).getType());
}

Value rootOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isAlias(op))
      break;
    value = op->getOperand(cast<OpResult>(value).getResultNumber());
  }
  return value;
}

std::optional<unsigned> claimedParameter(func::FuncOp function, unsigned result) {
  auto claim = function.getResultAttrOfType<IntegerAttr>(result, aliasOfAttr);
  return claim ? std::optional<unsigned>(claim.getInt()) : std::nullopt;
}

int64_t bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  std::optional<numerics::ElementType> element = interpret::elementTypeOf(tensor.getElementType());
  Result<interpret::Shape> shape = interpret::staticShapeOf(tensor);
  return element && shape.isOk() ? shape->byteCount(*element) : 0;
}

BufferClasses::BufferClasses(func::FuncOp function, const Lifetimes &lifetimes)
    : lifetimes(lifetimes) {
  function.walk([&](Block *block) {
    if (!lifetimes.isOnPlan(block))
      return;
    for (BlockArgument argument : block->getArguments())
      idOf(argument);
    for (Operation &op : *block)
      for (Value result : op.getResults())
        idOf(result);
  });
  joinForced(function);
  // Merge the buffers of in-place ops first: they have priority over copies. Each walk merges in
  // program order.
  function.walk<WalkOrder::PreOrder>([&](Operation *op) { joinInPlace(op); });
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<exec::CopyOp>(op))
      joinCopy(op);
  });
}

unsigned BufferClasses::idOf(Value value) {
  auto [it, isNew] = ids.try_emplace(value, classes.size());
  if (!isNew)
    return it->second;
  unsigned id = it->second;
  Class made;
  made.bytes = bytesOf(value.getType());
  made.intervals.add(lifetimes.of(value));
  if (auto constant = value.getDefiningOp<stablehlo::ConstantOp>()) {
    auto [index, isNewConstant] =
        constantIndex.try_emplace(constant.getValue(), constantValues.size());
    if (isNewConstant)
      constantValues.push_back(constant.getValue());
    made.storage = Storage::constant;
    made.index = index->second;
  }
  parents.push_back(id);
  classes.push_back(std::move(made));
  return id;
}

unsigned BufferClasses::find(unsigned id) {
  while (parents[id] != id)
    id = parents[id] = parents[parents[id]];
  return id;
}

void BufferClasses::join(unsigned into, unsigned from) {
  into = find(into), from = find(from);
  if (into == from)
    return;
  // Keep storage that the caller provides rather than the arena.
  if (classes[into].storage == Storage::temporary && classes[from].storage != Storage::temporary)
    std::swap(into, from);
  parents[from] = into;
  Class &target = classes[into], &source = classes[from];
  target.intervals.add(source.intervals);
  target.bytes = std::max(target.bytes, source.bytes);
}

void BufferClasses::joinForced(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    Class &parameter = classes[idOf(argument)];
    parameter.storage = Storage::parameter;
    parameter.index = argument.getArgNumber();
  }
  Operation *ret = function.getBody().front().getTerminator();
  for (OpOperand &operand : ret->getOpOperands()) {
    Class &result = classes[idOf(operand.get())];
    result.storage = Storage::result;
    result.index = operand.getOperandNumber();
    // A claimed parameter shares the result's memory, so both are in the same class. Reads of the
    // parameter still use its own allocation, see AssignBuffers.
    if (std::optional<unsigned> claim = claimedParameter(function, operand.getOperandNumber()))
      join(idOf(operand.get()), idOf(function.getArgument(*claim)));
  }
  function.walk([&](Operation *op) {
    if (!lifetimes.isOnPlan(op->getBlock()))
      return;
    if (isAlias(op))
      for (auto [result, operand] : llvm::zip(op->getResults(), op->getOperands()))
        join(idOf(operand), idOf(result));
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
      Block &condition = loop.getCond().front(), &body = loop.getBody().front();
      for (unsigned i = 0; i < loop.getNumResults(); ++i) {
        unsigned state = idOf(loop.getResult(i));
        for (Value value : {loop.getOperand()[i], Value(condition.getArgument(i)),
                            Value(body.getArgument(i)), body.getTerminator()->getOperand(i)})
          join(state, idOf(value));
      }
    } else if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op)) {
      for (Region &region : op->getRegions())
        for (auto [result, yielded] :
             llvm::zip(op->getResults(), region.front().getTerminator()->getOperands()))
          join(idOf(result), idOf(yielded));
    }
  });
}

bool BufferClasses::interfere(const Class &a, const Class &b,
                              function_ref<bool(const Segment &, const Segment &)> mayMeet) {
  // Iterate over the smaller set: a chain of thousands of in-place values is joined one value at a
  // time.
  const bool isFirstSmall = a.intervals.size() <= b.intervals.size();
  const LiveIntervals &few = isFirstSmall ? a.intervals : b.intervals,
                      &many = isFirstSmall ? b.intervals : a.intervals;
  return llvm::any_of(few.segments(), [&](const Segment &one) {
    return many.anyOverlap(one, [&](const Segment &other) {
      return isFirstSmall ? !mayMeet(one, other) : !mayMeet(other, one);
    });
  });
}

void BufferClasses::joinInPlace(Operation *op) {
  ArrayRef<int64_t> pairs = exec::aliasesOf(op);
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    Value result = op->getResult(pairs[i]), input = op->getOperand(pairs[i + 1]);
    unsigned from = idFor(result), into = idFor(input);
    const Class &target = classes[into], &source = classes[from];
    auto separate = [&](const char *why) {
      TILEWRIGHT_LOG(passName, op, "result ", pairs[i], " does not overwrite operand ",
                     pairs[i + 1], ": ", why);
    };
    if (from == into)
      continue;
    if (target.storage == Storage::parameter || target.storage == Storage::constant) {
      separate("it is a parameter or a constant");
      continue;
    }
    if (isPartOfRoot(input)) {
      separate("it is a part of another value");
      continue;
    }
    if (target.bytes != source.bytes) {
      separate("their buffers have different sizes");
      continue;
    }
    if (source.storage != Storage::temporary && target.storage != Storage::temporary) {
      separate("the caller provides memory for both");
      continue;
    }
    // If another operand uses the same memory, the op might read an element of it after overwriting
    // it.
    auto isInThatMemory = [&](Value operand) { return idFor(operand) == into; };
    if (llvm::count_if(op->getOperands(), isInThatMemory) > 1) {
      separate("another operand is in the same memory");
      continue;
    }
    // The input's live interval ends at this op, where the result's begins.
    auto mayMeet = [&](const Segment &old, const Segment &fresh) {
      return old.end == lifetimes.endOf(op) && fresh.begin == lifetimes.beginOf(op);
    };
    if (interfere(target, source, mayMeet)) {
      separate("its value is read after this op");
      continue;
    }
    TILEWRIGHT_LOG(passName, op, "result ", pairs[i], " overwrites operand ", pairs[i + 1],
                   " in place");
    join(into, from);
  }
}

void BufferClasses::joinCopy(Operation *copy) {
  Value input = copy->getOperand(0), result = copy->getResult(0);
  unsigned from = idFor(input), into = idFor(result);
  const Class &source = classes[from], &target = classes[into];
  auto keep = [&](const char *why) {
    TILEWRIGHT_LOG(passName, copy, "copies ", source.bytes, " bytes: ", why);
  };
  if (from == into)
    return;
  if (source.storage == Storage::parameter || source.storage == Storage::constant ||
      target.storage == Storage::parameter)
    return keep("it copies from a parameter or a constant, or into a parameter");
  if (isPartOfRoot(input))
    return keep("it copies a part of another value");
  if (source.bytes != target.bytes)
    return keep("the two buffers have different sizes");
  if (source.storage != Storage::temporary && target.storage != Storage::temporary)
    return keep("the caller provides memory for both values");
  // After the copy, both values have the same content.
  auto mayMeet = [&](const Segment &original, const Segment &copied) {
    return original == lifetimes.of(input) && copied == lifetimes.of(result);
  };
  if (interfere(source, target, mayMeet))
    return keep("both values are needed at the same time");
  TILEWRIGHT_LOG(passName, copy, "is elided: both values share a buffer");
  join(into, from);
}

} // namespace tilewright::schedule
