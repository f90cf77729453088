// The textual form of convolution dimension numbers:
// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
#include "tilewright/dialect/stablehlo/StablehloAttrs.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tilewright::stablehlo;

namespace {
/// One of the three bracketed lists: two letters and the spatial dimensions.
struct DimensionRoles {
  char firstLetter, secondLetter;
  int64_t first, second;
  SmallVector<int64_t> spatial;

  int64_t rank() const { return static_cast<int64_t>(spatial.size()) + 2; }
};
} // namespace

/// Parses `[b, 0, 1, f]`. Every letter and every spatial number occurs once.
static ParseResult parseRoles(AsmParser &parser, DimensionRoles &roles) {
  int64_t position = 0;
  bool seenFirst = false, seenSecond = false;
  SmallVector<std::pair<int64_t, int64_t>> numbered; // spatial number, position
  auto parseRole = [&]() -> ParseResult {
    llvm::SMLoc loc = parser.getCurrentLocation();
    int64_t number = 0;
    OptionalParseResult parsed = parser.parseOptionalInteger(number);
    if (parsed.has_value()) {
      if (failed(*parsed))
        return failure();
      numbered.emplace_back(number, position++);
      return success();
    }
    StringRef letter;
    if (parser.parseKeyword(&letter))
      return failure();
    bool isFirst = letter == StringRef(&roles.firstLetter, 1);
    bool isSecond = letter == StringRef(&roles.secondLetter, 1);
    if (!isFirst && !isSecond)
      return parser.emitError(loc) << "expected '" << StringRef(&roles.firstLetter, 1) << "', '"
                                   << StringRef(&roles.secondLetter, 1)
                                   << "' or a spatial dimension, got '" << letter << "'";
    bool &seen = isFirst ? seenFirst : seenSecond;
    if (seen)
      return parser.emitError(loc) << "'" << letter << "' occurs twice";
    seen = true;
    (isFirst ? roles.first : roles.second) = position++;
    return success();
  };
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRole))
    return failure();
  if (!seenFirst || !seenSecond)
    return parser.emitError(loc) << "expected both '" << StringRef(&roles.firstLetter, 1)
                                 << "' and '" << StringRef(&roles.secondLetter, 1) << "'";
  llvm::sort(numbered);
  for (auto [expected, entry] : llvm::enumerate(numbered)) {
    if (entry.first != static_cast<int64_t>(expected))
      return parser.emitError(loc) << "spatial dimensions must be 0 to " << numbered.size() - 1
                                   << ", each once; got " << entry.first;
    roles.spatial.push_back(entry.second);
  }
  return success();
}

/// True if the positions are a permutation, so that the bracketed form exists.
static bool isPermutation(const DimensionRoles &roles) {
  SmallVector<bool> seen(roles.rank(), false);
  auto mark = [&](int64_t position) {
    if (position < 0 || position >= roles.rank() || seen[position])
      return false;
    return seen[position] = true;
  };
  return mark(roles.first) && mark(roles.second) && llvm::all_of(roles.spatial, mark);
}

static void printRoles(AsmPrinter &printer, const DimensionRoles &roles) {
  SmallVector<std::string> names(roles.rank());
  names[roles.first] = roles.firstLetter;
  names[roles.second] = roles.secondLetter;
  for (auto [number, position] : llvm::enumerate(roles.spatial))
    names[position] = std::to_string(number);
  printer << '[' << llvm::join(names, ", ") << ']';
}

/// Parses `raw<...>`: the nine fields in order, for what brackets cannot show.
static Attribute parseRaw(AsmParser &parser) {
  SmallVector<int64_t> scalars(6);
  SmallVector<int64_t> lists[3];
  if (parser.parseLess())
    return {};
  for (int part = 0; part < 3; ++part) {
    if ((part > 0 && parser.parseComma()) || parser.parseInteger(scalars[2 * part]) ||
        parser.parseComma() || parser.parseInteger(scalars[2 * part + 1]) || parser.parseComma() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
          return parser.parseInteger(lists[part].emplace_back());
        }))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return ConvDimensionNumbersAttr::get(parser.getContext(), scalars[0], scalars[1], lists[0],
                                       scalars[2], scalars[3], lists[1], scalars[4], scalars[5],
                                       lists[2]);
}

Attribute ConvDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  Attribute attr;
  if (succeeded(parser.parseOptionalKeyword("raw")))
    attr = parseRaw(parser);
  else if (ConvDimensionNumbersAttr brackets; succeeded(parseConvDimensions(parser, brackets)))
    attr = brackets;
  if (!attr || parser.parseGreater())
    return {};
  return attr;
}

void ConvDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printConvDimensions(printer, *this);
  printer << '>';
}

ParseResult tilewright::stablehlo::parseConvDimensions(AsmParser &parser,
                                                       ConvDimensionNumbersAttr &attr) {
  DimensionRoles input{'b', 'f', 0, 0, {}}, kernel{'i', 'o', 0, 0, {}}, output{'b', 'f', 0, 0, {}};
  // `x[` lexes as a keyword `x`, and `->` as an arrow.
  if (parseRoles(parser, input) || parser.parseKeyword("x") || parseRoles(parser, kernel) ||
      parser.parseArrow() || parseRoles(parser, output))
    return failure();
  attr = ConvDimensionNumbersAttr::get(parser.getContext(), input.first, input.second,
                                       input.spatial, kernel.first, kernel.second, kernel.spatial,
                                       output.first, output.second, output.spatial);
  return success();
}

void tilewright::stablehlo::printConvDimensions(AsmPrinter &printer,
                                                ConvDimensionNumbersAttr attr) {
  DimensionRoles parts[] = {
      {'b', 'f', attr.getInputBatchDimension(), attr.getInputFeatureDimension(),
       SmallVector<int64_t>(attr.getInputSpatialDimensions())},
      {'i', 'o', attr.getKernelInputFeatureDimension(), attr.getKernelOutputFeatureDimension(),
       SmallVector<int64_t>(attr.getKernelSpatialDimensions())},
      {'b', 'f', attr.getOutputBatchDimension(), attr.getOutputFeatureDimension(),
       SmallVector<int64_t>(attr.getOutputSpatialDimensions())}};
  if (llvm::all_of(parts, isPermutation)) {
    printRoles(printer, parts[0]);
    printer << 'x';
    printRoles(printer, parts[1]);
    printer << "->";
    printRoles(printer, parts[2]);
    return;
  }
  printer << "raw<";
  llvm::interleaveComma(parts, printer, [&](const DimensionRoles &roles) {
    printer << roles.first << ", " << roles.second << ", [";
    llvm::interleaveComma(roles.spatial, printer);
    printer << ']';
  });
  printer << '>';
}
