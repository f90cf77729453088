// Conditional nodes of graphs: bodies that run if, or as long as, a value is not 0. Kernels set the
// value with cudaGraphSetConditional.
#ifndef TILEWRIGHT_VGPU_DRIVER_GRAPH_CONDITIONAL_H
#define TILEWRIGHT_VGPU_DRIVER_GRAPH_CONDITIONAL_H

#include "tilewright/vgpu/driver/graph/Graph.h"

namespace tilewright::vgpu::driver {

/// The value behind a CUgraphConditionalHandle. The graph that it was created for owns it, and so
/// do executable graphs; code on the device finds it by its handle.
class Conditional : public std::enable_shared_from_this<Conditional> {
public:
  Conditional(std::weak_ptr<Graph> graph, unsigned defaultValue, unsigned flags);
  ~Conditional();
  Conditional(const Conditional &) = delete;

  const std::weak_ptr<Graph> graph; // that it was created for
  const CUgraphConditionalHandle handle;
  std::atomic<uint32_t> value;
  std::atomic<bool> isUsed = false; // by a node; a handle belongs to one node

  /// Called when a launch of the graph begins.
  void start() {
    if (flags & conditionalAssignDefault)
      value = defaultValue;
  }

private:
  const uint32_t defaultValue;
  const unsigned flags;
};

/// Makes a conditional node of `graph` with empty bodies and returns their handles, which the node
/// owns, in `params`.
CUresult makeConditional(const std::shared_ptr<Graph> &graph, CUDA_CONDITIONAL_NODE_PARAMS &params,
                         ConditionalWork &work);
/// Removes the handles of the bodies when the node is removed.
void dropBodies(const Work &work);

/// Whether the graph has conditional nodes. Such a graph cannot be copied or be a child.
bool hasConditional(const Graph &graph);

/// Checks a graph for instantiation: its conditional handles are used, its bodies contain only
/// permitted types of nodes, and no body has a cycle.
CUresult checkConditionals(const Graph &graph, CUgraphInstantiateResult &outcome,
                           CUgraphNode &errorNode);

/// Resets the values of all conditional nodes among `steps`, and in their bodies, to their
/// defaults.
void startConditionals(const std::vector<Work> &steps);

/// Runs the node. A loop ends with a failure of the context after the time limit of a launch, or if
/// the user interrupts it.
void performConditional(Context &context, const ConditionalWork &work);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_GRAPH_CONDITIONAL_H
