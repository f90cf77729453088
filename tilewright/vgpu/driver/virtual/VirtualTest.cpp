#include "tilewright/vgpu/driver/testing/Driver.h"
#include "tilewright/vgpu/driver/testing/SecondProcess.h"

using namespace tilewright::vgpu::driver;

namespace {

constexpr size_t granule = size_t(2) << 20;

/// Kernels on multicast addresses: `reduce` reads the sum of four floats of all members, `spread`
/// stores to all, `count` adds 1 to an int of all.
constexpr char multimemPtx[] = R"(
.version 8.1
.target sm_90
.address_size 64
.visible .entry reduce(.param .u64 team, .param .u64 to)
{
  .reg .b64 %rd<3>; .reg .f32 %f<5>;
  ld.param.u64 %rd1, [team]; ld.param.u64 %rd2, [to];
  multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];
  st.global.v4.f32 [%rd2], {%f1, %f2, %f3, %f4};
  ret;
}
.visible .entry spread(.param .u64 team, .param .f32 value)
{
  .reg .b64 %rd<3>; .reg .f32 %f<2>;
  ld.param.u64 %rd1, [team]; ld.param.f32 %f1, [value];
  multimem.st.relaxed.sys.global.f32 [%rd1+16], %f1;
  ret;
}
.visible .entry count(.param .u64 team)
{
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [team];
  multimem.red.release.sys.global.add.u32 [%rd1+32], 1;
  ret;
}
.visible .entry halves(.param .u64 team, .param .u64 to)
{
  .reg .b64 %rd<3>; .reg .b32 %r<3>;
  ld.param.u64 %rd1, [team]; ld.param.u64 %rd2, [to];
  multimem.ld_reduce.weak.global.add.acc::f32.f16x2 %r1, [%rd1+64];
  multimem.ld_reduce.weak.global.add.f16x2 %r2, [%rd1+64];
  st.global.v2.b32 [%rd2], {%r1, %r2};
  ret;
}
)";

CUmemAllocationProp memoryOf(int device, bool isShared = true) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes =
      isShared ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return prop;
}

CUmemAccessDesc accessOf(int device, CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
}

class VirtualTest : public DriverTest {
protected:
  CUmemGenericAllocationHandle create(int device, size_t bytes = granule) {
    const CUmemAllocationProp prop = memoryOf(device);
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_CUDA(cuda().cuMemCreate(&handle, bytes, &prop, 0));
    return handle;
  }
  CUdeviceptr reserve(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuda().cuMemAddressReserve(&address, bytes, 0, 0, 0));
    return address;
  }
  /// Maps memory with access for `devices`.
  CUdeviceptr mapped(CUmemGenericAllocationHandle handle, std::vector<int> devices,
                     size_t bytes = granule) {
    const CUdeviceptr address = reserve(bytes);
    EXPECT_CUDA(cuda().cuMemMap(address, bytes, 0, handle, 0));
    for (int device : devices) {
      const CUmemAccessDesc access = accessOf(device);
      EXPECT_CUDA(cuda().cuMemSetAccess(address, bytes, &access, 1));
    }
    return address;
  }
  void unmap(CUdeviceptr address, size_t bytes = granule) {
    EXPECT_CUDA(cuda().cuMemUnmap(address, bytes));
    EXPECT_CUDA(cuda().cuMemAddressFree(address, bytes));
  }
  template <typename T> void write(CUdeviceptr to, T value) {
    EXPECT_CUDA(cuda().cuMemcpyHtoD_v2(to, &value, sizeof(value)));
  }
  template <typename T = int> T read(CUdeviceptr from) {
    T value{};
    EXPECT_CUDA(cuda().cuMemcpyDtoH_v2(&value, from, sizeof(value)));
    return value;
  }
  /// Launches a kernel of one block and waits for it.
  template <typename... Arguments>
  CUresult run(const char *ptx, const char *name, Arguments... arguments) {
    const CUresult launched = launch(function(load(ptx), name), nullptr, 1, arguments...);
    return launched == CUDA_SUCCESS ? cuda().cuCtxSynchronize() : launched;
  }
  CUresult addOne(CUdeviceptr at) { return run(testPtx, "add_one", at, 1u); }
};

TEST_F(VirtualTest, MappedMemoryIsMemory) {
  const CUmemGenericAllocationHandle handle = create(0);
  const CUdeviceptr one = mapped(handle, {0}), other = mapped(handle, {0});
  write(one + 400, 41);
  EXPECT_CUDA(addOne(other + 400)); // through the second address
  EXPECT_EQ(read(one + 400), 42);
  // The memory lives until its last mapping ends.
  EXPECT_CUDA(cuda().cuMemRelease(handle));
  EXPECT_EQ(cuda().cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
  unmap(one);
  EXPECT_EQ(read(other + 400), 42);
  CUmemGenericAllocationHandle again = 0;
  EXPECT_CUDA(cuda().cuMemRetainAllocationHandle(&again, reinterpret_cast<void *>(other + 8)));
  CUmemAllocationProp prop{};
  EXPECT_CUDA(cuda().cuMemGetAllocationPropertiesFromHandle(&prop, again));
  EXPECT_EQ(prop.location.id, 0);
  EXPECT_CUDA(cuda().cuMemRelease(again));
  unmap(other);
}

TEST_F(VirtualTest, MappingsSideBySideAreOneRange) {
  const CUdeviceptr base = reserve(2 * granule);
  for (size_t i = 0; i < 2; ++i) {
    const CUmemGenericAllocationHandle handle = create(0);
    EXPECT_CUDA(cuda().cuMemMap(base + i * granule, granule, 0, handle, 0));
    EXPECT_CUDA(cuda().cuMemRelease(handle));
  }
  const CUmemAccessDesc access = accessOf(0);
  EXPECT_CUDA(cuda().cuMemSetAccess(base, 2 * granule, &access, 1));
  const std::vector<int> sent(512, 7);
  EXPECT_CUDA(cuda().cuMemcpyHtoD_v2(base + granule - 1024, sent.data(), 2048));
  EXPECT_CUDA(cuda().cuMemsetD32_v2(base + granule - 8, 9, 4));
  EXPECT_EQ(read(base + granule - 12), 7);
  EXPECT_EQ(read(base + granule + 4), 9);
  EXPECT_EQ(cuda().cuMemUnmap(base + granule / 2, granule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuMemAddressFree(base, 2 * granule), CUDA_ERROR_INVALID_VALUE); // still mapped
  unmap(base, 2 * granule);
}

TEST_F(VirtualTest, AccessIsForEachDevice) {
  const CUmemGenericAllocationHandle handle = create(2);
  const CUdeviceptr at = mapped(handle, {2});
  unsigned long long flags = 1;
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  EXPECT_CUDA(cuda().cuMemGetAccess(&flags, &here, at));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_EQ(addOne(at), CUDA_ERROR_ILLEGAL_ADDRESS); // device 0 has no access
  SetUp();                                           // the context is unusable now
  const CUmemAccessDesc access = accessOf(0);
  EXPECT_CUDA(cuda().cuMemSetAccess(at, granule, &access, 1));
  EXPECT_CUDA(cuda().cuMemGetAccess(&flags, &here, at));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_CUDA(addOne(at));
  EXPECT_EQ(read(at), 1);
  unmap(at);
  EXPECT_CUDA(cuda().cuMemRelease(handle));
}

TEST_F(VirtualTest, PeerAccessMustBeEnabled) {
  CUcontext peer = nullptr;
  ASSERT_CUDA(cuda().cuCtxCreate_v2(&peer, 0, 2));
  const CUdeviceptr theirs = allocate(4);
  EXPECT_CUDA(cuda().cuMemsetD32_v2(theirs, 5, 1));
  EXPECT_CUDA(cuda().cuCtxSetCurrent(context));
  EXPECT_EQ(addOne(theirs), CUDA_ERROR_ILLEGAL_ADDRESS);
  SetUp();
  EXPECT_CUDA(cuda().cuCtxEnablePeerAccess(peer, 0));
  EXPECT_CUDA(addOne(theirs));
  EXPECT_EQ(read(theirs), 6);
  EXPECT_CUDA(cuda().cuCtxDestroy_v2(peer));
}

TEST_F(VirtualTest, WrongCallsAreRefused) {
  CUmemAllocationProp prop = memoryOf(0, /*isShared=*/false);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuda().cuMemCreate(&handle, granule + 4096, &prop, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuMemCreate(&handle, size_t(1) << 40, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
  size_t bytes = 0;
  EXPECT_CUDA(
      cuda().cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  EXPECT_EQ(bytes, granule);
  // The device's memory is used up and comes back.
  std::vector<CUmemGenericAllocationHandle> all;
  while (cuda().cuMemCreate(&handle, 8 * granule, &prop, 0) == CUDA_SUCCESS)
    all.push_back(handle);
  EXPECT_GE(all.size(), 3u);
  for (CUmemGenericAllocationHandle one : all)
    EXPECT_CUDA(cuda().cuMemRelease(one));
  EXPECT_CUDA(cuda().cuMemCreate(&handle, granule, &prop, 0));
  int file = -1;
  EXPECT_EQ(cuda().cuMemExportToShareableHandle(&file, handle,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_ERROR_INVALID_VALUE); // it was not created for that
  const CUdeviceptr at = reserve(granule);
  EXPECT_EQ(cuda().cuMemMap(at + granule, granule, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuMemMap(at, granule, 0, handle, 0));
  EXPECT_EQ(cuda().cuMemMap(at, granule, 0, handle, 0), CUDA_ERROR_INVALID_VALUE); // mapped
  int value = 0; // mapped, but no device has access
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(&value, at, 4), CUDA_ERROR_INVALID_VALUE);
  CUmemGenericAllocationHandle none = 0;
  EXPECT_EQ(cuda().cuMemImportFromShareableHandle(&none, reinterpret_cast<void *>(intptr_t(0)),
                                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_ERROR_INVALID_VALUE); // standard input
  unmap(at);
  EXPECT_CUDA(cuda().cuMemRelease(handle));
}

/// A team of devices 0 and 2, each with memory bound at offset 0.
class MulticastTest : public VirtualTest {
protected:
  void SetUp() override {
    VirtualTest::SetUp();
    const CUmulticastObjectProp prop{2, granule, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0};
    ASSERT_CUDA(cuda().cuMulticastCreate(&team, &prop));
    ASSERT_CUDA(cuda().cuMulticastAddDevice(team, 0));
    ASSERT_CUDA(cuda().cuMulticastAddDevice(team, 2));
    for (int i = 0; i < 2; ++i) {
      memory[i] = create(2 * i);
      at[i] = mapped(memory[i], {0, 2});
      ASSERT_CUDA(cuda().cuMulticastBindMem(team, 0, memory[i], 0, granule, 0));
    }
    teamAt = mapped(team, {0});
  }
  void TearDown() override {
    unmap(teamAt);
    for (int i = 0; i < 2; ++i) {
      unmap(at[i]);
      EXPECT_CUDA(cuda().cuMemRelease(memory[i]));
    }
    EXPECT_CUDA(cuda().cuMemRelease(team));
    VirtualTest::TearDown();
  }
  CUmemGenericAllocationHandle team = 0, memory[2] = {};
  CUdeviceptr at[2] = {}, teamAt = 0;
};

TEST_F(MulticastTest, MultimemReachesEveryMember) {
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 4; ++k)
      write(at[i] + static_cast<size_t>(k) * 4, static_cast<float>(10 * i + k));
  const CUdeviceptr to = allocate(16);
  ASSERT_CUDA(run(multimemPtx, "reduce", teamAt, to));
  ASSERT_CUDA(run(multimemPtx, "spread", teamAt, 2.5f));
  ASSERT_CUDA(run(multimemPtx, "count", teamAt));
  for (int k = 0; k < 4; ++k)
    EXPECT_EQ(read<float>(to + static_cast<size_t>(k) * 4), static_cast<float>(10 + 2 * k));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(read<float>(at[i] + 16), 2.5f);
    EXPECT_EQ(read(at[i] + 32), 32); // one block of 32 threads
  }
}

TEST_F(MulticastTest, HalvesMayBeAccumulatedInFloat) {
  // With two members both ways round once: 2048 + 1 is 2048 in f16, 1 + 1 is exact.
  write(at[0] + 64, 0x3c006800u); // {2048, 1}
  write(at[1] + 64, 0x3c003c00u); // {1, 1}
  const CUdeviceptr to = allocate(8);
  ASSERT_CUDA(run(multimemPtx, "halves", teamAt, to));
  EXPECT_EQ(read<unsigned>(to), 0x40006800u);
  EXPECT_EQ(read<unsigned>(to + 4), 0x40006800u);
}

TEST_F(MulticastTest, LoadsMayNotUseTheAddresses) {
  EXPECT_EQ(addOne(teamAt), CUDA_ERROR_ILLEGAL_ADDRESS); // it loads before it stores
  SetUp();
  // And multimem uses no other addresses.
  EXPECT_EQ(run(multimemPtx, "count", at[0]), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(MulticastTest, UnboundMemoryIsAnError) {
  EXPECT_CUDA(cuda().cuMulticastUnbind(team, 2, 0, granule));
  EXPECT_EQ(cuda().cuMulticastUnbind(team, 2, 0, granule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(run(multimemPtx, "count", teamAt), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(MulticastTest, WrongCallsAreRefused) {
  EXPECT_EQ(cuda().cuMulticastAddDevice(team, 0), CUDA_ERROR_INVALID_VALUE);      // twice
  EXPECT_EQ(cuda().cuMulticastAddDevice(team, 1), CUDA_ERROR_NOT_SUPPORTED);      // sm_80
  EXPECT_EQ(cuda().cuMulticastAddDevice(memory[0], 0), CUDA_ERROR_INVALID_VALUE); // not a team
  EXPECT_EQ(cuda().cuMulticastBindMem(team, 0, memory[0], 0, granule, 0),
            CUDA_ERROR_INVALID_VALUE); // bound already
  EXPECT_CUDA(cuda().cuMulticastUnbind(team, 0, 0, granule));
  EXPECT_CUDA(cuda().cuMulticastBindAddr(team, 0, at[0], granule, 0));
  size_t bytes = 0;
  const CUmulticastObjectProp prop{2, granule, 0, 0};
  EXPECT_CUDA(cuda().cuMulticastGetGranularity(&bytes, &prop, CU_MULTICAST_GRANULARITY_MINIMUM));
  EXPECT_EQ(bytes, granule);
}

/// The second process joins the team, binds its memory and adds to the memory that it gets.
class SecondTeamProcess : public VirtualTest {};

TEST_F(SecondTeamProcess, JoinsTheTeam) {
  const int socket = firstProcess();
  if (socket < 0)
    GTEST_SKIP() << "runs only in the process that ProcessesShareMemoryAndTeams starts";
  CUmemGenericAllocationHandle memory = 0, team = 0;
  auto import = [&](CUmemGenericAllocationHandle &handle) {
    const int file = receiveFile(socket);
    ASSERT_GE(file, 0);
    ASSERT_CUDA(cuda().cuMemImportFromShareableHandle(&handle,
                                                      reinterpret_cast<void *>(intptr_t(file)),
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(file);
  };
  import(memory);
  import(team);
  const CUdeviceptr theirs = mapped(memory, {0});
  EXPECT_EQ(read(theirs), 41);
  EXPECT_CUDA(addOne(theirs));
  ASSERT_CUDA(cuda().cuMulticastAddDevice(team, 0));
  const CUmemGenericAllocationHandle own = create(0);
  ASSERT_CUDA(cuda().cuMulticastBindMem(team, 0, own, 0, granule, 0));
  const CUdeviceptr ours = mapped(own, {0}), teamAt = mapped(team, {0});
  sendTo(socket, 'b');
  EXPECT_EQ(receiveFrom<char>(socket), 'b'); // both have bound their memory
  ASSERT_CUDA(run(multimemPtx, "count", teamAt));
  EXPECT_EQ(read(ours + 32), 32);
  sendTo(socket, 'c');
  EXPECT_EQ(receiveFrom<char>(socket), 'c'); // the other one has looked
}

TEST_F(VirtualTest, ProcessesShareMemoryAndTeams) {
  SecondProcess second("SecondTeamProcess.*");
  const CUmemGenericAllocationHandle shared = create(0), own = create(2);
  const CUdeviceptr at = mapped(shared, {0}), ours = mapped(own, {2});
  write(at, 41);
  const CUmulticastObjectProp prop{2, granule, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0};
  CUmemGenericAllocationHandle team = 0;
  ASSERT_CUDA(cuda().cuMulticastCreate(&team, &prop));
  ASSERT_CUDA(cuda().cuMulticastAddDevice(team, 2));
  for (CUmemGenericAllocationHandle handle : {shared, team}) {
    int file = -1;
    ASSERT_CUDA(cuda().cuMemExportToShareableHandle(&file, handle,
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    sendFile(second.socket, file);
    close(file);
  }
  // Waits until the other process has joined.
  ASSERT_CUDA(cuda().cuMulticastBindMem(team, 0, own, 0, granule, 0));
  EXPECT_EQ(receiveFrom<char>(second.socket), 'b');
  EXPECT_EQ(read(at), 42);
  sendTo(second.socket, 'b');
  EXPECT_EQ(receiveFrom<char>(second.socket), 'c');
  EXPECT_EQ(read(ours + 32), 32); // written by a kernel of the other process
  sendTo(second.socket, 'c');
  unmap(at);
  unmap(ours);
  for (CUmemGenericAllocationHandle handle : {shared, own, team})
    EXPECT_CUDA(cuda().cuMemRelease(handle));
}

} // namespace
