#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/exec/LibraryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/schedule/BufferClasses.h"
#include "tilewright/transform/schedule/Passes.h"

using namespace mlir;

namespace tilewright::schedule {

#define GEN_PASS_DEF_INSERTCOPIESPASS
#include "tilewright/transform/schedule/Passes.h.inc"

static Value copyBefore(Operation *op, Value value) {
  OpBuilder builder(op);
  return exec::CopyOp::create(builder, value.getLoc(), value.getType(), value);
}

namespace {

/// Copies every operand of an op to its own destination, as if all copies happened simultaneously.
/// A destination may already hold a value (the loop value to be overwritten, the parameter that a
/// result claims). If another operand is read from that value, that operand is copied first. If the
/// copies form a cycle (a swap), one of them goes through a temporary.
class ParallelCopy {
public:
  /// `held[i]` is the value in the destination of operand `i` before the copies, or null.
  ParallelCopy(Operation *op, ArrayRef<Value> held) : op(op), held(held) {
    for (auto [i, value] : llvm::enumerate(held))
      if (value)
        destinationOf[value] = i;
    for (unsigned i = 0; i < held.size(); ++i)
      if (std::optional<unsigned> destination = destinationReadBy(i))
        ++readers[*destination];
  }

  void emit() {
    isDone.assign(held.size(), false);
    for (unsigned i = 0; i < held.size(); ++i)
      emitChainFrom(i);
    // The remaining copies form cycles: exactly one other copy reads each destination.
    for (unsigned i = 0; i < held.size(); ++i) {
      if (isDone[i])
        continue;
      unsigned destination = *destinationReadBy(i);
      TILEWRIGHT_LOG("schedule-insert-copies", op, "operand ", i,
                     " is copied through a temporary: the copies of the operands form a cycle");
      op->setOperand(i, copyBefore(op, op->getOperand(i)));
      --readers[destination];
      emitChainFrom(destination);
    }
  }

private:
  /// If operand `i` is read from the destination of another operand, the number of that operand.
  std::optional<unsigned> destinationReadBy(unsigned i) const {
    auto found = destinationOf.find(rootOf(op->getOperand(i)));
    if (found == destinationOf.end() || found->second == i)
      return std::nullopt;
    return found->second;
  }

  /// Emits copy `i` if no pending copy reads its destination, and then the copies that were waiting
  /// for it.
  void emitChainFrom(unsigned i) {
    while (!isDone[i] && readers.lookup(i) == 0) {
      isDone[i] = true;
      std::optional<unsigned> destination = destinationReadBy(i);
      op->setOperand(i, copyBefore(op, op->getOperand(i)));
      if (!destination)
        return;
      --readers[*destination];
      i = *destination;
    }
  }

  Operation *op;
  ArrayRef<Value> held;
  llvm::DenseMap<Value, unsigned> destinationOf;
  llvm::DenseMap<unsigned, unsigned> readers; // number of pending copies that read a destination
  SmallVector<bool> isDone;
};

} // namespace

static void copyOperands(Operation *op) {
  SmallVector<Value> held(op->getNumOperands());
  ParallelCopy(op, held).emit();
}

static void copyIntoLoop(stablehlo::WhileOp loop) {
  copyOperands(loop);
  Block &body = loop.getBody().front();
  SmallVector<Value> held(body.args_begin(), body.args_end());
  ParallelCopy(body.getTerminator(), held).emit();
}

static void copyIntoResults(func::FuncOp function, Operation *ret) {
  SmallVector<Value> held(ret->getNumOperands());
  for (unsigned i = 0; i < held.size(); ++i)
    if (std::optional<unsigned> parameter = claimedParameter(function, i))
      held[i] = function.getArgument(*parameter);
  ParallelCopy(ret, held).emit();
}

/// Copies each input that a custom call, or a launch that works in place, aliases with a result, so
/// that the two can always share a buffer. The handler or kernel relies on that: it may write only
/// a part of the result. A handler may also compare addresses.
static void copyAliasedInputs(Operation *call) {
  ArrayRef<int64_t> pairs = exec::aliasesOf(call);
  for (size_t i = 1; i < pairs.size(); i += 2) {
    TILEWRIGHT_LOG("schedule-insert-copies", call, "operand ", pairs[i], " is copied: result ",
                   pairs[i - 1], " is written to its memory");
    call->setOperand(pairs[i], copyBefore(call, call->getOperand(pairs[i])));
  }
}

namespace {

struct InsertCopies : impl::InsertCopiesPassBase<InsertCopies> {
  void runOnOperation() override {
    // Private functions are bodies of library calls; they have no plan.
    func::FuncOp function = getOperation();
    if (function.isPrivate())
      return;
    function.walk([&](Operation *op) {
      if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
        copyIntoLoop(loop);
      else if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
        for (Region &region : op->getRegions())
          copyOperands(region.front().getTerminator());
      else if (exec::mustAlias(op))
        copyAliasedInputs(op);
      else if (isa<func::ReturnOp>(op))
        copyIntoResults(function, op);
    });
  }
};

} // namespace
} // namespace tilewright::schedule
