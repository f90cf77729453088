// The StableHLO version that a portable artifact is written for.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_VERSION_H
#define TILEWRIGHT_IMPORT_BYTECODE_VERSION_H

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::bytecode {

/// Major and minor determine what an artifact may contain; the patch number never does, so it is
/// not stored.
struct Version {
  uint16_t major = 0;
  uint16_t minor = 0;

  auto operator<=>(const Version &) const = default;

  /// "1.20".
  std::string toString() const { return std::to_string(major) + "." + std::to_string(minor); }
  /// Parses "1.20" or "1.20.0"; nullopt for any other text.
  static std::optional<Version> parse(std::string_view text);
};

inline constexpr Version oldestVersion{0, 9};
inline constexpr Version newestVersion{1, 20};

/// The MLIR bytecode version that StableHLO uses for `version`: 0 to 6.
unsigned bytecodeVersionFor(Version version);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_VERSION_H
