#include "tilewright/support/Fingerprint.h"

#include <gtest/gtest.h>

#include <string_view>

namespace tilewright {
namespace {

std::string of(std::string_view text) {
  return toString(fingerprintOf(std::as_bytes(std::span(text))));
}

/// Values that `xxhsum -H2` prints: files written by one version must be readable by the next.
TEST(Fingerprint, IsXxh3Of128Bits) {
  EXPECT_EQ(of(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(of("tilewright"), "f36fc683e25cd4b5f5e0a0c63469c4df");
  EXPECT_EQ(of(std::string(1000, 'x')), "50a1af5a5f2dcf01c0a4877b962cba82");
}

} // namespace
} // namespace tilewright
