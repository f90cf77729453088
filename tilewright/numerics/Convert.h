// Converts buffers of elements between types, as StableHLO's `convert` defines.
#ifndef TILEWRIGHT_NUMERICS_CONVERT_H
#define TILEWRIGHT_NUMERICS_CONVERT_H

#include "tilewright/numerics/ElementType.h"

#include <cstddef>

namespace tilewright::numerics {

/// Converts `count` elements. Elements are stored as in Tensors: storageBytes() each, sub-byte
/// values in the low bits of their byte, with any alignment. `src` and `dst` may be equal if the
/// element sizes are equal; otherwise the buffers must not overlap.
///
///   real → real       rounded once, as encode() in Float.h
///   integer → real    rounded once, also from 64 bits
///   real → integer    toward zero, clamped to the range, NaN becomes 0
///   integer → integer modulo 2^bits
///   anything → pred   true unless zero; NaN is true
///   complex → other   the real part; other → complex has imaginary part 0
///
/// Bits above a sub-byte value are ignored when read and zero when written.
void convert(ElementType from, const std::byte *src, ElementType to, std::byte *dst, size_t count);

/// The values of `count` elements of a real type.
void decode(ElementType from, const std::byte *src, double *dst, size_t count);

/// Rounds `count` values to a real type, as encode() in Float.h does.
void encode(ElementType to, const double *src, std::byte *dst, size_t count);

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_CONVERT_H
