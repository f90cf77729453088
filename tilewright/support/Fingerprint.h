// Fingerprint: a 128-bit hash of contents.
#ifndef TILEWRIGHT_SUPPORT_FINGERPRINT_H
#define TILEWRIGHT_SUPPORT_FINGERPRINT_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tilewright {

using Fingerprint = std::array<uint8_t, 16>;

/// XXH3 of 128 bits: detects damage and distinguishes contents. Not cryptographic: an attacker can
/// construct collisions.
Fingerprint fingerprintOf(std::span<const std::byte> content);

/// 32 hexadecimal digits.
std::string toString(const Fingerprint &fingerprint);

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_FINGERPRINT_H
