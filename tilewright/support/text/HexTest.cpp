#include "tilewright/support/text/Hex.h"

#include "gtest/gtest.h"

#include <array>

using namespace tilewright;

TEST(Hex, DigitsHaveAWidth) {
  EXPECT_EQ(hexDigits(0x1aF, 2), "af");
  EXPECT_EQ(hexDigits(0x1aF, 6), "0001af");
  EXPECT_EQ(hexDigits(0x1aF, 8, HexCase::upper), "000001AF");
  EXPECT_EQ(hexDigits(~uint64_t(0), 16), "ffffffffffffffff");
  EXPECT_EQ(hexDigits(1, 20), "00000000000000000001");
}

TEST(Hex, NumbersHaveNoLeadingZeros) {
  EXPECT_EQ(hexNumber(0), "0x0");
  EXPECT_EQ(hexNumber(15), "0xf");
  EXPECT_EQ(hexNumber(16), "0x10");
  EXPECT_EQ(hexNumber(~uint64_t(0)), "0xffffffffffffffff");
}

TEST(Hex, BytesHaveTwoDigits) {
  const std::array bytes = {std::byte(0), std::byte(0x7F), std::byte(0xA0)};
  EXPECT_EQ(hexOf(bytes), "007fa0");
  EXPECT_EQ(hexOf({}), "");
}
