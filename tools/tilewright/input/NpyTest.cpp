#include "tools/tilewright/input/Npy.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::numerics;
using namespace tilewright::tools;
using testing::ElementsAre;
using testing::HasSubstr;

static std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text));
}

TEST(Npy, HeaderReadsBack) {
  for (auto dims : std::vector<std::vector<int64_t>>{{}, {3}, {2, 0, 5}}) {
    Shape shape = *Shape::create(dims);
    std::string file = npyHeader(ElementType::c64, shape);
    EXPECT_EQ(file.size() % 64, 0u);
    file += "xyz";
    Result<NpyArray> array = parseNpy(bytesOf(file));
    ASSERT_TRUE(array.isOk());
    EXPECT_EQ(array->descriptor, "<c8");
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(array->elements.size(), 3u);
  }
}

TEST(Npy, RawBytesMatchSmallTypesOfTheirSize) {
  EXPECT_TRUE(matches("<V2", ElementType::bf16));
  EXPECT_TRUE(matches("|V1", ElementType::f8E4M3FN));
  EXPECT_TRUE(matches("|V1", ElementType::i4));
  EXPECT_FALSE(matches("|V1", ElementType::bf16));
  EXPECT_FALSE(matches("<f4", ElementType::i32));
  EXPECT_TRUE(matches("|b1", ElementType::pred));
  EXPECT_TRUE(matches("<f1", ElementType::f8E5M2));
  EXPECT_FALSE(matches("<f1", ElementType::f8E4M3FN));
}

/// Error::npyMalformed
TEST(Npy, EveryPrefixIsRefusedWithoutReadingPastIt) {
  std::string file = npyHeader(ElementType::f32, *Shape::create({2, 3}));
  for (size_t size = 0; size < file.size(); ++size) {
    std::string prefix = file.substr(0, size);
    EXPECT_EQ(parseNpy(bytesOf(prefix)).takeStatus().error(), Error::npyMalformed) << size;
  }
}

TEST(Npy, ShapeThatOverflowsIsRefused) {
  std::string file = npyHeader(ElementType::f32, *Shape::create({1234567890, 2}));
  size_t at = file.find("1234567890, 2");
  file.replace(at, 13, "9e18999999999");
  EXPECT_FALSE(parseNpy(bytesOf(file)).isOk());
  file.replace(at, 13, "4294967296,4294967296");
  EXPECT_THAT(parseNpy(bytesOf(file)).takeStatus().message(), HasSubstr("elements"));
}

TEST(Npy, ColumnMajorSaysWhatToSaveInstead) {
  std::string file = npyHeader(ElementType::f32, *Shape::create({2, 3}));
  file.replace(file.find("False"), 5, "True ");
  EXPECT_THAT(parseNpy(bytesOf(file)).takeStatus().message(), HasSubstr("ascontiguousarray"));
}
