// rng_bit_generator, bitwise equal to XLA's CPU and GPU backends, and rng.
#include "tilewright/numerics/scalar/Scalar.h"
#include "tilewright/runtime/cpu/library/CallReader.h"
#include "tilewright/runtime/cpu/library/Isa.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numbers>

namespace tilewright::runtime::cpu {

namespace {
/// Number of counters that are processed together.
constexpr int lanes = 16;
using Words = Vector<uint32_t, lanes>;
using WideWords = Vector<uint64_t, lanes>;

TILEWRIGHT_INLINE Words lowHalves(WideWords words) { return __builtin_convertvector(words, Words); }
TILEWRIGHT_INLINE Words highHalves(WideWords words) {
  return __builtin_convertvector(words >> 32, Words);
}
TILEWRIGHT_INLINE WideWords counting() {
  WideWords numbers;
  for (int lane = 0; lane < lanes; ++lane)
    numbers[lane] = static_cast<uint64_t>(lane);
  return numbers;
}

/// Threefry-2x32 with 20 rounds, for counters counter, counter + 1, …
TILEWRIGHT_INLINE void threeFry(uint64_t key, uint64_t counter, Words &x, Words &y) {
  const auto first = static_cast<uint32_t>(key), second = static_cast<uint32_t>(key >> 32);
  const uint32_t keys[3] = {first, second, first ^ second ^ 0x1bd11bda};
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const WideWords counters = counting() + counter;
  x = lowHalves(counters) + keys[0];
  y = highHalves(counters) + keys[1];
#pragma clang loop unroll(full)
  for (uint32_t group = 0; group < 5; ++group) {
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i) {
      const int rotation = rotations[group % 2][i];
      x += y;
      y = ((y << rotation) | (y >> (32 - rotation))) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + group + 1;
  }
}

/// Philox-4x32 with 10 rounds; the counter's low word is low + number.
TILEWRIGHT_INLINE void philox(uint64_t key, uint64_t low, uint64_t high, uint64_t number,
                              Words (&words)[4]) {
  auto first = static_cast<uint32_t>(key), second = static_cast<uint32_t>(key >> 32);
  const WideWords lows = counting() + (low + number);
  // The sum has wrapped if it is below `low`; numbers are far below 2^63.
  WideWords highs;
  for (int lane = 0; lane < lanes; ++lane)
    highs[lane] = high + (lows[lane] < low);
  words[0] = lowHalves(lows);
  words[1] = highHalves(lows);
  words[2] = lowHalves(highs);
  words[3] = highHalves(highs);
  for (int round = 0; round < 10; ++round) {
    const WideWords even = __builtin_convertvector(words[0], WideWords) * uint64_t(0xd2511f53);
    const WideWords odd = __builtin_convertvector(words[2], WideWords) * uint64_t(0xcd9e8d57);
    const Words one = highHalves(odd) ^ words[1] ^ first;
    const Words three = highHalves(even) ^ words[3] ^ second;
    words[0] = one;
    words[1] = lowHalves(odd);
    words[2] = three;
    words[3] = lowHalves(even);
    first += 0x9e3779b9;
    second += 0xbb67ae85;
  }
}

/// Stores the low bits of words as elements.
class BitWriter {
public:
  BitWriter(ElementType type, std::byte *data)
      : data(data), bytes(static_cast<int64_t>(numerics::storageBytes(type))),
        unused(64 - numerics::bitWidth(type)), isSigned(numerics::isSigned(type)) {}

  /// Writes words to elements index, index + step, …
  void write(int64_t index, int64_t step, const uint32_t *words, int64_t count) const {
    if (bytes == 4) {
      auto *to = reinterpret_cast<uint32_t *>(data) + index;
      for (int64_t i = 0; i < count; ++i)
        to[i * step] = words[i];
    } else if (bytes == 2) {
      auto *to = reinterpret_cast<uint16_t *>(data) + index;
      for (int64_t i = 0; i < count; ++i)
        to[i * step] = static_cast<uint16_t>(words[i]);
    } else {
      // Integers of less than a byte are stored extended to a byte.
      auto *to = reinterpret_cast<uint8_t *>(data) + index;
      for (int64_t i = 0; i < count; ++i) {
        const uint64_t word = static_cast<uint64_t>(words[i]) << unused;
        to[i * step] = static_cast<uint8_t>(
            isSigned ? static_cast<uint64_t>(static_cast<int64_t>(word) >> unused)
                     : word >> unused);
      }
    }
  }
  void writeWide(int64_t index, const uint32_t *lows, const uint32_t *highs, int64_t count,
                 int64_t step = 1) const {
    auto *to = reinterpret_cast<uint64_t *>(data) + index;
    for (int64_t i = 0; i < count; ++i)
      to[i * step] = lows[i] | static_cast<uint64_t>(highs[i]) << 32;
  }

private:
  std::byte *data;
  int64_t bytes;
  unsigned unused;
  bool isSigned;
};

class RandomBitsKernel final : public LibraryKernel {
public:
  RandomBitsKernel(bool isThreeFry, int64_t stateWords, ElementType type, const Shape &shape)
      : isThreeFry(isThreeFry), stateWords(stateWords), type(type), count(shape.elementCount()) {
    // For types below 64 bits, the two words of a ThreeFry counter go to adjacent elements along
    // the first dimension of even size, or along the longest if all sizes are odd.
    if (shape.rank() == 0)
      return;
    int64_t paired = 0;
    for (int64_t dim = 0; dim < shape.rank(); ++dim) {
      if (shape[dim] % 2 == 0) {
        paired = dim;
        break;
      }
      if (shape[dim] > shape[paired])
        paired = dim;
    }
    size = shape[paired];
    inner = shape.strides()[static_cast<size_t>(paired)];
  }

  Status run(const LibraryRun &run) const override {
    const auto *state = reinterpret_cast<const uint64_t *>(run.operands[0]);
    const uint64_t key = state[0], low = state[1];
    const uint64_t high = stateWords == 3 ? state[2] : key;
    const bool isWide = numerics::storageBytes(type) == 8;
    const BitWriter writer(type, run.results[1]);
    int64_t used = 0;
    if (isThreeFry) {
      const int64_t pairs = (size + 1) / 2;
      used = isWide ? count : count == 0 ? 0 : count / (size * inner) * pairs * inner;
    } else {
      const int64_t each = isWide ? 2 : 4;
      used = (count + each - 1) / each;
    }
    const int64_t blocks = (used + lanes - 1) / lanes;
    run.pool.parallelFor(blocks, 512, [&](int64_t begin, int64_t end) {
      withVectors([&](auto) TILEWRIGHT_LAMBDA {
        for (int64_t block = begin; block < end; ++block) {
          const int64_t first = block * lanes, now = std::min<int64_t>(lanes, used - first);
          if (isThreeFry) {
            Words x, y;
            threeFry(key, low + static_cast<uint64_t>(first), x, y);
            uint32_t words[2][lanes];
            storeVector(words[0], x);
            storeVector(words[1], y);
            if (isWide)
              writer.writeWide(first, words[0], words[1], now);
            else
              writePairs(writer, first, words[0], words[1], now);
          } else {
            Words words[4];
            philox(key, low, high, static_cast<uint64_t>(first), words);
            uint32_t out[4][lanes];
            for (int i = 0; i < 4; ++i)
              storeVector(out[i], words[i]);
            writePhilox(writer, first, out, isWide);
          }
        }
      });
    });
    // Write the state last: it may share the operand's memory.
    auto *next = reinterpret_cast<uint64_t *>(run.results[0]);
    next[0] = key;
    next[1] = low + static_cast<uint64_t>(used);
    if (stateWords == 3)
      next[2] = high + (next[1] < low);
    return Status();
  }

private:
  /// Elements are laid out as [outer][size][inner], counters as [outer][(size + 1) / 2][inner].
  void writePairs(const BitWriter &writer, int64_t number, const uint32_t *first,
                  const uint32_t *second, int64_t n) const {
    const int64_t pairs = (size + 1) / 2;
    for (int64_t i = 0; i < n;) {
      const int64_t column = (number + i) % inner, line = (number + i) / inner;
      const int64_t pair = line % pairs, outer = line / pairs;
      const int64_t at = (outer * size + 2 * pair) * inner + column;
      // Write as many elements as are contiguous: columns, or pairs if there is only one column.
      int64_t now = std::min(inner - column, n - i), step = 1;
      if (inner == 1) {
        now = std::min(pairs - pair, n - i);
        step = 2;
      }
      writer.write(at, step, first + i, now);
      // The last pair of an odd size has no second element.
      int64_t seconds = now;
      if (inner == 1)
        seconds = std::min(now, size / 2 - pair);
      else if (2 * pair + 1 >= size)
        seconds = 0;
      writer.write(at + inner, step, second + i, seconds);
      i += now;
    }
  }

  void writePhilox(const BitWriter &writer, int64_t number, const uint32_t (&words)[4][lanes],
                   bool isWide) const {
    const int64_t each = isWide ? 2 : 4;
    for (int64_t word = 0; word < each; ++word) {
      const int64_t at = number * each + word;
      const int64_t now = std::min<int64_t>(lanes, (count - at + each - 1) / each);
      if (now <= 0)
        return;
      if (isWide)
        writer.writeWide(at, words[2 * word], words[2 * word + 1], now, each);
      else
        writer.write(at, each, words[word], now);
    }
  }

  bool isThreeFry;
  int64_t stateWords;
  ElementType type;
  int64_t count;
  int64_t size = 1, inner = 1;
};

/// The kernel of rng. The specification does not define its numbers, so each run continues the
/// sequence of the previous one.
class RandomNumbersKernel final : public LibraryKernel {
public:
  RandomNumbersKernel(ElementType type, int64_t count, bool isNormal)
      : type(type), count(count), isNormal(isNormal) {}

  Status run(const LibraryRun &run) const override {
    const uint64_t begin = next.fetch_add(static_cast<uint64_t>(count), std::memory_order_relaxed);
    const numerics::Scalar a = numerics::loadScalar(type, run.operands[0]);
    const numerics::Scalar b = numerics::loadScalar(type, run.operands[1]);
    const size_t bytes = numerics::storageBytes(type);
    run.pool.parallelFor(count, 1024, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        Words words[4];
        philox(uint64_t(0x74696c65), begin + static_cast<uint64_t>(i), 0, 0, words);
        const uint64_t one = words[0][0] | static_cast<uint64_t>(words[1][0]) << 32;
        const uint64_t two = words[2][0] | static_cast<uint64_t>(words[3][0]) << 32;
        numerics::storeScalar(type, run.results[0] + static_cast<size_t>(i) * bytes,
                              isNormal ? normal(a, b, one, two) : uniform(a, b, one));
      }
    });
    return Status();
  }

private:
  /// A number in [0, 1), a multiple of 2^-53.
  static double fraction(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

  static numerics::Scalar normal(const numerics::Scalar &mean, const numerics::Scalar &deviation,
                                 uint64_t one, uint64_t two) {
    // Box-Muller; 1 - fraction keeps the logarithm finite.
    const double radius = std::sqrt(-2 * std::log(1 - fraction(one)));
    return numerics::Scalar::ofReal(mean.r + deviation.r * radius *
                                                 std::cos(2 * std::numbers::pi * fraction(two)));
  }

  numerics::Scalar uniform(const numerics::Scalar &low, const numerics::Scalar &high,
                           uint64_t bits) const {
    numerics::Scalar value = low;
    if (numerics::isReal(type)) {
      if (low.r < high.r) {
        // Use the weighted sum, because the difference may overflow although the ends do not. Round
        // to the type before the check, because rounding may reach the upper end, which is outside
        // the interval.
        const double part = fraction(bits);
        alignas(8) std::byte rounded[16];
        numerics::storeScalar(type, rounded,
                              numerics::Scalar::ofReal(low.r * (1 - part) + high.r * part));
        const numerics::Scalar candidate = numerics::loadScalar(type, rounded);
        if (candidate.r >= low.r && candidate.r < high.r)
          value = candidate;
      }
    } else if (numerics::isSigned(type) ? low.i < high.i : low.u < high.u) {
      const uint64_t range = high.u - low.u;
      value.u = low.u + static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * range) >> 64);
    }
    return value;
  }

  ElementType type;
  int64_t count;
  bool isNormal;
  mutable std::atomic<uint64_t> next = 0;
};
} // namespace

/// Operand: state. Results: state, bits.
KernelResult prepareRandomBits(const artifact::RngBitGeneratorCall &call,
                               const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(1, 2));
  TILEWRIGHT_ASSIGN(Shape shape, reader.resultShape(1));
  const bool isThreeFry = call.rngAlgorithm == RngAlgorithm::threeFry;
  const TensorType &state = types.operands[0];
  const int64_t words = state.dims.size() == 1 ? state.dims[0] : 0;
  if (state.element != ElementType::ui64 || (words != 2 && (words != 3 || isThreeFry)))
    return reader.failure("the state of ", nameOf(call.rngAlgorithm), " must be ",
                          isThreeFry ? "ui64[2]" : "ui64[2] or ui64[3]", ", got ",
                          typeString(state));
  TILEWRIGHT_TRY(reader.expectResult(0, state.element, state.dims));
  const ElementType type = types.results[1].element;
  if (!numerics::isInteger(type) && !numerics::isReal(type))
    return reader.failure("the result must have integer or floating-point elements, got ",
                          numerics::spelling(type));
  return makeKernel<RandomBitsKernel>(isThreeFry, words, type, shape);
}

/// Operands: a, b, and the shape, which is that of the result.
KernelResult prepareRandomNumbers(const artifact::RngCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(3, 1));
  TILEWRIGHT_ASSIGN(Shape shape, reader.resultShape(0));
  TILEWRIGHT_ASSIGN(Shape a, reader.operandShape(0));
  TILEWRIGHT_ASSIGN(Shape b, reader.operandShape(1));
  const ElementType type = types.results[0].element;
  const bool isNormal = call.rngDistribution == RngDistribution::normal;
  if (a.elementCount() != 1 || b.elementCount() != 1 || types.operands[0].element != type ||
      types.operands[1].element != type || numerics::isComplex(type) ||
      (isNormal && !numerics::isReal(type)))
    return reader.failure("operands must be two scalars of the result's type, which must not be "
                          "complex and must be floating-point for NORMAL, got ",
                          typeString(types.operands[0]), ", ", typeString(types.operands[1]),
                          " and ", nameOf(call.rngDistribution));
  return makeKernel<RandomNumbersKernel>(type, shape.elementCount(), isNormal);
}

} // namespace tilewright::runtime::cpu
