#include "tilewright/vgpu/driver/graph/Conditional.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Interrupt.h"
#include "tilewright/vgpu/driver/observe/Summary.h"
#include "tilewright/vgpu/machine/Externs.h"

#include <algorithm>
#include <unordered_map>

namespace tilewright::vgpu::driver {

namespace {
/// All live values, by handle. Never destroyed: kernels may run at exit.
struct Values {
  std::mutex mutex;
  std::unordered_map<CUgraphConditionalHandle, Conditional *> all; // guarded by mutex
};
Values &values() {
  static Values *ofProcess = new Values;
  return *ofProcess;
}

bool setFromKernel(uint64_t handle, uint32_t value) {
  Values &table = values();
  std::lock_guard lock(table.mutex);
  auto found = table.all.find(handle);
  if (found == table.all.end())
    return false;
  found->second->value = value;
  return true;
}
} // namespace

Conditional::Conditional(std::weak_ptr<Graph> graph, unsigned defaultValue, unsigned flags)
    : graph(std::move(graph)), handle(reinterpret_cast<CUgraphConditionalHandle>(newHandle())),
      value(defaultValue), defaultValue(defaultValue), flags(flags) {
  Values &table = values();
  std::lock_guard lock(table.mutex);
  table.all[handle] = this;
  machine::conditionalSetter = setFromKernel;
}

Conditional::~Conditional() {
  Values &table = values();
  std::lock_guard lock(table.mutex);
  table.all.erase(handle);
}

/// The value with this handle, if it was created for `graph` or for a graph that contains it.
static std::shared_ptr<Conditional> find(CUgraphConditionalHandle handle,
                                         std::shared_ptr<Graph> graph) {
  Values &table = values();
  std::shared_ptr<Conditional> found;
  {
    std::lock_guard lock(table.mutex);
    if (auto entry = table.all.find(handle); entry != table.all.end())
      found = entry->second->weak_from_this().lock();
  }
  const std::shared_ptr<Graph> owner = found ? found->graph.lock() : nullptr;
  while (owner && graph && graph != owner)
    graph = graph->parent.lock();
  return owner && graph ? found : nullptr;
}

CUresult makeConditional(const std::shared_ptr<Graph> &graph, CUDA_CONDITIONAL_NODE_PARAMS &params,
                         ConditionalWork &work) {
  const bool isIf = params.type == CU_GRAPH_COND_TYPE_IF;
  const bool isSwitch = params.type == CU_GRAPH_COND_TYPE_SWITCH;
  VGPU_NEED(isIf || isSwitch || params.type == CU_GRAPH_COND_TYPE_WHILE);
  VGPU_NEED(params.size >= 1 && (isSwitch || params.size <= (isIf ? 2u : 1u)));
  work.conditional = find(params.handle, graph);
  if (!work.conditional)
    return fail(CUDA_ERROR_INVALID_VALUE,
                "the handle of a conditional node was not created for its graph, or for one that "
                "its graph is a body of");
  if (work.conditional->isUsed.exchange(true))
    return fail(CUDA_ERROR_INVALID_VALUE, "another conditional node uses the handle");
  work.type = params.type;
  work.handles = std::make_shared<std::vector<CUgraph>>();
  for (unsigned i = 0; i < params.size; ++i) {
    auto body = std::make_shared<Graph>();
    body->isBody = true;
    body->parent = graph;
    work.handles->push_back(static_cast<CUgraph>(Driver::get().graphs.add(body)));
    work.bodies.push_back(std::move(body));
  }
  params.phGraph_out = work.handles->data();
  return CUDA_SUCCESS;
}

void dropBodies(const Work &work) {
  if (const auto *conditional = std::get_if<ConditionalWork>(&work))
    for (const std::shared_ptr<Graph> &body : conditional->bodies)
      if (body->handle)
        Driver::get().graphs.take(body->handle);
}

bool hasConditional(const Graph &graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto &node) {
    return std::holds_alternative<ConditionalWork>(node->work);
  });
}

/// Checks the nodes of a body and of the bodies nested in it.
static CUresult checkBody(const Graph &body, CUgraphInstantiateResult &outcome,
                          CUgraphNode &errorNode) {
  outcome = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
  if (body.sorted().size() != body.nodes.size())
    return fail(CUDA_ERROR_INVALID_VALUE, "the dependencies between the nodes of a conditional "
                                          "node's body are cyclic");
  for (const std::shared_ptr<GraphNode> &node : body.nodes) {
    if (const auto *inner = std::get_if<ConditionalWork>(&node->work)) {
      for (const std::shared_ptr<Graph> &graph : inner->bodies)
        VGPU_TRY(checkBody(*graph, outcome, errorNode));
    } else if (const auto *child = std::get_if<GraphWork>(&node->work)) {
      VGPU_TRY(checkBody(*child->graph, outcome, errorNode));
    } else if (!std::holds_alternative<KernelWork>(node->work) &&
               !std::holds_alternative<FunctionWork>(node->work) &&
               !std::holds_alternative<CopyWork>(node->work) &&
               !std::holds_alternative<FillWork>(node->work) &&
               !std::holds_alternative<EmptyWork>(node->work)) {
      outcome = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
      errorNode = static_cast<CUgraphNode>(node->handle);
      return fail(CUDA_ERROR_NOT_SUPPORTED,
                  concat("the body of a conditional node cannot have a node of type ",
                         int(nodeTypeOf(node->work))));
    }
  }
  return CUDA_SUCCESS;
}

CUresult checkConditionals(const Graph &graph, CUgraphInstantiateResult &outcome,
                           CUgraphNode &errorNode) {
  for (const std::shared_ptr<Conditional> &conditional : graph.conditionals)
    if (!conditional->isUsed) {
      outcome = CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
      return fail(CUDA_ERROR_INVALID_VALUE, "no conditional node uses a handle of the graph");
    }
  for (const std::shared_ptr<GraphNode> &node : graph.nodes)
    if (const auto *work = std::get_if<ConditionalWork>(&node->work))
      for (const std::shared_ptr<Graph> &body : work->bodies)
        VGPU_TRY(checkBody(*body, outcome, errorNode));
  return CUDA_SUCCESS;
}

void startConditionals(const std::vector<Work> &steps) {
  for (const Work &step : steps)
    if (const auto *work = std::get_if<ConditionalWork>(&step)) {
      work->conditional->start();
      for (const std::shared_ptr<Graph> &body : work->bodies) {
        std::vector<Work> inner;
        body->flatten(inner);
        startConditionals(inner);
      }
    }
}

static void performBody(Context &context, const std::vector<Work> &steps) {
  for (const Work &step : steps)
    perform(context, step);
}

static void performLoop(Context &context, const Conditional &conditional,
                        const std::vector<Work> &steps) {
  const InterruptScope interrupts;
  const std::chrono::nanoseconds limit = Driver::get().settings.timeLimit;
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t round = 0; conditional.value != 0 && !context.failure(); ++round) {
    const bool isLate = limit.count() > 0 && std::chrono::steady_clock::now() - begin >= limit;
    if (isLate || interrupts.isRequested()) {
      noteFailure(concat("a while node of a graph was ",
                         isLate ? "stopped by --timeout" : "interrupted", " after ", round,
                         " rounds"));
      context.setFailure(isLate ? CUDA_ERROR_LAUNCH_TIMEOUT : CUDA_ERROR_LAUNCH_FAILED);
      return;
    }
    performBody(context, steps);
  }
}

void performConditional(Context &context, const ConditionalWork &work) {
  std::vector<std::vector<Work>> bodies(work.bodies.size());
  for (size_t i = 0; i < bodies.size(); ++i) {
    std::lock_guard lock(work.bodies[i]->mutex);
    work.bodies[i]->flatten(bodies[i]);
  }
  const uint32_t value = work.conditional->value;
  switch (work.type) {
  case CU_GRAPH_COND_TYPE_WHILE:
    return performLoop(context, *work.conditional, bodies[0]);
  case CU_GRAPH_COND_TYPE_IF:
    if (const size_t body = value != 0 ? 0 : 1; body < bodies.size())
      performBody(context, bodies[body]);
    return;
  case CU_GRAPH_COND_TYPE_SWITCH:
    if (value < bodies.size())
      performBody(context, bodies[value]);
    return;
  }
}

namespace api {

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graphHandle,
                                        CUcontext contextHandle, unsigned defaultLaunchValue,
                                        unsigned flags) {
  VGPU_NEED(handle && (flags & ~conditionalAssignDefault) == 0);
  if (contextHandle)
    VGPU_NEED(Driver::get().contexts.find(contextHandle));
  return withGraph(graphHandle, [&](Graph &graph) {
    graph.conditionals.push_back(
        std::make_shared<Conditional>(graph.weak_from_this(), defaultLaunchValue, flags));
    *handle = graph.conditionals.back()->handle;
    return CUDA_SUCCESS;
  });
}

} // namespace api
} // namespace tilewright::vgpu::driver
