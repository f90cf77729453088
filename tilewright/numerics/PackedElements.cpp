#include "tilewright/numerics/PackedElements.h"

#include <algorithm>

namespace tilewright::numerics {
namespace {

/// One group of elements: `count` of them, fewer than group.elements only at the end of an array.
template <unsigned bits>
void packGroup(std::byte *to, const std::byte *from, int64_t count, int64_t bytes) {
  uint32_t word = 0;
  for (int64_t i = 0; i < count; ++i)
    word |= (std::to_integer<uint32_t>(from[i]) & ((1u << bits) - 1)) << (i * bits);
  for (int64_t i = 0; i < bytes; ++i)
    to[i] = static_cast<std::byte>(word >> (i * 8));
}

template <unsigned bits>
void unpackGroup(std::byte *to, const std::byte *from, int64_t count, int64_t bytes) {
  uint32_t word = 0;
  for (int64_t i = 0; i < bytes; ++i)
    word |= std::to_integer<uint32_t>(from[i]) << (i * 8);
  for (int64_t i = 0; i < count; ++i)
    to[i] = static_cast<std::byte>(word >> (i * bits) & ((1u << bits) - 1));
}

template <unsigned bits> void pack(std::byte *to, const std::byte *from, int64_t count) {
  constexpr PackedGroup group = packedGroup(bits);
  const int64_t whole = count / group.elements;
  for (int64_t i = 0; i < whole; ++i) // constant sizes, so that the compiler unrolls the group
    packGroup<bits>(to + i * group.bytes, from + i * group.elements, group.elements, group.bytes);
  const int64_t rest = count - whole * group.elements;
  packGroup<bits>(to + whole * group.bytes, from + whole * group.elements, rest,
                  packedBytes(bits, rest));
}

template <unsigned bits> void unpack(std::byte *to, const std::byte *from, int64_t count) {
  constexpr PackedGroup group = packedGroup(bits);
  const int64_t whole = count / group.elements;
  for (int64_t i = 0; i < whole; ++i)
    unpackGroup<bits>(to + i * group.elements, from + i * group.bytes, group.elements, group.bytes);
  const int64_t rest = count - whole * group.elements;
  unpackGroup<bits>(to + whole * group.elements, from + whole * group.bytes, rest,
                    packedBytes(bits, rest));
}

} // namespace

void packElements(ElementType type, std::byte *to, const std::byte *from, int64_t count) {
  switch (bitWidth(type)) {
  case 2:
    return pack<2>(to, from, count);
  case 4:
    return pack<4>(to, from, count);
  case 6:
    return pack<6>(to, from, count);
  default:
    std::copy_n(from, arrayBytes(type, count), to);
  }
}

void unpackElements(ElementType type, std::byte *to, const std::byte *from, int64_t count) {
  switch (bitWidth(type)) {
  case 2:
    return unpack<2>(to, from, count);
  case 4:
    return unpack<4>(to, from, count);
  case 6:
    return unpack<6>(to, from, count);
  default:
    std::copy_n(from, arrayBytes(type, count), to);
  }
}

} // namespace tilewright::numerics
