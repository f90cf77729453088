// Checks that the symbols that ops refer to exist. The module's verifier calls these functions with
// its symbol table.
#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tilewright::stablehlo {

LogicalResult CompositeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FlatSymbolRefAttr symbol = getDecompositionAttr();
  auto function = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, symbol);
  if (!function) // composite_c2
    return emitOpError() << "decomposition must be a function of this module, got " << symbol;
  if (!typesAgree(getOperandTypes(), function.getArgumentTypes())) // composite_c3
    return emitOpError() << "inputs must have the types that the decomposition takes, ("
                         << function.getArgumentTypes() << "), got (" << getOperandTypes() << ")";
  if (!typesAgree(getResultTypes(), function.getResultTypes())) // composite_c4
    return emitOpError() << "results must have the types that the decomposition returns, ("
                         << function.getResultTypes() << "), got (" << getResultTypes() << ")";
  return success();
}

// A custom call's called_computations need not exist: the published compatibility artifacts name
// some that do not. The implementation of the call looks them up.

/// Checks that the mesh of `groups`, if named by symbol, exists.
static LogicalResult verifyMeshSymbol(Operation *op, Attribute groups,
                                      SymbolTableCollection &symbols) {
  auto meshAxes = dyn_cast<ReplicaGroupMeshAxesAttr>(groups);
  if (!meshAxes)
    return success();
  auto symbol = dyn_cast<FlatSymbolRefAttr>(meshAxes.getMesh());
  if (!symbol || symbols.lookupNearestSymbolFrom(op, symbol))
    return success();
  return op->emitOpError() << "replica_groups must refer to a mesh of this module, got " << symbol;
}

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyMeshSymbol(*this, getReplicaGroups(), symbols);
}
LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyMeshSymbol(*this, getReplicaGroups(), symbols);
}
LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyMeshSymbol(*this, getReplicaGroups(), symbols);
}
LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyMeshSymbol(*this, getReplicaGroups(), symbols);
}
LogicalResult CollectiveBroadcastOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyMeshSymbol(*this, getReplicaGroups(), symbols);
}
LogicalResult CollectiveReduceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyMeshSymbol(*this, getReplicaGroups(), symbols);
}

/// A custom call that declares side effects or takes buffers may read and write anything, and a
/// collective must stay where all ranks execute it; any other has no effects.
void CustomCallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  bool usesBuffers = llvm::any_of(getOperandTypes(), llvm::IsaPred<MemRefType>) ||
                     llvm::any_of(getResultTypes(), llvm::IsaPred<MemRefType>);
  if (!getHasSideEffect() && !usesBuffers && !isRaggedAllToAll(*this))
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

} // namespace tilewright::stablehlo
