#include "tilewright/runtime/cuda/CudaCollective.h"

#include "tilewright/runtime/DeviceCollectives.h"
#include "tilewright/runtime/RaggedLists.h"
#include "tilewright/runtime/cuda/CudaDevice.h"
#include "tilewright/runtime/cuda/Transfer.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <atomic>

namespace tilewright::runtime::cuda {

using artifact::CollectiveStartStep;

/// Unique in the process, for Call::identity.
static std::atomic<uint64_t> nextIdentity = 1;

Result<std::unique_ptr<CudaCollective>>
CudaCollective::prepare(const artifact::Executable &executable, const artifact::Step &step,
                        size_t clique) {
  const auto &start = std::get<CollectiveStartStep>(step.action);
  std::unique_ptr<CudaCollective> made(new CudaCollective);
  made->step = &start;
  made->clique = clique;
  made->label = std::make_shared<const CollectiveLane::Label>(
      CollectiveLane::Label{concat(nameOf(start.kind), ".", start.id), step.location, step.source});
  collective::Call &call = made->call;
  call.kind = start.kind;
  call.order = start.order;
  call.groups = &start.groups;
  // A ragged exchange has one tensor; its other operands are checked by the artifact.
  const bool isRagged = start.kind == numerics::CollectiveKind::raggedAllToAll;
  for (size_t i = isRagged ? 2 : start.operands.size(); i < start.operands.size(); ++i)
    made->listTypes.push_back(executable.types[start.operands[i].type]);
  for (size_t i = 0; i < (isRagged ? 1 : start.operands.size()); ++i) {
    const artifact::TensorType &in = executable.types[start.operands[i].type];
    if (i >= start.results.size() || executable.types[start.results[i].type].element != in.element)
      return Status(Error::collectiveGroups,
                    concat("'", made->label->name, "' at ", step.location, ": the ",
                           start.results.size(),
                           " results of a collective must have the same element types as its ",
                           start.operands.size(), " operands"));
    call.tensors.push_back({in.element, in.dims, executable.types[start.results[i].type].dims});
  }
  call.dimension = start.dimension;
  call.splitDimension = start.splitDimension;
  call.reduction = {start.reduction, nullptr};
  call.name = made->label->name;
  call.place = made->label->place;
  call.identity = nextIdentity.fetch_add(1, std::memory_order_relaxed);
  return made;
}

Result<std::vector<int64_t>> CudaCollective::beginRagged(CudaRun &run) const {
  const CUstream stream = run.gpu.programs().stream();
  auto addressOnDevice = [&](const artifact::Slice &slice) {
    return run.addresses[slice.allocation] + static_cast<CUdeviceptr>(slice.offset);
  };
  const artifact::Slice &from = step->operands[1].slice, &to = step->results[0].slice;
  if (to.bytes > 0)
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(run.gpu, cuMemcpyAsync, addressOnDevice(to),
                                   addressOnDevice(from), static_cast<size_t>(to.bytes), stream));
  const auto operands = std::span(step->operands).subspan(2);
  size_t bytes = 0;
  for (const artifact::Operand &operand : operands)
    bytes += static_cast<size_t>(operand.slice.bytes);
  TILEWRIGHT_ASSIGN(std::byte * host, run.staging(bytes));
  std::vector<const std::byte *> lists;
  for (const artifact::Operand &operand : operands) {
    lists.push_back(host);
    host += operand.slice.bytes;
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(run.gpu, cuMemcpyAsync, addressOf(lists.back()),
                                   addressOnDevice(operand.slice),
                                   static_cast<size_t>(operand.slice.bytes), stream));
  }
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(run.gpu, cuStreamSynchronize, stream));
  // The offsets come from a collective. If it was revoked, it ended without a result.
  TILEWRIGHT_TRY(run.run.ranks->check());
  return raggedLists(lists, listTypes);
}

Status CudaCollective::start(CudaRun &run) const {
  collective::Call now = call;
  std::vector<int64_t> lists;
  if (now.kind == numerics::CollectiveKind::raggedAllToAll) {
    TILEWRIGHT_ASSIGN(lists, beginRagged(run));
    now.ragged = lists;
  }
  for (size_t i = 0; i < now.tensors.size(); ++i) {
    auto pointerTo = [&](const artifact::Slice &slice) {
      return reinterpret_cast<std::byte *>(run.addresses[slice.allocation]) + slice.offset;
    };
    now.tensors[i].in = pointerTo(step->operands[i].slice);
    now.tensors[i].out = pointerTo(step->results[i].slice);
  }
  Result<CUevent> ended =
      run.gpu.collectives().start(run.run.ranks->at(run.run.local), now, clique, label,
                                  run.run.ranks->record(run.run.local, now));
  if (!ended.isOk())
    return std::move(ended).takeStatus().during(
        concat("running '", label->name, "'",
               label->place.empty() ? "" : concat(" (", label->place, ")")));
  run.started[step->id] = *ended;
  return Status();
}

Status CudaCollective::finish(CudaRun &run) const {
  auto found = run.started.find(step->id);
  if (found == run.started.end())
    return Status(Code::internal, "the end of a collective that was not started");
  const CUevent ended = found->second;
  run.started.erase(found);
  return run.gpu.collectives().finish(ended);
}

bool CudaCollectives::isLocal(const CollectiveStartStep &step, int64_t ranks) {
  const bool isPermute = step.kind == numerics::CollectiveKind::permute;
  if (step.kind == numerics::CollectiveKind::raggedAllToAll)
    return false; // its lists say what is copied
  if (step.groups.empty())
    return ranks == 1 && !isPermute;
  // A rank that receives nothing from a permute gets zeros.
  if (isPermute && static_cast<int64_t>(step.groups.size()) != ranks)
    return false;
  return std::all_of(step.groups.begin(), step.groups.end(), [&](const auto &group) {
    return isPermute ? group.size() == 2 && group[0] == group[1] : group.size() <= 1;
  });
}

Status CudaCollectives::prepare(const artifact::Executable &executable) {
  const int64_t ranks = executable.replicas * executable.partitions;
  for (const artifact::Block &block : executable.blocks)
    for (const artifact::Step &step : block.steps) {
      const auto *start = std::get_if<CollectiveStartStep>(&step.action);
      if (!start || isLocal(*start, ranks))
        continue;
      collective::DeviceClique clique{start->groups,
                                      start->kind == numerics::CollectiveKind::permute, 0};
      std::erase_if(clique.groups, [](const auto &group) { return group.empty(); });
      size_t index = static_cast<size_t>(std::find(all.begin(), all.end(), clique) - all.begin());
      if (index == all.size())
        all.push_back(std::move(clique));
      TILEWRIGHT_ASSIGN(byId[start->id], CudaCollective::prepare(executable, step, index));
    }
  return Status();
}

const CudaCollective *CudaCollectives::at(uint32_t id) const {
  auto found = byId.find(id);
  return found == byId.end() ? nullptr : found->second.get();
}

} // namespace tilewright::runtime::cuda
