#include "tilewright/support/Fingerprint.h"

#include "tilewright/support/text/Hex.h"

#include <cstring>

// Compiled into this file, so that installations do not need libxxhash.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tilewright {

Fingerprint fingerprintOf(std::span<const std::byte> content) {
  // The canonical form is the same on all machines.
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(content.data(), content.size()));
  Fingerprint result;
  static_assert(sizeof canonical.digest == sizeof result);
  std::memcpy(result.data(), canonical.digest, sizeof result);
  return result;
}

std::string toString(const Fingerprint &fingerprint) {
  return hexOf(std::as_bytes(std::span(fingerprint)));
}

} // namespace tilewright
