// Format: the binary layout of an executable.
//
//   0   magic       8 bytes
//   8   version     u32
//   12  sections    u32, always 7
//   16  fingerprint 16 bytes, of everything from byte 32 on
//   32  size        u64, of the whole file
//   40  table       for each section: number u32, zero u32, offset u64, size u64
//   208 sections in the order of Section, each at the next multiple of 64, gaps zero
//
// Header fields are little endian. Within sections numbers are LEB128, signed ones zigzag-encoded;
// a string or list is its count and then its items, in the order of Fields.h. Constants, binary and
// communication are raw bytes.
#ifndef TILEWRIGHT_ARTIFACT_FORMAT_H
#define TILEWRIGHT_ARTIFACT_FORMAT_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright::artifact {

/// The first byte is not ASCII, so that the file is not taken for text. A text-mode copy damages
/// the last three bytes, so the reader detects it.
inline constexpr std::string_view magic("\xF5TWX\r\n\x1A\n", 8);
/// Increase with every change of Fields.h. A reader accepts only its own version, because an
/// executable can always be recompiled from the program.
inline constexpr uint32_t formatVersion = 9;

enum class Section : uint32_t {
  signature = 1,
  plan,
  constants,
  objects,
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

/// Computes the fingerprint of a file and stores it in the header. The file must have at least
/// contentAt bytes.
void seal(std::span<std::byte> file);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_FORMAT_H
