// Conditional nodes of graphs: loops and branches that kernels decide.
#include "tilewright/vgpu/driver/testing/Driver.h"

#include "gmock/gmock.h"

namespace tilewright::vgpu::driver {
namespace {

constexpr const char *ptx = R"(
.version 7.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
// Adds `by` to an int and sets the condition to how much is left to `limit`.
.visible .entry step(.param .u64 data, .param .u32 by, .param .u32 limit, .param .u64 handle)
{
  .reg .b64 %p, %h; .reg .b32 %v, %by, %limit; .reg .pred %is;
  .param .b64 h; .param .b32 v;
  ld.param.u64 %p, [data];
  ld.param.u32 %by, [by];
  ld.param.u32 %limit, [limit];
  ld.param.u64 %h, [handle];
  ld.global.u32 %v, [%p];
  add.u32 %v, %v, %by;
  st.global.u32 [%p], %v;
  setp.ge.u32 %is, %v, %limit;
  sub.u32 %v, %limit, %v;
  selp.u32 %v, 0, %v, %is;
  st.param.b64 [h], %h;
  st.param.b32 [v], %v;
  call.uni cudaGraphSetConditional, (h, v);
  ret;
}
.visible .entry set(.param .u64 handle, .param .u32 value)
{
  .reg .b64 %h; .reg .b32 %v;
  .param .b64 h; .param .b32 v;
  ld.param.u64 %h, [handle];
  ld.param.u32 %v, [value];
  st.param.b64 [h], %h;
  st.param.b32 [v], %v;
  call.uni cudaGraphSetConditional, (h, v);
  ret;
}
)";

class ConditionalTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    module = load(ptx);
    step = function(module, "step");
    set = function(module, "set");
    data = allocate(128);
    EXPECT_CUDA(cuda().cuMemsetD32_v2(data, 0, 32));
    EXPECT_CUDA(cuda().cuGraphCreate(&graph, 0));
  }
  int value(size_t index = 0) {
    int result = -1;
    EXPECT_CUDA(cuda().cuMemcpyDtoH_v2(&result, data + 4 * index, 4));
    return result;
  }
  CUgraphConditionalHandle newHandle(CUgraph of, unsigned initial = 0, unsigned flags = 0) {
    CUgraphConditionalHandle handle = 0;
    EXPECT_CUDA(cuda().cuGraphConditionalHandleCreate(&handle, of, context, initial, flags));
    return handle;
  }
  CUgraphNode addKernel(CUgraph to, std::vector<CUgraphNode> behind, CUfunction kernel,
                        std::vector<void *> values, unsigned threads = 1) {
    CUDA_KERNEL_NODE_PARAMS_v2 params{kernel,        1,       1,       1,      threads, 1, 1, 0,
                                      values.data(), nullptr, nullptr, nullptr};
    CUgraphNode node = nullptr;
    EXPECT_CUDA(cuda().cuGraphAddKernelNode_v2(&node, to, behind.data(), behind.size(), &params));
    return node;
  }
  CUgraphNode addStep(CUgraph to, std::vector<CUgraphNode> behind, size_t index, unsigned by,
                      unsigned limit, CUgraphConditionalHandle handle) {
    CUdeviceptr pointer = data + 4 * index;
    return addKernel(to, std::move(behind), step, {&pointer, &by, &limit, &handle});
  }
  CUgraphNode addSet(CUgraph to, CUgraphConditionalHandle handle, unsigned newValue) {
    return addKernel(to, {}, set, {&handle, &newValue});
  }
  CUgraphNode addFill(CUgraph to, size_t index, unsigned what) {
    CUDA_MEMSET_NODE_PARAMS params{data + 4 * index, 0, what, 4, 1, 1};
    CUgraphNode node = nullptr;
    EXPECT_CUDA(cuda().cuGraphAddMemsetNode(&node, to, nullptr, 0, &params, context));
    return node;
  }
  CUresult tryConditional(CUgraph to, std::vector<CUgraphNode> behind,
                          CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
                          unsigned size, std::vector<CUgraph> &bodies) {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional = {handle, type, size, nullptr, context};
    const CUresult result =
        cuda().cuGraphAddNode_v2(&last, to, behind.data(), nullptr, behind.size(), &params);
    if (result == CUDA_SUCCESS)
      bodies.assign(params.conditional.phGraph_out, params.conditional.phGraph_out + size);
    return result;
  }
  std::vector<CUgraph> addConditional(CUgraph to, std::vector<CUgraphNode> behind,
                                      CUgraphConditionalHandle handle,
                                      CUgraphConditionalNodeType type, unsigned size = 1) {
    std::vector<CUgraph> bodies;
    EXPECT_CUDA(tryConditional(to, std::move(behind), handle, type, size, bodies));
    return bodies;
  }
  CUgraphExec instantiate() {
    CUgraphExec exec = nullptr;
    EXPECT_CUDA(cuda().cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
  }
  CUresult run(CUgraphExec exec) {
    const CUresult result = cuda().cuGraphLaunch(exec, nullptr);
    return result ? result : cuda().cuStreamSynchronize(nullptr);
  }

  CUmodule module = nullptr;
  CUfunction step = nullptr, set = nullptr;
  CUdeviceptr data = 0;
  CUgraph graph = nullptr;
  CUgraphNode last = nullptr;
};

TEST_F(ConditionalTest, AWhileNodeRunsUntilItsKernelSays) {
  const auto handle = newHandle(graph, 1, conditionalAssignDefault);
  const CUgraph body = addConditional(graph, {}, handle, CU_GRAPH_COND_TYPE_WHILE)[0];
  const CUgraphNode kernel = addStep(body, {}, 0, 3, 10, handle);
  CUgraphNodeType type{};
  EXPECT_CUDA(cuda().cuGraphNodeGetType(last, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_CONDITIONAL);
  const CUgraphExec exec = instantiate();
  EXPECT_CUDA(run(exec));
  EXPECT_EQ(value(), 12); // 3, 6, 9, 12
  // The default value is set at each launch, so the body runs once more.
  EXPECT_CUDA(run(exec));
  EXPECT_EQ(value(), 15);
  // A node of the body can be changed in the executable graph.
  CUdeviceptr pointer = data + 4;
  unsigned by = 1, limit = 5;
  auto its = handle;
  void *values[] = {&pointer, &by, &limit, &its};
  const CUDA_KERNEL_NODE_PARAMS_v2 params{step, 1, 1,      1,       1,       1,
                                          1,    0, values, nullptr, nullptr, nullptr};
  EXPECT_CUDA(cuda().cuGraphExecKernelNodeSetParams_v2(exec, kernel, &params));
  EXPECT_CUDA(run(exec));
  EXPECT_EQ(value(0), 15);
  EXPECT_EQ(value(1), 5);
}

TEST_F(ConditionalTest, WithoutADefaultTheValueStays) {
  const auto handle = newHandle(graph, 1, 0);
  const CUgraph body = addConditional(graph, {}, handle, CU_GRAPH_COND_TYPE_WHILE)[0];
  addStep(body, {}, 0, 1, 3, handle);
  const CUgraphExec exec = instantiate();
  EXPECT_CUDA(run(exec));
  EXPECT_CUDA(run(exec)); // the loop has left 0
  EXPECT_EQ(value(), 3);
}

TEST_F(ConditionalTest, IfAndElseAndSwitch) {
  for (unsigned chosen : {0u, 1u, 2u, 7u}) {
    EXPECT_CUDA(cuda().cuMemsetD32_v2(data, 0, 32));
    EXPECT_CUDA(cuda().cuGraphCreate(&graph, 0));
    const auto one = newHandle(graph), both = newHandle(graph), many = newHandle(graph);
    const CUgraphNode a = addSet(graph, one, chosen), b = addSet(graph, both, chosen),
                      c = addSet(graph, many, chosen);
    addFill(addConditional(graph, {a}, one, CU_GRAPH_COND_TYPE_IF)[0], 0, 1);
    std::vector<CUgraph> bodies = addConditional(graph, {b}, both, CU_GRAPH_COND_TYPE_IF, 2);
    addFill(bodies[0], 1, 1);
    addFill(bodies[1], 2, 1);
    bodies = addConditional(graph, {c}, many, CU_GRAPH_COND_TYPE_SWITCH, 3);
    for (size_t i = 0; i < 3; ++i)
      addFill(bodies[i], 3 + i, 1);
    EXPECT_CUDA(run(instantiate()));
    EXPECT_EQ(value(0), chosen != 0);
    EXPECT_EQ(value(1), chosen != 0);
    EXPECT_EQ(value(2), chosen == 0);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(value(3 + i), chosen == i) << chosen;
  }
}

TEST_F(ConditionalTest, LoopsNest) {
  const auto outer = newHandle(graph, 1, conditionalAssignDefault);
  const CUgraph body = addConditional(graph, {}, outer, CU_GRAPH_COND_TYPE_WHILE)[0];
  const auto inner = newHandle(body);
  // Every round of the outer loop: from 0 to 4 in the inner one, then one more round until 3.
  const CUgraphNode reset = addFill(body, 1, 0), enter = addSet(body, inner, 1);
  const CUgraph loop = addConditional(body, {reset, enter}, inner, CU_GRAPH_COND_TYPE_WHILE)[0];
  const CUgraphNode innerNode = last;
  const CUgraphNode first = addStep(loop, {}, 1, 1, 4, inner);
  const CUgraphNode second = addStep(loop, {first}, 2, 1, ~0u, inner); // would go on
  addStep(loop, {second}, 1, 0, 4, inner);
  addStep(body, {innerNode}, 0, 1, 3, outer);
  EXPECT_CUDA(run(instantiate()));
  EXPECT_EQ(value(0), 3);
  EXPECT_EQ(value(1), 4);
  EXPECT_EQ(value(2), 12);
}

/// A launch runs the graph as it was at the time of the launch.
TEST_F(ConditionalTest, ChangesDoNotAffectLaunchesInFlight) {
  const auto handle = newHandle(graph, 1, conditionalAssignDefault);
  const CUgraph body = addConditional(graph, {}, handle, CU_GRAPH_COND_TYPE_WHILE)[0];
  const CUgraphNode kernel = addStep(body, {}, 0, 1, 200, handle);
  const CUgraphExec exec = instantiate();
  const CUstream queue = stream();
  EXPECT_CUDA(cuda().cuGraphLaunch(exec, queue));
  CUdeviceptr pointer = data + 4;
  unsigned by = 1, limit = 1;
  auto its = handle;
  void *values[] = {&pointer, &by, &limit, &its};
  const CUDA_KERNEL_NODE_PARAMS_v2 params{step, 1, 1,      1,       1,       1,
                                          1,    0, values, nullptr, nullptr, nullptr};
  EXPECT_CUDA(cuda().cuGraphExecKernelNodeSetParams_v2(exec, kernel, &params));
  EXPECT_CUDA(cuda().cuGraphLaunch(exec, queue));
  EXPECT_CUDA(cuda().cuStreamSynchronize(queue));
  EXPECT_EQ(value(0), 200);
  EXPECT_EQ(value(1), 1);
}

TEST_F(ConditionalTest, RefusesWhatCudaRefuses) {
  std::vector<CUgraph> bodies;
  CUgraphConditionalHandle handle = 0;
  EXPECT_EQ(cuda().cuGraphConditionalHandleCreate(&handle, graph, context, 0, 2),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuGraphConditionalHandleCreate(nullptr, graph, context, 0, 0),
            CUDA_ERROR_INVALID_VALUE);
  handle = newHandle(graph, 0, 0);
  CUDA_GRAPH_INSTANTIATE_PARAMS asked{};
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuda().cuGraphInstantiateWithParams(&exec, graph, &asked), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(asked.result_out, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);

  EXPECT_EQ(tryConditional(graph, {}, handle, CU_GRAPH_COND_TYPE_WHILE, 2, bodies),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tryConditional(graph, {}, handle, CU_GRAPH_COND_TYPE_IF, 3, bodies),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tryConditional(graph, {}, handle + 1, CU_GRAPH_COND_TYPE_IF, 1, bodies),
            CUDA_ERROR_INVALID_VALUE);
  CUgraph other = nullptr;
  EXPECT_CUDA(cuda().cuGraphCreate(&other, 0));
  EXPECT_EQ(tryConditional(other, {}, handle, CU_GRAPH_COND_TYPE_IF, 1, bodies),
            CUDA_ERROR_INVALID_VALUE);
  const CUgraph body = addConditional(graph, {}, handle, CU_GRAPH_COND_TYPE_IF)[0];
  EXPECT_EQ(tryConditional(graph, {}, handle, CU_GRAPH_COND_TYPE_IF, 1, bodies),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuGraphDestroy(body), CUDA_ERROR_INVALID_VALUE);

  // Neither copies nor children, and one executable graph at a time.
  CUgraph copy = nullptr;
  EXPECT_EQ(cuda().cuGraphClone(&copy, graph), CUDA_ERROR_NOT_SUPPORTED);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuda().cuGraphAddChildGraphNode(&node, other, nullptr, 0, graph),
            CUDA_ERROR_NOT_SUPPORTED);
  exec = instantiate();
  CUgraphExec second = nullptr;
  EXPECT_EQ(cuda().cuGraphInstantiateWithFlags(&second, graph, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_CUDA(cuda().cuGraphExecDestroy(exec));
  EXPECT_CUDA(cuda().cuGraphExecDestroy(instantiate()));

  // A body cannot call the host.
  const CUDA_HOST_NODE_PARAMS host{[](void *) {}, nullptr};
  EXPECT_CUDA(cuda().cuGraphAddHostNode(&node, body, nullptr, 0, &host));
  EXPECT_EQ(cuda().cuGraphInstantiateWithParams(&exec, graph, &asked), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(asked.result_out, CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
  EXPECT_EQ(asked.hErrNode_out, node);
}

TEST_F(ConditionalTest, UpdatesBodies) {
  const auto handle = newHandle(graph, 1, conditionalAssignDefault);
  const CUgraph body = addConditional(graph, {}, handle, CU_GRAPH_COND_TYPE_IF)[0];
  const CUgraphNode fill = addFill(body, 0, 5);
  const CUgraphExec exec = instantiate();
  EXPECT_CUDA(run(exec));
  EXPECT_EQ(value(), 5);
  const CUDA_MEMSET_NODE_PARAMS params{data, 0, 6, 4, 1, 1};
  EXPECT_CUDA(cuda().cuGraphMemsetNodeSetParams(fill, &params));
  CUgraphExecUpdateResultInfo info{};
  EXPECT_CUDA(cuda().cuGraphExecUpdate_v2(exec, graph, &info));
  EXPECT_CUDA(run(exec));
  EXPECT_EQ(value(), 6);
}

/// Sticky failures: each is the last call of its context.
TEST_F(ConditionalTest, AKernelWithAWrongHandleFails) {
  const auto handle = newHandle(graph, 0, 0);
  addConditional(graph, {addSet(graph, handle + 1, 1)}, handle, CU_GRAPH_COND_TYPE_IF);
  EXPECT_EQ(run(instantiate()), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(ConditionalTest, ThreadsThatSetAConditionAtOnceFail) {
  auto handle = newHandle(graph, 0, 0);
  unsigned one = 1;
  const CUgraphNode racing = addKernel(graph, {}, set, {&handle, &one}, 2);
  addConditional(graph, {racing}, handle, CU_GRAPH_COND_TYPE_IF);
  EXPECT_EQ(run(instantiate()), CUDA_ERROR_LAUNCH_FAILED);
}

} // namespace
} // namespace tilewright::vgpu::driver
