// Verifiers of the sdy ops. They look up meshes by name, so they run when the module verifies its
// symbol uses, with a shared symbol table.
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/sdy/VerifySharding.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tilewright::sdy;

LogicalResult ShardingConstraintOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySharding(getSharding(), getType(), *this, symbols,
                        [&] { return emitOpError() << "sharding "; });
}

LogicalResult TensorShardingPerValueAttr::verifySymbolUses(Operation *op,
                                                           SymbolTableCollection &symbols) const {
  // An attribute with any other name does not describe the op's results.
  if (op->getDiscardableAttr(SdyDialect::shardingName) != *this)
    return success();
  return verifyShardings(*this, op->getResultTypes(), "result", op, symbols);
}

namespace {
/// Checks one side of a manual computation: the operands and the body's arguments, or the results
/// and the values that the body returns.
struct SideChecker {
  ManualComputationOp op;
  SymbolTableCollection &symbols;
  StringRef kind; // "operand" or "result"

  LogicalResult verify(TypeRange globalTypes, TypeRange localTypes,
                       TensorShardingPerValueAttr shardings);

private:
  bool isManual(AxisRefAttr axis) {
    return llvm::any_of(op.getManualAxes(),
                        [&](StringAttr manual) { return manual.getValue() == axis.getName(); });
  }
  LogicalResult verifyManualAxesFirst(size_t index, TensorShardingAttr sharding);
  FailureOr<Type> localTypeOf(size_t index, Type globalType, TensorShardingAttr sharding);
};
} // namespace

LogicalResult SideChecker::verify(TypeRange globalTypes, TypeRange localTypes,
                                  TensorShardingPerValueAttr shardings) {
  if (globalTypes.size() != localTypes.size())
    return op.emitOpError() << "must have the same number of " << kind << "s as its body, got "
                            << globalTypes.size() << " and " << localTypes.size();
  if (shardings.getShardings().size() != globalTypes.size())
    return op.emitOpError() << "must have one sharding for each " << kind << ", got "
                            << shardings.getShardings().size() << " shardings for "
                            << globalTypes.size() << " " << kind << "s";
  if (failed(verifyShardings(shardings, globalTypes, kind, op, symbols)))
    return failure();
  for (auto [index, globalType, localType, sharding] :
       llvm::enumerate(globalTypes, localTypes, shardings.getShardings())) {
    if (failed(verifyManualAxesFirst(index, sharding)))
      return failure();
    FailureOr<Type> expected = localTypeOf(index, globalType, sharding);
    if (failed(expected))
      return failure();
    if (*expected != localType)
      return op.emitOpError() << kind << " " << index << " of type " << globalType
                              << " has shards of type " << *expected << ", but the body uses "
                              << localType;
  }
  return success();
}

LogicalResult SideChecker::verifyManualAxesFirst(size_t index, TensorShardingAttr sharding) {
  for (auto [dim, dimSharding] : llvm::enumerate(sharding.getDimShardings())) {
    ArrayRef<AxisRefAttr> axes = dimSharding.getAxes();
    for (size_t i = 1; i < axes.size(); ++i)
      if (isManual(axes[i]) && !isManual(axes[i - 1]))
        return op.emitOpError() << kind << " " << index << " dimension " << dim
                                << " must list manual axes before free axes, got manual axis \""
                                << axes[i].getName() << "\" after free axis \""
                                << axes[i - 1].getName() << "\"";
  }
  return success();
}

/// The type of one device's shard: each dimension is divided by the sizes of its manual axes.
FailureOr<Type> SideChecker::localTypeOf(size_t index, Type globalType,
                                         TensorShardingAttr sharding) {
  auto tensor = dyn_cast<RankedTensorType>(globalType);
  MeshAttr mesh = lookupMesh(sharding, op, symbols);
  if (!tensor || mesh.isMaximal())
    return globalType;
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [dim, dimSharding] : llvm::enumerate(sharding.getDimShardings())) {
    int64_t pieces = 1; // divides the number of devices, so it fits
    for (AxisRefAttr axis : dimSharding.getAxes())
      if (isManual(axis))
        pieces *= axis.getSize(mesh);
    if (ShapedType::isDynamic(shape[dim]))
      continue;
    if (shape[dim] % pieces != 0)
      return op.emitOpError() << kind << " " << index << " dimension " << dim << " of size "
                              << shape[dim] << " must be divisible by the size of its manual axes, "
                              << pieces;
    shape[dim] /= pieces;
  }
  return Type(tensor.clone(shape));
}

/// Checks that all shardings use the same mesh (except shardings on an empty mesh), that this mesh
/// has the manual axes, and that no enclosing region has made these axes manual.
static LogicalResult verifyManualAxes(ManualComputationOp op, SymbolTableCollection &symbols) {
  ArrayRef<StringAttr> manualAxes = op.getManualAxes();
  if (manualAxes.empty())
    return success();
  MeshAttr common;
  for (auto shardings : {op.getInShardings(), op.getOutShardings()})
    for (TensorShardingAttr sharding : shardings.getShardings()) {
      MeshAttr mesh = lookupMesh(sharding, op, symbols);
      if (mesh.isEmpty())
        continue;
      if (common && mesh != common)
        return op.emitOpError() << "must have all shardings on the same mesh, got " << common
                                << " and " << mesh;
      common = mesh;
    }
  for (StringAttr axis : manualAxes) {
    if (common && !common.findAxis(axis.getValue()))
      return op.emitOpError() << "manual axis \"" << axis.getValue()
                              << "\" is not an axis of the mesh of the shardings, " << common;
    for (auto outer = op->getParentOfType<ManualComputationOp>(); outer;
         outer = outer->getParentOfType<ManualComputationOp>())
      if (llvm::is_contained(outer.getManualAxes(), axis)) {
        InFlightDiagnostic diag = op.emitOpError() << "manual axis \"" << axis.getValue()
                                                   << "\" is already manual in an enclosing region";
        diag.attachNote(outer.getLoc()) << "the axis is in this op's manual_axes";
        return diag;
      }
  }
  return success();
}

LogicalResult ManualComputationOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Block &body = getBody().front();
  if (failed(SideChecker{*this, symbols, "operand"}.verify(
          getOperandTypes(), body.getArgumentTypes(), getInShardings())) ||
      failed(SideChecker{*this, symbols, "result"}.verify(
          getResultTypes(), body.getTerminator()->getOperandTypes(), getOutShardings())))
    return failure();
  return verifyManualAxes(*this, symbols);
}
