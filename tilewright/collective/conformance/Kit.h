// The conformance suite of engines: what ranks may rely on whatever carries their bytes. Each
// engine links the tests of this folder with kits of its own.
#ifndef TILEWRIGHT_COLLECTIVE_CONFORMANCE_KIT_H
#define TILEWRIGHT_COLLECTIVE_CONFORMANCE_KIT_H

#include "tilewright/collective/Communicator.h"

#include <chrono>
#include <functional>
#include <ostream>
#include <vector>

namespace tilewright::collective::conformance {

/// Ranks of one run, joined and ready.
class Job {
public:
  virtual ~Job() = default;
  /// A rank's engine; ranks may share one.
  virtual Engine &engine(int64_t rank) = 0;
  /// Memory that the engine moves without copies, freed with the job; null if it has no such.
  virtual std::byte *allocate(int64_t rank, size_t bytes) { return nullptr; }
};

/// What the tests need of an engine.
struct Kit {
  const char *name;
  /// Connects `ranks` ranks, all in this process.
  std::function<Result<std::unique_ptr<Job>>(int64_t ranks, std::chrono::nanoseconds patience)>
      makeJob;
};

/// How a failed test says which.
inline void PrintTo(const Kit &kit, std::ostream *out) { *out << kit.name; }

/// The kits of this program.
const std::vector<Kit> &kits();

using RankBody = std::function<Status(Communicator &)>;

/// Runs `body` on one thread for each rank, in a run of its own, and returns how each ended. A rank
/// that fails says so.
std::vector<Status> runRanks(const std::function<Engine &(int64_t rank)> &engineOf, int64_t ranks,
                             const RankBody &body);
std::vector<Status> runRanks(Job &job, int64_t ranks, const RankBody &body);
/// The same in a job of its own.
std::vector<Status> runRanks(const Kit &kit, int64_t ranks, std::chrono::nanoseconds patience,
                             const RankBody &body);

} // namespace tilewright::collective::conformance

#endif // TILEWRIGHT_COLLECTIVE_CONFORMANCE_KIT_H
