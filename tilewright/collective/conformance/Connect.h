// Connects the engines of a job within one process, with one thread per engine.
#ifndef TILEWRIGHT_COLLECTIVE_CONFORMANCE_CONNECT_H
#define TILEWRIGHT_COLLECTIVE_CONFORMANCE_CONNECT_H

#include "tilewright/collective/ProgressEngine.h"
#include "tilewright/collective/conformance/Kit.h"

namespace tilewright::collective::conformance {

/// A job in which rank r belongs to the engine of process `processOfRank[r]`.
template <typename Derived, typename AnyEngine> class ConnectedJob : public Job {
public:
  using Connect =
      std::function<Result<std::unique_ptr<AnyEngine>>(const Membership &, KeyValueStore &)>;
  static Result<std::unique_ptr<Derived>> create(std::vector<int64_t> processOfRank,
                                                 const Connect &connect) {
    auto job = std::make_unique<Derived>();
    job->processOfRank = processOfRank;
    Membership membership;
    membership.processOfRank = std::move(processOfRank);
    const std::vector<int64_t> processes = membership.processes();
    job->engines.resize(processes.size());
    std::vector<Status> ends(processes.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < processes.size(); ++i)
      threads.emplace_back([&, i, membership]() mutable {
        membership.process = processes[i];
        auto made = connect(membership, job->store);
        if (made.isOk())
          job->engines[i] = *std::move(made);
        else
          ends[i] = std::move(made).takeStatus();
      });
    for (std::thread &thread : threads)
      thread.join();
    for (Status &end : ends)
      TILEWRIGHT_TRY(std::move(end));
    return job;
  }
  AnyEngine &engine(int64_t rank) override {
    return *engines[static_cast<size_t>(processOfRank[static_cast<size_t>(rank)])];
  }

protected:
  std::vector<int64_t> processOfRank;
  MemoryKeyValueStore store;
  std::vector<std::unique_ptr<AnyEngine>> engines;
};

/// A kit whose job has `ranksEach` ranks in each process.
template <typename AnyJob>
Kit connectedKit(
    const char *name, int64_t ranksEach,
    std::function<typename AnyJob::Connect(std::chrono::nanoseconds timeout)> connectWith) {
  return {name,
          [=](int64_t ranks, std::chrono::nanoseconds timeout) -> Result<std::unique_ptr<Job>> {
            std::vector<int64_t> processOfRank;
            for (int64_t rank = 0; rank < ranks; ++rank)
              processOfRank.push_back(rank / ranksEach);
            TILEWRIGHT_ASSIGN(auto job, AnyJob::create(processOfRank, connectWith(timeout)));
            return std::unique_ptr<Job>(std::move(job));
          }};
}

} // namespace tilewright::collective::conformance

#endif // TILEWRIGHT_COLLECTIVE_CONFORMANCE_CONNECT_H
