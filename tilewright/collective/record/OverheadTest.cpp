// The overhead of recording: the same calls with and without a recorder, in one run.
#include "tilewright/collective/record/RecordedEngine.h"

#include "tilewright/support/testing/Slowness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace tilewright::collective::record {
namespace {

/// An engine that does nothing.
class IdleRank final : public Communicator {
public:
  explicit IdleRank(const RunMembership &own) : own(own) {}
  int64_t rank() const override { return own.rank; }
  int64_t size() const override { return own.ranks; }
  Result<Ticket> start(const Call &call) override { return Ticket(1); }
  Status finish(Ticket ticket) override { return Status(); }
  Status run(const Call &call) override { return Status(); }
  void abandon(const Status &why) override {}

private:
  const RunMembership own;
};
class IdleEngine final : public Engine {
public:
  Result<std::unique_ptr<Communicator>> join(const RunMembership &own) override {
    return std::unique_ptr<Communicator>(std::make_unique<IdleRank>(own));
  }
};

/// Nanoseconds per call: the best of many samples, because the machine has other work.
template <typename Function> double bestOf(Function &&call) {
  double best = 1e9;
  for (int sample = 0; sample < 200; ++sample) {
    constexpr int calls = 1000;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i)
      call();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count() / calls);
  }
  return best;
}

TEST(Overhead, AnOperationCostsLessThanFiftyNanoseconds) {
  char folder[] = "/tmp/tilewright-overhead-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  auto recorder = Recorder::create({.folder = folder, .jobRanks = 8, .ranks = {0}});
  ASSERT_TRUE(recorder.isOk());
  RecordedEngine engine(std::make_unique<IdleEngine>(), *recorder, "idle");
  IdleEngine idle;
  // Eight ranks in two groups; two calls alternate, as in a loop.
  const std::vector<std::vector<int64_t>> groups = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  float value = 1;
  auto *bytes = reinterpret_cast<std::byte *>(&value);
  Call calls[2];
  for (uint32_t i = 0; i < 2; ++i) {
    calls[i].order = i;
    calls[i].groups = &groups;
    calls[i].reduction.operation = ReductionKind::add;
    calls[i].name = i ? "all_reduce.1" : "all_reduce.0";
    calls[i].place = i ? "train.py:42:10" : "train.py:41:10";
    calls[i].tensors = {{ElementType::f32, {1024, 16}, {1024, 16}, bytes, bytes}};
  }
  auto bareRank = idle.join({1, 0, 8, {}}), watchedRank = engine.join({1, 0, 8, {}});
  size_t turn = 0;
  const auto runOn = [&](Communicator &communicator) {
    return bestOf([&] { (void)communicator.run(calls[turn++ & 1]).isOk(); });
  };
  const double compared = runOn(**watchedRank);
  // Now with identities, as in compiled programs.
  calls[0].identity = 1;
  calls[1].identity = 2;
  const double bare = runOn(**bareRank), watched = runOn(**watchedRank);
  const double split = bestOf([&] {
    auto ticket = (*watchedRank)->start(calls[turn++ & 1]);
    (void)(*watchedRank)->finish(*ticket).isOk();
  });
  const double counter = bestOf([] { (void)ticksNow(hasEvenCounter()); });
  std::printf(
      "run: bare %.1f ns, recorded %.1f ns, so %.1f ns an operation; %.1f ns if calls have no "
      "identity; start and finish %.1f ns; reading the clock %.1f ns, twice an operation\n",
      bare, watched, watched - bare, compared - bare, split - bare, counter);
  EXPECT_LT(watched - bare, 50 * slowness());
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace tilewright::collective::record
