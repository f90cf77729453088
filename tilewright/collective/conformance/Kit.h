// The conformance suite of engines: the guarantees that every transport gives. Each engine links
// the tests of this folder with its own kits.
#ifndef TILEWRIGHT_COLLECTIVE_CONFORMANCE_KIT_H
#define TILEWRIGHT_COLLECTIVE_CONFORMANCE_KIT_H

#include "tilewright/collective/Communicator.h"

#include <chrono>
#include <functional>
#include <ostream>
#include <vector>

namespace tilewright::collective::conformance {

/// The connected engines of a job's ranks.
class Job {
public:
  virtual ~Job() = default;
  /// The engine of `rank`; several ranks may share an engine.
  virtual Engine &engine(int64_t rank) = 0;
  /// Memory in which the engine operates without copies, freed with the job; null if the engine
  /// does not provide any.
  virtual std::byte *allocate(int64_t rank, size_t bytes) { return nullptr; }
};

/// The adapter through which the tests create an engine.
struct Kit {
  const char *name;
  /// Connects `ranks` ranks, all in this process.
  std::function<Result<std::unique_ptr<Job>>(int64_t ranks, std::chrono::nanoseconds timeout)>
      makeJob;
};

/// Names the kit in the output of a failed test.
inline void PrintTo(const Kit &kit, std::ostream *out) { *out << kit.name; }

/// The kits that this test program defines.
const std::vector<Kit> &kits();

using RankBody = std::function<Status(Communicator &)>;

/// Runs `body` on one thread per rank, in a new run, and returns the status of each rank. A rank
/// that fails calls abandon().
std::vector<Status> runRanks(const std::function<Engine &(int64_t rank)> &engineOf, int64_t ranks,
                             const RankBody &body);
std::vector<Status> runRanks(Job &job, int64_t ranks, const RankBody &body);
/// Runs the ranks in a new job of the kit.
std::vector<Status> runRanks(const Kit &kit, int64_t ranks, std::chrono::nanoseconds timeout,
                             const RankBody &body);

} // namespace tilewright::collective::conformance

#endif // TILEWRIGHT_COLLECTIVE_CONFORMANCE_KIT_H
