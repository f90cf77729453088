#include "tilewright/interpret/kernels/RandomBits.h"

#include "tilewright/interpret/kernels/Indexing.h"
#include "tilewright/numerics/Convert.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

namespace tilewright::interpret {

using numerics::spelling;

std::array<uint32_t, 2> threefry2x32(std::array<uint32_t, 2> key, std::array<uint32_t, 2> counter) {
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bda};
  static constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  auto [x, y] = counter;
  x += keys[0];
  y += keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : rotations[group % 2]) {
      x += y;
      y = std::rotl(y, rotation) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + group + 1;
  }
  return {x, y};
}

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t even = uint64_t(counter[0]) * 0xd2511f53;
    const uint64_t odd = uint64_t(counter[2]) * 0xcd9e8d57;
    counter = {static_cast<uint32_t>(odd >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(odd),
               static_cast<uint32_t>(even >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(even)};
    key = {key[0] + 0x9e3779b9, key[1] + 0xbb67ae85};
  }
  return counter;
}

static std::array<uint32_t, 2> halves(uint64_t word) {
  return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)};
}

namespace {
/// Stores the low bits of random words as elements of the result.
class BitWriter {
public:
  explicit BitWriter(Tensor &result)
      : data(result.mutableData()), bytes(result.elementBytes()),
        unused(64 - bitWidth(result.type())), isSigned(numerics::isSigned(result.type())) {}
  void write(int64_t index, uint64_t word) {
    // Integers narrower than a byte are stored sign- or zero-extended to a byte.
    word <<= unused;
    word = isSigned ? static_cast<uint64_t>(static_cast<int64_t>(word) >> unused) : word >> unused;
    std::memcpy(data + static_cast<size_t>(index) * bytes, &word, bytes);
  }

private:
  std::byte *data;
  size_t bytes;
  unsigned unused;
  bool isSigned;
};
} // namespace

/// The dimension along which two neighbours get their bits from the same counter.
static int64_t pairedDimension(const Shape &shape) {
  int64_t longest = 0;
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] % 2 == 0)
      return dim;
    if (shape[dim] > shape[longest])
      longest = dim;
  }
  return longest;
}

/// Fills `result` and returns the number of counters used.
static int64_t fillThreeFry(uint64_t key, uint64_t counter, Tensor &result) {
  BitWriter writer(result);
  const Shape &shape = result.shape();
  const int64_t count = shape.elementCount();
  if (result.elementBytes() == 8) {
    for (int64_t i = 0; i < count; ++i) {
      auto [low, high] = threefry2x32(halves(key), halves(counter + static_cast<uint64_t>(i)));
      writer.write(i, low | uint64_t(high) << 32);
    }
    return count;
  }
  // Elements as [outer][size][inner]; counters as [outer][(size + 1) / 2][inner].
  int64_t size = 1, inner = 1;
  if (shape.rank() > 0) {
    const int64_t dim = pairedDimension(shape);
    size = shape[dim];
    inner = shape.strides()[static_cast<size_t>(dim)];
  }
  const int64_t pairs = (size + 1) / 2;
  const int64_t outer = count == 0 ? 0 : count / (size * inner);
  int64_t number = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t pair = 0; pair < pairs; ++pair)
      for (int64_t i = 0; i < inner; ++i, ++number) {
        auto [first, second] =
            threefry2x32(halves(key), halves(counter + static_cast<uint64_t>(number)));
        const int64_t at = (o * size + 2 * pair) * inner + i;
        writer.write(at, first);
        if (2 * pair + 1 < size)
          writer.write(at + inner, second);
      }
  return number;
}

static int64_t fillPhilox(uint64_t key, uint64_t low, uint64_t high, Tensor &result) {
  BitWriter writer(result);
  const int64_t count = result.elementCount();
  const int64_t wordsPerElement = result.elementBytes() == 8 ? 2 : 1;
  const int64_t elementsPerCounter = 4 / wordsPerElement;
  int64_t number = 0;
  for (int64_t i = 0; i < count; i += elementsPerCounter, ++number) {
    const uint64_t sum = low + static_cast<uint64_t>(number);
    auto [a, b] = halves(sum);
    auto [c, d] = halves(high + (sum < low));
    const std::array<uint32_t, 4> words = philox4x32(halves(key), {a, b, c, d});
    for (int64_t j = 0; j < std::min(elementsPerCounter, count - i); ++j) {
      const auto w = static_cast<size_t>(j * wordsPerElement);
      writer.write(i + j,
                   wordsPerElement == 2 ? words[w] | uint64_t(words[w + 1]) << 32 : words[w]);
    }
  }
  return number;
}

Result<RandomBits> randomBits(RandomAlgorithm algorithm, const Tensor &state, ElementType type,
                              const Shape &shape, Context &context) {
  const bool isThreeFry = algorithm == RandomAlgorithm::threeFry;
  const int64_t words = state.elementCount();
  if (state.type() != ElementType::ui64 || state.rank() != 1 ||
      (words != 2 && (words != 3 || isThreeFry)))
    return Status(Error::randomState,
                  concat("rng_bit_generator: the state of ", isThreeFry ? "THREE_FRY" : "PHILOX",
                         " must be ", isThreeFry ? "2xui64" : "2xui64 or 3xui64", ", got ",
                         state.typeString()));
  if (!numerics::isInteger(type) && !numerics::isReal(type))
    return Status(
        Error::operandType,
        concat("rng_bit_generator: the result must have integer or floating-point elements, got ",
               spelling(type)));
  TILEWRIGHT_TRY(context.countSteps(saturatingProduct({shape.elementCount(), 10})));
  RandomBits result;
  TILEWRIGHT_ASSIGN(result.bits, Tensor::allocate(type, shape, context));
  TILEWRIGHT_ASSIGN(result.state, Tensor::allocate(ElementType::ui64, state.shape(), context));

  const uint64_t key = state.at(0).u, low = state.at(1).u;
  const uint64_t high = words == 3 ? state.at(2).u : key;
  const int64_t used =
      isThreeFry ? fillThreeFry(key, low, result.bits) : fillPhilox(key, low, high, result.bits);
  const uint64_t next = low + static_cast<uint64_t>(used);
  result.state.set(0, Scalar::ofUnsigned(key));
  result.state.set(1, Scalar::ofUnsigned(next));
  if (words == 3)
    result.state.set(2, Scalar::ofUnsigned(high + (next < low)));
  return result;
}

/// The next 128 bits of a stream.
static std::array<uint64_t, 2> nextBits(RandomStream &stream) {
  auto [a, b] = halves(stream.counter++);
  const std::array<uint32_t, 4> words = philox4x32(halves(stream.seed), {a, b, 0, 0});
  return {words[0] | uint64_t(words[1]) << 32, words[2] | uint64_t(words[3]) << 32};
}

/// A number in [0, 1): a multiple of 2^-53.
static double fraction(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

static Status checkParameters(const Tensor &a, const Tensor &b) {
  if (a.elementCount() != 1 || b.elementCount() != 1 || a.type() != b.type())
    return Status(Error::interpretShape,
                  concat("rng: operands must be two scalars of the same type, got ", a.typeString(),
                         " and ", b.typeString()));
  return Status();
}

Result<Tensor> randomUniform(const Tensor &a, const Tensor &b, const Shape &shape,
                             RandomStream &stream, Context &context) {
  TILEWRIGHT_TRY(checkParameters(a, b));
  const ElementType type = a.type();
  if (numerics::isComplex(type))
    return Status(Error::operandType,
                  concat("rng: the uniform distribution does not support ", spelling(type)));
  TILEWRIGHT_TRY(context.countSteps(saturatingProduct({shape.elementCount(), 10})));
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(type, shape, context));
  const Scalar low = a.at(0), high = b.at(0);
  for (int64_t i = 0; i < shape.elementCount(); ++i) {
    const uint64_t bits = nextBits(stream)[0];
    Scalar value = low;
    if (numerics::isReal(type)) {
      // Interpolate with weights, because the difference of the ends may overflow.
      if (low.r < high.r) {
        const double part = fraction(bits);
        result.set(i, Scalar::ofReal(low.r * (1 - part) + high.r * part));
        if (result.at(i).r >= low.r && result.at(i).r < high.r)
          value = result.at(i);
      }
    } else if (numerics::isSigned(type) ? low.i < high.i : low.u < high.u) {
      // The high half of a product is biased by less than 2^-64 of the interval.
      const uint64_t range = high.u - low.u;
      value.u = low.u + static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * range) >> 64);
    }
    result.set(i, value);
  }
  return result;
}

Result<Tensor> randomNormal(const Tensor &mean, const Tensor &deviation, const Shape &shape,
                            RandomStream &stream, Context &context) {
  TILEWRIGHT_TRY(checkParameters(mean, deviation));
  const ElementType type = mean.type();
  if (!numerics::isReal(type))
    return Status(Error::operandType,
                  concat("rng: the normal distribution does not support ", spelling(type)));
  TILEWRIGHT_TRY(context.countSteps(saturatingProduct({shape.elementCount(), 10})));
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(type, shape, context));
  for (int64_t i = 0; i < shape.elementCount(); ++i) {
    // Box-Muller transform; 1 - fraction keeps the logarithm finite.
    auto [first, second] = nextBits(stream);
    const double radius = std::sqrt(-2 * std::log(1 - fraction(first)));
    const double normal = radius * std::cos(2 * std::numbers::pi * fraction(second));
    result.set(i, Scalar::ofReal(mean.at(0).r + deviation.at(0).r * normal));
  }
  return result;
}

} // namespace tilewright::interpret
