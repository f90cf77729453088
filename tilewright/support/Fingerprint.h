// Fingerprint: 128 bits that tell contents apart.
#ifndef TILEWRIGHT_SUPPORT_FINGERPRINT_H
#define TILEWRIGHT_SUPPORT_FINGERPRINT_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tilewright {

using Fingerprint = std::array<uint8_t, 16>;

/// Finds damage and tells contents apart. Not a defence against somebody who wants two contents to
/// look the same.
Fingerprint fingerprintOf(std::span<const std::byte> content);

/// 32 hexadecimal digits.
std::string toString(const Fingerprint &fingerprint);

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_FINGERPRINT_H
