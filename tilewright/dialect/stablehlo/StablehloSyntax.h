// Parsers and printers of the `custom<...>` directives of assembly formats. They follow the public
// StableHLO syntax. MLIR prints an op that fails verification in generic form, so printers may rely
// on what verifiers check.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOSYNTAX_H
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOSYNTAX_H

#include "tilewright/dialect/stablehlo/StablehloAttrs.h"

#include "mlir/IR/OpImplementation.h"

namespace tilewright::stablehlo {

//===- Types --------------------------------------------------------------===//

namespace detail {
/// Parses or prints a single type if all operands and the result have it, otherwise `(operands...)
/// -> result`. The last of `types` is the result's.
mlir::ParseResult parseShortType(mlir::OpAsmParser &parser, llvm::ArrayRef<mlir::Type *> types);
void printShortType(mlir::OpAsmPrinter &printer, llvm::ArrayRef<mlir::Type> types);
} // namespace detail

template <typename... Types>
mlir::ParseResult parseShortType(mlir::OpAsmParser &parser, Types &...types) {
  mlir::Type *all[] = {&types...};
  return detail::parseShortType(parser, all);
}
template <typename... Types>
void printShortType(mlir::OpAsmPrinter &printer, mlir::Operation *, Types... types) {
  mlir::Type all[] = {types...};
  detail::printShortType(printer, all);
}

/// Parses or prints only the result's type, if the operands have its component type.
mlir::ParseResult parseComplexType(mlir::OpAsmParser &parser, mlir::Type &lhs, mlir::Type &rhs,
                                   mlir::Type &result);
void printComplexType(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Type lhs,
                      mlir::Type rhs, mlir::Type result);

/// `tensor<4xi1>, tensor<4xf32>`: the type of the predicate, then a single type for the other
/// operands and the result.
mlir::ParseResult parseSelectType(mlir::OpAsmParser &parser, mlir::Type &pred, mlir::Type &onTrue,
                                  mlir::Type &onFalse, mlir::Type &result);
void printSelectType(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Type pred,
                     mlir::Type onTrue, mlir::Type onFalse, mlir::Type result);

/// Parses or prints only the tuple's type, if the values have its element types.
mlir::ParseResult parseTupleType(mlir::OpAsmParser &parser,
                                 llvm::SmallVectorImpl<mlir::Type> &values, mlir::Type &result);
void printTupleType(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::TypeRange values,
                    mlir::Type result);

/// Parses or prints only one list of types, if the results have the operands' types.
mlir::ParseResult parsePairwiseTypes(mlir::OpAsmParser &parser,
                                     llvm::SmallVectorImpl<mlir::Type> &operands,
                                     llvm::SmallVectorImpl<mlir::Type> &results);
void printPairwiseTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::TypeRange operands,
                        mlir::TypeRange results);

/// Parses or prints a single type for every operand and the result.
mlir::ParseResult parseUniformType(mlir::OpAsmParser &parser,
                                   llvm::ArrayRef<mlir::OpAsmParser::UnresolvedOperand> operands,
                                   llvm::SmallVectorImpl<mlir::Type> &operandTypes,
                                   mlir::Type &result);
void printUniformType(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::OperandRange operands,
                      mlir::TypeRange operandTypes, mlir::Type result);

//===- Operands -----------------------------------------------------------===//

/// `%a, %b,`: operands before an attribute, each followed by a comma.
mlir::ParseResult
parseOperandsThenComma(mlir::OpAsmParser &parser,
                       llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &operands);
void printOperandsThenComma(mlir::OpAsmPrinter &printer, mlir::Operation *,
                            mlir::OperandRange operands);

//===- Attributes ---------------------------------------------------------===//

/// `[1:3, 4:8:2]`: start, limit, and stride if not 1.
mlir::ParseResult parseSliceRanges(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &starts,
                                   mlir::DenseI64ArrayAttr &limits,
                                   mlir::DenseI64ArrayAttr &strides);
void printSliceRanges(mlir::OpAsmPrinter &printer, mlir::Operation *,
                      llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> limits,
                      llvm::ArrayRef<int64_t> strides);

/// `e5m10`
mlir::ParseResult parseExponentMantissa(mlir::OpAsmParser &parser, mlir::IntegerAttr &exponent,
                                        mlir::IntegerAttr &mantissa);
void printExponentMantissa(mlir::OpAsmPrinter &printer, mlir::Operation *,
                           mlir::IntegerAttr exponent, mlir::IntegerAttr mantissa);

/// `batching_dims = [0] x [0], contracting_dims = [2] x [1]`
mlir::ParseResult parseDotDimensions(mlir::OpAsmParser &parser, DotDimensionNumbersAttr &attr);
void printDotDimensions(mlir::OpAsmPrinter &printer, mlir::Operation *,
                        DotDimensionNumbersAttr attr);

/// `, precision = [HIGH, DEFAULT]` and `, algorithm = <...>`, both optional.
mlir::ParseResult parseDotArithmetic(mlir::OpAsmParser &parser, mlir::ArrayAttr &precision,
                                     DotAlgorithmAttr &algorithm);
void printDotArithmetic(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::ArrayAttr precision,
                        DotAlgorithmAttr algorithm);
mlir::ParseResult parsePrecision(mlir::OpAsmParser &parser, mlir::ArrayAttr &precision);
void printPrecision(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::ArrayAttr precision);

mlir::ParseResult parseConvDimensions(mlir::OpAsmParser &parser, ConvDimensionNumbersAttr &attr);
void printConvDimensions(mlir::OpAsmPrinter &printer, mlir::Operation *,
                         ConvDimensionNumbersAttr attr);

/// `stride = [2, 2], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate =
/// [1, 1], reverse = [false, false]`, each optional.
mlir::ParseResult parseWindow(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &strides,
                              mlir::DenseIntElementsAttr &padding,
                              mlir::DenseI64ArrayAttr &lhsDilation,
                              mlir::DenseI64ArrayAttr &rhsDilation,
                              mlir::DenseBoolArrayAttr &reversal);
void printWindow(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::DenseI64ArrayAttr strides,
                 mlir::DenseIntElementsAttr padding, mlir::DenseI64ArrayAttr lhsDilation,
                 mlir::DenseI64ArrayAttr rhsDilation, mlir::DenseBoolArrayAttr reversal);

/// `@target`, although the target is a string and not a symbol of the module.
mlir::ParseResult parseCallTarget(mlir::OpAsmParser &parser, mlir::StringAttr &target);
void printCallTarget(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::StringAttr target);

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOSYNTAX_H
