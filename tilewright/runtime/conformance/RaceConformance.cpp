// Many threads use one client concurrently, as a framework does. The tests check results;
// ThreadSanitizer checks for data races.
#include "tilewright/runtime/conformance/Kit.h"

#include <random>
#include <thread>

namespace tilewright::runtime::conformance {
namespace {

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
  expectChainsAddUp(4, elsewhere, [&](std::mt19937 &random) -> LoadedExecutable & {
    return *programs[random() % 8 == 0 ? 3 : random() % 3];
  });
}

TEST_F(RaceConformance, ABufferIsDonatedOnce) {
  makeClient();
  expectDonatedOnce(*load(unary("add_one", length, true)), 10);
}

TEST_F(RaceConformance, ReadersNeverSeeTheNextValue) {
  makeClient();
  expectReadersSeeTheOldValue(*load(unary("add_one", length, true)), 10);
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
    expectClientEndsWithWorkInFlight(load(unary("slow")), 10);
  }
}

} // namespace
} // namespace tilewright::runtime::conformance
