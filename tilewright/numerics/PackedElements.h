// Packed elements: how arrays of 2, 4 and 6-bit elements are laid out in memory.
#ifndef TILEWRIGHT_NUMERICS_PACKEDELEMENTS_H
#define TILEWRIGHT_NUMERICS_PACKEDELEMENTS_H

#include "tilewright/numerics/ElementType.h"

#include <cstddef>
#include <cstdint>

namespace tilewright::numerics {

/// Whether arrays of this type are packed in memory: element i of the row-major order has bits
/// [i * bits, (i + 1) * bits) of the array, counted from the lowest bit of the first byte. The
/// unused bits of the last byte are zero. pred is not packed.
constexpr bool isPacked(ElementType type) { return bitWidth(type) > 1 && bitWidth(type) < 8; }

/// The smallest number of elements that take whole bytes, and these bytes: 2 elements of 4 bits in
/// 1 byte, 4 elements of 6 bits in 3 bytes.
struct PackedGroup {
  int64_t elements, bytes;
};
constexpr PackedGroup packedGroup(unsigned bits) {
  return bits == 6 ? PackedGroup{4, 3} : PackedGroup{8 / static_cast<int64_t>(bits), 1};
}

/// The bytes of `count` elements of `bits` bits, packed.
constexpr int64_t packedBytes(unsigned bits, int64_t count) {
  const PackedGroup group = packedGroup(bits);
  const int64_t rest = count % group.elements;
  return count / group.elements * group.bytes + (rest * static_cast<int64_t>(bits) + 7) / 8;
}

/// The bytes of an array of `count` elements in a buffer of the runtime: packed if the type is,
/// otherwise storageBytes(type) each.
constexpr int64_t arrayBytes(ElementType type, int64_t count) {
  return isPacked(type) ? packedBytes(bitWidth(type), count)
                        : count * static_cast<int64_t>(storageBytes(type));
}

/// Packs `count` elements, one in the low bits of each byte of `from`; ignores the high bits. The
/// arrays must not overlap.
void packElements(ElementType type, std::byte *to, const std::byte *from, int64_t count);
/// The inverse of packElements(). The high bits of a byte of `to` are zero, as in the evaluator's
/// tensors.
void unpackElements(ElementType type, std::byte *to, const std::byte *from, int64_t count);

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_PACKEDELEMENTS_H
