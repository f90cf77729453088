#include "tilewright/vgpu/driver/testing/Driver.h"
#include "tilewright/vgpu/driver/testing/SecondProcess.h"

using namespace tilewright::vgpu::driver;

namespace {

class IpcTest : public DriverTest {
protected:
  int read(CUdeviceptr from) {
    int value = 0;
    EXPECT_CUDA(cuda().cuMemcpyDtoH_v2(&value, from, sizeof(value)));
    return value;
  }
};

class SecondIpcProcess : public IpcTest {};

TEST_F(SecondIpcProcess, UsesMemoryAndEvent) {
  const int socket = firstProcess();
  if (socket < 0)
    GTEST_SKIP() << "runs only in the process that ProcessesShareAllocationsAndEvents starts";
  const auto memory = receiveFrom<CUipcMemHandle>(socket);
  const auto eventHandle = receiveFrom<CUipcEventHandle>(socket);
  CUdeviceptr at = 0, again = 0;
  ASSERT_CUDA(cuda().cuIpcOpenMemHandle_v2(&at, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  ASSERT_CUDA(cuda().cuIpcOpenMemHandle_v2(&again, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  EXPECT_EQ(at, again);
  EXPECT_EQ(read(at), 41);
  EXPECT_EQ(cuda().cuMemFree_v2(at), CUDA_ERROR_INVALID_VALUE); // it belongs to the other process
  CUevent theirs = nullptr;
  ASSERT_CUDA(cuda().cuIpcOpenEventHandle(&theirs, eventHandle));
  // The other process has recorded the event behind a kernel that waits for the flag.
  EXPECT_EQ(cuda().cuEventQuery(theirs), CUDA_ERROR_NOT_READY);
  const CUstream other = stream();
  EXPECT_CUDA(cuda().cuStreamWaitEvent(other, theirs, 0));
  EXPECT_CUDA(launch(function(load(testPtx), "add_one"), other, 1, at, 1u));
  EXPECT_EQ(cuda().cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  sendTo(socket, 'w'); // waits now
  EXPECT_CUDA(cuda().cuStreamSynchronize(other));
  EXPECT_EQ(read(at), 100); // the kernel added 1 to what the other process wrote before the event
  EXPECT_CUDA(cuda().cuEventQuery(theirs));
  EXPECT_CUDA(cuda().cuIpcCloseMemHandle(at));
  EXPECT_EQ(read(at), 100);
  EXPECT_CUDA(cuda().cuIpcCloseMemHandle(at));
  EXPECT_EQ(cuda().cuIpcCloseMemHandle(at), CUDA_ERROR_INVALID_VALUE);
  int value = 0;
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(&value, at, 4), CUDA_ERROR_INVALID_VALUE);
  sendTo(socket, 'd');
}

TEST_F(IpcTest, ProcessesShareAllocationsAndEvents) {
  const CUdeviceptr data = allocate(1 << 20), flag = allocate(4);
  EXPECT_CUDA(cuda().cuMemsetD32_v2(data, 41, 1));
  EXPECT_CUDA(cuda().cuMemsetD32_v2(flag, 0, 1));
  const CUevent done = event(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  CUipcMemHandle memory{};
  CUipcEventHandle handle{};
  ASSERT_CUDA(cuda().cuIpcGetMemHandle(&memory, data));
  ASSERT_CUDA(cuda().cuIpcGetEventHandle(&handle, done));
  EXPECT_EQ(read(data), 41); // where it was
  CUdeviceptr own = 0;
  EXPECT_EQ(cuda().cuIpcOpenMemHandle_v2(&own, memory, 0), CUDA_ERROR_INVALID_CONTEXT);
  const CUstream one = stream(), two = stream();
  const CUmodule module = load(testPtx);
  EXPECT_CUDA(launch(function(module, "spin"), one, 1, flag));
  EXPECT_CUDA(cuda().cuMemsetD32Async(data, 99, 1, one));
  EXPECT_CUDA(cuda().cuEventRecord(done, one));
  {
    SecondProcess second("SecondIpcProcess.*");
    sendTo(second.socket, memory);
    sendTo(second.socket, handle);
    EXPECT_EQ(receiveFrom<char>(second.socket), 'w');
    EXPECT_CUDA(launch(function(module, "release"), two, 1, flag));
    EXPECT_EQ(receiveFrom<char>(second.socket), 'd');
  }
  EXPECT_EQ(read(data), 100);
  EXPECT_CUDA(cuda().cuMemFree_v2(data));
}

TEST_F(IpcTest, WrongCallsAreRefused) {
  CUipcMemHandle memory{};
  CUipcEventHandle handle{};
  EXPECT_EQ(cuda().cuIpcGetMemHandle(&memory, 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuIpcGetEventHandle(&handle, event()), CUDA_ERROR_INVALID_VALUE);
  CUevent timed = nullptr;
  EXPECT_EQ(cuda().cuEventCreate(&timed, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr at = 0;
  EXPECT_EQ(cuda().cuIpcOpenMemHandle_v2(&at, memory, 0), CUDA_ERROR_INVALID_VALUE); // zeros
  EXPECT_EQ(cuda().cuIpcOpenEventHandle(&timed, handle), CUDA_ERROR_INVALID_VALUE);
}

} // namespace
