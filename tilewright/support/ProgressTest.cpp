#include "tilewright/support/Progress.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <atomic>
#include <sstream>

using namespace tilewright;
using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;

TEST(Progress, LongWorkIsShownAndWiped) {
  std::ostringstream out;
  std::atomic<int> asked = 0;
  {
    Progress progress("reading", [&] { return std::to_string(++asked) + " ops"; }, out, 1ms, 1ms);
    while (asked < 2)
      std::this_thread::sleep_for(1ms);
  }
  EXPECT_THAT(out.str(), HasSubstr("reading  0.0 s  1 ops"));
  EXPECT_THAT(out.str(), EndsWith("\r\033[K"));
}

TEST(Progress, ShortWorkShowsNothing) {
  std::ostringstream out;
  {
    Progress progress("reading", [] { return std::string(); }, out, 1h, 1h);
  }
  EXPECT_EQ(out.str(), "");
}
