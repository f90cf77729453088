// Graphs of work.
#ifndef TILEWRIGHT_VGPU_DRIVER_GRAPH_H
#define TILEWRIGHT_VGPU_DRIVER_GRAPH_H

#include "tilewright/vgpu/driver/Work.h"

namespace tilewright::vgpu::driver {

/// A node. Its graph keeps it and guards it.
struct GraphNode : Handled {
  Graph *graph = nullptr; // null once it is taken out
  Work work;
  std::weak_ptr<Context> context; // where it runs
  std::vector<GraphNode *> dependencies;
  void *clonedFrom = nullptr; // handle of the node that this one is a copy of
  bool isEnabled = true;      // of an executable graph
};

/// A graph. One thread at a time may use it, as documented; its own mutex makes that a
/// rule about results and not about crashes.
class Graph : public Handled, public std::enable_shared_from_this<Graph> {
public:
  ~Graph();

  std::mutex mutex;
  std::vector<std::shared_ptr<GraphNode>> nodes; // guarded by mutex; as they were added

  /// Under the mutex: adds a node with dependencies that are nodes of this graph.
  std::shared_ptr<GraphNode> add(Work work, std::vector<GraphNode *> dependencies,
                                 const std::shared_ptr<Context> &context);
  /// Under the mutex: the nodes so that each comes behind its dependencies; empty if they
  /// go round in a circle.
  std::vector<GraphNode *> sorted() const;
  /// A copy; nodes know what they are copies of. Child graphs are copied too.
  std::shared_ptr<Graph> clone();
};

/// A graph that can be launched: a copy of its own, so that later changes of the graph
/// leave it alone.
struct GraphExec : Handled {
  std::shared_ptr<Graph> graph;
  uint64_t flags = 0;
  std::mutex launching; // held while it runs: launches of one come one after the other
};

/// Runs the nodes in the calling thread, each behind its dependencies.
void performGraph(Context &context, Graph &graph);

CUresult needGraph(CUgraph handle, std::shared_ptr<Graph> &graph);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_GRAPH_H
