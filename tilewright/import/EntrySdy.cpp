// Attributes of the sdy dialect: meshes and shardings.
#include "tilewright/import/EntryBuilder.h"

#include "tilewright/dialect/sdy/SdyDialect.h"

using namespace tilewright;
using namespace tilewright::bytecode;
using llvm::ArrayRef;

Result<mlir::Attribute> EntryBuilder::buildSdy(AttrId id) {
  const Attr &attr = entry(id);
  mlir::MLIRContext *context = &mlirContext;
  auto report = [this] { return emitError(); };
  // Pass arguments of exactly the declared types: with a conversion, overload resolution would
  // choose a template of the base class.
  llvm::function_ref<mlir::InFlightDiagnostic()> emit = report;
  // `numbers` returns the list of an attribute that has one list of numbers; `listed` returns one
  // of the lists of an attribute that has several.
  auto numbers = [&] { return ArrayRef<int64_t>(module.numbersIn(attr.list)); };
  auto listed = [&](size_t index) {
    return ArrayRef<int64_t>(module.numbersIn(module.listsIn(attr.list)[index]));
  };

  switch (attr.kind) {
  case AttrKind::sdyManualAxes: {
    TILEWRIGHT_ASSIGN(auto axes, attributesOf<mlir::StringAttr>(id, attr.list));
    return checked(sdy::ManualAxesAttr::getChecked(emit, context, ArrayRef(axes)), id);
  }
  case AttrKind::sdyMeshAxis:
    return checked(sdy::MeshAxisAttr::getChecked(
                       emit, context, llvm::StringRef(module.strings[attr.a]), numbers()[0]),
                   id);
  case AttrKind::sdyMesh: {
    TILEWRIGHT_ASSIGN(auto axes, attributesOf<sdy::MeshAxisAttr>(id, module.listsIn(attr.list)[0]));
    return checked(sdy::MeshAttr::getChecked(emit, context, ArrayRef(axes), listed(1)), id);
  }
  case AttrKind::sdySubAxisInfo:
    return checked(sdy::SubAxisInfoAttr::getChecked(emit, context, numbers()[0], numbers()[1]), id);
  case AttrKind::sdyAxisRef: {
    sdy::SubAxisInfoAttr piece;
    if (attr.b != absent) {
      TILEWRIGHT_ASSIGN(piece, attributeOf<sdy::SubAxisInfoAttr>(id, attr.b));
    }
    return sdy::AxisRefAttr::get(context, module.strings[attr.a], piece);
  }
  case AttrKind::sdyDimensionSharding: {
    TILEWRIGHT_ASSIGN(auto axes, attributesOf<sdy::AxisRefAttr>(id, attr.list));
    std::optional<int64_t> priority;
    if (attr.b != absent)
      priority = attr.b;
    return checked(sdy::DimensionShardingAttr::getChecked(emit, context, ArrayRef(axes),
                                                          attr.a == 1, priority),
                   id);
  }
  case AttrKind::sdyTensorSharding: {
    std::span<const Range> lists = module.listsIn(attr.list);
    TILEWRIGHT_ASSIGN(mlir::Attribute mesh, attribute(attr.a));
    TILEWRIGHT_ASSIGN(auto dims, attributesOf<sdy::DimensionShardingAttr>(id, lists[0]));
    TILEWRIGHT_ASSIGN(auto replicated, attributesOf<sdy::AxisRefAttr>(id, lists[1]));
    TILEWRIGHT_ASSIGN(auto unreduced, attributesOf<sdy::AxisRefAttr>(id, lists[2]));
    return checked(sdy::TensorShardingAttr::getChecked(emit, context, mesh, ArrayRef(dims),
                                                       ArrayRef(replicated), ArrayRef(unreduced),
                                                       sdy::Reduction(attr.b)),
                   id);
  }
  case AttrKind::sdyPerValueSharding: {
    TILEWRIGHT_ASSIGN(auto shardings, attributesOf<sdy::TensorShardingAttr>(id, attr.list));
    return sdy::TensorShardingPerValueAttr::get(context, shardings);
  }
  case AttrKind::sdyDimMapping:
    return checked(sdy::DimMappingAttr::getChecked(emit, context, numbers()), id);
  case AttrKind::sdyTensorMapping: {
    TILEWRIGHT_ASSIGN(auto dims, attributesOf<sdy::DimMappingAttr>(id, attr.list));
    return sdy::TensorMappingAttr::get(context, dims);
  }
  case AttrKind::sdyShardingRule: {
    std::span<const Range> lists = module.listsIn(attr.list);
    TILEWRIGHT_ASSIGN(auto operands, attributesOf<sdy::TensorMappingAttr>(id, lists[1]));
    TILEWRIGHT_ASSIGN(auto results, attributesOf<sdy::TensorMappingAttr>(id, lists[2]));
    return checked(sdy::OpShardingRuleAttr::getChecked(emit, context, listed(0), ArrayRef(operands),
                                                       ArrayRef(results), listed(3), listed(4),
                                                       listed(5), listed(6), attr.a == 1),
                   id);
  }
  case AttrKind::sdyAxisRefList: {
    TILEWRIGHT_ASSIGN(auto axes, attributesOf<sdy::AxisRefAttr>(id, attr.list));
    return sdy::AxisRefListAttr::get(context, axes);
  }
  case AttrKind::sdyListOfAxisRefLists: {
    TILEWRIGHT_ASSIGN(auto lists, attributesOf<sdy::AxisRefListAttr>(id, attr.list));
    return sdy::ListOfAxisRefListsAttr::get(context, lists);
  }
  case AttrKind::sdyAllToAllParam: {
    TILEWRIGHT_ASSIGN(auto axes, attributesOf<sdy::AxisRefAttr>(id, module.listsIn(attr.list)[0]));
    return checked(sdy::AllToAllParamAttr::getChecked(emit, context, ArrayRef(axes), listed(1)[0],
                                                      listed(1)[1]),
                   id);
  }
  case AttrKind::sdyAllToAllParamList: {
    TILEWRIGHT_ASSIGN(auto moves, attributesOf<sdy::AllToAllParamAttr>(id, attr.list));
    return sdy::AllToAllParamListAttr::get(context, moves);
  }
  default:
    return invalidAttribute(id, "unknown attribute kind");
  }
}
