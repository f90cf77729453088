#include "tilewright/vgpu/machine/handlers/Half.h"
#include "tilewright/vgpu/machine/handlers/Lanes.h"

namespace tilewright::vgpu::machine::VGPU_ISA {

#define VGPU_PREDICATE(name, expression)                                                           \
  static void name(VGPU_ARGS) {                                                                    \
    const uint32_t m = active(op, registers, mask);                                                \
    const uint32_t a = predicate(registers, op->a);                                                \
    [[maybe_unused]] const uint32_t b = predicate(registers, op->b);                               \
    putPredicate(registers, op->d, m, expression);                                                 \
    VGPU_NEXT;                                                                                     \
  }

VGPU_BINARY(bitAnd, a &b)
VGPU_BINARY(bitOr, a | b)
VGPU_BINARY(bitXor, a ^ b)
VGPU_UNARY(bitNot, ~a)
VGPU_UNARY(logicalNot, a == T(0) ? Lanes<T>(1) : Lanes<T>(0))
VGPU_UNARY(move, a)
VGPU_PREDICATE(predAnd, a &b)
VGPU_PREDICATE(predOr, a | b)
VGPU_PREDICATE(predXor, a ^ b)
VGPU_PREDICATE(predNot, ~a)
VGPU_PREDICATE(predMove, a)

static void move128(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint64_t> low = get<uint64_t>(registers, op->a),
                        high = get<uint64_t>(registers, op->a + 256);
  put<uint64_t>(registers, op->d, m, low);
  put<uint64_t>(registers, op->d + 256, m, high);
  VGPU_NEXT;
}

// Shift amounts above the width are clamped to the width.
template <typename T> static void shiftLeft(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = get<T>(registers, op->a);
  const Lanes<uint32_t> amount = get<uint32_t>(registers, op->b);
  constexpr uint32_t width = 8 * sizeof(T);
  const Lanes<T> by = castLanes<T>(amount & (width - 1));
  put<T>(registers, op->d, m, choose<T>(maskOf(amount < width), a << by, Lanes<T>(0)));
  VGPU_NEXT;
}
template <typename T> static void shiftRight(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = get<T>(registers, op->a);
  const Lanes<uint32_t> amount = get<uint32_t>(registers, op->b);
  constexpr uint32_t width = 8 * sizeof(T);
  const Lanes<T> by = castLanes<T>(amount & (width - 1));
  const Lanes<T> beyond = std::is_signed_v<T> ? a >> T(width - 1) : Lanes<T>(0);
  put<T>(registers, op->d, m, choose<T>(maskOf(amount < width), a >> by, beyond));
  VGPU_NEXT;
}
template <typename T> static void select(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<T>(
      registers, op->d, m,
      choose<T>(predicate(registers, op->c), get<T>(registers, op->a), get<T>(registers, op->b)));
  VGPU_NEXT;
}

VGPU_INLINE Lanes<uint32_t> lookup3(uint64_t table, Lanes<uint32_t> a, Lanes<uint32_t> b,
                                    Lanes<uint32_t> c) {
  Lanes<uint32_t> result(0);
  for (unsigned row = 0; row < 8; ++row)
    if (table >> row & 1)
      result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  return result;
}
static void logic3(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<uint32_t>(registers, op->d, m,
                lookup3(op->imm, get<uint32_t>(registers, op->a), get<uint32_t>(registers, op->b),
                        get<uint32_t>(registers, op->c)));
  VGPU_NEXT;
}
/// lop3 that also computes the predicate (result != 0) op q. imm bit 8: op is `or`, otherwise
/// `and`; bit 9: negates q.
static void logic3Predicate(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint32_t> result =
      lookup3(op->imm & 0xff, get<uint32_t>(registers, op->a), get<uint32_t>(registers, op->b),
              get<uint32_t>(registers, op->c));
  const uint32_t q = predicate(registers, op->f) ^ (op->imm & 512 ? ~0u : 0);
  const uint32_t set = maskOf(result != 0);
  put<uint32_t>(registers, op->d, m, result);
  putPredicate(registers, op->e, m, op->imm & 256 ? set | q : set & q);
  VGPU_NEXT;
}
/// shf. imm bit 0: shifts to the right; bit 1: clamps the amount, otherwise wraps it.
static void funnelShift(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint64_t> both = castLanes<uint64_t>(get<uint32_t>(registers, op->b))
                                   << uint64_t(32) |
                               castLanes<uint64_t>(get<uint32_t>(registers, op->a));
  const Lanes<uint32_t> c = get<uint32_t>(registers, op->c);
  const Lanes<uint32_t> amount = op->imm & 2 ? (c < 32u ? c : Lanes<uint32_t>(32)) : (c & 31u);
  const Lanes<uint64_t> by = castLanes<uint64_t>(amount);
  const Lanes<uint32_t> result = op->imm & 1 ? castLanes<uint32_t>(both >> by)
                                             : castLanes<uint32_t>((both << by) >> uint64_t(32));
  put<uint32_t>(registers, op->d, m, result);
  VGPU_NEXT;
}
/// Translates the selectors of the prmt modes f4e to rc16 to those of the default mode.
static uint32_t selectorOf(unsigned mode, uint32_t control) {
  static constexpr uint16_t modes[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
      {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
      {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
      {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
      {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
      {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
  };
  return mode == 0 ? control : modes[mode - 1][control & 3];
}
static void permuteBytes(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint32_t> c = get<uint32_t>(registers, op->c);
  const Lanes<uint64_t> both = castLanes<uint64_t>(get<uint32_t>(registers, op->b))
                                   << uint64_t(32) |
                               castLanes<uint64_t>(get<uint32_t>(registers, op->a));
  Lanes<uint32_t> selector = c;
  if (op->imm)
    for (int i = 0; i < 32; ++i)
      selector[i] = selectorOf(static_cast<unsigned>(op->imm), c[i]);
  Lanes<uint32_t> result(0);
  for (unsigned byte = 0; byte < 4; ++byte) {
    const Lanes<uint32_t> nibble = (selector >> (4 * byte)) & 15u;
    const Lanes<uint64_t> at = castLanes<uint64_t>((nibble & 7u) << 3u);
    Lanes<uint32_t> value = castLanes<uint32_t>(both >> at) & 0xffu;
    const Lanes<uint32_t> sign = (value & 0x80u) != 0u ? Lanes<uint32_t>(0xff) : Lanes<uint32_t>(0);
    value = (nibble & 8u) != 0u ? sign : value;
    result |= value << (8 * byte);
  }
  put<uint32_t>(registers, op->d, m, result);
  VGPU_NEXT;
}

template <typename T> static void populationCount(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<uint32_t>(registers, op->d, m,
                castLanes<uint32_t>(__builtin_elementwise_popcount(get<T>(registers, op->a))));
  VGPU_NEXT;
}
template <typename T> VGPU_INLINE Lanes<uint32_t> zerosAbove(Lanes<T> value) {
  Lanes<uint32_t> result;
  for (int i = 0; i < 32; ++i)
    result[i] = static_cast<uint32_t>(std::countl_zero(static_cast<T>(value[i])));
  return result;
}
template <typename T> static void leadingZeros(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<uint32_t>(registers, op->d, m, zerosAbove<T>(get<T>(registers, op->a)));
  VGPU_NEXT;
}
template <typename T> static void reverseBits(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<T>(registers, op->d, m, __builtin_elementwise_bitreverse(get<T>(registers, op->a)));
  VGPU_NEXT;
}
/// bfind. imm is set for .shiftamt: the result is the shift amount instead of the position.
template <typename T> static void findLeading(VGPU_ARGS) {
  using U = UnsignedOf<T>;
  constexpr uint32_t width = 8 * sizeof(T);
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = get<T>(registers, op->a);
  // For a negative number, find the first bit that differs from the sign.
  const Lanes<U> bits = bitsAs<U>(a < T(0) ? ~a : a);
  const Lanes<uint32_t> zeros = zerosAbove<U>(bits);
  const Lanes<uint32_t> result = op->imm ? zeros : (width - 1) - zeros;
  put<uint32_t>(registers, op->d, m, zeros == width ? Lanes<uint32_t>(0xffffffffu) : result);
  VGPU_NEXT;
}
template <typename T> static void extractField(VGPU_ARGS) {
  using U = UnsignedOf<T>;
  constexpr uint32_t width = 8 * sizeof(T);
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = get<T>(registers, op->a);
  const Lanes<uint32_t> position = get<uint32_t>(registers, op->b) & 0xffu,
                        length = get<uint32_t>(registers, op->c) & 0xffu;
  Lanes<T> result;
  for (int i = 0; i < 32; ++i) {
    const uint32_t p = position[i], n = length[i];
    const U value = static_cast<U>(a[i]);
    // The sign is the last bit of the field, or of the number if the field extends beyond it.
    const uint32_t last = p + n - 1 < width - 1 ? p + n - 1 : width - 1;
    const bool sign = std::is_signed_v<T> && n != 0 && (value >> last & 1);
    const U field = p < width ? value >> p : 0;
    const U ones = n < width ? (U(1) << n) - 1 : ~U(0);
    const uint32_t available = p < width ? width - p : 0;
    const U known = available < width ? (U(1) << available) - 1 : ~U(0);
    result[i] = static_cast<T>((field & ones & known) | (sign ? ~(ones & known) : 0));
  }
  put<T>(registers, op->d, m, result);
  VGPU_NEXT;
}
template <typename T> static void insertField(VGPU_ARGS) {
  constexpr uint32_t width = 8 * sizeof(T);
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = get<T>(registers, op->a), b = get<T>(registers, op->b);
  const Lanes<uint32_t> position = get<uint32_t>(registers, op->c) & 0xffu,
                        length = get<uint32_t>(registers, op->e) & 0xffu;
  Lanes<T> result;
  for (int i = 0; i < 32; ++i) {
    const uint32_t p = position[i], n = length[i];
    const T ones = n < width ? (T(1) << n) - 1 : ~T(0);
    const T where = p < width ? ones << p : 0;
    result[i] = (b[i] & ~where) | (p < width ? (a[i] << p) & where : 0);
  }
  put<T>(registers, op->d, m, result);
  VGPU_NEXT;
}
static void findNth(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint32_t> word = get<uint32_t>(registers, op->a),
                        base = get<uint32_t>(registers, op->b);
  const Lanes<int32_t> offset = get<int32_t>(registers, op->c);
  Lanes<uint32_t> result(0xffffffffu);
  for (int i = 0; i < 32; ++i) {
    int32_t n = offset[i];
    int step = n < 0 ? -1 : 1;
    if (n == 0) {
      if (base[i] < 32 && (word[i] >> base[i] & 1))
        result[i] = base[i];
      continue;
    }
    for (int position = static_cast<int>(base[i]); position >= 0 && position < 32; position += step)
      if ((word[i] >> position & 1) && (n -= step) == 0) {
        result[i] = static_cast<uint32_t>(position);
        break;
      }
  }
  put<uint32_t>(registers, op->d, m, result);
  VGPU_NEXT;
}
/// szext. imm bit 0: signed; bit 1: clamp, otherwise wrap.
static void extendSize(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint32_t> a = get<uint32_t>(registers, op->a), b = get<uint32_t>(registers, op->b);
  Lanes<uint32_t> result;
  for (int i = 0; i < 32; ++i) {
    const uint32_t n = op->imm & 2 ? (b[i] < 32 ? b[i] : 32) : b[i] & 31;
    const uint32_t up = n == 0 ? 0 : a[i] << (32 - n);
    result[i] = n == 0        ? 0
                : op->imm & 1 ? static_cast<uint32_t>(static_cast<int32_t>(up) >> (32 - n))
                              : up >> (32 - n);
  }
  put<uint32_t>(registers, op->d, m, result);
  VGPU_NEXT;
}
/// bmsk. imm: clamp if set, otherwise wrap.
static void bitMask(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint32_t> a = get<uint32_t>(registers, op->a), b = get<uint32_t>(registers, op->b);
  Lanes<uint32_t> result;
  for (int i = 0; i < 32; ++i) {
    const uint32_t from = op->imm ? (a[i] < 32 ? a[i] : 32) : a[i] & 31;
    const uint32_t n = op->imm ? (b[i] < 32 ? b[i] : 32) : b[i] & 31;
    result[i] = static_cast<uint32_t>(((uint64_t(1) << n) - 1) << from);
  }
  put<uint32_t>(registers, op->d, m, result);
  VGPU_NEXT;
}

/// d = {a, b}; a and b have half the width of d.
template <typename T> static void packPair(VGPU_ARGS) {
  using Half = typename IntegerOf<sizeof(T) / 2>::Unsigned;
  const uint32_t m = active(op, registers, mask);
  const Lanes<Half> a = get<Half>(registers, op->a), b = get<Half>(registers, op->b);
  put<T>(registers, op->d, m, castLanes<T>(a) | castLanes<T>(b) << T(4 * sizeof(T)));
  VGPU_NEXT;
}
/// {d, e} = a.
template <typename T> static void unpackPair(VGPU_ARGS) {
  using Half = typename IntegerOf<sizeof(T) / 2>::Unsigned;
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = get<T>(registers, op->a);
  put<Half>(registers, op->d, m, castLanes<Half>(a));
  put<Half>(registers, op->e, m, castLanes<Half>(a >> T(4 * sizeof(T))));
  VGPU_NEXT;
}

/// The other forms of mov {…}. imm holds the number of elements, their width and the total width in
/// bits, one byte each. 8-bit elements are in 16-bit registers.
static void packMany(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const auto *slots = static_cast<const uint32_t *>(op->extra);
  const unsigned count = op->imm & 0xff, width = op->imm >> 8 & 0xff, whole = op->imm >> 16 & 0xff;
  Lanes<uint64_t> result(0);
  for (unsigned i = 0; i < count; ++i) {
    Lanes<uint64_t> element = width == 32 ? castLanes<uint64_t>(get<uint32_t>(registers, slots[i]))
                                          : castLanes<uint64_t>(get<uint16_t>(registers, slots[i]));
    if (width == 8)
      element &= uint64_t(0xff);
    result |= element << uint64_t(i * width);
  }
  if (whole == 64)
    put<uint64_t>(registers, op->d, m, result);
  else if (whole == 32)
    put<uint32_t>(registers, op->d, m, castLanes<uint32_t>(result));
  else
    put<uint16_t>(registers, op->d, m, castLanes<uint16_t>(result));
  VGPU_NEXT;
}
static void unpackMany(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const auto *slots = static_cast<const uint32_t *>(op->extra);
  const unsigned count = op->imm & 0xff, width = op->imm >> 8 & 0xff, whole = op->imm >> 16 & 0xff;
  const Lanes<uint64_t> value = whole == 64 ? get<uint64_t>(registers, op->a)
                                : whole == 32
                                    ? castLanes<uint64_t>(get<uint32_t>(registers, op->a))
                                    : castLanes<uint64_t>(get<uint16_t>(registers, op->a));
  for (unsigned i = 0; i < count; ++i) {
    Lanes<uint64_t> element = value >> uint64_t(i * width);
    if (width == 8)
      element &= uint64_t(0xff);
    if (width == 32)
      put<uint32_t>(registers, slots[i], m, castLanes<uint32_t>(element));
    else
      put<uint16_t>(registers, slots[i], m, castLanes<uint16_t>(element));
  }
  VGPU_NEXT;
}

// Comparisons. imm 0 is the plain comparison; otherwise:
//   bit 0      negates the result
//   bit 1      false if an operand is a NaN;  bit 2  true if an operand is a NaN
//   bits 4, 5  combine with predicate c: 1 and, 2 or, 3 xor;  bit 6  negates c
// e is the slot of the second result, the negated comparison combined in the same way.

/// Applies bits 0 to 2 of imm (`how`) to the result of a comparison; `numbers` is the mask of lanes
/// without a NaN.
VGPU_INLINE uint32_t adjusted(uint64_t how, uint32_t holds, uint32_t numbers) {
  if (how & 1)
    holds = ~holds;
  if (how & 2)
    holds &= numbers;
  if (how & 4)
    holds |= ~numbers;
  return holds;
}
/// Combines two results with predicate c, as specified by bits 4 to 6 of imm.
VGPU_INLINE void combine(const Op *op, std::byte *registers, uint32_t &first, uint32_t &second) {
  const uint32_t c = predicate(registers, op->c) ^ (op->imm & 64 ? ~0u : 0);
  switch (op->imm >> 4 & 3) {
  case 1:
    first &= c, second &= c;
    break;
  case 2:
    first |= c, second |= c;
    break;
  case 3:
    first ^= c, second ^= c;
    break;
  default:
    break;
  }
}
VGPU_INLINE void putComparison(const Op *op, std::byte *registers, uint32_t m, uint32_t holds,
                               uint32_t numbers) {
  const uint64_t how = op->imm;
  if (how == 0) [[likely]] {
    putPredicate(registers, op->d, m, holds);
    putPredicate(registers, op->e, m, ~holds);
    return;
  }
  holds = adjusted(how, holds, numbers);
  uint32_t opposite = ~holds;
  combine(op, registers, holds, opposite);
  putPredicate(registers, op->d, m, holds);
  putPredicate(registers, op->e, m, opposite);
}
#define VGPU_COMPARE(name, comparison)                                                             \
  template <typename T> static void name(VGPU_ARGS) {                                              \
    const uint32_t m = active(op, registers, mask);                                                \
    const Lanes<T> a = get<T>(registers, op->a), b = get<T>(registers, op->b);                     \
    putComparison(op, registers, m, maskOf(a comparison b), ~0u);                                  \
    VGPU_NEXT;                                                                                     \
  }
VGPU_COMPARE(compareEqual, ==)
VGPU_COMPARE(compareLess, <)
VGPU_COMPARE(compareLessEqual, <=)

/// imm bits 8, 9: 0 ==, 1 <, 2 <=, 3 neither operand is a NaN. Bit 10: .ftz.
template <typename T>
VGPU_INLINE uint32_t compared(uint64_t how, Lanes<T> a, Lanes<T> b, uint32_t &numbers) {
  numbers = maskOf(a == a) & maskOf(b == b);
  switch (how >> 8 & 3) {
  case 0:
    return maskOf(a == b);
  case 1:
    return maskOf(a < b);
  case 2:
    return maskOf(a <= b);
  default:
    return numbers;
  }
}
template <typename T> static void compareFloat(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  Lanes<T> a = get<T>(registers, op->a), b = get<T>(registers, op->b);
  if constexpr (sizeof(T) == 4)
    if (op->imm & 1024) {
      a = flush(a);
      b = flush(b);
    }
  uint32_t numbers = 0;
  const uint32_t holds = compared<T>(op->imm, a, b, numbers);
  putComparison(op, registers, m, holds, numbers);
  VGPU_NEXT;
}
/// Compares f16 or bf16 values as f32.
template <bool brain>
VGPU_INLINE uint32_t comparedHalves(uint64_t how, Lanes<uint16_t> a, Lanes<uint16_t> b,
                                    uint32_t &numbers) {
  Lanes<float> x = widen<brain>(a), y = widen<brain>(b);
  if (how & 1024) {
    x = flushHalf(x);
    y = flushHalf(y);
  }
  return compared<float>(how, x, y, numbers);
}
template <bool brain> static void compareHalf(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  uint32_t numbers = 0;
  const uint32_t holds = comparedHalves<brain>(op->imm, get<uint16_t>(registers, op->a),
                                               get<uint16_t>(registers, op->b), numbers);
  putComparison(op, registers, m, holds, numbers);
  VGPU_NEXT;
}
/// d is the result for the lower halves, e for the upper halves.
template <bool brain> static void compareHalfPair(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint32_t> a = get<uint32_t>(registers, op->a), b = get<uint32_t>(registers, op->b);
  uint32_t results[2];
  for (int half = 0; half < 2; ++half) {
    uint32_t numbers = 0;
    const uint32_t holds =
        comparedHalves<brain>(op->imm, castLanes<uint16_t>(a >> uint32_t(16 * half)),
                              castLanes<uint16_t>(b >> uint32_t(16 * half)), numbers);
    results[half] = adjusted(op->imm, holds, numbers);
  }
  combine(op, registers, results[0], results[1]);
  putPredicate(registers, op->d, m, results[0]);
  putPredicate(registers, op->e, m, results[1]);
  VGPU_NEXT;
}
/// testp. imm: 0 finite, 1 infinite, 2 number, 3 not a number, 4 normal, 5 subnormal.
template <typename T> static void testFloat(VGPU_ARGS) {
  using U = UnsignedOf<T>;
  constexpr U infinity = sizeof(T) == 4 ? U(0x7f800000u) : static_cast<U>(0x7ff0000000000000u);
  constexpr U minNormal = sizeof(T) == 4 ? U(0x00800000u) : static_cast<U>(0x0010000000000000u);
  const uint32_t m = active(op, registers, mask);
  const Lanes<U> magnitude =
      get<U>(registers, op->a) & static_cast<U>(~(U(1) << (8 * sizeof(T) - 1)));
  uint32_t holds = 0;
  switch (op->imm) {
  case 0:
    holds = maskOf(magnitude < infinity);
    break;
  case 1:
    holds = maskOf(magnitude == infinity);
    break;
  case 2:
    holds = maskOf(magnitude <= infinity);
    break;
  case 3:
    holds = maskOf(magnitude > infinity);
    break;
  case 4:
    holds = maskOf(magnitude >= minNormal) & maskOf(magnitude < infinity);
    break;
  default:
    holds = maskOf(magnitude < minNormal) & maskOf(magnitude != U(0));
    break;
  }
  putPredicate(registers, op->d, m, holds);
  VGPU_NEXT;
}

/// imm: the special register; from bit 16 on, its component; from bit 24 on, the width of d in
/// bytes (1: predicate).
static void readSpecialRegister(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const unsigned bytes = op->imm >> 24 & 0xff;
  alignas(64) uint64_t value[32];
  readSpecial(warp, op->imm & 0xffff, op->imm >> 16 & 0xff, value);
  const Lanes<uint64_t> lanes = *reinterpret_cast<const LanesOf<uint64_t>::Stored *>(value);
  if (bytes == 1)
    putPredicate(registers, op->d, m, maskOf(lanes != uint64_t(0)));
  else if (bytes == 2)
    put<uint16_t>(registers, op->d, m, castLanes<uint16_t>(lanes));
  else if (bytes == 4)
    put<uint32_t>(registers, op->d, m, castLanes<uint32_t>(lanes));
  else
    put<uint64_t>(registers, op->d, m, lanes);
  VGPU_NEXT;
}

// Warp-level exchange: shfl, vote, match, redux. f is the slot of the member mask. The instruction
// waits until all live lanes in the mask have arrived.

/// If lanes in `members` have not arrived yet, parks the arrived lanes at `op` and returns true.
static bool parkForMembers(Warp &warp, const Op *op, uint32_t mask, uint32_t members) {
  const uint32_t missing = members & warp.alive & ~mask;
  if (missing == 0)
    return false;
  parkFragment(warp, {op, warp.frame, mask, Wait::lanes, missing, 0});
  return true;
}
VGPU_INLINE uint32_t memberWord(const std::byte *registers, const Op *op, int lane) {
  return *reinterpret_cast<const uint32_t *>(registers + op->f + 4 * lane);
}
#define VGPU_CONVERGE(m)                                                                           \
  do {                                                                                             \
    if (m == 0)                                                                                    \
      VGPU_NEXT;                                                                                   \
    if (warp.diverged) [[unlikely]] {                                                              \
      uint32_t members = 0;                                                                        \
      for (uint32_t rest = m; rest != 0; rest &= rest - 1)                                         \
        members |= memberWord(registers, op, std::countr_zero(rest));                              \
      if (parkForMembers(warp, op, mask, members))                                                 \
        VGPU_RESUME;                                                                               \
    }                                                                                              \
  } while (false)

/// Calls body(members, lanes) for each group of lanes with the same member mask. The groups are
/// independent; nearly always there is only one.
template <typename Body>
VGPU_INLINE void eachGroup(const std::byte *registers, const Op *op, uint32_t m, Body body) {
  for (uint32_t rest = m; rest != 0;) {
    const uint32_t members = memberWord(registers, op, std::countr_zero(rest));
    const uint32_t group = maskOf(get<uint32_t>(registers, op->f) == members) & rest;
    body(members & m, group);
    rest &= ~group;
  }
}

/// shfl. imm: 0 up, 1 down, 2 bfly, 3 idx. e is the predicate result.
static void shuffle(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  VGPU_CONVERGE(m);
  const Lanes<uint32_t> a = get<uint32_t>(registers, op->a);
  const Lanes<uint32_t> b = get<uint32_t>(registers, op->b) & 31u,
                        c = get<uint32_t>(registers, op->c);
  const Lanes<uint32_t> lane = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
  const Lanes<uint32_t> segment = (c >> 8u) & 31u, clamp = c & 31u;
  const Lanes<uint32_t> most = (lane & segment) | (clamp & ~segment);
  const Lanes<uint32_t> least = lane & segment;
  Lanes<uint32_t> from;
  uint32_t inside = 0;
  switch (op->imm) {
  case 0:
    from = lane - b;
    inside = maskOf(bitsAs<int32_t>(from) >= bitsAs<int32_t>(most));
    break;
  case 1:
    from = lane + b;
    inside = maskOf(from <= most);
    break;
  case 2:
    from = lane ^ b;
    inside = maskOf(from <= most);
    break;
  default:
    from = least | (b & ~segment);
    inside = maskOf(from <= most);
    break;
  }
  from = choose<uint32_t>(inside, from, lane) & 31u;
  alignas(64) uint32_t source[32], index[32], result32[32];
  *reinterpret_cast<LanesOf<uint32_t>::Stored *>(source) = a;
  *reinterpret_cast<LanesOf<uint32_t>::Stored *>(index) = from;
  for (int i = 0; i < 32; ++i)
    result32[i] = source[index[i]];
  const Lanes<uint32_t> result = *reinterpret_cast<const LanesOf<uint32_t>::Stored *>(result32);
  put<uint32_t>(registers, op->d, m, result);
  putPredicate(registers, op->e, m, inside);
  VGPU_NEXT;
}
/// vote. imm: 0 all, 1 any, 2 uni, 3 ballot (d is a register instead of a predicate). Bit 4:
/// negates a.
static void vote(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  VGPU_CONVERGE(m);
  const uint32_t holds = predicate(registers, op->a) ^ (op->imm & 16 ? ~0u : 0);
  eachGroup(registers, op, m, [&](uint32_t members, uint32_t group) {
    const uint32_t votes = holds & members;
    switch (op->imm & 15) {
    case 0:
      putPredicate(registers, op->d, group, votes == members ? ~0u : 0);
      break;
    case 1:
      putPredicate(registers, op->d, group, votes != 0 ? ~0u : 0);
      break;
    case 2:
      putPredicate(registers, op->d, group, votes == members || votes == 0 ? ~0u : 0);
      break;
    default:
      put<uint32_t>(registers, op->d, group, Lanes<uint32_t>(votes));
      break;
    }
  });
  VGPU_NEXT;
}
/// match. imm is set for match.all, with predicate e.
template <typename T> static void match(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  VGPU_CONVERGE(m);
  const Lanes<T> a = get<T>(registers, op->a);
  eachGroup(registers, op, m, [&](uint32_t members, uint32_t group) {
    Lanes<uint32_t> result(0);
    if (op->imm) {
      const uint32_t same = maskOf(a == a[std::countr_zero(group)]) & members;
      result = Lanes<uint32_t>(same == members ? members : 0);
      putPredicate(registers, op->e, group, same == members ? ~0u : 0);
    } else {
      for (int i = 0; i < 32; ++i)
        if (group >> i & 1)
          result[i] = maskOf(a == a[i]) & members;
    }
    put<uint32_t>(registers, op->d, group, result);
  });
  VGPU_NEXT;
}
/// The minimum or maximum of two f32, whose bits are ordered like integers but for the sign.
static uint32_t extremeOfFloats(uint32_t a, uint32_t b, bool isMin, bool propagatesNan) {
  auto isNan = [](uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; };
  auto key = [](uint32_t bits) {
    return static_cast<int32_t>(bits >> 31 ? bits ^ 0x7fffffffu : bits);
  };
  if (isNan(a) || isNan(b))
    return propagatesNan || (isNan(a) && isNan(b)) ? 0x7fffffffu : isNan(a) ? b : a;
  return (key(a) < key(b)) == isMin ? a : b;
}
/// redux. imm: 0 add, 1 min, 2 max, 3 and, 4 or, 5 xor; bit 4: signed; bit 5: f32, 6: .abs, 7:
/// .NaN.
static void reduceWarp(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  VGPU_CONVERGE(m);
  const Lanes<uint32_t> a = get<uint32_t>(registers, op->a);
  eachGroup(registers, op, m, [&](uint32_t, uint32_t group) {
    const uint32_t kept = op->imm & 64 ? 0x7fffffffu : ~0u;
    uint32_t result = a[std::countr_zero(group)] & kept;
    if (op->imm & 32) {
      result = extremeOfFloats(result, result, true, false);
      for (uint32_t rest = group & (group - 1); rest != 0; rest &= rest - 1)
        result = extremeOfFloats(result, a[std::countr_zero(rest)] & kept, (op->imm & 15) == 1,
                                 op->imm & 128);
      put<uint32_t>(registers, op->d, group, Lanes<uint32_t>(result));
      return;
    }
    for (uint32_t rest = group & (group - 1); rest != 0; rest &= rest - 1) {
      const uint32_t value = a[std::countr_zero(rest)];
      const bool isLess = op->imm & 16 ? static_cast<int32_t>(value) < static_cast<int32_t>(result)
                                       : value < result;
      switch (op->imm & 15) {
      case 0:
        result += value;
        break;
      case 1:
        result = isLess ? value : result;
        break;
      case 2:
        result = isLess ? result : value;
        break;
      case 3:
        result &= value;
        break;
      case 4:
        result |= value;
        break;
      default:
        result ^= value;
        break;
      }
    }
    put<uint32_t>(registers, op->d, group, Lanes<uint32_t>(result));
  });
  VGPU_NEXT;
}
static void activeMask(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<uint32_t>(registers, op->d, m, Lanes<uint32_t>(m));
  VGPU_NEXT;
}
/// Elects the lowest lane: d gets its number, predicate e is true in that lane.
static void electLane(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  VGPU_CONVERGE(m);
  eachGroup(registers, op, m, [&](uint32_t members, uint32_t group) {
    const auto leader = static_cast<uint32_t>(std::countr_zero(members ? members : group));
    put<uint32_t>(registers, op->d, group, Lanes<uint32_t>(leader));
    putPredicate(registers, op->e, group, 1u << leader);
  });
  VGPU_NEXT;
}

extern const Run bitsHandlers[] = {
#define VGPU_OP(name, ...) __VA_ARGS__,
#include "tilewright/vgpu/machine/handlers/Bits.def"
#undef VGPU_OP
};

} // namespace tilewright::vgpu::machine::VGPU_ISA
