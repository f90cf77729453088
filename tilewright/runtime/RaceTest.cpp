// Many threads use one client concurrently, as a framework does. The tests check results;
// ThreadSanitizer checks for data races.
#include "tilewright/runtime/TestBackend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace tilewright::runtime {
namespace {

using ::testing::AnyOf;
using ::testing::Each;

class RaceTest : public RuntimeFixture {};

TEST_F(RaceTest, ThreadsExecuteDonateReadAndDelete) {
  RuntimeOptions options;
  options.devices = 2;
  options.maxInFlight = 4;
  options.threads = 3;
  makeClient(options);
  std::shared_ptr<LoadedExecutable> programs[] = {
      load("cheap", 1, 1, addOne(), {}, 1000), load("dear", 1, 1, addOne(), {}, 1'000'000'000),
      load("donating", 1, 1, addOne(), donateFirst, 1000),
      load("donating dear", 1, 1, addOne(), donateFirst, 1'000'000'000)};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int chain = 0; chain < 30; ++chain) {
        auto value = buffer(0);
        float expected = 0;
        std::vector<std::pair<Event, std::shared_ptr<std::vector<float>>>> reads;
        std::vector<float> wanted;
        for (int step = 0; step < 10; ++step) {
          if (random() % 3 == 0) {
            auto host = std::make_shared<std::vector<float>>(length);
            reads.emplace_back(*value->toHost(host->data(), value->byteCount()), host);
            wanted.push_back(expected);
          }
          if (random() % 5 == 0) {
            auto copy = value->copyTo(memory(1));
            value = *(*copy)->copyTo(memory(0));
          }
          auto run = execute(*programs[random() % 4], {value.get()});
          ASSERT_TRUE(run.isOk()) << std::move(run).takeStatus().toString();
          value = std::move(run->results[0][0]);
          expected += 1;
        }
        for (size_t i = 0; i < reads.size(); ++i) {
          ASSERT_TRUE(reads[i].first.await().isOk());
          ASSERT_THAT(*reads[i].second, Each(wanted[i]));
        }
        ASSERT_THAT(read(*value), Each(expected));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  client->drain();
  EXPECT_EQ(memory(0).statistics().liveCount, 0);
}

/// Many threads donate the same buffer: exactly one succeeds.
TEST_F(RaceTest, ABufferIsDonatedOnce) {
  makeClient();
  auto program = load("f", 1, 1, addOne(), donateFirst, 1000);
  for (int round = 0; round < 50; ++round) {
    auto value = buffer(1);
    std::atomic<int> won = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        auto run = execute(*program, {value.get()});
        if (run.isOk()) {
          ++won;
          EXPECT_THAT(read(*run->results[0][0]), Each(2));
        } else {
          EXPECT_EQ(std::move(run).takeStatus().error(), Error::bufferDeleted);
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(won, 1);
  }
}

/// Threads that read a buffer during its donation see the old value or an error.
TEST_F(RaceTest, ReadersNeverSeeTheNextValue) {
  makeClient();
  auto program = load("f", 1, 1, addOne(), donateFirst, 1000);
  for (int round = 0; round < 50; ++round) {
    auto value = buffer(1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&] {
        std::vector<float> host(length);
        Result<Event> event = value->toHost(host.data(), value->byteCount());
        if (event.isOk()) {
          EXPECT_TRUE(event->await().isOk());
          EXPECT_THAT(host, Each(1));
        }
      });
    threads.emplace_back([&] {
      auto run = execute(*program, {value.get()});
      EXPECT_THAT(read(*run->results[0][0]), Each(2));
    });
    threads.emplace_back([&] { (void)value->isDeleted(); });
    for (std::thread &thread : threads)
      thread.join();
  }
}

TEST_F(RaceTest, LaunchesOnSeveralDevicesComeInOneOrder) {
  RuntimeOptions options;
  options.devices = 3;
  options.collectiveTimeout = 60;
  makeClient(options);
  static const std::vector<std::vector<int64_t>> groups = {{0, 1, 2}};
  auto program = load(
      "sum", 1, 1,
      [](const ProgramRun &run) {
        collective::Call call;
        call.groups = &groups;
        call.reduction.operation = collective::ReductionKind::add;
        call.name = "all_reduce.0";
        call.tensors = {{ElementType::f32, {length}, {length}, run.parameters[0], run.results[0]}};
        return run.communicator->run(call);
      },
      [](artifact::Executable &executable) {
        executable.partitions = 3;
        executable.blocks[0].steps.push_back({artifact::CollectiveStartStep{}, "", ""});
      });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < 30; ++round) {
        std::vector<std::unique_ptr<Buffer>> arguments;
        std::vector<Buffer *> pointers;
        for (int i = 0; i < 3; ++i)
          pointers.push_back(arguments.emplace_back(buffer(1, i)).get());
        std::vector<std::span<Buffer *const>> lists;
        for (size_t i = 0; i < 3; ++i)
          lists.push_back(std::span(pointers).subspan(i, 1));
        auto run = program->execute(lists);
        ASSERT_TRUE(run.isOk());
        for (size_t i = 0; i < 3; ++i)
          ASSERT_THAT(read(*run->results[i][0]), Each(3));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(RaceTest, TheClientEndsWithWorkInFlight) {
  for (int round = 0; round < 10; ++round) {
    makeClient();
    auto program = load("f", 1, 1, addOne(), {}, 1'000'000'000);
    auto value = buffer(1);
    std::vector<Execution> runs;
    for (int i = 0; i < 20; ++i)
      runs.push_back(*execute(*program, {value.get()}));
    program.reset();
    client.reset();
    for (Execution &run : runs)
      EXPECT_TRUE(run.done[0].isReady());
  }
}

} // namespace
} // namespace tilewright::runtime
