// Failures of kernels, which make a device unusable, and of drivers that cannot be loaded.
#include "tilewright/runtime/conformance/Kit.h"
#include "tilewright/runtime/cuda/DriverApi.h"
#include "tilewright/runtime/cuda/FindDriver.h"
#include "tilewright/runtime/cuda/testing/Kernels.h"

#include <dlfcn.h>

namespace tilewright::runtime::conformance {
namespace {

using ::testing::HasSubstr;

class CudaFailureTest : public Fixture {};

TEST(CudaProcesses, NeedNcclBeforeTheyMeet) {
  ClientOptions options;
  options.processCount = 2;
  options.runtime.ncclLibrary = "/nowhere/libnccl.so.2";
  cuda::DriverOptions driver;
  driver.virtualChip = cuda::testChip();
  Status status = cuda::createClient(options, driver).takeStatus();
  EXPECT_EQ(status.error(), Error::clientProcesses);
  EXPECT_THAT(status.message(), HasSubstr("/nowhere/libnccl.so.2"));
}

/// A failure is detected long after the launch. It propagates to everything computed from it, and
/// from then on the device reports it.
TEST_F(CudaFailureTest, ATrapReachesWhatIsComputedFromIt) {
  makeClient();
  auto slow = load(unary("slow")), bad = load(unary("trap")), good = load(unary());
  // All of it is queued before the first kernel starts.
  Promise promise;
  auto x = *Buffer::uninitialized(floats(), memory(), &promise);
  auto fine = execute(*slow, {x.get()});
  auto first = execute(*bad, {fine->results[0][0].get()});
  ASSERT_TRUE(first.isOk());
  auto second = execute(*good, {first->results[0][0].get()});
  ASSERT_TRUE(second.isOk());
  std::vector<float> host(length);
  Result<Event> copied = second->results[0][0]->toHost(host.data(), sizeof(float) * length);
  ASSERT_TRUE(copied.isOk());
  auto copy = second->results[0][0]->copyTo(pinned());
  promise.complete();

  Status status = first->done[0].await();
  EXPECT_EQ(status.error(), Error::cudaKernelFailed);
  EXPECT_THAT(status.message(), HasSubstr("while running 'jit_trap' on cuda:0: a kernel failed"));
  EXPECT_THAT(status.message(), HasSubstr("CUDA_ERROR_"));
  for (const Event &event :
       {second->done[0], second->results[0][0]->definition(), *copied, (*copy)->definition()})
    EXPECT_THAT(event.await().message(), HasSubstr("while running 'jit_trap' on cuda:0"));

  // The device is unusable, and reports why.
  status = Buffer::fromHost({host.data(), floats(), {}}, memory()).takeStatus();
  EXPECT_EQ(status.error(), Error::cudaLost);
  EXPECT_THAT(status.message(), HasSubstr("cuda:0 is no longer usable; restart this process"));
  EXPECT_THAT(status.message(), HasSubstr("a kernel failed"));
  auto again = execute(*good, {x.get()}); // fails at once if it needs new memory for results
  status = again.isOk() ? again->done[0].await() : std::move(again).takeStatus();
  EXPECT_EQ(status.error(), Error::cudaLost);
  Status loading = client
                       ->load(std::make_shared<artifact::Executable>(unary().executable),
                              *client->defaultAssignment(1, 1))
                       .takeStatus();
  EXPECT_EQ(loading.error(), Error::cudaLost);
}

TEST_F(CudaFailureTest, DevicesThatDoNotExistAreRefused) {
  Status status = cuda::testClient({}, {0, 17}).takeStatus();
  EXPECT_EQ(status.error(), Error::cudaDevices);
  EXPECT_THAT(status.message(), HasSubstr("device 17 of the CUDA driver"));

  ClientOptions options;
  makeClient(); // which starts the driver with the chip of the test
  cuda::DriverOptions driver;
  driver.virtualChip = cuda::testChip() == "sm_80" ? "sm_90a" : "sm_80";
  status = cuda::createClient(options, driver).takeStatus();
  EXPECT_EQ(status.error(), Error::cudaDevices);
  EXPECT_THAT(status.message(), HasSubstr("start another process"));
}

TEST_F(CudaFailureTest, AProcessHasOneDriver) {
  makeClient();
  cuda::DriverOptions driver;
  driver.library = "/nowhere/libcuda.so.1";
  Status status = cuda::createClient({}, driver).takeStatus();
  EXPECT_EQ(status.error(), Error::cudaLibrary);
  EXPECT_THAT(status.message(), HasSubstr("cannot use the CUDA driver /nowhere/libcuda.so.1"));
}

/// Runs in a separate process, which has not loaded a driver yet.
TEST(CudaFailureDeathTest, ADriverThatCannotBeLoadedSaysWhatToDo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto fail = [](const char *library, const char *words) {
    cuda::DriverOptions driver;
    driver.library = library;
    Status status = cuda::createClient({}, driver).takeStatus();
    const bool isGood = status.error() == Error::cudaLibrary &&
                        status.message().find(words) != std::string::npos &&
                        status.message().find("TILEWRIGHT_CUDA_LIBRARY") != std::string::npos;
    std::fprintf(stderr, "%s\n", status.toString().c_str());
    std::exit(isGood ? 0 : 1);
  };
  EXPECT_EXIT(fail("/nowhere/libcuda.so.1", "cannot load the CUDA driver"),
              ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(fail("libm.so.6", "is not a CUDA driver"), ::testing::ExitedWithCode(0), "");
}

TEST(DriverApi, AFunctionThatIsMissingIsNamed) {
  auto lookup = [](const char *name, int version) -> void * {
    EXPECT_GT(version, 0);
    static int something = 0;
    return std::string_view(name) == "cuTensorMapEncodeTiled" ? nullptr : &something;
  };
  Status status = cuda::DriverApi::find(lookup, "libcuda.so.1").takeStatus();
  EXPECT_EQ(status.error(), Error::cudaFunction);
  EXPECT_THAT(status.message(),
              HasSubstr("libcuda.so.1 lacks cuTensorMapEncodeTiled of CUDA 12.0"));
  auto optional = [&](const char *name, int version) -> void * {
    static int something = 0;
    (void)version;
    return std::string_view(name) == "cuFuncGetParamInfo" ? nullptr : &something;
  };
  EXPECT_TRUE(cuda::DriverApi::find(optional, "libcuda.so.1").isOk());
}

/// The message of a failed call: its name, CUDA's name, number and text, and what to do.
TEST_F(CudaFailureTest, AFailedCallIsNamed) {
  makeClient();
  cuda::DriverOptions options;
  options.virtualChip = cuda::testChip();
  auto api = cuda::findDriver(options);
  ASSERT_TRUE(api.isOk());
  cuda::CUdevice device = 0;
  Status status = TILEWRIGHT_CUDA(**api, cuDeviceGet, &device, 999);
  EXPECT_EQ(status.error(), Error::cudaCall);
  EXPECT_THAT(status.message(), HasSubstr("cuDeviceGet: CUDA_ERROR_INVALID_DEVICE (101): "));
  EXPECT_THAT(status.message(), HasSubstr("report it"));
  EXPECT_TRUE(cuda::DriverApi::isFatal(cuda::CUDA_ERROR_ILLEGAL_ADDRESS));
  EXPECT_FALSE(cuda::DriverApi::isFatal(cuda::CUDA_ERROR_OUT_OF_MEMORY));
}

/// A driver that accepts work but refuses the event that would report its end.
class RefusedEvents {
public:
  RefusedEvents() {
    cuda::DriverOptions options;
    options.virtualChip = cuda::testChip();
    // The table of the process, which is not const: clients share it.
    api = &const_cast<cuda::DriverApi &>(**cuda::findDriver(options));
    record = api->cuEventRecord;
    synchronize = api->cuStreamSynchronize;
    refused.clear();
    waitedFor.clear();
    api->cuEventRecord = [](cuda::CUevent, cuda::CUstream stream) {
      refused.push_back(stream);
      return cuda::CUDA_ERROR_OUT_OF_MEMORY;
    };
    api->cuStreamSynchronize = [](cuda::CUstream stream) {
      waitedFor.push_back(stream);
      return synchronize(stream);
    };
  }
  ~RefusedEvents() {
    api->cuEventRecord = record;
    api->cuStreamSynchronize = synchronize;
  }
  static inline std::vector<cuda::CUstream> refused, waitedFor;

private:
  cuda::DriverApi *api;
  decltype(cuda::DriverApi::cuEventRecord) record;
  static inline decltype(cuda::DriverApi::cuStreamSynchronize) synchronize;
};

/// The caller frees the memory of a run or a copy that failed.
TEST_F(CudaFailureTest, WorkWithoutAnEventHasEndedWhenItsFailureIsReported) {
  makeClient();
  auto program = load(unary("slow"));
  auto x = buffer(1);
  std::vector<float> host(length);
  {
    const RefusedEvents refused;
    auto run = execute(*program, {x.get()});
    Status status = run.isOk() ? run->done[0].await() : std::move(run).takeStatus();
    EXPECT_EQ(status.error(), Error::cudaCall);
    EXPECT_THAT(status.message(), HasSubstr("cuEventRecord"));
    ASSERT_EQ(RefusedEvents::refused.size(), 1u);
    EXPECT_THAT(RefusedEvents::waitedFor, ::testing::Contains(RefusedEvents::refused[0]));
    Result<Event> copied = x->toHost(host.data(), sizeof(float) * length);
    status = copied.isOk() ? copied->await() : std::move(copied).takeStatus();
    EXPECT_EQ(status.error(), Error::cudaCall);
    ASSERT_EQ(RefusedEvents::refused.size(), 2u);
    EXPECT_THAT(RefusedEvents::waitedFor, ::testing::Contains(RefusedEvents::refused[1]));
  }
  auto run = execute(*program, {x.get()}); // the device still works
  ASSERT_TRUE(run.isOk());
  EXPECT_TRUE(run->done[0].await().isOk());
}

TEST(DriverOptions, TargetsNameDriverAndChip) {
  EXPECT_EQ(cuda::driverOptionsOf("cuda")->virtualChip, "");
  EXPECT_EQ(cuda::driverOptionsOf("sm_90a")->virtualChip, "");
  EXPECT_EQ(cuda::driverOptionsOf("vgpu:sm_90a")->virtualChip, "sm_90a");
  EXPECT_EQ(cuda::driverOptionsOf("cuda")->vendor, cuda::Vendor::nvidia);
  EXPECT_EQ(cuda::driverOptionsOf("rocm")->virtualChip, "");
  EXPECT_EQ(cuda::driverOptionsOf("rocm")->vendor, cuda::Vendor::amd);
  EXPECT_EQ(cuda::driverOptionsOf("gfx942")->virtualChip, "");
  EXPECT_EQ(cuda::driverOptionsOf("vgpu:gfx950")->virtualChip, "gfx950");
  EXPECT_EQ(cuda::driverOptionsOf("vgpu:gfx950")->vendor, cuda::Vendor::amd);
  for (const char *wrong : {"vgpu", "vgpu:", "vgpu:h100", "sm_x", "vgpu:sm_90x", "vgpu:gfx",
                            "vgpu:gfx9x0", "gfx", "vgpu:rocm", "hip"})
    EXPECT_EQ(cuda::driverOptionsOf(wrong).takeStatus().error(), Error::optionValue) << wrong;
}

} // namespace
} // namespace tilewright::runtime::conformance
