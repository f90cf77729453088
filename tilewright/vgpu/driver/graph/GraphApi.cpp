// cuGraph*: graphs, their nodes and the edges between them. NodeApi.cpp has the nodes' parameters.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/graph/Conditional.h"
#include "tilewright/vgpu/driver/graph/Graph.h"
#include "tilewright/vgpu/driver/module/Module.h"

#include <algorithm>
#include <fstream>

namespace tilewright::vgpu::driver {

static bool dependsOn(const GraphNode &node, const GraphNode *other) {
  return std::find(node.dependencies.begin(), node.dependencies.end(), other) !=
         node.dependencies.end();
}

static bool isMemoryNode(const GraphNode &node) {
  return std::holds_alternative<AllocateWork>(node.work) ||
         std::holds_alternative<FreeWork>(node.work);
}

/// Copies handles to the caller's array, or only returns their number.
static CUresult giveNodes(const std::vector<void *> &handles, CUgraphNode *nodes, size_t *count) {
  VGPU_NEED(count);
  if (nodes)
    for (size_t i = 0; i < *count; ++i)
      nodes[i] = i < handles.size() ? static_cast<CUgraphNode>(handles[i]) : nullptr;
  *count = nodes ? std::min(*count, handles.size()) : handles.size();
  return CUDA_SUCCESS;
}

/// Like giveNodes(), for those nodes of a graph for which `test` holds.
template <typename Test>
static CUresult giveNodesIf(const Graph &graph, CUgraphNode *nodes, size_t *count, Test test) {
  std::vector<void *> handles;
  for (const std::shared_ptr<GraphNode> &node : graph.nodes)
    if (test(*node))
      handles.push_back(node->handle);
  return giveNodes(handles, nodes, count);
}

static void clearEdges(CUgraphEdgeData *edges, size_t count) {
  for (size_t i = 0; edges && i < count; ++i)
    edges[i] = {};
}

static CUresult changeDependencies(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t count, bool adds) {
  return withGraph(handle, [&](Graph &graph) {
    std::vector<GraphNode *> sources, targets;
    VGPU_TRY(needNodes(graph, from, count, sources));
    VGPU_TRY(needNodes(graph, to, count, targets));
    for (size_t i = 0; i < count; ++i)
      if (dependsOn(*targets[i], sources[i]) == adds || sources[i] == targets[i])
        return fail(
            CUDA_ERROR_INVALID_VALUE,
            concat("edge ", i,
                   adds ? " already exists, or connects a node to itself" : " does not exist"));
    for (size_t i = 0; i < count; ++i)
      if (adds)
        targets[i]->dependencies.push_back(sources[i]);
      else
        std::erase(targets[i]->dependencies, sources[i]);
    return CUDA_SUCCESS;
  });
}

/// Writes the graph in the DOT language.
static void print(const Graph &graph, std::ostream &out) {
  static constexpr const char *names[] = {"kernel", "memcpy", "memset", "host",       "graph",
                                          "empty",  "wait",   "record", "",           "",
                                          "alloc",  "free",   "",       "conditional"};
  out << "digraph graph_1 {\n";
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode &node = *graph.nodes[i];
    out << "  n" << i << " [label=\"" << names[nodeTypeOf(node.work)];
    if (const auto *kernel = std::get_if<KernelWork>(&node.work))
      out << "\\n" << kernel->function->name;
    out << "\"];\n";
    for (size_t j = 0; j < graph.nodes.size(); ++j)
      if (dependsOn(node, graph.nodes[j].get()))
        out << "  n" << j << " -> n" << i << ";\n";
  }
  out << "}\n";
}

namespace api {

CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
  VGPU_NEED(graph && flags == 0);
  *graph = static_cast<CUgraph>(Driver::get().graphs.add(std::make_shared<Graph>()));
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle) {
  if (const std::shared_ptr<Graph> graph = Driver::get().graphs.find(handle);
      graph && graph->isBody)
    return fail(CUDA_ERROR_INVALID_VALUE, "the graph belongs to a conditional node");
  return Driver::get().graphs.take(handle)
             ? CUDA_SUCCESS
             : fail(CUDA_ERROR_INVALID_VALUE, "invalid or destroyed graph");
}

CUresult cuGraphClone(CUgraph *result, CUgraph originalGraph) {
  VGPU_NEED(result);
  return withGraph(originalGraph, [&](Graph &graph) {
    for (const std::shared_ptr<GraphNode> &node : graph.nodes)
      if (isMemoryNode(*node))
        return fail(CUDA_ERROR_NOT_SUPPORTED,
                    "graphs with memory allocation nodes cannot be cloned");
    if (hasConditional(graph))
      return fail(CUDA_ERROR_NOT_SUPPORTED, "graphs with conditional nodes cannot be cloned");
    *result = static_cast<CUgraph>(Driver::get().graphs.add(graph.clone(true)));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned) {
  VGPU_NEED(path);
  return withGraph(handle, [&](const Graph &graph) {
    std::ofstream out(path);
    print(graph, out);
    out.flush();
    return out ? CUDA_SUCCESS : fail(CUDA_ERROR_OPERATING_SYSTEM, concat("cannot write ", path));
  });
}

CUresult cuGraphNodeFindInClone(CUgraphNode *result, CUgraphNode originalNode,
                                CUgraph clonedGraph) {
  VGPU_NEED(result);
  return withGraph(clonedGraph, [&](const Graph &graph) {
    GraphNode *found = graph.cloneOf(originalNode);
    if (!found)
      return fail(CUDA_ERROR_INVALID_VALUE, "the graph has no copy of the node");
    *result = static_cast<CUgraphNode>(found->handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type) {
  VGPU_NEED(type);
  return withNode(handle, [&](const GraphNode &node, Graph &) {
    *type = nodeTypeOf(node.work);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *numNodes) {
  return withGraph(handle, [&](const Graph &graph) {
    return giveNodesIf(graph, nodes, numNodes, [](const GraphNode &) { return true; });
  });
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode *rootNodes, size_t *numRootNodes) {
  return withGraph(handle, [&](const Graph &graph) {
    return giveNodesIf(graph, rootNodes, numRootNodes,
                       [](const GraphNode &node) { return node.dependencies.empty(); });
  });
}

CUresult cuGraphGetEdges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, size_t *numEdges) {
  VGPU_NEED(numEdges && !from == !to);
  return withGraph(handle, [&](const Graph &graph) {
    std::vector<void *> sources, targets;
    for (const std::shared_ptr<GraphNode> &node : graph.nodes)
      for (const GraphNode *dependency : node->dependencies) {
        sources.push_back(dependency->handle);
        targets.push_back(node->handle);
      }
    size_t count = *numEdges;
    VGPU_TRY(giveNodes(sources, from, &count));
    return giveNodes(targets, to, numEdges);
  });
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                         CUgraphEdgeData *edgeData, size_t *numEdges) {
  VGPU_TRY(cuGraphGetEdges(graph, from, to, numEdges));
  clearEdges(edgeData, *numEdges);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode handle, CUgraphNode *dependencies,
                                    size_t *numDependencies) {
  return withNode(handle, [&](const GraphNode &node, Graph &) {
    std::vector<void *> handles;
    for (const GraphNode *dependency : node.dependencies)
      handles.push_back(dependency->handle);
    return giveNodes(handles, dependencies, numDependencies);
  });
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *dependencies,
                                    CUgraphEdgeData *edgeData, size_t *numDependencies) {
  VGPU_TRY(cuGraphNodeGetDependencies(node, dependencies, numDependencies));
  clearEdges(edgeData, *numDependencies);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode handle, CUgraphNode *dependentNodes,
                                      size_t *numDependentNodes) {
  return withNode(handle, [&](const GraphNode &node, const Graph &graph) {
    return giveNodesIf(graph, dependentNodes, numDependentNodes,
                       [&](const GraphNode &other) { return dependsOn(other, &node); });
  });
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *dependentNodes,
                                      CUgraphEdgeData *edgeData, size_t *numDependentNodes) {
  VGPU_TRY(cuGraphNodeGetDependentNodes(node, dependentNodes, numDependentNodes));
  clearEdges(edgeData, *numDependentNodes);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                size_t numDependencies) {
  return changeDependencies(graph, from, to, numDependencies, true);
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                const CUgraphEdgeData *edgeData, size_t numDependencies) {
  VGPU_TRY(checkEdges(edgeData, numDependencies));
  return changeDependencies(graph, from, to, numDependencies, true);
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t numDependencies) {
  return changeDependencies(graph, from, to, numDependencies, false);
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *, size_t numDependencies) {
  return changeDependencies(graph, from, to, numDependencies, false);
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
  return withNode(handle, [](GraphNode &node, Graph &graph) {
    if (isMemoryNode(node))
      return fail(CUDA_ERROR_NOT_SUPPORTED, "nodes that allocate or free memory cannot be removed");
    graph.remove(&node);
    return CUDA_SUCCESS;
  });
}

} // namespace api
} // namespace tilewright::vgpu::driver
