#include "tilewright/transform/schedule/Contents.h"

#include <gtest/gtest.h>

using namespace tilewright::schedule;

namespace {

constexpr int a = 0, b = 0;

TEST(Contents, WritingOverAPartDestroysTheWhole) {
  Contents memory;
  memory.write({0, 0, 64}, &a);
  memory.write({0, 64, 64}, &b);
  memory.write({1, 0, 64}, &a);
  EXPECT_TRUE(memory.holds({0, 0, 64}, &a));
  EXPECT_FALSE(memory.holds({0, 0, 64}, &b));
  EXPECT_FALSE(memory.holds({0, 0, 32}, &a)) << "only whole ranges are read";

  memory.write({0, 60, 8}, &a);

  EXPECT_FALSE(memory.holds({0, 0, 64}, &a));
  EXPECT_FALSE(memory.holds({0, 64, 64}, &b));
  EXPECT_TRUE(memory.holds({0, 60, 8}, &a));
  EXPECT_TRUE(memory.holds({1, 0, 64}, &a)) << "another allocation is other memory";
}

TEST(Contents, NeighboursStay) {
  Contents memory;
  memory.write({0, 0, 64}, &a);
  memory.write({0, 128, 64}, &a);
  memory.write({0, 64, 64}, &b);
  memory.forget({0, 64, 64});
  EXPECT_TRUE(memory.holds({0, 0, 64}, &a));
  EXPECT_TRUE(memory.holds({0, 128, 64}, &a));
  EXPECT_FALSE(memory.holds({0, 64, 64}, &b));
}

TEST(Contents, RollingBackRestoresWhatWasOverwritten) {
  Contents memory;
  memory.write({0, 0, 64}, &a);
  size_t before = memory.mark();
  memory.write({0, 32, 64}, &b);
  memory.write({0, 0, 8}, &b);
  memory.forget({0, 0, 256});
  memory.rollBack(before);
  EXPECT_TRUE(memory.holds({0, 0, 64}, &a));
  EXPECT_FALSE(memory.holds({0, 32, 64}, &b));
}

} // namespace
