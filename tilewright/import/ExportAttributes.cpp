// Exports attributes and locations: converts them to their VHLO equivalents, or keeps them if they
// are builtin.
#include "tilewright/import/ExportEntries.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloAttrs.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <bit>

namespace tilewright {

using bytecode::absent;
using bytecode::Attr;
using bytecode::AttrId;
using bytecode::AttrKind;
using bytecode::LiteralForm;
using bytecode::LiteralId;
using bytecode::Range;
using bytecode::StringId;
using bytecode::TypeId;

namespace {

std::string spelled(mlir::Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream out(text);
  attribute.print(out);
  if (text.size() > 200)
    text = text.substr(0, 200) + " …";
  return text;
}

/// The words of a number's bits, low word first.
llvm::SmallVector<int64_t> wordsOf(const llvm::APInt &bits) {
  llvm::ArrayRef<uint64_t> raw(bits.getRawData(), bits.getNumWords());
  return {raw.begin(), raw.end()};
}

} // namespace

Status unsupported(std::string_view what) {
  return Status(Error::exportUnsupported,
                concat(what, " cannot be stored in a portable artifact; lower or remove it first"));
}

Status ExportEntries::need(bytecode::Version since, std::string_view what) {
  needed = std::max(needed, since);
  if (since <= target)
    return Status();
  return Status(Error::exportInexpressible,
                concat(what, " requires StableHLO ", since.toString(),
                       ", but the target version is ", target.toString(), "; export for ",
                       since.toString(), " or newer"));
}

//===- Plain values -------------------------------------------------------===//

StringId ExportEntries::text(llvm::StringRef text) {
  auto [place, isNew] = strings.try_emplace(text, static_cast<uint32_t>(tables.strings.size()));
  if (isNew)
    tables.strings.push_back(place->getKey());
  return place->second;
}

AttrId ExportEntries::builtinString(llvm::StringRef string) {
  return *builtin(mlir::StringAttr::get(&context, string));
}
AttrId ExportEntries::array(llvm::ArrayRef<AttrId> elements) {
  return add(AttrKind::vhloArray, absent, absent, pool(tables.attrLists, elements));
}
AttrId ExportEntries::enumeration(AttrKind kind, uint32_t value) { return add(kind, value); }

AttrId ExportEntries::usualAccuracy() {
  AttrId mode = enumeration(AttrKind::vhloAccuracyMode, 0);
  return add(AttrKind::vhloResultAccuracy, mode, absent, numbers({0, 0, 0}));
}

LiteralId ExportEntries::literal(llvm::ArrayRef<char> bytes, int64_t count, LiteralForm form) {
  tables.literals.push_back({std::as_bytes(std::span(bytes.data(), bytes.size())), count, form});
  return static_cast<uint32_t>(tables.literals.size() - 1);
}

AttrId ExportEntries::integers(llvm::ArrayRef<int64_t> values, llvm::ArrayRef<int64_t> shape) {
  auto type = mlir::RankedTensorType::get(shape, mlir::IntegerType::get(&context, 64));
  return *vhlo(mlir::DenseElementsAttr::get(type, values));
}

AttrId ExportEntries::booleans(llvm::ArrayRef<bool> values) {
  auto type = mlir::RankedTensorType::get({static_cast<int64_t>(values.size())},
                                          mlir::IntegerType::get(&context, 1));
  return *vhlo(mlir::DenseElementsAttr::get(type, values));
}

//===- Attributes of MLIR -------------------------------------------------===//

Result<AttrId> ExportEntries::vhlo(mlir::Attribute attribute) {
  if (auto found = vhloAttributes.find(attribute); found != vhloAttributes.end())
    return found->second;
  TILEWRIGHT_ASSIGN(AttrId id, addVhlo(attribute));
  vhloAttributes[attribute] = id;
  return id;
}

Result<AttrId> ExportEntries::builtin(mlir::Attribute attribute) {
  if (auto found = builtinAttributes.find(attribute); found != builtinAttributes.end())
    return found->second;
  TILEWRIGHT_ASSIGN(AttrId id, addBuiltin(attribute));
  builtinAttributes[attribute] = id;
  return id;
}

template <typename List>
Result<Range> ExportEntries::list(const List &attributes, Dialect dialect) {
  llvm::SmallVector<AttrId> ids;
  for (mlir::Attribute each : attributes) {
    TILEWRIGHT_ASSIGN(AttrId id, dialect == Dialect::vhlo ? vhlo(each) : builtin(each));
    ids.push_back(id);
  }
  return pool(tables.attrLists, ids);
}

Result<AttrId> ExportEntries::dictionary(mlir::ArrayRef<mlir::NamedAttribute> attributes,
                                         Dialect dialect) {
  llvm::SmallVector<AttrId> pairs;
  for (mlir::NamedAttribute each : attributes) {
    TILEWRIGHT_ASSIGN(AttrId value,
                      dialect == Dialect::vhlo ? vhlo(each.getValue()) : builtin(each.getValue()));
    pairs.push_back(builtinString(each.getName()));
    pairs.push_back(value);
  }
  return add(AttrKind::dictionary, absent, absent, pool(tables.attrLists, pairs));
}

Result<AttrId> ExportEntries::addVhlo(mlir::Attribute attribute) {
  if (llvm::isa<stablehlo::StablehloDialect>(attribute.getDialect()))
    return addStablehlo(attribute);
  if (llvm::isa<sdy::SdyDialect>(attribute.getDialect()))
    return builtin(attribute);
  if (auto each = llvm::dyn_cast<mlir::BoolAttr>(attribute))
    return add(AttrKind::vhloBoolean, each.getValue());
  if (auto each = llvm::dyn_cast<mlir::IntegerAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(TypeId type, this->type(each.getType()));
    return add(AttrKind::vhloInteger, type, absent, numbers(wordsOf(each.getValue())));
  }
  if (auto each = llvm::dyn_cast<mlir::FloatAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(TypeId type, this->type(each.getType()));
    return add(AttrKind::vhloReal, type, absent,
               numbers(wordsOf(each.getValue().bitcastToAPInt())));
  }
  if (auto each = llvm::dyn_cast<mlir::StringAttr>(attribute);
      each && llvm::isa<mlir::NoneType>(each.getType()))
    return add(AttrKind::vhloString, text(each.getValue()));
  if (auto each = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(attribute))
    return vhlo(each.getAttr());
  if (auto each = llvm::dyn_cast<mlir::TypeAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(TypeId type, this->type(each.getValue()));
    return add(AttrKind::vhloType, type);
  }
  if (auto each = llvm::dyn_cast<mlir::ArrayAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(Range elements, list(each, Dialect::vhlo));
    return add(AttrKind::vhloArray, absent, absent, elements);
  }
  if (auto each = llvm::dyn_cast<mlir::DictionaryAttr>(attribute)) {
    llvm::SmallVector<AttrId> pairs;
    for (mlir::NamedAttribute entry : each) {
      TILEWRIGHT_ASSIGN(AttrId value, vhlo(entry.getValue()));
      pairs.push_back(*vhlo(entry.getName()));
      pairs.push_back(value);
    }
    return add(AttrKind::vhloDictionary, absent, absent, pool(tables.attrLists, pairs));
  }
  if (auto each = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(attribute))
    return integers(each.asArrayRef());
  if (auto each = llvm::dyn_cast<mlir::DenseBoolArrayAttr>(attribute))
    return booleans(each.asArrayRef());
  if (auto each = llvm::dyn_cast<mlir::ElementsAttr>(attribute))
    return addTensor(each, AttrKind::vhloTensor, Dialect::vhlo);
  // VHLO has no unit attribute; artifacts that may mix dialects use the builtin one.
  if (llvm::isa<mlir::UnitAttr>(attribute)) {
    TILEWRIGHT_TRY(need({1, 11}, "a unit attribute"));
    return builtin(attribute);
  }
  return unsupported(concat("the attribute ", spelled(attribute)));
}

Result<AttrId> ExportEntries::addStablehlo(mlir::Attribute attribute) {
  using namespace stablehlo;
  auto choice = [&](AttrKind kind, auto value) {
    return enumeration(kind, static_cast<uint32_t>(value));
  };
  if (auto each = llvm::dyn_cast<ComparisonDirectionAttr>(attribute))
    return choice(AttrKind::vhloComparisonDirection, each.getValue());
  if (auto each = llvm::dyn_cast<ComparisonTypeAttr>(attribute))
    return choice(AttrKind::vhloComparisonType, each.getValue());
  if (auto each = llvm::dyn_cast<FftTypeAttr>(attribute))
    return choice(AttrKind::vhloFftType, each.getValue());
  if (auto each = llvm::dyn_cast<PrecisionAttr>(attribute))
    return choice(AttrKind::vhloPrecision, each.getValue());
  if (auto each = llvm::dyn_cast<RngAlgorithmAttr>(attribute))
    return choice(AttrKind::vhloRngAlgorithm, each.getValue());
  if (auto each = llvm::dyn_cast<RngDistributionAttr>(attribute))
    return choice(AttrKind::vhloRngDistribution, each.getValue());
  if (auto each = llvm::dyn_cast<TransposeAttr>(attribute))
    return choice(AttrKind::vhloTranspose, each.getValue());
  if (auto each = llvm::dyn_cast<ResultAccuracyModeAttr>(attribute))
    return choice(AttrKind::vhloAccuracyMode, each.getValue());
  if (auto each = llvm::dyn_cast<TypeExtensionsAttr>(attribute))
    return add(AttrKind::vhloTypeExtensions, absent, absent, numbers(each.getBounds()));
  if (auto each = llvm::dyn_cast<OutputOperandAliasAttr>(attribute)) {
    Range parts[] = {numbers(each.getOutputTupleIndices()), numbers({each.getOperandIndex()}),
                     numbers(each.getOperandTupleIndices())};
    return add(AttrKind::vhloOutputOperandAlias, absent, absent, lists(parts));
  }
  if (auto each = llvm::dyn_cast<ResultAccuracyAttr>(attribute)) {
    TILEWRIGHT_TRY(need({1, 9}, "result_accuracy"));
    TILEWRIGHT_ASSIGN(AttrId mode, vhlo(each.getMode()));
    return add(AttrKind::vhloResultAccuracy, mode, absent,
               numbers({std::bit_cast<int64_t>(each.getAtol().convertToDouble()),
                        std::bit_cast<int64_t>(each.getRtol().convertToDouble()), each.getUlps()}));
  }

  // The remaining attributes describe replica groups by a mesh.
  TILEWRIGHT_TRY(need({1, 16}, "a mesh for replica groups"));
  if (auto each = llvm::dyn_cast<SubAxisInfoAttr>(attribute))
    return add(AttrKind::vhloSubAxisInfo, absent, absent,
               numbers({each.getPreSize(), each.getSize()}));
  if (auto each = llvm::dyn_cast<AxisRefAttr>(attribute)) {
    AttrId piece = absent;
    if (each.getSubAxisInfo()) {
      TILEWRIGHT_ASSIGN(piece, vhlo(each.getSubAxisInfo()));
    }
    return add(AttrKind::vhloAxisRef, string(each.getName()), piece);
  }
  if (auto each = llvm::dyn_cast<MeshAxisAttr>(attribute))
    return add(AttrKind::vhloMeshAxis, string(each.getName()), absent, numbers({each.getSize()}));
  if (auto each = llvm::dyn_cast<MeshAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(Range axes, list(each.getAxes(), Dialect::vhlo));
    AttrId axesArray = add(AttrKind::vhloArray, absent, absent, axes);
    AttrId devices = absent;
    if (each.getDeviceIds()) {
      TILEWRIGHT_ASSIGN(devices, vhlo(each.getDeviceIds()));
    }
    return add(AttrKind::vhloMesh, axesArray, devices);
  }
  if (auto each = llvm::dyn_cast<ReplicaGroupMeshAxesAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(AttrId mesh, vhlo(each.getMesh()));
    TILEWRIGHT_ASSIGN(AttrId axes, vhlo(each.getAxes()));
    return add(AttrKind::vhloReplicaGroupMesh, mesh, axes);
  }
  return unsupported(concat("the attribute ", spelled(attribute), " of this operation"));
}

Result<AttrId> ExportEntries::addTensor(mlir::ElementsAttr attribute, AttrKind kind,
                                        Dialect dialect) {
  TILEWRIGHT_ASSIGN(TypeId type, this->type(attribute.getType(), dialect));
  llvm::ArrayRef<char> data;
  bool isSplat = false;
  if (auto dense = llvm::dyn_cast<mlir::DenseIntOrFPElementsAttr>(attribute)) {
    data = dense.getRawData();
    isSplat = dense.isSplat();
  } else if (auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(attribute)) {
    mlir::AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return unsupported("a resource without content");
    data = blob->getData();
  } else {
    return unsupported(concat("the constant ", spelled(attribute)));
  }
  bool isBits = attribute.getElementType().isInteger(1);
  LiteralForm form = isSplat  ? LiteralForm::splat
                     : isBits ? LiteralForm::bits
                              : LiteralForm::elements;
  return add(kind, type, literal(data, attribute.getNumElements(), form));
}

Result<AttrId> ExportEntries::addBuiltin(mlir::Attribute attribute) {
  if (llvm::isa<sdy::SdyDialect>(attribute.getDialect()))
    return addSdy(attribute);
  if (auto each = llvm::dyn_cast<mlir::StringAttr>(attribute)) {
    TypeId type = absent;
    if (!llvm::isa<mlir::NoneType>(each.getType())) {
      TILEWRIGHT_ASSIGN(type, this->type(each.getType(), Dialect::builtin));
    }
    return add(AttrKind::string, text(each.getValue()), type);
  }
  if (auto each = llvm::dyn_cast<mlir::SymbolRefAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(Range nested, list(each.getNestedReferences(), Dialect::builtin));
    return add(AttrKind::symbolRef, builtinString(each.getRootReference()), absent, nested);
  }
  if (llvm::isa<mlir::UnitAttr>(attribute))
    return add(AttrKind::unit);
  if (auto each = llvm::dyn_cast<mlir::IntegerAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(TypeId type, this->type(each.getType(), Dialect::builtin));
    return add(AttrKind::integer, type, absent, numbers(wordsOf(each.getValue())));
  }
  if (auto each = llvm::dyn_cast<mlir::FloatAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(TypeId type, this->type(each.getType(), Dialect::builtin));
    return add(AttrKind::real, type, absent, numbers(wordsOf(each.getValue().bitcastToAPInt())));
  }
  if (auto each = llvm::dyn_cast<mlir::TypeAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(TypeId type, this->type(each.getValue(), Dialect::builtin));
    return add(AttrKind::type, type);
  }
  if (auto each = llvm::dyn_cast<mlir::ArrayAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(Range elements, list(each, Dialect::builtin));
    return add(AttrKind::array, absent, absent, elements);
  }
  if (auto each = llvm::dyn_cast<mlir::DictionaryAttr>(attribute))
    return dictionary(each.getValue(), Dialect::builtin);
  if (auto each = llvm::dyn_cast<mlir::DenseArrayAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(TypeId type, this->type(each.getElementType(), Dialect::builtin));
    return add(AttrKind::denseArray, type,
               literal(each.getRawData(), each.getSize(), LiteralForm::elements));
  }
  if (auto each = llvm::dyn_cast<mlir::ElementsAttr>(attribute))
    return addTensor(each, AttrKind::denseElements, Dialect::builtin);
  if (auto each = llvm::dyn_cast<mlir::LocationAttr>(attribute))
    return location(mlir::Location(each));
  return unsupported(concat("the attribute ", spelled(attribute)));
}

//===- Locations ----------------------------------------------------------===//

Result<AttrId> ExportEntries::location(mlir::Location location) {
  mlir::LocationAttr key = location;
  if (auto found = builtinAttributes.find(key); found != builtinAttributes.end())
    return found->second;

  Attr entry;
  entry.kind = AttrKind::unknownLocation;
  if (auto place = llvm::dyn_cast<mlir::FileLineColRange>(location)) {
    entry.kind = AttrKind::fileLocation;
    entry.a = builtinString(place.getFilename());
    int64_t line = place.getStartLine(), column = place.getStartColumn();
    // Readers before 1.9 accept only single positions, not ranges.
    bool isRange = target >= bytecode::Version{1, 9};
    entry.list = numbers({line, column, isRange ? int64_t(place.getEndLine()) : line,
                          isRange ? int64_t(place.getEndColumn()) : column});
  } else if (auto named = llvm::dyn_cast<mlir::NameLoc>(location)) {
    entry.kind = AttrKind::nameLocation;
    entry.a = builtinString(named.getName());
    TILEWRIGHT_ASSIGN(entry.b, this->location(named.getChildLoc()));
  } else if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(location)) {
    entry.kind = AttrKind::callSiteLocation;
    TILEWRIGHT_ASSIGN(entry.a, this->location(call.getCallee()));
    TILEWRIGHT_ASSIGN(entry.b, this->location(call.getCaller()));
  } else if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(location)) {
    entry.kind = AttrKind::fusedLocation;
    llvm::SmallVector<AttrId> parts;
    for (mlir::Location part : fused.getLocations()) {
      TILEWRIGHT_ASSIGN(AttrId id, this->location(part));
      parts.push_back(id);
    }
    if (fused.getMetadata()) {
      TILEWRIGHT_ASSIGN(entry.a, builtin(fused.getMetadata()));
    }
    entry.list = pool(tables.attrLists, parts);
  }
  AttrId id = add(entry.kind, entry.a, entry.b, entry.list);
  builtinAttributes[key] = id;
  return id;
}

} // namespace tilewright
