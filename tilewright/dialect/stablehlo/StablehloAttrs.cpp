// Attributes: their verifiers, and the syntax that ODS cannot express.
#include "tilewright/dialect/stablehlo/StablehloAttrs.h"

#include "tilewright/dialect/stablehlo/StablehloDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::stablehlo {

static FailureOr<SmallVector<int64_t>> parseDimensionList(AsmParser &parser) {
  SmallVector<int64_t> dims;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(dims.emplace_back()); }))
    return failure();
  return dims;
}

static void printDimensionList(AsmPrinter &printer, ArrayRef<int64_t> dims) {
  printer << '[';
  llvm::interleaveComma(dims, printer);
  printer << ']';
}

} // namespace tilewright::stablehlo

#include "tilewright/dialect/stablehlo/StablehloEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tilewright/dialect/stablehlo/StablehloAttrs.cpp.inc"

namespace tilewright::stablehlo {

void StablehloDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tilewright/dialect/stablehlo/StablehloAttrs.cpp.inc"
      >();
}

//===- type_extensions ----------------------------------------------------===//

/// Parses one bound: a size, or `?` for no bound.
static ParseResult parseBound(AsmParser &parser, int64_t &bound) {
  if (succeeded(parser.parseOptionalQuestion())) {
    bound = ShapedType::kDynamic;
    return success();
  }
  return parser.parseInteger(bound);
}

Attribute TypeExtensionsAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> bounds;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     [&] { return parseBound(parser, bounds.emplace_back()); }))
    return {};
  return get(parser.getContext(), bounds);
}

void TypeExtensionsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getBounds(), printer, [&](int64_t bound) {
    if (ShapedType::isDynamic(bound))
      printer << '?';
    else
      printer << bound;
  });
  printer << '>';
}

/// Parses the body of the older spelling, `<bounds = [8, ?]>`.
static Attribute parseLongTypeExtensions(AsmParser &parser) {
  SmallVector<int64_t> bounds;
  if (parser.parseLess() || parser.parseKeyword("bounds") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parseBound(parser, bounds.emplace_back()); }) ||
      parser.parseGreater())
    return {};
  return TypeExtensionsAttr::get(parser.getContext(), bounds);
}

LogicalResult
TypeExtensionsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                   llvm::function_ref<InFlightDiagnostic()> emitError) const {
  ArrayRef<int64_t> bounds = getBounds();
  if (bounds.size() != shape.size())
    return emitError() << "a tensor type must have one bound for each dimension, got "
                       << bounds.size() << " bounds for " << shape.size() << " dimensions";
  for (auto [dim, size, bound] : llvm::enumerate(shape, bounds)) {
    if (ShapedType::isDynamic(bound))
      continue;
    if (!ShapedType::isDynamic(size))
      return emitError() << "dimension " << dim << " is static and must have no bound, got size "
                         << size << " and bound " << bound;
    if (bound < 0)
      return emitError() << "the bound of dimension " << dim << " must not be negative, got "
                         << bound;
  }
  return success();
}

//===- result_accuracy ----------------------------------------------------===//

Attribute ResultAccuracyAttr::parse(AsmParser &parser, Type) {
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  ResultAccuracyModeAttr mode;
  auto parseField = [&]() -> ParseResult {
    StringRef name;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (name == "atol")
      return parser.parseFloat(atol);
    if (name == "rtol")
      return parser.parseFloat(rtol);
    if (name == "ulps")
      return parser.parseInteger(ulps);
    if (name == "mode")
      return parser.parseCustomAttributeWithFallback(mode);
    return parser.emitError(loc) << "expected atol, rtol, ulps or mode, got '" << name << "'";
  };
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseField))
    return {};
  if (!mode) {
    parser.emitError(loc) << "expected a mode in result_accuracy";
    return {};
  }
  return parser.getChecked<ResultAccuracyAttr>(loc, parser.getContext(), llvm::APFloat(atol),
                                               llvm::APFloat(rtol), ulps, mode);
}

void ResultAccuracyAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (!getAtol().isZero()) {
    printer << "atol = ";
    printer.printFloat(getAtol());
    printer << ", ";
  }
  if (!getRtol().isZero()) {
    printer << "rtol = ";
    printer.printFloat(getRtol());
    printer << ", ";
  }
  if (getUlps() != 0)
    printer << "ulps = " << getUlps() << ", ";
  printer << "mode = ";
  printer.printAttribute(getMode());
  printer << '>';
}

LogicalResult ResultAccuracyAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                         llvm::APFloat atol, llvm::APFloat rtol, int64_t ulps,
                                         ResultAccuracyModeAttr mode) {
  if (&atol.getSemantics() != &llvm::APFloat::IEEEdouble() ||
      &rtol.getSemantics() != &llvm::APFloat::IEEEdouble())
    return emitError() << "tolerances must be 64-bit floats";
  bool asksForTolerance = !atol.isZero() || !rtol.isZero() || ulps != 0;
  if (!asksForTolerance || mode.getValue() == ResultAccuracyMode::TOLERANCE)
    return success();
  return emitError() << "tolerances require mode TOLERANCE, got atol = " << atol.convertToDouble()
                     << ", rtol = " << rtol.convertToDouble() << ", ulps = " << ulps
                     << " with mode " << stringifyResultAccuracyMode(mode.getValue());
}

//===- mesh and replica groups --------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  DenseIntElementsAttr deviceIds;
  if (parser.parseLess() || parser.parseKeyword("axes") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseCustomAttributeWithFallback(axes.emplace_back());
      }))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("device_ids") || parser.parseEqual() ||
       parser.parseAttribute(deviceIds)))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), axes, deviceIds);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<axes = [";
  llvm::interleaveComma(getAxes(), printer,
                        [&](MeshAxisAttr axis) { printer.printAttribute(axis); });
  printer << ']';
  if (getDeviceIds()) {
    printer << ", device_ids = ";
    printer.printAttribute(getDeviceIds());
  }
  printer << '>';
}

Attribute ReplicaGroupMeshAxesAttr::parse(AsmParser &parser, Type) {
  Attribute mesh;
  ArrayAttr axes;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword("mesh") || parser.parseEqual() ||
      parser.parseAttribute(mesh) || parser.parseComma() || parser.parseKeyword("axes") ||
      parser.parseEqual() || parser.parseAttribute(axes) || parser.parseGreater())
    return {};
  return parser.getChecked<ReplicaGroupMeshAxesAttr>(loc, parser.getContext(), mesh, axes);
}

void ReplicaGroupMeshAxesAttr::print(AsmPrinter &printer) const {
  printer << "<mesh = ";
  printer.printAttribute(getMesh());
  printer << ", axes = ";
  printer.printAttribute(getAxes());
  printer << '>';
}

LogicalResult ReplicaGroupMeshAxesAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                               Attribute mesh, ArrayAttr axes) {
  if (!isa_and_nonnull<MeshAttr, FlatSymbolRefAttr>(mesh))
    return emitError() << "mesh must be a #stablehlo.mesh or a symbol that refers to one, got "
                       << mesh;
  for (Attribute axis : axes)
    if (!isa<AxisRefAttr>(axis))
      return emitError() << "axes must be #stablehlo.axis_ref, got " << axis;
  return success();
}

//===- Entry points of the parser -----------------------------------------===//

Attribute StablehloDialect::parseAttribute(DialectAsmParser &parser, Type type) const {
  StringRef mnemonic;
  Attribute attr;
  OptionalParseResult result = generatedAttributeParser(parser, &mnemonic, type, attr);
  if (result.has_value())
    return attr;
  if (mnemonic == "type_extensions")
    return parseLongTypeExtensions(parser);
  parser.emitError(parser.getNameLoc()) << "unknown attribute stablehlo." << mnemonic;
  return {};
}

void StablehloDialect::printAttribute(Attribute attr, DialectAsmPrinter &printer) const {
  [[maybe_unused]] LogicalResult printed = generatedAttributePrinter(attr, printer);
  assert(succeeded(printed) && "every attribute of the dialect has a printer");
}

LogicalResult DotAlgorithmAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                       Type lhsPrecisionType, Type rhsPrecisionType,
                                       Type accumulationType, int64_t lhsComponentCount,
                                       int64_t rhsComponentCount, int64_t numPrimitiveOperations,
                                       bool) {
  for (Type type : {lhsPrecisionType, rhsPrecisionType, accumulationType})
    if (!isa<FloatType, IntegerType, ComplexType>(type))
      return emitError() << "types of a dot algorithm must be integer, float or complex, got "
                         << type;
  for (int64_t count : {lhsComponentCount, rhsComponentCount, numPrimitiveOperations})
    if (count <= 0) // dot_general_c22, dot_general_c23, dot_general_c24
      return emitError() << "component and operation counts of a dot algorithm must be positive, "
                            "got "
                         << lhsComponentCount << ", " << rhsComponentCount << " and "
                         << numPrimitiveOperations;
  return success();
}

} // namespace tilewright::stablehlo
