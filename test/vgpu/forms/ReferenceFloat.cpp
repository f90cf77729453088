#include "test/vgpu/forms/Reference.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

namespace tilewright::vgpu::forms {

namespace {
struct Format {
  int precision, least, greatest; // minimum and maximum exponent of normal numbers
  unsigned exponentBits, mantissaBits, shift;
  bool hasInfinity;
  bool hasNan = true;
};
} // namespace

static Format formatOf(Modifier type) {
  switch (type) {
  case Modifier::f16:
    return {11, -14, 15, 5, 10, 0, true};
  case Modifier::bf16:
    return {8, -126, 127, 8, 7, 0, true};
  case Modifier::tf32:
    return {11, -126, 127, 8, 10, 13, true};
  case Modifier::e4m3:
    return {4, -6, 8, 4, 3, 0, false};
  case Modifier::e5m2:
    return {3, -14, 15, 5, 2, 0, true};
  case Modifier::e2m1:
    return {2, 0, 2, 2, 1, 0, false, false};
  case Modifier::e2m3:
    return {4, 0, 2, 2, 3, 0, false, false};
  case Modifier::e3m2:
    return {3, -2, 4, 3, 2, 0, false, false};
  case Modifier::f64:
    return {53, -1022, 1023, 11, 52, 0, true};
  default:
    return {24, -126, 127, 8, 23, 0, true};
  }
}

Modifier elementOf(Modifier type) {
  switch (type) {
  case Modifier::f16x2:
    return Modifier::f16;
  case Modifier::bf16x2:
    return Modifier::bf16;
  case Modifier::f32x2:
    return Modifier::f32;
  case Modifier::e4m3x2:
  case Modifier::e4m3x4:
    return Modifier::e4m3;
  case Modifier::e5m2x2:
  case Modifier::e5m2x4:
    return Modifier::e5m2;
  case Modifier::e2m1x2:
  case Modifier::e2m1x4:
    return Modifier::e2m1;
  case Modifier::e2m3x2:
  case Modifier::e2m3x4:
    return Modifier::e2m3;
  case Modifier::e3m2x2:
  case Modifier::e3m2x4:
    return Modifier::e3m2;
  case Modifier::ue8m0x2:
    return Modifier::ue8m0;
  default:
    return type;
  }
}

Expected unknown() {
  Expected result;
  result.isKnown = false;
  return result;
}

Mode modeOf(const Instruction &instruction) {
  switch (instruction.find(ModifierKind::rounding)) {
  case Modifier::rz:
  case Modifier::rzi:
    return Mode::zero;
  case Modifier::rm:
  case Modifier::rmi:
    return Mode::down;
  case Modifier::rp:
  case Modifier::rpi:
    return Mode::up;
  case Modifier::rna:
    return Mode::away;
  default:
    return Mode::nearest;
  }
}

uint64_t nanOf(Modifier type) {
  switch (type) {
  case Modifier::f16:
  case Modifier::bf16:
    return 0x7fff;
  case Modifier::e4m3:
  case Modifier::e5m2:
    return 0x7f;
  case Modifier::e2m1: // types without NaN: the largest value
    return 0x7;
  case Modifier::e2m3:
  case Modifier::e3m2:
    return 0x1f;
  case Modifier::ue8m0:
    return 0xff;
  case Modifier::f64:
    return 0x7fffffffffffffff;
  default:
    return 0x7fffffff;
  }
}

long double valueOf(Modifier type, uint64_t bits) {
  if (type == Modifier::ue8m0)
    return (bits & 0xff) == 0xff ? std::numeric_limits<long double>::quiet_NaN()
                                 : std::ldexp(1.0L, static_cast<int>(bits & 0xff) - 127);
  const Format format = formatOf(type);
  bits >>= format.shift;
  const uint64_t mantissa = bits & ((uint64_t(1) << format.mantissaBits) - 1);
  const auto exponent =
      static_cast<int>(bits >> format.mantissaBits & ((uint64_t(1) << format.exponentBits) - 1));
  const bool isNegative = bits >> (format.mantissaBits + format.exponentBits) & 1;
  const int top = (1 << format.exponentBits) - 1;
  long double magnitude;
  if (exponent == top && format.hasInfinity)
    magnitude = mantissa ? std::numeric_limits<long double>::quiet_NaN()
                         : std::numeric_limits<long double>::infinity();
  else if (exponent == top && mantissa == (uint64_t(1) << format.mantissaBits) - 1 &&
           !format.hasInfinity && format.hasNan)
    magnitude = std::numeric_limits<long double>::quiet_NaN();
  else if (exponent == 0)
    magnitude = std::ldexp(static_cast<long double>(mantissa),
                           format.least - static_cast<int>(format.mantissaBits));
  else
    magnitude = std::ldexp(static_cast<long double>(mantissa | uint64_t(1) << format.mantissaBits),
                           exponent - 1 + format.least - static_cast<int>(format.mantissaBits));
  return isNegative ? -magnitude : magnitude;
}

bool isNanOf(Modifier type, uint64_t bits) { return std::isnan(valueOf(type, bits)); }

/// Rounds a value that is not negative to an integer.
static long double wholeOf(long double magnitude, bool isNegative, Mode mode) {
  const long double floor = std::floor(magnitude), rest = magnitude - floor;
  bool goesUp = false;
  switch (mode) {
  case Mode::nearest:
    goesUp = rest > 0.5L || (rest == 0.5L && std::fmod(floor, 2.0L) != 0);
    break;
  case Mode::away:
    goesUp = rest >= 0.5L;
    break;
  case Mode::zero:
    break;
  case Mode::down:
    goesUp = rest > 0 && isNegative;
    break;
  case Mode::up:
    goesUp = rest > 0 && !isNegative;
    break;
  }
  return goesUp ? floor + 1 : floor;
}

/// The exponent of a magnitude, which is the next power of two below or above it.
static uint64_t scaleOf(long double magnitude, Mode mode, bool isFinite) {
  long double exponent = std::floor(std::log2(magnitude));
  // log2 of a value near a power of two may be inexact.
  if (std::ldexp(1.0L, static_cast<int>(exponent)) > magnitude)
    exponent -= 1;
  if (mode == Mode::up && std::ldexp(1.0L, static_cast<int>(exponent)) < magnitude)
    exponent += 1;
  const long double scale = exponent + 127;
  return scale < 0 ? 0 : scale > 254 ? (isFinite ? 254 : 255) : static_cast<uint64_t>(scale);
}

uint64_t roundTo(Modifier type, long double value, Mode mode, bool isFinite) {
  if (type == Modifier::ue8m0 && !std::isnan(value))
    return std::isinf(value) ? (isFinite ? 254 : 255)
           : value == 0      ? 0
                             : scaleOf(std::fabs(value), mode, isFinite);
  const Format format = formatOf(type);
  if (std::isnan(value))
    return nanOf(type);
  const bool isNegative = std::signbit(value);
  const unsigned width = format.mantissaBits + format.exponentBits;
  const uint64_t sign = isNegative ? uint64_t(1) << width : 0;
  long double magnitude = std::fabs(value);
  // The largest finite value: e4m3 lacks the last mantissa of the last exponent.
  const long double significand =
      format.hasInfinity || !format.hasNan ? 2.0L - std::ldexp(1.0L, 1 - format.precision) : 1.75L;
  const long double largest = std::ldexp(significand, format.greatest);
  const uint64_t infinity = format.hasInfinity
                                ? ((uint64_t(1) << format.exponentBits) - 1) << format.mantissaBits
                                : nanOf(type);
  const uint64_t most = format.hasInfinity ? infinity - 1 : format.hasNan ? 0x7e : infinity;
  if (magnitude == 0)
    return sign << format.shift;
  if (!std::isinf(magnitude)) {
    const int exponent = std::max(std::ilogb(magnitude), format.least);
    const int unit = exponent - (format.precision - 1);
    magnitude = std::ldexp(wholeOf(std::ldexp(magnitude, -unit), isNegative, mode), unit);
    if (magnitude > largest) {
      const bool staysFinite = mode == Mode::zero || (mode == Mode::down && !isNegative) ||
                               (mode == Mode::up && isNegative);
      return (sign | (isFinite || staysFinite ? most : infinity)) << format.shift;
    }
  } else {
    return (sign | (isFinite ? most : infinity)) << format.shift;
  }
  if (magnitude == 0)
    return sign << format.shift;
  const int exponent = std::ilogb(magnitude);
  uint64_t bits;
  if (exponent < format.least)
    bits = static_cast<uint64_t>(
        std::ldexp(magnitude, static_cast<int>(format.mantissaBits) - format.least));
  else
    bits = static_cast<uint64_t>(exponent - format.least + 1) << format.mantissaBits |
           (static_cast<uint64_t>(
                std::ldexp(magnitude, static_cast<int>(format.mantissaBits) - exponent)) &
            ((uint64_t(1) << format.mantissaBits) - 1));
  return (sign | bits) << format.shift;
}

uint64_t flushed(Modifier type, uint64_t bits) {
  const Format format = formatOf(type);
  const uint64_t exponents = ((uint64_t(1) << format.exponentBits) - 1) << format.mantissaBits;
  if ((bits & exponents) != 0)
    return bits;
  return bits & uint64_t(1) << (format.exponentBits + format.mantissaBits);
}

long double addOdd(long double a, long double b) {
  const long double sum = a + b;
  if (std::isnan(sum) || std::isinf(sum))
    return sum;
  const long double part = sum - a;
  const long double rest = (a - (sum - part)) + (b - part);
  if (rest == 0)
    return sum;
  // 64 bits of mantissa: the last one is odd in one of two neighbours.
  int exponent;
  const auto mantissa =
      static_cast<uint64_t>(std::ldexp(std::frexp(std::fabs(sum), &exponent), 64));
  if (mantissa & 1)
    return sum;
  const long double infinity = std::numeric_limits<long double>::infinity();
  return std::nextafter(sum, rest > 0 ? infinity : -infinity);
}

// Computes on the host, in a rounding mode.

static int hostMode(Mode mode) {
  return mode == Mode::zero   ? FE_TOWARDZERO
         : mode == Mode::down ? FE_DOWNWARD
         : mode == Mode::up   ? FE_UPWARD
                              : FE_TONEAREST;
}
template <typename T>
[[gnu::noinline]] static T hostResult(Handler handler, Mode mode, T x, T y, T z) {
  volatile T a = x, b = y, c = z, d = 0;
  const int before = std::fegetround();
  std::fesetround(hostMode(mode));
  switch (handler) {
  case Handler::addFloat:
    d = a + b;
    break;
  case Handler::subFloat:
    d = a - b;
    break;
  case Handler::mulFloat:
    d = a * b;
    break;
  case Handler::fma:
    d = std::fma(T(a), T(b), T(c));
    break;
  case Handler::divFloat:
  case Handler::divApprox:
    d = a / b;
    break;
  case Handler::rcp:
    d = T(1) / a;
    break;
  case Handler::sqrt:
    d = std::sqrt(T(a));
    break;
  default:
    break;
  }
  std::fesetround(before);
  return d;
}

template <typename T> static uint64_t bitsOfFloat(T value) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<uint32_t>(value);
  else
    return std::bit_cast<uint64_t>(value);
}
template <typename T> static T floatOf(uint64_t bits) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  else
    return std::bit_cast<double>(bits);
}

/// min and max: the result is the other operand if one is NaN, unless .NaN is set; -0 is below +0.
static uint64_t extremeOf(const Instruction &instruction, Modifier type, bool isMin, uint64_t a,
                          uint64_t b) {
  const Format format = formatOf(type);
  const uint64_t signBit = uint64_t(1) << (format.exponentBits + format.mantissaBits);
  if (instruction.has(Modifier::xorsign)) {
    const uint64_t sign = (a ^ b) & signBit;
    const uint64_t x = a & ~signBit, y = b & ~signBit;
    if (isNanOf(type, x) || isNanOf(type, y)) {
      if (instruction.has(Modifier::nan) || (isNanOf(type, x) && isNanOf(type, y)))
        return nanOf(type);
      return (isNanOf(type, x) ? y : x) | sign;
    }
    return (isMin == (x < y) ? x : y) | sign;
  }
  if (isNanOf(type, a) || isNanOf(type, b)) {
    if (instruction.has(Modifier::nan) || (isNanOf(type, a) && isNanOf(type, b)))
      return nanOf(type);
    return isNanOf(type, a) ? b : a;
  }
  const long double x = valueOf(type, a), y = valueOf(type, b);
  const bool aIsLess = x < y || (x == y && std::signbit(x) && !std::signbit(y));
  return isMin == aIsLess ? a : b;
}

template <typename T> static Expected wideReference(const Form &form, const Inputs &in) {
  const Instruction &instruction = form.instruction;
  const Modifier type = sizeof(T) == 4 ? Modifier::f32 : Modifier::f64;
  const bool ftz = instruction.has(Modifier::ftz);
  auto input = [&](uint64_t bits) { return ftz ? flushed(type, bits) : bits; };
  const uint64_t a = input(in.a), b = input(in.b), c = input(in.c);
  const uint64_t signBit = uint64_t(1) << (8 * sizeof(T) - 1);
  Expected expected;
  expected.type = type;
  switch (form.row->handler) {
  case Handler::copysign:
    expected.bits = (in.b & ~signBit) | (in.a & signBit);
    return expected;
  case Handler::absFloat:
  case Handler::negFloat:
    expected.bits = form.row->handler == Handler::absFloat ? a & ~signBit : a ^ signBit;
    // PTX does not define whether the sign of a NaN changes.
    expected.anyNan = isNanOf(type, a);
    return expected;
  case Handler::minFloat:
  case Handler::maxFloat:
    // .abs without .xorsign: the form of three operands.
    if (instruction.has(Modifier::absolute) && !instruction.has(Modifier::xorsign)) {
      const bool isMin = form.row->handler == Handler::minFloat;
      const uint64_t two = extremeOf(instruction, type, isMin, a & ~signBit, b & ~signBit);
      expected.bits = extremeOf(instruction, type, isMin, two, c & ~signBit);
      return expected;
    }
    expected.bits = extremeOf(instruction, type, form.row->handler == Handler::minFloat, a, b);
    expected.anyNan = isNanOf(type, expected.bits) && type == Modifier::f64;
    return expected;
  default:
    break;
  }
  const Mode mode = modeOf(instruction);
  // Outside this range PTX lets div.approx give zero.
  if (form.row->handler == Handler::divApprox) {
    const T divisor = std::fabs(floatOf<T>(b));
    if (divisor > T(0x1p126) || (divisor != 0 && divisor < T(0x1p-126)))
      return unknown();
    expected.ulps = 2;
  }
  const T result =
      hostResult<T>(form.row->handler, mode, floatOf<T>(a), floatOf<T>(b), floatOf<T>(c));
  expected.bits = bitsOfFloat(result);
  if (std::isnan(result)) {
    expected.bits = nanOf(type);
    expected.anyNan = sizeof(T) == 8;
  }
  if (ftz) {
    // A result that was rounded up to the smallest normal number may be flushed or not.
    if (std::fabs(result) == std::numeric_limits<T>::min())
      return unknown();
    expected.bits = flushed(type, expected.bits);
  }
  if (instruction.has(Modifier::sat)) {
    const T value = floatOf<T>(expected.bits);
    expected.anyNan = false;
    expected.bits = !(value > 0) ? 0 : value > 1 ? bitsOfFloat(T(1)) : expected.bits;
    expected.anyZero = true;
  }
  return expected;
}

static long double approximated(Handler handler, long double x) {
  switch (handler) {
  case Handler::rcpApprox:
    return 1 / x;
  case Handler::sqrtApprox:
    return std::sqrt(x);
  case Handler::rsqrtApprox:
    return 1 / std::sqrt(x);
  case Handler::sinApprox:
    return std::sin(x);
  case Handler::cosApprox:
    return std::cos(x);
  case Handler::lg2Approx:
    return std::log2(x);
  case Handler::ex2Approx:
    return std::exp2(x);
  default:
    return std::tanh(x);
  }
}

static Expected approximateReference(const Form &form, const Inputs &in) {
  const Modifier whole = form.instruction.type(), type = elementOf(whole);
  const bool ftz = form.instruction.has(Modifier::ftz) || type == Modifier::bf16;
  Expected expected;
  expected.type = whole;
  const unsigned halves = whole == type ? 1 : 2;
  for (unsigned i = 0; i < halves; ++i) {
    uint64_t bits = halves == 1 ? in.a : in.a >> (16 * i) & 0xffff;
    if (ftz &&
        (form.row->handler == Handler::ex2Approx || type == Modifier::f32 || type == Modifier::f64))
      bits = flushed(type, bits);
    const long double x = valueOf(type, bits);
    // PTX bounds the error of sin and cos only near zero, in absolute terms.
    if ((form.row->handler == Handler::sinApprox || form.row->handler == Handler::cosApprox) &&
        std::fabs(x) > 100)
      return unknown();
    uint64_t result = roundTo(type, approximated(form.row->handler, x), Mode::nearest);
    if (form.instruction.has(Modifier::ftz))
      result = flushed(type, result);
    if (isNanOf(type, result) && type == Modifier::f64)
      expected.anyNan = true;
    expected.bits |= result << (16 * i);
  }
  // For f64 only the upper half of the bits is computed; the README bounds the error of f32.
  expected.ulps = type == Modifier::f64 ? 0x1p33 : type == Modifier::f32 ? 2 : 1;
  return expected;
}

static uint64_t halfReference(const Form &form, Modifier type, uint64_t a, uint64_t b, uint64_t c) {
  const Instruction &instruction = form.instruction;
  const uint64_t signBit = 0x8000;
  const bool ftz = instruction.has(Modifier::ftz);
  const bool isOob = instruction.has(Modifier::oob) && (a == 0x7fff || b == 0x7fff);
  if (ftz)
    a = flushed(type, a), b = flushed(type, b), c = flushed(type, c);
  uint64_t result = 0;
  const long double x = valueOf(type, a), y = valueOf(type, b), z = valueOf(type, c);
  switch (form.row->handler) {
  case Handler::addFloat:
    result = roundTo(type, addOdd(x, y), Mode::nearest);
    break;
  case Handler::subFloat:
    result = roundTo(type, addOdd(x, -y), Mode::nearest);
    break;
  case Handler::mulFloat:
    result = roundTo(type, x * y, Mode::nearest);
    break;
  case Handler::fma:
    result = roundTo(type, addOdd(x * y, z), Mode::nearest);
    break;
  case Handler::minFloat:
  case Handler::maxFloat:
    result = extremeOf(instruction, type, form.row->handler == Handler::minFloat, a, b);
    break;
  case Handler::negFloat:
    result = a ^ signBit;
    break;
  default:
    result = a & ~signBit;
    break;
  }
  if (ftz)
    result = flushed(type, result);
  if (instruction.has(Modifier::sat)) {
    const long double value = valueOf(type, result);
    result = !(value > 0) ? 0 : value > 1 ? 0x3c00 : result;
  }
  if (isOob)
    result = 0;
  if (instruction.has(Modifier::relu) && !isNanOf(type, result) && valueOf(type, result) <= 0)
    result = 0;
  return result;
}

Expected floatReference(const Form &form, const Inputs &in) {
  const Modifier type = form.instruction.type(), element = elementOf(type);
  switch (form.row->handler) {
  case Handler::rcpApprox:
  case Handler::sqrtApprox:
  case Handler::rsqrtApprox:
  case Handler::sinApprox:
  case Handler::cosApprox:
  case Handler::lg2Approx:
  case Handler::ex2Approx:
  case Handler::tanhApprox:
    return approximateReference(form, in);
  default:
    break;
  }
  if (const Modifier narrow = form.instruction.type(1);
      narrow == Modifier::f16 || narrow == Modifier::bf16) {
    auto widened = [&](uint64_t bits) {
      return std::bit_cast<uint32_t>(static_cast<float>(valueOf(narrow, bits & 0xffff)));
    };
    const bool isFused = form.row->handler == Handler::fma;
    return wideReference<float>(form, {widened(in.a), isFused ? widened(in.b) : in.b, in.c});
  }
  if (type == Modifier::f32)
    return wideReference<float>(form, in);
  if (type == Modifier::f64)
    return wideReference<double>(form, in);
  if (type == Modifier::f32x2) {
    auto half = [](uint64_t bits, unsigned i) { return bits >> 32 * i & 0xffffffffu; };
    Expected low = wideReference<float>(form, {half(in.a, 0), half(in.b, 0), half(in.c, 0)});
    const Expected high = wideReference<float>(form, {half(in.a, 1), half(in.b, 1), half(in.c, 1)});
    low.isKnown = low.isKnown && high.isKnown;
    low.bits |= high.bits << 32;
    low.anyZero = low.anyZero || high.anyZero;
    low.type = type;
    return low;
  }
  Expected expected;
  expected.type = type;
  const unsigned halves = type == element ? 1 : 2;
  for (unsigned i = 0; i < halves; ++i) {
    const unsigned shift = 16 * i;
    const uint64_t a = in.a >> shift & 0xffff, b = in.b >> shift & 0xffff,
                   c = in.c >> shift & 0xffff;
    expected.bits |= halfReference(form, element, a, b, c) << shift;
    const bool isSign =
        form.row->handler == Handler::negFloat || form.row->handler == Handler::absFloat;
    expected.anyNan = expected.anyNan || (isSign && isNanOf(element, a));
  }
  expected.anyZero = form.instruction.has(Modifier::sat) || form.instruction.has(Modifier::relu);
  return expected;
}

} // namespace tilewright::vgpu::forms
