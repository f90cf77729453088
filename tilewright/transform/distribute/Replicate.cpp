#include "tilewright/transform/distribute/Replicate.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/transform/distribute/Pieces.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tilewright::distribute {
namespace {

/// All axes of the mesh, because nothing around a parameter is per device already.
Result<Cut> cutOfAttribute(Pieces &pieces, DictionaryAttr attributes) {
  auto sharding = attributes ? attributes.getAs<sdy::TensorShardingAttr>("sdy.sharding") : nullptr;
  if (!sharding)
    return Cut();
  return pieces.cutOf(sharding, std::nullopt);
}

/// Cuts the operands, runs the body in place of the op, gathers its results.
Status inlineManual(sdy::ManualComputationOp op, Pieces &pieces) {
  OpBuilder builder(op);
  Block &body = op.getBody().front();
  auto names = llvm::to_vector(op.getManualAxes());
  for (auto [operand, sharding, argument] :
       llvm::zip_equal(op.getTensors(), op.getInShardings().getShardings(), body.getArguments())) {
    TILEWRIGHT_ASSIGN(Cut cut, pieces.cutOf(sharding, names));
    TILEWRIGHT_ASSIGN(Value piece, pieces.take(builder, op.getLoc(), operand, cut));
    argument.replaceAllUsesWith(piece);
  }
  Operation *terminator = body.getTerminator();
  SmallVector<Value> results(terminator->getOperands());
  terminator->erase();
  op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
  builder.setInsertionPoint(op);
  for (auto [result, sharding, value] :
       llvm::zip_equal(op.getResults(), op.getOutShardings().getShardings(), results)) {
    TILEWRIGHT_ASSIGN(Cut cut, pieces.cutOf(sharding, names));
    TILEWRIGHT_ASSIGN(Value whole, pieces.join(builder, op.getLoc(), value, cut));
    result.replaceAllUsesWith(whole);
  }
  op.erase();
  return Status();
}

Status divideSignature(func::FuncOp main, Pieces &pieces) {
  OpBuilder builder = OpBuilder::atBlockBegin(&main.front());
  SmallVector<Type> parameterTypes, resultTypes;
  for (BlockArgument argument : main.getArguments()) {
    unsigned number = argument.getArgNumber();
    TILEWRIGHT_ASSIGN(Cut cut, cutOfAttribute(pieces, main.getArgAttrDict(number)));
    if (cut.isWhole()) {
      parameterTypes.push_back(argument.getType());
      continue;
    }
    Type whole = argument.getType();
    TILEWRIGHT_ASSIGN(Type piece, pieces.pieceType(whole, cut));
    argument.setType(piece);
    parameterTypes.push_back(piece);
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : argument.getUses())
      uses.push_back(&use);
    TILEWRIGHT_ASSIGN(Value joined, pieces.join(builder, argument.getLoc(), argument, cut));
    for (OpOperand *use : uses)
      use->set(joined);
    main.setArgAttr(number, "exec.sharding", builder.getStringAttr(pieces.opSharding(cut)));
  }

  Operation *terminator = main.front().getTerminator();
  builder.setInsertionPoint(terminator);
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    TILEWRIGHT_ASSIGN(Cut cut, cutOfAttribute(pieces, main.getResultAttrDict(number)));
    if (!cut.isWhole()) {
      TILEWRIGHT_ASSIGN(Value piece,
                        pieces.take(builder, terminator->getLoc(), operand.get(), cut));
      operand.set(piece);
      main.setResultAttr(number, "exec.sharding", builder.getStringAttr(pieces.opSharding(cut)));
    }
    resultTypes.push_back(operand.get().getType());
  }
  main.setType(builder.getFunctionType(parameterTypes, resultTypes));
  return Status();
}

} // namespace

Status replicate(ModuleOp module, int64_t partitions) {
  if (partitions <= 1)
    return Status();
  Pieces pieces(module, partitions);
  // Inner regions last: an outer one cuts the tensors that they see.
  SmallVector<sdy::ManualComputationOp> regions;
  module.walk<WalkOrder::PreOrder>([&](sdy::ManualComputationOp op) { regions.push_back(op); });
  for (sdy::ManualComputationOp op : regions)
    TILEWRIGHT_TRY(inlineManual(op, pieces));
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    TILEWRIGHT_TRY(divideSignature(main, pieces));
  return Status();
}

} // namespace tilewright::distribute
