// schedule-verify: simulates a plan and checks the memory contents at each read.
#include "tilewright/dialect/exec/LibraryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/support/Errors.h"
#include "tilewright/transform/schedule/BufferClasses.h"
#include "tilewright/transform/schedule/Contents.h"
#include "tilewright/transform/schedule/Passes.h"

using namespace mlir;

namespace tilewright::schedule {

#define GEN_PASS_DEF_VERIFYPLANPASS
#include "tilewright/transform/schedule/Passes.h.inc"

namespace {

/// Checks one function. Two values have the same content if one is a copy or a view of the other.
class PlanVerifier {
public:
  explicit PlanVerifier(func::FuncOp function) : function(function) {}
  LogicalResult run();

private:
  /// Fails unless every value that the host's plan computes has a slice of an allocation.
  LogicalResult checkSlices();
  LogicalResult runBlock(Block &block);
  LogicalResult runOp(Operation &op);
  LogicalResult runCopy(exec::CopyOp copy);
  LogicalResult runLoop(stablehlo::WhileOp loop);
  LogicalResult runBranch(Operation &op);
  LogicalResult runStep(Operation &op);

  /// Fails unless the memory of `value` still holds it when `reader` reads it.
  LogicalResult read(Operation *reader, Value value);
  /// Like read(), and also fails unless `value` is in the memory of `target`.
  LogicalResult readAt(Operation *reader, Value value, Value target);
  LogicalResult write(Operation *writer, Value value);
  /// Invalidates all memory that ops inside `op` may overwrite.
  void forgetWritten(Operation *op);

  const void *contentOf(Value value);
  MemoryRange rangeOf(Value value) const;
  MemoryRange canonical(exec::SliceAttr slice) const;
  InFlightDiagnostic complain(Operation *op) const;

  func::FuncOp function;
  Contents memory;
  llvm::DenseMap<Value, const void *> contents;
  SmallVector<int64_t> allocationOf; // for a result that claims a parameter, the parameter's
  SmallVector<bool> isReadOnly;
};

} // namespace

InFlightDiagnostic PlanVerifier::complain(Operation *op) const {
  return op->emitError() << idOf(Error::planOverwritten) << " schedule: '" << op->getName() << "' ";
}

MemoryRange PlanVerifier::canonical(exec::SliceAttr slice) const {
  return {allocationOf[slice.getAllocation()], slice.getOffset(), slice.getBytes()};
}

MemoryRange PlanVerifier::rangeOf(Value value) const {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto slices = result.getOwner()->getAttrOfType<ArrayAttr>(exec::ExecDialect::slicesAttr);
    return canonical(cast<exec::SliceAttr>(slices[result.getResultNumber()]));
  }
  auto argument = cast<BlockArgument>(value);
  Region *region = argument.getOwner()->getParent();
  auto regions =
      region->getParentOp()->getAttrOfType<ArrayAttr>(exec::ExecDialect::argumentSlicesAttr);
  return canonical(cast<exec::SliceAttr>(
      cast<ArrayAttr>(regions[region->getRegionNumber()])[argument.getArgNumber()]));
}

const void *PlanVerifier::contentOf(Value value) {
  auto known = contents.find(value);
  return known == contents.end() ? value.getAsOpaquePointer() : known->second;
}

LogicalResult PlanVerifier::read(Operation *reader, Value value) {
  // A part is intact if the whole is.
  if (isPartOfRoot(value))
    value = rootOf(value);
  MemoryRange range = rangeOf(value);
  if (range.bytes == 0 || memory.holds(range, contentOf(value)))
    return success();
  return complain(reader) << "reads " << range.bytes << " bytes at offset " << range.offset
                          << " of allocation " << range.allocation
                          << ", which no longer hold its operand; this is a compiler bug";
}

LogicalResult PlanVerifier::readAt(Operation *reader, Value value, Value target) {
  if (rangeOf(value) != rangeOf(target))
    return complain(reader) << "passes on a value that is not in the memory of its destination";
  return read(reader, value);
}

LogicalResult PlanVerifier::write(Operation *writer, Value value) {
  MemoryRange range = rangeOf(value);
  if (range.bytes > 0 && isReadOnly[range.allocation])
    return complain(writer) << "writes into allocation " << range.allocation
                            << ", which is a constant or a parameter that was not donated";
  memory.write(range, contentOf(value));
  return success();
}

void PlanVerifier::forgetWritten(Operation *op) {
  op->walk([&](Operation *inner) {
    if (inner == op || !inner->hasAttr(exec::ExecDialect::slicesAttr) || isAlias(inner) ||
        isa<stablehlo::ConstantOp, stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(inner))
      return;
    // A copy onto itself writes nothing.
    if (isa<exec::CopyOp>(inner) && rangeOf(inner->getOperand(0)) == rangeOf(inner->getResult(0)))
      return;
    for (Value result : inner->getResults())
      memory.forget(rangeOf(result));
  });
}

LogicalResult PlanVerifier::runCopy(exec::CopyOp copy) {
  MemoryRange from = rangeOf(copy.getInput()), to = rangeOf(copy.getResult());
  if (failed(read(copy, copy.getInput())))
    return failure();
  contents[copy.getResult()] = contentOf(copy.getInput());
  if (from == to)
    return success();
  if (from.overlaps(to))
    return complain(copy) << "copies between memory ranges that overlap";
  return write(copy, copy.getResult());
}

LogicalResult PlanVerifier::runLoop(stablehlo::WhileOp loop) {
  Block &condition = loop.getCond().front(), &body = loop.getBody().front();
  for (auto [operand, result] : llvm::zip(loop.getOperand(), loop.getResults()))
    if (failed(readAt(loop, operand, result)))
      return failure();
  // The body is simulated once, so first invalidate all memory that a previous iteration may have
  // overwritten.
  forgetWritten(loop);
  auto begin = [&](Block &block) {
    for (BlockArgument argument : block.getArguments())
      memory.write(rangeOf(argument), contentOf(argument));
  };
  begin(condition);
  if (failed(runBlock(condition)) ||
      failed(read(condition.getTerminator(), condition.getTerminator()->getOperand(0))))
    return failure();
  for (auto [argument, result] : llvm::zip(condition.getArguments(), loop.getResults()))
    if (failed(readAt(condition.getTerminator(), argument, result)))
      return failure();
  size_t afterCondition = memory.mark();
  begin(body);
  if (failed(runBlock(body)))
    return failure();
  for (auto [yielded, argument] :
       llvm::zip(body.getTerminator()->getOperands(), body.getArguments()))
    if (failed(readAt(body.getTerminator(), yielded, argument)))
      return failure();
  memory.rollBack(afterCondition);
  for (Value result : loop.getResults())
    if (failed(write(loop, result)))
      return failure();
  return success();
}

LogicalResult PlanVerifier::runBranch(Operation &op) {
  if (failed(read(&op, op.getOperand(0))))
    return failure();
  size_t before = memory.mark();
  for (Region &region : op.getRegions()) {
    Operation *yield = region.front().getTerminator();
    if (failed(runBlock(region.front())))
      return failure();
    for (auto [yielded, result] : llvm::zip(yield->getOperands(), op.getResults()))
      if (failed(readAt(yield, yielded, result)))
        return failure();
    memory.rollBack(before);
  }
  forgetWritten(&op);
  for (Value result : op.getResults())
    if (failed(write(&op, result)))
      return failure();
  return success();
}

/// Whether the op declares that it may write result `result` over operand `operand`.
static bool mayWorkInPlace(Operation &op, unsigned result, unsigned operand) {
  ArrayRef<int64_t> pairs = exec::aliasesOf(&op);
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i] == result && pairs[i + 1] == operand)
      return true;
  return false;
}

LogicalResult PlanVerifier::runStep(Operation &op) {
  for (Value operand : op.getOperands())
    if (failed(read(&op, operand)))
      return failure();
  for (OpResult result : op.getResults()) {
    MemoryRange range = rangeOf(result);
    for (OpOperand &operand : op.getOpOperands())
      if (MemoryRange given = rangeOf(operand.get());
          range.overlaps(given) && (range != given || !mayWorkInPlace(op, result.getResultNumber(),
                                                                      operand.getOperandNumber())))
        return complain(&op) << "writes result " << result.getResultNumber() << " over operand "
                             << operand.getOperandNumber() << ", which it also reads";
    for (OpOperand &operand : op.getOpOperands())
      if (exec::mustAlias(&op) && range != rangeOf(operand.get()) &&
          mayWorkInPlace(op, result.getResultNumber(), operand.getOperandNumber()))
        return complain(&op) << "must write result " << result.getResultNumber() << " over operand "
                             << operand.getOperandNumber()
                             << ", but they are in different memory; this is a compiler bug";
    for (OpResult other : op.getResults().take_front(result.getResultNumber()))
      if (range.overlaps(rangeOf(other)))
        return complain(&op) << "writes results " << other.getResultNumber() << " and "
                             << result.getResultNumber() << " into the same memory";
  }
  for (Value result : op.getResults())
    if (failed(write(&op, result)))
      return failure();
  return success();
}

LogicalResult PlanVerifier::runOp(Operation &op) {
  if (auto copy = dyn_cast<exec::CopyOp>(op))
    return runCopy(copy);
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    return runLoop(loop);
  if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
    return runBranch(op);
  if (isa<stablehlo::ConstantOp>(op))
    return success(); // written before the program begins
  if (!isAlias(&op))
    return runStep(op);
  for (auto [result, operand] : llvm::zip(op.getResults(), op.getOperands())) {
    MemoryRange wanted = rangeOf(operand);
    if (std::optional<int64_t> begin = viewOffsetOf(&op)) {
      wanted.offset += *begin;
      wanted.bytes = bytesOf(result.getType());
    }
    if (!isPartOfRoot(result))
      contents[result] = contentOf(operand);
    if (rangeOf(result) != wanted)
      return complain(&op) << "is an alias, but its result is not in the memory of its operand";
  }
  if (!isa<exec::CollectiveDoneOp>(op))
    return success();
  // The collective may read its inputs and write its results until this op, so both must still be
  // intact.
  for (Value operand : op.getOperands()) {
    if (failed(read(&op, operand)))
      return failure();
    if (Operation *start = operand.getDefiningOp())
      for (Value input : start->getOperands())
        if (failed(read(&op, input)))
          return failure();
  }
  return success();
}

LogicalResult PlanVerifier::runBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(runOp(op)))
      return failure();
  return success();
}

/// Whether each of `count` entries is a slice of one of `allocations`.
static bool areSlices(Attribute entries, size_t count, size_t allocations) {
  auto array = dyn_cast_or_null<ArrayAttr>(entries);
  return array && array.size() == count && llvm::all_of(array, [&](Attribute entry) {
           auto slice = dyn_cast<exec::SliceAttr>(entry);
           return slice && slice.getAllocation() >= 0 &&
                  static_cast<size_t>(slice.getAllocation()) < allocations;
         });
}

LogicalResult PlanVerifier::checkSlices() {
  const size_t allocations =
      function->getAttrOfType<ArrayAttr>(exec::ExecDialect::allocationsAttr).size();
  auto result = function->walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
    if (op->getNumResults() > 0 &&
        !areSlices(op->getAttr(exec::ExecDialect::slicesAttr), op->getNumResults(), allocations))
      return complain(op) << "needs a slice of an allocation for each of its "
                          << op->getNumResults() << " results; this is a compiler bug";
    // The bodies of other ops have no memory.
    if (!isa<func::FuncOp, stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op))
      return WalkResult::skip();
    auto regions = op->getAttrOfType<ArrayAttr>(exec::ExecDialect::argumentSlicesAttr);
    for (Region &region : op->getRegions())
      if (const unsigned count = region.getNumArguments();
          count > 0 && (!regions || regions.size() != op->getNumRegions() ||
                        !areSlices(regions[region.getRegionNumber()], count, allocations)))
        return complain(op) << "needs a slice of an allocation for each of the " << count
                            << " arguments of region " << region.getRegionNumber()
                            << "; this is a compiler bug";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult PlanVerifier::run() {
  if (failed(checkSlices()))
    return failure();
  auto allocations = function->getAttrOfType<ArrayAttr>(exec::ExecDialect::allocationsAttr);
  SmallVector<int64_t> parameters(function.getNumArguments(), -1);
  SmallVector<int64_t> results(function.getNumResults(), -1);
  for (auto [i, attribute] : llvm::enumerate(allocations)) {
    auto allocation = cast<exec::AllocationAttr>(attribute);
    allocationOf.push_back(static_cast<int64_t>(i));
    isReadOnly.push_back(allocation.getStorage() == "parameter" ||
                         allocation.getStorage() == "constant");
    if (allocation.getStorage() == "parameter")
      parameters[allocation.getIndex()] = static_cast<int64_t>(i);
    else if (allocation.getStorage() == "result")
      results[allocation.getIndex()] = static_cast<int64_t>(i);
  }
  for (unsigned i = 0; i < results.size(); ++i)
    if (std::optional<unsigned> claimed = claimedParameter(function, i)) {
      allocationOf[results[i]] = parameters[*claimed];
      isReadOnly[parameters[*claimed]] = false;
    }
  for (BlockArgument argument : function.getArguments())
    memory.write(rangeOf(argument), contentOf(argument));
  function.walk([&](stablehlo::ConstantOp constant) {
    // Constants in kernel bodies have no memory.
    if (!constant->hasAttr(exec::ExecDialect::slicesAttr))
      return;
    contents[constant.getResult()] = constant.getValue().getAsOpaquePointer();
    memory.write(rangeOf(constant.getResult()), contentOf(constant.getResult()));
  });
  Block &block = function.getBody().front();
  if (failed(runBlock(block)))
    return failure();
  for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
    MemoryRange range = rangeOf(operand.get());
    if (range.bytes > 0 && (range.allocation != allocationOf[results[operand.getOperandNumber()]] ||
                            range.offset != 0))
      return complain(block.getTerminator()) << "returns result " << operand.getOperandNumber()
                                             << " in memory that does not belong to that result";
    if (failed(read(block.getTerminator(), operand.get())))
      return failure();
  }
  return success();
}

namespace {

struct VerifyPlan : impl::VerifyPlanPassBase<VerifyPlan> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    func::FuncOp function = getOperation();
    // Bodies of kernels and scalar functions have no plan.
    if (function.isPrivate() || function.isExternal())
      return;
    if (!function->hasAttr(exec::ExecDialect::allocationsAttr)) {
      function.emitError() << idOf(Error::planOverwritten) << " schedule: function @"
                           << function.getSymName() << " has no "
                           << exec::ExecDialect::allocationsAttr << "; this is a compiler bug";
      return signalPassFailure();
    }
    if (failed(PlanVerifier(function).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace tilewright::schedule
