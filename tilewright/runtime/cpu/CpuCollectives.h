// CpuCollectives: runs the collectives of a plan through a communicator.
#ifndef TILEWRIGHT_RUNTIME_CPU_CPUCOLLECTIVES_H
#define TILEWRIGHT_RUNTIME_CPU_CPUCOLLECTIVES_H

#include "tilewright/collective/Communicator.h"
#include "tilewright/runtime/cpu/RunContext.h"

#include <unordered_map>
#include <vector>

namespace tilewright::runtime::cpu {

/// The collectives of one run. Calls refer to the groups of the program's steps, because the
/// program outlives its runs.
class CpuCollectives final : public Collectives {
public:
  explicit CpuCollectives(collective::Communicator &communicator) : communicator(communicator) {}

  Status start(const Collective &collective, std::span<const std::byte *const> operands,
               std::span<std::byte *const> results) override;
  Status finish(const Collective &collective) override;
  Status run(const Collective &collective, std::span<const std::byte *const> operands,
             std::span<std::byte *const> results) override;
  void abandon() override;

private:
  /// The plan's call with the pointers of this run, and with `lists` if it is ragged.
  static collective::Call callOf(const Collective &collective,
                                 std::span<const std::byte *const> operands,
                                 std::span<std::byte *const> results, std::vector<int64_t> &lists);

  collective::Communicator &communicator;
  struct Begun {
    collective::Communicator::Ticket ticket = 0;
    std::vector<int64_t> lists; // of a ragged_all_to_all
  };
  std::unordered_map<const Collective *, Begun> begun;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_CPUCOLLECTIVES_H
