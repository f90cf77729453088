// Constraints of dot_general and dot, and the rules of quantized products that
// dot_general and convolution share.
#include "tilewright/dialect/stablehlo/verify/VerifyProducts.h"

#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

using namespace mlir;
using namespace tilewright::stablehlo;

//===----------------------------------------------------------------------===//
// Element types of products
//===----------------------------------------------------------------------===//

/// 0 for booleans, 1 for integers, 2 for floats, 3 for complex numbers.
static int kindOfNumber(Type element) {
  if (element.isInteger(1))
    return 0;
  return isa<IntegerType>(element) ? 1 : isa<FloatType>(element) ? 2 : 3;
}

LogicalResult tilewright::stablehlo::verifyProductElements(Operation *op, Type lhs, Type rhs,
                                                           Type result) {
  auto reject = [&](StringRef rule) {
    return op->emitOpError() << rule << ", got " << lhs << ", " << rhs << " and " << result;
  };
  auto lhsQuantized = dyn_cast<quant::QuantizedType>(lhs);
  auto rhsQuantized = dyn_cast<quant::QuantizedType>(rhs);
  auto resultQuantized = dyn_cast<quant::QuantizedType>(result);
  if (!lhsQuantized && !rhsQuantized && !resultQuantized) {
    // dot_general_c13, convolution_c27, dynamic_conv_c27. The specification requires the same type,
    // but producers multiply f8E4M3FN by f8E5M2 and accumulate in f32. So only the kind of number
    // must be the same. The result may be of any kind: JAX's preferred_element_type requests
    // products of i8 in f32.
    if (kindOfNumber(lhs) != kindOfNumber(rhs))
      return reject("operands must be the same kind of number");
    return success();
  }
  // dot_general_c14, convolution_c28, dynamic_conv_c28
  if (!rhsQuantized || !lhsQuantized != !resultQuantized)
    return reject("rhs must be quantized, and lhs must be quantized if and only if the result is");
  if (!lhsQuantized) {
    // dot_general_c20, convolution_c34, dynamic_conv_c34
    if (lhs != rhsQuantized.getExpressedType() || lhs != result)
      return reject("lhs and result must have the expressed type of rhs");
    return success();
  }
  // dot_general_c17, convolution_c31, dynamic_conv_c31
  if (lhsQuantized.getStorageType() != rhsQuantized.getStorageType() ||
      lhsQuantized.isSigned() != rhsQuantized.isSigned())
    return reject("lhs and rhs must have the same storage type");
  // dot_general_c18, convolution_c32, dynamic_conv_c32
  Type expressed = lhsQuantized.getExpressedType();
  if (expressed != rhsQuantized.getExpressedType() ||
      expressed != resultQuantized.getExpressedType())
    return reject("operands and result must have the same expressed type");
  // dot_general_c19, convolution_c33, dynamic_conv_c33
  if (isa<quant::UniformQuantizedType>(rhs) && !isa<quant::UniformQuantizedType>(result))
    return reject("result must be quantized per tensor if rhs is");
  return success();
}

LogicalResult tilewright::stablehlo::verifyPrecisionConfig(Operation *op, ArrayAttr precision) {
  // dot_general_c11, convolution_c24, dynamic_conv_c24
  if (!precision || precision.empty() || precision.size() == 2)
    return success();
  return op->emitOpError()
         << "precision_config must have one entry for each of the 2 operands, got "
         << precision.size();
}

/// Checks that a dot algorithm is not given together with a precision.
static LogicalResult verifyAlgorithm(DotGeneralOp op) {
  if (!op.getAlgorithm() || !op.getPrecisionConfigAttr())
    return success();
  for (auto precision : op.getPrecisionConfigAttr().getAsRange<PrecisionAttr>()) {
    if (precision.getValue() == Precision::DEFAULT)
      continue;
    InFlightDiagnostic diag = op.emitOpError()
                              << "precision must be DEFAULT when an algorithm is specified, got "
                              << stringifyPrecision(precision.getValue());
    diag.attachNote() << "the algorithm determines the precision of the product";
    return diag; // dot_general_c21
  }
  return success();
}

//===----------------------------------------------------------------------===//
// dot_general
//===----------------------------------------------------------------------===//

/// Checks that paired dimensions of the operands have sizes that agree.
static LogicalResult verifyPairedSizes(DotGeneralOp op, StringRef verb, ArrayRef<int64_t> lhsDims,
                                       ArrayRef<int64_t> rhsDims, StringRef note) {
  ArrayRef<int64_t> lhs = shapeOf(op.getLhs().getType()), rhs = shapeOf(op.getRhs().getType());
  for (auto [lhsDim, rhsDim] : llvm::zip_equal(lhsDims, rhsDims)) {
    if (sizesAgree(lhs[lhsDim], rhs[rhsDim]))
      continue;
    InFlightDiagnostic diag =
        op.emitOpError() << verb << " lhs dimension " << lhsDim << " with rhs dimension " << rhsDim
                         << ", which must be equal, got " << lhs[lhsDim] << " and " << rhs[rhsDim];
    diag.attachNote() << note;
    return diag;
  }
  return success();
}

/// Appends the sizes of `shape` at dimensions in neither list.
static void appendFreeSizes(ArrayRef<int64_t> shape, ArrayRef<int64_t> batching,
                            ArrayRef<int64_t> contracting, SmallVectorImpl<int64_t> &sizes) {
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(batching, static_cast<int64_t>(dim)) &&
        !llvm::is_contained(contracting, static_cast<int64_t>(dim)))
      sizes.push_back(size);
}

/// Checks rules that only apply to a quantized rhs of dot_general.
static LogicalResult verifyQuantizedRhs(DotGeneralOp op, ArrayRef<int64_t> contracting) {
  Type element = elementOf(op.getRhs().getType());
  SmallVector<int64_t> zeroPoints;
  if (auto perTensor = dyn_cast<quant::UniformQuantizedType>(element))
    zeroPoints.push_back(perTensor.getZeroPoint());
  if (auto perAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(element)) {
    llvm::append_range(zeroPoints, perAxis.getZeroPoints());
    if (llvm::is_contained(contracting, static_cast<int64_t>(perAxis.getQuantizedDimension())))
      return op.emitOpError() << "rhs must not be quantized along a contracting dimension, got "
                              << perAxis.getQuantizedDimension(); // dot_general_c16
  }
  for (int64_t zeroPoint : zeroPoints)
    if (zeroPoint != 0) // dot_general_c15
      return op.emitOpError() << "zero points of rhs must be 0, got " << zeroPoint;
  return success();
}

LogicalResult DotGeneralOp::verify() {
  auto lhs = cast<RankedTensorType>(getLhs().getType());
  auto rhs = cast<RankedTensorType>(getRhs().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  DotDimensionNumbersAttr dims = getDotDimensionNumbers();
  ArrayRef<int64_t> lhsBatching = dims.getLhsBatchingDimensions(),
                    rhsBatching = dims.getRhsBatchingDimensions(),
                    lhsContracting = dims.getLhsContractingDimensions(),
                    rhsContracting = dims.getRhsContractingDimensions();
  if (lhsBatching.size() != rhsBatching.size()) // dot_general_c1
    return emitOpError() << "operands must have the same number of batching dimensions, got "
                         << lhsBatching.size() << " and " << rhsBatching.size();
  if (lhsContracting.size() != rhsContracting.size()) // dot_general_c2
    return emitOpError() << "operands must have the same number of contracting dimensions, got "
                         << lhsContracting.size() << " and " << rhsContracting.size();
  // dot_general_c3, dot_general_c4
  if (failed(verifyUnique(*this, "batching and contracting dimensions of lhs", lhsBatching,
                          lhsContracting)) ||
      failed(verifyUnique(*this, "batching and contracting dimensions of rhs", rhsBatching,
                          rhsContracting)))
    return failure();
  struct Range {
    StringRef name;
    ArrayRef<int64_t> dims;
    StringRef of;
    int64_t rank;
  } ranges[] = {// dot_general_c5
                {"lhs_batching_dimensions", lhsBatching, "lhs", lhs.getRank()},
                // dot_general_c6
                {"lhs_contracting_dimensions", lhsContracting, "lhs", lhs.getRank()},
                // dot_general_c7
                {"rhs_batching_dimensions", rhsBatching, "rhs", rhs.getRank()},
                // dot_general_c8
                {"rhs_contracting_dimensions", rhsContracting, "rhs", rhs.getRank()}};
  for (const Range &range : ranges)
    if (failed(verifyInRange(*this, range.name, range.dims, range.of, range.rank)))
      return failure();
  // dot_general_c9, dot_general_c10, dot_general_c11
  if (failed(verifyPairedSizes(*this, "batches", lhsBatching, rhsBatching,
                               "broadcast the operand that has one batch")) ||
      failed(verifyPairedSizes(*this, "contracts", lhsContracting, rhsContracting,
                               "if rhs is stored as [n, k], contract its last dimension")) ||
      failed(verifyPrecisionConfig(*this, getPrecisionConfigAttr())))
    return failure();

  SmallVector<int64_t> expected;
  for (int64_t dim : lhsBatching)
    expected.push_back(lhs.getDimSize(dim));
  appendFreeSizes(lhs.getShape(), lhsBatching, lhsContracting, expected);
  appendFreeSizes(rhs.getShape(), rhsBatching, rhsContracting, expected);
  if (!shapesAgree(result.getShape(), expected)) // dot_general_c12
    return emitOpError() << "result must have the batching dimensions, then the free dimensions of "
                            "lhs, then those of rhs, "
                         << shapeText(expected) << ", got " << shapeText(result.getShape());

  // dot_general_c13 and following. The verifier of the algorithm attribute has checked its counts.
  return failure(failed(verifyProductElements(*this, lhs.getElementType(), rhs.getElementType(),
                                              result.getElementType())) ||
                 failed(verifyQuantizedRhs(*this, rhsContracting)) ||
                 failed(verifyAlgorithm(*this)));
}

//===----------------------------------------------------------------------===//
// dot
//===----------------------------------------------------------------------===//

// dot is no longer in the specification. Its rules are those of dot_general with the last dimension
// of lhs and the first of rhs contracted.
LogicalResult DotOp::verify() {
  auto lhs = cast<RankedTensorType>(getLhs().getType());
  auto rhs = cast<RankedTensorType>(getRhs().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  for (auto [name, type] : {std::pair("lhs", lhs), std::pair("rhs", rhs)})
    if (type.getRank() < 1 || type.getRank() > 2)
      return emitOpError() << name << " must be a vector or a matrix, got " << type;
  int64_t lhsK = lhs.getShape().back(), rhsK = rhs.getShape().front();
  if (!sizesAgree(lhsK, rhsK)) {
    InFlightDiagnostic diag = emitOpError()
                              << "contracts the last dimension of lhs with the first dimension of "
                                 "rhs, which must have the same size, got "
                              << lhsK << " and " << rhsK;
    diag.attachNote() << "if rhs is stored as [n, k], use dot_general";
    return diag;
  }
  SmallVector<int64_t> expected(lhs.getShape().drop_back());
  llvm::append_range(expected, rhs.getShape().drop_front());
  if (!shapesAgree(result.getShape(), expected))
    return emitOpError() << "result must have the dimensions that are not contracted, "
                         << shapeText(expected) << ", got " << shapeText(result.getShape());
  return failure(failed(verifyProductElements(*this, lhs.getElementType(), rhs.getElementType(),
                                              result.getElementType())) ||
                 failed(verifyPrecisionConfig(*this, getPrecisionConfigAttr())));
}
