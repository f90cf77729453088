// MessagePack, the format of the metadata in AMD's code objects.
#ifndef TILEWRIGHT_VGPU_AMDGCN_MESSAGEPACK_H
#define TILEWRIGHT_VGPU_AMDGCN_MESSAGEPACK_H

#include "tilewright/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright::vgpu::amdgcn {

/// A value of a document. Strings are views into the bytes that were read.
struct PackedValue {
  enum class Kind : uint8_t { nil, boolean, integer, real, string, array, map };
  Kind kind = Kind::nil;
  int64_t integer = 0; // booleans, too
  double real = 0;
  std::string_view string;           // binary data, too
  std::vector<PackedValue> elements; // of a map: key, value, key, value, …

  /// The value of a key of a map; null if there is none, or if this is not a map.
  const PackedValue *find(std::string_view key) const;
  /// The integer, string or elements for a key; zero or empty if the key is absent.
  int64_t integerOf(std::string_view key) const;
  std::string_view stringOf(std::string_view key) const;
  std::span<const PackedValue> elementsOf(std::string_view key) const;
};

/// Reads one document, which must take up all bytes. The bytes must outlive the value.
///  - vgpuBinary: the bytes end too early, go on after the value, or are nested too deeply.
Result<PackedValue> readMessagePack(std::span<const std::byte> bytes);

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_MESSAGEPACK_H
