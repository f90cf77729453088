#include "tilewright/vgpu/driver/graph/Graph.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Copy.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Launch.h"
#include "tilewright/vgpu/driver/Pool.h"
#include "tilewright/vgpu/driver/graph/Conditional.h"

#include <algorithm>
#include <unordered_map>

namespace tilewright::vgpu::driver {

Graph::~Graph() {
  for (const std::shared_ptr<GraphNode> &node : nodes) {
    if (node->handle)
      Driver::get().nodes.take(node->handle);
    dropBodies(node->work);
  }
}

GraphNode *Graph::add(Work work, std::vector<GraphNode *> dependencies) {
  auto node = std::make_shared<GraphNode>();
  node->graph = weak_from_this();
  node->work = std::move(work);
  for (GraphNode *one : dependencies)
    if (std::find(node->dependencies.begin(), node->dependencies.end(), one) ==
        node->dependencies.end())
      node->dependencies.push_back(one);
  Driver::get().nodes.add(node);
  nodes.push_back(node);
  return node.get();
}

void Graph::remove(GraphNode *node) {
  for (const std::shared_ptr<GraphNode> &other : nodes)
    std::erase(other->dependencies, node);
  Driver::get().nodes.take(node->handle);
  dropBodies(node->work);
  std::erase_if(nodes, [&](const std::shared_ptr<GraphNode> &one) { return one.get() == node; });
}

std::vector<GraphNode *> Graph::sorted() const {
  std::unordered_map<GraphNode *, size_t> waitingFor;
  std::unordered_map<GraphNode *, std::vector<GraphNode *>> dependents;
  for (const std::shared_ptr<GraphNode> &node : nodes) {
    waitingFor[node.get()] = node->dependencies.size();
    for (GraphNode *dependency : node->dependencies)
      dependents[dependency].push_back(node.get());
  }
  std::vector<GraphNode *> order;
  for (const std::shared_ptr<GraphNode> &node : nodes)
    if (node->dependencies.empty())
      order.push_back(node.get());
  for (size_t i = 0; i < order.size(); ++i)
    for (GraphNode *dependent : dependents[order[i]])
      if (--waitingFor[dependent] == 0)
        order.push_back(dependent);
  return order;
}

std::shared_ptr<Graph> Graph::clone(bool hasHandles) {
  auto copy = std::make_shared<Graph>();
  std::unordered_map<GraphNode *, GraphNode *> copies;
  for (const std::shared_ptr<GraphNode> &node : nodes) {
    auto made = std::make_shared<GraphNode>();
    made->graph = copy;
    made->work = node->work;
    made->clonedFrom = node->handle ? node->handle : node->clonedFrom;
    made->isEnabled = node->isEnabled;
    if (auto *child = std::get_if<GraphWork>(&made->work)) {
      std::lock_guard lock(child->graph->mutex);
      child->graph = child->graph->clone(hasHandles);
    } else if (auto *conditional = std::get_if<ConditionalWork>(&made->work)) {
      for (std::shared_ptr<Graph> &body : conditional->bodies) {
        std::lock_guard lock(body->mutex);
        body = body->clone(hasHandles);
      }
    }
    if (hasHandles)
      Driver::get().nodes.add(made);
    copies[node.get()] = made.get();
    copy->nodes.push_back(std::move(made));
  }
  for (const std::shared_ptr<GraphNode> &node : nodes)
    for (GraphNode *dependency : node->dependencies)
      copies[node.get()]->dependencies.push_back(copies[dependency]);
  return copy;
}

GraphNode *Graph::cloneOf(const void *handle) const {
  for (const std::shared_ptr<GraphNode> &node : nodes)
    if (node->clonedFrom == handle)
      return node.get();
  for (const std::shared_ptr<GraphNode> &node : nodes)
    if (const auto *conditional = std::get_if<ConditionalWork>(&node->work))
      for (const std::shared_ptr<Graph> &body : conditional->bodies)
        if (GraphNode *found = body->cloneOf(handle))
          return found;
  return nullptr;
}

void Graph::flatten(std::vector<Work> &steps) const {
  for (const GraphNode *node : sorted()) {
    if (!node->isEnabled)
      continue;
    if (const auto *child = std::get_if<GraphWork>(&node->work)) {
      std::lock_guard lock(child->graph->mutex);
      child->graph->flatten(steps);
    } else {
      steps.push_back(node->work);
      // A copy, because later changes of the graph must not affect this run.
      if (auto *conditional = std::get_if<ConditionalWork>(&steps.back()))
        for (std::shared_ptr<Graph> &body : conditional->bodies) {
          std::lock_guard lock(body->mutex);
          body = body->clone(false);
        }
    }
  }
}

void performGraph(Context &context, Graph &graph) {
  std::vector<Work> steps;
  {
    std::lock_guard lock(graph.mutex);
    graph.flatten(steps);
  }
  for (const Work &step : steps)
    perform(context, step);
}

CUresult needGraph(CUgraph handle, std::shared_ptr<Graph> &graph) {
  graph = Driver::get().graphs.find(handle);
  return graph ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "invalid or destroyed graph");
}

CUresult needNode(CUgraphNode handle, std::shared_ptr<GraphNode> &node,
                  std::shared_ptr<Graph> &graph) {
  node = Driver::get().nodes.find(handle);
  graph = node ? node->graph.lock() : nullptr;
  return graph ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "invalid or destroyed graph node");
}

CUresult needNodes(Graph &graph, const CUgraphNode *handles, size_t count,
                   std::vector<GraphNode *> &nodes) {
  VGPU_NEED(handles || count == 0);
  for (size_t i = 0; i < count; ++i) {
    std::shared_ptr<GraphNode> node = Driver::get().nodes.find(handles[i]);
    if (!node || node->graph.lock().get() != &graph)
      return fail(CUDA_ERROR_INVALID_VALUE,
                  concat("dependency ", i, " is not a node of the graph"));
    nodes.push_back(node.get());
  }
  return CUDA_SUCCESS;
}

CUresult checkEdges(const CUgraphEdgeData *edges, size_t count) {
  for (size_t i = 0; edges && i < count; ++i)
    VGPU_NEED(edges[i].type <= 1 && edges[i].to_port == 0 && edges[i].from_port <= 2);
  return CUDA_SUCCESS;
}

static CUresult makeKernel(const CUDA_KERNEL_NODE_PARAMS_v2 &params, KernelWork &work) {
  std::shared_ptr<Context> context;
  if (params.ctx) {
    context = Driver::get().contexts.find(params.ctx);
    VGPU_NEED(context);
  } else {
    VGPU_TRY(needContext(context));
  }
  const void *handle = params.func ? static_cast<const void *>(params.func) : params.kern;
  std::shared_ptr<Function> function;
  VGPU_TRY(needFunction(handle, context->device, function));
  const CUlaunchConfig config{
      params.gridDimX,  params.gridDimY,       params.gridDimZ, params.blockDimX, params.blockDimY,
      params.blockDimZ, params.sharedMemBytes, nullptr,         nullptr,          0};
  return makeLaunch(config, function, params.kernelParams, params.extra, work);
}

CUresult makeWork(const CUgraphNodeParams &params, Work &work) {
  switch (params.type) {
  case CU_GRAPH_NODE_TYPE_KERNEL:
    return makeKernel(params.kernel, work.emplace<KernelWork>());
  case CU_GRAPH_NODE_TYPE_MEMCPY:
    return makeCopy(params.memcpy.copyParams, work.emplace<CopyWork>());
  case CU_GRAPH_NODE_TYPE_MEMSET: {
    const CUDA_MEMSET_NODE_PARAMS_v2 &fill = params.memset;
    return makeFill({fill.dst, fill.pitch, fill.value, fill.elementSize, fill.width, fill.height},
                    work.emplace<FillWork>());
  }
  case CU_GRAPH_NODE_TYPE_HOST:
    VGPU_NEED(params.host.fn);
    work = HostWork{params.host.fn, params.host.userData};
    return CUDA_SUCCESS;
  case CU_GRAPH_NODE_TYPE_GRAPH: {
    std::shared_ptr<Graph> child;
    VGPU_TRY(needGraph(params.graph.graph, child));
    std::lock_guard lock(child->mutex);
    if (hasConditional(*child))
      return fail(CUDA_ERROR_NOT_SUPPORTED, "a graph with conditional nodes cannot be a child");
    work = GraphWork{child->clone(true)};
    return CUDA_SUCCESS;
  }
  case CU_GRAPH_NODE_TYPE_EMPTY:
    work = EmptyWork{};
    return CUDA_SUCCESS;
  case CU_GRAPH_NODE_TYPE_WAIT_EVENT: {
    WaitWork wait;
    VGPU_TRY(needEvent(params.eventWait.event, wait.event));
    work = std::move(wait);
    return CUDA_SUCCESS;
  }
  case CU_GRAPH_NODE_TYPE_EVENT_RECORD: {
    RecordWork record;
    VGPU_TRY(needEvent(params.eventRecord.event, record.event));
    work = std::move(record);
    return CUDA_SUCCESS;
  }
  case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
    std::shared_ptr<Context> context;
    VGPU_TRY(needContext(context));
    const CUDA_MEM_ALLOC_NODE_PARAMS &asked = params.alloc;
    VGPU_NEED(asked.bytesize && asked.poolProps.allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
              asked.poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    Device *device = nullptr;
    VGPU_TRY(needDevice(asked.poolProps.location.id, device));
    AllocateWork made;
    made.asked = asked;
    {
      std::lock_guard lock(device->mutex);
      made.pool = device->defaultPool;
    }
    VGPU_TRY(allocateFrom(made.pool, *context, asked.bytesize, true, made.asked.dptr));
    made.reservation = reservationOf(made.asked.dptr);
    work = std::move(made);
    return CUDA_SUCCESS;
  }
  case CU_GRAPH_NODE_TYPE_MEM_FREE:
    VGPU_NEED(params.free.dptr);
    work = FreeWork{params.free.dptr};
    return CUDA_SUCCESS;
  default:
    return fail(CUDA_ERROR_NOT_SUPPORTED,
                concat("nodes of type ", int(params.type), " are not supported"));
  }
}

/// Replaces the work of all nodes of a child graph or of a body.
static CUgraphExecUpdateResult replaceNodes(Graph &mine, Graph &other) {
  std::scoped_lock lock(mine.mutex, other.mutex);
  if (mine.nodes.size() != other.nodes.size())
    return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (size_t i = 0; i < mine.nodes.size(); ++i)
    if (auto result = replaceWork(mine.nodes[i]->work, other.nodes[i]->work))
      return result;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUgraphExecUpdateResult replaceWork(Work &to, const Work &from) {
  if (to.index() != from.index())
    return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
  if (auto *kernel = std::get_if<KernelWork>(&to)) {
    const auto &other = std::get<KernelWork>(from);
    if (&kernel->function->binary->device != &other.function->binary->device)
      return CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED;
  } else if (auto *allocation = std::get_if<AllocateWork>(&to)) {
    if (allocation->asked.dptr != std::get<AllocateWork>(from).asked.dptr)
      return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  } else if (auto *release = std::get_if<FreeWork>(&to)) {
    if (release->address != std::get<FreeWork>(from).address)
      return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  } else if (auto *child = std::get_if<GraphWork>(&to)) {
    return replaceNodes(*child->graph, *std::get<GraphWork>(from).graph);
  } else if (auto *conditional = std::get_if<ConditionalWork>(&to)) {
    const auto &other = std::get<ConditionalWork>(from);
    if (conditional->conditional != other.conditional || conditional->type != other.type ||
        conditional->bodies.size() != other.bodies.size())
      return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    for (size_t i = 0; i < other.bodies.size(); ++i)
      if (auto result = replaceNodes(*conditional->bodies[i], *other.bodies[i]))
        return result;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  }
  to = from;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

} // namespace tilewright::vgpu::driver
