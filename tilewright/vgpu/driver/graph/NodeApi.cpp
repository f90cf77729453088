// cuGraphAdd*Node, cuGraph*Node{Get,Set}*: nodes of each type, their parameters and attributes.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Launch.h"
#include "tilewright/vgpu/driver/graph/Conditional.h"
#include "tilewright/vgpu/driver/graph/Graph.h"
#include "tilewright/vgpu/driver/graph/NodeParams.h"
#include "tilewright/vgpu/driver/module/Module.h"

#include <functional>

namespace tilewright::vgpu::driver {

/// Adds a node with the type and the parameters in `params`.
static CUresult addNode(CUgraphNode *result, CUgraph handle, const CUgraphNode *dependencies,
                        size_t count, CUgraphNodeParams &params) {
  VGPU_NEED(result);
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needGraph(handle, graph));
  Work work;
  if (params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    VGPU_TRY(makeConditional(graph, params.conditional, work.emplace<ConditionalWork>()));
  } else {
    VGPU_TRY(makeWork(params, work));
  }
  if (const auto *allocation = std::get_if<AllocateWork>(&work))
    params.alloc.dptr = allocation->asked.dptr;
  std::lock_guard lock(graph->mutex);
  std::vector<GraphNode *> nodes;
  VGPU_TRY(needNodes(*graph, dependencies, count, nodes));
  *result = static_cast<CUgraphNode>(graph->add(std::move(work), std::move(nodes))->handle);
  return CUDA_SUCCESS;
}

static CUresult addNode(CUgraphNode *result, CUgraph handle, const CUgraphNode *dependencies,
                        size_t count, CUgraphNodeParams &&params) {
  return addNode(result, handle, dependencies, count, params);
}

/// Calls `use` with the work of a node, if the work is a `T`.
template <typename T, typename Use> static CUresult withWork(CUgraphNode handle, Use use) {
  return withNode(handle, [&](GraphNode &node, Graph &) {
    T *work = std::get_if<T>(&node.work);
    if (!work)
      return fail(CUDA_ERROR_INVALID_VALUE,
                  "the node has a different type than this function expects");
    return use(*work, node);
  });
}

/// Writes a member of the node's work, or the result of a function of it, to `result`, if the work
/// is a `T`.
template <typename T, typename Result, typename Member>
static CUresult readWork(CUgraphNode handle, Result *result, Member member) {
  return withWork<T>(handle, [&](T &work, GraphNode &) {
    *result = std::invoke(member, work);
    return CUDA_SUCCESS;
  });
}

/// The event of a record or of a wait.
static constexpr auto eventOf = [](const auto &work) {
  return static_cast<CUevent>(work.event->handle);
};

/// Replaces the parameters of a node; the new ones must be of the node's type.
static CUresult setWork(CUgraphNode handle, const CUgraphNodeParams &params) {
  std::shared_ptr<GraphNode> node;
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needNode(handle, node, graph));
  Work work;
  VGPU_TRY(makeWork(params, work));
  std::lock_guard lock(graph->mutex);
  if (work.index() != node->work.index())
    return fail(CUDA_ERROR_INVALID_VALUE,
                "the node has a different type than this function expects");
  node->work = std::move(work);
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *asked) {
  VGPU_NEED(asked);
  return addNode(node, graph, dependencies, count, paramsOf(*asked));
}
CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v2 *asked) {
  VGPU_NEED(asked);
  return addNode(node, graph, dependencies, count, paramsOf(*asked));
}
CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_MEMCPY3D *copy, CUcontext) {
  VGPU_NEED(copy);
  return addNode(node, graph, dependencies, count, paramsOf(*copy));
}
CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext) {
  VGPU_NEED(fill);
  return addNode(node, graph, dependencies, count, paramsOf(*fill));
}
CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                            size_t count, const CUDA_HOST_NODE_PARAMS *host) {
  VGPU_NEED(host);
  return addNode(node, graph, dependencies, count, paramsOf(*host));
}
CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  size_t count, CUgraph childGraph) {
  return addNode(node, graph, dependencies, count, paramsOf(childGraph));
}
CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                             size_t count) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_EMPTY;
  return addNode(node, graph, dependencies, count, params);
}
CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph,
                                   const CUgraphNode *dependencies, size_t count, CUevent event) {
  return addNode(node, graph, dependencies, count, recordParams(event));
}
CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                 size_t count, CUevent event) {
  return addNode(node, graph, dependencies, count, waitParams(event));
}
CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *asked) {
  VGPU_NEED(asked);
  CUgraphNodeParams params =
      nodeParams(CU_GRAPH_NODE_TYPE_MEM_ALLOC, &CUgraphNodeParams::alloc, *asked);
  VGPU_TRY(addNode(node, graph, dependencies, count, params));
  asked->dptr = params.alloc.dptr;
  return CUDA_SUCCESS;
}
CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                               size_t count, CUdeviceptr address) {
  return addNode(node, graph, dependencies, count,
                 nodeParams(CU_GRAPH_NODE_TYPE_MEM_FREE, &CUgraphNodeParams::free, {address}));
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
  return readWork<CopyWork>(node, params, &CopyWork::asked);
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params) {
  VGPU_NEED(params);
  return setWork(node, paramsOf(*params));
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params) {
  VGPU_NEED(params);
  return readWork<FillWork>(node, params, [](const FillWork &work) {
    return CUDA_MEMSET_NODE_PARAMS{reinterpret_cast<CUdeviceptr>(work.to),
                                   work.pitch,
                                   work.value,
                                   work.elementSize,
                                   work.width,
                                   work.height};
  });
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params) {
  VGPU_NEED(params);
  return setWork(node, paramsOf(*params));
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params) {
  VGPU_NEED(params);
  return readWork<HostWork>(node, params, [](const HostWork &work) {
    return CUDA_HOST_NODE_PARAMS{work.function, work.data};
  });
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params) {
  VGPU_NEED(params);
  return setWork(node, paramsOf(*params));
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph) {
  VGPU_NEED(graph);
  return readWork<GraphWork>(node, graph, [](const GraphWork &work) {
    // The node owns its graph; the graph gets a handle when the program first asks for it.
    if (!work.graph->handle)
      Driver::get().graphs.add(work.graph);
    return static_cast<CUgraph>(work.graph->handle);
  });
}
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event) {
  VGPU_NEED(event);
  return readWork<RecordWork>(node, event, eventOf);
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return setWork(node, recordParams(event));
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event) {
  VGPU_NEED(event);
  return readWork<WaitWork>(node, event, eventOf);
}
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return setWork(node, waitParams(event));
}
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params) {
  VGPU_NEED(params);
  return readWork<AllocateWork>(node, params, &AllocateWork::asked);
}
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *address) {
  VGPU_NEED(address);
  return readWork<FreeWork>(node, address, &FreeWork::address);
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
  return withWork<KernelWork>(
      node, [&](KernelWork &work, GraphNode &) { return takeAttribute(attribute, *value, work); });
}
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  LaunchAttributes attributes;
  VGPU_TRY(withWork<KernelWork>(from, [&](KernelWork &work, GraphNode &) {
    attributes = work;
    return CUDA_SUCCESS;
  }));
  return withWork<KernelWork>(to, [&](KernelWork &work, GraphNode &) {
    static_cast<LaunchAttributes &>(work) = attributes;
    return CUDA_SUCCESS;
  });
}

} // namespace api
} // namespace tilewright::vgpu::driver
