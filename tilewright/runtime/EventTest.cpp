#include "tilewright/runtime/Event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tilewright::runtime {
namespace {

using namespace std::chrono_literals;

Status broken() { return Status(Code::internal, "broken"); }

TEST(Event, OneThatHasHappenedCallsAtOnce) {
  Event event;
  int calls = 0;
  event.onReady([&](const Status &status) {
    EXPECT_TRUE(status.isOk());
    ++calls;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(event.isReady());
  EXPECT_TRUE(event.await().isOk());
}

TEST(Event, AFailureReachesEveryoneWhoAsks) {
  Promise promise;
  Event event = promise.event();
  std::string seen;
  event.onReady([&](const Status &status) { seen = status.message(); });
  EXPECT_FALSE(event.isReady());
  EXPECT_FALSE(event.awaitFor(1ms));

  promise.complete(broken());

  EXPECT_EQ(seen, "broken");
  EXPECT_TRUE(event.isFailed());
  EXPECT_EQ(event.await().code(), Code::internal);
  EXPECT_EQ(event.status().message(), "broken");
}

TEST(Event, AUserErrorKeepsItsNumber) {
  Event event = Event::failed(Status(Error::bufferDeleted, "gone"));
  EXPECT_EQ(event.status().error(), Error::bufferDeleted);
}

TEST(Event, ADroppedPromiseFailsInsteadOfHanging) {
  Event event;
  {
    Promise promise;
    event = promise.event();
  }
  EXPECT_EQ(event.await().code(), Code::cancelled);
}

TEST(Event, AllFailsAsTheFirstInOrder) {
  Promise a, b;
  Event events[] = {a.event(), Event(), b.event()};
  Event all = Event::all(events);
  b.complete(Status(Code::internal, "second"));
  EXPECT_FALSE(all.isReady());
  a.complete(Status(Code::internal, "first"));
  EXPECT_EQ(all.await().message(), "first");
  EXPECT_TRUE(Event::all({}).isReady());
}

TEST(Event, ACallbackMayUseTheEvent) {
  Promise promise;
  Event event = promise.event();
  bool nested = false;
  event.onReady([&](const Status &) {
    EXPECT_TRUE(event.isReady());
    event.onReady([&](const Status &) { nested = true; });
  });
  promise.complete();
  EXPECT_TRUE(nested);
}

TEST(Event, NoCallbackIsLostWhileItCompletes) {
  for (int round = 0; round < 300; ++round) {
    Promise promise;
    Event event = promise.event();
    std::atomic<int> calls = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] {
        for (int j = 0; j < 10; ++j)
          event.onReady([&](const Status &) { ++calls; });
        EXPECT_TRUE(event.await().isOk());
      });
    promise.complete();
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(calls, 30);
  }
}

TEST(Event, ACallbackMayDestroyThePromise) {
  auto promise = std::make_unique<Promise>();
  const Event event = promise->event();
  std::vector<std::string> heard;
  event.onReady([&](const Status &) { promise.reset(); });
  event.onReady([&](const Status &status) { heard.emplace_back(status.message()); });
  Promise &completed = *promise;
  completed.complete(Status(Code::internal, "no luck"));
  EXPECT_THAT(heard, ::testing::ElementsAre("no luck"));
}

} // namespace
} // namespace tilewright::runtime
