#include "test/vgpu/forms/Reference.h"

#include <bit>
#include <cmath>

namespace tilewright::vgpu::forms {

static bool isFloatType(Modifier type) {
  return ptx::categoryOf(type) == ptx::TypeCategory::floating ||
         ptx::categoryOf(type) == ptx::TypeCategory::packedFloat || type == Modifier::bf16 ||
         type == Modifier::bf16x2;
}

/// The modifier that names the comparison, which for unsigned integers may be lo or hi.
static Modifier comparisonOf(const Instruction &instruction) {
  for (Modifier word : instruction.mods())
    if (ptx::kindOf(word) == ModifierKind::compare || word == Modifier::lo || word == Modifier::hi)
      return word;
  return Modifier::none;
}

static bool compareFloats(Modifier word, long double a, long double b) {
  const bool isUnordered = std::isnan(a) || std::isnan(b);
  switch (word) {
  case Modifier::eq:
    return a == b;
  case Modifier::ne:
    return !isUnordered && a != b;
  case Modifier::lt:
    return a < b;
  case Modifier::le:
    return a <= b;
  case Modifier::gt:
    return a > b;
  case Modifier::ge:
    return a >= b;
  case Modifier::equ:
    return isUnordered || a == b;
  case Modifier::neu:
    return isUnordered || a != b;
  case Modifier::ltu:
    return isUnordered || a < b;
  case Modifier::leu:
    return isUnordered || a <= b;
  case Modifier::gtu:
    return isUnordered || a > b;
  case Modifier::geu:
    return isUnordered || a >= b;
  case Modifier::num:
    return !isUnordered;
  default:
    return isUnordered;
  }
}
static bool compareIntegers(Modifier word, Modifier type, uint64_t a, uint64_t b) {
  const unsigned bits = ptx::bitsOf(type);
  const bool isSigned = ptx::categoryOf(type) == ptx::TypeCategory::signedInteger;
  a <<= 64 - bits, b <<= 64 - bits; // moves the sign to the top bit and keeps the order
  const bool isLess = isSigned ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
  switch (word) {
  case Modifier::eq:
    return a == b;
  case Modifier::ne:
    return a != b;
  case Modifier::lt:
  case Modifier::lo:
    return isLess;
  case Modifier::le:
  case Modifier::ls:
    return isLess || a == b;
  case Modifier::gt:
  case Modifier::hi:
    return !isLess && a != b;
  default:
    return !isLess;
  }
}
static bool combined(const Instruction &instruction, bool t, bool c) {
  if (instruction.has(Modifier::opAnd))
    return t && c;
  if (instruction.has(Modifier::opOr))
    return t || c;
  if (instruction.has(Modifier::opXor))
    return t != c;
  return t;
}

static Expected testReference(const Form &form, const Inputs &in) {
  const Modifier type = form.instruction.type();
  const long double x = valueOf(type, in.a);
  const long double least = type == Modifier::f32 ? 0x1p-126L : 0x1p-1022L;
  const bool isSubnormal = x != 0 && std::fabs(x) < least;
  Expected expected;
  switch (form.instruction.find(ModifierKind::test)) {
  case Modifier::finite:
    expected.bits = std::isfinite(x);
    break;
  case Modifier::infinite:
    expected.bits = std::isinf(x);
    break;
  case Modifier::number:
    expected.bits = !std::isnan(x);
    break;
  case Modifier::notanumber:
    expected.bits = std::isnan(x);
    break;
  case Modifier::normal:
    // Zero counts neither as normal nor as subnormal.
    expected.bits = std::isfinite(x) && x != 0 && !isSubnormal;
    break;
  default:
    expected.bits = isSubnormal;
    break;
  }
  return expected;
}

Expected compareReference(const Form &form, const Inputs &in) {
  const Instruction &instruction = form.instruction;
  const bool ftz = instruction.has(Modifier::ftz);
  Expected expected;
  switch (form.row->handler) {
  case Handler::testp:
    return testReference(form, in);
  case Handler::selp:
    expected.bits = in.c & 1 ? in.a : in.b;
    break;
  case Handler::slct: {
    const Modifier type = instruction.type(1);
    bool isFirst;
    if (type == Modifier::f32) {
      const uint64_t c = ftz ? flushed(type, in.c) : in.c;
      isFirst = valueOf(type, c) >= 0;
    } else {
      isFirst = static_cast<int32_t>(in.c) >= 0;
    }
    expected.bits = isFirst ? in.a : in.b;
    break;
  }
  case Handler::mov:
    expected.bits = in.a;
    break;
  default: {
    const bool isSet = form.row->handler == Handler::set;
    const Modifier type = instruction.type(isSet ? 1 : 0), element = elementOf(type);
    const Modifier word = comparisonOf(instruction);
    const unsigned parts = type == element ? 1 : 2;
    bool results[2] = {}, opposite = false;
    for (unsigned i = 0; i < parts; ++i) {
      uint64_t a = in.a, b = in.b;
      if (parts == 2)
        a = a >> (16 * i) & 0xffff, b = b >> (16 * i) & 0xffff;
      if (ftz)
        a = flushed(element, a), b = flushed(element, b);
      const bool t = isFloatType(type)
                         ? compareFloats(word, valueOf(element, a), valueOf(element, b))
                         : compareIntegers(word, type, a, b);
      // The test kernel passes c as !%p.
      results[i] = combined(instruction, t, !(in.c & 1));
      opposite = combined(instruction, !t, !(in.c & 1));
    }
    if (!isSet) {
      expected.bits = results[0];
      expected.hasSecond = form.row->operands[0].second;
      expected.second = parts == 2 ? results[1] : opposite;
      break;
    }
    const Modifier to = instruction.type(0);
    auto value = [&](bool holds) -> uint64_t {
      switch (to) {
      case Modifier::f32:
        return holds ? 0x3f800000 : 0;
      case Modifier::f16:
      case Modifier::f16x2:
        return holds ? 0x3c00 : 0;
      case Modifier::bf16:
      case Modifier::bf16x2:
        return holds ? 0x3f80 : 0;
      case Modifier::u16:
      case Modifier::s16:
        return holds ? 0xffff : 0;
      default:
        return holds ? (parts == 2 ? 0xffff : 0xffffffff) : 0;
      }
    };
    expected.bits = value(results[0]);
    if (parts == 2)
      expected.bits |= value(results[1]) << 16;
    break;
  }
  }
  return expected;
}

} // namespace tilewright::vgpu::forms
