#include "tilewright/numerics/BlockScaling.h"

#include "tilewright/numerics/ExactSum.h"
#include "tilewright/numerics/Float.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace tilewright::numerics {
namespace {

double largestOf(ElementType type) { return decode(type, formatOf(type).maxFinite()); }

/// The largest magnitude, or NaN if there is a NaN.
double largestMagnitude(std::span<const float> values) {
  double largest = 0;
  for (float value : values) {
    if (std::isnan(value))
      return value;
    largest = std::max(largest, std::fabs(static_cast<double>(value)));
  }
  return largest;
}

/// The scale of a block according to the OCP specification. `largest` may be infinite but not NaN.
uint8_t microscale(ElementType element, double largest) {
  const FloatFormat scale = formatOf(ElementType::f8E8M0FNU);
  if (largest == 0)
    return 0;
  const int exponent =
      (std::isinf(largest) ? 128 : std::ilogb(largest)) - std::ilogb(largestOf(element));
  return static_cast<uint8_t>(
      std::clamp(exponent + scale.bias, 0, static_cast<int>(scale.maxFinite())));
}

/// The scale of a block times the global scale. Exact: the product has at most 4 + 24 significant
/// bits.
double effectiveScale(const BlockFormat &format, uint8_t scale, float globalScale) {
  const double local = decode(format.scale, scale);
  return format.hasGlobalScale ? local * globalScale : local;
}

/// Calls `visit(index, value)` for each value of a row, without the global
/// scale. Exact in double.
template <typename Visit> void forEachLocalValue(const BlockScaled &row, Visit visit) {
  for (size_t i = 0; i < row.elements.size(); ++i)
    visit(i, decode(row.format.element, row.elements[i]) *
                 decode(row.format.scale, row.scales[i / row.format.blockSize]));
}

} // namespace

float globalScaleFor(std::span<const float> values) {
  double largest = 0;
  for (float value : values)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(static_cast<double>(value)));
  if (largest == 0)
    return 1;
  // The quotient of a 24-bit by a 5-bit number is further from any f32 midpoint than the rounding
  // error of double, so the result is rounded correctly.
  const double scale = largest / (largestOf(nvfp4.element) * largestOf(nvfp4.scale));
  return std::max(static_cast<float>(scale), std::numeric_limits<float>::min());
}

void quantise(const BlockFormat &format, std::span<const float> values, float globalScale,
              std::span<uint8_t> elements, std::span<uint8_t> scales) {
  assert(elements.size() == values.size() && "one element for each value");
  assert(scales.size() == format.blocksFor(values.size()) && "one scale for each block");
  for (size_t block = 0; block < scales.size(); ++block) {
    const size_t begin = block * format.blockSize;
    const size_t size = std::min(format.blockSize, values.size() - begin);
    const double largest = largestMagnitude(values.subspan(begin, size));
    if (std::isnan(largest))
      scales[block] = static_cast<uint8_t>(formatOf(format.scale).quietNan());
    else if (format.hasGlobalScale)
      scales[block] = static_cast<uint8_t>(encodeSaturating(
          format.scale, largest / (largestOf(format.element) * static_cast<double>(globalScale))));
    else
      scales[block] = microscale(format.element, largest);

    // The quotient is exact if the scale is a power of two. For NVFP4 it divides a 24-bit by a
    // 28-bit number; rounding that quotient to double cannot move it onto a midpoint between two
    // elements.
    const double scale = effectiveScale(format, scales[block], globalScale);
    for (size_t i = begin; i < begin + size; ++i) {
      const double value = values[i];
      const bool vanishes = scale == 0 || std::isnan(scale) || value == 0;
      elements[i] = static_cast<uint8_t>(
          encodeSaturating(format.element, vanishes ? std::copysign(0.0, value) : value / scale));
    }
  }
}

void dequantise(const BlockScaled &row, std::span<float> values) {
  assert(values.size() == row.elements.size() && "one value for each element");
  assert(row.scales.size() == row.format.blocksFor(values.size()) && "one scale for each block");
  const double global = row.format.hasGlobalScale ? row.globalScale : 1;
  forEachLocalValue(
      row, [&](size_t i, double local) { values[i] = static_cast<float>(local * global); });
}

uint64_t exactDot(const BlockScaled &lhs, const BlockScaled &rhs, ElementType result) {
  assert(lhs.elements.size() == rhs.elements.size() && "rows of equal length");
  ExactSum sum;
  forEachLocalValue(lhs, [&](size_t i, double left) {
    sum.addProduct(left, decode(rhs.format.element, rhs.elements[i]) *
                             decode(rhs.format.scale, rhs.scales[i / rhs.format.blockSize]));
  });
  // f32 times f32 is exact in double.
  const double left = lhs.format.hasGlobalScale ? lhs.globalScale : 1;
  const double right = rhs.format.hasGlobalScale ? rhs.globalScale : 1;
  return sum.round(result, left * right);
}

} // namespace tilewright::numerics
