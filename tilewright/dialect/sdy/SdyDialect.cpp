#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/sdy/VerifySharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tilewright::sdy;

#include "tilewright/dialect/sdy/SdyDialect.cpp.inc"

namespace {
/// Checks the shardings of a function's arguments and results. This is an interface because the
/// dialect's attribute hooks have no symbol table, and searching the module for the mesh of each
/// argument would be quadratic.
struct FunctionShardings : SymbolUserOpInterface::ExternalModel<FunctionShardings, func::FuncOp> {
  LogicalResult verifySymbolUses(Operation *op, SymbolTableCollection &symbols) const {
    auto function = cast<func::FuncOp>(op);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (failed(verify(function, function.getArgAttr(i, SdyDialect::shardingName),
                        function.getArgumentTypes()[i], "argument", i, symbols)))
        return failure();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (failed(verify(function, function.getResultAttr(i, SdyDialect::shardingName),
                        function.getResultTypes()[i], "result", i, symbols)))
        return failure();
    return success();
  }

private:
  static LogicalResult verify(func::FuncOp function, Attribute attr, Type type, StringRef kind,
                              unsigned index, SymbolTableCollection &symbols) {
    auto sharding = dyn_cast_or_null<TensorShardingAttr>(attr);
    if (!sharding)
      return success();
    return verifySharding(sharding, type, function, symbols, [&] {
      return function.emitOpError() << kind << " " << index << " sharding ";
    });
  }
};
} // namespace

void SdyDialect::initialize() {
  registerAttributes();
  registerOps();
  func::FuncOp::attachInterface<FunctionShardings>(*getContext());
}

/// Checks that a rule has a mapping of the right rank for each of `types`.
static LogicalResult verifyMappings(Operation *op, StringRef kind, TypeRange types,
                                    ArrayRef<TensorMappingAttr> mappings) {
  if (types.size() != mappings.size())
    return op->emitOpError() << "sharding rule must have one mapping for each " << kind << ", got "
                             << mappings.size() << " for " << types.size();
  for (auto [index, type, mapping] : llvm::enumerate(types, mappings)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return op->emitOpError() << "sharding rule requires ranked tensors, got " << kind << " "
                               << index << " of type " << type;
    if (static_cast<int64_t>(mapping.getDimMappings().size()) != tensor.getRank())
      return op->emitOpError() << "sharding rule must map each dimension of " << kind << " "
                               << index << ", got " << mapping.getDimMappings().size()
                               << " mappings for " << type;
  }
  return success();
}

LogicalResult SdyDialect::verifyOperationAttribute(Operation *op, NamedAttribute attr) {
  // TensorShardingPerValueAttr::verifySymbolUses checks the contents of the sharding, because it
  // has a symbol table.
  if (attr.getName() == shardingName && !isa<TensorShardingPerValueAttr>(attr.getValue()))
    return op->emitOpError() << "attribute 'sdy.sharding' must be a #sdy.sharding_per_value, got "
                             << attr.getValue();
  if (attr.getName() != shardingRuleName)
    return success();
  auto rule = dyn_cast<OpShardingRuleAttr>(attr.getValue());
  if (!rule)
    return op->emitOpError()
           << "attribute 'sdy.sharding_rule' must be a #sdy.op_sharding_rule, got "
           << attr.getValue();
  if (failed(verifyMappings(op, "operand", op->getOperandTypes(), rule.getOperandMappings())))
    return failure();
  return verifyMappings(op, "result", op->getResultTypes(), rule.getResultMappings());
}

/// Checks that `sdy.sharding` on an argument or result is a #sdy.sharding.
static LogicalResult verifyKind(Operation *op, StringRef kind, unsigned index,
                                NamedAttribute attr) {
  if (attr.getName() == SdyDialect::shardingName && !isa<TensorShardingAttr>(attr.getValue()))
    return op->emitOpError() << kind << " " << index
                             << " attribute 'sdy.sharding' must be a #sdy.sharding, got "
                             << attr.getValue();
  return success();
}

LogicalResult SdyDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index,
                                                   NamedAttribute attr) {
  return verifyKind(op, "argument", index, attr);
}

LogicalResult SdyDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                      NamedAttribute attr) {
  return verifyKind(op, "result", index, attr);
}
