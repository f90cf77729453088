// The syntax of sdy ops, which is Shardy's, and the code that mlir-tblgen writes for them.
#include "tilewright/dialect/sdy/SdyDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace tilewright::sdy;

/// Parses `[<@mesh, […]>, …]`: shardings without the `#sdy.sharding` prefix.
static ParseResult parseStrippedShardings(OpAsmParser &parser, TensorShardingPerValueAttr &attr) {
  SmallVector<TensorShardingAttr> shardings;
  auto parseSharding = [&]() -> ParseResult {
    FailureOr<TensorShardingAttr> sharding = FieldParser<TensorShardingAttr>::parse(parser);
    if (failed(sharding))
      return failure();
    shardings.push_back(*sharding);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseSharding))
    return failure();
  attr = TensorShardingPerValueAttr::get(parser.getContext(), shardings);
  return success();
}

static void printStrippedShardings(OpAsmPrinter &printer, Operation *,
                                   TensorShardingPerValueAttr attr) {
  printer << "[";
  printer.printStrippedAttrOrType(attr.getShardings());
  printer << "]";
}

/// Parses `(%a: type, …) { … }`: a region preceded by its arguments.
static ParseResult parseBodyWithArguments(OpAsmParser &parser, Region &region) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true,
                               /*allowAttrs=*/true) ||
      parser.parseRegion(region, arguments))
    return failure();
  ManualComputationOp::ensureTerminator(region, parser.getBuilder(),
                                        parser.getEncodedSourceLoc(parser.getNameLoc()));
  return success();
}

static void printBodyWithArguments(OpAsmPrinter &printer, Operation *, Region &region) {
  printer << "(";
  llvm::interleaveComma(region.getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}

#define GET_OP_CLASSES
#include "tilewright/dialect/sdy/SdyOps.cpp.inc"

void SdyDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "tilewright/dialect/sdy/SdyOps.cpp.inc"
      >();
}
