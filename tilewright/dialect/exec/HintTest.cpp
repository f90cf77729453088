#include "tilewright/dialect/exec/Hint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::exec {
namespace {

using testing::HasSubstr;

TEST(Hint, ReadsWhatItPrints) {
  const char *const texts[] = {"tile=128x256", "cluster=2x1", "stages=4 warps=8",
                               "tile=64x8 cluster=1x2 stages=2 warps=4 persistent=false",
                               "persistent=true"};
  for (const char *text : texts) {
    std::string why;
    const std::optional<Hint> hint = Hint::parse(text, why);
    ASSERT_TRUE(hint) << text << ": " << why;
    EXPECT_EQ(hint->toString(), text);
    EXPECT_EQ(Hint::parse(hint->toString(), why), hint);
  }
}

TEST(Hint, AcceptsCommasAndAnyOrder) {
  std::string why;
  EXPECT_EQ(Hint::parse(" stages=3,tile=64x128 ", why)->toString(), "tile=64x128 stages=3");
}

TEST(Hint, NamesTheItemThatIsMalformed) {
  const std::pair<const char *, const char *> cases[] = {
      {"tile=128", "'tile=128' does not set tile to rows x columns"},
      {"tile=0x128", "'tile=0x128' does not set tile"},
      {"tile=128x-1", "'tile=128x-1' does not set tile"},
      {"tile=128x128x64", "'tile=128x128x64' does not set tile"},
      {"stages=zero", "'stages=zero' does not set stages to a number of at least 1"},
      {"stages=99999999999999999999", "does not set stages"},
      {"persistent=1", "'persistent=1' does not set persistent to true or false"},
      {"tile=128x128 tyle=64x64", "'tyle=64x64' is not a property of a product"},
      {"", "it is empty"},
  };
  for (auto [text, expected] : cases) {
    std::string why;
    EXPECT_FALSE(Hint::parse(text, why)) << text;
    EXPECT_THAT(why, HasSubstr(expected)) << text;
  }
}

TEST(Hint, TransposesPairs) {
  std::string why;
  EXPECT_EQ(Hint::parse("tile=64x256 cluster=2x1 stages=3", why)->transposed().toString(),
            "tile=256x64 cluster=1x2 stages=3");
}

} // namespace
} // namespace tilewright::exec
