// Seeded faults of jobs on virtual GPUs: several processes, the NCCL engine, the virtual NCCL.
// TILEWRIGHT_TEST_COUNT is the number of trials, TILEWRIGHT_TEST_SEED the first seed.
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/vgpu/nccl/testing/Survivor.h"

#include "gmock/gmock.h"

#include <algorithm>
#include <csignal>
#include <sys/mman.h>

namespace tilewright::vgpu::nccl {
namespace {

using collective::test::Processes;
using collective::test::slowness;

uint64_t numberOf(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Milliseconds between a fault and what followed.
struct Times {
  std::vector<double> all;
  void add(int64_t from, int64_t to) { all.push_back(static_cast<double>(to - from) / 1e6); }
  double quantile(double share) {
    std::sort(all.begin(), all.end());
    return all.empty() ? 0 : all[static_cast<size_t>(share * static_cast<double>(all.size() - 1))];
  }
  std::string text() {
    char buffer[100];
    std::snprintf(buffer, sizeof buffer, "%zu times, median %.1f ms, 99 %% %.1f ms, most %.1f ms",
                  all.size(), quantile(0.5), quantile(0.99), quantile(1));
    return buffer;
  }
};

struct Tally {
  Times named, failed, resumed;
  int trials = 0, survivors = 0;
};

/// Returns whether the trial went as it must.
bool run(const Trial &trial, Tally &tally) {
  void *memory =
      mmap(nullptr, sizeof(Witness) * 8, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto *witnesses = static_cast<Witness *>(memory);
  bool isFine = true;
  auto expect = [&](bool condition, const std::string &what) {
    if (!condition)
      std::printf("%s\n  %s\n", trial.text().c_str(), what.c_str());
    isFine &= condition;
  };
  {
    Processes processes;
    for (int rank = 0; rank < trial.ranks; ++rank)
      processes.start([&, rank](KeyValueStore &store, collective::test::Report &) {
        return survive(trial, rank, witnesses, store);
      });
    const auto victim = static_cast<size_t>(trial.victim);
    // A process that ends in the library does not know when.
    int64_t ended = 0;
    const Deadline deadline = after(std::chrono::seconds(40));
    while (trial.isKill() && !ended && std::chrono::steady_clock::now() < deadline)
      if (processes.hasEnded(victim))
        ended = now();
      else
        usleep(200);
    for (int rank = 0; rank < trial.ranks; ++rank) {
      if (rank == trial.victim && (trial.isKill() || trial.blow == Blow::stop))
        continue;
      const std::string error = processes.end(static_cast<size_t>(rank));
      expect(error.empty(), "rank " + std::to_string(rank) + ": " + error + ", " +
                                processes.said(static_cast<size_t>(rank)));
    }
    if (trial.blow == Blow::stop)
      processes.signal(victim, SIGKILL);
    int64_t struck = witnesses[victim].struck;
    if (struck == 0)
      struck = ended;
    if (struck == 0 && trial.isFatal())
      struck = witnesses[victim].failed; // its call failed
    for (int rank = 0; rank < trial.ranks && isFine; ++rank) {
      const Witness &own = witnesses[rank];
      if (rank == trial.victim)
        continue;
      if (!trial.isFatal()) {
        expect(own.failed == 0, std::string("failed: ") + own.text);
        continue;
      }
      expect(own.failed != 0 && own.resumed != 0, "a survivor had no error, or did not go on");
      ++tally.survivors;
      tally.failed.add(struck, own.failed);
      tally.resumed.add(struck, own.resumed);
      if (trial.isKill())
        tally.named.add(struck, own.named);
      expect(own.failed - struck < 500'000'000ll * slowness(), "an error came too late");
      if (trial.isKill()) {
        expect(own.named != 0, std::string("the killed rank was not named: ") + own.text);
        expect(own.named - struck < 50'000'000ll * slowness(),
               "the killed rank was named too late");
      }
    }
    ++tally.trials;
  }
  munmap(memory, sizeof(Witness) * 8);
  return isFine;
}

TEST(FaultCampaign, SurvivorsGetAnErrorAndGoOn) {
  const uint64_t first = numberOf("TILEWRIGHT_TEST_SEED", 1);
  const uint64_t count = numberOf("TILEWRIGHT_TEST_COUNT", 11);
  Tally tally;
  int wrong = 0;
  for (uint64_t seed = first; seed < first + count; ++seed)
    wrong += run(Trial::of(seed), tally) ? 0 : 1;
  std::printf("%d trials, %d survivors of faults\nkilled rank named: %s\nerror: %s\n"
              "first right collective without the rank: %s\n",
              tally.trials, tally.survivors, tally.named.text().c_str(),
              tally.failed.text().c_str(), tally.resumed.text().c_str());
  EXPECT_EQ(wrong, 0);
}

} // namespace
} // namespace tilewright::vgpu::nccl
