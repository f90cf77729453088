// Why a mutant that nobody complains about is harmless, shown on a log of what the
// kernel does. Knows nothing of clocks: each reason is a rule about the log.
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
    uint64_t begin, end; // shared memory is told apart by its block
  };
  std::vector<Range> ranges;
  // What synchronises.
  machine::SyncKind sync = machine::SyncKind::fence;
  machine::GroupKind group = machine::GroupKind::none;
  machine::Space space = machine::Space::generic;
  uint64_t object = 0, phase = 0, count = 0;
  std::vector<machine::AsyncId> operations;
};

/// Writes down everything; for launches on one thread.
class Log final : public machine::Observer {
public:
  void access(const machine::MemoryEvent &event) override;
  void synchronise(const machine::SyncEvent &event) override;

  std::vector<Logged> events;
};

/// The reason why `mutant` is harmless, if a rule shows one on the log of the kernel
/// that was not changed; else empty. `late` is its log in the latest order, in which waits
/// that usually succeed at once do not.
std::string whyBenign(const std::vector<Logged> &log, const std::vector<Logged> &late,
                      const Mutant &mutant);

} // namespace tilewright::vgpu::mutation

#endif // TEST_VGPU_MUTATION_EVIDENCE_H
