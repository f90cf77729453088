// CommandList: launches and copies in order, and the loops and branches among them.
#ifndef TILEWRIGHT_RUNTIME_CUDA_COMMANDLIST_H
#define TILEWRIGHT_RUNTIME_CUDA_COMMANDLIST_H

#include "tilewright/runtime/cuda/Command.h"

#include <memory>
#include <vector>

namespace tilewright::runtime::cuda {

/// Commands that become consecutive nodes of a graph. A loop or branch is a conditional node: the
/// device repeats or skips the list in it without the host.
class CommandList {
public:
  /// A conditional node. `set` is a command of Conditions, which runs before the node; the body of
  /// a loop ends with another one.
  struct Conditional {
    CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
    std::unique_ptr<Command> set;
    std::unique_ptr<CommandList> body;
    Command *setAgain = nullptr; // in the body of a loop
  };

  Command &add(Command command);
  /// Sets the conditions of all nodes before the first of them runs: the bodies of branches may
  /// overwrite what selects them.
  void add(std::vector<Conditional> nodes);

  bool isEmpty() const { return items.empty(); }
  /// The only command of the list; null if there are several, or loops or branches.
  Command *single();
  /// All commands; nothing if there are loops or branches.
  std::vector<Command *> straight();

  /// Computes the argument values of this run and appends the commands whose values changed.
  Status update(CudaDevice &device, Addresses addresses, std::vector<Command *> &changed);
  /// Adds nodes to the graph, one after the other.
  Status addTo(CudaDevice &device, CUgraph graph);

private:
  struct Item {
    std::unique_ptr<Command> command;      // either this
    std::vector<Conditional> conditionals; // or these
  };
  std::vector<Item> items;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_COMMANDLIST_H
