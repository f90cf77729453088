// Modules, libraries, functions, launches and their errors.
#include "tilewright/vgpu/driver/testing/Driver.h"

#include "gmock/gmock.h"

#include <cstdio>
#include <cstring>
#include <fstream>

namespace tilewright::vgpu::driver {
namespace {

using ::testing::HasSubstr;

class ModuleTest : public DriverTest {
protected:
  /// The ints at `address`.
  std::vector<int> ints(CUdeviceptr address, size_t count) {
    std::vector<int> values(count);
    EXPECT_CUDA(cuda().cuMemcpyDtoH_v2(values.data(), address, 4 * count));
    return values;
  }
  int attribute(CUfunction of, CUfunction_attribute which) {
    int value = -1;
    EXPECT_CUDA(cuda().cuFuncGetAttribute(&value, which, of));
    return value;
  }
  CUresult launchWide(CUfunction kernel, unsigned shared, CUdeviceptr out) {
    unsigned last = shared - 4;
    void *values[] = {&out, &last};
    return cuda().cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, shared, nullptr, values, nullptr);
  }
};

TEST_F(ModuleTest, KernelsRunWithTheirArguments) {
  const CUmodule module = load(testPtx);
  const CUdeviceptr data = allocate(400);
  EXPECT_CUDA(cuda().cuMemsetD32_v2(data, 1, 100));
  EXPECT_CUDA(launch(function(module, "add_one"), nullptr, 4, data, 99));
  const std::vector<int> values = ints(data, 100);
  EXPECT_EQ(values[98], 2);
  EXPECT_EQ(values[99], 1);
}

TEST_F(ModuleTest, ArgumentsMayComeInOneBuffer) {
  const CUmodule module = load(testPtx);
  const CUdeviceptr data = allocate(128);
  EXPECT_CUDA(cuda().cuMemsetD32_v2(data, 1, 32));
  struct {
    CUdeviceptr pointer;
    unsigned count;
  } packed{data, 32};
  size_t bytes = 12;
  void *extra[] = {launchParamBufferPointer, &packed, launchParamBufferSize, &bytes,
                   launchParamEnd};
  const CUfunction addOne = function(module, "add_one");
  EXPECT_CUDA(cuda().cuLaunchKernel(addOne, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(ints(data, 32)[31], 2);
  bytes = 8;
  EXPECT_EQ(cuda().cuLaunchKernel(addOne, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra),
            CUDA_ERROR_INVALID_VALUE);
  size_t offset = 0, size = 0;
  EXPECT_CUDA(cuda().cuFuncGetParamInfo(addOne, 1, &offset, &size));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(cuda().cuFuncGetParamInfo(addOne, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ModuleTest, VariablesAreMemory) {
  const CUmodule module = load(testPtx);
  CUdeviceptr counter = 0;
  size_t bytes = 0;
  EXPECT_CUDA(cuda().cuModuleGetGlobal_v2(&counter, &bytes, module, "counter"));
  EXPECT_EQ(bytes, 4u);
  EXPECT_CUDA(launch(function(module, "bump"), nullptr, 2));
  EXPECT_EQ(ints(counter, 1)[0], 7 + 64);
  EXPECT_EQ(cuda().cuModuleGetGlobal_v2(&counter, &bytes, module, "nowhere"), CUDA_ERROR_NOT_FOUND);
  CUdeviceptr base = 0;
  EXPECT_CUDA(cuda().cuMemGetAddressRange_v2(&base, &bytes, counter));
  EXPECT_EQ(base, counter);
}

TEST_F(ModuleTest, FunctionsTellTheirFacts) {
  const CUmodule module = load(testPtx);
  const CUfunction many = function(module, "many");
  EXPECT_EQ(attribute(many, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 2048);
  EXPECT_EQ(attribute(many, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 128);
  EXPECT_EQ(attribute(many, CU_FUNC_ATTRIBUTE_PTX_VERSION), 78);
  EXPECT_EQ(attribute(many, CU_FUNC_ATTRIBUTE_BINARY_VERSION), 90);
  EXPECT_EQ(attribute(many, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES), 16);
  EXPECT_GE(attribute(many, CU_FUNC_ATTRIBUTE_NUM_REGS), 16);
  EXPECT_EQ(attribute(many, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 49152 - 2048);
  int value = 0;
  EXPECT_EQ(cuda().cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(17), many),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuFuncSetAttribute(many, CU_FUNC_ATTRIBUTE_NUM_REGS, 3),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(
      cuda().cuFuncSetAttribute(many, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
  EXPECT_EQ(attribute(many, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), 50);
  const char *name = nullptr;
  EXPECT_CUDA(cuda().cuFuncGetName(&name, many));
  EXPECT_STREQ(name, "many");
  CUmodule of = nullptr;
  EXPECT_CUDA(cuda().cuFuncGetModule(&of, many));
  EXPECT_EQ(of, module);
  unsigned count = 0;
  EXPECT_CUDA(cuda().cuModuleGetFunctionCount(&count, module));
  EXPECT_EQ(count, 10u);
  std::vector<CUfunction> all(count);
  EXPECT_CUDA(cuda().cuModuleEnumerateFunctions(all.data(), count, module));
  EXPECT_EQ(all[7], many);
  CUfunctionLoadingState state{};
  EXPECT_CUDA(cuda().cuFuncIsLoaded(&state, many));
  EXPECT_EQ(state, CU_FUNCTION_LOADING_STATE_LOADED);
  EXPECT_CUDA(cuda().cuFuncLoad(many));
  EXPECT_CUDA(cuda().cuFuncSetCacheConfig(many, CU_FUNC_CACHE_PREFER_SHARED));
  EXPECT_CUDA(cuda().cuFuncSetSharedMemConfig(many, CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE));
}

TEST_F(ModuleTest, RegistersAreThosePtxasCounted) {
  const std::string text =
      std::string(testPtx) + "\n// ptxas: kernel many registers 77 spills 24\n";
  const CUfunction many = function(load(text.c_str()), "many");
  EXPECT_EQ(attribute(many, CU_FUNC_ATTRIBUTE_NUM_REGS), 77);
  EXPECT_EQ(attribute(many, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 24);
}

TEST_F(ModuleTest, SharedMemoryBeyondTheUsualIsAskedFor) {
  const CUfunction wide = function(load(testPtx), "wide");
  const CUdeviceptr out = allocate(4);
  EXPECT_CUDA(launchWide(wide, 48 * 1024, out));
  EXPECT_EQ(launchWide(wide, 48 * 1024 + 4, out), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(
      cuda().cuFuncSetAttribute(wide, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024));
  EXPECT_CUDA(launchWide(wide, 227 * 1024, out));
  EXPECT_EQ(ints(out, 1)[0], 227 * 1024 - 4);
  EXPECT_EQ(cuda().cuFuncSetAttribute(wide, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      227 * 1024 + 4),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ModuleTest, LaunchesBeyondTheLimitsAreRefused) {
  const CUmodule module = load(testPtx);
  const CUfunction many = function(module, "many"), nothing = function(module, "nothing");
  CUdeviceptr none = 0;
  void *values[] = {&none};
  auto with = [&](CUfunction kernel, unsigned grid, unsigned block) {
    return cuda().cuLaunchKernel(kernel, grid, 1, 1, block, 1, 1, 0, nullptr, values, nullptr);
  };
  EXPECT_CUDA(with(many, 1, 128));
  EXPECT_EQ(with(many, 1, 160), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(nothing, 0, 32), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(nothing, 1, 1025), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuLaunchKernel(nothing, 1, 70000, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuLaunchKernel(many, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CUDA(cuda().cuCtxSynchronize()); // none of these is an error of the context
  const std::string hungry =
      std::string(testPtx) + "\n// ptxas: kernel nothing registers 128 spills 0\n";
  EXPECT_EQ(with(function(load(hungry.c_str()), "nothing"), 1, 1024),
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

/// Triton's autotuner asks in this way whether a configuration fits.
TEST_F(ModuleTest, KernelForMoreThreadsThanABlockHasSaysSo) {
  const CUmodule module = load(".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry wide() .reqntid 4096 { ret; }");
  EXPECT_EQ(attribute(function(module, "wide"), CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
}

TEST_F(ModuleTest, ClustersAndOtherAttributes) {
  const CUfunction nothing = function(load(testPtx), "nothing");
  CUlaunchAttribute attributes[2] = {};
  CUlaunchConfig config{16, 1, 1, 32, 1, 1, 0, nullptr, attributes, 1};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  auto withCluster = [&](unsigned x) {
    attributes[0].value.clusterDim = {x, 1, 1};
    return cuda().cuLaunchKernelEx(&config, nothing, nullptr, nullptr);
  };
  EXPECT_CUDA(withCluster(8));
  EXPECT_EQ(withCluster(16), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(withCluster(3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(withCluster(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(
      cuda().cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  EXPECT_CUDA(withCluster(16));
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attributes[0].value.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attributes[1].value.cooperative = 1;
  config.numAttrs = 2;
  EXPECT_CUDA(cuda().cuLaunchKernelEx(&config, nothing, nullptr, nullptr));
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  EXPECT_EQ(cuda().cuLaunchKernelEx(&config, nothing, nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  attributes[1].id = static_cast<CUlaunchAttributeID>(88);
  EXPECT_EQ(cuda().cuLaunchKernelEx(&config, nothing, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(
      cuda().cuLaunchCooperativeKernel(nothing, 132, 1, 1, 1024, 1, 1, 0, nullptr, nullptr));
  EXPECT_EQ(cuda().cuLaunchCooperativeKernel(nothing, 4225, 1, 1, 32, 1, 1, 0, nullptr, nullptr),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_F(ModuleTest, OccupancyIsThatOfTheChip) {
  const std::string text = std::string(testPtx) + "\n// ptxas: kernel wide registers 64 spills 0\n";
  const CUfunction wide = function(load(text.c_str()), "wide");
  auto blocks = [&](int threads, size_t shared) {
    int value = -1;
    EXPECT_CUDA(cuda().cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, wide, threads, shared));
    return value;
  };
  // With 64 registers per thread, 1024 threads fill a multiprocessor with 65536 registers.
  EXPECT_EQ(blocks(1024, 0), 1);
  EXPECT_EQ(blocks(256, 0), 4);
  EXPECT_EQ(blocks(32, 0), 32);
  int flagged = 0;
  EXPECT_CUDA(cuda().cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      &flagged, wide, 256, 0, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE));
  EXPECT_EQ(flagged, 4);
  EXPECT_EQ(cuda().cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&flagged, wide, 256, 0, 8),
            CUDA_ERROR_INVALID_VALUE);
  // 228 KiB of shared memory, of which the system reserves 1 KiB per block.
  EXPECT_EQ(blocks(32, 100 * 1024), 2);
  EXPECT_EQ(blocks(32, 113 * 1024), 2);
  EXPECT_EQ(blocks(32, 114 * 1024), 1);
  EXPECT_EQ(blocks(32, 227 * 1024), 1);
  EXPECT_EQ(blocks(32, 228 * 1024), 0);
  int grid = 0, block = 0;
  EXPECT_CUDA(cuda().cuOccupancyMaxPotentialBlockSize(&grid, &block, wide, nullptr, 0, 0));
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 132);
  EXPECT_CUDA(cuda().cuOccupancyMaxPotentialBlockSizeWithFlags(
      &grid, &block, wide, [](int threads) { return size_t(threads) * 1024; }, 0, 0, 0));
  EXPECT_EQ(block, 224); // 224 KiB, the largest block that fits
  size_t shared = 0;
  EXPECT_CUDA(cuda().cuOccupancyAvailableDynamicSMemPerBlock(&shared, wide, 2, 32));
  EXPECT_EQ(shared, 113u * 1024);
  EXPECT_EQ(cuda().cuOccupancyAvailableDynamicSMemPerBlock(&shared, wide, 3, 1024),
            CUDA_ERROR_INVALID_VALUE);
  CUlaunchAttribute cluster{CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, {}, {}};
  cluster.value.clusterDim = {2, 1, 1};
  CUlaunchConfig config{2, 1, 1, 128, 1, 1, 200 * 1024, nullptr, &cluster, 1};
  int clusters = 0;
  EXPECT_CUDA(cuda().cuOccupancyMaxActiveClusters(&clusters, wide, &config));
  EXPECT_EQ(clusters, 66);
  EXPECT_CUDA(cuda().cuOccupancyMaxPotentialClusterSize(&clusters, wide, &config));
  EXPECT_EQ(clusters, 8);
  cluster.value.clusterDim = {16, 1, 1};
  EXPECT_EQ(cuda().cuOccupancyMaxActiveClusters(&clusters, wide, &config),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

/// By the texts, too: Triton and torch look for them in exceptions.
TEST_F(ModuleTest, AFailedAssertionIsNamedAsOnAPhysicalGpu) {
  ::testing::internal::CaptureStderr();
  const CUmodule module = load(R"(
.version 7.8
.target sm_80
.address_size 64
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 text[6] = {119, 114, 111, 110, 103, 0};
.visible .entry assert()
{
  .reg .b64 %rd<2>;
  mov.u64 %rd0, text;
  cvta.global.u64 %rd1, %rd0;
  {
    .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
    st.param.b64 [a], %rd1;
    st.param.b64 [b], %rd1;
    st.param.b32 [c], 7;
    st.param.b64 [d], %rd1;
    st.param.b64 [e], 1;
    call.uni __assertfail, (a, b, c, d, e);
  }
  ret;
}
)");
  EXPECT_EQ(launch(function(module, "assert"), nullptr, 1), CUDA_ERROR_ASSERT);
  EXPECT_EQ(cuda().cuCtxSynchronize(), CUDA_ERROR_ASSERT);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("assertion `wrong` failed"));
  for (auto [result, expected] :
       {std::pair(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
        std::pair(CUDA_ERROR_ASSERT, "device-side assert triggered"),
        std::pair(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")}) {
    const char *text = nullptr;
    EXPECT_CUDA(cuda().cuGetErrorString(result, &text));
    EXPECT_STREQ(text, expected);
  }
}

TEST_F(ModuleTest, AFailedKernelMakesTheContextUseless) {
  ::testing::internal::CaptureStderr();
  const CUmodule module = load(testPtx);
  const CUdeviceptr data = allocate(4);
  const CUfunction trap = function(module, "trap");
  EXPECT_EQ(launch(trap, nullptr, 1), CUDA_ERROR_LAUNCH_FAILED);
  int value = 0;
  EXPECT_EQ(cuda().cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(&value, data, 4), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(launch(trap, nullptr, 1), CUDA_ERROR_LAUNCH_FAILED);
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("kernel trap"));
  EXPECT_THAT(text, HasSubstr("E7108"));
  // Another context still works.
  CUcontext other = nullptr;
  EXPECT_CUDA(cuda().cuCtxCreate_v2(&other, 0, 0));
  EXPECT_CUDA(launch(function(load(testPtx), "nothing"), nullptr, 1));
  EXPECT_CUDA(cuda().cuCtxDestroy_v2(other));
}

TEST_F(ModuleTest, FailuresHaveTheCodesOfTheirKind) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(launch(function(load(testPtx), "outside"), nullptr, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUcontext other = nullptr;
  EXPECT_CUDA(cuda().cuCtxCreate_v2(&other, 0, 1));
  EXPECT_EQ(cuda().cuLaunchKernel(function(load(testPtx), "deadlock"), 1, 1, 1, 64, 1, 1, 0,
                                  nullptr, nullptr, nullptr),
            CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_CUDA(cuda().cuCtxDestroy_v2(other));
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("E7105"));
  EXPECT_THAT(text, HasSubstr("E7107"));
}

TEST_F(ModuleTest, WorkBehindAFailureIsNotDone) {
  ::testing::internal::CaptureStderr();
  const CUmodule module = load(testPtx);
  const CUdeviceptr data = allocate(4);
  EXPECT_CUDA(cuda().cuMemsetD32_v2(data, 5, 1));
  const CUstream order = stream();
  const CUfunction addOne = function(module, "add_one"), trap = function(module, "trap");
  EXPECT_CUDA(launch(trap, order, 1));
  launch(addOne, order, 1, data, 1); // may or may not see the failure already
  EXPECT_EQ(cuda().cuStreamSynchronize(order), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(*reinterpret_cast<int *>(data), 5);
  ::testing::internal::GetCapturedStderr();
}

TEST_F(ModuleTest, WhatCannotBeLoadedIsExplained) {
  ::testing::internal::CaptureStderr();
  CUmodule module = nullptr;
  char log[400] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  const char *wrong = ".version 7.8\n.target sm_80\n.address_size 64\n.entry k() { fly.u32; }";
  EXPECT_EQ(cuda().cuModuleLoadDataEx(&module, wrong, 2, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(log, HasSubstr("fly"));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(values[1]), std::strlen(log) + 1);
  EXPECT_EQ(cuda().cuModuleLoadData(&module, ".version 99.0\n.target sm_80\n"),
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(cuda().cuModuleLoadData(&module, "\x01\x02\x03\x04 and more"),
            CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuda().cuModuleLoad(&module, "/nowhere.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(cuda().cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUcontext other = nullptr;
  EXPECT_CUDA(cuda().cuCtxCreate_v2(&other, 0, 1)); // an sm_80
  EXPECT_EQ(cuda().cuModuleLoadData(
                &module, ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { ret; }"),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_CUDA(cuda().cuCtxDestroy_v2(other));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("E7104"));
}

TEST_F(ModuleTest, UnloadingEndsHandles) {
  const std::string path = ::testing::TempDir() + "vgpu-module-test.ptx";
  std::ofstream(path) << testPtx;
  CUmodule module = nullptr;
  EXPECT_CUDA(cuda().cuModuleLoad(&module, path.c_str()));
  std::remove(path.c_str());
  const CUfunction nothing = function(module, "nothing");
  CUfunction missing = nullptr;
  EXPECT_EQ(cuda().cuModuleGetFunction(&missing, module, "missing"), CUDA_ERROR_NOT_FOUND);
  const CUstream order = stream();
  EXPECT_CUDA(launch(nothing, order, 1000));
  EXPECT_CUDA(cuda().cuModuleUnload(module)); // submitted launches still run
  EXPECT_CUDA(cuda().cuStreamSynchronize(order));
  EXPECT_EQ(cuda().cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(nothing, nullptr, 1), CUDA_ERROR_INVALID_HANDLE);
  CUmoduleLoadingMode mode{};
  EXPECT_CUDA(cuda().cuModuleGetLoadingMode(&mode));
  EXPECT_EQ(mode, CU_MODULE_EAGER_LOADING);
}

TEST_F(ModuleTest, LibrariesAreOnAllDevices) {
  CUlibrary library = nullptr;
  EXPECT_CUDA(
      cuda().cuLibraryLoadData(&library, testPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUkernel addOne = nullptr, missing = nullptr;
  EXPECT_CUDA(cuda().cuLibraryGetKernel(&addOne, library, "add_one"));
  EXPECT_EQ(cuda().cuLibraryGetKernel(&missing, library, "missing"), CUDA_ERROR_NOT_FOUND);
  unsigned count = 0;
  EXPECT_CUDA(cuda().cuLibraryGetKernelCount(&count, library));
  EXPECT_EQ(count, 10u);
  std::vector<CUkernel> kernels(count);
  EXPECT_CUDA(cuda().cuLibraryEnumerateKernels(kernels.data(), count, library));
  EXPECT_THAT(kernels, ::testing::Contains(addOne));
  const CUdeviceptr data = allocate(4);
  EXPECT_CUDA(cuda().cuMemsetD32_v2(data, 3, 1));
  // A library's kernel is launched like a function, on the device of the stream.
  EXPECT_CUDA(launch(reinterpret_cast<CUfunction>(addOne), nullptr, 1, data, 1));
  CUcontext other = nullptr;
  EXPECT_CUDA(cuda().cuCtxCreate_v2(&other, 0, 1));
  EXPECT_CUDA(cuda().cuCtxEnablePeerAccess(context, 0));
  EXPECT_CUDA(launch(reinterpret_cast<CUfunction>(addOne), nullptr, 1, data, 1));
  CUdeviceptr there = 0, here = 0;
  size_t bytes = 0;
  EXPECT_CUDA(cuda().cuLibraryGetGlobal(&there, &bytes, library, "counter"));
  EXPECT_CUDA(cuda().cuCtxDestroy_v2(other));
  EXPECT_CUDA(cuda().cuLibraryGetGlobal(&here, &bytes, library, "counter"));
  EXPECT_NE(here, there);
  EXPECT_EQ(cuda().cuLibraryGetManaged(&here, &bytes, library, "counter"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(ints(data, 1)[0], 5);
  CUfunction asFunction = nullptr;
  EXPECT_CUDA(cuda().cuKernelGetFunction(&asFunction, addOne));
  EXPECT_CUDA(launch(asFunction, nullptr, 1, data, 1));
  CUmodule module = nullptr, of = nullptr;
  EXPECT_CUDA(cuda().cuLibraryGetModule(&module, library));
  EXPECT_CUDA(cuda().cuFuncGetModule(&of, asFunction));
  EXPECT_EQ(module, of);
  EXPECT_EQ(cuda().cuModuleUnload(module), CUDA_ERROR_NOT_PERMITTED);
  int value = 0;
  EXPECT_CUDA(cuda().cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                          163 * 1024, addOne, 1));
  EXPECT_CUDA(cuda().cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                          addOne, 1));
  EXPECT_EQ(value, 163 * 1024);
  EXPECT_CUDA(cuda().cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                          addOne, 0));
  EXPECT_EQ(value, 48 * 1024);
  const char *name = nullptr;
  size_t offset = 0;
  CUlibrary owner = nullptr;
  EXPECT_CUDA(cuda().cuKernelGetName(&name, addOne));
  EXPECT_STREQ(name, "add_one");
  EXPECT_CUDA(cuda().cuKernelGetParamInfo(addOne, 1, &offset, nullptr));
  EXPECT_EQ(offset, 8u);
  EXPECT_CUDA(cuda().cuKernelGetLibrary(&owner, addOne));
  EXPECT_EQ(owner, library);
  EXPECT_CUDA(cuda().cuKernelSetCacheConfig(addOne, CU_FUNC_CACHE_PREFER_L1, 0));
  EXPECT_CUDA(cuda().cuLibraryUnload(library));
  EXPECT_EQ(cuda().cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuda().cuKernelGetName(&name, addOne), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ModuleTest, FatBinariesAndFiles) {
  const std::string path = std::string(TILEWRIGHT_SOURCE_DIR) +
                           "/tilewright/vgpu/driver/testing/binaries/scale-speed.fatbin";
  CUlibrary library = nullptr;
  EXPECT_CUDA(cuda().cuLibraryLoadFromFile(&library, path.c_str(), nullptr, nullptr, 0, nullptr,
                                           nullptr, 0));
  CUkernel kernel = nullptr;
  EXPECT_CUDA(cuda().cuLibraryGetKernel(&kernel, library, "scale"));
  std::ifstream in(path, std::ios::binary);
  const std::string image(std::istreambuf_iterator<char>(in), {});
  CUmodule module = nullptr;
  EXPECT_CUDA(cuda().cuModuleLoadFatBinary(&module, image.data()));
  const CUdeviceptr data = allocate(128);
  EXPECT_CUDA(cuda().cuMemsetD32_v2(data, 0x40400000, 32)); // 3.0f
  EXPECT_CUDA(launch(function(module, "scale"), nullptr, 1, data, 2.0f, 32));
  EXPECT_EQ(ints(data, 32)[31], 0x40c00000);
  CUlinkState linker = nullptr;
  EXPECT_CUDA(cuda().cuLinkCreate_v2(0, nullptr, nullptr, &linker));
  EXPECT_CUDA(
      cuda().cuLinkAddFile_v2(linker, CU_JIT_INPUT_FATBINARY, path.c_str(), 0, nullptr, nullptr));
  void *linked = nullptr;
  EXPECT_CUDA(cuda().cuLinkComplete(linker, &linked, nullptr));
  EXPECT_CUDA(cuda().cuModuleLoadData(&module, linked));
  EXPECT_CUDA(cuda().cuLinkDestroy(linker));
  EXPECT_CUDA(cuda().cuLibraryUnload(library));
  EXPECT_EQ(
      cuda().cuLibraryLoadFromFile(&library, "/nowhere", nullptr, nullptr, 0, nullptr, nullptr, 0),
      CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_F(ModuleTest, TheLinkerHandsOneModuleOn) {
  CUlinkState linker = nullptr;
  EXPECT_CUDA(cuda().cuLinkCreate_v2(0, nullptr, nullptr, &linker));
  std::string text = testPtx;
  EXPECT_EQ(cuda().cuLinkAddData_v2(linker, CU_JIT_INPUT_CUBIN, text.data(), text.size(), "x", 0,
                                    nullptr, nullptr),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_CUDA(cuda().cuLinkAddData_v2(linker, CU_JIT_INPUT_PTX, text.data(), text.size(), "first",
                                      0, nullptr, nullptr));
  EXPECT_EQ(cuda().cuLinkAddData_v2(linker, CU_JIT_INPUT_PTX, text.data(), text.size(), "second", 0,
                                    nullptr, nullptr),
            CUDA_ERROR_NOT_SUPPORTED);
  void *image = nullptr;
  size_t size = 0;
  EXPECT_CUDA(cuda().cuLinkComplete(linker, &image, &size));
  CUmodule module = nullptr;
  EXPECT_CUDA(cuda().cuModuleLoadData(&module, image));
  EXPECT_CUDA(cuda().cuLinkDestroy(linker));
  EXPECT_EQ(cuda().cuLinkDestroy(linker), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CUDA(launch(function(module, "nothing"), nullptr, 1));
}

TEST_F(ModuleTest, TensorMapsAreChecked) {
  CUtensorMap map;
  const CUdeviceptr data = allocate(1 << 16);
  uint64_t sizes[] = {64, 32};
  uint64_t strides[] = {256};
  uint32_t box[] = {32, 8}, steps[] = {1, 1};
  auto encode = [&](CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
                    CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE,
                    CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
                    CUdeviceptr at = 0, uint32_t rank = 2) {
    return cuda().cuTensorMapEncodeTiled(&map, type, rank, reinterpret_cast<void *>(data + at),
                                         sizes, strides, box, steps, interleave, swizzle,
                                         CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
  };
  const auto f32 = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  const auto wide = CU_TENSOR_MAP_SWIZZLE_128B;
  const auto none = CU_TENSOR_MAP_INTERLEAVE_NONE;
  EXPECT_CUDA(encode());
  EXPECT_CUDA(encode(f32, wide, none, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA));
  EXPECT_EQ(encode(CU_TENSOR_MAP_DATA_TYPE_UINT8, wide, none,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(f32, CU_TENSOR_MAP_SWIZZLE_64B), CUDA_ERROR_INVALID_VALUE); // row of 128 bytes
  EXPECT_EQ(encode(f32, wide, none, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, 8),
            CUDA_ERROR_INVALID_VALUE); // misaligned address
  EXPECT_EQ(encode(f32, wide, none, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, 0, 6),
            CUDA_ERROR_INVALID_VALUE); // wrong rank
  EXPECT_EQ(encode(f32, wide, CU_TENSOR_MAP_INTERLEAVE_16B), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(encode(f32, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B), CUDA_ERROR_NOT_SUPPORTED);
  strides[0] = 264;
  EXPECT_EQ(encode(), CUDA_ERROR_INVALID_VALUE);
  strides[0] = 128;
  EXPECT_EQ(encode(), CUDA_ERROR_INVALID_VALUE); // stride below the size of a row
  strides[0] = 256;
  box[1] = 257;
  EXPECT_EQ(encode(), CUDA_ERROR_INVALID_VALUE);
  box[1] = 8;
  steps[0] = 9;
  EXPECT_EQ(encode(), CUDA_ERROR_INVALID_VALUE);
  steps[0] = 1;
  sizes[1] = 0;
  EXPECT_EQ(encode(), CUDA_ERROR_INVALID_VALUE);
  sizes[1] = 32;
  EXPECT_CUDA(encode());
  EXPECT_CUDA(cuda().cuTensorMapReplaceAddress(&map, reinterpret_cast<void *>(data + 1024)));
  EXPECT_EQ(map.opaque[0], data + 1024);
  EXPECT_EQ(cuda().cuTensorMapReplaceAddress(&map, reinterpret_cast<void *>(data + 1)),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ModuleTest, TensorMapsForIm2colAreChecked) {
  CUtensorMap map;
  const CUdeviceptr data = allocate(1 << 16);
  uint64_t sizes[] = {32, 9, 7, 4}, strides[] = {128, 1152, 8064};
  uint32_t steps[] = {7, 2, 1, 1}; // the first one is ignored
  int lower[] = {-1, -1}, upper[] = {-1, -1};
  auto encode = [&](uint32_t channels = 32, uint32_t pixels = 64, uint32_t rank = 4) {
    return cuda().cuTensorMapEncodeIm2col(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, rank, reinterpret_cast<void *>(data), sizes, strides,
        lower, upper, channels, pixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT_CUDA(encode());
  // The kernel loads 4 pixels from the last but one of a row on, and writes the first channel.
  CUmodule module = load(R"(.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) {
  .reg .b64 %m, %o;
  .reg .b32 %s, %bar, %v, %i;
  .reg .pred %p;
  .shared .align 1024 .b8 box[8192];
  .shared .align 8 .b64 barrier;
  mov.b64 %m, map;
  cvta.param.u64 %m, %m;
  ld.param.u64 %o, [out];
  mov.u32 %i, %tid.x;
  setp.ne.u32 %p, %i, 0;
  @%p ret;
  mov.u32 %s, box;
  mov.u32 %bar, barrier;
  mbarrier.init.shared.b64 [%bar], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 512;
  cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%s], [%m, {0, 5, 2, 1}], [%bar], {0, 0};
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p, [%bar], 0;
  @!%p bra WAIT;
  mov.u32 %i, 0;
COPY:
  shl.b32 %v, %i, 4;   // the swizzle moves channel 0 of pixel i to chunk i
  add.u32 %v, %v, %s;
  ld.shared.u32 %v, [%v];
  st.global.u32 [%o], %v;
  add.u64 %o, %o, 4;
  add.u32 %s, %s, 128;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, 4;
  @%p bra COPY;
  ret;
})");
  EXPECT_CUDA(encode(32, 4));
  std::vector<int> tensor(32 * 9 * 7 * 4);
  for (size_t i = 0; i < tensor.size(); ++i)
    tensor[i] = static_cast<int>(i / 32); // the number of the pixel
  EXPECT_CUDA(cuda().cuMemcpyHtoD_v2(data, tensor.data(), tensor.size() * 4));
  const CUdeviceptr out = allocate(16);
  EXPECT_CUDA(launch(function(module, "k"), nullptr, 1, map, out));
  // Pixels 5 and 7 of row 2 of image 1, then -1 and 1 of row 3.
  EXPECT_EQ(ints(out, 4), (std::vector{63 + 23, 63 + 25, 0, 63 + 28}));
  EXPECT_EQ(encode(33), CUDA_ERROR_INVALID_VALUE);        // more than the swizzle
  EXPECT_EQ(encode(32, 1025), CUDA_ERROR_INVALID_VALUE);  // too many pixels
  EXPECT_EQ(encode(32, 64, 2), CUDA_ERROR_INVALID_VALUE); // a matrix has no pixels
  upper[1] = -8;                                          // leaves no row of 7
  EXPECT_EQ(encode(), CUDA_ERROR_INVALID_VALUE);
  upper[1] = -129; // outside the range of maps with 4 dimensions
  EXPECT_EQ(encode(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda().cuTensorMapEncodeIm2colWide(
                &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, reinterpret_cast<void *>(data), sizes,
                strides, 0, 0, 32, 64, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_ERROR_NOT_SUPPORTED); // the device is not a Blackwell
}

} // namespace
} // namespace tilewright::vgpu::driver
