// The table of driver functions that is filled from libamdhip64.
#include "tilewright/runtime/hip/HipDriver.h"
#include "tilewright/runtime/cuda/FindDriver.h"
#include "tilewright/runtime/cuda/testing/Kernels.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::runtime::hip {
namespace {

using namespace cuda_api;
using cuda::DriverApi;
using cuda::Vendor;
using ::testing::HasSubstr;

class HipDriver : public ::testing::Test {
protected:
  void SetUp() override {
    auto found = cuda::findDriver(*cuda::driverOptionsOf("vgpu:" + cuda::testChip()));
    ASSERT_TRUE(found.isOk()) << std::move(found).takeStatus().toString();
    api = *std::move(found);
  }
  std::shared_ptr<const DriverApi> api;
};

/// A function that is neither HIP's nor "not supported" would be a null pointer.
TEST_F(HipDriver, EveryFunctionThatTheRuntimeNeedsIsThere) {
#define CUDA_FUNCTION(name, suffix) EXPECT_TRUE(api->name) << #name;
#define CUDA_OPTIONAL(name, suffix)
#include "tilewright/runtime/cuda/Functions.def"
  EXPECT_TRUE(api->cuStreamWriteValue32);
  EXPECT_FALSE(api->cuGraphConditionalHandleCreate);
  EXPECT_FALSE(api->cuGraphAddNode);
  EXPECT_FALSE(api->cuMulticastCreate);
}

TEST_F(HipDriver, WhatHipDoesNotHaveFailsWithACode) {
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(api->cuMemCreate(&handle, 1 << 21, nullptr, 0), CUDA_ERROR_NOT_SUPPORTED);
  Status status = TILEWRIGHT_CUDA(*api, cuMemAddressFree, CUdeviceptr(0), size_t(0));
  EXPECT_EQ(status.error(), Error::cudaCall);
  EXPECT_THAT(status.message(), HasSubstr("hipErrorNotSupported (801)"));
  int value = 0;
  EXPECT_EQ(api->cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 0),
            CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(HipDriver, AFailedCallHasHipsNames) {
  CUdevice device = 0;
  Status status = TILEWRIGHT_CUDA(*api, cuDeviceGet, &device, 999);
  EXPECT_EQ(status.error(), Error::cudaCall);
  EXPECT_THAT(status.message(), HasSubstr("hipDeviceGet: hipErrorInvalidDevice (101): "));
  EXPECT_STREQ(nameOf("cuMemcpyAsync"), "hipMemcpyAsync");
  EXPECT_STREQ(nameOf("cuMemCreate"), "cuMemCreate");
  EXPECT_EQ(api->versionText(), "7.1");
}

TEST_F(HipDriver, DevicesOfAThreadAreAStack) {
  CUcontext first = nullptr, popped = nullptr;
  ASSERT_EQ(api->cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
  EXPECT_EQ(api->cuDevicePrimaryCtxRetain(&popped, 999), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(api->cuCtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);
  int count = 0;
  ASSERT_EQ(api->cuDeviceGetCount(&count), CUDA_SUCCESS);
  const int last = count - 1;
  CUcontext second = nullptr;
  ASSERT_EQ(api->cuDevicePrimaryCtxRetain(&second, last), CUDA_SUCCESS);
  EXPECT_EQ(first == second, count == 1);
  EXPECT_EQ(api->cuCtxPushCurrent(second), CUDA_SUCCESS);
  EXPECT_EQ(api->cuCtxPushCurrent(first), CUDA_SUCCESS);
  EXPECT_EQ(api->cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, first);
  EXPECT_EQ(api->cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, second);
  EXPECT_EQ(api->cuDevicePrimaryCtxRelease(last), CUDA_SUCCESS);
  EXPECT_EQ(api->cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST(HipLibrary, AFunctionThatIsMissingIsNamed) {
  auto lookup = [](const char *name, int) -> void * {
    static int something = 0;
    return std::string_view(name) == "hipMallocFromPoolAsync" ? nullptr : &something;
  };
  Status status = DriverApi::find(lookup, "libamdhip64.so.5", Vendor::amd).takeStatus();
  EXPECT_EQ(status.error(), Error::cudaFunction);
  EXPECT_THAT(status.message(), HasSubstr("libamdhip64.so.5 lacks hipMallocFromPoolAsync"));
  EXPECT_THAT(status.message(), HasSubstr("ROCm 6.0"));
}

/// Runs in a separate process, which has not loaded a driver yet.
TEST(HipLibraryDeathTest, ALibraryThatCannotBeLoadedSaysWhatToDo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto fail = [](const char *library, const char *words) {
    cuda::DriverOptions driver;
    driver.library = library;
    driver.vendor = Vendor::amd;
    Status status = cuda::createClient({}, driver).takeStatus();
    const bool isGood = status.error() == Error::cudaLibrary &&
                        status.message().find(words) != std::string::npos &&
                        status.message().find("TILEWRIGHT_HIP_LIBRARY") != std::string::npos;
    std::fprintf(stderr, "%s\n", status.toString().c_str());
    std::exit(isGood ? 0 : 1);
  };
  EXPECT_EXIT(fail("/nowhere/libamdhip64.so.7", "cannot load the HIP driver library"),
              ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(fail("libm.so.6", "is not a HIP driver: it lacks hipInit"),
              ::testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace tilewright::runtime::hip
