// CUDA graphs.
#ifndef TILEWRIGHT_VGPU_DRIVER_GRAPH_GRAPH_H
#define TILEWRIGHT_VGPU_DRIVER_GRAPH_GRAPH_H

#include "tilewright/vgpu/driver/Work.h"

#include <set>

namespace tilewright::vgpu::driver {

/// A node. Its graph owns it; the graph's mutex guards it.
struct GraphNode : Handled {
  std::weak_ptr<Graph> graph; // expired once the node is removed
  Work work;
  std::vector<GraphNode *> dependencies; // of the same graph
  void *clonedFrom = nullptr;            // handle of the node that this is a copy of
  bool isEnabled = true;                 // in an executable graph
  std::vector<void *> parameterPointers; // returned by cuGraphKernelNodeGetParams
};

/// A graph. By CUDA's rules only one thread at a time may use it. The mutex makes sure that a
/// program that breaks the rule does not crash the driver.
class Graph : public Handled, public std::enable_shared_from_this<Graph> {
public:
  ~Graph();

  std::mutex mutex;
  std::vector<std::shared_ptr<GraphNode>> nodes; // guarded by mutex; in the order of adding
  std::vector<std::shared_ptr<Conditional>> conditionals; // guarded by mutex; of this graph
  bool isBody = false;                                    // of a conditional node, which owns it
  std::weak_ptr<Graph> parent;                            // of a body: the graph of its node
  void *executable = nullptr; // guarded by mutex; handle of the last instantiation

  // The caller of the functions below holds the mutex.

  /// Adds a node and gives it a handle.
  GraphNode *add(Work work, std::vector<GraphNode *> dependencies);
  void remove(GraphNode *node);
  /// The nodes in topological order: each comes after its dependencies. Nodes of a cycle are
  /// missing.
  std::vector<GraphNode *> sorted() const;
  /// A deep copy, including child graphs. Each node records the node that it was copied from.
  std::shared_ptr<Graph> clone(bool hasHandles);
  /// The copy of the node with that handle, here or in the body of a conditional node; null if
  /// there is none.
  GraphNode *cloneOf(const void *handle) const;
  /// Appends the work of the whole graph to `steps`, in topological order.
  void flatten(std::vector<Work> &steps) const;
};

/// An executable graph. It is a copy, so that later changes of the graph do not affect it.
struct GraphExec : Handled {
  std::shared_ptr<Graph> graph;
  uint64_t flags = 0;
  std::mutex launching; // held during a launch: launches of one graph run in order
};

/// Runs the graph in the calling thread.
void performGraph(Context &context, Graph &graph);

CUresult needGraph(CUgraph handle, std::shared_ptr<Graph> &graph);
/// Finds a node and the graph that owns it.
CUresult needNode(CUgraphNode handle, std::shared_ptr<GraphNode> &node,
                  std::shared_ptr<Graph> &graph);
/// Calls `use` with a graph while holding the graph's mutex.
template <typename Use> CUresult withGraph(CUgraph handle, Use use) {
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needGraph(handle, graph));
  std::lock_guard lock(graph->mutex);
  return use(*graph);
}
/// Calls `use` with a node and the graph that owns it while holding the graph's mutex.
template <typename Use> CUresult withNode(CUgraphNode handle, Use use) {
  std::shared_ptr<GraphNode> node;
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needNode(handle, node, graph));
  std::lock_guard lock(graph->mutex);
  return use(*node, *graph);
}
/// Finds nodes of `graph` by handle; the caller holds its mutex.
CUresult needNodes(Graph &graph, const CUgraphNode *handles, size_t count,
                   std::vector<GraphNode *> &nodes);

/// Checks the data of edges, which may be null. The virtual GPU does not use them: a programmatic
/// edge is a full dependency.
CUresult checkEdges(const CUgraphEdgeData *edges, size_t count);

/// Converts a node's parameters to work. Conditional nodes are made by makeConditional().
CUresult makeWork(const CUgraphNodeParams &params, Work &work);
/// Replaces `to` by `from` if that is allowed in an executable graph; otherwise returns the reason.
CUgraphExecUpdateResult replaceWork(Work &to, const Work &from);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_GRAPH_GRAPH_H
