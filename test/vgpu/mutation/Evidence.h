// Shows on a log of the kernel why a mutant that no check reports is harmless. Uses no vector
// clocks: each reason is a rule about the log.
#ifndef TEST_VGPU_MUTATION_EVIDENCE_H
#define TEST_VGPU_MUTATION_EVIDENCE_H

#include "Mutate.h"

#include "tilewright/vgpu/machine/Observer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::vgpu::mutation {

/// One event of a launch, with the line of its instruction.
struct Logged {
  bool isAccess = false;
  uint32_t line = 0;
  uint32_t block = 0, cluster = 0, warp = 0, mask = 0;
  machine::AsyncId async = 0;
  machine::Order order = machine::Order::weak;
  machine::Scope scope = machine::Scope::none;
  machine::Proxy proxy = machine::Proxy::generic;
  // An access.
  machine::AccessKind access = machine::AccessKind::read;
  struct Range {
    uint32_t lane;
    uint64_t begin, end; // shared addresses include the block
    uint64_t stored = 0; // the stored value as a number; 0: unknown
  };
  std::vector<Range> ranges;
  // Fields of a synchronising event.
  machine::SyncKind sync = machine::SyncKind::fence;
  machine::GroupKind group = machine::GroupKind::none;
  machine::Space space = machine::Space::generic;
  bool isReadOnly = false; // waits only for the operations' reads
  uint64_t object = 0, phase = 0, count = 0;
  std::vector<machine::AsyncId> operations;
};

/// Records all events; for launches on one thread.
class Log final : public machine::Observer {
public:
  void access(const machine::MemoryEvent &event) override;
  void synchronise(const machine::SyncEvent &event) override;

  std::vector<Logged> events;
};

/// The reason why `mutant` is harmless, if a rule finds one in the log of the original kernel; else
/// empty. `late` is the log with operations completing as late as possible: waits that otherwise
/// succeed at once do not succeed there.
std::string whyBenign(const std::vector<Logged> &log, const std::vector<Logged> &late,
                      const Mutant &mutant);
/// The same, from the mutant's own log: whether the remaining synchronisation orders all
/// conflicting accesses. Only for synchronisation of threads and copies, not for fences and
/// registers. `isStrict`: by the rules of --check=strict.
std::string whyStillOrdered(const std::vector<Logged> &log, const Mutant &mutant, bool isStrict);
/// Whether two logs have the same accesses, to the same addresses and in the same order.
bool haveSameAccesses(const std::vector<Logged> &log, const std::vector<Logged> &other);

} // namespace tilewright::vgpu::mutation

#endif // TEST_VGPU_MUTATION_EVIDENCE_H
