// The element types of StableHLO 1.20, as one enum for the compiler and the runtime.
#ifndef TILEWRIGHT_NUMERICS_ELEMENTTYPE_H
#define TILEWRIGHT_NUMERICS_ELEMENTTYPE_H

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace tilewright::numerics {

/// The type of one element of a tensor. ElementTypes.def lists all types with their properties.
enum class ElementType : uint8_t {
#define TILEWRIGHT_ELEMENT_TYPE(name, spelling, kind, bits) name,
#include "tilewright/numerics/ElementTypes.def"
};

enum class ElementKind : uint8_t { boolean, signedInteger, unsignedInteger, real, complex };

namespace detail {
struct ElementRow {
  std::string_view spelling;
  ElementKind kind;
  uint8_t bits;
};
inline constexpr ElementRow elementRows[] = {
#define TILEWRIGHT_ELEMENT_TYPE(name, spelling, kind, bits) {spelling, ElementKind::kind, bits},
#include "tilewright/numerics/ElementTypes.def"
};
} // namespace detail

inline constexpr size_t elementTypeCount = std::size(detail::elementRows);

constexpr ElementKind kindOf(ElementType type) {
  return detail::elementRows[static_cast<size_t>(type)].kind;
}
/// Bits of information in one element: 1 for pred, 4 for f4E2M1FN, 64 for complex<f32>.
constexpr unsigned bitWidth(ElementType type) {
  return detail::elementRows[static_cast<size_t>(type)].bits;
}
/// Bytes that one element takes in our tensors. A sub-byte element takes one byte with the value in
/// its low bits, as in portable artifacts; tf32 takes four bytes.
constexpr size_t storageBytes(ElementType type) { return (bitWidth(type) + 7) / 8; }

/// As MLIR prints it: "ui8", "f8E4M3FN", "complex<f32>".
constexpr std::string_view spelling(ElementType type) {
  return detail::elementRows[static_cast<size_t>(type)].spelling;
}
/// The integer type of this width: pred for 1, nullopt if there is none.
std::optional<ElementType> integerOfWidth(unsigned width, bool isUnsigned);
/// The unsigned integer for the bits of an element: pred for pred, ui64 if no integer has the
/// width.
ElementType unsignedOf(ElementType type);

/// The inverse of spelling().
std::optional<ElementType> elementTypeNamed(std::string_view spelling);

constexpr bool isReal(ElementType type) { return kindOf(type) == ElementKind::real; }
constexpr bool isComplex(ElementType type) { return kindOf(type) == ElementKind::complex; }
constexpr bool isSigned(ElementType type) { return kindOf(type) == ElementKind::signedInteger; }
constexpr bool isUnsigned(ElementType type) { return kindOf(type) == ElementKind::unsignedInteger; }
constexpr bool isInteger(ElementType type) { return isSigned(type) || isUnsigned(type); }

/// The real type of one component: f32 for complex<f32>, itself for a real type.
constexpr ElementType componentOf(ElementType type) {
  return type == ElementType::c64    ? ElementType::f32
         : type == ElementType::c128 ? ElementType::f64
                                     : type;
}

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_ELEMENTTYPE_H
