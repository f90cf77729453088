// The textual form of convolution dimension numbers:
// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
#include "tilewright/dialect/stablehlo/StablehloAttrs.h"

#include "llvm/ADT/StringExtras.h"

#include <array>

using namespace mlir;
using namespace tilewright::stablehlo;

namespace {
/// One of the three bracketed lists: two dimensions named by letters, and the spatial dimensions.
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

/// Whether the positions are a permutation; otherwise they have no bracketed form.
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

/// The names of the nine fields after `raw`: two dimensions and the spatial dimensions of each
/// list.
static constexpr StringLiteral rawNames[3][3] = {
    {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
    {"kernel_input_feature_dimension", "kernel_output_feature_dimension",
     "kernel_spatial_dimensions"},
    {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"}};

/// Parses `name = value, ...`, the form of dimension numbers that brackets cannot express. Omitted
/// numbers are 0, and omitted lists are empty.
static ParseResult parseRaw(AsmParser &parser, MutableArrayRef<DimensionRoles> parts) {
  do {
    llvm::SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    bool known = false;
    for (auto [roles, names] : llvm::zip_equal(parts, rawNames)) {
      known |= llvm::is_contained(names, name);
      if ((name == names[0] && parser.parseInteger(roles.first)) ||
          (name == names[1] && parser.parseInteger(roles.second)) ||
          (name == names[2] &&
           parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&roles = roles, &parser] {
             return parser.parseInteger(roles.spatial.emplace_back());
           })))
        return failure();
    }
    if (!known)
      return parser.emitError(loc) << "expected a convolution dimension, got '" << name << "'";
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

static ConvDimensionNumbersAttr makeAttr(MLIRContext *context, ArrayRef<DimensionRoles> parts) {
  return ConvDimensionNumbersAttr::get(context, parts[0].first, parts[0].second, parts[0].spatial,
                                       parts[1].first, parts[1].second, parts[1].spatial,
                                       parts[2].first, parts[2].second, parts[2].spatial);
}

/// Three empty lists.
static std::array<DimensionRoles, 3> emptyRoles() {
  return {{{'b', 'f', 0, 0, {}}, {'i', 'o', 0, 0, {}}, {'b', 'f', 0, 0, {}}}};
}

Attribute ConvDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  ConvDimensionNumbersAttr attr;
  if (succeeded(parser.parseOptionalKeyword("raw"))) {
    std::array<DimensionRoles, 3> parts = emptyRoles();
    if (parseRaw(parser, parts))
      return {};
    attr = makeAttr(parser.getContext(), parts);
  } else if (parseConvDimensions(parser, attr)) {
    return {};
  }
  return parser.parseGreater() ? Attribute() : attr;
}

void ConvDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printConvDimensions(printer, *this);
  printer << '>';
}

ParseResult tilewright::stablehlo::parseConvDimensions(AsmParser &parser,
                                                       ConvDimensionNumbersAttr &attr) {
  auto parts = emptyRoles();
  // `x[` lexes as a keyword `x`, and `->` as an arrow.
  if (parseRoles(parser, parts[0]) || parser.parseKeyword("x") || parseRoles(parser, parts[1]) ||
      parser.parseArrow() || parseRoles(parser, parts[2]))
    return failure();
  attr = makeAttr(parser.getContext(), parts);
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
  printer << "raw ";
  llvm::interleaveComma(llvm::zip_equal(parts, rawNames), printer, [&](auto part) {
    auto &[roles, names] = part;
    printer << names[0] << " = " << roles.first << ", " << names[1] << " = " << roles.second << ", "
            << names[2] << " = [";
    llvm::interleaveComma(roles.spatial, printer);
    printer << ']';
  });
}
