// Races between launches of different streams and devices, in a process with the checks on.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/testing/Driver.h"

#include "gmock/gmock.h"

namespace tilewright::vgpu::driver {
namespace {

using ::testing::HasSubstr;

std::string put(const char *name, int value) {
  return concat(".visible .entry ", name, R"((.param .u64 p)
{
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  st.global.u32 [%rd1], )",
                value, R"(;
  ret;
}
)");
}

std::string send(const char *scope) {
  return concat(".visible .entry send_", scope, R"((.param .u64 p, .param .u64 flag)
{
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [flag];
  st.global.u32 [%rd1], 7;
  st.release.)",
                scope, R"(.global.u32 [%rd2], 1;
  ret;
}
)");
}

/// `put`, `put_other` and `put_late` store a value, `get` loads it; `send` and `receive` do so with
/// a flag between them, whose scope is the name's last word.
const std::string kernels = R"(
.version 7.8
.target sm_80
.address_size 64
)" + put("put", 7) + put("put_other", 8) +
                            put("put_late", 9) + send("sys") + send("gpu") + R"(
.visible .entry get(.param .u64 p, .param .u64 to)
{
  .reg .b64 %rd<3>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [to];
  ld.global.u32 %r1, [%rd1];
  st.global.u32 [%rd2], %r1;
  ret;
}
.visible .entry receive(.param .u64 p, .param .u64 flag, .param .u64 to)
{
  .reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [flag]; ld.param.u64 %rd3, [to];
again:
  ld.acquire.sys.global.u32 %r1, [%rd2];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra again;
  ld.global.u32 %r2, [%rd1];
  st.global.u32 [%rd3], %r2;
  ret;
}
)";

using ReadReport = size_t (*)(char *, size_t);

/// Device 0, and device 2 as its peer. Kernels have one thread.
class LaunchRaceTest : public DriverTest {
protected:
  void SetUp() override {
    setenv("TILEWRIGHT_VGPU_CHECK", "races", 1); // read when the driver starts
    DriverTest::SetUp();
    ASSERT_CUDA(cuda().cuCtxCreate_v2(&peer, 0, 2));
    ASSERT_CUDA(cuda().cuCtxEnablePeerAccess(context, 0));
    peerStream = stream();
    peerModule = load(kernels.c_str());
    ASSERT_CUDA(cuda().cuCtxSetCurrent(context));
    ASSERT_CUDA(cuda().cuCtxEnablePeerAccess(peer, 0));
    one = stream();
    two = stream();
    module = load(kernels.c_str());
    data = allocate(64);
    to = allocate(64);
    elsewhere = allocate(8192);
    ASSERT_CUDA(cuda().cuMemsetD8_v2(data, 0, 64));
    before = report();
  }
  void TearDown() override {
    EXPECT_CUDA(cuda().cuCtxSynchronize());
    EXPECT_CUDA(cuda().cuCtxDestroy_v2(peer));
    EXPECT_CUDA(cuda().cuCtxSetCurrent(context));
    DriverTest::TearDown();
  }
  template <typename... Arguments>
  void run(CUmodule in, const char *name, CUstream on, Arguments... arguments) {
    void *values[] = {&arguments..., nullptr};
    EXPECT_CUDA(
        cuda().cuLaunchKernel(function(in, name), 1, 1, 1, 1, 1, 1, 0, on, values, nullptr));
  }
  /// Runs a kernel on the peer's stream; the calling thread's context stays that of device 0.
  template <typename... Arguments> void runOnPeer(const char *name, Arguments... arguments) {
    EXPECT_CUDA(cuda().cuCtxSetCurrent(peer));
    run(peerModule, name, peerStream, arguments...);
    EXPECT_CUDA(cuda().cuCtxSetCurrent(context));
  }
  /// Lets all later work of `two` wait for the work that `one` has now.
  void orderTwoAfterOne() {
    const CUevent done = event();
    EXPECT_CUDA(cuda().cuEventRecord(done, one));
    EXPECT_CUDA(cuda().cuStreamWaitEvent(two, done, 0));
  }
  /// Runs `put` on `two` after `one`, with memory of its own, before the work of `late`, which
  /// waits for the gate.
  void finishBefore(CUstream late, Gate &gate) {
    orderTwoAfterOne();
    run(module, "put", two, elsewhere + 4096);
    EXPECT_CUDA(cuda().cuStreamSynchronize(two));
    gate.open();
    EXPECT_CUDA(cuda().cuStreamSynchronize(late));
  }
  /// Waits for both devices; a finding is never for the last launch alone.
  void finish() {
    EXPECT_CUDA(cuda().cuStreamSynchronize(one));
    EXPECT_CUDA(cuda().cuStreamSynchronize(two));
    EXPECT_CUDA(cuda().cuCtxSetCurrent(peer));
    EXPECT_CUDA(cuda().cuStreamSynchronize(peerStream));
    EXPECT_CUDA(cuda().cuCtxSetCurrent(context));
  }
  std::string report() {
    auto *read = reinterpret_cast<ReadReport>(dlsym(cuda().library, "tilewright_vgpu_report"));
    std::string text(read(nullptr, 0) + 1, '?');
    text.resize(read(text.data(), text.size()));
    return text;
  }
  void expectNoFinding() {
    finish();
    EXPECT_EQ(report(), before);
  }

  CUcontext peer = nullptr;
  CUmodule module = nullptr, peerModule = nullptr;
  CUstream one = nullptr, two = nullptr, peerStream = nullptr;
  CUdeviceptr data = 0, to = 0, elsewhere = 0;
  std::string before;
};

TEST_F(LaunchRaceTest, OneStreamOrdersItsLaunches) {
  run(module, "put", one, data);
  run(module, "get", one, data, to);
  expectNoFinding();
}

TEST_F(LaunchRaceTest, EventsAndTheHostOrderStreams) {
  run(module, "put", one, data);
  orderTwoAfterOne();
  run(module, "get", two, data, to);
  EXPECT_CUDA(cuda().cuStreamSynchronize(two));
  run(module, "put", one, data);
  EXPECT_CUDA(cuda().cuStreamSynchronize(one));
  run(module, "get", two, data, to);
  EXPECT_CUDA(cuda().cuStreamSynchronize(two));
  runOnPeer("put", data);
  expectNoFinding();
}

TEST_F(LaunchRaceTest, AnEventThatIsDoneAlreadyOrdersToo) {
  run(module, "put", one, data);
  const CUevent done = event();
  EXPECT_CUDA(cuda().cuEventRecord(done, one));
  while (cuda().cuEventElapsedTime_v2(nullptr, done, done) == CUDA_ERROR_NOT_READY) {
  }
  EXPECT_CUDA(cuda().cuStreamWaitEvent(two, done, 0));
  run(module, "get", two, data, to);
  expectNoFinding();
}

TEST_F(LaunchRaceTest, ALaunchAfterAllOthersDoesNotHideThemFromTheNext) {
  Gate gate;
  const CUstream late = stream();
  EXPECT_CUDA(cuda().cuLaunchHostFunc(late, Gate::wait, &gate));
  run(module, "put_late", late, data);
  run(module, "put", one, data);
  finishBefore(late, gate);
  EXPECT_THAT(report(), HasSubstr("put_late"));
}

TEST_F(LaunchRaceTest, ALaunchAfterAllOthersDoesNotHideTheirFlagsFromTheNext) {
  Gate gate;
  const CUstream late = stream();
  const CUdeviceptr flag = data + 32;
  EXPECT_CUDA(cuda().cuLaunchHostFunc(late, Gate::wait, &gate));
  run(module, "receive", late, data, flag, to);
  run(module, "send_gpu", one, data, flag);
  finishBefore(late, gate);
  expectNoFinding();
}

TEST_F(LaunchRaceTest, FlagsOrderKernelsThatRunTogether) {
  const CUdeviceptr flag = data + 32;
  runOnPeer("receive", data, flag, to);
  run(module, "send_sys", one, data, flag);
  expectNoFinding();
  EXPECT_CUDA(cuda().cuMemsetD8_v2(data, 0, 64));
  run(module, "receive", two, data, flag, to);
  run(module, "send_gpu", one, data, flag); // .gpu is enough on one device
  expectNoFinding();
}

// The tests above must not report anything, so those that do come last: a finding is reported once.

TEST_F(LaunchRaceTest, TwoStreamsAreARace) {
  run(module, "put", one, data);
  run(module, "get", two, data, to);
  finish();
  EXPECT_THAT(report(), HasSubstr("by launches on different streams"));
}

TEST_F(LaunchRaceTest, MemoryIsTheSameAtAllItsAddresses) {
  constexpr size_t bytes = size_t(2) << 20;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_CUDA(cuda().cuMemCreate(&handle, bytes, &prop, 0));
  CUdeviceptr at[2] = {};
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  for (CUdeviceptr &address : at) {
    ASSERT_CUDA(cuda().cuMemAddressReserve(&address, bytes, 0, 0, 0));
    ASSERT_CUDA(cuda().cuMemMap(address, bytes, 0, handle, 0));
    ASSERT_CUDA(cuda().cuMemSetAccess(address, bytes, &access, 1));
  }
  // Each address is free of races by itself.
  run(module, "put", one, at[0]);
  run(module, "put_other", two, at[1]);
  finish();
  EXPECT_THAT(report(), HasSubstr("put_other"));
  for (CUdeviceptr address : at) {
    EXPECT_CUDA(cuda().cuMemUnmap(address, bytes));
    EXPECT_CUDA(cuda().cuMemAddressFree(address, bytes));
  }
  EXPECT_CUDA(cuda().cuMemRelease(handle));
}

TEST_F(LaunchRaceTest, AFlagOfALaterKernelOfTheStreamCoversTheEarlierOnes) {
  const CUdeviceptr flag = data + 32, other = data + 16;
  runOnPeer("receive", data, flag, to);
  run(module, "put", one, data);
  run(module, "send_sys", one, other, flag);
  expectNoFinding();
}

TEST_F(LaunchRaceTest, LaunchesAfterTheReaderOfAFlagComeAfterWhatEndedBeforeItsWriter) {
  const CUdeviceptr flag = data + 32, other = data + 16;
  runOnPeer("receive", other, flag, to + 16);
  runOnPeer("put", data);
  run(module, "get", one, data, to);
  run(module, "send_sys", one, other, flag);
  expectNoFinding();
}

TEST_F(LaunchRaceTest, AFlagOfAnotherStreamCoversNothingElse) {
  const CUdeviceptr flag = data + 32, other = data + 16;
  runOnPeer("receive", data, flag, to);
  run(module, "put", two, data);
  run(module, "send_sys", one, other, flag);
  finish();
  EXPECT_THAT(report(), HasSubstr("by launches on different devices"));
}

TEST_F(LaunchRaceTest, ScopeGpuDoesNotReachAnotherDevice) {
  const CUdeviceptr flag = data + 32;
  runOnPeer("receive", data, flag, to);
  run(module, "send_gpu", one, data, flag);
  finish();
  EXPECT_THAT(report(), HasSubstr("by launches on different devices"));
  EXPECT_THAT(report(), HasSubstr("use .sys"));
}

} // namespace
} // namespace tilewright::vgpu::driver
