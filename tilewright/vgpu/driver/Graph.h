// Graphs of work.
#ifndef TILEWRIGHT_VGPU_DRIVER_GRAPH_H
#define TILEWRIGHT_VGPU_DRIVER_GRAPH_H

#include "tilewright/vgpu/driver/Work.h"

#include <set>

namespace tilewright::vgpu::driver {

/// A node. Its graph keeps it; the graph's mutex guards it.
struct GraphNode : Handled {
  std::weak_ptr<Graph> graph; // expired once it is taken out
  Work work;
  std::vector<GraphNode *> dependencies; // of the same graph
  void *clonedFrom = nullptr;            // handle of the node that this one is a copy of
  bool isEnabled = true;                 // of an executable graph
  std::vector<void *> parameterPointers; // what cuGraphKernelNodeGetParams gave out
};

/// A graph. As documented, one thread at a time may use it; the mutex makes breaking that
/// rule wrong, but no crash.
class Graph : public Handled, public std::enable_shared_from_this<Graph> {
public:
  ~Graph();

  std::mutex mutex;
  std::vector<std::shared_ptr<GraphNode>> nodes; // guarded by mutex; as they were added

  // All of these under the mutex.
  /// Adds a node, which gets a handle.
  GraphNode *add(Work work, std::vector<GraphNode *> dependencies);
  void remove(GraphNode *node);
  /// The nodes so that each comes behind its dependencies; fewer of them if they go round
  /// in a circle.
  std::vector<GraphNode *> sorted() const;
  /// A copy whose nodes know what they are copies of. Child graphs are copied too.
  std::shared_ptr<Graph> clone(bool hasHandles);
  /// The copy of the node with that handle; null if there is none.
  GraphNode *cloneOf(const void *handle) const;
  /// What has to be done for the whole graph, in an order that is right.
  void flatten(std::vector<Work> &steps) const;
};

/// A graph that can be launched: a copy, so that later changes of the graph leave it alone.
struct GraphExec : Handled {
  std::shared_ptr<Graph> graph;
  uint64_t flags = 0;
  std::mutex launching; // held while it runs: launches of one come one after the other
};

/// Runs the graph in the calling thread.
void performGraph(Context &context, Graph &graph);

CUresult needGraph(CUgraph handle, std::shared_ptr<Graph> &graph);
/// Finds a node and the graph that keeps it.
CUresult needNode(CUgraphNode handle, std::shared_ptr<GraphNode> &node,
                  std::shared_ptr<Graph> &graph);
/// Nodes of `graph` by handle; under its mutex.
CUresult needNodes(Graph &graph, const CUgraphNode *handles, size_t count,
                   std::vector<GraphNode *> &nodes);

// What nodes are given and asked for, as work.
CUresult makeKernel(const CUDA_KERNEL_NODE_PARAMS_v2 &params, KernelWork &work);
CUresult makeWork(const CUgraphNodeParams &params, Work &work);
/// Whether `to` may be replaced by `from` in an executable graph; then it is.
CUgraphExecUpdateResult replaceWork(Work &to, const Work &from);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_GRAPH_H
