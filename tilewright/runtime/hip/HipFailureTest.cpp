// Failures of kernels on GPUs of AMD, and engines for collectives that they do not have.
#include "tilewright/runtime/conformance/Kit.h"
#include "tilewright/runtime/cuda/testing/Kernels.h"

namespace tilewright::runtime::conformance {
namespace {

using ::testing::HasSubstr;

class HipFailureTest : public Fixture {};

TEST_F(HipFailureTest, AnInvalidAccessReachesWhatIsComputedFromIt) {
  makeClient();
  auto slow = load(unary("slow")), bad = load(unary("trap")), good = load(unary());
  auto x = buffer(1);
  auto fine = execute(*slow, {x.get()});
  auto first = execute(*bad, {fine->results[0][0].get()});
  ASSERT_TRUE(first.isOk());
  auto second = execute(*good, {first->results[0][0].get()});
  ASSERT_TRUE(second.isOk());
  Status status = first->done[0].await();
  EXPECT_EQ(status.error(), Error::cudaKernelFailed);
  EXPECT_THAT(status.message(), HasSubstr("while running 'jit_trap' on rocm:0: a kernel failed"));
  EXPECT_THAT(status.message(), HasSubstr("reported by hip"));
  EXPECT_THAT(status.message(), HasSubstr("hipErrorIllegalAddress (700)"));
  EXPECT_THAT(second->done[0].await().message(), HasSubstr("while running 'jit_trap' on rocm:0"));
  EXPECT_TRUE(fine->done[0].await().isOk()); // it ended before the failure

  std::vector<float> host(length);
  status = Buffer::fromHost({host.data(), floats(), {}}, memory()).takeStatus();
  EXPECT_EQ(status.error(), Error::cudaLost);
  EXPECT_THAT(status.message(), HasSubstr("rocm:0 is no longer usable; restart this process"));
}

TEST_F(HipFailureTest, DevicesThatDoNotExistAreRefused) {
  Status status = cuda::testClient({}, {0, 17}).takeStatus();
  EXPECT_EQ(status.error(), Error::cudaDevices);
  EXPECT_THAT(status.message(), HasSubstr("device 17 of the HIP driver"));

  makeClient(); // which starts the driver with the chip of the test
  const std::string other = cuda::testChip() == "gfx950" ? "gfx942" : "gfx950";
  cuda::DriverOptions driver = *cuda::driverOptionsOf("vgpu:" + other);
  status = cuda::createClient({}, driver).takeStatus();
  EXPECT_EQ(status.error(), Error::cudaDevices);
  EXPECT_THAT(status.message(), HasSubstr("already uses it with " + cuda::testChip()));
}

TEST_F(HipFailureTest, AProcessHasGpusOfOneVendor) {
  makeClient();
  cuda::DriverOptions driver;
  driver.library = "libcuda.so.1";
  Status status = cuda::createClient({}, driver).takeStatus();
  EXPECT_EQ(status.error(), Error::cudaLibrary);
  EXPECT_THAT(status.message(), HasSubstr("start another process"));
}

/// Our own collective kernels are NVIDIA's: the option is refused where an engine is needed.
TEST_F(HipFailureTest, KernelsOfOurOwnForCollectivesAreRefused) {
  ClientOptions options;
  options.processCount = 2;
  options.runtime.ncclLibrary = "none";
  cuda::DriverOptions driver = *cuda::driverOptionsOf("vgpu:" + cuda::testChip());
  Status status = cuda::createClient(options, driver).takeStatus();
  EXPECT_EQ(status.error(), Error::clientProcesses);
  EXPECT_THAT(status.message(), HasSubstr("no collective kernels for AMD GPUs"));

  options.runtime.ncclLibrary = "/nowhere/librccl.so.1";
  status = cuda::createClient(options, driver).takeStatus();
  EXPECT_EQ(status.error(), Error::clientProcesses);
  EXPECT_THAT(status.message(), HasSubstr("/nowhere/librccl.so.1"));
}

} // namespace
} // namespace tilewright::runtime::conformance
