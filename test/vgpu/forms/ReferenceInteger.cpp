#include "test/vgpu/forms/Reference.h"

#include <bit>

namespace tilewright::vgpu::forms {

using Wide = __int128;

static unsigned widthOf(Modifier type) { return ptx::bitsOf(type); }
static bool isSignedOf(Modifier type) {
  return ptx::categoryOf(type) == ptx::TypeCategory::signedInteger;
}
static uint64_t cut(Wide value, unsigned bits) {
  const auto low = static_cast<uint64_t>(value);
  return bits == 64 ? low : low & ((uint64_t(1) << bits) - 1);
}
static Wide extend(uint64_t value, unsigned bits, bool isSigned) {
  const uint64_t low = cut(static_cast<Wide>(value), bits);
  if (isSigned && bits < 64 && (low >> (bits - 1) & 1))
    return static_cast<Wide>(low) - (static_cast<Wide>(1) << bits);
  return isSigned && bits == 64 ? static_cast<Wide>(static_cast<int64_t>(low))
                                : static_cast<Wide>(low);
}
static Wide clampTo(Wide value, Wide low, Wide high) {
  return value < low ? low : value > high ? high : value;
}
static Expected exactly(uint64_t bits) {
  Expected result;
  result.bits = bits;
  return result;
}

/// Applies `f` to both halves of a register.
template <typename F> static uint64_t pairwise(uint64_t a, uint64_t b, bool isSigned, F f) {
  uint64_t result = 0;
  for (unsigned shift : {0u, 16u})
    result |= cut(f(extend(a >> shift, 16, isSigned), extend(b >> shift, 16, isSigned)), 16)
              << shift;
  return result;
}

static uint64_t findNth(uint32_t mask, uint32_t base, int32_t offset) {
  // As PTX's text has it: from bit `base` on, upwards for a positive offset.
  if (offset == 0)
    return mask >> (base & 31) & 1 ? base : 0xffffffffu;
  const int step = offset > 0 ? 1 : -1;
  int64_t left = offset > 0 ? int64_t(offset) - 1 : -int64_t(offset) - 1;
  for (int64_t position = base; position >= 0 && position < 32; position += step)
    if (mask >> position & 1) {
      if (left == 0)
        return static_cast<uint32_t>(position);
      --left;
    }
  return 0xffffffffu;
}

static uint64_t permute(uint32_t a, uint32_t b, uint32_t c, const Instruction &instruction) {
  const uint64_t bytes = uint64_t(b) << 32 | a;
  unsigned selectors[4];
  const unsigned k = c & 3;
  auto set = [&](unsigned s3, unsigned s2, unsigned s1, unsigned s0) {
    selectors[0] = s0, selectors[1] = s1, selectors[2] = s2, selectors[3] = s3;
  };
  if (instruction.has(Modifier::f4e))
    set(k + 3, k + 2, k + 1, k);
  else if (instruction.has(Modifier::b4e))
    set((k + 5) % 8, (k + 6) % 8, (k + 7) % 8, k);
  else if (instruction.has(Modifier::rc8))
    set(k, k, k, k);
  else if (instruction.has(Modifier::ecl))
    set(3, std::max(k, 2u), std::max(k, 1u), k);
  else if (instruction.has(Modifier::ecr))
    set(k, std::min(k, 2u), std::min(k, 1u), 0);
  else if (instruction.has(Modifier::rc16))
    set((k & 1) * 2 + 1, (k & 1) * 2, (k & 1) * 2 + 1, (k & 1) * 2);
  else
    for (unsigned i = 0; i < 4; ++i)
      selectors[i] = c >> (4 * i) & 15;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    uint32_t byte = bytes >> (8 * (selectors[i] & 7)) & 255;
    if (selectors[i] & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

static Expected logicReference(const Form &form, const Inputs &in) {
  const Instruction &instruction = form.instruction;
  const Modifier type = instruction.type();
  const unsigned bits = type == Modifier::pred ? 1 : widthOf(type);
  const bool isSigned = isSignedOf(type);
  const auto a32 = static_cast<uint32_t>(in.a), b32 = static_cast<uint32_t>(in.b),
             c32 = static_cast<uint32_t>(in.c);
  switch (form.row->handler) {
  case Handler::logicAnd:
    return exactly(cut(static_cast<Wide>(in.a & in.b), bits));
  case Handler::logicOr:
    return exactly(cut(static_cast<Wide>(in.a | in.b), bits));
  case Handler::logicXor:
    return exactly(cut(static_cast<Wide>(in.a ^ in.b), bits));
  case Handler::logicNot:
    return exactly(cut(static_cast<Wide>(~in.a), bits));
  case Handler::cnot:
    return exactly(cut(static_cast<Wide>(in.a), bits) == 0);
  case Handler::lop3: {
    uint32_t result = 0;
    for (unsigned i = 0; i < 32; ++i)
      result |= (0x96u >> ((a32 >> i & 1) << 2 | (b32 >> i & 1) << 1 | (c32 >> i & 1)) & 1) << i;
    Expected expected = exactly(result);
    if (form.row->operands.size() > 5) {
      // The test kernel passes q as !%p.
      const bool q = !(in.d & 1);
      expected.hasSecond = true;
      expected.second = instruction.has(Modifier::opOr) ? result != 0 || q : result != 0 && q;
    }
    return expected;
  }
  case Handler::shf: {
    // b is the high half.
    const uint64_t both = uint64_t(b32) << 32 | a32;
    const unsigned n = instruction.has(Modifier::clamp) ? std::min(c32, 32u) : c32 & 31;
    return exactly(instruction.has(Modifier::left)
                       ? static_cast<uint32_t>(n == 32 ? a32 : (both << n) >> 32)
                       : static_cast<uint32_t>(n == 32 ? b32 : both >> n));
  }
  case Handler::shl:
    return exactly(b32 >= bits ? 0 : cut(static_cast<Wide>(in.a) << b32, bits));
  case Handler::shr: {
    const Wide value = extend(in.a, bits, isSigned);
    return exactly(cut(value >> std::min(b32, 64u), bits));
  }
  case Handler::prmt:
    return exactly(permute(a32, b32, c32, instruction));
  default:
    return unknown();
  }
}

static Expected bitsReference(const Form &form, const Inputs &in) {
  const Instruction &instruction = form.instruction;
  const Modifier type = instruction.type();
  const unsigned bits = widthOf(type);
  const bool isSigned = isSignedOf(type);
  const auto b32 = static_cast<uint32_t>(in.b), c32 = static_cast<uint32_t>(in.c);
  const uint64_t value = cut(static_cast<Wide>(in.a), bits);
  switch (form.row->handler) {
  case Handler::popc:
    return exactly(static_cast<uint64_t>(std::popcount(value)));
  case Handler::clz: {
    unsigned count = 0;
    while (count < bits && !(value >> (bits - 1 - count) & 1))
      ++count;
    return exactly(count);
  }
  case Handler::bfind: {
    // The highest bit that differs from the sign.
    const bool isNegative = isSigned && (value >> (bits - 1) & 1);
    const uint64_t searched = isNegative ? cut(static_cast<Wide>(~value), bits) : value;
    if (searched == 0)
      return exactly(0xffffffffu);
    const auto top = static_cast<unsigned>(63 - std::countl_zero(searched));
    return exactly(instruction.has(Modifier::shiftamt) ? bits - 1 - top : top);
  }
  case Handler::brev: {
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; ++i)
      result |= (value >> i & 1) << (bits - 1 - i);
    return exactly(result);
  }
  case Handler::bfe: {
    const unsigned position = b32 & 255, length = c32 & 255;
    const bool sign =
        !isSigned || length == 0 ? false : value >> std::min(position + length - 1, bits - 1) & 1;
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; ++i) {
      const bool bit = i < length && position + i < bits ? (value >> (position + i) & 1) : sign;
      result |= uint64_t(bit) << i;
    }
    return exactly(result);
  }
  case Handler::bfi: {
    const unsigned position = c32 & 255, length = static_cast<uint32_t>(in.d) & 255;
    uint64_t result = cut(static_cast<Wide>(in.b), bits);
    for (unsigned i = 0; i < length && position + i < bits; ++i) {
      const uint64_t bit = uint64_t(1) << (position + i);
      result = (value >> i & 1) ? result | bit : result & ~bit;
    }
    return exactly(result);
  }
  case Handler::fns:
    if (b32 > 31) // PTX does not define larger mask sizes
      return unknown();
    return exactly(findNth(static_cast<uint32_t>(in.a), b32, static_cast<int32_t>(c32)));
  case Handler::szext: {
    // The low N bits of a, sign- or zero-extended.
    const bool isWrap = instruction.has(Modifier::wrap);
    const unsigned n = isWrap ? b32 & 31 : b32 > 32 ? 32 : b32;
    if (n == 0)
      return exactly(0);
    return exactly(cut(extend(value, n, isSigned), 32));
  }
  case Handler::bmsk: {
    const bool isWrap = instruction.has(Modifier::wrap);
    const uint32_t first = isWrap ? static_cast<uint32_t>(in.a) & 31 : static_cast<uint32_t>(in.a);
    const uint32_t count = isWrap ? b32 & 31 : b32;
    uint32_t result = 0;
    for (uint64_t i = first; i < uint64_t(first) + count && i < 32; ++i)
      result |= 1u << i;
    return exactly(result);
  }
  default:
    return unknown();
  }
}

static Expected dotReference(const Form &form, const Inputs &in) {
  const Instruction &instruction = form.instruction;
  const bool aSigned = isSignedOf(instruction.type(0)), bSigned = isSignedOf(instruction.type(1));
  Wide sum = static_cast<Wide>(static_cast<int64_t>(static_cast<int32_t>(in.c)));
  if (form.row->handler == Handler::dp4a)
    for (unsigned i = 0; i < 4; ++i)
      sum += extend(in.a >> (8 * i), 8, aSigned) * extend(in.b >> (8 * i), 8, bSigned);
  else
    for (unsigned i = 0; i < 2; ++i)
      sum += extend(in.a >> (16 * i), 16, aSigned) *
             extend(in.b >> (8 * i + (instruction.has(Modifier::hi) ? 16 : 0)), 8, bSigned);
  return exactly(cut(sum, 32));
}

/// The operations that read or write the carry flag.
static Expected carryReference(const Form &form, const Inputs &in) {
  const Instruction &instruction = form.instruction;
  const unsigned bits = widthOf(instruction.type());
  const bool isSigned = isSignedOf(instruction.type());
  const bool reads = form.row->opcode.ends_with('c');
  const Wide carry = reads && in.carry ? 1 : 0;
  Wide left = static_cast<Wide>(cut(static_cast<Wide>(in.a), bits));
  Wide right = static_cast<Wide>(cut(static_cast<Wide>(in.b), bits));
  Expected expected;
  expected.hasSecond = true;
  if (form.row->handler == Handler::madCarry) {
    // A product of 64 bits has 128 bits, of which one half is used.
    const auto x = extend(in.a, bits, isSigned), y = extend(in.b, bits, isSigned);
    const auto product = static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y);
    left = static_cast<Wide>(
        cut(static_cast<Wide>(instruction.has(Modifier::hi) ? product >> bits : product), bits));
    right = static_cast<Wide>(cut(static_cast<Wide>(in.c), bits));
  }
  if (form.row->handler == Handler::subCarry) {
    expected.bits = cut(left - right - carry, bits);
    expected.second = left < right + carry;
  } else {
    expected.bits = cut(left + right + carry, bits);
    expected.second = left + right + carry >= static_cast<Wide>(1) << bits;
  }
  // Without .cc the flag stays as it was.
  if (!instruction.has(Modifier::cc))
    expected.second = in.carry;
  return expected;
}

Expected integerReference(const Form &form, const Inputs &in) {
  const Instruction &instruction = form.instruction;
  const Modifier type = instruction.type();
  switch (form.row->handler) {
  case Handler::addCarry:
  case Handler::subCarry:
  case Handler::madCarry:
    return carryReference(form, in);
  case Handler::dp4a:
  case Handler::dp2a:
    return dotReference(form, in);
  case Handler::popc:
  case Handler::clz:
  case Handler::bfind:
  case Handler::brev:
  case Handler::bfe:
  case Handler::bfi:
  case Handler::fns:
  case Handler::szext:
  case Handler::bmsk:
    return bitsReference(form, in);
  case Handler::logicAnd:
  case Handler::logicOr:
  case Handler::logicXor:
  case Handler::logicNot:
  case Handler::cnot:
  case Handler::lop3:
  case Handler::shf:
  case Handler::shl:
  case Handler::shr:
  case Handler::prmt:
    return logicReference(form, in);
  default:
    break;
  }
  const unsigned bits = widthOf(type);
  const bool isPair = type == Modifier::u16x2 || type == Modifier::s16x2;
  const bool isSigned = isSignedOf(type) || type == Modifier::s16x2;
  const Wide a = extend(in.a, bits, isSigned), b = extend(in.b, bits, isSigned),
             c = extend(in.c, bits, isSigned);
  const bool saturates = instruction.has(Modifier::sat), isHigh = instruction.has(Modifier::hi);
  const Wide low32 = -(static_cast<Wide>(1) << 31), high32 = (static_cast<Wide>(1) << 31) - 1;
  auto limited = [&](Wide value) { return saturates ? clampTo(value, low32, high32) : value; };
  auto lesser = [](Wide x, Wide y) { return x < y ? x : y; };
  auto greater = [](Wide x, Wide y) { return x > y ? x : y; };
  // Products of 64 bits overflow a signed 128-bit integer, so they are computed modulo 2^128 and
  // extended by hand.
  auto product = [&] {
    return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
  };
  auto half = [&] {
    if (!isHigh)
      return product();
    return isSigned ? product() >> bits
                    : static_cast<Wide>(static_cast<unsigned __int128>(product()) >> bits);
  };
  switch (form.row->handler) {
  case Handler::add:
    if (isPair)
      return exactly(pairwise(in.a, in.b, isSigned, [](Wide x, Wide y) { return x + y; }));
    return exactly(cut(limited(a + b), bits));
  case Handler::sub:
    return exactly(cut(limited(a - b), bits));
  case Handler::mul:
    return exactly(cut(half(), bits));
  case Handler::mad:
    return exactly(cut(limited(saturates ? half() + c : half() + c), bits));
  case Handler::mulWide:
    return exactly(cut(a * b, 2 * bits));
  case Handler::madWide:
    return exactly(cut(a * b + static_cast<Wide>(in.c), 2 * bits));
  case Handler::mul24:
  case Handler::mad24: {
    const Wide full = extend(in.a, 24, isSigned) * extend(in.b, 24, isSigned);
    Wide part = isHigh ? full >> 16 : full;
    part = extend(static_cast<uint64_t>(part), 32, isSigned);
    if (form.row->handler == Handler::mad24)
      part = limited(part + c);
    return exactly(cut(part, 32));
  }
  case Handler::sad:
    return exactly(cut(c + (a < b ? b - a : a - b), bits));
  case Handler::divInt:
  case Handler::rem: {
    // Division by zero and division that overflows are undefined.
    if (b == 0 || (isSigned && b == -1 && a == -(static_cast<Wide>(1) << (bits - 1))))
      return unknown();
    return exactly(cut(form.row->handler == Handler::rem ? a % b : a / b, bits));
  }
  case Handler::abs:
    return exactly(cut(a < 0 ? -a : a, bits));
  case Handler::neg:
    return exactly(cut(-a, bits));
  case Handler::min:
  case Handler::max: {
    const bool isMin = form.row->handler == Handler::min, isRelu = instruction.has(Modifier::relu);
    auto choose = [&](Wide x, Wide y) {
      const Wide chosen = isMin ? lesser(x, y) : greater(x, y);
      return isRelu ? greater(chosen, 0) : chosen;
    };
    return exactly(isPair ? pairwise(in.a, in.b, isSigned, choose) : cut(choose(a, b), bits));
  }
  default:
    return unknown();
  }
}

} // namespace tilewright::vgpu::forms
