#include "tilewright/numerics/PackedElements.h"

#include <gtest/gtest.h>

#include <vector>

namespace tilewright::numerics {
namespace {

std::vector<std::byte> bytesOf(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (unsigned value : values)
    bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::vector<std::byte> packed(ElementType type, const std::vector<std::byte> &elements) {
  const auto count = static_cast<int64_t>(elements.size());
  std::vector<std::byte> bytes(static_cast<size_t>(arrayBytes(type, count)), std::byte(0xAA));
  packElements(type, bytes.data(), elements.data(), count);
  return bytes;
}

TEST(PackedElements, TheFirstElementHasTheLowestBits) {
  EXPECT_EQ(packed(ElementType::ui4, bytesOf({1, 2, 3})), bytesOf({0x21, 0x03}));
  EXPECT_EQ(packed(ElementType::ui2, bytesOf({3, 0, 1, 2, 1})), bytesOf({0b10010011, 1}));
  // Bits 0 to 5, 6 to 11, 12 to 17 and 18 to 23 of three bytes.
  EXPECT_EQ(packed(ElementType::f6E2M3FN, bytesOf({0x3F, 0, 0x3F, 0, 0x21})),
            bytesOf({0x3F, 0xF0, 0x03, 0x21}));
}

TEST(PackedElements, IgnoresHighBitsOfAByte) {
  EXPECT_EQ(packed(ElementType::i4, bytesOf({0xFF, 0xF8})), bytesOf({0x8F}));
}

TEST(PackedElements, TakeTheirBitsRoundedUpToBytes) {
  EXPECT_EQ(arrayBytes(ElementType::i4, 0), 0);
  EXPECT_EQ(arrayBytes(ElementType::i4, 15), 8);
  EXPECT_EQ(arrayBytes(ElementType::ui2, 5), 2);
  EXPECT_EQ(arrayBytes(ElementType::f6E3M2FN, 1), 1);
  EXPECT_EQ(arrayBytes(ElementType::f6E3M2FN, 2), 2);
  EXPECT_EQ(arrayBytes(ElementType::f6E3M2FN, 3), 3);
  EXPECT_EQ(arrayBytes(ElementType::f6E3M2FN, 4), 3);
  EXPECT_EQ(arrayBytes(ElementType::pred, 9), 9);
  EXPECT_EQ(arrayBytes(ElementType::c128, 2), 32);
}

TEST(PackedElements, UnpackingIsTheInverse) {
  for (ElementType type :
       {ElementType::i2, ElementType::ui2, ElementType::i4, ElementType::ui4, ElementType::f4E2M1FN,
        ElementType::f6E2M3FN, ElementType::f6E3M2FN, ElementType::pred, ElementType::i8}) {
    for (int64_t count = 0; count < 40; ++count) {
      std::vector<std::byte> elements(static_cast<size_t>(count));
      for (size_t i = 0; i < elements.size(); ++i)
        elements[i] = static_cast<std::byte>((i * 37 + 11) & ((1u << bitWidth(type)) - 1));
      const std::vector<std::byte> bytes = packed(type, elements);
      std::vector<std::byte> back(elements.size(), std::byte(0xAA));
      unpackElements(type, back.data(), bytes.data(), count);
      EXPECT_EQ(back, elements) << spelling(type) << " " << count;
    }
  }
}

} // namespace
} // namespace tilewright::numerics
