#include "tilewright/support/WorkLimit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

using namespace tilewright;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

namespace {

std::shared_ptr<WorkLimit> limited(WorkLimit::Amounts amounts) {
  return std::make_shared<WorkLimit>(amounts);
}

/// Waits until the limit of this thread is reached, for at most `timeout`. Returns whether it was.
bool stopsWithin(std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (!WorkLimit::mustStop() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(1ms);
  return WorkLimit::mustStop();
}

TEST(WorkLimit, WithoutALimitWorkGoesOn) {
  EXPECT_FALSE(WorkLimit::mustStop());
  EXPECT_EQ(WorkLimit::current(), nullptr);
  auto none = limited({});
  WorkLimit::Scope scope(none);
  EXPECT_FALSE(stopsWithin(30ms));
}

TEST(WorkLimit, TheDeadlineNamesStagePlaceAndOption) {
  auto limit = limited({.seconds = 0.05});
  WorkLimit::Scope scope(limit);
  EXPECT_FALSE(WorkLimit::mustStop());
  limit->noteStop("an op before the deadline");
  limit->enter("simplify");
  ASSERT_TRUE(stopsWithin(5000ms));

  EXPECT_EQ(WorkLimit::stopAt("the op 'stablehlo.add'").code(), Code::cancelled);
  limit->noteStop("an op that only found out");

  Status status = limit->status();
  EXPECT_EQ(status.error(), Error::compileDeadline);
  EXPECT_EQ(status.code(), Code::deadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr("in stage 'simplify', at the op 'stablehlo.add'"));
  EXPECT_THAT(status.message(), HasSubstr("raise compile.max-seconds"));
  EXPECT_THAT(status.message(), Not(HasSubstr("found out")));
}

TEST(WorkLimit, MemoryThatGrowsIsFound) {
  auto limit = limited({.bytes = int64_t(32) << 20});
  WorkLimit::Scope scope(limit);
  EXPECT_FALSE(stopsWithin(30ms));
  std::vector<char> memory(size_t(64) << 20);
  std::memset(memory.data(), 1, memory.size());
  ASSERT_TRUE(stopsWithin(5000ms));
  Status status = limit->status();
  EXPECT_EQ(status.error(), Error::compileMemory);
  EXPECT_EQ(status.code(), Code::resourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("compile.max-memory (32 MiB)"));
}

TEST(WorkLimit, AThreadThatHelpsTakesAScope) {
  auto limit = limited({.seconds = 0.01});
  WorkLimit::Scope scope(limit);
  ASSERT_TRUE(stopsWithin(5000ms));
  bool without = true, with = false;
  std::thread([&] {
    without = WorkLimit::mustStop();
    WorkLimit::Scope inner(limit);
    with = WorkLimit::mustStop();
  }).join();
  EXPECT_FALSE(without);
  EXPECT_TRUE(with);
}

TEST(WorkLimit, ScopesNest) {
  auto outer = limited({}), inner = limited({});
  WorkLimit::Scope one(outer);
  {
    WorkLimit::Scope two(inner);
    EXPECT_EQ(WorkLimit::current(), inner.get());
  }
  EXPECT_EQ(WorkLimit::current(), outer.get());
}

TEST(FinishesInTime, WithoutALimitItRunsOnTheCallersThread) {
  std::thread::id ranOn;
  EXPECT_TRUE(finishesInTime([&] { ranOn = std::this_thread::get_id(); }));
  EXPECT_EQ(ranOn, std::this_thread::get_id());
}

TEST(FinishesInTime, WhatEndsInTimeIsWaitedFor) {
  WorkLimit::Scope scope(limited({.seconds = 60}));
  auto seesLimit = std::make_shared<bool>(false);
  EXPECT_TRUE(finishesInTime([=] {
    std::this_thread::sleep_for(20ms);
    *seesLimit = WorkLimit::current() != nullptr;
  }));
  EXPECT_TRUE(*seesLimit);
  EXPECT_EQ(leftAlone(), 0);
}

/// Work that does not check the limit continues after the limit is destroyed, with the data that it
/// owns.
TEST(FinishesInTime, WhatCannotBeInterruptedIsLeftAlone) {
  auto result = std::make_shared<std::atomic<int>>(0);
  std::weak_ptr<std::atomic<int>> owned = result;
  auto mayEnd = std::make_shared<std::atomic<bool>>(false);
  {
    WorkLimit::Scope scope(limited({.seconds = 0.05}));
    EXPECT_FALSE(finishesInTime([result = std::move(result), mayEnd] {
      while (!*mayEnd)
        std::this_thread::sleep_for(5ms);
      *result = WorkLimit::mustStop() ? 1 : 2;
    }));
  }
  EXPECT_EQ(leftAlone(), 1);
  EXPECT_FALSE(owned.expired());
  *mayEnd = true;
  while (leftAlone() > 0)
    std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(owned.expired());
}

/// Work that checks the limit itself is waited for.
TEST(FinishesInTime, WhatNoticesIsWaitedFor) {
  WorkLimit::Scope scope(limited({.seconds = 0.05}));
  EXPECT_FALSE(finishesInTime([] {
    while (!WorkLimit::mustStop())
      std::this_thread::sleep_for(5ms);
  }));
  EXPECT_EQ(leftAlone(), 0);
}

} // namespace
