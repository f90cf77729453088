// The ops whose syntax a format string cannot describe: constant, reduce, while.
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::stablehlo {

//===- constant -----------------------------------------------------------===//
// `stablehlo.constant {note = 1} dense<1> : tensor<i32>`, or, if the types of the value and the
// result differ, as for quantized constants, `stablehlo.constant() <{value = dense<1> :
// tensor<i8>}> : () -> tensor<!quant...>`

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  if (succeeded(parser.parseOptionalLParen())) {
    FunctionType type;
    if (parser.parseRParen())
      return failure();
    if (succeeded(parser.parseOptionalLess())) {
      DictionaryAttr properties;
      if (parser.parseAttribute(properties) || parser.parseGreater())
        return failure();
      result.addAttributes(properties.getValue());
    }
    if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type))
      return failure();
    result.addTypes(type.getResults());
    return success();
  }
  ElementsAttr value;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseAttribute(value))
    return failure();
  result.getOrAddProperties<Properties>().value = value;
  result.addTypes(value.getType());
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  if (getValue().getType() == getType()) {
    printer.printOptionalAttrDict((*this)->getDiscardableAttrDictionary().getValue());
    printer << ' ' << getValue();
    return;
  }
  printer << "() <{value = " << getValue() << "}>";
  printer.printOptionalAttrDict((*this)->getDiscardableAttrDictionary().getValue());
  printer << " : ";
  printer.printFunctionalType(*this);
}

void ConstantOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  setName(getResult(), isa<IntegerType>(getType().getElementType()) ? "c" : "cst");
}

//===- reduce -------------------------------------------------------------===//
// `(%x init: %zero) applies stablehlo.add across dimensions = [1] : types` if the body is a single
// such op; otherwise the body follows as `reducer(%a: T, %b: T) {...}`, with one pair of parameters
// per input.

/// The op that the short form names: the only op of the body, applied to the block's two arguments
/// in order. Null if the body has another form.
static Operation *findOnlyCombiner(ReduceOp reduce) {
  Block &body = reduce.getBody().front();
  if (reduce.getInputs().size() != 1 || body.getNumArguments() != 2 || !llvm::hasNItems(body, 2))
    return nullptr;
  Operation &combiner = body.front();
  Operation *end = body.getTerminator();
  // Ops whose reduction does not depend on the order.
  if (!isa<AddOp, MultiplyOp, MaximumOp, MinimumOp, AndOp, OrOp, XorOp>(combiner) ||
      !combiner.getAttrs().empty() || !end->getAttrs().empty() ||
      !llvm::equal(combiner.getOperands(), body.getArguments()) ||
      !llvm::equal(end->getOperands(), combiner.getResults()))
    return nullptr;
  // The parser rebuilds the body from the type of the input.
  auto input = dyn_cast<RankedTensorType>(reduce.getInputs().front().getType());
  if (!input)
    return nullptr;
  Type scalar = RankedTensorType::get({}, input.getElementType());
  bool rebuildable = llvm::all_of(combiner.getOperandTypes(), [&](Type t) { return t == scalar; });
  return rebuildable && combiner.getResult(0).getType() == scalar ? &combiner : nullptr;
}

/// Fills `region` with a body that applies the op `name` to two scalars.
static ParseResult buildCombiner(OpAsmParser &parser, llvm::SMLoc loc, OperationName name,
                                 Type inputType, Region &region) {
  auto input = dyn_cast<RankedTensorType>(inputType);
  if (!input)
    return parser.emitError(loc) << "expected a tensor to reduce, got " << inputType;
  if (!llvm::is_contained({"stablehlo.add", "stablehlo.multiply", "stablehlo.maximum",
                           "stablehlo.minimum", "stablehlo.and", "stablehlo.or", "stablehlo.xor"},
                          name.getStringRef()))
    return parser.emitError(loc) << "the short form of reduce supports only add, multiply, "
                                    "maximum, minimum, and, or, xor; got "
                                 << name;
  Location location = parser.getEncodedSourceLoc(loc);
  Type scalar = RankedTensorType::get({}, input.getElementType());
  Block &body = region.emplaceBlock();
  body.addArguments({scalar, scalar}, {location, location});
  // The region has no parent op yet, so the context comes from the parser.
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&body);
  OperationState state(location, name);
  state.addOperands(body.getArguments());
  state.addTypes(scalar);
  ReturnOp::create(builder, location, builder.create(state)->getResults());
  return success();
}

/// Parses N pairs `(%a: T, %b: U) ...` into 2N arguments, first the left arguments of all pairs.
static ParseResult parseReducerArguments(OpAsmParser &parser, size_t pairs,
                                         SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  SmallVector<OpAsmParser::Argument> right;
  for (size_t i = 0; i < pairs; ++i)
    if (parser.parseLParen() ||
        parser.parseArgument(arguments.emplace_back(), /*allowType=*/true) || parser.parseComma() ||
        parser.parseArgument(right.emplace_back(), /*allowType=*/true) || parser.parseRParen())
      return failure();
  arguments.append(right);
  return success();
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands, inits;
  llvm::SMLoc loc = parser.getCurrentLocation();
  do {
    if (parser.parseLParen() || parser.parseOperand(operands.emplace_back()) ||
        parser.parseKeyword("init") || parser.parseColon() ||
        parser.parseOperand(inits.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  size_t pairs = operands.size();
  operands.append(inits);

  std::optional<OperationName> combiner;
  llvm::SMLoc combinerLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("applies"))) {
    FailureOr<OperationName> name = parser.parseCustomOperationName();
    if (failed(name))
      return failure();
    combiner = *name;
  }
  SmallVector<int64_t> dimensions;
  FunctionType type;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&] { return parser.parseInteger(dimensions.emplace_back()); }) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), loc, result.operands))
    return failure();
  result.getOrAddProperties<Properties>().dimensions =
      parser.getBuilder().getDenseI64ArrayAttr(dimensions);
  result.addTypes(type.getResults());

  Region &body = *result.addRegion();
  if (combiner)
    return buildCombiner(parser, combinerLoc, *combiner, type.getInput(0), body);
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseKeyword("reducer") || parseReducerArguments(parser, pairs, arguments))
    return failure();
  return parser.parseRegion(body, arguments);
}

void ReduceOp::print(OpAsmPrinter &printer) {
  llvm::interleaveComma(llvm::zip(getInputs(), getInitValues()), printer, [&](auto pair) {
    printer << '(' << std::get<0>(pair) << " init: " << std::get<1>(pair) << ')';
  });
  Operation *combiner = findOnlyCombiner(*this);
  if (combiner)
    printer << " applies " << combiner->getName();
  printer << " across dimensions = [";
  llvm::interleaveComma(getDimensions(), printer);
  printer << ']';
  printer.printOptionalAttrDict((*this)->getDiscardableAttrDictionary().getValue());
  printer << " : ";
  printer.printFunctionalType(*this);
  if (combiner)
    return;
  printer.printNewline();
  printer << " reducer";
  Block::BlockArgListType arguments = getBody().getArguments();
  size_t pairs = arguments.size() / 2;
  for (size_t i = 0; i < pairs; ++i) {
    printer << '(';
    printer.printRegionArgument(arguments[i]);
    printer << ", ";
    printer.printRegionArgument(arguments[pairs + i]);
    printer << ") ";
  }
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===- while --------------------------------------------------------------===//
// `(%i = %start, ...) : types cond {...} do {...}`. Both regions use the argument names of the
// first list.

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  llvm::SMLoc loc = parser.getCurrentLocation();
  auto parseCarried = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseCarried))
    return failure();
  if (!operands.empty() && parser.parseColonTypeList(result.types))
    return failure();
  if (parser.resolveOperands(operands, result.types, loc, result.operands))
    return failure();
  for (auto [argument, type] : llvm::zip_equal(arguments, result.types))
    argument.type = type;
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseKeyword("cond") ||
      parser.parseRegion(*result.addRegion(), arguments) || parser.parseKeyword("do") ||
      parser.parseRegion(*result.addRegion(), arguments))
    return failure();
  return success();
}

void WhileOp::print(OpAsmPrinter &printer) {
  printer << '(';
  llvm::interleaveComma(llvm::zip(getCond().getArguments(), getOperand()), printer, [&](auto pair) {
    printer << std::get<0>(pair) << " = " << std::get<1>(pair);
  });
  printer << ')';
  if (getNumOperands() > 0) {
    printer << " : ";
    llvm::interleaveComma(getOperandTypes(), printer);
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getDiscardableAttrDictionary().getValue());
  printer.printNewline();
  printer << " cond ";
  printer.printRegion(getCond(), /*printEntryBlockArgs=*/false);
  printer << " do ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void WhileOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  // The syntax requires the same names in both regions.
  for (BlockArgument argument : region.getArguments())
    setName(argument, "iterArg");
}

} // namespace tilewright::stablehlo
