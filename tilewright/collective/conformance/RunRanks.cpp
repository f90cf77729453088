#include "tilewright/collective/conformance/Kit.h"

#include <atomic>
#include <thread>

namespace tilewright::collective::conformance {

std::vector<Status> runRanks(const std::function<Engine &(int64_t rank)> &engineOf, int64_t ranks,
                             const RankBody &body) {
  static std::atomic<int64_t> nextRun = 1;
  const int64_t run = nextRun++;
  std::vector<Status> ends(static_cast<size_t>(ranks));
  std::vector<std::unique_ptr<Communicator>> joined;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto communicator = engineOf(rank).join({run, rank, ranks, {}});
    if (!communicator.isOk()) {
      ends[static_cast<size_t>(rank)] = std::move(communicator).takeStatus();
      return ends;
    }
    joined.push_back(*std::move(communicator));
  }
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < joined.size(); ++rank)
    threads.emplace_back([&, rank] {
      ends[rank] = body(*joined[rank]);
      if (!ends[rank].isOk())
        joined[rank]->abandon(ends[rank]);
      joined[rank].reset();
    });
  for (std::thread &thread : threads)
    thread.join();
  return ends;
}

std::vector<Status> runRanks(Job &job, int64_t ranks, const RankBody &body) {
  return runRanks([&](int64_t rank) -> Engine & { return job.engine(rank); }, ranks, body);
}

std::vector<Status> runRanks(const Kit &kit, int64_t ranks, std::chrono::nanoseconds timeout,
                             const RankBody &body) {
  auto job = kit.makeJob(ranks, timeout);
  if (!job.isOk()) {
    std::vector<Status> ends(static_cast<size_t>(ranks));
    ends[0] = std::move(job).takeStatus();
    return ends;
  }
  return runRanks(**job, ranks, body);
}

} // namespace tilewright::collective::conformance
