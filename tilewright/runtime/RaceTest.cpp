// Many threads use one client concurrently, as a framework does. The tests check results;
// ThreadSanitizer checks for data races.
#include "tilewright/runtime/testing/Backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace tilewright::runtime {
namespace {

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
  expectChainsAddUp(30, memory(1), [&](std::mt19937 &random) -> LoadedExecutable & {
    return *programs[random() % 4];
  });
}

TEST_F(RaceTest, ABufferIsDonatedOnce) {
  makeClient();
  expectDonatedOnce(*load("f", 1, 1, addOne(), donateFirst, 1000), 50);
}

TEST_F(RaceTest, ReadersNeverSeeTheNextValue) {
  makeClient();
  expectReadersSeeTheOldValue(*load("f", 1, 1, addOne(), donateFirst, 1000), 50);
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
        const Arguments arguments = onEachDevice({1, 1, 1});
        auto run = program->execute(arguments.lists);
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
    expectClientEndsWithWorkInFlight(load("f", 1, 1, addOne(), {}, 1'000'000'000), 20);
  }
}

} // namespace
} // namespace tilewright::runtime
