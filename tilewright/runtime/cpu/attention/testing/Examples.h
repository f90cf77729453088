// Random operands of attention, and a score function in place of generated code.
#ifndef TILEWRIGHT_RUNTIME_CPU_ATTENTION_TESTING_EXAMPLES_H
#define TILEWRIGHT_RUNTIME_CPU_ATTENTION_TESTING_EXAMPLES_H

#include "tilewright/numerics/Convert.h"
#include "tilewright/numerics/ElementType.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tilewright::runtime::cpu {

using numerics::ElementType;

inline constexpr float infinity = std::numeric_limits<float>::infinity();

/// The score function of these tests: scaled products plus a bias, where key <= query + offset.
struct Mask {
  float scale = 1;
  int64_t causalOffset = 1 << 30;
  float masked = -2.4e38f;
  const float *bias = nullptr; // [query][key] of the head
  int64_t biasStride = 0;

  double scoreOf(double product, int64_t row, int64_t column) const {
    if (column > row + causalOffset)
      return masked;
    return product * scale + (bias ? bias[row * biasStride + column] : 0);
  }
};

/// The mask in place of generated code: buffers[0] is the mask, buffers[1] the bias of the head.
inline Mask maskOf(void *const *buffers) {
  Mask mask = *static_cast<const Mask *>(buffers[0]);
  if (mask.bias)
    mask.bias = static_cast<const float *>(buffers[1]);
  return mask;
}

inline std::vector<double> toDouble(ElementType type, const std::vector<std::byte> &bytes) {
  std::vector<double> numbers(bytes.size() / numerics::storageBytes(type));
  numerics::convert(type, bytes.data(), ElementType::f64,
                    reinterpret_cast<std::byte *>(numbers.data()), numbers.size());
  return numbers;
}

inline std::vector<std::byte> toType(ElementType type, const std::vector<double> &numbers) {
  std::vector<std::byte> bytes(numbers.size() * numerics::storageBytes(type));
  numerics::convert(ElementType::f64, reinterpret_cast<const std::byte *>(numbers.data()), type,
                    bytes.data(), numbers.size());
  return bytes;
}

inline std::vector<double> randomNumbers(int64_t count, std::mt19937 &random) {
  std::vector<double> numbers(static_cast<size_t>(count));
  std::normal_distribution<double> normal;
  for (double &number : numbers)
    number = normal(random);
  return numbers;
}

inline double largestError(const std::vector<double> &a, const std::vector<double> &b) {
  double error = 0;
  for (size_t i = 0; i < a.size(); ++i)
    error = std::isnan(a[i]) != std::isnan(b[i])
                ? INFINITY
                : std::max(error, std::isnan(a[i]) ? 0 : std::fabs(a[i] - b[i]));
  return error;
}

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_ATTENTION_TESTING_EXAMPLES_H
