// Expands fft into products with constant matrices.
//
//   length up to 64           the matrix of the transform
//   L1 * L2                   transforms of length L1, a multiplication by roots of unity (twiddle
//                             factors), and transforms of length L2, recursively (Cooley, Tukey)
//   a large prime             a convolution, by transforms whose length is a power of two
//                             (Bluestein)
//
// Constants have O(L) elements, apart from the matrices of the factors. Complex numbers are pairs
// of real tensors, because a product of matrices of real numbers is the faster kernel.
#include "tilewright/transform/simplify/expand/Expand.h"
#include "tilewright/transform/simplify/expand/TensorBuilder.h"

#include <bit>
#include <cmath>
#include <complex>
#include <numbers>

using namespace mlir;

namespace tilewright::simplify {
namespace {

using Root = std::complex<long double>;

/// The maximum length that is transformed by a single product; and the maximum prime for which that
/// is cheaper than Bluestein's convolution, which takes six times the multiplications of the next
/// power of two.
constexpr int64_t maxDirect = 64, maxDirectPrime = 256;

/// e^(2πi · numerator / denominator), accurate to the last bits: the angle is reduced to an eighth
/// of a turn.
Root rootOfUnity(int64_t numerator, int64_t denominator) {
  __int128 turn = numerator % denominator;
  if (turn < 0)
    turn += denominator;
  // The nearest quarter of a turn, and the rest.
  const auto quarter = static_cast<int>((8 * turn + denominator) / (2 * denominator));
  const auto rest = static_cast<long double>(4 * turn - __int128(quarter) * denominator);
  const long double angle =
      rest / static_cast<long double>(denominator) * (std::numbers::pi_v<long double> / 2);
  const Root root(std::cos(angle), std::sin(angle));
  switch (quarter % 4) {
  case 0:
    return root;
  case 1:
    return {-root.imag(), root.real()};
  case 2:
    return -root;
  default:
    return {root.imag(), -root.real()};
  }
}

/// The transform of a constant whose length is a power of two, with sign -1.
void transformConstant(std::vector<Root> &values) {
  const size_t length = values.size();
  for (size_t i = 1, j = 0; i < length; ++i) {
    size_t bit = length >> 1;
    for (; j & bit; bit >>= 1)
      j ^= bit;
    j |= bit;
    if (i < j)
      std::swap(values[i], values[j]);
  }
  for (size_t half = 1; half < length; half *= 2)
    for (size_t i = 0; i < half; ++i) {
      const Root root = rootOfUnity(-static_cast<int64_t>(i), static_cast<int64_t>(2 * half));
      for (size_t begin = 0; begin < length; begin += 2 * half) {
        Root &low = values[begin + i], &high = values[begin + i + half];
        const Root turned = high * root;
        high = low - turned;
        low = low + turned;
      }
    }
}

/// A factor of `length` for the first of two steps; 0 if none is suitable. Prefers two factors of
/// similar size, otherwise the largest one.
int64_t factorOf(int64_t length) {
  int64_t best = 0;
  for (int64_t factor = 2; factor <= maxDirect; ++factor)
    if (length % factor == 0 && (length / factor > maxDirect || factor * factor <= length))
      best = factor;
  for (int64_t factor = maxDirect + 1; best == 0 && factor <= maxDirectPrime; ++factor)
    if (length % factor == 0 && factor < length)
      best = factor;
  return best;
}

class Expansion {
public:
  /// Complex numbers. The imaginary parts are absent if they are zero or not needed.
  struct Numbers {
    Value real, imaginary;
  };

  Expansion(stablehlo::FftOp op, RewriterBase &rewriter)
      : op(op), b(rewriter, op.getLoc()), kind(op.getFftType()) {
    Type element = typeOf(op.getOperand()).getElementType();
    auto complex = dyn_cast<ComplexType>(element);
    real = complex ? complex.getElementType() : element;
    if (complex)
      values = {b.real(op.getOperand()), b.imaginary(op.getOperand())};
    else
      values = {op.getOperand(), Value()};
  }

  Value run() {
    const ArrayRef<int64_t> lengths = op.getFftLength();
    const int64_t rank = typeOf(values.real).getRank(), last = rank - 1;
    const auto count = static_cast<int64_t>(lengths.size());
    const bool isInverse = kind == stablehlo::FftType::IFFT || kind == stablehlo::FftType::IRFFT;
    sign = isInverse ? 1 : -1;
    for (int64_t step = 0; step < count; ++step) {
      // Only half of a symmetric spectrum's last dimension is kept: a real transform begins with
      // that dimension, and its inverse ends with it.
      const int64_t dim = isInverse ? rank - count + step : last - step;
      const int64_t length = lengths[static_cast<size_t>(dim - (rank - count))];
      if (kind == stablehlo::FftType::IRFFT && dim == last)
        completeSpectrum(length);
      transformAlong(dim, length);
      if (kind == stablehlo::FftType::RFFT && dim == last)
        keepHalf(length);
      if (isInverse)
        divide(length);
    }
    return kind == stablehlo::FftType::IRFFT ? values.real
                                             : b.complex(values.real, values.imaginary);
  }

private:
  /// Applies `function` to both parts.
  Numbers onBoth(Numbers numbers, llvm::function_ref<Value(Value)> function) {
    return {function(numbers.real), numbers.imaginary ? function(numbers.imaginary) : Value()};
  }
  Numbers reshape(Numbers numbers, ArrayRef<int64_t> shape) {
    return onBoth(numbers, [&](Value value) { return b.reshape(value, shape); });
  }
  Numbers transpose(Numbers numbers, ArrayRef<int64_t> permutation) {
    return onBoth(numbers, [&](Value value) { return b.transpose(value, permutation); });
  }

  /// A constant of real numbers, given by a function of the index in row-major order.
  Value table(ArrayRef<int64_t> shape, llvm::function_ref<long double(int64_t)> element) {
    auto type = RankedTensorType::get(shape, real);
    const auto count = static_cast<size_t>(type.getNumElements());
    if (real.isF64()) {
      std::vector<double> numbers(count);
      for (size_t i = 0; i < count; ++i)
        numbers[i] = static_cast<double>(element(static_cast<int64_t>(i)));
      return b.constant(DenseElementsAttr::get(type, ArrayRef(numbers)));
    }
    std::vector<float> numbers(count);
    for (size_t i = 0; i < count; ++i)
      numbers[i] = static_cast<float>(element(static_cast<int64_t>(i)));
    return b.constant(DenseElementsAttr::get(type, ArrayRef(numbers)));
  }

  /// Multiplies by a constant, broadcast along the dimensions that precede its own.
  Numbers times(Numbers numbers, ArrayRef<int64_t> shape, ArrayRef<Root> factors) {
    const ArrayRef<int64_t> full = typeOf(numbers.real).getShape();
    SmallVector<int64_t> dims;
    for (size_t i = 0; i < shape.size(); ++i)
      dims.push_back(static_cast<int64_t>(full.size() - shape.size() + i));
    Value c =
        b.broadcast(table(shape, [&](int64_t i) { return factors[static_cast<size_t>(i)].real(); }),
                    full, dims);
    Value s =
        b.broadcast(table(shape, [&](int64_t i) { return factors[static_cast<size_t>(i)].imag(); }),
                    full, dims);
    auto [x, y] = numbers;
    if (!y)
      return {b.multiply(x, c), b.multiply(x, s)};
    return {b.subtract(b.multiply(x, c), b.multiply(y, s)),
            b.add(b.multiply(x, s), b.multiply(y, c))};
  }

  /// The transform of each row of [rows, length].
  Numbers transformRows(Numbers rows, int64_t length) {
    if (length == 1)
      return {rows.real, rows.imaginary ? rows.imaginary : b.number(typeOf(rows.real), 0)};
    if (length <= maxDirect)
      return multiplyMatrix(rows, length);
    if (int64_t factor = factorOf(length))
      return transformInSteps(rows, factor, length / factor);
    return length <= maxDirectPrime ? multiplyMatrix(rows, length) : convolve(rows, length);
  }

  /// [x | y] times [[c, s], [-s, c]], the matrix of the transform.
  Numbers multiplyMatrix(Numbers rows, int64_t length) {
    Value lhs = rows.imaginary ? b.concatenate({rows.real, rows.imaginary}, 1) : rows.real;
    const int64_t height = rows.imaginary ? 2 * length : length;
    std::vector<Root> roots;
    for (int64_t i = 0; i < length; ++i)
      roots.push_back(rootOfUnity(sign * i, length));
    Value matrix = table({height, 2 * length}, [&](int64_t at) {
      const int64_t row = at / (2 * length), column = at % (2 * length);
      const Root root = roots[static_cast<size_t>((row % length) * (column % length) % length)];
      if ((row < length) == (column < length))
        return root.real();
      return row < length ? root.imag() : -root.imag();
    });
    Value product = b.dot(lhs, matrix);
    return {b.sliceAlong(product, 1, 0, length), b.sliceAlong(product, 1, length, length)};
  }

  /// Index n is n1 * second + n2, frequency k is k1 + first * k2.
  Numbers transformInSteps(Numbers numbers, int64_t first, int64_t second) {
    const int64_t rows = typeOf(numbers.real).getDimSize(0), length = first * second;
    numbers = transpose(reshape(numbers, {rows, first, second}), {0, 2, 1});
    numbers = transformRows(reshape(numbers, {rows * second, first}), first);
    std::vector<Root> factors;
    for (int64_t n = 0; n < second; ++n)
      for (int64_t k = 0; k < first; ++k)
        factors.push_back(rootOfUnity(sign * n * k, length));
    numbers = times(reshape(numbers, {rows, second, first}), {second, first}, factors);
    numbers = reshape(transpose(numbers, {0, 2, 1}), {rows * first, second});
    numbers = reshape(transformRows(numbers, second), {rows, first, second});
    return reshape(transpose(numbers, {0, 2, 1}), {rows, length});
  }

  /// n * k = (n² + k² - (k - n)²) / 2: multiplies by a chirp, convolves with its conjugate, and
  /// multiplies by it again.
  Numbers convolve(Numbers numbers, int64_t length) {
    const auto padded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * length - 1)));
    std::vector<Root> chirp, filter(static_cast<size_t>(padded));
    for (int64_t i = 0; i < length; ++i) {
      // i² modulo 2 * length: the chirp is periodic, and i² could overflow.
      const auto square = static_cast<int64_t>(static_cast<__int128>(i) * i % (2 * length));
      chirp.push_back(rootOfUnity(sign * square, 2 * length));
      filter[static_cast<size_t>(i)] = std::conj(chirp.back());
      filter[static_cast<size_t>(i == 0 ? 0 : padded - i)] = std::conj(chirp.back());
    }
    transformConstant(filter);
    for (Root &element : filter)
      element /= static_cast<long double>(padded); // of the inverse transform
    numbers = times(numbers, {length}, chirp);
    Value zero = b.number(RankedTensorType::get({}, real), 0);
    numbers = onBoth(numbers, [&](Value value) {
      return b.pad(value, zero, {0, 0}, {0, padded - length}, {0, 0});
    });
    const int outer = sign;
    sign = -1;
    numbers = times(transformRows(numbers, padded), {padded}, filter);
    sign = 1;
    numbers = transformRows(numbers, padded);
    sign = outer;
    numbers = onBoth(numbers, [&](Value value) { return b.sliceAlong(value, 1, 0, length); });
    return times(numbers, {length}, chirp);
  }

  /// Transforms `values` along a dimension.
  void transformAlong(int64_t dim, int64_t length) {
    const int64_t rank = typeOf(values.real).getRank();
    SmallVector<int64_t> toLast = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    std::swap(toLast[static_cast<size_t>(dim)], toLast.back()); // its own inverse
    values = transpose(values, toLast);
    const SmallVector<int64_t> shape(typeOf(values.real).getShape());
    const int64_t rows = typeOf(values.real).getNumElements() / length;
    values = transformRows(reshape(values, {rows, length}), length);
    values = transpose(reshape(values, shape), toLast);
  }

  /// Clears the imaginary parts of the first and, for an even length, the middle frequency, which
  /// are zero for real signals.
  void clearImaginary(int64_t length) {
    RankedTensorType type = typeOf(values.imaginary);
    auto number = RankedTensorType::get(type.getShape(), b.builder.getI32Type());
    Value at = b.iota(number, type.getRank() - 1);
    Value isReal = b.compare(at, stablehlo::ComparisonDirection::EQ, 0);
    if (length % 2 == 0)
      isReal = b.binary<stablehlo::OrOp>(
          isReal, b.compare(at, stablehlo::ComparisonDirection::EQ, length / 2));
    values.imaginary = b.select(isReal, b.number(type, 0), values.imaginary);
  }

  /// The first half of the spectrum of a real signal, which determines the other.
  void keepHalf(int64_t length) {
    values = onBoth(values, [&](Value value) {
      return b.sliceAlong(value, typeOf(value).getRank() - 1, 0, length / 2 + 1);
    });
    clearImaginary(length);
  }

  /// Frequency length - i is the conjugate of frequency i.
  void completeSpectrum(int64_t length) {
    clearImaginary(length);
    const int64_t missing = length - (length / 2 + 1);
    if (missing == 0)
      return;
    values = onBoth(values, [&](Value value) {
      const int64_t last = typeOf(value).getRank() - 1;
      Value mirrored = b.reverse(b.sliceAlong(value, last, 1, missing), last);
      if (value == values.imaginary)
        mirrored = b.negate(mirrored);
      return b.concatenate({value, mirrored}, last);
    });
  }

  void divide(int64_t length) {
    values = onBoth(values, [&](Value value) {
      return b.divide(value, b.number(typeOf(value), static_cast<double>(length)));
    });
  }

  stablehlo::FftOp op;
  TensorBuilder b;
  stablehlo::FftType kind;
  Type real;
  Numbers values;
  int sign = -1; // of the exponent
};

} // namespace

LogicalResult expandFft(stablehlo::FftOp op, RewriterBase &rewriter) {
  if (!isStatic(op.getOperand()) || !isStatic(op.getResult()))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  if (typeOf(op.getResult()).getNumElements() == 0 || typeOf(op.getOperand()).getNumElements() == 0)
    return rewriter.notifyMatchFailure(op, "the result is empty");
  rewriter.replaceOp(op, Expansion(op, rewriter).run());
  return success();
}

} // namespace tilewright::simplify
