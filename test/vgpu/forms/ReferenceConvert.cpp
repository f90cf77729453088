#include "test/vgpu/forms/Reference.h"

#include <cmath>

namespace tilewright::vgpu::forms {

static bool isIntegerType(Modifier type) {
  return ptx::categoryOf(type) == ptx::TypeCategory::signedInteger ||
         ptx::categoryOf(type) == ptx::TypeCategory::unsignedInteger;
}
static bool isSignedType(Modifier type) {
  return ptx::categoryOf(type) == ptx::TypeCategory::signedInteger;
}
static long double integerValue(Modifier type, uint64_t bits) {
  const unsigned shift = 64 - ptx::bitsOf(type);
  return isSignedType(type) ? static_cast<long double>(static_cast<int64_t>(bits << shift) >> shift)
                            : static_cast<long double>(bits << shift >> shift);
}
/// An integer as a register holds it: signed ones are sign-extended.
static uint64_t inRegister(Modifier type, long double value) {
  const unsigned bits = std::max(16u, ptx::bitsOf(type));
  const uint64_t all =
      value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
  return bits == 64 ? all : all & ((uint64_t(1) << bits) - 1);
}
static long double clampTo(Modifier type, long double value) {
  const int bits = static_cast<int>(ptx::bitsOf(type));
  const long double low = isSignedType(type) ? -std::ldexp(1.0L, bits - 1) : 0;
  const long double high = std::ldexp(1.0L, isSignedType(type) ? bits - 1 : bits) - 1;
  return value < low ? low : value > high ? high : value;
}
static long double wholeOf(long double value, Mode mode) {
  switch (mode) {
  case Mode::zero:
    return std::trunc(value);
  case Mode::down:
    return std::floor(value);
  case Mode::up:
    return std::ceil(value);
  default: {
    const long double down = std::floor(value), rest = value - down;
    const bool goesUp = rest > 0.5L || (rest == 0.5L && std::fmod(down, 2.0L) != 0);
    const long double result = goesUp ? down + 1 : down;
    return result == 0 ? std::copysign(0.0L, value) : result;
  }
  }
}

/// Converts to a float type: NaN, relu, saturation to [0, 1] and to finite values.
static uint64_t narrowed(const Instruction &instruction, Modifier to, long double value) {
  if (instruction.has(Modifier::relu) && !std::isnan(value) && !(value > 0))
    value = 0;
  return roundTo(to, value, modeOf(instruction), instruction.has(Modifier::satfinite));
}

static Expected pairReference(const Form &form, const Inputs &in) {
  const Instruction &instruction = form.instruction;
  const Modifier to = instruction.type(0), from = instruction.type(1);
  const Modifier target = elementOf(to), source = elementOf(from);
  const unsigned shift = ptx::bitsOf(to) / 2;
  // Of two operands the first becomes the upper half.
  const uint64_t low = from == source ? in.b : in.a & ((uint64_t(1) << ptx::bitsOf(from) / 2) - 1);
  const uint64_t high = from == source ? in.a : in.a >> ptx::bitsOf(from) / 2;
  Expected expected;
  expected.bits = narrowed(instruction, target, valueOf(source, low)) |
                  narrowed(instruction, target, valueOf(source, high)) << shift;
  expected.type = to;
  return expected;
}

static Expected packReference(const Form &form, const Inputs &in) {
  const Modifier type = form.instruction.type(0);
  const unsigned bits = ptx::bitsOf(type);
  const uint64_t mask = (uint64_t(1) << bits) - 1;
  auto part = [&](uint64_t value) {
    return static_cast<uint64_t>(static_cast<int64_t>(
               clampTo(type, static_cast<int32_t>(static_cast<uint32_t>(value))))) &
           mask;
  };
  Expected expected;
  expected.bits = part(in.a) << bits | part(in.b);
  if (form.row->operands.size() > 3)
    expected.bits |= in.c << (2 * bits);
  expected.bits &= 0xffffffff;
  return expected;
}

/// cvt.rs of one value: the part of a unit above the next value towards zero, as a number of
/// `width` bits, plus the random number of as many bits, may reach a whole unit.
static uint64_t roundedRandomly(const Instruction &instruction, Modifier to, long double value,
                                uint32_t random, int width) {
  const bool isFinite = instruction.has(Modifier::satfinite);
  if (instruction.has(Modifier::relu) && !std::isnan(value) && !(value > 0))
    return 0;
  if (!std::isfinite(value) || value == 0)
    return roundTo(to, value, Mode::zero, isFinite);
  const long double magnitude = std::fabs(value);
  const uint64_t below = roundTo(to, magnitude, Mode::zero);
  const long double bottom = valueOf(to, below);
  // The largest value is as far from infinity as from the value before it.
  const long double above = valueOf(to, below + 1);
  const long double unit =
      std::isfinite(above) && above > bottom ? above - bottom : bottom - valueOf(to, below - 1);
  const long double part = std::floor(std::ldexp((magnitude - bottom) / unit, width));
  const bool isUp = part + random >= std::ldexp(1.0L, width);
  const long double result = isUp ? bottom + unit : bottom;
  return roundTo(to, std::copysign(result, value), isUp ? Mode::away : Mode::zero, isFinite);
}

static Expected randomReference(const Form &form, const Inputs &in) {
  const Instruction &instruction = form.instruction;
  const Modifier to = instruction.type(0), element = elementOf(to);
  Expected expected;
  expected.type = to;
  const bool isPair = to == Modifier::f16x2 || to == Modifier::bf16x2;
  const unsigned bits = ptx::bitsOf(to) / (isPair ? 2 : 4);
  auto add = [&](uint64_t value, uint64_t random, int width) {
    expected.bits =
        expected.bits << bits | roundedRandomly(instruction, element, valueOf(Modifier::f32, value),
                                                static_cast<uint32_t>(random), width);
  };
  if (isPair) {
    const int width = to == Modifier::f16x2 ? 13 : 16;
    const uint64_t mask = (1u << width) - 1;
    add(in.a, in.c >> 16 & mask, width);
    add(in.b, in.c & mask, width);
    return expected;
  }
  // Bit i of the second value of each pair, and bit 15 - i of the first one.
  uint32_t randoms[4] = {};
  for (unsigned pair = 0; pair < 2; ++pair)
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned half = pair == 0 ? 16 : 0;
      const unsigned at = to == Modifier::e2m1x4 ? half / 2 + i % 8 + i / 8 * 16 : half + i;
      const auto bit = static_cast<uint32_t>(in.e >> at & 1);
      randoms[2 * pair + 1] |= bit << i;
      randoms[2 * pair] |= bit << (15 - i);
    }
  const uint64_t values[] = {in.a, in.b, in.c, in.d};
  for (unsigned i = 0; i < 4; ++i)
    add(values[i], randoms[i], 16);
  return expected;
}

Expected convertReference(const Form &form, const Inputs &in) {
  const Instruction &instruction = form.instruction;
  if (form.row->handler == Handler::cvtRandom)
    return randomReference(form, in);
  if (form.row->handler == Handler::cvtPair)
    return pairReference(form, in);
  if (form.row->handler == Handler::cvtPack)
    return packReference(form, in);
  const Modifier to = instruction.type(0), from = instruction.type(1);
  const bool saturates = instruction.has(Modifier::sat), ftz = instruction.has(Modifier::ftz);
  Expected expected;
  if (isIntegerType(to)) {
    if (isIntegerType(from)) {
      long double value = integerValue(from, in.a);
      if (saturates) {
        expected.bits = inRegister(to, clampTo(to, value));
        return expected;
      }
      // Takes the low bits and extends them as the target type requires.
      const unsigned shift = 64 - ptx::bitsOf(to);
      const uint64_t source = static_cast<uint64_t>(
          isSignedType(from) ? static_cast<int64_t>(value) : static_cast<int64_t>(in.a));
      const uint64_t cut = isSignedType(from)
                               ? source
                               : in.a << (64 - ptx::bitsOf(from)) >> (64 - ptx::bitsOf(from));
      expected.bits =
          inRegister(to, isSignedType(to)
                             ? static_cast<long double>(static_cast<int64_t>(cut << shift) >> shift)
                             : static_cast<long double>(cut << shift >> shift));
      return expected;
    }
    const uint64_t bits = ftz ? flushed(from, in.a) : in.a;
    const long double value = valueOf(from, bits);
    // PTX says 0. Where chips reportedly differ (64 bits), the result is not checked.
    if (std::isnan(value)) {
      if (ptx::bitsOf(to) == 64 || from == Modifier::f64)
        return unknown();
      return expected;
    }
    const long double whole = std::isinf(value) ? value : wholeOf(value, modeOf(instruction));
    expected.bits = inRegister(to, clampTo(to, whole));
    return expected;
  }
  expected.type = to;
  const bool isWhole = instruction.find(ModifierKind::rounding) >= Modifier::rni &&
                       instruction.find(ModifierKind::rounding) <= Modifier::rpi;
  long double value;
  if (isIntegerType(from)) {
    value = integerValue(from, in.a);
  } else {
    value = valueOf(from, ftz && from == Modifier::f32 ? flushed(from, in.a) : in.a);
    if (isWhole && std::isfinite(value))
      value = wholeOf(value, modeOf(instruction));
  }
  // f64 has no canonical NaN, and a copy keeps its NaN.
  expected.anyNan = std::isnan(value) && (to == Modifier::f64 || to == from);
  expected.bits = isWhole ? roundTo(to, value, Mode::nearest) : narrowed(instruction, to, value);
  if (ftz && to == Modifier::f32) {
    if (std::fabs(valueOf(to, expected.bits)) == 0x1p-126L)
      return unknown();
    expected.bits = flushed(to, expected.bits);
  }
  if (saturates) {
    const long double result = valueOf(to, expected.bits);
    expected.anyNan = false;
    expected.anyZero = true;
    expected.bits = !(result > 0) ? 0 : result > 1 ? roundTo(to, 1, Mode::nearest) : expected.bits;
  }
  if (instruction.has(Modifier::relu))
    expected.anyZero = true;
  return expected;
}

} // namespace tilewright::vgpu::forms
