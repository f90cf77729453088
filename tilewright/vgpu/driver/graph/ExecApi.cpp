// cuGraphInstantiate*, cuGraphExec*, cuGraphLaunch.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/graph/Capture.h"
#include "tilewright/vgpu/driver/graph/Conditional.h"
#include "tilewright/vgpu/driver/graph/Graph.h"
#include "tilewright/vgpu/driver/graph/NodeParams.h"

#include <algorithm>
#include <cstring>

namespace tilewright::vgpu::driver {

static CUresult needExec(CUgraphExec handle, std::shared_ptr<GraphExec> &exec) {
  exec = Driver::get().execs.find(handle);
  return exec ? CUDA_SUCCESS
              : fail(CUDA_ERROR_INVALID_VALUE, "invalid or destroyed executable graph");
}

static CUresult instantiate(CUgraphExec *result, CUgraph handle, uint64_t flags,
                            CUgraphInstantiateResult &outcome, CUgraphNode &errorNode) {
  outcome = CUDA_GRAPH_INSTANTIATE_ERROR;
  VGPU_NEED(result && (flags & ~uint64_t(15)) == 0);
  if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) {
    outcome = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
    return fail(CUDA_ERROR_NOT_SUPPORTED, "graphs cannot be launched from a device");
  }
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needGraph(handle, graph));
  std::lock_guard lock(graph->mutex);
  if (const std::vector<GraphNode *> order = graph->sorted(); order.size() != graph->nodes.size()) {
    outcome = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    for (const std::shared_ptr<GraphNode> &node : graph->nodes)
      if (std::find(order.begin(), order.end(), node.get()) == order.end())
        errorNode = static_cast<CUgraphNode>(node->handle);
    return fail(CUDA_ERROR_INVALID_VALUE,
                "the dependencies between the nodes of the graph are cyclic");
  }
  VGPU_TRY(checkConditionals(*graph, outcome, errorNode));
  if (hasConditional(*graph) && Driver::get().execs.find(graph->executable)) {
    outcome = CUDA_GRAPH_INSTANTIATE_ERROR;
    return fail(CUDA_ERROR_NOT_SUPPORTED,
                "a graph with conditional nodes has only one executable graph at a time");
  }
  auto exec = std::make_shared<GraphExec>();
  exec->graph = graph->clone(false);
  exec->flags = flags;
  *result = static_cast<CUgraphExec>(graph->executable = Driver::get().execs.add(exec));
  outcome = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return CUDA_SUCCESS;
}

/// Changes an executable graph's copy of a node.
static CUresult setWork(CUgraphExec handle, CUgraphNode node, const CUgraphNodeParams &params) {
  std::shared_ptr<GraphExec> exec;
  VGPU_TRY(needExec(handle, exec));
  Work work;
  VGPU_TRY(makeWork(params, work));
  std::lock_guard lock(exec->graph->mutex);
  GraphNode *copy = exec->graph->cloneOf(node);
  if (!copy)
    return fail(CUDA_ERROR_INVALID_VALUE,
                "the node does not belong to the graph that was instantiated");
  if (const auto *old = std::get_if<KernelWork>(&copy->work))
    if (LaunchAttributes *attributes = std::get_if<KernelWork>(&work))
      *attributes = *old; // the new parameters do not change the attributes
  return replaceWork(copy->work, work) == CU_GRAPH_EXEC_UPDATE_SUCCESS
             ? CUDA_SUCCESS
             : fail(CUDA_ERROR_INVALID_VALUE,
                    "this change is not allowed for nodes of an executable graph");
}

/// Updates `to` if both graphs have the same nodes with the same edges, in the order in which they
/// were added.
static CUgraphExecUpdateResult update(Graph &to, Graph &from, GraphNode *&errorNode) {
  if (to.nodes.size() != from.nodes.size())
    return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  auto indexOf = [](const Graph &graph, const GraphNode *node) {
    return std::find_if(graph.nodes.begin(), graph.nodes.end(),
                        [&](const auto &one) { return one.get() == node; }) -
           graph.nodes.begin();
  };
  auto edgesOf = [&](const Graph &graph, const GraphNode &node) {
    std::vector<ptrdiff_t> indices;
    for (const GraphNode *dependency : node.dependencies)
      indices.push_back(indexOf(graph, dependency));
    std::sort(indices.begin(), indices.end());
    return indices;
  };
  for (size_t i = 0; i < to.nodes.size(); ++i) {
    errorNode = from.nodes[i].get();
    if (edgesOf(to, *to.nodes[i]) != edgesOf(from, *from.nodes[i]))
      return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    Work tried = to.nodes[i]->work;
    if (!std::holds_alternative<GraphWork>(tried) &&
        !std::holds_alternative<ConditionalWork>(tried))
      if (CUgraphExecUpdateResult result = replaceWork(tried, from.nodes[i]->work))
        return result;
  }
  // Change nodes only now that all are known to be updatable: the update is all or nothing.
  for (size_t i = 0; i < to.nodes.size(); ++i) {
    errorNode = from.nodes[i].get();
    if (CUgraphExecUpdateResult result = replaceWork(to.nodes[i]->work, from.nodes[i]->work))
      return result;
    to.nodes[i]->clonedFrom = from.nodes[i]->handle;
  }
  errorNode = nullptr;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

namespace api {

CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *errorNode,
                            char *logBuffer, size_t bufferSize) {
  CUgraphInstantiateResult outcome{};
  CUgraphNode node = nullptr;
  const CUresult result = instantiate(exec, graph, 0, outcome, node);
  if (errorNode)
    *errorNode = node;
  if (logBuffer && bufferSize > 0) {
    const char *text = node ? "the dependencies between the nodes are cyclic" : "";
    std::strncpy(logBuffer, text, bufferSize - 1);
    logBuffer[bufferSize - 1] = 0;
  }
  return result;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
  CUgraphInstantiateResult outcome{};
  CUgraphNode node = nullptr;
  return instantiate(exec, graph, flags, outcome, node);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *params) {
  VGPU_NEED(params);
  params->hErrNode_out = nullptr;
  return instantiate(exec, graph, params->flags, params->result_out, params->hErrNode_out);
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, uint64_t *flags) {
  VGPU_NEED(flags);
  std::shared_ptr<GraphExec> exec;
  VGPU_TRY(needExec(handle, exec));
  *flags = exec->flags;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return Driver::get().execs.take(handle)
             ? CUDA_SUCCESS
             : fail(CUDA_ERROR_INVALID_VALUE, "invalid or destroyed executable graph");
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params) {
  VGPU_NEED(params && params->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  return setWork(exec, node, *params);
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v2 *kernel) {
  VGPU_NEED(kernel);
  return setWork(exec, node, paramsOf(*kernel));
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *old) {
  VGPU_NEED(old);
  return setWork(exec, node, paramsOf(*old));
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D *copy, CUcontext) {
  VGPU_NEED(copy);
  return setWork(exec, node, paramsOf(*copy));
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext) {
  VGPU_NEED(fill);
  return setWork(exec, node, paramsOf(*fill));
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS *host) {
  VGPU_NEED(host);
  return setWork(exec, node, paramsOf(*host));
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            CUgraph childGraph) {
  return setWork(exec, node, paramsOf(childGraph));
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return setWork(exec, node, recordParams(event));
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return setWork(exec, node, waitParams(event));
}

CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node, unsigned isEnabled) {
  std::shared_ptr<GraphExec> exec;
  VGPU_TRY(needExec(handle, exec));
  std::lock_guard lock(exec->graph->mutex);
  GraphNode *copy = exec->graph->cloneOf(node);
  VGPU_NEED(copy);
  if (!std::holds_alternative<KernelWork>(copy->work) &&
      !std::holds_alternative<CopyWork>(copy->work) &&
      !std::holds_alternative<FillWork>(copy->work))
    return fail(CUDA_ERROR_INVALID_VALUE, "only kernel, copy and memset nodes can be disabled");
  copy->isEnabled = isEnabled != 0;
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node, unsigned *isEnabled) {
  VGPU_NEED(isEnabled);
  std::shared_ptr<GraphExec> exec;
  VGPU_TRY(needExec(handle, exec));
  std::lock_guard lock(exec->graph->mutex);
  GraphNode *copy = exec->graph->cloneOf(node);
  VGPU_NEED(copy);
  *isEnabled = copy->isEnabled;
  return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream streamHandle) {
  std::shared_ptr<GraphExec> exec;
  VGPU_TRY(needExec(handle, exec));
  std::shared_ptr<Stream> stream;
  return needStream(streamHandle, stream); // there is nothing to upload to
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream streamHandle) {
  std::shared_ptr<GraphExec> exec;
  VGPU_TRY(needExec(handle, exec));
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(streamHandle, stream));
  // During a capture, the launch becomes a node with a copy of the graph.
  if (isCapturing(*stream)) {
    GraphWork work;
    {
      std::lock_guard lock(exec->graph->mutex);
      if (hasConditional(*exec->graph))
        return fail(CUDA_ERROR_NOT_SUPPORTED, "a graph with conditional nodes cannot be captured");
      work.graph = exec->graph->clone(true);
    }
    return submit(stream, std::move(work));
  }
  VGPU_TRY(refuseImplicit(*stream));
  // The launch runs the graph as it is now, even if the program changes it later.
  auto steps = std::make_shared<std::vector<Work>>();
  {
    std::lock_guard lock(exec->graph->mutex);
    exec->graph->flatten(*steps);
  }
  std::shared_ptr<Fence> fence = stream->enqueue([exec, steps, context = stream->context] {
    std::lock_guard lock(exec->launching);
    startConditionals(*steps);
    for (const Work &step : *steps)
      perform(*context, step);
  });
  if (stream->kind != Stream::Kind::legacy || !Driver::get().settings.defaultStreamWaits)
    return CUDA_SUCCESS;
  fence->waitOnHost();
  return stream->context->tellFailure();
}

CUresult cuGraphExecUpdate(CUgraphExec handle, CUgraph graphHandle, CUgraphNode *errorNode,
                           CUgraphExecUpdateResult *updateResult) {
  VGPU_NEED(updateResult);
  CUgraphExecUpdateResultInfo info{};
  const CUresult result = cuGraphExecUpdate(handle, graphHandle, &info);
  *updateResult = info.result;
  if (errorNode)
    *errorNode = info.errorNode;
  return result;
}

CUresult cuGraphExecUpdate(CUgraphExec handle, CUgraph graphHandle,
                           CUgraphExecUpdateResultInfo *resultInfo) {
  VGPU_NEED(resultInfo);
  *resultInfo = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
  std::shared_ptr<GraphExec> exec;
  VGPU_TRY(needExec(handle, exec));
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needGraph(graphHandle, graph));
  std::scoped_lock lock(exec->graph->mutex, graph->mutex);
  GraphNode *node = nullptr;
  resultInfo->result = update(*exec->graph, *graph, node);
  if (resultInfo->result == CU_GRAPH_EXEC_UPDATE_SUCCESS)
    return CUDA_SUCCESS;
  resultInfo->errorNode = node ? static_cast<CUgraphNode>(node->handle) : nullptr;
  return fail(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
              concat("cannot update the executable graph: CUgraphExecUpdateResult ",
                     int(resultInfo->result)));
}

} // namespace api
} // namespace tilewright::vgpu::driver
