// Many threads use one client concurrently, as a framework does. The tests check results;
// ThreadSanitizer checks for data races.
#include "tilewright/runtime/conformance/Kit.h"

#include <random>
#include <thread>

namespace tilewright::runtime::conformance {
namespace {

using ::testing::Each;

class RaceConformance : public Fixture {};

TEST_F(RaceConformance, ThreadsExecuteDonateReadAndDelete) {
  RuntimeOptions options;
  options.devices = 2;
  options.maxInFlight = 4;
  makeClient(options);
  Program twoSteps("jit_two");
  artifact::Slice x = twoSteps.parameter(floats()), y = twoSteps.result(floats()),
                  t = twoSteps.temporary(4 * length);
  twoSteps.step(artifact::CopyStep{x, t});
  twoSteps.launch("add_one", length, {t, y});
  std::shared_ptr<LoadedExecutable> programs[] = {load(unary()), load(twoSteps),
                                                  load(unary("add_one", length, true)),
                                                  load(unary("slow", length, true))};
  Memory &elsewhere = client->devices().size() > 1 ? memory(1) : pinned();
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int chain = 0; chain < 4; ++chain) {
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
            auto copy = value->copyTo(elsewhere);
            value = *(*copy)->copyTo(memory(0));
          }
          auto run = execute(*programs[random() % 8 == 0 ? 3 : random() % 3], {value.get()});
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
TEST_F(RaceConformance, ABufferIsDonatedOnce) {
  makeClient();
  auto program = load(unary("add_one", length, true));
  for (int round = 0; round < 10; ++round) {
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
TEST_F(RaceConformance, ReadersNeverSeeTheNextValue) {
  makeClient();
  auto program = load(unary("add_one", length, true));
  for (int round = 0; round < 10; ++round) {
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
    for (std::thread &thread : threads)
      thread.join();
  }
}

/// More concurrent copies than there are staging slots.
TEST_F(RaceConformance, ManyThreadsCopyLargeArrays) {
  makeClient();
  constexpr int64_t count = (5 << 20) / 4;
  std::vector<std::thread> threads;
  for (int t = 0; t < 5; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 3; ++round) {
        const auto value = static_cast<float>(10 * t + round);
        auto one = buffer(value, 0, count);
        std::vector<float> back = read(*one);
        EXPECT_EQ(std::count(back.begin(), back.end(), value), count);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(RaceConformance, TheClientEndsWithWorkInFlight) {
  for (int round = 0; round < 3; ++round) {
    makeClient();
    auto program = load(unary("slow"));
    auto value = buffer(1);
    std::vector<Execution> runs;
    for (int i = 0; i < 10; ++i)
      runs.push_back(*execute(*program, {value.get()}));
    program.reset();
    client.reset();
    for (Execution &run : runs)
      EXPECT_TRUE(run.done[0].isReady());
  }
}

} // namespace
} // namespace tilewright::runtime::conformance
