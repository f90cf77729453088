#include "tilewright/runtime/cpu/CpuCollectives.h"

namespace tilewright::runtime::cpu {

/// The plan's call with the pointers of this run.
static collective::Call callOf(const Collective &collective,
                               std::span<const std::byte *const> operands,
                               std::span<std::byte *const> results) {
  collective::Call call = collective.call;
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    call.tensors[i].in = operands[i];
    call.tensors[i].out = results[i];
  }
  return call;
}

Status CpuCollectives::start(const Collective &collective,
                             std::span<const std::byte *const> operands,
                             std::span<std::byte *const> results) {
  TILEWRIGHT_ASSIGN(begun[&collective], communicator.start(callOf(collective, operands, results)));
  return Status();
}

Status CpuCollectives::finish(const Collective &collective) {
  auto found = begun.find(&collective);
  if (found == begun.end())
    return Status(Code::internal, "finish() of a collective that was not started");
  const collective::Communicator::Ticket ticket = found->second;
  begun.erase(found);
  return communicator.finish(ticket);
}

Status CpuCollectives::run(const Collective &collective, std::span<const std::byte *const> operands,
                           std::span<std::byte *const> results) {
  return communicator.run(callOf(collective, operands, results));
}

void CpuCollectives::abandon() {
  communicator.abandon(
      Status(Code::aborted, "the rank's program ended with collectives in flight"));
  begun.clear();
}

} // namespace tilewright::runtime::cpu
