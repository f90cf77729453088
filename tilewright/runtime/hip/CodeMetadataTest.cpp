#include "tilewright/runtime/hip/CodeMetadata.h"
#include "tilewright/runtime/hip/testing/HipKit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::runtime::hip {
namespace {

using ::testing::ElementsAre;

std::string objectOf(const std::string &chip) {
  const std::vector<std::byte> &bytes = testObject(chip);
  return std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

TEST(CodeMetadata, HasTheParametersWithoutHiddenOnes) {
  for (const char *chip : {"gfx942", "gfx950"}) {
    std::optional<KernelParameters> kernels = kernelParametersOf(objectOf(chip));
    ASSERT_TRUE(kernels) << chip;
    EXPECT_EQ(kernels->size(), 8u);
    EXPECT_THAT(kernels->at("add"), ElementsAre(8, 8, 8));
    EXPECT_THAT(kernels->at("sum"), ElementsAre(8, 8));
  }
}

/// Every prefix, and every byte replaced: nothing is read outside of the bytes (under the address
/// sanitizer, in a block of exactly that size).
TEST(CodeMetadata, DamagedObjectsAreHarmless) {
  const std::string whole = objectOf("gfx950");
  const size_t most = std::min<size_t>(whole.size(), 4096); // headers and note come first
  size_t unreadable = 0;
  for (size_t size = 0; size < most; size += 3)
    unreadable += !kernelParametersOf(std::string(whole, 0, size));
  EXPECT_GT(unreadable, 0u);
  for (size_t at = 0; at < most; ++at)
    for (char value : {char(0), char(0xff), char(0x9f), char(0xdf)}) {
      std::string damaged(whole, 0, most);
      damaged[at] = value;
      kernelParametersOf(damaged);
    }
  EXPECT_FALSE(kernelParametersOf(""));
  EXPECT_FALSE(kernelParametersOf(std::string(64, '\0')));
}

} // namespace
} // namespace tilewright::runtime::hip
