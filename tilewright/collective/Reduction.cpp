#include "tilewright/collective/Reduction.h"
#include "tilewright/numerics/Float.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tilewright::collective {

using numerics::ElementType;

namespace {

template <typename T> T load(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T> void store(std::byte *to, T value) { std::memcpy(to, &value, sizeof(T)); }

// Operations on native types. Integer overflow must wrap, so integers are added as unsigned.
struct Add {
  template <typename T> static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return a + b;
  }
};
struct Multiply {
  template <typename T> static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
  }
};
struct Maximum {
  template <typename T> static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a || b != b)
        return a != a ? a : b;
      if (a == b) // +0 is greater than -0
        return std::signbit(a) ? b : a;
    }
    return a > b ? a : b;
  }
};
struct Minimum {
  template <typename T> static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a || b != b)
        return a != a ? a : b;
      if (a == b)
        return std::signbit(a) ? a : b;
    }
    return a < b ? a : b;
  }
};
struct And {
  template <typename T> static T apply(T a, T b) { return static_cast<T>(a & b); }
};
struct Or {
  template <typename T> static T apply(T a, T b) { return static_cast<T>(a | b); }
};
struct Xor {
  template <typename T> static T apply(T a, T b) { return static_cast<T>(a ^ b); }
};

template <typename Op, typename T>
void combineNative(std::byte *into, const std::byte *from, size_t count) {
  for (size_t i = 0; i < count; ++i, into += sizeof(T), from += sizeof(T))
    store<T>(into, Op::apply(load<T>(into), load<T>(from)));
}

/// Two- and four-bit integers: each is in the low bits of a byte whose other bits are zero.
template <typename Op, unsigned bits, bool isSigned>
void combineNarrow(std::byte *into, const std::byte *from, size_t count) {
  auto widen = [](std::byte b) {
    const int value = static_cast<int>(b) & ((1 << bits) - 1);
    return isSigned && (value >> (bits - 1)) ? value - (1 << bits) : value;
  };
  for (size_t i = 0; i < count; ++i)
    into[i] = static_cast<std::byte>(Op::apply(widen(into[i]), widen(from[i])) & ((1 << bits) - 1));
}

/// Small floats, computed in double: a double represents every product exactly, and for formats of
/// at most 16 bits, rounding the double sum gives the same value as rounding the exact sum once.
template <typename Op, ElementType type>
void combineSmallFloat(std::byte *into, const std::byte *from, size_t count) {
  using Bits =
      std::conditional_t<numerics::storageBytes(type) == 1, uint8_t,
                         std::conditional_t<numerics::storageBytes(type) == 2, uint16_t, uint32_t>>;
  for (size_t i = 0; i < count; ++i, into += sizeof(Bits), from += sizeof(Bits)) {
    const double value = Op::apply(numerics::decode(type, load<Bits>(into)),
                                   numerics::decode(type, load<Bits>(from)));
    store<Bits>(into, static_cast<Bits>(numerics::encode(type, value)));
  }
}

template <typename Op> Combine integerCombine(ElementType type) {
  switch (type) {
  case ElementType::i2:
    return combineNarrow<Op, 2, true>;
  case ElementType::i4:
    return combineNarrow<Op, 4, true>;
  case ElementType::ui2:
    return combineNarrow<Op, 2, false>;
  case ElementType::ui4:
    return combineNarrow<Op, 4, false>;
  case ElementType::i8:
    return combineNative<Op, int8_t>;
  case ElementType::i16:
    return combineNative<Op, int16_t>;
  case ElementType::i32:
    return combineNative<Op, int32_t>;
  case ElementType::i64:
    return combineNative<Op, int64_t>;
  case ElementType::ui8:
    return combineNative<Op, uint8_t>;
  case ElementType::ui16:
    return combineNative<Op, uint16_t>;
  case ElementType::ui32:
    return combineNative<Op, uint32_t>;
  case ElementType::ui64:
    return combineNative<Op, uint64_t>;
  default:
    return nullptr;
  }
}

template <typename Op> Combine realCombine(ElementType type) {
  switch (type) {
  case ElementType::f32:
    return combineNative<Op, float>;
  case ElementType::f64:
    return combineNative<Op, double>;
#define TILEWRIGHT_SMALL_FLOAT(name)                                                               \
  case ElementType::name:                                                                          \
    return combineSmallFloat<Op, ElementType::name>;
    TILEWRIGHT_SMALL_FLOAT(f4E2M1FN)
    TILEWRIGHT_SMALL_FLOAT(f6E2M3FN)
    TILEWRIGHT_SMALL_FLOAT(f6E3M2FN)
    TILEWRIGHT_SMALL_FLOAT(f8E3M4)
    TILEWRIGHT_SMALL_FLOAT(f8E4M3)
    TILEWRIGHT_SMALL_FLOAT(f8E4M3FN)
    TILEWRIGHT_SMALL_FLOAT(f8E4M3FNUZ)
    TILEWRIGHT_SMALL_FLOAT(f8E4M3B11FNUZ)
    TILEWRIGHT_SMALL_FLOAT(f8E5M2)
    TILEWRIGHT_SMALL_FLOAT(f8E5M2FNUZ)
    TILEWRIGHT_SMALL_FLOAT(f8E8M0FNU)
    TILEWRIGHT_SMALL_FLOAT(bf16)
    TILEWRIGHT_SMALL_FLOAT(f16)
    TILEWRIGHT_SMALL_FLOAT(tf32)
#undef TILEWRIGHT_SMALL_FLOAT
  default:
    return nullptr;
  }
}

template <typename Op> Combine complexCombine(ElementType type) {
  if (type == ElementType::c64)
    return combineNative<Op, std::complex<float>>;
  if (type == ElementType::c128)
    return combineNative<Op, std::complex<double>>;
  return nullptr;
}

template <typename Op> Combine numberCombine(ElementType type) {
  if (Combine combine = integerCombine<Op>(type))
    return combine;
  return realCombine<Op>(type);
}

} // namespace

Combine combineFor(ReductionKind operation, ElementType type) {
  if (type == ElementType::pred) {
    // Booleans are 0 and 1; StableHLO defines their sum as bitwise or and their product as bitwise
    // and.
    if (operation == ReductionKind::add || operation == ReductionKind::maximum ||
        operation == ReductionKind::bitOr)
      return combineNative<Or, uint8_t>;
    if (operation == ReductionKind::multiply || operation == ReductionKind::minimum ||
        operation == ReductionKind::bitAnd)
      return combineNative<And, uint8_t>;
    return operation == ReductionKind::bitXor ? combineNative<Xor, uint8_t> : nullptr;
  }
  if (operation == ReductionKind::add)
    return numerics::isComplex(type) ? complexCombine<Add>(type) : numberCombine<Add>(type);
  if (operation == ReductionKind::multiply)
    return numerics::isComplex(type) ? complexCombine<Multiply>(type)
                                     : numberCombine<Multiply>(type);
  if (operation == ReductionKind::maximum)
    return numberCombine<Maximum>(type);
  if (operation == ReductionKind::minimum)
    return numberCombine<Minimum>(type);
  if (operation == ReductionKind::bitAnd)
    return integerCombine<And>(type);
  if (operation == ReductionKind::bitOr)
    return integerCombine<Or>(type);
  if (operation == ReductionKind::bitXor)
    return integerCombine<Xor>(type);
  return nullptr;
}

} // namespace tilewright::collective
