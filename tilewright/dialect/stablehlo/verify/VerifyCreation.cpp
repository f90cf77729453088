// Constraints of constant, iota and the random number generators.
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

using namespace mlir;
using namespace tilewright::stablehlo;

/// Whether elements of type `value` can be stored as elements of type `output`: the types are
/// equal, or `value` is an integer as wide as the storage type of the quantized `output`.
static bool canStore(Type value, Type output) {
  auto quantized = dyn_cast<quant::QuantizedType>(output);
  if (!quantized)
    return value == output;
  auto integer = dyn_cast<IntegerType>(value);
  return integer && integer.getWidth() == quantized.getStorageTypeIntegralWidth();
}

LogicalResult ConstantOp::verify() {
  auto output = cast<RankedTensorType>(getOutput().getType());
  ShapedType value = getValue().getShapedType();
  if (!isa<RankedTensorType>(value) || value.getShape() != output.getShape() ||
      !canStore(value.getElementType(), output.getElementType())) // constant_c1
    return emitOpError() << "value must have the type of the output, " << output << ", got "
                         << value;
  return success();
}

LogicalResult IotaOp::verify() {
  int64_t rank = cast<RankedTensorType>(getOutput().getType()).getRank();
  if (getIotaDimension() >= static_cast<uint64_t>(rank)) // iota_c1
    return emitOpError() << "iota_dimension must be a dimension of the output, in [0, " << rank
                         << "), got " << static_cast<int64_t>(getIotaDimension());
  return success();
}

LogicalResult RngOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  Type element = result.getElementType();
  for (auto [name, type] : {std::pair("a", getA().getType()), std::pair("b", getB().getType())})
    if (elementOf(type) != element) // rng_c1
      return emitOpError() << name << " must have the element type of the result, " << element
                           << ", got " << elementOf(type);
  if (getRngDistribution() == RngDistribution::NORMAL && !isa<FloatType>(element)) // rng_c2
    return emitOpError() << "a normal distribution must have a float element type, got " << element;

  // rng_c3
  int64_t rank = shapeOf(getShape().getType()).front();
  if (rank != result.getRank())
    return emitOpError() << "shape must have one entry for each dimension of the result, got "
                         << rank << " for " << result.getRank();
  DenseIntElementsAttr shape = knownIntegers(getShape());
  if (!shape)
    return success();
  for (auto [dim, size] : llvm::enumerate(shape.getValues<APInt>()))
    if (!sizesAgree(result.getDimSize(dim), size.getSExtValue()))
      return emitOpError() << "size of result dimension " << dim
                           << " must match the operand 'shape', which specifies "
                           << size.getSExtValue() << ", got " << result.getDimSize(dim);
  return success();
}

/// The number of state words that `algorithm` needs, as text; empty if `size` is valid.
static StringRef missingState(RngAlgorithm algorithm, int64_t size) {
  switch (algorithm) {
  case RngAlgorithm::DEFAULT:
    return "";
  case RngAlgorithm::THREE_FRY:
    return size == 2 ? "" : "2";
  case RngAlgorithm::PHILOX:
    return size == 2 || size == 3 ? "" : "2 or 3";
  }
  return "";
}

LogicalResult RngBitGeneratorOp::verify() {
  auto state = cast<RankedTensorType>(getInitialState().getType());
  if (!typesAgree(state, getOutputState().getType())) // rng_bit_generator_c1
    return emitOpError() << "output_state must have the type of initial_state, " << state
                         << ", got " << getOutputState().getType();
  // The number of words can be checked only for a vector of 64-bit words. Published artifacts also
  // contain states of other types, which no algorithm here supports.
  if (state.getRank() != 1 || !state.getElementType().isUnsignedInteger(64) ||
      state.isDynamicDim(0))
    return success();
  StringRef needed = missingState(getRngAlgorithm(), state.getDimSize(0));
  if (!needed.empty()) // rng_bit_generator_c2
    return emitOpError() << "initial_state must have " << needed << " words for "
                         << stringifyRngAlgorithm(getRngAlgorithm()) << ", got "
                         << state.getDimSize(0);
  return success();
}
