#include "tilewright/dialect/stablehlo/StablehloTypes.h"

#include "tilewright/dialect/stablehlo/StablehloAttrs.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#define GET_TYPEDEF_CLASSES
#include "tilewright/dialect/stablehlo/StablehloTypes.cpp.inc"

namespace tilewright::stablehlo {

void StablehloDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tilewright/dialect/stablehlo/StablehloTypes.cpp.inc"
      >();
}

LogicalResult FutureType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<Type> types) {
  for (Type type : types)
    if (!isa<RankedTensorType>(type))
      return emitError() << "a future must hold ranked tensors, got " << type;
  return success();
}

/// Whether StableHLO allows the storage type and the expressed type.
static bool hasStorableWidth(quant::QuantizedType type) {
  if (!isa<IntegerType>(type.getStorageType()))
    return false;
  switch (type.getStorageTypeIntegralWidth()) {
  case 2:
  case 4:
  case 8:
  case 16:
  case 32:
    return isa<FloatType>(type.getExpressedType());
  default:
    return false;
  }
}

// MLIR's own verifier of quantized types checks (C1) to (C6) and (C8) to (C11) of the
// specification; it does not check zero points.

/// quantized_type_c7: the zero point is a value of the storage type.
static bool isStorable(quant::QuantizedType type, int64_t zeroPoint) {
  return type.getStorageTypeMin() <= zeroPoint && zeroPoint <= type.getStorageTypeMax();
}

bool isPerTensorQuantized(Type elementType) {
  auto type = dyn_cast<quant::UniformQuantizedType>(elementType);
  return type && hasStorableWidth(type) && isStorable(type, type.getZeroPoint());
}

bool isPerAxisQuantized(Type elementType) {
  auto type = dyn_cast<quant::UniformQuantizedPerAxisType>(elementType);
  return type && hasStorableWidth(type) &&
         llvm::all_of(type.getZeroPoints(),
                      [&](int64_t zeroPoint) { return isStorable(type, zeroPoint); });
}

bool hasValidQuantizedAxis(Type tensorType) {
  auto tensor = dyn_cast<RankedTensorType>(tensorType);
  if (!tensor)
    return false;
  auto type = dyn_cast<quant::UniformQuantizedPerAxisType>(tensor.getElementType());
  if (!type)
    return true;
  int64_t axis = type.getQuantizedDimension();
  // quantized_type_c12, quantized_type_c13
  if (axis < 0 || axis >= tensor.getRank())
    return false;
  return tensor.isDynamicDim(axis) ||
         tensor.getDimSize(axis) == static_cast<int64_t>(type.getScales().size());
}

ArrayRef<int64_t> getBounds(RankedTensorType type) {
  if (auto extensions = dyn_cast_or_null<TypeExtensionsAttr>(type.getEncoding()))
    return extensions.getBounds();
  return {};
}

bool hasStaticOrBoundedShape(Type tensorType) {
  auto tensor = dyn_cast<RankedTensorType>(tensorType);
  if (!tensor)
    return false;
  if (tensor.hasStaticShape())
    return true;
  ArrayRef<int64_t> bounds = getBounds(tensor);
  if (static_cast<int64_t>(bounds.size()) != tensor.getRank())
    return false;
  for (auto [size, bound] : llvm::zip_equal(tensor.getShape(), bounds))
    if (ShapedType::isDynamic(size) && ShapedType::isDynamic(bound))
      return false;
  return true;
}

bool haveSameBaseline(Type lhsElement, Type rhsElement) {
  if (lhsElement == rhsElement)
    return true;
  auto lhs = dyn_cast<quant::QuantizedType>(lhsElement);
  auto rhs = dyn_cast<quant::QuantizedType>(rhsElement);
  if (!lhs || !rhs)
    return false;
  auto lhsAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(lhs);
  auto rhsAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(rhs);
  if (!lhsAxis != !rhsAxis ||
      (lhsAxis && lhsAxis.getQuantizedDimension() != rhsAxis.getQuantizedDimension()))
    return false;
  return lhs.getStorageType() == rhs.getStorageType() && lhs.isSigned() == rhs.isSigned() &&
         lhs.getExpressedType() == rhs.getExpressedType() &&
         lhs.getStorageTypeMin() == rhs.getStorageTypeMin() &&
         lhs.getStorageTypeMax() == rhs.getStorageTypeMax();
}

} // namespace tilewright::stablehlo
