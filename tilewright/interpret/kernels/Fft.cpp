#include "tilewright/interpret/kernels/Fft.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>

namespace tilewright::interpret {

using numerics::spelling;

/// e^(2πi · numerator / denominator). Reduces the angle to at most an eighth of a turn, where sine
/// and cosine are accurate to the last bits.
static std::complex<long double> rootOfUnity(int64_t numerator, int64_t denominator) {
  numerator %= denominator;
  if (numerator < 0)
    numerator += denominator;
  // Round the angle to the nearest quarter of a turn; the rest is at most an eighth of a turn.
  const auto eighths = static_cast<__int128>(numerator) * 8;
  const int64_t quarter = static_cast<int64_t>((eighths + denominator) / (2 * denominator)) % 4;
  const auto rest = static_cast<long double>(
      static_cast<__int128>(numerator) * 4 -
      (static_cast<__int128>((eighths + denominator) / (2 * denominator)) * denominator));
  const long double angle =
      rest / static_cast<long double>(denominator) * (std::numbers::pi_v<long double> / 2);
  const long double c = std::cos(angle), s = std::sin(angle);
  switch (quarter) {
  case 0:
    return {c, s};
  case 1:
    return {-s, c};
  case 2:
    return {-c, -s};
  default:
    return {s, -c};
  }
}

template <typename Real>
static std::complex<Real> product(std::complex<Real> a, std::complex<Real> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

namespace {
/// In-place transforms of a fixed power-of-two length.
template <typename Real> class PowerOfTwo {
public:
  using Complex = std::complex<Real>;

  explicit PowerOfTwo(int64_t length) : length(length), roots(static_cast<size_t>(length / 2)) {
    for (int64_t i = 0; i < length / 2; ++i)
      roots[static_cast<size_t>(i)] = Complex(rootOfUnity(-i, length));
  }

  void forward(Complex *values) const {
    for (int64_t i = 1, j = 0; i < length; ++i) {
      int64_t bit = length >> 1;
      for (; j & bit; bit >>= 1)
        j ^= bit;
      j |= bit;
      if (i < j)
        std::swap(values[i], values[j]);
    }
    for (int64_t half = 1; half < length; half *= 2)
      for (int64_t begin = 0; begin < length; begin += 2 * half)
        for (int64_t i = 0; i < half; ++i) {
          Complex &low = values[begin + i], &high = values[begin + i + half];
          const Complex turned = product(high, roots[static_cast<size_t>(i * (length / 2 / half))]);
          high = low - turned;
          low = low + turned;
        }
  }

private:
  int64_t length;
  std::vector<Complex> roots;
};

/// In-place transforms of a fixed length. A length that is not a power of two is computed as a
/// convolution with a chirp, whose length is a power of two (Bluestein).
template <typename Real> class Transform {
public:
  using Complex = std::complex<Real>;

  explicit Transform(int64_t length) : length(length), inner(innerLength(length)) {
    if (isPowerOfTwo())
      return;
    const int64_t padded = innerLength(length);
    chirp.resize(static_cast<size_t>(length));
    filter.assign(static_cast<size_t>(padded), Complex());
    work.resize(static_cast<size_t>(padded));
    for (int64_t i = 0; i < length; ++i) {
      // Reduce i² modulo 2n: the chirp is periodic, and i² itself would lose digits.
      const auto square = static_cast<int64_t>(static_cast<__int128>(i) * i % (2 * length));
      chirp[static_cast<size_t>(i)] = Complex(rootOfUnity(-square, 2 * length));
      filter[static_cast<size_t>(i)] = std::conj(chirp[static_cast<size_t>(i)]);
      filter[static_cast<size_t>(i == 0 ? 0 : padded - i)] = filter[static_cast<size_t>(i)];
    }
    inner.forward(filter.data());
  }

  /// The number of table entries for a length, so that memory is accounted for before it is
  /// allocated.
  static int64_t scratchSize(int64_t length) { return 4 * innerLength(length); }

  void forward(Complex *values) {
    if (isPowerOfTwo())
      return inner.forward(values);
    const auto padded = static_cast<int64_t>(work.size());
    std::fill(work.begin(), work.end(), Complex());
    for (int64_t i = 0; i < length; ++i)
      work[static_cast<size_t>(i)] = product(values[i], chirp[static_cast<size_t>(i)]);
    inner.forward(work.data());
    // The inverse transform is the conjugate of the forward transform of the conjugate.
    for (size_t i = 0; i < work.size(); ++i)
      work[i] = std::conj(product(work[i], filter[i]));
    inner.forward(work.data());
    for (int64_t i = 0; i < length; ++i)
      values[i] = product(std::conj(work[static_cast<size_t>(i)]), chirp[static_cast<size_t>(i)]) /
                  static_cast<Real>(padded);
  }

  void inverse(Complex *values) {
    for (int64_t i = 0; i < length; ++i)
      values[i] = std::conj(values[i]);
    forward(values);
    for (int64_t i = 0; i < length; ++i)
      values[i] = std::conj(values[i]) / static_cast<Real>(length);
  }

private:
  bool isPowerOfTwo() const { return std::has_single_bit(static_cast<uint64_t>(length)); }
  static int64_t innerLength(int64_t length) {
    const auto n = static_cast<uint64_t>(length);
    return static_cast<int64_t>(std::has_single_bit(n) ? n : std::bit_ceil(2 * n - 1));
  }

  int64_t length;
  PowerOfTwo<Real> inner;
  std::vector<Complex> chirp, filter, work;
};
} // namespace

/// Fills in the second half of a transform of real numbers: element n - i is the conjugate of
/// element i.
template <typename Real> static void completeHermitian(std::complex<Real> *values, int64_t length) {
  values[0] = values[0].real();
  if (length % 2 == 0)
    values[length / 2] = values[length / 2].real();
  for (int64_t i = length / 2 + 1; i < length; ++i)
    values[i] = std::conj(values[length - i]);
}

/// The first element of a transform of real numbers is real, and so is the middle one if the length
/// is even: removes imaginary parts that are only rounding errors.
template <typename Real>
static void clearImaginary(std::complex<Real> *rows, int64_t count, int64_t length) {
  for (int64_t row = 0; row < count; ++row, rows += length) {
    rows[0] = rows[0].real();
    if (length % 2 == 0)
      rows[length / 2] = rows[length / 2].real();
  }
}

/// Transforms along one dimension of complex values laid out as [outer][length][inner].
template <typename Real>
static Status transformAlong(std::complex<Real> *values, int64_t outer, int64_t length,
                             int64_t inner, bool inverse, bool fromHermitian, Context &context) {
  const int64_t logarithm = std::bit_width(static_cast<uint64_t>(length));
  const bool direct = std::has_single_bit(static_cast<uint64_t>(length));
  TILEWRIGHT_TRY(
      context.countSteps(saturatingProduct({outer, inner, length, logarithm, direct ? 1 : 8})));
  TILEWRIGHT_ASSIGN(auto reserved,
                    context.allocate(saturatingProduct({Transform<Real>::scratchSize(length),
                                                        int64_t(sizeof(std::complex<Real>))})));
  Transform<Real> transform(length);
  std::vector<std::complex<Real>> line(static_cast<size_t>(length));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      std::complex<Real> *begin = values + o * length * inner + i;
      for (int64_t k = 0; k < length; ++k)
        line[static_cast<size_t>(k)] = begin[k * inner];
      if (fromHermitian)
        completeHermitian(line.data(), length);
      if (inverse)
        transform.inverse(line.data());
      else
        transform.forward(line.data());
      for (int64_t k = 0; k < length; ++k)
        begin[k * inner] = line[static_cast<size_t>(k)];
    }
  return Status();
}

/// Copies rows of `rowFrom` elements to rows of `rowTo` elements, truncating them or padding with
/// zeros.
template <typename To, typename From>
static void copyRows(const From *from, int64_t rowFrom, To *to, int64_t rowTo, int64_t rows) {
  const int64_t common = std::min(rowFrom, rowTo);
  for (int64_t row = 0; row < rows; ++row, from += rowFrom, to += rowTo) {
    for (int64_t i = 0; i < common; ++i)
      to[i] = To(from[i]);
    std::fill(to + common, to + rowTo, To());
  }
}

/// Input and result are f64 or complex<f64>.
template <typename Real>
static Result<Tensor> evaluate(const Tensor &input, FftKind kind, std::span<const int64_t> lengths,
                               const Shape &resultShape, Context &context) {
  const auto transformed = static_cast<int64_t>(lengths.size());
  const int64_t rank = input.rank(), last = rank - 1;
  // Compute with complex values and the full length of the last dimension for all kinds.
  Dims fullSizes(input.shape().dims().begin(), input.shape().dims().end());
  fullSizes.back() = lengths.back();
  TILEWRIGHT_ASSIGN(Shape full, Shape::create(fullSizes));
  TILEWRIGHT_ASSIGN(auto values,
                    Scratch<std::complex<Real>>::allocate(full.elementCount(), context));
  const int64_t rows = full.elementCount() / lengths.back();
  if (kind == FftKind::rfft)
    copyRows(elements<double>(input), input.shape()[last], values.data(), lengths.back(), rows);
  else
    copyRows(elements<std::complex<double>>(input), input.shape()[last], values.data(),
             lengths.back(), rows);

  const bool inverse = kind == FftKind::ifft || kind == FftKind::irfft;
  const Dims strides = full.strides();
  for (int64_t step = 0; step < transformed; ++step) {
    // Forward transforms go from the last dimension to the first, inverse ones from the first to
    // the last.
    const int64_t dim = inverse ? rank - transformed + step : last - step;
    const int64_t inner = strides[static_cast<size_t>(dim)], length = full[dim];
    const bool fromHermitian = kind == FftKind::irfft && dim == last;
    TILEWRIGHT_TRY(transformAlong(values.data(), full.elementCount() / (inner * length), length,
                                  inner, inverse, fromHermitian, context));
    if (kind == FftKind::rfft && dim == last)
      clearImaginary(values.data(), rows, length);
  }

  const ElementType wide = kind == FftKind::irfft ? ElementType::f64 : ElementType::c128;
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(wide, resultShape, context));
  if (kind == FftKind::irfft) {
    double *to = mutableElements<double>(result);
    for (int64_t i = 0; i < full.elementCount(); ++i)
      to[i] = static_cast<double>(values[i].real());
  } else {
    copyRows(values.data(), lengths.back(), mutableElements<std::complex<double>>(result),
             resultShape[last], rows);
  }
  return result;
}

/// The shape of the result, if the lengths match the operand.
static Result<Shape> checkLengths(const Tensor &operand, FftKind kind,
                                  std::span<const int64_t> lengths) {
  const auto count = static_cast<int64_t>(lengths.size());
  if (count < 1 || count > 3 || count > operand.rank())
    return Status(Error::interpretShape, concat("fft: fft_length must have 1 to 3 entries, at most "
                                                "one for each dimension of the operand, got ",
                                                count, " entries for ", operand.typeString()));
  Dims sizes(operand.shape().dims().begin(), operand.shape().dims().end());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t length = lengths[static_cast<size_t>(i)];
    const int64_t dim = operand.rank() - count + i;
    const bool isHalved = i == count - 1 && kind == FftKind::irfft;
    const int64_t expected = isHalved && length > 0 ? length / 2 + 1 : length;
    if (length < 0 || operand.shape()[dim] != expected)
      return Status(Error::interpretShape,
                    concat("fft: for length ", length, ", dimension ", dim,
                           " of the operand must be ", expected, ", got ", operand.shape()[dim]));
  }
  if (kind == FftKind::irfft)
    sizes.back() = lengths.back();
  else if (kind == FftKind::rfft && lengths.back() > 0)
    sizes.back() = lengths.back() / 2 + 1;
  return Shape::create(sizes);
}

Result<Tensor> fft(const Tensor &operand, FftKind kind, std::span<const int64_t> lengths,
                   Context &context) {
  const ElementType component = numerics::componentOf(operand.type());
  const bool wantsReal = kind == FftKind::rfft;
  if ((component != ElementType::f32 && component != ElementType::f64) ||
      numerics::isComplex(operand.type()) == wantsReal)
    return Status(Error::operandType,
                  concat("fft: a ", wantsReal ? "real" : "complex",
                         " transform must have elements of ",
                         wantsReal ? "f32 or f64" : "complex<f32> or complex<f64>", ", got ",
                         spelling(operand.type())));
  TILEWRIGHT_ASSIGN(Shape resultShape, checkLengths(operand, kind, lengths));
  const bool isWide = component == ElementType::f64;
  const ElementType resultType = kind == FftKind::irfft ? component
                                 : isWide               ? ElementType::c128
                                                        : ElementType::c64;
  if (resultShape.elementCount() == 0)
    return Tensor::allocate(resultType, resultShape, context);
  TILEWRIGHT_ASSIGN(Tensor input,
                    converted(operand, wantsReal ? ElementType::f64 : ElementType::c128, context));
  TILEWRIGHT_ASSIGN(Tensor result,
                    isWide ? evaluate<long double>(input, kind, lengths, resultShape, context)
                           : evaluate<double>(input, kind, lengths, resultShape, context));
  return converted(result, resultType, context);
}

} // namespace tilewright::interpret
