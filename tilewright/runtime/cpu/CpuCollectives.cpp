#include "tilewright/runtime/cpu/CpuCollectives.h"

#include "tilewright/collective/Move.h"
#include "tilewright/runtime/RaggedLists.h"

#include <cstring>

namespace tilewright::runtime::cpu {

collective::Call CpuCollectives::callOf(const Collective &collective,
                                        std::span<const std::byte *const> operands,
                                        std::span<std::byte *const> results,
                                        std::vector<int64_t> &lists) {
  collective::Call call = collective.call;
  if (call.kind == collective::Kind::raggedAllToAll) {
    // Rows that no member sends keep their value. Engines write the result only after start().
    if (const size_t bytes = collective::outBytes(call.tensors[0]); bytes > 0)
      std::memmove(results[0], operands[1], bytes);
    lists = raggedLists(operands.subspan(2), collective.listTypes);
    call.ragged = lists;
  }
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    call.tensors[i].in = operands[i];
    call.tensors[i].out = results[i];
  }
  return call;
}

Status CpuCollectives::start(const Collective &collective,
                             std::span<const std::byte *const> operands,
                             std::span<std::byte *const> results) {
  Begun &now = begun[&collective];
  TILEWRIGHT_ASSIGN(now.ticket,
                    communicator.start(callOf(collective, operands, results, now.lists)));
  return Status();
}

Status CpuCollectives::finish(const Collective &collective) {
  auto found = begun.find(&collective);
  if (found == begun.end())
    return Status(Code::internal, "finish() of a collective that was not started");
  const Begun now = std::move(found->second); // its lists are read until the end
  begun.erase(found);
  return communicator.finish(now.ticket);
}

Status CpuCollectives::run(const Collective &collective, std::span<const std::byte *const> operands,
                           std::span<std::byte *const> results) {
  std::vector<int64_t> lists;
  return communicator.run(callOf(collective, operands, results, lists));
}

void CpuCollectives::abandon() {
  communicator.abandon(
      Status(Code::aborted, "the rank's program ended with collectives in flight"));
  begun.clear();
}

} // namespace tilewright::runtime::cpu
