// CpuCollectives: the collectives of a plan through a communicator.
#ifndef TILEWRIGHT_RUNTIME_CPU_CPUCOLLECTIVES_H
#define TILEWRIGHT_RUNTIME_CPU_CPUCOLLECTIVES_H

#include "tilewright/collective/Communicator.h"
#include "tilewright/runtime/cpu/RunContext.h"

#include <unordered_map>

namespace tilewright::runtime::cpu {

/// Translates the steps of one run; made for it. Attributes are StableHLO's own
/// (`all_gather_dim`, `scatter_dimension`, `split_dimension`, `concat_dimension`;
/// `dimension` is understood for the first two), and `body` as for library kernels.
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
  struct Begun {
    collective::Communicator::Ticket ticket = 0;
    std::vector<std::vector<int64_t>> groups; // the communicator refers to them
  };
  collective::Communicator &communicator;
  std::unordered_map<const Collective *, std::unique_ptr<Begun>> begun;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_CPUCOLLECTIVES_H
