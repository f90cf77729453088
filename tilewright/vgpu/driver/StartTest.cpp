// Initialisation, devices and contexts.
#include "tilewright/vgpu/driver/testing/Driver.h"

#include "gmock/gmock.h"

#include <cstring>
#include <thread>

namespace tilewright::vgpu::driver {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StartTest : public DriverTest {};

TEST(Exports, EveryRowOfTheTableIsExported) { EXPECT_THAT(cuda().absent, IsEmpty()); }

// Runs before all other tests because of the suffix DeathTest: its child processes must be the
// first to initialise anything.
TEST(ExportsDeathTest, NothingWorksBeforeInit) {
  ASSERT_EXIT(
      {
        int count = 0;
        const CUresult before = cuda().cuDeviceGetCount(&count);
        const CUresult wrong = cuda().cuInit(1);
        int version = 0;
        const CUresult always = cuda().cuDriverGetVersion(&version);
        std::exit(before == CUDA_ERROR_NOT_INITIALIZED && wrong == CUDA_ERROR_INVALID_VALUE &&
                          always == CUDA_SUCCESS && version == 13000
                      ? 0
                      : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(ExportsDeathTest, AWrongSettingIsToldAndRefused) {
  ASSERT_EXIT(
      {
        setenv("TILEWRIGHT_VGPU_CHIP", "sm_70", 1);
        std::exit(cuda().cuInit(0));
      },
      ::testing::ExitedWithCode(CUDA_ERROR_INVALID_VALUE), "E7203.*sm_70.*sm_80");
}

TEST(ExportsDeathTest, ACheckThatDoesNotExistIsRefused) {
  ASSERT_EXIT(
      {
        setenv("TILEWRIGHT_VGPU_CHECK", "spelling", 1);
        std::exit(cuda().cuInit(0));
      },
      ::testing::ExitedWithCode(CUDA_ERROR_INVALID_VALUE), "E7203.*spelling");
}

TEST(ExportsDeathTest, TheArithmeticOfTensorCoresIsChosenByName) {
  for (const char *name : {"exact", "hopper", "fast"})
    ASSERT_EXIT(
        {
          setenv("TILEWRIGHT_VGPU_ARITHMETIC", name, 1);
          std::exit(cuda().cuInit(0));
        },
        ::testing::ExitedWithCode(CUDA_SUCCESS), "");
  ASSERT_EXIT(
      {
        setenv("TILEWRIGHT_VGPU_ARITHMETIC", "quick", 1);
        std::exit(cuda().cuInit(0));
      },
      ::testing::ExitedWithCode(CUDA_ERROR_INVALID_VALUE), "E7203.*quick.*exact, hopper or fast");
}

TEST_F(StartTest, ProcAddressGivesTheVersionThatWasAskedFor) {
  void *function = nullptr;
  CUdriverProcAddressQueryResult result{};
  EXPECT_CUDA(cuda().cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &result));
  EXPECT_EQ(function, dlsym(cuda().library, "cuMemAlloc_v2"));
  EXPECT_CUDA(cuda().cuGetProcAddress_v2("cuStreamGetCaptureInfo", &function, 10010, 0, &result));
  EXPECT_EQ(function, dlsym(cuda().library, "cuStreamGetCaptureInfo"));
  EXPECT_CUDA(cuda().cuGetProcAddress_v2("cuStreamGetCaptureInfo", &function, 13000, 0, &result));
  EXPECT_EQ(function, dlsym(cuda().library, "cuStreamGetCaptureInfo_v3"));
  EXPECT_CUDA(cuda().cuGetProcAddress_v2("cuLaunchKernel", &function, 12000,
                                         CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &result));
  EXPECT_EQ(function, dlsym(cuda().library, "cuLaunchKernel_ptsz"));
  EXPECT_CUDA(cuda().cuGetProcAddress_v2("cuGraphInstantiate", &function, 12000, 0, &result));
  EXPECT_EQ(function, dlsym(cuda().library, "cuGraphInstantiateWithFlags"));
}

TEST_F(StartTest, ProcAddressTellsOldFromUnknown) {
  void *function = nullptr;
  CUdriverProcAddressQueryResult result{};
  EXPECT_CUDA(cuda().cuGetProcAddress_v2("cuLibraryLoadData", &function, 11000, 0, &result));
  EXPECT_EQ(result, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(function, nullptr);
  EXPECT_CUDA(cuda().cuGetProcAddress_v2("cuMakeCoffee", &function, 13000, 0, &result));
  EXPECT_EQ(result, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(cuda().cuGetProcAddress("cuMakeCoffee", &function, 13000, 0), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuda().cuGetProcAddress_v2("cuInit", &function, 13000, 7, &result),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StartTest, ErrorsHaveNamesAndTexts) {
  const char *text = nullptr;
  EXPECT_CUDA(cuda().cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_CUDA(cuda().cuGetErrorString(CUDA_SUCCESS, &text));
  EXPECT_STREQ(text, "no error");
  EXPECT_EQ(cuda().cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

TEST_F(StartTest, ExportTablesDoNotExist) {
  const void *table = &table;
  const CUuuid id{};
  EXPECT_EQ(cuda().cuGetExportTable(&table, &id), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(table, nullptr);
}

TEST_F(StartTest, DevicesHaveTheLimitsOfTheirChips) {
  int count = 0, value = 0;
  EXPECT_CUDA(cuda().cuDeviceGetCount(&count));
  EXPECT_EQ(count, 3);
  auto attribute = [&](CUdevice_attribute which, CUdevice device) {
    EXPECT_CUDA(cuda().cuDeviceGetAttribute(&value, which, device));
    return value;
  };
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), 9);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1), 8);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), 132);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1), 108);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0), 227 * 1024);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 1), 163 * 1024);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0), 1);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1), 0);
  EXPECT_EQ(attribute(static_cast<CUdevice_attribute>(52), 0), 0); // a texture limit
  EXPECT_EQ(cuda().cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(4000), 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 3),
            CUDA_ERROR_INVALID_DEVICE);
  size_t bytes = 0;
  EXPECT_CUDA(cuda().cuDeviceTotalMem_v2(&bytes, 1));
  EXPECT_EQ(bytes, size_t(64) << 20);
}

TEST_F(StartTest, DevicesHaveNames) {
  char name[64], bus[16];
  EXPECT_CUDA(cuda().cuDeviceGetName(name, sizeof(name), 1));
  EXPECT_THAT(name, HasSubstr("sm_80"));
  EXPECT_CUDA(cuda().cuDeviceGetName(name, 5, 1));
  EXPECT_EQ(std::strlen(name), 4u);
  EXPECT_CUDA(cuda().cuDeviceGetPCIBusId(bus, sizeof(bus), 2));
  CUdevice device = -1;
  EXPECT_CUDA(cuda().cuDeviceGetByPCIBusId(&device, bus));
  EXPECT_EQ(device, 2);
  CUuuid first{}, second{};
  EXPECT_CUDA(cuda().cuDeviceGetUuid_v2(&first, 0));
  EXPECT_CUDA(cuda().cuDeviceGetUuid_v2(&second, 2));
  EXPECT_NE(std::memcmp(&first, &second, sizeof(first)), 0);
  int major = 0, minor = 0;
  EXPECT_CUDA(cuda().cuDeviceComputeCapability(&major, &minor, 1));
  EXPECT_EQ(major * 10 + minor, 80);
  CUdevprop properties{};
  EXPECT_CUDA(cuda().cuDeviceGetProperties(&properties, 0));
  EXPECT_EQ(properties.maxThreadsPerBlock, 1024);
  EXPECT_EQ(properties.SIMDWidth, 32);
}

TEST_F(StartTest, PeersAreAccessible) {
  int can = 0;
  EXPECT_CUDA(cuda().cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  EXPECT_CUDA(cuda().cuDeviceCanAccessPeer(&can, 1, 1));
  EXPECT_EQ(can, 0);
  EXPECT_CUDA(cuda().cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
  EXPECT_EQ(can, 1);
  CUcontext peer = nullptr;
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxRetain(&peer, 1));
  EXPECT_CUDA(cuda().cuCtxEnablePeerAccess(peer, 0));
  EXPECT_EQ(cuda().cuCtxEnablePeerAccess(peer, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_CUDA(cuda().cuCtxDisablePeerAccess(peer));
  EXPECT_EQ(cuda().cuCtxDisablePeerAccess(peer), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(cuda().cuCtxEnablePeerAccess(context, 0), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxRelease_v2(1));
}

TEST_F(StartTest, ThePrimaryContextIsCounted) {
  CUcontext first = nullptr, second = nullptr;
  unsigned flags = 9;
  int active = -1;
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxRetain(&first, 2));
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxRetain(&second, 2));
  EXPECT_EQ(first, second);
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxRelease_v2(2));
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxGetState(2, &flags, &active));
  EXPECT_EQ(active, 1);
  EXPECT_EQ(cuda().cuCtxDestroy_v2(first), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxRelease_v2(2));
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxGetState(2, &flags, &active));
  EXPECT_EQ(active, 0);
  EXPECT_EQ(cuda().cuDevicePrimaryCtxRelease_v2(2), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuda().cuCtxSetCurrent(first), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxSetFlags_v2(2, CU_CTX_SCHED_SPIN));
  EXPECT_EQ(cuda().cuDevicePrimaryCtxSetFlags_v2(2, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxGetState(2, &flags, &active));
  EXPECT_EQ(flags, unsigned(CU_CTX_SCHED_SPIN));
}

TEST_F(StartTest, ResetMakesAnotherPrimaryContext) {
  CUcontext first = nullptr, second = nullptr;
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxRetain(&first, 2));
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxReset_v2(2));
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxRetain(&second, 2));
  EXPECT_NE(first, second);
  EXPECT_CUDA(cuda().cuDevicePrimaryCtxRelease_v2(2));
}

TEST_F(StartTest, ContextsAreStacked) {
  CUcontext other = nullptr, current = nullptr, popped = nullptr;
  EXPECT_CUDA(cuda().cuCtxCreate_v2(&other, CU_CTX_SCHED_YIELD, 1));
  EXPECT_CUDA(cuda().cuCtxGetCurrent(&current));
  EXPECT_EQ(current, other);
  CUdevice device = -1;
  EXPECT_CUDA(cuda().cuCtxGetDevice(&device));
  EXPECT_EQ(device, 1);
  unsigned flags = 0;
  EXPECT_CUDA(cuda().cuCtxGetFlags(&flags));
  EXPECT_EQ(flags, unsigned(CU_CTX_SCHED_YIELD));
  EXPECT_CUDA(cuda().cuCtxPopCurrent_v2(&popped));
  EXPECT_EQ(popped, other);
  EXPECT_CUDA(cuda().cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context);
  EXPECT_CUDA(cuda().cuCtxPushCurrent_v2(other));
  unsigned long long one = 0, two = 0;
  EXPECT_CUDA(cuda().cuCtxGetId(other, &one));
  EXPECT_CUDA(cuda().cuCtxGetId(context, &two));
  EXPECT_NE(one, two);
  EXPECT_CUDA(cuda().cuCtxDestroy_v2(other));
  EXPECT_EQ(cuda().cuCtxPushCurrent_v2(other), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(StartTest, AThreadHasNoContextUntilItIsGivenOne) {
  std::thread([&] {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuda().cuMemAlloc_v2(&address, 16), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_CUDA(cuda().cuCtxSetCurrent(context));
    EXPECT_CUDA(cuda().cuMemAlloc_v2(&address, 16));
    EXPECT_CUDA(cuda().cuMemFree_v2(address));
    EXPECT_CUDA(cuda().cuCtxSetCurrent(nullptr));
    EXPECT_EQ(cuda().cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuda().cuCtxPopCurrent_v2(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
}

TEST_F(StartTest, LimitsAndConfigurationsAreKept) {
  size_t value = 0;
  EXPECT_CUDA(cuda().cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 12345));
  EXPECT_CUDA(cuda().cuCtxGetLimit(&value, CU_LIMIT_PRINTF_FIFO_SIZE));
  EXPECT_EQ(value, 12345u);
  EXPECT_EQ(cuda().cuCtxGetLimit(&value, static_cast<CUlimit>(99)), CUDA_ERROR_UNSUPPORTED_LIMIT);
  CUfunc_cache cache{};
  EXPECT_CUDA(cuda().cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
  EXPECT_CUDA(cuda().cuCtxGetCacheConfig(&cache));
  EXPECT_EQ(cache, CU_FUNC_CACHE_PREFER_L1);
  EXPECT_EQ(cuda().cuCtxSetCacheConfig(static_cast<CUfunc_cache>(9)), CUDA_ERROR_INVALID_VALUE);
  int least = 1, greatest = 1;
  EXPECT_CUDA(cuda().cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, 0);
  unsigned version = 0;
  EXPECT_CUDA(cuda().cuCtxGetApiVersion(context, &version));
  EXPECT_EQ(version, 3020u);
  EXPECT_CUDA(cuda().cuCtxResetPersistingL2Cache());
  EXPECT_CUDA(cuda().cuCtxSetFlags(CU_CTX_SYNC_MEMOPS));
  EXPECT_CUDA(cuda().cuProfilerStart());
  EXPECT_CUDA(cuda().cuProfilerStop());
}

TEST_F(StartTest, WhatThereIsNotIsAnswered) {
  CUdevice device = -1;
  EXPECT_CUDA(cuda().cuDeviceGet(&device, 2));
  EXPECT_EQ(device, 2);
  EXPECT_EQ(cuda().cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  int support = 7;
  EXPECT_CUDA(cuda().cuDeviceGetExecAffinitySupport(&support, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
  EXPECT_EQ(support, 0);
  char luid[8];
  unsigned mask = 0;
  EXPECT_EQ(cuda().cuDeviceGetLuid(luid, &mask, 0), CUDA_ERROR_NOT_SUPPORTED);
  CUsharedconfig config{};
  EXPECT_CUDA(cuda().cuCtxSetSharedMemConfig(static_cast<CUsharedconfig>(2)));
  EXPECT_CUDA(cuda().cuCtxGetSharedMemConfig(&config));
  EXPECT_EQ(config, 2);
  EXPECT_EQ(cuda().cuCtxSetSharedMemConfig(static_cast<CUsharedconfig>(3)),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StartTest, NewerWaysToMakeContexts) {
  CUcontext made = nullptr;
  CUexecAffinityParam affinity{CU_EXEC_AFFINITY_TYPE_SM_COUNT, 4};
  EXPECT_EQ(cuda().cuCtxCreate_v3(&made, &affinity, 1, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
  EXPECT_CUDA(cuda().cuCtxCreate_v4(&made, nullptr, 0, 0));
  EXPECT_CUDA(cuda().cuCtxDestroy_v2(made));
  CUctxCreateParams params{nullptr, 0, &affinity};
  EXPECT_EQ(cuda().cuCtxCreate_v4(&made, &params, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuda().cuCtxCreate_v2(&made, 0, 99), CUDA_ERROR_INVALID_DEVICE);
}

} // namespace
} // namespace tilewright::vgpu::driver
