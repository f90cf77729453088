#include "tilewright/runtime/cuda/libraries/CompareResults.h"

#include "tilewright/numerics/Float.h"
#include "tilewright/numerics/PackedElements.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace tilewright::runtime::cuda::libraries {

using artifact::ScaledProduct;
using numerics::ElementType;

namespace {

std::array<double, 256> valuesOf(ElementType type) {
  std::array<double, 256> values;
  for (unsigned bits = 0; bits < 256; ++bits)
    values[bits] = numerics::decode(type, bits);
  return values;
}

/// The Euclidean norm of each row of a matrix, whose elements are multiplied by their scales.
std::vector<double> rowNorms(const ScaledProduct &product, ElementType type, int64_t rows,
                             const std::byte *elements, const std::byte *scales) {
  const std::array<double, 256> values = valuesOf(type), scaleValues = valuesOf(product.scaleType);
  const bool isPacked = numerics::isPacked(type);
  const int64_t groups = product.paddedBlocks() / 4;
  std::vector<double> norms(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int64_t s = 0; s * product.block < product.depth; ++s) {
      const int64_t at =
          (row / 128 * groups + s / 4) * 512 + row % 32 * 16 + row / 32 % 4 * 4 + s % 4;
      double ofBlock = 0;
      const int64_t end = std::min((s + 1) * product.block, product.depth);
      for (int64_t k = s * product.block; k < end; ++k) {
        const int64_t i = row * product.depth + k;
        auto bits = static_cast<unsigned>(elements[isPacked ? i / 2 : i]);
        if (isPacked)
          bits = i % 2 ? bits >> 4 : bits & 15;
        ofBlock += values[bits] * values[bits];
      }
      const double scale = scaleValues[static_cast<unsigned>(scales[at])];
      sum += ofBlock * scale * scale;
    }
    norms[static_cast<size_t>(row)] = std::sqrt(sum);
  }
  return norms;
}

struct Precision {
  double step;    // of two neighbours, relative to the larger
  double largest; // finite number
};
Precision precisionOf(ElementType type) {
  if (type == ElementType::f16)
    return {0x1p-10, 65504};
  if (type == ElementType::bf16)
    return {0x1p-7, 0x1.fep127};
  return {0x1p-23, std::numeric_limits<float>::max()};
}

double load(ElementType type, const std::byte *from) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, numerics::storageBytes(type));
  return numerics::decode(type, bits);
}

/// Whether both values can be results of the same sum, whose rounding error is at most `bound`.
bool agree(double ours, double theirs, double bound, const Precision &precision) {
  if (ours == theirs || (std::isnan(ours) && std::isnan(theirs)))
    return true;
  // The operands contain infinities or NaNs. Which of the two results depends on the order of the
  // sum.
  if (!std::isfinite(bound))
    return !std::isfinite(ours) && !std::isfinite(theirs);
  if (std::isnan(ours) || std::isnan(theirs))
    return false;
  // One of two neighbouring values may have been rounded to infinity.
  const double x = std::clamp(ours, -precision.largest, precision.largest),
               y = std::clamp(theirs, -precision.largest, precision.largest);
  return std::abs(x - y) <=
         bound + precision.step * std::max(std::abs(x), std::abs(y)) + 0x1p-24 * precision.step;
}

std::string textOf(double value) { return std::isnan(value) ? "NaN" : concat(value); }

} // namespace

std::string differenceOf(const ScaledProduct &product, const ComparedProduct &data) {
  const Precision precision = precisionOf(product.resultType);
  const auto bytes = static_cast<int64_t>(numerics::storageBytes(product.resultType));
  const double share = static_cast<double>(product.depth + 1) * 0x1p-23 * std::abs(data.factor);
  for (int64_t matrix = 0; matrix < product.batch; ++matrix) {
    const std::vector<double> lhs =
        rowNorms(product, product.lhsType, product.rows, data.lhs + matrix * product.lhsBytes(),
                 data.lhsScale + matrix * product.lhsScaleBytes());
    const std::vector<double> rhs =
        rowNorms(product, product.rhsType, product.columns, data.rhs + matrix * product.rhsBytes(),
                 data.rhsScale + matrix * product.rhsScaleBytes());
    for (int64_t m = 0; m < product.rows; ++m)
      for (int64_t n = 0; n < product.columns; ++n) {
        const int64_t at = matrix * product.resultBytes() + (m * product.columns + n) * bytes;
        const double ours = load(product.resultType, data.ours + at),
                     theirs = load(product.resultType, data.theirs + at);
        const double bound = share * lhs[static_cast<size_t>(m)] * rhs[static_cast<size_t>(n)];
        if (!agree(ours, theirs, bound, precision))
          return concat("element [", matrix, ", ", m, ", ", n, "] is ", textOf(theirs),
                        ", the program's kernel computes ", textOf(ours),
                        ", and rounding explains ", bound);
      }
  }
  return "";
}

} // namespace tilewright::runtime::cuda::libraries
