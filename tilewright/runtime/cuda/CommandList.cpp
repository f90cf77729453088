#include "tilewright/runtime/cuda/CommandList.h"

namespace tilewright::runtime::cuda {

Command &CommandList::add(Command command) {
  items.emplace_back().command = std::make_unique<Command>(std::move(command));
  return *items.back().command;
}

void CommandList::add(std::vector<Conditional> nodes) {
  if (!nodes.empty())
    items.emplace_back().conditionals = std::move(nodes);
}

Command *CommandList::single() { return items.size() == 1 ? items[0].command.get() : nullptr; }

std::vector<Command *> CommandList::straight() {
  std::vector<Command *> all;
  for (Item &item : items) {
    if (!item.command)
      return {};
    all.push_back(item.command.get());
  }
  return all;
}

Status CommandList::update(CudaDevice &device, Addresses addresses,
                           std::vector<Command *> &changed) {
  auto updateOne = [&](Command &command) -> Status {
    TILEWRIGHT_ASSIGN(bool isChanged, command.update(device, addresses));
    if (isChanged)
      changed.push_back(&command);
    return Status();
  };
  for (Item &item : items) {
    if (item.command) {
      TILEWRIGHT_TRY(updateOne(*item.command));
      continue;
    }
    for (Conditional &node : item.conditionals) {
      TILEWRIGHT_TRY(updateOne(*node.set));
      TILEWRIGHT_TRY(node.body->update(device, addresses, changed));
    }
  }
  return Status();
}

Status CommandList::addTo(CudaDevice &device, CUgraph graph) {
  CUgraphNode before = nullptr;
  auto addCommand = [&](Command &command) -> Status {
    TILEWRIGHT_TRY(command.addTo(device, graph, before));
    before = command.graphNode();
    return Status();
  };
  for (Item &item : items) {
    if (item.command) {
      TILEWRIGHT_TRY(addCommand(*item.command));
      continue;
    }
    std::vector<CUgraphConditionalHandle> handles(item.conditionals.size());
    for (size_t i = 0; i < handles.size(); ++i) {
      Conditional &node = item.conditionals[i];
      TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuGraphConditionalHandleCreate, &handles[i], graph,
                                     device.context(), 0u, 0u));
      node.set->setHandle(handles[i]);
      if (node.setAgain)
        node.setAgain->setHandle(handles[i]);
      TILEWRIGHT_TRY(addCommand(*node.set));
    }
    for (size_t i = 0; i < handles.size(); ++i) {
      Conditional &node = item.conditionals[i];
      CUgraphNodeParams parameters = {};
      parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
      parameters.conditional = {handles[i], node.type, 1, nullptr, device.context()};
      CUgraphNode added = nullptr;
      TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuGraphAddNode, &added, graph, &before,
                                     static_cast<const CUgraphEdgeData *>(nullptr), size_t(1),
                                     &parameters));
      before = added;
      TILEWRIGHT_TRY(node.body->addTo(device, parameters.conditional.phGraph_out[0]));
    }
  }
  return Status();
}

} // namespace tilewright::runtime::cuda
