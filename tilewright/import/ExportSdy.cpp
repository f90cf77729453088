// Attributes of the sdy dialect: meshes and shardings.
#include "tilewright/import/ExportEntries.h"

#include "tilewright/dialect/sdy/SdyDialect.h"

namespace tilewright {

using bytecode::absent;
using bytecode::AttrId;
using bytecode::AttrKind;
using bytecode::Range;

Result<AttrId> ExportEntries::addSdy(mlir::Attribute attribute) {
  using namespace sdy;
  TILEWRIGHT_TRY(need({1, 11}, "the sdy dialect"));
  auto each = [&](const auto &attributes) -> Result<Range> {
    llvm::SmallVector<AttrId> ids;
    for (mlir::Attribute one : attributes) {
      TILEWRIGHT_ASSIGN(AttrId id, builtin(one));
      ids.push_back(id);
    }
    return pool(tables.attrLists, ids);
  };
  // Exports an attribute that is only a list of other attributes.
  auto listed = [&](AttrKind kind, const auto &attributes) -> Result<AttrId> {
    TILEWRIGHT_ASSIGN(Range range, each(attributes));
    return add(kind, absent, absent, range);
  };

  if (auto axes = llvm::dyn_cast<ManualAxesAttr>(attribute))
    return listed(AttrKind::sdyManualAxes, axes.getValue());
  if (auto axis = llvm::dyn_cast<MeshAxisAttr>(attribute))
    return add(AttrKind::sdyMeshAxis, text(axis.getName()), absent, numbers({axis.getSize()}));
  if (auto mesh = llvm::dyn_cast<MeshAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(Range axes, each(mesh.getAxes()));
    Range parts[] = {axes, numbers(mesh.getDeviceIds())};
    return add(AttrKind::sdyMesh, absent, absent, lists(parts));
  }
  if (auto piece = llvm::dyn_cast<SubAxisInfoAttr>(attribute))
    return add(AttrKind::sdySubAxisInfo, absent, absent,
               numbers({piece.getPreSize(), piece.getSize()}));
  if (auto axis = llvm::dyn_cast<AxisRefAttr>(attribute)) {
    AttrId piece = absent;
    if (axis.getSubAxisInfo()) {
      TILEWRIGHT_ASSIGN(piece, builtin(axis.getSubAxisInfo()));
    }
    return add(AttrKind::sdyAxisRef, text(axis.getName()), piece);
  }
  if (auto dim = llvm::dyn_cast<DimensionShardingAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(Range axes, each(dim.getAxes()));
    uint32_t priority = dim.getPriority() ? static_cast<uint32_t>(*dim.getPriority()) : absent;
    return add(AttrKind::sdyDimensionSharding, dim.getIsClosed(), priority, axes);
  }
  if (auto sharding = llvm::dyn_cast<TensorShardingAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(AttrId mesh, builtin(sharding.getMeshOrRef()));
    TILEWRIGHT_ASSIGN(Range dims, each(sharding.getDimShardings()));
    TILEWRIGHT_ASSIGN(Range replicated, each(sharding.getReplicatedAxes()));
    TILEWRIGHT_ASSIGN(Range unreduced, each(sharding.getUnreducedAxes()));
    Range parts[] = {dims, replicated, unreduced};
    return add(AttrKind::sdyTensorSharding, mesh, static_cast<uint32_t>(sharding.getReduction()),
               lists(parts));
  }
  if (auto shardings = llvm::dyn_cast<TensorShardingPerValueAttr>(attribute))
    return listed(AttrKind::sdyPerValueSharding, shardings.getShardings());
  if (auto mapping = llvm::dyn_cast<DimMappingAttr>(attribute))
    return add(AttrKind::sdyDimMapping, absent, absent, numbers(mapping.getFactorIndices()));
  if (auto mapping = llvm::dyn_cast<TensorMappingAttr>(attribute))
    return listed(AttrKind::sdyTensorMapping, mapping.getDimMappings());
  if (auto rule = llvm::dyn_cast<OpShardingRuleAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(Range operands, each(rule.getOperandMappings()));
    TILEWRIGHT_ASSIGN(Range results, each(rule.getResultMappings()));
    Range parts[] = {numbers(rule.getFactorSizes()),
                     operands,
                     results,
                     numbers(rule.getReductionFactors()),
                     numbers(rule.getNeedReplicationFactors()),
                     numbers(rule.getPermutationFactors()),
                     numbers(rule.getBlockedPropagationFactors())};
    return add(AttrKind::sdyShardingRule, rule.getIsCustomRule(), absent, lists(parts));
  }
  if (auto axes = llvm::dyn_cast<AxisRefListAttr>(attribute))
    return listed(AttrKind::sdyAxisRefList, axes.getValue());
  if (auto axes = llvm::dyn_cast<ListOfAxisRefListsAttr>(attribute))
    return listed(AttrKind::sdyListOfAxisRefLists, axes.getValue());
  if (auto move = llvm::dyn_cast<AllToAllParamAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(Range axes, each(move.getAxes()));
    Range parts[] = {axes, numbers({move.getSrcDim(), move.getTgtDim()})};
    return add(AttrKind::sdyAllToAllParam, absent, absent, lists(parts));
  }
  if (auto moves = llvm::dyn_cast<AllToAllParamListAttr>(attribute))
    return listed(AttrKind::sdyAllToAllParamList, moves.getValue());
  return unsupported("this attribute of the sdy dialect");
}

} // namespace tilewright
