// The syntax of sdy attributes, which is Shardy's, and the generated code that calls these
// functions.
#include "tilewright/dialect/sdy/FactorNames.h"
#include "tilewright/dialect/sdy/SdyDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::sdy;

//===----------------------------------------------------------------------===//
// Factor names
//===----------------------------------------------------------------------===//

/// Index of factor `z`, the last with a single letter as its name.
static constexpr int64_t lastLetter = 'z' - 'i';

std::string tilewright::sdy::factorName(int64_t index) {
  if (index < 0)
    return std::to_string(index);
  if (index <= lastLetter)
    return std::string(1, static_cast<char>('i' + index));
  return "z_" + std::to_string(index - lastLetter);
}

std::optional<int64_t> tilewright::sdy::takeFactorName(StringRef &names) {
  if (names.consume_front("z_")) {
    StringRef digits = names.take_while(llvm::isDigit);
    int32_t number = 0; // int32_t: adding lastLetter cannot overflow
    if (digits.empty() || digits.front() == '0' || digits.getAsInteger(10, number))
      return std::nullopt;
    names = names.drop_front(digits.size());
    return number + lastLetter;
  }
  if (names.empty() || names.front() < 'i' || names.front() > 'z')
    return std::nullopt;
  char letter = names.front();
  names = names.drop_front();
  return letter - 'i';
}

/// Parses a keyword made of one or more factor names into their indices.
static ParseResult parseFactorNames(AsmParser &parser, SmallVectorImpl<int64_t> &factors) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef names;
  if (parser.parseKeyword(&names))
    return failure();
  do {
    StringRef rest = names;
    std::optional<int64_t> factor = takeFactorName(rest);
    if (!factor)
      return parser.emitError(loc)
             << "expected factor names (i to z, then z_1, z_2, ...), got '" << names << "'";
    factors.push_back(*factor);
    names = rest;
  } while (!names.empty());
  return success();
}

/// Parses exactly one factor name.
static ParseResult parseFactorName(AsmParser &parser, int64_t &factor) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> factors;
  if (parseFactorNames(parser, factors))
    return failure();
  if (factors.size() != 1)
    return parser.emitError(loc) << "expected one factor, got " << factors.size();
  factor = factors.front();
  return success();
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

/// Parses an optional priority `p<number>`.
static ParseResult parseOptionalPriority(AsmParser &parser, std::optional<int64_t> &priority) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseOptionalKeyword(&keyword))
    return success();
  StringRef digits = keyword;
  int64_t value = 0;
  bool wellFormed = digits.consume_front("p") && llvm::all_of(digits, llvm::isDigit) &&
                    (digits == "0" || !digits.starts_with("0")) && !digits.getAsInteger(10, value);
  if (!wellFormed)
    return parser.emitError(loc) << "expected a priority (p0, p1, p2, ...), got '" << keyword
                                 << "'";
  priority = value;
  return success();
}

Attribute DimensionShardingAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<AxisRefAttr> axes;
  bool isClosed = true;
  auto parseAxisOrQuestion = [&]() -> ParseResult {
    if (!isClosed)
      return parser.emitError(parser.getCurrentLocation(),
                              "'?' must be the last entry of a dimension sharding");
    if (succeeded(parser.parseOptionalQuestion())) {
      isClosed = false;
      return success();
    }
    FailureOr<AxisRefAttr> axis = FieldParser<AxisRefAttr>::parse(parser);
    if (failed(axis))
      return failure();
    axes.push_back(*axis);
    return success();
  };
  std::optional<int64_t> priority;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseAxisOrQuestion) ||
      parseOptionalPriority(parser, priority))
    return {};
  return parser.getChecked<DimensionShardingAttr>(loc, parser.getContext(), axes, isClosed,
                                                  priority);
}

void DimensionShardingAttr::print(AsmPrinter &printer) const {
  printer << "{";
  printer.printStrippedAttrOrType(getAxes());
  if (!getIsClosed())
    printer << (getAxes().empty() ? "?" : ", ?");
  printer << "}";
  if (getPriority())
    printer << "p" << *getPriority();
}

static ParseResult parseMeshOrRef(AsmParser &parser, Attribute &meshOrRef) {
  if (succeeded(parser.parseOptionalKeyword(MeshAttr::getMnemonic()))) {
    FailureOr<MeshAttr> mesh = FieldParser<MeshAttr>::parse(parser);
    if (failed(mesh))
      return failure();
    meshOrRef = *mesh;
    return success();
  }
  StringAttr name;
  if (parser.parseSymbolName(name))
    return failure();
  meshOrRef = FlatSymbolRefAttr::get(name);
  return success();
}

static void printMeshOrRef(AsmPrinter &printer, Attribute meshOrRef) {
  if (auto mesh = dyn_cast<MeshAttr>(meshOrRef)) {
    printer << MeshAttr::getMnemonic();
    printer.printStrippedAttrOrType(mesh);
  } else {
    printer << meshOrRef;
  }
}

static ParseResult parseAxisList(AsmParser &parser, SmallVectorImpl<AxisRefAttr> &axes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() -> ParseResult {
    FailureOr<AxisRefAttr> axis = FieldParser<AxisRefAttr>::parse(parser);
    if (failed(axis))
      return failure();
    axes.push_back(*axis);
    return success();
  });
}

/// Parses `, replicated={…}` and `, unreduced=…{…}`, each once, in any order.
static ParseResult parseOtherAxes(AsmParser &parser, SmallVector<AxisRefAttr> &replicated,
                                  SmallVector<AxisRefAttr> &unreduced, Reduction &reduction) {
  bool sawReplicated = false, sawUnreduced = false;
  reduction = Reduction::Sum;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword) || parser.parseEqual())
      return failure();
    if (keyword == "replicated" && !std::exchange(sawReplicated, true)) {
      if (parseAxisList(parser, replicated))
        return failure();
    } else if (keyword == "unreduced" && !std::exchange(sawUnreduced, true)) {
      if (succeeded(parser.parseOptionalKeyword("max")))
        reduction = Reduction::Max;
      else if (succeeded(parser.parseOptionalKeyword("min")))
        reduction = Reduction::Min;
      else
        (void)parser.parseOptionalKeyword("sum");
      if (parseAxisList(parser, unreduced))
        return failure();
    } else {
      return parser.emitError(loc)
             << "expected 'replicated' or 'unreduced', each at most once, got '" << keyword << "'";
    }
  }
  return success();
}

static void printOtherAxes(AsmPrinter &printer, ArrayRef<AxisRefAttr> replicated,
                           ArrayRef<AxisRefAttr> unreduced, Reduction reduction) {
  if (!replicated.empty()) {
    printer << ", replicated={";
    printer.printStrippedAttrOrType(replicated);
    printer << "}";
  }
  if (!unreduced.empty()) {
    printer << ", unreduced=" << (reduction == Reduction::Sum ? "" : stringifyReduction(reduction))
            << "{";
    printer.printStrippedAttrOrType(unreduced);
    printer << "}";
  }
}

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

Attribute DimMappingAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> factors;
  if (parseFactorNames(parser, factors))
    return {};
  return parser.getChecked<DimMappingAttr>(loc, parser.getContext(), factors);
}

void DimMappingAttr::print(AsmPrinter &printer) const {
  for (int64_t factor : getFactorIndices())
    printer << factorName(factor);
}

/// Parses `{i=2, j=4}`. The list must contain every factor, in order.
static ParseResult parseFactorSizes(AsmParser &parser, SmallVector<int64_t> &sizes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalBraces, [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    int64_t factor = 0;
    if (parseFactorName(parser, factor))
      return failure();
    if (factor != static_cast<int64_t>(sizes.size()))
      return parser.emitError(loc) << "expected the size of factor '" << factorName(sizes.size())
                                   << "' (sizes are listed in the order i, j, k, ...), got '"
                                   << factorName(factor) << "'";
    return failure(parser.parseEqual() || parser.parseInteger(sizes.emplace_back()));
  });
}

static void printFactorSizes(AsmPrinter &printer, ArrayRef<int64_t> sizes) {
  if (sizes.empty())
    return;
  printer << " {";
  llvm::interleaveComma(llvm::enumerate(sizes), printer, [&](auto entry) {
    printer << factorName(entry.index()) << "=" << entry.value();
  });
  printer << "}";
}

/// Parses an optional `name={i, k}`.
static ParseResult parseFactorGroup(AsmParser &parser, SmallVector<int64_t> &factors,
                                    StringRef name) {
  if (failed(parser.parseOptionalKeyword(name)))
    return success();
  if (parser.parseEqual())
    return failure();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&] {
    return parseFactorName(parser, factors.emplace_back());
  });
}

static void printFactorGroup(AsmPrinter &printer, ArrayRef<int64_t> factors, StringRef name) {
  if (factors.empty())
    return;
  printer << " " << name << "={";
  llvm::interleaveComma(factors, printer, [&](int64_t factor) { printer << factorName(factor); });
  printer << "}";
}

static ParseResult parseIsCustomRule(AsmParser &parser, bool &isCustom) {
  isCustom = succeeded(parser.parseOptionalComma());
  return isCustom ? parser.parseKeyword("custom") : success();
}

static void printIsCustomRule(AsmPrinter &printer, bool isCustom) {
  if (isCustom)
    printer << ", custom";
}

//===----------------------------------------------------------------------===//
// Generated code
//===----------------------------------------------------------------------===//

#include "tilewright/dialect/sdy/SdyEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tilewright/dialect/sdy/SdyAttrs.cpp.inc"

void SdyDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tilewright/dialect/sdy/SdyAttrs.cpp.inc"
      >();
}
