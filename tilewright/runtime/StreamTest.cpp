#include "tilewright/runtime/Stream.h"
#include "tilewright/runtime/Event.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tilewright::runtime {
namespace {

TEST(Stream, TasksRunInOrderOneAtATime) {
  Stream stream("test", 8);
  std::vector<int> order; // no lock: the stream serialises accesses
  for (int i = 0; i < 100; ++i)
    stream.enqueue([&, i] { order.push_back(i); });
  stream.drain();
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(Stream, ATurnIsHadOnlyWhenNothingIsBefore) {
  Stream stream("test", 8);
  Promise gate;
  Event open = gate.event();
  stream.enqueue([open] { (void)open.await(); });
  {
    Stream::InlineTask inlineTask(stream);
    EXPECT_FALSE(inlineTask);
  }
  gate.complete();
  stream.drain();
  Stream::InlineTask inlineTask(stream);
  EXPECT_TRUE(inlineTask);
  EXPECT_FALSE(stream.isIdle());
}

TEST(Stream, TasksWaitForATurnToEnd) {
  Stream stream("test", 8);
  std::atomic<bool> ran = false;
  {
    Stream::InlineTask inlineTask(stream);
    ASSERT_TRUE(inlineTask);
    std::thread other([&] { stream.enqueue([&] { ran = true; }); });
    other.join();
    EXPECT_FALSE(ran);
  }
  stream.drain();
  EXPECT_TRUE(ran);
}

/// A host callback inside a program calls back into the runtime: waiting for the stream would
/// deadlock.
TEST(Stream, ATaskMayUseItsOwnStream) {
  Stream stream("test", 1);
  bool inner = false, isInline = false;
  stream.enqueue([&] {
    stream.awaitRoom();
    stream.enqueue([&] { inner = true; });
    EXPECT_TRUE(inner);
    Stream::InlineTask inlineTask(stream);
    isInline = static_cast<bool>(inlineTask);
    stream.drain();
  });
  stream.drain();
  EXPECT_TRUE(inner);
  EXPECT_TRUE(isInline);
}

TEST(Stream, WhoeverBringsTooMuchWaits) {
  Stream stream("test", 2);
  Promise gate;
  Event open = gate.event();
  stream.enqueue([open] { (void)open.await(); });
  stream.enqueue([] {});
  stream.enqueue([] {});
  std::atomic<bool> hasRoom = false;
  std::thread caller([&] {
    stream.awaitRoom();
    hasRoom = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(hasRoom);
  gate.complete();
  caller.join();
  EXPECT_TRUE(hasRoom);
}

TEST(Stream, DestroyingRunsWhatIsQueued) {
  std::atomic<int> ran = 0;
  {
    Stream stream("test", 8);
    for (int i = 0; i < 20; ++i)
      stream.enqueue([&] { ++ran; });
  }
  EXPECT_EQ(ran, 20);
}

TEST(Stream, TurnsAndTasksOfManyThreadsNeverOverlap) {
  Stream stream("test", 4);
  std::atomic<int> inside = 0;
  int sum = 0; // no lock: the stream serialises accesses
  auto work = [&] {
    EXPECT_EQ(inside.fetch_add(1), 0);
    ++sum;
    inside.fetch_sub(1);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 200; ++j) {
        stream.awaitRoom();
        if (Stream::InlineTask inlineTask(stream); inlineTask)
          work();
        else
          stream.enqueue(work);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  stream.drain();
  EXPECT_EQ(sum, 800);
}

} // namespace
} // namespace tilewright::runtime
