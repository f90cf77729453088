#include "tilewright/vgpu/count/InFlightOps.h"

#include "tilewright/vgpu/machine/Warp.h"

namespace tilewright::vgpu::count {

using machine::AsyncId;
using machine::SyncKind;

void InFlightOps::clear() {
  completing.clear();
  before.clear();
}

uint64_t InFlightOps::mbarrierOf(const machine::SyncEvent &event) {
  // Shared memory addresses are only unique within a cluster, so add the cluster's first block.
  return uint64_t(event.warp.block->clusterBase) << 32 | (event.object & 0xffffffffu);
}

std::vector<AsyncId> InFlightOps::waitedFor(const machine::SyncEvent &event) {
  switch (event.kind) {
  case SyncKind::asyncIssue:
    if (!event.operations.empty())
      before[event.async] = {event.operations.begin(), event.operations.end()};
    return {};
  case SyncKind::mbarrierArrive:
  case SyncKind::mbarrierComplete:
    if (event.async) {
      std::vector<AsyncId> &list = completing[{mbarrierOf(event), event.phase}];
      list.push_back(event.async);
      if (auto it = before.find(event.async); it != before.end()) {
        list.insert(list.end(), it->second.begin(), it->second.end());
        before.erase(it);
      }
    }
    return {};
  case SyncKind::mbarrierWait: {
    auto it = completing.find({mbarrierOf(event), event.phase});
    if (it == completing.end())
      return {};
    std::vector<AsyncId> list = std::move(it->second);
    completing.erase(it);
    return list;
  }
  case SyncKind::asyncWait:
    if (event.isReadOnly)
      return {};
    return {event.operations.begin(), event.operations.end()};
  default:
    return {};
  }
}

} // namespace tilewright::vgpu::count
