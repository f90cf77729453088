// Symbols that ops name must exist: checked by the module's verifier, which
// knows the whole symbol table.
#include "tilewright/dialect/stablehlo/CallOps.h"
#include "tilewright/dialect/stablehlo/CollectiveOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tilewright::stablehlo {

/// Finds the function that `op` names as its `role`, or says that there is none.
static func::FuncOp lookupFunction(Operation *op, FlatSymbolRefAttr symbol, StringRef role,
                                   SymbolTableCollection &symbols) {
  auto function = symbols.lookupNearestSymbolFrom<func::FuncOp>(op, symbol);
  if (!function)
    op->emitOpError() << role << " must be a function of this module, got " << symbol;
  return function;
}

LogicalResult CompositeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(lookupFunction(*this, getDecompositionAttr(), "decomposition", symbols));
}

LogicalResult CustomCallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  ArrayAttr called = getCalledComputationsAttr();
  if (!called)
    return success();
  for (auto symbol : called.getAsRange<FlatSymbolRefAttr>())
    if (!lookupFunction(*this, symbol, "called computation", symbols))
      return failure();
  return success();
}

/// The mesh behind `groups`, if it is named by symbol, exists.
static LogicalResult verifyMeshSymbol(Operation *op, Attribute groups,
                                      SymbolTableCollection &symbols) {
  auto meshAxes = dyn_cast<ReplicaGroupMeshAxesAttr>(groups);
  if (!meshAxes)
    return success();
  auto symbol = dyn_cast<FlatSymbolRefAttr>(meshAxes.getMesh());
  if (!symbol || symbols.lookupNearestSymbolFrom(op, symbol))
    return success();
  return op->emitOpError() << "replica_groups must name a mesh of this module, got " << symbol;
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

/// A custom call says itself whether it has effects; then they are anything.
void CustomCallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  bool usesBuffers = llvm::any_of(getOperandTypes(), llvm::IsaPred<MemRefType>) ||
                     llvm::any_of(getResultTypes(), llvm::IsaPred<MemRefType>);
  if (!getHasSideEffect() && !usesBuffers)
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

} // namespace tilewright::stablehlo
