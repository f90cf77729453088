#include "tilewright/vgpu/amdgcn/execute/MatrixArithmetic.h"

#include "tilewright/numerics/ExactSum.h"
#include "tilewright/numerics/FloatFormat.h"

#include <algorithm>

namespace tilewright::vgpu::amdgcn {

using numerics::ElementType;

namespace {
/// An integer times 2^(exponent - the mantissa bits of the format).
struct Parts {
  i64 significand;
  int exponent;
};
} // namespace

/// In every format, zero has the exponent -126.
static Parts partsOf(f64 value, ElementType type) {
  const numerics::FloatFormat format = numerics::formatOf(type);
  if (value == 0 || !std::isfinite(value))
    return {0, -126};
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, format.minExponent());
  return {static_cast<i64>(std::ldexp(value, format.mantissaBits - exponent)), exponent};
}

void MatrixFactor::add(f64 value) {
  values.push_back(value);
  if (!hasParts)
    return;
  const Parts parts = partsOf(value, type);
  significands.push_back(parts.significand);
  exponents.push_back(parts.exponent);
}

f32 addExactly(std::span<const f64> a, std::span<const f64> b, f32 c) {
  f64 sum = c;
  bool isExact = true;
  for (size_t k = 0; k < a.size(); ++k) { // the rounding error of each addition (Knuth)
    const f64 term = a[k] * b[k], next = sum + term, part = next - sum;
    isExact &= (sum - (next - part)) + (term - part) == 0;
    sum = next;
  }
  if (isExact || !std::isfinite(sum))
    return static_cast<f32>(sum);
  numerics::ExactSum exact;
  exact.add(c);
  for (size_t k = 0; k < a.size(); ++k)
    exact.addProduct(a[k], b[k]);
  return fromBits<f32>(exact.round(ElementType::f32));
}

// -- CDNA3

/// value * 2^by, towards zero.
static i64 shiftTowardsZero(i64 value, int by) {
  if (by >= 0)
    return value << by;
  return value < 0 ? -(-value >> std::min(-by, 63)) : value >> std::min(-by, 63);
}
/// value * 2^by, rounded down.
static i64 shiftDown(i64 value, int by) {
  return by >= 0 ? value << by : value >> std::min(-by, 63);
}

namespace {
/// An integer times 2^(exponent - 24).
using Aligned = Parts;
constexpr int productBits = 24, sumBits = 31, addendBits = 24;

/// The products of one part of a row and a column.
class Group {
public:
  Group(const MatrixFactor &a, unsigned row, const MatrixFactor &b, unsigned column)
      : a(a.integers(row)), b(b.integers(column)), aExponents(a.exponentsOf(row)),
        bExponents(b.exponentsOf(column)),
        mantissaBits(numerics::formatOf(a.element()).mantissaBits +
                     numerics::formatOf(b.element()).mantissaBits) {}

  /// The sum of every `step`-th product between `begin` and `end`.
  Aligned sum(size_t begin, size_t end, size_t step) const {
    int largest = aExponents[begin] + bExponents[begin];
    for (size_t k = begin; k < end; k += step)
      largest = std::max(largest, aExponents[k] + bExponents[k]);
    i64 total = 0;
    for (size_t k = begin; k < end; k += step)
      total += shiftTowardsZero(a[k] * b[k], productBits - mantissaBits + aExponents[k] +
                                                 bExponents[k] - largest);
    return {total, largest};
  }

private:
  std::span<const i64> a, b;
  std::span<const int> aExponents, bExponents;
  int mantissaBits;
};
} // namespace

/// Adds the sum of a group to c. For 8-bit types, a c that is far below the sum is dropped.
static f32 addToC(Aligned group, f32 c, bool isByte) {
  const Parts addend = partsOf(c, ElementType::f32);
  const int exponent = std::max(group.exponent, addend.exponent);
  const i64 sum = shiftDown(group.significand, sumBits - productBits + group.exponent - exponent);
  constexpr int mantissaBits = 23, dropped = 25;
  const i64 rounded =
      isByte && addend.exponent < exponent - dropped
          ? 0
          : shiftDown(addend.significand, addendBits - mantissaBits + addend.exponent - exponent);
  return static_cast<f32>(
      std::ldexp(static_cast<f64>(sum + (rounded << (sumBits - addendBits))), exponent - sumBits));
}

/// The sum if a product or c is not finite, or if a product is too large for f32; otherwise 0.
static f64 notFinite(std::span<const f64> a, std::span<const f64> b, f32 c) {
  f64 exactly = c, infinities = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    const f64 product = a[k] * b[k];
    exactly += product;
    if (std::fabs(product) >= 0x1p128)
      infinities += std::copysign(HUGE_VAL, product);
  }
  return std::isfinite(exactly) ? infinities : exactly;
}

f32 addAsCdna3(const MatrixFactor &a, unsigned row, const MatrixFactor &b, unsigned column, f32 c) {
  const ElementType type = a.element();
  const bool isByte = numerics::bitWidth(type) == 8;
  const size_t depth = a.row(row).size();
  const size_t size = std::min<size_t>(isByte ? 16 : type == ElementType::tf32 ? 4 : 8, depth);
  const Group products(a, row, b, column);
  for (size_t begin = 0; begin < depth; begin += size) {
    const f64 special =
        notFinite(a.row(row).subspan(begin, size), b.row(column).subspan(begin, size), c);
    if (special != 0) {
      c = static_cast<f32>(special);
      continue;
    }
    const size_t end = begin + size;
    if (!isByte) {
      c = addToC(products.sum(begin, end, 1), c, false);
      continue;
    }
    const Aligned even = products.sum(begin, end, 2), odd = products.sum(begin + 1, end, 2);
    const int exponent = std::max(even.exponent, odd.exponent);
    c = addToC({shiftDown(even.significand, even.exponent - exponent) +
                    shiftDown(odd.significand, odd.exponent - exponent),
                exponent},
               c, true);
  }
  return c;
}

} // namespace tilewright::vgpu::amdgcn
