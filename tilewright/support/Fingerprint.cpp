#include "tilewright/support/Fingerprint.h"

#include "tilewright/support/Hex.h"

#include <bit>
#include <cstring>

namespace tilewright {

// Odd numbers with about as many ones as zeros.
static constexpr uint64_t keys[4] = {0xB5297A4D3F84D5B5, 0x68E31DA4C2B9F16D, 0x1B56C4E972AD3A8F,
                                     0x9E6C63D0A57B1D4B};

/// Combines both halves of the product of two numbers that depend on the data, so that each input
/// bit can affect any bit of the result.
static uint64_t mix(uint64_t a, uint64_t b) {
  auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

Fingerprint fingerprintOf(std::span<const std::byte> content) {
  // Four independent chains, so that multiplications overlap: within a chain, each depends on the
  // previous one.
  uint64_t lanes[4] = {keys[0], keys[1], keys[2], keys[3]};
  auto consume = [&lanes](const std::byte *block) {
    uint64_t words[8];
    std::memcpy(words, block, sizeof words);
    for (int lane = 0; lane < 4; ++lane)
      lanes[lane] = mix(lanes[lane] ^ words[2 * lane], keys[lane] ^ words[2 * lane + 1]) +
                    std::rotl(words[2 * lane] + lanes[lane], 29);
  };
  size_t at = 0;
  for (; at + 64 <= content.size(); at += 64)
    consume(content.data() + at);
  std::byte last[64] = {};
  if (at < content.size()) // an empty content may have no address
    std::memcpy(last, content.data() + at, content.size() - at);
  consume(last);

  uint64_t size = content.size();
  uint64_t low =
      mix(lanes[0] ^ size, keys[1] ^ lanes[1]) ^ mix(lanes[2] ^ keys[3], lanes[3] + size);
  uint64_t high =
      mix(lanes[1] ^ keys[2], lanes[2] ^ size) + mix(lanes[3] ^ keys[0], lanes[0] ^ low);
  Fingerprint result;
  std::memcpy(result.data(), &low, 8);
  std::memcpy(result.data() + 8, &high, 8);
  return result;
}

std::string toString(const Fingerprint &fingerprint) {
  return hexOf(std::as_bytes(std::span(fingerprint)));
}

} // namespace tilewright
