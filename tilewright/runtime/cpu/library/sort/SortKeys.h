// Sort keys: unsigned integers in the same order as the elements.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_SORT_SORTKEYS_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_SORT_SORTKEYS_H

#include "tilewright/numerics/ElementType.h"

#include <cstddef>
#include <cstdint>

namespace tilewright::runtime::cpu {

using numerics::ElementType;

/// How two elements compare.
struct SortOrder {
  /// byValue: zeros of both signs are equal, and so are all NaNs, which are the greatest. total:
  /// IEEE-754 totalOrder, by the bits.
  enum class Kind : uint8_t { byValue, total } kind = Kind::byValue;
  bool descending = false;
};

/// Bits of a key: 8, 16, 32 or 64. Zero for types without an order.
int keyBits(ElementType type);

/// Computes the key of each element, ascending in the requested order. Keys have keyBits(type)
/// bits; Key is uint32_t or uint64_t and must be wide enough.
template <typename Key>
void makeKeys(ElementType type, SortOrder order, const std::byte *elements, int64_t count,
              Key *keys);

/// Whether equal keys imply equal bytes for all of these elements, so that a sort can move only
/// keys and convert them back to elements.
bool keysAreExact(ElementType type, SortOrder order, const std::byte *elements, int64_t count);

/// The inverse of makeKeys, for types of keyBits 8, 16 or 32 whose storage is as wide, and for 64
/// bits; works in place if `keys` and `elements` are the same memory and elements have 32 or 64
/// bits.
bool canMakeElements(ElementType type);
template <typename Key>
void makeElements(ElementType type, SortOrder order, const Key *keys, int64_t count,
                  std::byte *elements);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_SORT_SORTKEYS_H
