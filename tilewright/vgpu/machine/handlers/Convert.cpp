#include "tilewright/vgpu/machine/Conversion.h"
#include "tilewright/vgpu/machine/handlers/Half.h"
#include "tilewright/vgpu/machine/handlers/Lanes.h"

namespace tilewright::vgpu::machine::VGPU_ISA {

template <typename From, typename To> static void resize(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<To>(registers, op->d, m, castLanes<To>(get<From>(registers, op->a)));
  VGPU_NEXT;
}
static void narrowDouble(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<float>(registers, op->d, m, canonical(castLanes<float>(get<double>(registers, op->a))));
  VGPU_NEXT;
}
/// imm is the rounding mode: 0 toward zero, 1 to nearest even, 2 down, 3 up.
static void toSigned32(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  Lanes<float> a = get<float>(registers, op->a);
  a = op->imm == 0   ? __builtin_elementwise_trunc(a)
      : op->imm == 1 ? __builtin_elementwise_roundeven(a)
      : op->imm == 2 ? __builtin_elementwise_floor(a)
                     : __builtin_elementwise_ceil(a);
  const Lanes<int32_t> isLarge = a >= 0x1p31f, isSmall = a < -0x1p31f, isNan = a != a;
  const Lanes<float> inside = (isLarge | isSmall | isNan) != 0 ? Lanes<float>(0) : a;
  Lanes<int32_t> result = castLanes<int32_t>(inside);
  result = isLarge ? Lanes<int32_t>(INT32_MAX) : result;
  result = isSmall ? Lanes<int32_t>(INT32_MIN) : result;
  put<int32_t>(registers, op->d, m, result);
  VGPU_NEXT;
}
template <bool brain> static void narrowFloat(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<uint16_t>(registers, op->d, m, narrow<brain>(get<float>(registers, op->a)));
  VGPU_NEXT;
}
template <bool brain> static void widenHalf(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<float>(registers, op->d, m, canonical(widen<brain>(get<uint16_t>(registers, op->a))));
  VGPU_NEXT;
}
/// Converts a to the upper half and b to the lower half.
template <bool brain> static void narrowFloatPair(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint16_t> high = narrow<brain>(get<float>(registers, op->a)),
                        low = narrow<brain>(get<float>(registers, op->b));
  put<uint32_t>(registers, op->d, m, castLanes<uint32_t>(high) << 16u | castLanes<uint32_t>(low));
  VGPU_NEXT;
}

VGPU_INLINE uint64_t readLane(const std::byte *registers, uint32_t slot, unsigned bytes, int lane) {
  uint64_t value = 0;
  std::memcpy(&value, registers + slot + static_cast<size_t>(lane) * bytes, bytes);
  return value;
}
VGPU_INLINE void writeLane(std::byte *registers, uint32_t slot, unsigned bytes, int lane,
                           uint64_t value) {
  std::memcpy(registers + slot + static_cast<size_t>(lane) * bytes, &value, bytes);
}

static void convertAny(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const auto &form = *static_cast<const ConversionForm *>(op->extra);
  for (int lane = 0; lane < 32; ++lane)
    if (m >> lane & 1)
      writeLane(registers, op->d, form.toBytes, lane,
                convert(form, readLane(registers, op->a, form.fromBytes, lane)));
  VGPU_NEXT;
}
/// Converts two values into one register: a (upper half) and b, or the two halves of a if imm bit 0
/// is set. imm also holds widths in bits: of one half of the destination in bits 8 to 15, of one
/// half of the source in bits 16 to 23.
static void convertPair(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const auto &form = *static_cast<const ConversionForm *>(op->extra);
  const unsigned toBits = op->imm >> 8 & 0xff, fromBits = op->imm >> 16 & 0xff;
  const bool isPacked = (op->imm & 1) != 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(m >> lane & 1))
      continue;
    uint64_t high = readLane(registers, op->a, form.fromBytes, lane), low = 0;
    if (isPacked) {
      low = high & ((uint64_t(1) << fromBits) - 1);
      high >>= fromBits;
    } else {
      low = readLane(registers, op->b, form.fromBytes, lane);
    }
    writeLane(registers, op->d, form.toBytes, lane,
              convert(form, high) << toBits | convert(form, low));
  }
  VGPU_NEXT;
}
/// cvt.rs of imm values, in a, b, c and e, with random bits in f.
static void convertRandom(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const auto &form = *static_cast<const ConversionForm *>(op->extra);
  const uint32_t slots[] = {op->a, op->b, op->c, op->e};
  for (int lane = 0; lane < 32; ++lane) {
    if (!(m >> lane & 1))
      continue;
    uint32_t values[4];
    for (size_t i = 0; i < op->imm; ++i)
      values[i] = static_cast<uint32_t>(readLane(registers, slots[i], 4, lane));
    const auto random = static_cast<uint32_t>(readLane(registers, op->f, 4, lane));
    writeLane(registers, op->d, form.toBytes, lane,
              convertRandomly(form, {values, op->imm}, random));
  }
  VGPU_NEXT;
}
/// cvt.pack: clamps a and b to imm bits (bit 8: signed) and puts them into the low bits of d, and
/// the low bits of c above them.
static void convertPack(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const unsigned width = op->imm & 0xff;
  const bool isSigned = op->imm >> 8 & 1;
  const int32_t most = isSigned ? (1 << (width - 1)) - 1 : (1 << width) - 1;
  const int32_t least = isSigned ? -(1 << (width - 1)) : 0;
  const Lanes<int32_t> low(least), high(most);
  Lanes<int32_t> a = get<int32_t>(registers, op->a), b = get<int32_t>(registers, op->b);
  a = a < low ? low : a > high ? high : a;
  b = b < low ? low : b > high ? high : b;
  const uint32_t ones = (1u << width) - 1;
  Lanes<uint32_t> result =
      (bitsAs<uint32_t>(a) & ones) << uint32_t(width) | (bitsAs<uint32_t>(b) & ones);
  if (width < 16)
    result |= get<uint32_t>(registers, op->c) << uint32_t(2 * width);
  put<uint32_t>(registers, op->d, m, result);
  VGPU_NEXT;
}

extern const Run convertHandlers[] = {
#define VGPU_OP(name, ...) __VA_ARGS__,
#include "tilewright/vgpu/machine/handlers/Convert.def"
#undef VGPU_OP
};

} // namespace tilewright::vgpu::machine::VGPU_ISA
