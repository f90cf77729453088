// Reference products, and the tolerance within which our kernels must agree.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_TESTING_PRODUCTS_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_TESTING_PRODUCTS_H

#include "tilewright/numerics/Convert.h"
#include "tilewright/numerics/FloatFormat.h"
#include "tilewright/runtime/cpu/matmul/Matmul.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace tilewright::runtime::cpu::test {

using Bytes = std::vector<std::byte>;

/// Small values of any type, exact in all but the narrowest types.
inline Bytes randomElements(ElementType type, int64_t count, std::mt19937 &random) {
  Bytes bytes(static_cast<size_t>(count) * numerics::storageBytes(type));
  const bool isComplex = numerics::isComplex(type);
  std::vector<double> values(static_cast<size_t>(count) * (isComplex ? 2 : 1));
  const bool isIntegral = !numerics::isReal(type) && !isComplex;
  for (double &value : values)
    value = isIntegral ? static_cast<double>(static_cast<int64_t>(random() % 512) - 256)
                       : static_cast<double>(static_cast<int64_t>(random() % 2001) - 1000) / 500;
  const ElementType from = isComplex ? ElementType::c128 : ElementType::f64;
  if (!isIntegral) {
    numerics::convert(from, reinterpret_cast<std::byte *>(values.data()), type, bytes.data(),
                      static_cast<size_t>(count));
    return bytes;
  }
  std::vector<int64_t> integers(values.begin(), values.end());
  numerics::convert(ElementType::i64, reinterpret_cast<std::byte *>(integers.data()), type,
                    bytes.data(), static_cast<size_t>(count));
  return bytes;
}

/// Elements in a type that can represent all of them: complex doubles, or integers modulo 2^64.
struct Wide {
  std::vector<std::complex<double>> numbers;
  std::vector<uint64_t> integers;
};
inline Wide widen(ElementType type, const Bytes &bytes) {
  const size_t count = bytes.size() / numerics::storageBytes(type);
  Wide wide;
  wide.numbers.resize(count);
  wide.integers.resize(count);
  numerics::convert(type, bytes.data(), ElementType::c128,
                    reinterpret_cast<std::byte *>(wide.numbers.data()), count);
  numerics::convert(type, bytes.data(), ElementType::ui64,
                    reinterpret_cast<std::byte *>(wide.integers.data()), count);
  return wide;
}

/// The relative precision of a real type; 0 for integers.
inline double epsilonOf(ElementType type) {
  const ElementType real = numerics::componentOf(type);
  return numerics::isReal(real) ? std::ldexp(1.0, -numerics::formatOf(real).mantissaBits) : 0;
}

/// One sum: the exact value, the sum of the products' magnitudes, and the sum modulo 2^64.
struct Sum {
  std::complex<double> value;
  double size = 0;
  uint64_t bits = 0;
  void add(std::complex<double> a, std::complex<double> b, uint64_t x, uint64_t y) {
    value += std::complex<double>(a.real() * b.real() - a.imag() * b.imag(),
                                  a.real() * b.imag() + a.imag() * b.real());
    size +=
        (std::fabs(a.real()) + std::fabs(a.imag())) * (std::fabs(b.real()) + std::fabs(b.imag()));
    bits += x * y;
  }
};

/// Empty if `actual` (the element at `index`) equals the sum within the error of a sum in
/// `sumsType` that is rounded once; else describes the difference.
inline std::string differs(const Sum &sum, int64_t summed, ElementType sumsType,
                           ElementType resultType, const Wide &actual, size_t index) {
  const bool isIntegral = !numerics::isReal(resultType) && !numerics::isComplex(resultType);
  if (isIntegral) {
    uint64_t expected = 0;
    std::byte element[16] = {};
    numerics::convert(ElementType::ui64, reinterpret_cast<const std::byte *>(&sum.bits), resultType,
                      element, 1);
    numerics::convert(resultType, element, ElementType::ui64,
                      reinterpret_cast<std::byte *>(&expected), 1);
    if (actual.integers[index] == expected)
      return "";
    return "got " + std::to_string(actual.integers[index]) + ", expected " +
           std::to_string(expected);
  }
  std::complex<double> expected;
  std::byte element[16] = {};
  numerics::convert(ElementType::c128, reinterpret_cast<const std::byte *>(&sum.value), resultType,
                    element, 1);
  numerics::convert(resultType, element, ElementType::c128,
                    reinterpret_cast<std::byte *>(&expected), 1);
  const double got = std::abs(actual.numbers[index] - expected);
  const double tolerance = sum.size * epsilonOf(sumsType) * std::sqrt(double(summed) + 4) * 2 +
                           std::abs(expected) * epsilonOf(resultType) * 2 +
                           (epsilonOf(resultType) > 0.1 ? 0.5 : 1e-30);
  // Narrow formats may overflow in one computation and not in the other.
  if (got <= tolerance || actual.numbers[index] == expected ||
      (std::isnan(expected.real()) && std::isnan(actual.numbers[index].real())))
    return "";
  return "got " + std::to_string(actual.numbers[index].real()) + " + " +
         std::to_string(actual.numbers[index].imag()) + "i, expected " +
         std::to_string(expected.real()) + " + " + std::to_string(expected.imag()) + "i within " +
         std::to_string(tolerance);
}

/// Compares a batch of results with the sums of the problem. Returns an empty string or the first
/// difference.
inline std::string check(const MatmulProblem &problem, ElementType sumsType, const Bytes &lhs,
                         const Bytes &rhs, const Bytes &result) {
  const Wide left = widen(problem.lhsType, lhs), right = widen(problem.rhsType, rhs);
  const Wide actual = widen(problem.resultType, result);
  for (int64_t b = 0; b < problem.batchCount(); ++b) {
    int64_t lhsAt = 0, rhsAt = 0, resultAt = 0, rest = b;
    for (size_t i = problem.batch.size(); i-- > 0;) {
      const BatchDimension &dim = problem.batch[i];
      lhsAt += rest % dim.size * dim.lhsStride;
      rhsAt += rest % dim.size * dim.rhsStride;
      resultAt += rest % dim.size * dim.resultStride;
      rest /= dim.size;
    }
    for (int64_t m = 0; m < problem.rows; ++m)
      for (int64_t n = 0; n < problem.columns; ++n) {
        Sum sum;
        for (int64_t k = 0; k < problem.summed; ++k) {
          const auto a =
              static_cast<size_t>(lhsAt + problem.lhsRows.at(m) + problem.lhsSummed.at(k));
          const auto c =
              static_cast<size_t>(rhsAt + problem.rhsSummed.at(k) + problem.rhsColumns.at(n));
          sum.add(left.numbers[a], right.numbers[c], left.integers[a], right.integers[c]);
        }
        const auto at =
            static_cast<size_t>(resultAt + problem.resultRows.at(m) + problem.resultColumns.at(n));
        std::string difference =
            differs(sum, problem.summed, sumsType, problem.resultType, actual, at);
        if (!difference.empty())
          return "at [" + std::to_string(b) + ", " + std::to_string(m) + ", " + std::to_string(n) +
                 "]: " + difference;
      }
  }
  return "";
}

} // namespace tilewright::runtime::cpu::test

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_TESTING_PRODUCTS_H
