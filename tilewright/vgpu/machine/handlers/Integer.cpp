#include "tilewright/vgpu/machine/handlers/Lanes.h"

namespace tilewright::vgpu::machine::VGPU_ISA {

#define VGPU_TERNARY(name, expression)                                                             \
  template <typename T> static void name(VGPU_ARGS) {                                              \
    const uint32_t m = active(op, registers, mask);                                                \
    const Lanes<T> a = get<T>(registers, op->a), b = get<T>(registers, op->b),                     \
                   c = get<T>(registers, op->c);                                                   \
    put<T>(registers, op->d, m, expression);                                                       \
    VGPU_NEXT;                                                                                     \
  }

template <typename T> struct DoubleWidth;
template <> struct DoubleWidth<uint16_t> {
  using Type = uint32_t;
};
template <> struct DoubleWidth<int16_t> {
  using Type = int32_t;
};
template <> struct DoubleWidth<uint32_t> {
  using Type = uint64_t;
};
template <> struct DoubleWidth<int32_t> {
  using Type = int64_t;
};

/// The upper half of the product.
template <typename T> VGPU_INLINE Lanes<T> highProduct(Lanes<T> a, Lanes<T> b) {
  if constexpr (sizeof(T) < 8) {
    using Wide = typename DoubleWidth<T>::Type;
    return castLanes<T>((castLanes<Wide>(a) * castLanes<Wide>(b)) >> Wide(8 * sizeof(T)));
  } else {
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    Lanes<T> result;
    for (int i = 0; i < 32; ++i)
      result[i] = static_cast<T>((static_cast<Wide>(a[i]) * b[i]) >> 64);
    return result;
  }
}

/// Division by zero gives a quotient of all ones and the remainder `a`, like NVIDIA's
/// implementation; PTX leaves the result unspecified.
template <typename T> VGPU_INLINE T quotientOf(T a, T b) {
  if (b == 0)
    return static_cast<T>(~T(0));
  if (std::is_signed_v<T> && b == T(-1))
    return static_cast<T>(UnsignedOf<T>(0) - static_cast<UnsignedOf<T>>(a));
  return static_cast<T>(a / b);
}
template <typename T> VGPU_INLINE T remainderOf(T a, T b) {
  if (b == 0)
    return a;
  if (std::is_signed_v<T> && b == T(-1))
    return 0;
  return static_cast<T>(a % b);
}
/// Divides integers of at most 32 bits in f64. A quotient that is not an integer differs from the
/// nearest integer by at least 2^-32 relative, which 53 bits can represent, so truncation is exact.
template <typename T> VGPU_INLINE Lanes<T> quotient(Lanes<T> a, Lanes<T> b) {
  if constexpr (sizeof(T) == 4) {
    const Lanes<double> exact = castLanes<double>(a) / castLanes<double>(b);
    // -2^31 / -1 is 2^31, which wraps; the conversion to 64 bits is never out of range.
    const Lanes<int64_t> zero = castLanes<int64_t>(b == T(0)) != 0;
    const Lanes<int64_t> safe = castLanes<int64_t>(zero ? Lanes<double>(0) : exact);
    const Lanes<T> cut = castLanes<T>(safe);
    return b == T(0) ? Lanes<T>(T(~T(0))) : cut;
  } else {
    Lanes<T> result;
    for (int i = 0; i < 32; ++i)
      result[i] = quotientOf<T>(a[i], b[i]);
    return result;
  }
}
template <typename T> VGPU_INLINE Lanes<T> remainderLanes(Lanes<T> a, Lanes<T> b) {
  if constexpr (sizeof(T) == 4) {
    using U = uint32_t;
    const Lanes<U> q = bitsAs<U>(quotient<T>(a, b));
    const Lanes<U> r = bitsAs<U>(a) - q * bitsAs<U>(b);
    return b == T(0) ? a : bitsAs<T>(r);
  } else {
    Lanes<T> result;
    for (int i = 0; i < 32; ++i)
      result[i] = remainderOf<T>(a[i], b[i]);
    return result;
  }
}

VGPU_BINARY(add, a + b)
VGPU_BINARY(subtract, a - b)
VGPU_BINARY(multiply, a *b)
VGPU_TERNARY(multiplyAdd, a *b + c)
VGPU_BINARY(multiplyHigh, highProduct<T>(a, b))
template <typename T> static void multiplyHighAdd(VGPU_ARGS) {
  using U = UnsignedOf<T>;
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> high = highProduct<T>(get<T>(registers, op->a), get<T>(registers, op->b));
  put<U>(registers, op->d, m, bitsAs<U>(high) + get<U>(registers, op->c));
  VGPU_NEXT;
}
template <typename T> static void multiplyWide(VGPU_ARGS) {
  using Wide = typename DoubleWidth<T>::Type;
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = get<T>(registers, op->a), b = get<T>(registers, op->b);
  put<Wide>(registers, op->d, m, castLanes<Wide>(a) * castLanes<Wide>(b));
  VGPU_NEXT;
}
template <typename T> static void multiplyWideAdd(VGPU_ARGS) {
  using Wide = typename DoubleWidth<T>::Type;
  using U = UnsignedOf<Wide>;
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = get<T>(registers, op->a), b = get<T>(registers, op->b);
  const Lanes<Wide> product = castLanes<Wide>(a) * castLanes<Wide>(b);
  put<U>(registers, op->d, m, bitsAs<U>(product) + get<U>(registers, op->c));
  VGPU_NEXT;
}
VGPU_BINARY(minimum, a < b ? a : b)
VGPU_BINARY(maximum, a > b ? a : b)
VGPU_BINARY(divide, quotient<T>(a, b))
VGPU_BINARY(remainder, remainderLanes<T>(a, b))
template <typename T> static void sumOfDifference(VGPU_ARGS) {
  using U = UnsignedOf<T>;
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = get<T>(registers, op->a), b = get<T>(registers, op->b);
  const Lanes<U> x = bitsAs<U>(a), y = bitsAs<U>(b);
  put<U>(registers, op->d, m, get<U>(registers, op->c) + (a > b ? x - y : y - x));
  VGPU_NEXT;
}
template <typename T> static void absolute(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = get<T>(registers, op->a);
  put<T>(registers, op->d, m, bitsAs<SignedOf<T>>(a) < SignedOf<T>(0) ? T(0) - a : a);
  VGPU_NEXT;
}
VGPU_UNARY(negate, T(0) - a)

VGPU_INLINE Lanes<int32_t> clamp32(Lanes<int64_t> wide) {
  const Lanes<int64_t> low(INT32_MIN), high(INT32_MAX);
  wide = wide < low ? low : wide;
  return castLanes<int32_t>(wide > high ? high : wide);
}
static void addSaturated(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<int32_t>(registers, op->d, m,
               clamp32(castLanes<int64_t>(get<int32_t>(registers, op->a)) +
                       castLanes<int64_t>(get<int32_t>(registers, op->b))));
  VGPU_NEXT;
}
static void subtractSaturated(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<int32_t>(registers, op->d, m,
               clamp32(castLanes<int64_t>(get<int32_t>(registers, op->a)) -
                       castLanes<int64_t>(get<int32_t>(registers, op->b))));
  VGPU_NEXT;
}
static void multiplyHighAddSaturated(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<int32_t> high =
      highProduct<int32_t>(get<int32_t>(registers, op->a), get<int32_t>(registers, op->b));
  put<int32_t>(
      registers, op->d, m,
      clamp32(castLanes<int64_t>(high) + castLanes<int64_t>(get<int32_t>(registers, op->c))));
  VGPU_NEXT;
}

// Carries. imm bit 0: reads the carry; bit 1: writes the carry.

template <typename T>
VGPU_INLINE void sumWithCarry(const Op *op, std::byte *registers, uint32_t m, Lanes<T> a,
                              Lanes<T> b) {
  const uint32_t in = op->imm & 1 ? predicate(registers, carrySlot) : 0;
  const Lanes<T> one(1), none(0);
  const Lanes<T> partial = a + b;
  const Lanes<T> sum = partial + choose<T>(in, one, none);
  const uint32_t out = maskOf(partial < a) | maskOf(sum < partial);
  put<T>(registers, op->d, m, sum);
  if (op->imm & 2)
    putPredicate(registers, carrySlot, m, out);
}
template <typename T> static void addCarry(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  sumWithCarry<T>(op, registers, m, get<T>(registers, op->a), get<T>(registers, op->b));
  VGPU_NEXT;
}
/// Computes a - b - borrow; the flag is the borrow.
template <typename T> static void subtractCarry(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = get<T>(registers, op->a), b = get<T>(registers, op->b);
  const uint32_t in = op->imm & 1 ? predicate(registers, carrySlot) : 0;
  const Lanes<T> partial = a - b;
  const Lanes<T> difference = partial - choose<T>(in, Lanes<T>(1), Lanes<T>(0));
  const uint32_t out = maskOf(a < b) | maskOf(difference > partial);
  put<T>(registers, op->d, m, difference);
  if (op->imm & 2)
    putPredicate(registers, carrySlot, m, out);
  VGPU_NEXT;
}
template <typename T> static void multiplyAddCarry(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> product = get<T>(registers, op->a) * get<T>(registers, op->b);
  sumWithCarry<T>(op, registers, m, product, get<T>(registers, op->c));
  VGPU_NEXT;
}
template <typename T> static void multiplyHighAddCarry(VGPU_ARGS) {
  using U = UnsignedOf<T>;
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> high = highProduct<T>(get<T>(registers, op->a), get<T>(registers, op->b));
  sumWithCarry<U>(op, registers, m, bitsAs<U>(high), get<U>(registers, op->c));
  VGPU_NEXT;
}

static void minimumRelu(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<int32_t> a = get<int32_t>(registers, op->a), b = get<int32_t>(registers, op->b);
  const Lanes<int32_t> least = a < b ? a : b;
  put<int32_t>(registers, op->d, m, least > 0 ? least : Lanes<int32_t>(0));
  VGPU_NEXT;
}
static void maximumRelu(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<int32_t> a = get<int32_t>(registers, op->a), b = get<int32_t>(registers, op->b);
  const Lanes<int32_t> most = a > b ? a : b;
  put<int32_t>(registers, op->d, m, most > 0 ? most : Lanes<int32_t>(0));
  VGPU_NEXT;
}

// Pairs of 16 bits: 64 elements of a 32-bit register. imm is 1 for .relu.

template <typename T> struct PairsOf {
  typedef T Type __attribute__((ext_vector_type(64)));
};
template <typename T> using Pairs = typename PairsOf<T>::Type;

static void addPair(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const auto a = std::bit_cast<Pairs<uint16_t>>(get<uint32_t>(registers, op->a));
  const auto b = std::bit_cast<Pairs<uint16_t>>(get<uint32_t>(registers, op->b));
  put<uint32_t>(registers, op->d, m, bitsAs<uint32_t>(a + b));
  VGPU_NEXT;
}
template <typename T> static void minimumPair(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const auto a = std::bit_cast<Pairs<T>>(get<uint32_t>(registers, op->a));
  const auto b = std::bit_cast<Pairs<T>>(get<uint32_t>(registers, op->b));
  Pairs<T> result = a < b ? a : b;
  if (op->imm)
    result = result > T(0) ? result : Pairs<T>(0);
  put<uint32_t>(registers, op->d, m, bitsAs<uint32_t>(result));
  VGPU_NEXT;
}
template <typename T> static void maximumPair(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const auto a = std::bit_cast<Pairs<T>>(get<uint32_t>(registers, op->a));
  const auto b = std::bit_cast<Pairs<T>>(get<uint32_t>(registers, op->b));
  Pairs<T> result = a > b ? a : b;
  if (op->imm)
    result = result > T(0) ? result : Pairs<T>(0);
  put<uint32_t>(registers, op->d, m, bitsAs<uint32_t>(result));
  VGPU_NEXT;
}

/// mul24 and mad24. imm bit 0: takes the upper 32 of the 48 bits; bit 1: adds c; bit 2: saturates
/// the sum.
template <typename T> static void multiply24(VGPU_ARGS) {
  using Wide = typename DoubleWidth<T>::Type;
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = (get<T>(registers, op->a) << T(8)) >> T(8);
  const Lanes<T> b = (get<T>(registers, op->b) << T(8)) >> T(8);
  const Lanes<Wide> product = castLanes<Wide>(a) * castLanes<Wide>(b);
  Lanes<uint32_t> part = castLanes<uint32_t>(op->imm & 1 ? product >> Wide(16) : product);
  if (op->imm & 4)
    part = bitsAs<uint32_t>(clamp32(castLanes<int64_t>(bitsAs<int32_t>(part)) +
                                    castLanes<int64_t>(get<int32_t>(registers, op->c))));
  else if (op->imm & 2)
    part += get<uint32_t>(registers, op->c);
  put<uint32_t>(registers, op->d, m, part);
  VGPU_NEXT;
}

/// Element `index` of `width` bits, sign- or zero-extended.
VGPU_INLINE Lanes<int32_t> element(Lanes<uint32_t> value, unsigned index, unsigned width,
                                   bool isSigned) {
  const Lanes<uint32_t> up = value << (32 - width * (index + 1));
  return isSigned ? bitsAs<int32_t>(up) >> int32_t(32 - width)
                  : bitsAs<int32_t>(up >> (32 - width));
}
/// dp4a. imm bit 0: a is signed; bit 1: b is signed.
static void dotProduct4(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint32_t> a = get<uint32_t>(registers, op->a), b = get<uint32_t>(registers, op->b);
  Lanes<int32_t> sum = get<int32_t>(registers, op->c);
  for (unsigned i = 0; i < 4; ++i)
    sum = bitsAs<int32_t>(bitsAs<uint32_t>(sum) + bitsAs<uint32_t>(element(a, i, 8, op->imm & 1) *
                                                                   element(b, i, 8, op->imm & 2)));
  put<int32_t>(registers, op->d, m, sum);
  VGPU_NEXT;
}
/// dp2a. imm as for dp4a; bit 2: uses the upper two bytes of b.
static void dotProduct2(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint32_t> a = get<uint32_t>(registers, op->a), b = get<uint32_t>(registers, op->b);
  Lanes<int32_t> sum = get<int32_t>(registers, op->c);
  for (unsigned i = 0; i < 2; ++i)
    sum = bitsAs<int32_t>(bitsAs<uint32_t>(sum) +
                          bitsAs<uint32_t>(element(a, i, 16, op->imm & 1) *
                                           element(b, i + (op->imm & 4 ? 2 : 0), 8, op->imm & 2)));
  put<int32_t>(registers, op->d, m, sum);
  VGPU_NEXT;
}

extern const Run integerHandlers[] = {
#define VGPU_OP(name, ...) __VA_ARGS__,
#include "tilewright/vgpu/machine/handlers/Integer.def"
#undef VGPU_OP
};

} // namespace tilewright::vgpu::machine::VGPU_ISA
