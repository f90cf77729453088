#include "tilewright/interpret/kernels/Quantize.h"

#include "tilewright/numerics/Float.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cmath>

namespace tilewright::interpret {

using numerics::spelling;

static Status check(std::string_view op, const Tensor &operand, ElementType expected,
                    const QuantizedType &type) {
  if (!numerics::isInteger(type.storage) || !numerics::isReal(type.expressed) ||
      type.storageMin > type.storageMax)
    return Status(Error::operandType, concat(op,
                                             ": the storage type must be an integer type and the "
                                             "expressed type a floating-point type, got ",
                                             spelling(type.storage), " in [", type.storageMin, ", ",
                                             type.storageMax, "] and ", spelling(type.expressed)));
  if (operand.type() != expected)
    return Status(Error::operandType, concat(op, ": elements must be ", spelling(expected),
                                             ", got ", spelling(operand.type())));
  int64_t count = 1;
  if (type.axis) {
    TILEWRIGHT_TRY(checkDims(op, "the quantisation dimension", Dims{*type.axis}, operand.rank()));
    count = operand.shape()[*type.axis];
  }
  if (static_cast<int64_t>(type.scales.size()) != count ||
      static_cast<int64_t>(type.zeroPoints.size()) != count)
    return Status(Error::interpretShape,
                  concat(op, ": expects ", count, " scales and zero points, got ",
                         type.scales.size(), " and ", type.zeroPoints.size()));
  return Status();
}

/// Rounds to the expressed type.
static double rounded(ElementType type, double value) {
  return numerics::decode(type, numerics::encode(type, value));
}

namespace {
/// The scale and zero point of each element, by its offset.
class Parameters {
public:
  Parameters(const Shape &shape, const QuantizedType &type) : type(type) {
    if (type.axis) {
      inner = shape.strides()[static_cast<size_t>(*type.axis)];
      size = shape[*type.axis];
    }
    for (double scale : type.scales)
      scales.push_back(rounded(type.expressed, scale));
  }
  size_t at(int64_t offset) const {
    return type.axis ? static_cast<size_t>(offset / inner % size) : 0;
  }
  double scale(size_t i) const { return scales[i]; }
  int64_t zeroPoint(size_t i) const { return type.zeroPoints[i]; }

private:
  const QuantizedType &type;
  std::vector<double> scales;
  int64_t inner = 1, size = 1;
};
} // namespace

/// a - b, computed exactly and then rounded to `type`; a difference beyond int64 is first rounded
/// to f64. `a` may be any signed or unsigned 64-bit integer.
static double differenceAs(ElementType type, const Scalar &a, bool isSigned, int64_t b) {
  const __int128 wide = isSigned ? static_cast<__int128>(a.i) : static_cast<__int128>(a.u);
  const __int128 difference = wide - b;
  if (difference >= INT64_MIN && difference <= INT64_MAX)
    return numerics::decode(type, numerics::encodeInteger(type, static_cast<int64_t>(difference)));
  return rounded(type, static_cast<double>(difference));
}

Result<Tensor> dequantize(const Tensor &operand, const QuantizedType &type, Context &context) {
  TILEWRIGHT_TRY(check("uniform_dequantize", operand, type.storage, type));
  TILEWRIGHT_TRY(context.countSteps(operand.elementCount()));
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(type.expressed, operand.shape(), context));
  const Parameters parameters(operand.shape(), type);
  const bool isSigned = numerics::isSigned(type.storage);
  for (int64_t i = 0; i < operand.elementCount(); ++i) {
    const size_t p = parameters.at(i);
    const double difference =
        differenceAs(type.expressed, operand.at(i), isSigned, parameters.zeroPoint(p));
    result.set(i, Scalar::ofReal(difference * parameters.scale(p)));
  }
  return result;
}

Result<Tensor> quantize(const Tensor &operand, const QuantizedType &type, Context &context) {
  TILEWRIGHT_TRY(check("uniform_quantize", operand, type.expressed, type));
  TILEWRIGHT_TRY(context.countSteps(operand.elementCount()));
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(type.storage, operand.shape(), context));
  const Parameters parameters(operand.shape(), type);
  auto asExpressed = [&](int64_t value) {
    return numerics::decode(type.expressed, numerics::encodeInteger(type.expressed, value));
  };
  const double low = asExpressed(type.storageMin), high = asExpressed(type.storageMax);
  const bool isSigned = numerics::isSigned(type.storage);
  for (int64_t i = 0; i < operand.elementCount(); ++i) {
    const size_t p = parameters.at(i);
    const double scaled = rounded(type.expressed, operand.at(i).r / parameters.scale(p));
    const double shifted = rounded(type.expressed, scaled + asExpressed(parameters.zeroPoint(p)));
    // Rounds half to even: the rounding mode is never changed.
    const double whole = std::nearbyint(std::clamp(shifted, low, high));
    // A storage limit may have been rounded beyond its integer value, so clamp again to that value.
    const int64_t stored = numerics::truncateToSigned(whole, 64);
    const int64_t kept = std::clamp(stored, type.storageMin, type.storageMax);
    result.set(i, std::isnan(whole) ? zeroOf(type.storage)
                  : isSigned        ? Scalar::ofSigned(kept)
                                    : Scalar::ofUnsigned(static_cast<uint64_t>(kept)));
  }
  return result;
}

} // namespace tilewright::interpret
