#include "tilewright/runtime/cpu/library/sort/SortKeys.h"

#include "tilewright/numerics/scalar/Scalar.h"
#include "tilewright/runtime/cpu/library/Isa.h"

#include <bit>
#include <limits>
#include <type_traits>

namespace tilewright::runtime::cpu {

int keyBits(ElementType type) {
  if (numerics::isComplex(type))
    return 0;
  switch (type) {
  case ElementType::tf32: // compared by value
    return 64;
  case ElementType::f16:
  case ElementType::bf16:
    return 16;
  case ElementType::f32:
    return 32;
  default:
    break;
  }
  // The remaining reals, which are f64 and formats of at most a byte, and integers of less than a
  // byte.
  if (numerics::isReal(type) || (numerics::bitWidth(type) < 8 && type != ElementType::pred))
    return 64;
  return static_cast<int>(8 * numerics::storageBytes(type));
}

/// Kinds of elements whose bits can be converted to keys directly.
enum class Form : uint8_t { unsignedInteger, signedInteger, real };

/// The sort key of an element with these bits. Bits is the unsigned integer type of the element's
/// width, `infinity` the bit pattern of infinity (for reals). `turn` is all ones for a descending
/// order, otherwise 0.
template <Form form, typename Bits>
static TILEWRIGHT_INLINE Bits keyFrom(Bits bits, Bits infinity, bool byValue, Bits turn) {
  constexpr int top = sizeof(Bits) * 8 - 1;
  constexpr Bits sign = static_cast<Bits>(Bits(1) << top);
  if constexpr (form == Form::signedInteger)
    bits = static_cast<Bits>(bits ^ sign);
  if constexpr (form == Form::real) {
    const Bits magnitude = static_cast<Bits>(bits & ~sign);
    const Bits isNegative = static_cast<Bits>(-static_cast<Bits>(bits >> top));
    Bits key = static_cast<Bits>(bits ^ (isNegative | sign));
    if (byValue) {
      key = magnitude == 0 ? sign : key;
      key = magnitude > infinity ? static_cast<Bits>(~Bits(0)) : key;
    }
    bits = key;
  }
  return static_cast<Bits>(bits ^ turn);
}

template <Form form, typename Bits, typename Key>
static void makeKeysOf(const std::byte *elements, Bits infinity, SortOrder order, int64_t count,
                       Key *keys) {
  const auto *from = reinterpret_cast<const Bits *>(elements);
  const Bits turn = order.descending ? static_cast<Bits>(~Bits(0)) : Bits(0);
  const bool byValue = order.kind == SortOrder::Kind::byValue;
  withVectors([&](auto) TILEWRIGHT_LAMBDA {
    for (int64_t i = 0; i < count; ++i)
      keys[i] = keyFrom<form>(from[i], infinity, byValue, turn);
  });
}

namespace {
/// Calls body<form, Bits>(infinity) for types whose keys are computed from bits; returns false for
/// others.
template <typename Body> bool withForm(ElementType type, Body &&body) {
  using enum Form;
  auto integer = [&]<Form form>() {
    switch (numerics::storageBytes(type)) {
    case 1:
      return body.template operator()<form, uint8_t>(uint8_t(0)), true;
    case 2:
      return body.template operator()<form, uint16_t>(uint16_t(0)), true;
    case 4:
      return body.template operator()<form, uint32_t>(uint32_t(0)), true;
    default:
      return body.template operator()<form, uint64_t>(uint64_t(0)), true;
    }
  };
  switch (type) {
  case ElementType::bf16:
    return body.template operator()<real, uint16_t>(uint16_t(0x7f80)), true;
  case ElementType::f16:
    return body.template operator()<real, uint16_t>(uint16_t(0x7c00)), true;
  case ElementType::f32:
    return body.template operator()<real, uint32_t>(uint32_t(0x7f800000)), true;
  case ElementType::f64:
    return body.template operator()<real, uint64_t>(uint64_t(0x7ff) << 52), true;
  default:
    break;
  }
  if (numerics::bitWidth(type) < 8 && type != ElementType::pred)
    return false;
  if (numerics::isSigned(type))
    return integer.template operator()<signedInteger>();
  if (numerics::isUnsigned(type) || type == ElementType::pred)
    return integer.template operator()<unsignedInteger>();
  return false;
}
} // namespace

template <typename Key>
void makeKeys(ElementType type, SortOrder order, const std::byte *elements, int64_t count,
              Key *keys) {
  const bool isDirect = withForm(type, [&]<Form form, typename Bits>(Bits infinity) {
    if constexpr (sizeof(Bits) <= sizeof(Key))
      makeKeysOf<form>(elements, infinity, order, count, keys);
  });
  if (isDirect)
    return;
  // Convert other reals to double and other integers to 64 bits, which preserves their order.
  if constexpr (sizeof(Key) == 8) {
    const size_t bytes = numerics::storageBytes(type);
    const uint64_t turn = order.descending ? ~uint64_t(0) : 0;
    for (int64_t i = 0; i < count; ++i) {
      const numerics::Scalar element =
          numerics::loadScalar(type, elements + static_cast<size_t>(i) * bytes);
      const double value = element.r;
      if (!numerics::isReal(type)) {
        const uint64_t sign = numerics::isSigned(type) ? uint64_t(1) << 63 : 0;
        keys[i] = element.u ^ sign ^ turn;
        continue;
      }
      keys[i] = keyFrom<Form::real>(std::bit_cast<uint64_t>(value), uint64_t(0x7ff) << 52,
                                    order.kind == SortOrder::Kind::byValue, turn);
    }
  }
}
template void makeKeys(ElementType, SortOrder, const std::byte *, int64_t, uint32_t *);
template void makeKeys(ElementType, SortOrder, const std::byte *, int64_t, uint64_t *);

bool keysAreExact(ElementType type, SortOrder order, const std::byte *elements, int64_t count) {
  if (!numerics::isReal(type) || order.kind == SortOrder::Kind::total)
    return true;
  bool isExact = false;
  withForm(type, [&]<Form form, typename Bits>(Bits infinity) {
    const auto *from = reinterpret_cast<const Bits *>(elements);
    constexpr Bits sign = static_cast<Bits>(Bits(1) << (sizeof(Bits) * 8 - 1));
    withVectors([&](auto) TILEWRIGHT_LAMBDA {
      Bits found = 0;
      for (int64_t i = 0; i < count; ++i) {
        const Bits magnitude = static_cast<Bits>(from[i] & ~sign);
        found |= static_cast<Bits>(from[i] == sign) | static_cast<Bits>(magnitude > infinity);
      }
      isExact = found == 0;
    });
  });
  return isExact;
}

bool canMakeElements(ElementType type) {
  return withForm(type, []<Form form, typename Bits>(Bits) {});
}

template <typename Key>
void makeElements(ElementType type, SortOrder order, const Key *keys, int64_t count,
                  std::byte *elements) {
  withForm(type, [&]<Form form, typename Bits>(Bits) {
    if constexpr (sizeof(Bits) <= sizeof(Key)) {
      constexpr int top = sizeof(Bits) * 8 - 1;
      constexpr Bits sign = static_cast<Bits>(Bits(1) << top);
      auto *to = reinterpret_cast<Bits *>(elements);
      const Bits turn = order.descending ? static_cast<Bits>(~Bits(0)) : Bits(0);
      withVectors([&](auto) TILEWRIGHT_LAMBDA {
        for (int64_t i = 0; i < count; ++i) {
          Bits bits = static_cast<Bits>(static_cast<Bits>(keys[i]) ^ turn);
          if constexpr (form == Form::signedInteger)
            bits = static_cast<Bits>(bits ^ sign);
          if constexpr (form == Form::real) {
            const Bits isPositive = static_cast<Bits>(-static_cast<Bits>(bits >> top));
            bits = static_cast<Bits>(bits ^ (static_cast<Bits>(~isPositive) | sign));
          }
          to[i] = bits;
        }
      });
    }
  });
}
template void makeElements(ElementType, SortOrder, const uint32_t *, int64_t, std::byte *);
template void makeElements(ElementType, SortOrder, const uint64_t *, int64_t, std::byte *);

} // namespace tilewright::runtime::cpu
