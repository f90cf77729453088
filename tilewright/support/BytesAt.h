// Reads of untrusted bytes at an offset, checked against their end.
#ifndef TILEWRIGHT_SUPPORT_BYTESAT_H
#define TILEWRIGHT_SUPPORT_BYTESAT_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace tilewright {

/// `size` bytes at `offset`; nullopt if they go beyond the end of `bytes`.
inline std::optional<std::span<const std::byte>> bytesAt(std::span<const std::byte> bytes,
                                                         uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset)
    return std::nullopt;
  return bytes.subspan(offset, size);
}

/// The value of type `T` at `offset`, which need not be aligned; nullopt if it goes beyond the end.
template <typename T> std::optional<T> valueAt(std::span<const std::byte> bytes, uint64_t offset) {
  const auto found = bytesAt(bytes, offset, sizeof(T));
  if (!found)
    return std::nullopt;
  T value;
  std::memcpy(&value, found->data(), sizeof(T));
  return value;
}

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_BYTESAT_H
