// Parsers and printers of abbreviated types in pretty forms. Each falls back to `(operands...) ->
// results` if the types cannot be abbreviated.
#include "tilewright/dialect/stablehlo/StablehloSyntax.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace tilewright::stablehlo {

/// Assigns the types of a function type to `operands` and `result`.
static ParseResult takeSignature(OpAsmParser &parser, llvm::SMLoc loc, FunctionType signature,
                                 ArrayRef<Type *> types) {
  if (signature.getNumInputs() + 1 != types.size() || signature.getNumResults() != 1)
    return parser.emitError(loc) << "expected " << types.size() - 1
                                 << " operand types and one result type, got "
                                 << signature.getNumInputs() << " and "
                                 << signature.getNumResults();
  for (auto [type, input] : llvm::zip_equal(types.drop_back(), signature.getInputs()))
    *type = input;
  *types.back() = signature.getResult(0);
  return success();
}

/// Prints `(operands...) -> result`.
static void printSignature(OpAsmPrinter &printer, ArrayRef<Type> types) {
  printer.printFunctionalType(types.drop_back(), types.take_back());
}

ParseResult detail::parseShortType(OpAsmParser &parser, ArrayRef<Type *> types) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto signature = dyn_cast<FunctionType>(type))
    return takeSignature(parser, loc, signature, types);
  for (Type *each : types)
    *each = type;
  return success();
}

void detail::printShortType(OpAsmPrinter &printer, ArrayRef<Type> types) {
  if (llvm::all_equal(types))
    printer << types.back();
  else
    printSignature(printer, types);
}

/// The component type of a complex tensor; null if `type` is not complex.
static Type partType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto complex = tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  return complex ? tensor.clone(complex.getElementType()) : Type();
}

ParseResult parseComplexType(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto signature = dyn_cast<FunctionType>(type))
    return takeSignature(parser, loc, signature, {&lhs, &rhs, &result});
  lhs = rhs = partType(type);
  result = type;
  if (!lhs)
    return parser.emitError(loc) << "expected a tensor of complex numbers, got " << type;
  return success();
}

void printComplexType(OpAsmPrinter &printer, Operation *, Type lhs, Type rhs, Type result) {
  if (lhs == rhs && lhs == partType(result))
    printer << result;
  else
    printSignature(printer, {lhs, rhs, result});
}

ParseResult parseSelectType(OpAsmParser &parser, Type &pred, Type &onTrue, Type &onFalse,
                            Type &result) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto signature = dyn_cast<FunctionType>(type))
    return takeSignature(parser, loc, signature, {&pred, &onTrue, &onFalse, &result});
  pred = type;
  if (parser.parseComma() || parser.parseType(type))
    return failure();
  onTrue = onFalse = result = type;
  return success();
}

void printSelectType(OpAsmPrinter &printer, Operation *, Type pred, Type onTrue, Type onFalse,
                     Type result) {
  if (onTrue == onFalse && onTrue == result)
    printer << pred << ", " << result;
  else
    printSignature(printer, {pred, onTrue, onFalse, result});
}

ParseResult parseTupleType(OpAsmParser &parser, SmallVectorImpl<Type> &values, Type &result) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto signature = dyn_cast<FunctionType>(type)) {
    if (signature.getNumResults() != 1)
      return parser.emitError(loc) << "expected one result type, got " << signature.getNumResults();
    llvm::append_range(values, signature.getInputs());
    result = signature.getResult(0);
    return success();
  }
  auto tuple = dyn_cast<TupleType>(type);
  if (!tuple)
    return parser.emitError(loc) << "expected a tuple type, got " << type;
  llvm::append_range(values, tuple.getTypes());
  result = tuple;
  return success();
}

void printTupleType(OpAsmPrinter &printer, Operation *, TypeRange values, Type result) {
  auto tuple = dyn_cast<TupleType>(result);
  if (tuple && TypeRange(tuple.getTypes()) == values)
    printer << result;
  else
    printer.printFunctionalType(values, TypeRange(result));
}

ParseResult parsePairwiseTypes(OpAsmParser &parser, SmallVectorImpl<Type> &operands,
                               SmallVectorImpl<Type> &results) {
  if (parser.parseTypeList(operands))
    return failure();
  if (operands.size() == 1) {
    if (auto signature = dyn_cast<FunctionType>(operands[0])) {
      operands.assign(signature.getInputs().begin(), signature.getInputs().end());
      results.assign(signature.getResults().begin(), signature.getResults().end());
      return success();
    }
  }
  results.assign(operands.begin(), operands.end());
  return success();
}

void printPairwiseTypes(OpAsmPrinter &printer, Operation *, TypeRange operands, TypeRange results) {
  if (operands == results)
    llvm::interleaveComma(operands, printer);
  else
    printer.printFunctionalType(operands, results);
}

ParseResult parseUniformType(OpAsmParser &parser, ArrayRef<OpAsmParser::UnresolvedOperand> operands,
                             SmallVectorImpl<Type> &operandTypes, Type &result) {
  if (parser.parseType(result))
    return failure();
  operandTypes.assign(operands.size(), result);
  return success();
}

void printUniformType(OpAsmPrinter &printer, Operation *, OperandRange, TypeRange, Type result) {
  printer << result;
}

} // namespace tilewright::stablehlo
