#include "tilewright/collective/ucx/Arrivals.h"

#include <gtest/gtest.h>

namespace tilewright::collective::ucx {
namespace {

TEST(Arrivals, LaterOnesDoNotStandForEarlierOnes) {
  Arrivals arrivals;
  for (uint64_t number : {0, 2, 3, 5, 6})
    arrivals.add(number);
  EXPECT_TRUE(arrivals.haveAllUpTo(0));
  EXPECT_FALSE(arrivals.haveAllUpTo(1));
  EXPECT_FALSE(arrivals.haveAllUpTo(2)); // five have arrived, but not number 1
  arrivals.add(1);
  EXPECT_TRUE(arrivals.haveAllUpTo(3));
  EXPECT_FALSE(arrivals.haveAllUpTo(5));
  arrivals.add(4);
  EXPECT_TRUE(arrivals.haveAllUpTo(6));
  EXPECT_FALSE(arrivals.haveAllUpTo(7));
}

} // namespace
} // namespace tilewright::collective::ucx
