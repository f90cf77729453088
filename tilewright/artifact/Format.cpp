#include "tilewright/artifact/Format.h"

#include "tilewright/support/Fingerprint.h"

#include <bit>
#include <cstring>

namespace tilewright::artifact {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

void seal(std::span<std::byte> file) {
  std::array<uint8_t, 16> fingerprint = fingerprintOf(file.subspan(contentAt));
  std::memcpy(file.data() + fingerprintAt, fingerprint.data(), fingerprint.size());
}

} // namespace tilewright::artifact
