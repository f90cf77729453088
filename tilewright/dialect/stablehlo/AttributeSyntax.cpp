// Parsers and printers of operand lists and attributes in pretty forms.
#include "tilewright/dialect/stablehlo/StablehloSyntax.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::stablehlo {

//===- Lists --------------------------------------------------------------===//

static ParseResult parseIntegers(AsmParser &parser, SmallVectorImpl<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(values.emplace_back()); });
}

static void printIntegers(AsmPrinter &printer, ArrayRef<int64_t> values) {
  printer << '[';
  llvm::interleaveComma(values, printer);
  printer << ']';
}

ParseResult parseOperandsThenComma(OpAsmParser &parser,
                                   SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands) {
  while (true) {
    OpAsmParser::UnresolvedOperand operand;
    OptionalParseResult parsed = parser.parseOptionalOperand(operand);
    if (!parsed.has_value())
      return success();
    if (failed(*parsed) || parser.parseComma())
      return failure();
    operands.push_back(operand);
  }
}

void printOperandsThenComma(OpAsmPrinter &printer, Operation *, OperandRange operands) {
  llvm::interleave(operands, printer, [&](Value operand) { printer << operand << ","; }, " ");
}

//===- Slices and formats -------------------------------------------------===//

ParseResult parseSliceRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts,
                             DenseI64ArrayAttr &limits, DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> start, limit, stride;
  auto parseRange = [&]() -> ParseResult {
    stride.push_back(1);
    if (parser.parseInteger(start.emplace_back()) || parser.parseColon() ||
        parser.parseInteger(limit.emplace_back()))
      return failure();
    if (succeeded(parser.parseOptionalColon()))
      return parser.parseInteger(stride.back());
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRange))
    return failure();
  starts = parser.getBuilder().getDenseI64ArrayAttr(start);
  limits = parser.getBuilder().getDenseI64ArrayAttr(limit);
  strides = parser.getBuilder().getDenseI64ArrayAttr(stride);
  return success();
}

void printSliceRanges(OpAsmPrinter &printer, Operation *, ArrayRef<int64_t> starts,
                      ArrayRef<int64_t> limits, ArrayRef<int64_t> strides) {
  printer << '[';
  llvm::interleaveComma(llvm::zip(starts, limits, strides), printer, [&](auto range) {
    auto [start, limit, stride] = range;
    printer << start << ':' << limit;
    if (stride != 1)
      printer << ':' << stride;
  });
  printer << ']';
}

ParseResult parseExponentMantissa(OpAsmParser &parser, IntegerAttr &exponent,
                                  IntegerAttr &mantissa) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  StringRef format, rest;
  if (parser.parseKeyword(&format))
    return failure();
  rest = format;
  int32_t exponentBits, mantissaBits;
  if (!rest.consume_front("e") || rest.consumeInteger(10, exponentBits) ||
      !rest.consume_front("m") || rest.consumeInteger(10, mantissaBits) || !rest.empty())
    return parser.emitError(loc) << "expected a float format such as e5m10, got " << format;
  exponent = parser.getBuilder().getI32IntegerAttr(exponentBits);
  mantissa = parser.getBuilder().getI32IntegerAttr(mantissaBits);
  return success();
}

void printExponentMantissa(OpAsmPrinter &printer, Operation *, IntegerAttr exponent,
                           IntegerAttr mantissa) {
  printer << 'e' << exponent.getInt() << 'm' << mantissa.getInt();
}

//===- Products -----------------------------------------------------------===//

/// Parses `= [0] x [1]`.
static ParseResult parsePairs(AsmParser &parser, SmallVectorImpl<int64_t> &lhs,
                              SmallVectorImpl<int64_t> &rhs) {
  return failure(parser.parseEqual() || parseIntegers(parser, lhs) || parser.parseKeyword("x") ||
                 parseIntegers(parser, rhs));
}

ParseResult parseDotDimensions(OpAsmParser &parser, DotDimensionNumbersAttr &attr) {
  SmallVector<int64_t> lhsBatching, rhsBatching, lhsContracting, rhsContracting;
  if (succeeded(parser.parseOptionalKeyword("batching_dims")) &&
      (parsePairs(parser, lhsBatching, rhsBatching) || parser.parseComma()))
    return failure();
  if (parser.parseKeyword("contracting_dims") || parsePairs(parser, lhsContracting, rhsContracting))
    return failure();
  attr = DotDimensionNumbersAttr::get(parser.getContext(), lhsBatching, rhsBatching, lhsContracting,
                                      rhsContracting);
  return success();
}

void printDotDimensions(OpAsmPrinter &printer, Operation *, DotDimensionNumbersAttr attr) {
  auto printPairs = [&](ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
    printIntegers(printer, lhs);
    printer << " x ";
    printIntegers(printer, rhs);
  };
  if (!attr.getLhsBatchingDimensions().empty() || !attr.getRhsBatchingDimensions().empty()) {
    printer << "batching_dims = ";
    printPairs(attr.getLhsBatchingDimensions(), attr.getRhsBatchingDimensions());
    printer << ", ";
  }
  printer << "contracting_dims = ";
  printPairs(attr.getLhsContractingDimensions(), attr.getRhsContractingDimensions());
}

/// `= [HIGH, DEFAULT]`
static ParseResult parsePrecisionList(AsmParser &parser, ArrayAttr &precision) {
  SmallVector<Attribute> entries;
  if (parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        PrecisionAttr entry;
        if (parser.parseCustomAttributeWithFallback(entry))
          return failure();
        entries.push_back(entry);
        return success();
      }))
    return failure();
  precision = parser.getBuilder().getArrayAttr(entries);
  return success();
}

ParseResult parseDotArithmetic(OpAsmParser &parser, ArrayAttr &precision,
                               DotAlgorithmAttr &algorithm) {
  while (succeeded(parser.parseOptionalComma())) {
    if (!precision && !algorithm && succeeded(parser.parseOptionalKeyword("precision"))) {
      if (parsePrecisionList(parser, precision))
        return failure();
    } else if (parser.parseKeyword("algorithm") || parser.parseEqual() ||
               parser.parseCustomAttributeWithFallback(algorithm)) {
      return failure();
    }
  }
  return success();
}

void printDotArithmetic(OpAsmPrinter &printer, Operation *op, ArrayAttr precision,
                        DotAlgorithmAttr algorithm) {
  printPrecision(printer, op, precision);
  if (algorithm) {
    printer << ", algorithm = ";
    printer.printStrippedAttrOrType(algorithm);
  }
}

ParseResult parsePrecision(OpAsmParser &parser, ArrayAttr &precision) {
  if (failed(parser.parseOptionalComma()))
    return success();
  return failure(parser.parseKeyword("precision") || parsePrecisionList(parser, precision));
}

void printPrecision(OpAsmPrinter &printer, Operation *, ArrayAttr precision) {
  if (!precision)
    return;
  printer << ", precision = [";
  llvm::interleaveComma(precision.getAsRange<PrecisionAttr>(), printer, [&](PrecisionAttr entry) {
    printer << stringifyPrecision(entry.getValue());
  });
  printer << ']';
}

//===- Convolutions -------------------------------------------------------===//

ParseResult parseConvDimensions(OpAsmParser &parser, ConvDimensionNumbersAttr &attr) {
  return parseConvDimensions(static_cast<AsmParser &>(parser), attr);
}

void printConvDimensions(OpAsmPrinter &printer, Operation *, ConvDimensionNumbersAttr attr) {
  printConvDimensions(printer, attr);
}

/// Parses `[[1, 1], [0, 2]]`, a list of pairs.
static ParseResult parsePadding(AsmParser &parser, DenseIntElementsAttr &padding) {
  SmallVector<int64_t> entries;
  int64_t rows = 0;
  auto parseRow = [&]() -> ParseResult {
    llvm::SMLoc loc = parser.getCurrentLocation();
    size_t before = entries.size();
    if (parseIntegers(parser, entries))
      return failure();
    if (entries.size() != before + 2)
      return parser.emitError(loc)
             << "expected low and high padding, got " << entries.size() - before << " numbers";
    ++rows;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRow))
    return failure();
  Type i64 = parser.getBuilder().getI64Type();
  padding = DenseIntElementsAttr::get(RankedTensorType::get({rows, 2}, i64), entries);
  return success();
}

ParseResult parseWindow(OpAsmParser &parser, DenseI64ArrayAttr &strides,
                        DenseIntElementsAttr &padding, DenseI64ArrayAttr &lhsDilation,
                        DenseI64ArrayAttr &rhsDilation, DenseBoolArrayAttr &reversal) {
  auto parseList = [&](DenseI64ArrayAttr &list) -> ParseResult {
    SmallVector<int64_t> values;
    if (parseIntegers(parser, values))
      return failure();
    list = parser.getBuilder().getDenseI64ArrayAttr(values);
    return success();
  };
  auto parseField = [&]() -> ParseResult {
    llvm::SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (name == "stride")
      return parseList(strides);
    if (name == "pad")
      return parsePadding(parser, padding);
    if (name == "lhs_dilate")
      return parseList(lhsDilation);
    if (name == "rhs_dilate")
      return parseList(rhsDilation);
    if (name == "reverse") {
      SmallVector<bool> values;
      auto parseFlag = [&]() -> ParseResult {
        // Some producers write flags as numbers.
        int64_t flag = 0;
        OptionalParseResult number = parser.parseOptionalInteger(flag);
        if (number.has_value()) {
          values.push_back(flag != 0);
          return *number;
        }
        bool isTrue = succeeded(parser.parseOptionalKeyword("true"));
        values.push_back(isTrue);
        return isTrue ? success() : parser.parseKeyword("false");
      };
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseFlag))
        return failure();
      reversal = parser.getBuilder().getDenseBoolArrayAttr(values);
      return success();
    }
    return parser.emitError(loc) << "expected stride, pad, lhs_dilate, rhs_dilate or reverse, got "
                                 << name;
  };
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseField);
}

void printWindow(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr strides,
                 DenseIntElementsAttr padding, DenseI64ArrayAttr lhsDilation,
                 DenseI64ArrayAttr rhsDilation, DenseBoolArrayAttr reversal) {
  StringRef separator = "";
  auto begin = [&](StringRef name) -> OpAsmPrinter & {
    printer << separator << name << " = ";
    separator = ", ";
    return printer;
  };
  printer << '{';
  if (strides)
    printIntegers(begin("stride"), strides.asArrayRef());
  if (padding) {
    begin("pad") << '[';
    auto values = padding.getValues<int64_t>();
    for (int64_t row = 0, rows = padding.getNumElements() / 2; row < rows; ++row) {
      printer << (row == 0 ? "" : ", ");
      printIntegers(printer, {values[2 * row], values[2 * row + 1]});
    }
    printer << ']';
  }
  if (lhsDilation)
    printIntegers(begin("lhs_dilate"), lhsDilation.asArrayRef());
  if (rhsDilation)
    printIntegers(begin("rhs_dilate"), rhsDilation.asArrayRef());
  if (reversal) {
    begin("reverse") << '[';
    llvm::interleaveComma(reversal.asArrayRef(), printer,
                          [&](bool flag) { printer << (flag ? "true" : "false"); });
    printer << ']';
  }
  printer << '}';
}

//===- Calls --------------------------------------------------------------===//

ParseResult parseCallTarget(OpAsmParser &parser, StringAttr &target) {
  return parser.parseSymbolName(target);
}

void printCallTarget(OpAsmPrinter &printer, Operation *, StringAttr target) {
  printer.printSymbolName(target);
}

} // namespace tilewright::stablehlo
