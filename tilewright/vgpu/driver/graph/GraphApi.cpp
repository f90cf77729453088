// cuGraph*: building and querying graphs.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/graph/Graph.h"
#include "tilewright/vgpu/driver/module/Module.h"

#include <algorithm>
#include <fstream>

namespace tilewright::vgpu::driver {

/// Adds a node with the type and the parameters in `params`.
static CUresult addNode(CUgraphNode *result, CUgraph handle, const CUgraphNode *dependencies,
                        size_t count, CUgraphNodeParams &params) {
  VGPU_NEED(result);
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needGraph(handle, graph));
  Work work;
  VGPU_TRY(makeWork(params, work));
  if (const auto *allocation = std::get_if<AllocateWork>(&work))
    params.alloc.dptr = allocation->asked.dptr;
  std::lock_guard lock(graph->mutex);
  std::vector<GraphNode *> nodes;
  VGPU_TRY(needNodes(*graph, dependencies, count, nodes));
  *result = static_cast<CUgraphNode>(graph->add(std::move(work), std::move(nodes))->handle);
  return CUDA_SUCCESS;
}

/// Calls `use` with the work of a node, if the work is a `T`.
template <typename T, typename Use> static CUresult withWork(CUgraphNode handle, Use use) {
  std::shared_ptr<GraphNode> node;
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needNode(handle, node, graph));
  std::lock_guard lock(graph->mutex);
  T *work = std::get_if<T>(&node->work);
  if (!work)
    return fail(CUDA_ERROR_INVALID_VALUE, "the node has a different type");
  return use(*work, *node);
}

/// Replaces the parameters of a node; they must be of the node's type.
static CUresult setWork(CUgraphNode handle, const CUgraphNodeParams &params) {
  std::shared_ptr<GraphNode> node;
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needNode(handle, node, graph));
  Work work;
  VGPU_TRY(makeWork(params, work));
  std::lock_guard lock(graph->mutex);
  if (work.index() != node->work.index())
    return fail(CUDA_ERROR_INVALID_VALUE, "the node has a different type");
  node->work = std::move(work);
  return CUDA_SUCCESS;
}

static CUgraphNodeParams paramsOf(const CUDA_KERNEL_NODE_PARAMS_v2 &kernel) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel = kernel;
  return params;
}
static CUgraphNodeParams paramsOf(const CUDA_KERNEL_NODE_PARAMS_v1 &old) {
  return paramsOf(CUDA_KERNEL_NODE_PARAMS_v2{
      old.func, old.gridDimX, old.gridDimY, old.gridDimZ, old.blockDimX, old.blockDimY,
      old.blockDimZ, old.sharedMemBytes, old.kernelParams, old.extra, nullptr, nullptr});
}
static CUgraphNodeParams paramsOf(const CUDA_MEMCPY3D &copy) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  params.memcpy = {0, 0, nullptr, copy};
  return params;
}
static CUgraphNodeParams paramsOf(const CUDA_MEMSET_NODE_PARAMS &fill) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset = {fill.dst,   fill.pitch,  fill.value, fill.elementSize,
                   fill.width, fill.height, nullptr};
  return params;
}
static CUgraphNodeParams paramsOf(const CUDA_HOST_NODE_PARAMS &host) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_HOST;
  params.host = host;
  return params;
}
static CUgraphNodeParams paramsOf(CUgraphNodeType type, CUevent event) {
  CUgraphNodeParams params{};
  params.type = type;
  params.eventWait.event = event; // an event record node has its event at the same offset
  return params;
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

/// Edges carry no data in the virtual GPU: a programmatic edge is a full dependency.
static CUresult checkEdges(const CUgraphEdgeData *edges, size_t count) {
  for (size_t i = 0; edges && i < count; ++i)
    VGPU_NEED(edges[i].type <= 1 && edges[i].to_port == 0 && edges[i].from_port <= 2);
  return CUDA_SUCCESS;
}
static void clearEdges(CUgraphEdgeData *edges, size_t count) {
  for (size_t i = 0; edges && i < count; ++i)
    edges[i] = {};
}

static CUresult changeDependencies(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t count, bool adds) {
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needGraph(handle, graph));
  std::lock_guard lock(graph->mutex);
  std::vector<GraphNode *> sources, targets;
  VGPU_TRY(needNodes(*graph, from, count, sources));
  VGPU_TRY(needNodes(*graph, to, count, targets));
  for (size_t i = 0; i < count; ++i) {
    auto &dependencies = targets[i]->dependencies;
    const bool exists =
        std::find(dependencies.begin(), dependencies.end(), sources[i]) != dependencies.end();
    if (exists == adds || sources[i] == targets[i])
      return fail(
          CUDA_ERROR_INVALID_VALUE,
          concat("edge ", i,
                 adds ? " already exists, or connects a node to itself" : " does not exist"));
  }
  for (size_t i = 0; i < count; ++i)
    if (adds)
      targets[i]->dependencies.push_back(sources[i]);
    else
      std::erase(targets[i]->dependencies, sources[i]);
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
  VGPU_NEED(graph && flags == 0);
  *graph = static_cast<CUgraph>(Driver::get().graphs.add(std::make_shared<Graph>()));
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle) {
  return Driver::get().graphs.take(handle)
             ? CUDA_SUCCESS
             : fail(CUDA_ERROR_INVALID_VALUE, "invalid or destroyed graph");
}

CUresult cuGraphClone(CUgraph *result, CUgraph originalGraph) {
  VGPU_NEED(result);
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needGraph(originalGraph, graph));
  std::lock_guard lock(graph->mutex);
  for (const std::shared_ptr<GraphNode> &node : graph->nodes)
    if (std::holds_alternative<AllocateWork>(node->work) ||
        std::holds_alternative<FreeWork>(node->work))
      return fail(CUDA_ERROR_NOT_SUPPORTED, "graphs with memory allocation nodes cannot be cloned");
  *result = static_cast<CUgraph>(Driver::get().graphs.add(graph->clone(true)));
  return CUDA_SUCCESS;
}

CUresult cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned) {
  VGPU_NEED(path);
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needGraph(handle, graph));
  std::ofstream out(path);
  std::lock_guard lock(graph->mutex);
  static constexpr const char *names[] = {"kernel", "memcpy", "memset", "host", "graph", "empty",
                                          "wait",   "record", "",       "",     "alloc", "free"};
  out << "digraph graph_1 {\n";
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    const GraphNode &node = *graph->nodes[i];
    out << "  n" << i << " [label=\"" << names[nodeTypeOf(node.work)];
    if (const auto *kernel = std::get_if<KernelWork>(&node.work))
      out << "\\n" << kernel->function->name;
    out << "\"];\n";
    for (size_t j = 0; j < graph->nodes.size(); ++j)
      if (std::find(node.dependencies.begin(), node.dependencies.end(), graph->nodes[j].get()) !=
          node.dependencies.end())
        out << "  n" << j << " -> n" << i << ";\n";
  }
  out << "}\n";
  out.flush();
  return out ? CUDA_SUCCESS : fail(CUDA_ERROR_OPERATING_SYSTEM, concat("cannot write ", path));
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *asked) {
  VGPU_NEED(asked);
  CUgraphNodeParams params = paramsOf(*asked);
  return addNode(node, graph, dependencies, count, params);
}
CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v2 *asked) {
  VGPU_NEED(asked);
  CUgraphNodeParams params = paramsOf(*asked);
  return addNode(node, graph, dependencies, count, params);
}
CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_MEMCPY3D *copy, CUcontext) {
  VGPU_NEED(copy);
  CUgraphNodeParams params = paramsOf(*copy);
  return addNode(node, graph, dependencies, count, params);
}
CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext) {
  VGPU_NEED(fill);
  CUgraphNodeParams params = paramsOf(*fill);
  return addNode(node, graph, dependencies, count, params);
}
CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                            size_t count, const CUDA_HOST_NODE_PARAMS *host) {
  VGPU_NEED(host);
  CUgraphNodeParams params = paramsOf(*host);
  return addNode(node, graph, dependencies, count, params);
}
CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  size_t count, CUgraph childGraph) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = childGraph;
  return addNode(node, graph, dependencies, count, params);
}
CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                             size_t count) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_EMPTY;
  return addNode(node, graph, dependencies, count, params);
}
CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph,
                                   const CUgraphNode *dependencies, size_t count, CUevent event) {
  CUgraphNodeParams params = paramsOf(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
  return addNode(node, graph, dependencies, count, params);
}
CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                 size_t count, CUevent event) {
  CUgraphNodeParams params = paramsOf(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
  return addNode(node, graph, dependencies, count, params);
}
CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *asked) {
  VGPU_NEED(asked);
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  params.alloc = *asked;
  VGPU_TRY(addNode(node, graph, dependencies, count, params));
  asked->dptr = params.alloc.dptr;
  return CUDA_SUCCESS;
}
CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                               size_t count, CUdeviceptr address) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  params.free.dptr = address;
  return addNode(node, graph, dependencies, count, params);
}
CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                        size_t count, CUgraphNodeParams *params) {
  VGPU_NEED(params);
  return addNode(node, graph, dependencies, count, *params);
}
CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                        const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params) {
  VGPU_TRY(checkEdges(edges, count));
  return cuGraphAddNode(node, graph, dependencies, count, params);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  VGPU_NEED(params);
  return withWork<KernelWork>(handle, [&](KernelWork &work, GraphNode &node) {
    node.parameterPointers.clear();
    for (const ParameterInfo &parameter : work.function->parameters)
      node.parameterPointers.push_back(work.parameters.data() + parameter.offset);
    *params = {static_cast<CUfunction>(work.function->handle),
               work.grid[0],
               work.grid[1],
               work.grid[2],
               work.block[0],
               work.block[1],
               work.block[2],
               work.dynamicShared,
               node.parameterPointers.data(),
               nullptr,
               nullptr,
               nullptr};
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *params) {
  VGPU_NEED(params);
  CUDA_KERNEL_NODE_PARAMS_v2 now;
  VGPU_TRY(cuGraphKernelNodeGetParams(node, &now));
  *params = {now.func,      now.gridDimX,  now.gridDimY,       now.gridDimZ,     now.blockDimX,
             now.blockDimY, now.blockDimZ, now.sharedMemBytes, now.kernelParams, now.extra};
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
  VGPU_NEED(params);
  return setWork(node, paramsOf(*params));
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  VGPU_NEED(params);
  return setWork(node, paramsOf(*params));
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params) {
  VGPU_NEED(params);
  return withWork<CopyWork>(node, [&](CopyWork &work, GraphNode &) {
    *params = work.asked;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params) {
  VGPU_NEED(params);
  return setWork(node, paramsOf(*params));
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params) {
  VGPU_NEED(params);
  return withWork<FillWork>(node, [&](FillWork &work, GraphNode &) {
    *params = {reinterpret_cast<CUdeviceptr>(work.to),
               work.pitch,
               work.value,
               work.elementSize,
               work.width,
               work.height};
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params) {
  VGPU_NEED(params);
  return setWork(node, paramsOf(*params));
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params) {
  VGPU_NEED(params);
  return withWork<HostWork>(node, [&](HostWork &work, GraphNode &) {
    *params = {work.function, work.data};
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params) {
  VGPU_NEED(params);
  return setWork(node, paramsOf(*params));
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph) {
  VGPU_NEED(graph);
  return withWork<GraphWork>(node, [&](GraphWork &work, GraphNode &) {
    // The node owns its graph; the graph gets a handle when the program first asks for it.
    if (!work.graph->handle)
      Driver::get().graphs.add(work.graph);
    *graph = static_cast<CUgraph>(work.graph->handle);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event) {
  VGPU_NEED(event);
  return withWork<RecordWork>(node, [&](RecordWork &work, GraphNode &) {
    *event = static_cast<CUevent>(work.event->handle);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return setWork(node, paramsOf(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event));
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event) {
  VGPU_NEED(event);
  return withWork<WaitWork>(node, [&](WaitWork &work, GraphNode &) {
    *event = static_cast<CUevent>(work.event->handle);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return setWork(node, paramsOf(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event));
}
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params) {
  VGPU_NEED(params);
  return withWork<AllocateWork>(node, [&](AllocateWork &work, GraphNode &) {
    *params = work.asked;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *address) {
  VGPU_NEED(address);
  return withWork<FreeWork>(node, [&](FreeWork &work, GraphNode &) {
    *address = work.address;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params) {
  VGPU_NEED(params && params->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
            params->type != CU_GRAPH_NODE_TYPE_MEM_FREE);
  return setWork(node, *params);
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID attribute,
                                       CUlaunchAttributeValue *value) {
  VGPU_NEED(value);
  return withWork<KernelWork>(node, [&](KernelWork &work, GraphNode &) {
    *value = {};
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      value->cooperative = work.cooperative;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      value->clusterDim = {work.cluster[0], work.cluster[1], work.cluster[2]};
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      value->priority = work.priority;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      value->programmaticStreamSerializationAllowed = work.programmatic;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return CUDA_SUCCESS;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE,
                  concat("unknown kernel node attribute ", int(attribute)));
    }
  });
}
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID attribute,
                                       const CUlaunchAttributeValue *value) {
  VGPU_NEED(value);
  return withWork<KernelWork>(node, [&](KernelWork &work, GraphNode &) {
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      work.cooperative = value->cooperative != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      work.cluster = {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      work.priority = value->priority;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      work.programmatic = value->programmaticStreamSerializationAllowed != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return CUDA_SUCCESS; // hints, which do not change results
    default:
      return fail(CUDA_ERROR_INVALID_VALUE,
                  concat("unknown kernel node attribute ", int(attribute)));
    }
  });
}
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  KernelWork source;
  VGPU_TRY(withWork<KernelWork>(from, [&](KernelWork &work, GraphNode &) {
    source = work;
    return CUDA_SUCCESS;
  }));
  return withWork<KernelWork>(to, [&](KernelWork &work, GraphNode &) {
    work.cooperative = source.cooperative;
    work.cluster = source.cluster;
    work.priority = source.priority;
    work.programmatic = source.programmatic;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeFindInClone(CUgraphNode *result, CUgraphNode originalNode,
                                CUgraph clonedGraph) {
  VGPU_NEED(result);
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needGraph(clonedGraph, graph));
  std::lock_guard lock(graph->mutex);
  GraphNode *found = graph->cloneOf(originalNode);
  if (!found)
    return fail(CUDA_ERROR_INVALID_VALUE, "the graph has no copy of the node");
  *result = static_cast<CUgraphNode>(found->handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type) {
  VGPU_NEED(type);
  std::shared_ptr<GraphNode> node;
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needNode(handle, node, graph));
  std::lock_guard lock(graph->mutex);
  *type = nodeTypeOf(node->work);
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *numNodes) {
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needGraph(handle, graph));
  std::lock_guard lock(graph->mutex);
  std::vector<void *> handles;
  for (const std::shared_ptr<GraphNode> &node : graph->nodes)
    handles.push_back(node->handle);
  return giveNodes(handles, nodes, numNodes);
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode *rootNodes, size_t *numRootNodes) {
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needGraph(handle, graph));
  std::lock_guard lock(graph->mutex);
  std::vector<void *> handles;
  for (const std::shared_ptr<GraphNode> &node : graph->nodes)
    if (node->dependencies.empty())
      handles.push_back(node->handle);
  return giveNodes(handles, rootNodes, numRootNodes);
}

CUresult cuGraphGetEdges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, size_t *numEdges) {
  VGPU_NEED(numEdges && !from == !to);
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needGraph(handle, graph));
  std::lock_guard lock(graph->mutex);
  std::vector<void *> sources, targets;
  for (const std::shared_ptr<GraphNode> &node : graph->nodes)
    for (const GraphNode *dependency : node->dependencies) {
      sources.push_back(dependency->handle);
      targets.push_back(node->handle);
    }
  size_t count = *numEdges;
  VGPU_TRY(giveNodes(sources, from, &count));
  return giveNodes(targets, to, numEdges);
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                         CUgraphEdgeData *edgeData, size_t *numEdges) {
  VGPU_TRY(cuGraphGetEdges(graph, from, to, numEdges));
  clearEdges(edgeData, *numEdges);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode handle, CUgraphNode *dependencies,
                                    size_t *numDependencies) {
  std::shared_ptr<GraphNode> node;
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needNode(handle, node, graph));
  std::lock_guard lock(graph->mutex);
  std::vector<void *> handles;
  for (const GraphNode *dependency : node->dependencies)
    handles.push_back(dependency->handle);
  return giveNodes(handles, dependencies, numDependencies);
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *dependencies,
                                    CUgraphEdgeData *edgeData, size_t *numDependencies) {
  VGPU_TRY(cuGraphNodeGetDependencies(node, dependencies, numDependencies));
  clearEdges(edgeData, *numDependencies);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode handle, CUgraphNode *dependentNodes,
                                      size_t *numDependentNodes) {
  std::shared_ptr<GraphNode> node;
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needNode(handle, node, graph));
  std::lock_guard lock(graph->mutex);
  std::vector<void *> handles;
  for (const std::shared_ptr<GraphNode> &other : graph->nodes)
    if (std::find(other->dependencies.begin(), other->dependencies.end(), node.get()) !=
        other->dependencies.end())
      handles.push_back(other->handle);
  return giveNodes(handles, dependentNodes, numDependentNodes);
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
  std::shared_ptr<GraphNode> node;
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needNode(handle, node, graph));
  std::lock_guard lock(graph->mutex);
  if (std::holds_alternative<AllocateWork>(node->work) ||
      std::holds_alternative<FreeWork>(node->work))
    return fail(CUDA_ERROR_NOT_SUPPORTED, "nodes that allocate or free memory cannot be removed");
  graph->remove(node.get());
  return CUDA_SUCCESS;
}

} // namespace api
} // namespace tilewright::vgpu::driver
