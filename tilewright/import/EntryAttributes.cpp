// Attributes and locations: builtin ones unchanged, VHLO's converted to StableHLO's.
#include "tilewright/import/EntryBuilder.h"

#include "tilewright/dialect/stablehlo/StablehloAttrs.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/Builders.h"

#include <bit>
#include <thread>

using namespace tilewright;
using namespace tilewright::bytecode;

EntryBuilder::EntryBuilder(mlir::MLIRContext &context, const Module &tables, ArtifactFile file)
    : mlirContext(context), module(tables), file(std::move(file)), builtTypes(tables.types.size()),
      builtAttributes(tables.attrs.size()),
      handler(&context, [this, thread = std::this_thread::get_id()](mlir::Diagnostic &diagnostic) {
        // Ignore diagnostics of other threads that use the same context.
        if (std::this_thread::get_id() != thread)
          return mlir::failure();
        refusal = diagnostic.str();
        return mlir::success();
      }) {}

mlir::InFlightDiagnostic EntryBuilder::emitError() {
  return mlir::emitError(mlir::UnknownLoc::get(&mlirContext));
}

Status EntryBuilder::invalidType(TypeId id, std::string_view reason) {
  return Status(Error::entryInvalid, concat("type ", id, " of the artifact is invalid: ", reason,
                                            "; export the artifact again"));
}

Status EntryBuilder::invalidAttribute(AttrId id, std::string_view reason) {
  return Status(Error::entryInvalid, concat("attribute ", id, " of the artifact is invalid: ",
                                            reason, "; export the artifact again"));
}

Result<mlir::Type> EntryBuilder::checked(mlir::Type type, TypeId id) {
  if (type)
    return type;
  return invalidType(id, refusal);
}

Result<mlir::Attribute> EntryBuilder::checked(mlir::Attribute attribute, AttrId id) {
  if (attribute)
    return attribute;
  return invalidAttribute(id, refusal);
}

Result<mlir::Attribute> EntryBuilder::attribute(AttrId id) {
  if (mlir::Attribute built = builtAttributes[id])
    return built;
  TILEWRIGHT_ASSIGN(mlir::Attribute built, buildAttribute(id));
  builtAttributes[id] = built;
  return built;
}

Result<mlir::Location> EntryBuilder::location(AttrId id) {
  if (id == absent)
    return mlir::Location(mlir::UnknownLoc::get(&mlirContext));
  TILEWRIGHT_ASSIGN(mlir::LocationAttr built, attributeOf<mlir::LocationAttr>(id, id));
  return mlir::Location(built);
}

Status EntryBuilder::attributes(Range range, llvm::SmallVectorImpl<mlir::Attribute> &out) {
  for (AttrId id : module.attrsIn(range)) {
    TILEWRIGHT_ASSIGN(mlir::Attribute built, attribute(id));
    out.push_back(built);
  }
  return Status();
}

Result<mlir::Attribute> EntryBuilder::buildAttribute(AttrId id) {
  AttrKind kind = entry(id).kind;
  if (kind < AttrKind::unknownLocation)
    return buildBuiltin(id);
  if (kind < AttrKind::vhloArray)
    return buildLocation(id);
  if (kind < AttrKind::sdyManualAxes)
    return buildVhlo(id);
  return buildSdy(id);
}

/// The bits of an integer or a float, from the words in Module::numbers.
static llvm::APInt bitsOf(std::span<const int64_t> words, unsigned width) {
  llvm::SmallVector<uint64_t> unsignedWords(words.begin(), words.end());
  // A wide number may have fewer words than its width requires, because MLIR omits leading zero
  // words; APInt extends with zeros. APInt needs at least one word.
  if (unsignedWords.empty())
    unsignedWords.push_back(0);
  return llvm::APInt(width, unsignedWords);
}

Result<mlir::Attribute> EntryBuilder::buildBuiltin(AttrId id) {
  const Attr &attr = entry(id);
  switch (attr.kind) {
  case AttrKind::array:
  case AttrKind::vhloArray: {
    llvm::SmallVector<mlir::Attribute> elements;
    TILEWRIGHT_TRY(attributes(attr.list, elements));
    return mlir::ArrayAttr::get(&mlirContext, elements);
  }
  case AttrKind::dictionary:
  case AttrKind::vhloDictionary:
    return buildDictionary(id);
  case AttrKind::string: {
    mlir::Type type = mlir::NoneType::get(&mlirContext);
    if (attr.b != absent) {
      TILEWRIGHT_ASSIGN(type, this->type(attr.b));
    }
    return mlir::StringAttr::get(module.strings[attr.a], type);
  }
  case AttrKind::symbolRef: {
    llvm::SmallVector<mlir::FlatSymbolRefAttr> nested;
    for (AttrId part : module.attrsIn(attr.list)) {
      // Each nested reference is itself a flat reference to a single name.
      TILEWRIGHT_ASSIGN(auto built, attributeOf<mlir::FlatSymbolRefAttr>(id, part));
      nested.push_back(built);
    }
    return mlir::SymbolRefAttr::get(&mlirContext, module.textOf(attr.a), nested);
  }
  case AttrKind::type:
  case AttrKind::vhloType: {
    TILEWRIGHT_ASSIGN(mlir::Type type, this->type(attr.a));
    return mlir::TypeAttr::get(type);
  }
  case AttrKind::unit:
    return mlir::UnitAttr::get(&mlirContext);
  case AttrKind::integer:
  case AttrKind::vhloInteger: {
    TILEWRIGHT_ASSIGN(mlir::Type type, this->type(attr.a));
    unsigned width =
        type.isIndex() ? mlir::IndexType::kInternalStorageBitWidth : type.getIntOrFloatBitWidth();
    return mlir::IntegerAttr::get(type, bitsOf(module.numbersIn(attr.list), width));
  }
  case AttrKind::real:
  case AttrKind::vhloReal: {
    TILEWRIGHT_ASSIGN(mlir::Type type, this->type(attr.a));
    auto real = llvm::cast<mlir::FloatType>(type);
    llvm::APInt bits = bitsOf(module.numbersIn(attr.list), real.getWidth());
    return mlir::FloatAttr::get(real, llvm::APFloat(real.getFloatSemantics(), bits));
  }
  case AttrKind::denseArray:
    return buildDenseArray(id);
  case AttrKind::denseElements:
  case AttrKind::vhloTensor:
    return buildTensor(id, /*inlineBytes=*/SIZE_MAX);
  default:
    return invalidAttribute(id, "unknown attribute kind");
  }
}

Result<mlir::Attribute> EntryBuilder::buildDictionary(AttrId id) {
  std::span<const AttrId> pairs = module.attrsIn(entry(id).list);
  mlir::NamedAttrList named;
  for (size_t pair = 0; pair + 1 < pairs.size(); pair += 2) {
    std::string_view key = module.textOf(pairs[pair]);
    if (key.empty())
      return invalidAttribute(id, "dictionary keys must not be empty");
    TILEWRIGHT_ASSIGN(mlir::Attribute value, attribute(pairs[pair + 1]));
    named.append(key, value);
  }
  return named.getDictionary(&mlirContext);
}

Result<mlir::Attribute> EntryBuilder::buildLocation(AttrId id) {
  const Attr &attr = entry(id);
  switch (attr.kind) {
  case AttrKind::fileLocation: {
    llvm::SmallVector<unsigned, 4> place;
    for (int64_t number : module.numbersIn(attr.list)) {
      if (number < 0 || number > UINT32_MAX)
        return invalidAttribute(
            id, concat("line and column numbers must fit in 32 bits, got ", number));
      place.push_back(static_cast<unsigned>(number));
    }
    auto name = mlir::StringAttr::get(&mlirContext, module.textOf(attr.a));
    // Most locations are a single position, which MLIR stores more compactly.
    if (place[0] == place[2] && place[1] == place[3])
      return mlir::FileLineColRange::get(name, place[0], place[1]);
    return mlir::FileLineColRange::get(name, place[0], place[1], place[2], place[3]);
  }
  case AttrKind::nameLocation: {
    TILEWRIGHT_ASSIGN(mlir::Location child, location(attr.b));
    return mlir::NameLoc::get(mlir::StringAttr::get(&mlirContext, module.textOf(attr.a)), child);
  }
  case AttrKind::callSiteLocation: {
    TILEWRIGHT_ASSIGN(mlir::Location callee, location(attr.a));
    TILEWRIGHT_ASSIGN(mlir::Location caller, location(attr.b));
    return mlir::CallSiteLoc::get(callee, caller);
  }
  case AttrKind::fusedLocation: {
    llvm::SmallVector<mlir::Location> parts;
    for (AttrId part : module.attrsIn(attr.list)) {
      TILEWRIGHT_ASSIGN(mlir::Location built, location(part));
      parts.push_back(built);
    }
    mlir::Attribute metadata;
    if (attr.a != absent) {
      TILEWRIGHT_ASSIGN(metadata, attribute(attr.a));
    }
    return mlir::Attribute(mlir::FusedLoc::get(parts, metadata, &mlirContext));
  }
  default:
    return mlir::UnknownLoc::get(&mlirContext);
  }
}

Result<mlir::Attribute> EntryBuilder::buildVhlo(AttrId id) {
  const Attr &attr = entry(id);
  mlir::MLIRContext *context = &mlirContext;
  std::span<const int64_t> numbers;
  auto report = [this] { return emitError(); };
  // Use exactly the declared type: with a conversion, overload resolution would choose a template
  // of the base class.
  llvm::function_ref<mlir::InFlightDiagnostic()> emit = report;

  switch (attr.kind) {
  case AttrKind::vhloBoolean:
    return mlir::BoolAttr::get(context, attr.a != 0);
  case AttrKind::vhloString:
    return mlir::StringAttr::get(context, module.strings[attr.a]);
  case AttrKind::vhloComparisonDirection:
    return stablehlo::ComparisonDirectionAttr::get(context, stablehlo::ComparisonDirection(attr.a));
  case AttrKind::vhloComparisonType:
    return stablehlo::ComparisonTypeAttr::get(context, stablehlo::ComparisonType(attr.a));
  case AttrKind::vhloApiVersion:
    return mlir::IntegerAttr::get(mlir::IntegerType::get(context, 32), attr.a);
  case AttrKind::vhloFftType:
    return stablehlo::FftTypeAttr::get(context, stablehlo::FftType(attr.a));
  case AttrKind::vhloPrecision:
    return stablehlo::PrecisionAttr::get(context, stablehlo::Precision(attr.a));
  case AttrKind::vhloRngAlgorithm:
    return stablehlo::RngAlgorithmAttr::get(context, stablehlo::RngAlgorithm(attr.a));
  case AttrKind::vhloRngDistribution:
    return stablehlo::RngDistributionAttr::get(context, stablehlo::RngDistribution(attr.a));
  case AttrKind::vhloTranspose:
    return stablehlo::TransposeAttr::get(context, stablehlo::Transpose(attr.a));
  case AttrKind::vhloAccuracyMode:
    return stablehlo::ResultAccuracyModeAttr::get(context, stablehlo::ResultAccuracyMode(attr.a));
  case AttrKind::vhloOutputOperandAlias: {
    std::span<const Range> lists = module.listsIn(attr.list);
    return stablehlo::OutputOperandAliasAttr::get(context, module.numbersIn(lists[0]),
                                                  module.numbersIn(lists[1])[0],
                                                  module.numbersIn(lists[2]));
  }
  case AttrKind::vhloTypeExtensions:
    return stablehlo::TypeExtensionsAttr::get(context, module.numbersIn(attr.list));
  case AttrKind::vhloResultAccuracy: {
    numbers = module.numbersIn(attr.list);
    TILEWRIGHT_ASSIGN(auto mode, attributeOf<stablehlo::ResultAccuracyModeAttr>(id, attr.a));
    return checked(stablehlo::ResultAccuracyAttr::getChecked(
                       emit, context, llvm::APFloat(std::bit_cast<double>(numbers[0])),
                       llvm::APFloat(std::bit_cast<double>(numbers[1])), numbers[2], mode),
                   id);
  }
  case AttrKind::vhloSubAxisInfo:
    numbers = module.numbersIn(attr.list);
    return stablehlo::SubAxisInfoAttr::get(context, numbers[0], numbers[1]);
  case AttrKind::vhloAxisRef: {
    stablehlo::SubAxisInfoAttr piece;
    if (attr.b != absent) {
      TILEWRIGHT_ASSIGN(piece, attributeOf<stablehlo::SubAxisInfoAttr>(id, attr.b));
    }
    return stablehlo::AxisRefAttr::get(context, module.textOf(attr.a), piece);
  }
  case AttrKind::vhloReplicaGroupMesh: {
    mlir::Attribute mesh;
    if (entry(attr.a).kind == AttrKind::vhloString) {
      mesh = mlir::FlatSymbolRefAttr::get(context, module.textOf(attr.a));
    } else {
      TILEWRIGHT_ASSIGN(mesh, attribute(attr.a));
    }
    TILEWRIGHT_ASSIGN(auto axes, attributeOf<mlir::ArrayAttr>(id, attr.b));
    return checked(stablehlo::ReplicaGroupMeshAxesAttr::getChecked(emit, context, mesh, axes), id);
  }
  case AttrKind::vhloMeshAxis:
    return stablehlo::MeshAxisAttr::get(context, module.textOf(attr.a),
                                        module.numbersIn(attr.list)[0]);
  case AttrKind::vhloMesh: {
    TILEWRIGHT_ASSIGN(auto axes, attributesOf<stablehlo::MeshAxisAttr>(id, entry(attr.a).list));
    mlir::DenseIntElementsAttr devices;
    if (attr.b != absent) {
      TILEWRIGHT_ASSIGN(devices, attributeOf<mlir::DenseIntElementsAttr>(id, attr.b));
    }
    return stablehlo::MeshAttr::get(context, axes, devices);
  }
  default:
    // The remaining kinds differ from the builtin ones only in their code.
    return buildBuiltin(id);
  }
}
