// Format: where things are in the bytes of an executable.
//
//   0   magic       8 bytes
//   8   version     u32
//   12  sections    u32, always 7
//   16  fingerprint 16 bytes, of everything from byte 32 on
//   32  size        u64, of the whole file
//   40  table       for each section: number u32, zero u32, offset u64, size u64
//   208 sections in the order of Section, each at the next multiple of 64, gaps zero
//
// Numbers of the header are little endian. Within sections a number is LEB128,
// a signed one zigzag; a string or list is its count and then its items, in the
// order of Fields.h. Constants, object, binary and communication are as they are.
#ifndef TILEWRIGHT_ARTIFACT_FORMAT_H
#define TILEWRIGHT_ARTIFACT_FORMAT_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright::artifact {

/// The first byte is no text, and a copy in text mode damages the last three.
inline constexpr std::string_view magic("\xF5TWX\r\n\x1A\n", 8);
/// Raised by every change of Fields.h; a reader reads its own version only,
/// because an executable can always be made again from the program.
inline constexpr uint32_t formatVersion = 3;

enum class Section : uint32_t {
  signature = 1,
  plan,
  constants,
  object,
  statistics,
  binary,
  communication
};
inline constexpr uint32_t sectionCount = 7;

inline constexpr size_t versionAt = 8, sectionCountAt = 12, fingerprintAt = 16, contentAt = 32,
                        sizeAt = 32, tableAt = 40, tableEntryBytes = 24;
inline constexpr size_t headerBytes = tableAt + sectionCount * tableEntryBytes;
inline constexpr size_t sectionAlignment = 64;

constexpr uint64_t alignedToSection(uint64_t offset) {
  return (offset + sectionAlignment - 1) / sectionAlignment * sectionAlignment;
}

/// Writes the fingerprint of what follows it into a file of at least contentAt bytes.
void seal(std::span<std::byte> file);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_FORMAT_H
