// Stream capture and graphs.
#include "tilewright/vgpu/driver/testing/Driver.h"

#include "gmock/gmock.h"

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

namespace tilewright::vgpu::driver {
namespace {

using ::testing::HasSubstr;

class GraphTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    module = load(testPtx);
    addOne = function(module, "add_one");
    data = allocate(128);
    EXPECT_CUDA(cuda().cuMemsetD32_v2(data, 0, 32));
  }
  int value(size_t index = 0) {
    int result = -1;
    EXPECT_CUDA(cuda().cuMemcpyDtoH_v2(&result, data + 4 * index, 4));
    return result;
  }
  size_t nodesOf(CUgraph graph) {
    size_t count = 0;
    EXPECT_CUDA(cuda().cuGraphGetNodes(graph, nullptr, &count));
    return count;
  }
  /// A node that adds 1 to the first `count` ints.
  CUgraphNode addKernel(CUgraph graph, std::vector<CUgraphNode> behind, int count = 1) {
    CUdeviceptr pointer = data;
    void *values[] = {&pointer, &count};
    CUDA_KERNEL_NODE_PARAMS_v2 params{addOne, 1, 1,      1,       32,      1,
                                      1,      0, values, nullptr, nullptr, nullptr};
    CUgraphNode node = nullptr;
    EXPECT_CUDA(
        cuda().cuGraphAddKernelNode_v2(&node, graph, behind.data(), behind.size(), &params));
    return node;
  }
  CUgraphNode addFill(CUgraph graph, std::vector<CUgraphNode> behind, unsigned what) {
    CUDA_MEMSET_NODE_PARAMS params{data, 0, what, 4, 32, 1};
    CUgraphNode node = nullptr;
    EXPECT_CUDA(
        cuda().cuGraphAddMemsetNode(&node, graph, behind.data(), behind.size(), &params, context));
    return node;
  }
  CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_CUDA(cuda().cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
  }
  void run(CUgraphExec exec) {
    EXPECT_CUDA(cuda().cuGraphLaunch(exec, nullptr));
    EXPECT_CUDA(cuda().cuStreamSynchronize(nullptr));
  }
  CUgraph newGraph() {
    CUgraph graph = nullptr;
    EXPECT_CUDA(cuda().cuGraphCreate(&graph, 0));
    return graph;
  }

  CUmodule module = nullptr;
  CUfunction addOne = nullptr;
  CUdeviceptr data = 0;
};

TEST_F(GraphTest, NodesRunBehindTheirDependencies) {
  const CUgraph graph = newGraph();
  // Added in the wrong order on purpose: the edges determine the order.
  const CUgraphNode last = addKernel(graph, {}, 32);
  const CUgraphNode first = addFill(graph, {}, 10);
  EXPECT_CUDA(cuda().cuGraphAddDependencies(graph, &first, &last, 1));
  EXPECT_EQ(cuda().cuGraphAddDependencies(graph, &first, &last, 1), CUDA_ERROR_INVALID_VALUE);
  const CUgraphExec exec = instantiate(graph);
  run(exec);
  EXPECT_EQ(value(31), 11);
  run(exec);
  EXPECT_EQ(value(31), 11);
  EXPECT_CUDA(cuda().cuGraphDestroy(graph));
  run(exec); // the executable graph has its own copy
  EXPECT_CUDA(cuda().cuGraphExecDestroy(exec));
  EXPECT_EQ(cuda().cuGraphLaunch(exec, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, CirclesAreRefused) {
  const CUgraph graph = newGraph();
  CUgraphNode a = addFill(graph, {}, 1), b = addFill(graph, {a}, 2);
  EXPECT_CUDA(cuda().cuGraphAddDependencies(graph, &b, &a, 1));
  CUgraphExec exec = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  EXPECT_EQ(cuda().cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  EXPECT_NE(params.hErrNode_out, nullptr);
  char log[64] = "";
  CUgraphNode errorNode = nullptr;
  EXPECT_EQ(cuda().cuGraphInstantiate_v2(&exec, graph, &errorNode, log, sizeof(log)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(log, HasSubstr("cyclic"));
  EXPECT_CUDA(cuda().cuGraphRemoveDependencies(graph, &b, &a, 1));
  EXPECT_CUDA(cuda().cuGraphInstantiateWithFlags(&exec, graph, 0));
  EXPECT_EQ(
      cuda().cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH),
      CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(GraphTest, GraphsAreAskedAboutTheirShape) {
  const CUgraph graph = newGraph();
  CUgraphNode a = addFill(graph, {}, 1), b = addKernel(graph, {a}), c = nullptr;
  EXPECT_CUDA(cuda().cuGraphAddEmptyNode(&c, graph, &b, 1));
  EXPECT_EQ(nodesOf(graph), 3u);
  size_t count = 8;
  CUgraphNode nodes[8] = {}, to[8] = {};
  EXPECT_CUDA(cuda().cuGraphGetRootNodes(graph, nodes, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(nodes[0], a);
  EXPECT_EQ(nodes[1], nullptr);
  count = 8;
  CUgraphEdgeData edges[8];
  EXPECT_CUDA(cuda().cuGraphGetEdges_v2(graph, nodes, to, edges, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(nodes[1], b);
  EXPECT_EQ(to[1], c);
  count = 8;
  EXPECT_CUDA(cuda().cuGraphNodeGetDependencies(c, nodes, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(nodes[0], b);
  count = 8;
  EXPECT_CUDA(cuda().cuGraphNodeGetDependentNodes(a, nodes, &count));
  EXPECT_EQ(nodes[0], b);
  CUgraphNodeType type{};
  EXPECT_CUDA(cuda().cuGraphNodeGetType(c, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_EMPTY);
  EXPECT_CUDA(cuda().cuGraphDestroyNode(b));
  EXPECT_EQ(nodesOf(graph), 2u);
  EXPECT_EQ(cuda().cuGraphNodeGetType(b, &type), CUDA_ERROR_INVALID_VALUE);
  count = 8;
  EXPECT_CUDA(cuda().cuGraphNodeGetDependencies(c, nodes, &count));
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(cuda().cuGraphNodeGetType(reinterpret_cast<CUgraphNode>(graph), &type),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, NodesTellAndTakeTheirValues) {
  const CUgraph graph = newGraph();
  const CUgraphNode fill = addFill(graph, {}, 3), kernel = addKernel(graph, {fill}, 4);
  CUDA_MEMSET_NODE_PARAMS fillParams{};
  EXPECT_CUDA(cuda().cuGraphMemsetNodeGetParams(fill, &fillParams));
  EXPECT_EQ(fillParams.value, 3u);
  EXPECT_EQ(fillParams.width, 32u);
  fillParams.value = 30;
  EXPECT_CUDA(cuda().cuGraphMemsetNodeSetParams(fill, &fillParams));
  CUDA_KERNEL_NODE_PARAMS_v2 kernelParams{};
  EXPECT_CUDA(cuda().cuGraphKernelNodeGetParams_v2(kernel, &kernelParams));
  EXPECT_EQ(kernelParams.func, addOne);
  EXPECT_EQ(*static_cast<int *>(kernelParams.kernelParams[1]), 4);
  int count = 2;
  CUdeviceptr pointer = data;
  void *values[] = {&pointer, &count};
  kernelParams.kernelParams = values;
  EXPECT_CUDA(cuda().cuGraphKernelNodeSetParams_v2(kernel, &kernelParams));
  EXPECT_EQ(cuda().cuGraphMemsetNodeGetParams(kernel, &fillParams), CUDA_ERROR_INVALID_VALUE);
  kernelParams.blockDimX = 5000;
  EXPECT_EQ(cuda().cuGraphKernelNodeSetParams_v2(kernel, &kernelParams), CUDA_ERROR_INVALID_VALUE);

  int host = 0;
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcDevice = data + 4;
  copy.dstHost = &host;
  copy.WidthInBytes = 4;
  copy.Height = copy.Depth = 1;
  CUgraphNode copyNode = nullptr, hostNode = nullptr;
  EXPECT_CUDA(cuda().cuGraphAddMemcpyNode(&copyNode, graph, &kernel, 1, &copy, context));
  CUDA_MEMCPY3D told{};
  EXPECT_CUDA(cuda().cuGraphMemcpyNodeGetParams(copyNode, &told));
  EXPECT_EQ(told.srcDevice, data + 4);
  std::atomic<int> calls = 0;
  CUDA_HOST_NODE_PARAMS hostParams{
      [](void *counter) { ++*static_cast<std::atomic<int> *>(counter); }, &calls};
  EXPECT_CUDA(cuda().cuGraphAddHostNode(&hostNode, graph, &copyNode, 1, &hostParams));
  CUDA_HOST_NODE_PARAMS toldHost{};
  EXPECT_CUDA(cuda().cuGraphHostNodeGetParams(hostNode, &toldHost));
  EXPECT_EQ(toldHost.userData, &calls);
  run(instantiate(graph));
  EXPECT_EQ(host, 31);
  EXPECT_EQ(value(2), 30);
  EXPECT_EQ(calls, 1);
}

TEST_F(GraphTest, AttributesOfKernelNodes) {
  const CUgraph graph = newGraph();
  const CUgraphNode one = addKernel(graph, {}), two = addKernel(graph, {one});
  CUlaunchAttributeValue value{};
  value.cooperative = 1;
  EXPECT_CUDA(cuda().cuGraphKernelNodeSetAttribute(one, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
  EXPECT_CUDA(cuda().cuGraphKernelNodeCopyAttributes(two, one));
  value = {};
  EXPECT_CUDA(cuda().cuGraphKernelNodeGetAttribute(two, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
  EXPECT_EQ(value.cooperative, 1);
  for (const unsigned zero : {0, 1, 2}) {
    value.clusterDim = {zero != 0, zero != 1, zero != 2};
    EXPECT_EQ(
        cuda().cuGraphKernelNodeSetAttribute(one, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
        CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(cuda().cuGraphKernelNodeGetAttribute(two, static_cast<CUlaunchAttributeID>(77), &value),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, ExecutableGraphsAreChangedInPlace) {
  const CUgraph graph = newGraph();
  const CUgraphNode fill = addFill(graph, {}, 1), kernel = addKernel(graph, {fill}, 32);
  const CUgraphExec exec = instantiate(graph);
  CUDA_MEMSET_NODE_PARAMS fillParams{data, 0, 50, 4, 32, 1};
  EXPECT_CUDA(cuda().cuGraphExecMemsetNodeSetParams(exec, fill, &fillParams, context));
  run(exec);
  EXPECT_EQ(value(), 51);
  EXPECT_CUDA(cuda().cuGraphNodeSetEnabled(exec, kernel, 0));
  unsigned enabled = 1;
  EXPECT_CUDA(cuda().cuGraphNodeGetEnabled(exec, kernel, &enabled));
  EXPECT_EQ(enabled, 0u);
  run(exec);
  EXPECT_EQ(value(), 50);
  EXPECT_CUDA(cuda().cuGraphNodeSetEnabled(exec, kernel, 1));
  int count = 1;
  CUdeviceptr pointer = data + 4;
  void *values[] = {&pointer, &count};
  CUDA_KERNEL_NODE_PARAMS_v1 old{addOne, 1, 1, 1, 32, 1, 1, 0, values, nullptr};
  EXPECT_CUDA(cuda().cuGraphExecKernelNodeSetParams(exec, kernel, &old));
  run(exec);
  EXPECT_EQ(value(0), 50);
  EXPECT_EQ(value(1), 51);
  CUDA_MEMSET_NODE_PARAMS wrong{data + 1, 0, 50, 4, 32, 1};
  EXPECT_EQ(cuda().cuGraphExecMemsetNodeSetParams(exec, fill, &wrong, context),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuGraphExecMemsetNodeSetParams(exec, kernel, &fillParams, context),
            CUDA_ERROR_INVALID_VALUE);
  uint64_t flags = 9;
  EXPECT_CUDA(cuda().cuGraphExecGetFlags(exec, &flags));
  EXPECT_EQ(flags, 0u);
  EXPECT_CUDA(cuda().cuGraphUpload(exec, nullptr));
}

TEST_F(GraphTest, EveryKindOfNodeCanBeChanged) {
  const CUgraph graph = newGraph(), child = newGraph(), otherChild = newGraph();
  addFill(child, {}, 60);
  addFill(otherChild, {}, 61);
  const CUevent one = event(), two = event();
  std::atomic<int> calls = 0, otherCalls = 0;
  auto count = [](void *counter) { ++*static_cast<std::atomic<int> *>(counter); };
  int first = 0, second = 0;
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcDevice = data;
  copy.dstHost = &first;
  copy.WidthInBytes = 4;
  copy.Height = copy.Depth = 1;
  CUDA_HOST_NODE_PARAMS host{count, &calls};
  CUgraphNode childNode = nullptr, copyNode = nullptr, hostNode = nullptr, waitNode = nullptr,
              recordNode = nullptr;
  EXPECT_CUDA(cuda().cuGraphAddChildGraphNode(&childNode, graph, nullptr, 0, child));
  EXPECT_CUDA(cuda().cuGraphAddMemcpyNode(&copyNode, graph, &childNode, 1, &copy, context));
  EXPECT_CUDA(cuda().cuGraphAddHostNode(&hostNode, graph, &copyNode, 1, &host));
  EXPECT_CUDA(cuda().cuGraphAddEventWaitNode(&waitNode, graph, &hostNode, 1, one));
  EXPECT_CUDA(cuda().cuGraphAddEventRecordNode(&recordNode, graph, &waitNode, 1, one));
  // Change the node in the graph itself.
  copy.dstHost = &second;
  host.userData = &otherCalls;
  EXPECT_CUDA(cuda().cuGraphMemcpyNodeSetParams(copyNode, &copy));
  EXPECT_CUDA(cuda().cuGraphHostNodeSetParams(hostNode, &host));
  EXPECT_CUDA(cuda().cuGraphEventWaitNodeSetEvent(waitNode, two));
  const CUgraphExec exec = instantiate(graph);
  run(exec);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 60);
  EXPECT_EQ(otherCalls, 1);
  // Change the node in the executable graph.
  copy.dstHost = &first;
  host.userData = &calls;
  EXPECT_CUDA(cuda().cuGraphExecMemcpyNodeSetParams(exec, copyNode, &copy, context));
  EXPECT_CUDA(cuda().cuGraphExecHostNodeSetParams(exec, hostNode, &host));
  EXPECT_CUDA(cuda().cuGraphExecEventWaitNodeSetEvent(exec, waitNode, one));
  EXPECT_CUDA(cuda().cuGraphExecEventRecordNodeSetEvent(exec, recordNode, two));
  EXPECT_CUDA(cuda().cuGraphExecChildGraphNodeSetParams(exec, childNode, otherChild));
  EXPECT_EQ(cuda().cuGraphExecChildGraphNodeSetParams(exec, childNode, newGraph()),
            CUDA_ERROR_INVALID_VALUE);
  run(exec);
  EXPECT_EQ(first, 61);
  EXPECT_EQ(calls, 1);
  EXPECT_CUDA(cuda().cuEventSynchronize(two));
}

TEST_F(GraphTest, UpdateTakesOverWhatHasTheSameShape) {
  const CUgraph first = newGraph(), second = newGraph(), other = newGraph();
  addKernel(first, {addFill(first, {}, 1)}, 32);
  addKernel(second, {addFill(second, {}, 70)}, 32);
  addKernel(other, {}, 32);
  addFill(other, {}, 5);
  const CUgraphExec exec = instantiate(first);
  CUgraphExecUpdateResultInfo info{};
  EXPECT_CUDA(cuda().cuGraphExecUpdate_v2(exec, second, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  run(exec);
  EXPECT_EQ(value(), 71);
  EXPECT_EQ(cuda().cuGraphExecUpdate_v2(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_NE(info.errorNode, nullptr);
  CUgraphExecUpdateResult result{};
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuda().cuGraphExecUpdate(exec, newGraph(), &node, &result),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  run(exec);
  EXPECT_EQ(value(), 71);
}

TEST_F(GraphTest, ChildrenAndClones) {
  const CUgraph child = newGraph(), parent = newGraph();
  const CUgraphNode inner = addKernel(child, {}, 32);
  CUgraphNode node = nullptr, again = nullptr;
  const CUgraphNode fill = addFill(parent, {}, 7);
  EXPECT_CUDA(cuda().cuGraphAddChildGraphNode(&node, parent, &fill, 1, child));
  EXPECT_CUDA(cuda().cuGraphAddChildGraphNode(&again, parent, &node, 1, child));
  run(instantiate(parent));
  EXPECT_EQ(value(), 9);
  CUgraph embedded = nullptr, clone = nullptr;
  EXPECT_CUDA(cuda().cuGraphChildGraphNodeGetGraph(node, &embedded));
  EXPECT_NE(embedded, child);
  EXPECT_EQ(nodesOf(embedded), 1u);
  EXPECT_CUDA(cuda().cuGraphClone(&clone, parent));
  EXPECT_EQ(nodesOf(clone), 3u);
  CUgraphNode copy = nullptr;
  EXPECT_CUDA(cuda().cuGraphNodeFindInClone(&copy, fill, clone));
  EXPECT_EQ(cuda().cuGraphNodeFindInClone(&copy, inner, clone), CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMSET_NODE_PARAMS params{data, 0, 100, 4, 32, 1};
  CUgraphNode inClone = nullptr;
  EXPECT_CUDA(cuda().cuGraphNodeFindInClone(&inClone, fill, clone));
  EXPECT_CUDA(cuda().cuGraphMemsetNodeSetParams(inClone, &params));
  run(instantiate(clone));
  EXPECT_EQ(value(), 102);
  run(instantiate(parent));
  EXPECT_EQ(value(), 9);
}

TEST_F(GraphTest, EventsInGraphs) {
  const CUgraph graph = newGraph();
  const CUevent before = event(), after = event();
  CUgraphNode wait = nullptr, record = nullptr;
  EXPECT_CUDA(cuda().cuGraphAddEventWaitNode(&wait, graph, nullptr, 0, before));
  EXPECT_CUDA(cuda().cuGraphAddEventRecordNode(&record, graph, &wait, 1, before));
  CUevent told = nullptr;
  EXPECT_CUDA(cuda().cuGraphEventWaitNodeGetEvent(wait, &told));
  EXPECT_EQ(told, before);
  EXPECT_CUDA(cuda().cuGraphEventRecordNodeSetEvent(record, after));
  EXPECT_CUDA(cuda().cuGraphEventRecordNodeGetEvent(record, &told));
  EXPECT_EQ(told, after);
  std::atomic<bool> open = false;
  const CUstream gate = stream(), runner = stream();
  EXPECT_CUDA(cuda().cuLaunchHostFunc(
      gate,
      [](void *flag) {
        while (!*static_cast<std::atomic<bool> *>(flag))
          std::this_thread::yield();
      },
      &open));
  EXPECT_CUDA(cuda().cuEventRecord(before, gate));
  EXPECT_CUDA(cuda().cuGraphLaunch(instantiate(graph), runner));
  EXPECT_EQ(cuda().cuStreamQuery(runner), CUDA_ERROR_NOT_READY);
  open = true;
  EXPECT_CUDA(cuda().cuStreamSynchronize(runner));
  EXPECT_CUDA(cuda().cuEventQuery(after));
}

TEST_F(GraphTest, MemoryOfGraphs) {
  const CUgraph graph = newGraph();
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  params.bytesize = 128;
  CUgraphNode allocation = nullptr, fill = nullptr, copy = nullptr, release = nullptr;
  EXPECT_CUDA(cuda().cuGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &params));
  ASSERT_NE(params.dptr, 0u);
  CUDA_MEMSET_NODE_PARAMS fillParams{params.dptr, 0, 9, 4, 32, 1};
  EXPECT_CUDA(cuda().cuGraphAddMemsetNode(&fill, graph, &allocation, 1, &fillParams, context));
  CUDA_MEMCPY3D copyParams{};
  copyParams.srcMemoryType = copyParams.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copyParams.srcDevice = params.dptr;
  copyParams.dstDevice = data;
  copyParams.WidthInBytes = 128;
  copyParams.Height = copyParams.Depth = 1;
  EXPECT_CUDA(cuda().cuGraphAddMemcpyNode(&copy, graph, &fill, 1, &copyParams, context));
  EXPECT_CUDA(cuda().cuGraphAddMemFreeNode(&release, graph, &copy, 1, params.dptr));
  CUdeviceptr told = 0;
  CUDA_MEM_ALLOC_NODE_PARAMS toldParams{};
  EXPECT_CUDA(cuda().cuGraphMemFreeNodeGetParams(release, &told));
  EXPECT_EQ(told, params.dptr);
  EXPECT_CUDA(cuda().cuGraphMemAllocNodeGetParams(allocation, &toldParams));
  EXPECT_EQ(toldParams.bytesize, 128u);
  const CUgraphExec exec = instantiate(graph);
  run(exec);
  run(exec);
  EXPECT_EQ(value(31), 9);
  CUgraph clone = nullptr;
  EXPECT_EQ(cuda().cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuda().cuGraphDestroyNode(allocation), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_CUDA(cuda().cuGraphExecDestroy(exec));
  EXPECT_CUDA(cuda().cuGraphDestroy(graph));
  EXPECT_EQ(cuda().cuMemGetAddressRange_v2(&told, nullptr, params.dptr), CUDA_ERROR_NOT_FOUND);
}

TEST_F(GraphTest, GenericNodesOfAnyType) {
  const CUgraph graph = newGraph();
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset = {data, 0, 6, 4, 32, 1, context};
  CUgraphNode first = nullptr, second = nullptr;
  EXPECT_CUDA(cuda().cuGraphAddNode(&first, graph, nullptr, 0, &params));
  params.memset.value = 8;
  CUgraphEdgeData edge{};
  EXPECT_CUDA(cuda().cuGraphAddNode_v2(&second, graph, &first, &edge, 1, &params));
  params.memset.value = 12;
  EXPECT_CUDA(cuda().cuGraphNodeSetParams(second, &params));
  const CUgraphExec exec = instantiate(graph);
  run(exec);
  EXPECT_EQ(value(), 12);
  params.memset.value = 13;
  EXPECT_CUDA(cuda().cuGraphExecNodeSetParams(exec, second, &params));
  run(exec);
  EXPECT_EQ(value(), 13);
  params.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  EXPECT_EQ(cuda().cuGraphAddNode(&first, graph, nullptr, 0, &params), CUDA_ERROR_NOT_SUPPORTED);
  const std::string path = ::testing::TempDir() + "vgpu-graph-test.dot";
  EXPECT_CUDA(cuda().cuGraphDebugDotPrint(graph, path.c_str(), 0));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  EXPECT_THAT(text.str(), HasSubstr("n0 -> n1"));
}

TEST_F(GraphTest, CaptureTurnsWorkIntoNodes) {
  const CUstream origin = stream();
  CUgraph graph = nullptr;
  EXPECT_CUDA(cuda().cuStreamBeginCapture_v2(origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUstreamCaptureStatus status{};
  EXPECT_CUDA(cuda().cuStreamIsCapturing(origin, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_CUDA(cuda().cuMemsetD32Async(data, 4, 32, origin));
  EXPECT_CUDA(launch(addOne, origin, 1, data, 32));
  uint64_t id = 0;
  CUgraph partial = nullptr;
  const CUgraphNode *tips = nullptr;
  size_t count = 0;
  EXPECT_CUDA(cuda().cuStreamGetCaptureInfo_v2(origin, &status, &id, &partial, &tips, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_NE(id, 0u);
  CUgraphNode extra = addKernel(partial, {tips[0]}, 32);
  EXPECT_CUDA(cuda().cuStreamUpdateCaptureDependencies(origin, &extra, 1,
                                                       CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  int host = 0;
  EXPECT_CUDA(cuda().cuMemcpyDtoHAsync_v2(&host, data, 4, origin));
  EXPECT_CUDA(cuda().cuStreamEndCapture(origin, &graph));
  EXPECT_EQ(graph, partial);
  EXPECT_EQ(nodesOf(graph), 4u);
  EXPECT_EQ(value(), 0) << "nothing has run yet";
  run(instantiate(graph));
  EXPECT_EQ(host, 6);
  EXPECT_CUDA(cuda().cuStreamIsCapturing(origin, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(GraphTest, CaptureForksAndJoins) {
  const CUstream origin = stream(), branch = stream();
  const CUevent fork = event(), join = event();
  CUgraph graph = nullptr;
  EXPECT_CUDA(cuda().cuStreamBeginCapture_v2(origin, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_CUDA(cuda().cuMemsetD32Async(data, 1, 32, origin));
  EXPECT_CUDA(cuda().cuEventRecord(fork, origin));
  EXPECT_CUDA(cuda().cuStreamWaitEvent(branch, fork, 0));
  EXPECT_CUDA(launch(addOne, branch, 1, data, 1));
  EXPECT_CUDA(launch(addOne, origin, 1, data + 64, 1));
  EXPECT_CUDA(cuda().cuEventRecord(join, branch));
  EXPECT_CUDA(cuda().cuStreamWaitEvent(origin, join, 0));
  EXPECT_CUDA(launch(addOne, origin, 1, data, 32));
  EXPECT_EQ(cuda().cuStreamEndCapture(branch, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_CUDA(cuda().cuStreamEndCapture(origin, &graph));
  EXPECT_EQ(nodesOf(graph), 4u);
  size_t edges = 0;
  EXPECT_CUDA(cuda().cuGraphGetEdges(graph, nullptr, nullptr, &edges));
  EXPECT_EQ(edges, 4u);
  run(instantiate(graph));
  EXPECT_EQ(value(0), 3);
  EXPECT_EQ(value(16), 3);
  EXPECT_EQ(value(1), 2);
  EXPECT_CUDA(cuda().cuStreamSynchronize(branch)); // no longer takes part in the capture
}

TEST_F(GraphTest, CaptureToAGraphThatExists) {
  const CUgraph graph = newGraph();
  const CUgraphNode fill = addFill(graph, {}, 20);
  const CUstream origin = stream();
  CUgraph same = nullptr;
  EXPECT_CUDA(cuda().cuStreamBeginCaptureToGraph(origin, graph, &fill, nullptr, 1,
                                                 CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_CUDA(launch(addOne, origin, 1, data, 32));
  EXPECT_CUDA(cuda().cuStreamEndCapture(origin, &same));
  EXPECT_EQ(same, graph);
  run(instantiate(graph));
  EXPECT_EQ(value(), 21);
}

TEST_F(GraphTest, WhatACaptureCannotHave) {
  const CUstream origin = stream(), branch = stream();
  CUgraph graph = nullptr;
  auto begin = [&](CUstream in = nullptr) {
    EXPECT_CUDA(cuda().cuStreamBeginCapture_v2(in ? in : origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
  };
  auto expectInvalid = [&](CUstream in = nullptr) {
    EXPECT_EQ(cuda().cuStreamEndCapture(in ? in : origin, &graph),
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(graph, nullptr);
  };
  begin();
  EXPECT_EQ(cuda().cuStreamBeginCapture_v2(origin, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuda().cuStreamSynchronize(origin), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(launch(addOne, origin, 1, data, 1), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  expectInvalid();
  begin();
  CUdeviceptr address = 0;
  EXPECT_EQ(cuda().cuMemAlloc_v2(&address, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expectInvalid();
  begin();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  EXPECT_CUDA(cuda().cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_CUDA(cuda().cuMemAlloc_v2(&address, 4));
  EXPECT_CUDA(cuda().cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_CUDA(cuda().cuStreamEndCapture(origin, &graph));
  // A fork that is not joined.
  const CUevent fork = event();
  begin();
  EXPECT_CUDA(cuda().cuEventRecord(fork, origin));
  EXPECT_CUDA(cuda().cuStreamWaitEvent(branch, fork, 0));
  EXPECT_CUDA(launch(addOne, branch, 1, data, 1));
  EXPECT_EQ(cuda().cuEventQuery(event()), CUDA_SUCCESS);
  EXPECT_EQ(cuda().cuStreamEndCapture(origin, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  // A wait in the capture for an event from outside, and a wait outside for an event of the
  // capture.
  const CUevent outside = event();
  EXPECT_CUDA(cuda().cuEventRecord(outside, branch));
  begin();
  EXPECT_EQ(cuda().cuStreamWaitEvent(origin, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  expectInvalid();
  begin();
  EXPECT_CUDA(cuda().cuEventRecord(fork, origin));
  EXPECT_EQ(cuda().cuEventSynchronize(fork), CUDA_ERROR_CAPTURED_EVENT);
  expectInvalid();
  // An event between two captures.
  begin();
  begin(branch);
  EXPECT_CUDA(cuda().cuEventRecord(fork, origin));
  EXPECT_EQ(cuda().cuStreamWaitEvent(branch, fork, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  expectInvalid();
  expectInvalid(branch);
  // The legacy stream would wait for a stream that is being captured.
  const CUstream blocking = stream(CU_STREAM_DEFAULT);
  begin(blocking);
  EXPECT_EQ(launch(addOne, nullptr, 1, data, 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  expectInvalid(blocking);
  EXPECT_EQ(cuda().cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuda().cuStreamEndCapture(origin, &graph), CUDA_ERROR_ILLEGAL_STATE);
  begin();
  std::thread([&] {
    EXPECT_CUDA(cuda().cuCtxSetCurrent(context));
    CUgraph other = nullptr;
    EXPECT_EQ(cuda().cuStreamEndCapture(origin, &other), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }).join();
  EXPECT_CUDA(cuda().cuStreamEndCapture(origin, &graph));
  EXPECT_EQ(nodesOf(graph), 0u);
}

TEST_F(GraphTest, CaptureWithMemoryEventsAndGraphs) {
  const CUstream origin = stream();
  const CUevent external = event();
  const CUgraph small = newGraph();
  addKernel(small, {}, 32);
  const CUgraphExec smallExec = instantiate(small);
  CUgraph graph = nullptr;
  EXPECT_CUDA(cuda().cuStreamBeginCapture_v2(origin, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUdeviceptr scratch = 0;
  EXPECT_CUDA(cuda().cuMemAllocAsync(&scratch, 128, origin));
  EXPECT_CUDA(cuda().cuMemsetD32Async(scratch, 40, 32, origin));
  EXPECT_CUDA(cuda().cuMemcpyDtoDAsync_v2(data, scratch, 128, origin));
  EXPECT_CUDA(cuda().cuMemFreeAsync(scratch, origin));
  EXPECT_CUDA(cuda().cuGraphLaunch(smallExec, origin));
  EXPECT_CUDA(cuda().cuEventRecordWithFlags(external, origin, CU_EVENT_RECORD_EXTERNAL));
  EXPECT_CUDA(cuda().cuStreamEndCapture(origin, &graph));
  EXPECT_EQ(nodesOf(graph), 6u);
  const CUgraphExec exec = instantiate(graph);
  run(exec);
  run(exec);
  EXPECT_EQ(value(), 41);
  EXPECT_CUDA(cuda().cuEventQuery(external));
}

TEST_F(GraphTest, GraphsOfSeveralThreadsAtOnce) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      auto check = [&](CUresult result) { wrong += result != CUDA_SUCCESS; };
      check(cuda().cuCtxSetCurrent(context));
      CUstream mine = nullptr;
      check(cuda().cuStreamCreate(&mine, CU_STREAM_NON_BLOCKING));
      for (int round = 0; round < 10; ++round) {
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        check(cuda().cuStreamBeginCapture_v2(mine, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        for (int i = 0; i < 5; ++i)
          check(launch(addOne, mine, 1, data + 4 * static_cast<CUdeviceptr>(t), 1));
        check(cuda().cuStreamEndCapture(mine, &graph));
        check(cuda().cuGraphInstantiateWithFlags(&exec, graph, 0));
        check(cuda().cuGraphLaunch(exec, mine));
        check(cuda().cuGraphLaunch(exec, mine));
        check(cuda().cuGraphExecDestroy(exec));
        check(cuda().cuGraphDestroy(graph));
      }
      check(cuda().cuStreamSynchronize(mine));
    });
  for (std::thread &one : threads)
    one.join();
  EXPECT_EQ(wrong, 0);
  for (size_t t = 0; t < 4; ++t)
    EXPECT_EQ(value(t), 100);
}

} // namespace
} // namespace tilewright::vgpu::driver
