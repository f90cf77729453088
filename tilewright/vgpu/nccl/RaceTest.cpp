// Races between collectives and kernels of other streams, in a process with the checks on.
#include "tilewright/vgpu/nccl/testing/Nccl.h"

#include "gmock/gmock.h"

namespace tilewright::vgpu::nccl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class NcclRaceTest : public ::testing::Test {
protected:
  void SetUp() override {
    setenv("TILEWRIGHT_VGPU_CHECK", "races", 1); // read when the driver starts
    setenv("TILEWRIGHT_VGPU_NCCL_TIMEOUT", "20", 0);
    for (int i = 0; i < 2; ++i)
      devices.push_back(std::make_unique<RankDevice>(i));
    EXPECT_NCCL(nccl().ncclCommInitAll(comms, 2, nullptr));
    devices[0]->makeCurrent();
    EXPECT_CUDA(cuda().cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    EXPECT_CUDA(cuda().cuModuleLoadData(&module, driver::testPtx));
    EXPECT_CUDA(cuda().cuModuleGetFunction(&addOne, module, "add_one"));
    EXPECT_CUDA(cuda().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (const auto &device : devices)
      data.push_back(device->upload(std::vector<int32_t>(count, 1), /*spare=*/page));
    before = report();
  }
  void TearDown() override {
    EXPECT_CUDA(cuda().cuStreamSynchronize(second));
    for (ncclComm_t comm : comms)
      EXPECT_NCCL(nccl().ncclCommDestroy(comm));
  }
  /// Adds one to all elements of rank 0.
  void add(CUstream stream) {
    devices[0]->makeCurrent();
    void *address = data[0];
    uint32_t n = count;
    void *values[] = {&address, &n, nullptr};
    EXPECT_CUDA(cuda().cuLaunchKernel(addOne, (count + 31) / 32, 1, 1, 32, 1, 1, 0, stream, values,
                                      nullptr));
  }
  void sum() {
    EXPECT_NCCL(nccl().ncclGroupStart());
    for (size_t i = 0; i < 2; ++i)
      EXPECT_NCCL(nccl().ncclAllReduce(data[i], data[i], count, ncclInt32, ncclSum, comms[i],
                                       devices[i]->stream));
    EXPECT_NCCL(nccl().ncclGroupEnd());
  }
  /// The findings of this test.
  std::string findings() {
    for (const auto &device : devices)
      device->synchronise();
    EXPECT_CUDA(cuda().cuStreamSynchronize(second));
    const std::string now = report();
    return now == before ? "none" : now;
  }
  static std::string report() {
    auto *read = reinterpret_cast<size_t (*)(char *, size_t)>(
        dlsym(cuda().library, "tilewright_vgpu_report"));
    std::string text(1 << 20, '\0');
    text.resize(read(text.data(), text.size()));
    return text;
  }

  static constexpr uint32_t count = 101; // not a multiple of 16 bytes
  /// The checker keeps accesses by pages of 4 KiB: a launch after others discards theirs in a page.
  static constexpr uint32_t page = 4096;
  std::vector<std::unique_ptr<RankDevice>> devices;
  ncclComm_t comms[2] = {};
  std::vector<int32_t *> data;
  CUstream second = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  CUfunction addOne = nullptr;
  std::string before;
};

TEST_F(NcclRaceTest, EventsOrderKernelsOfOtherStreamsWithACollective) {
  add(second);
  EXPECT_CUDA(cuda().cuEventRecord(event, second));
  EXPECT_CUDA(cuda().cuStreamWaitEvent(devices[0]->stream, event, 0));
  sum();
  EXPECT_CUDA(cuda().cuEventRecord(event, devices[0]->stream));
  EXPECT_CUDA(cuda().cuStreamWaitEvent(second, event, 0));
  add(second);
  EXPECT_EQ(findings(), "none");
  EXPECT_EQ(devices[0]->download(data[0], 1)[0], 4);
}

/// Rank 1 reads memory of rank 0 that rank 0 wrote before the collective.
TEST_F(NcclRaceTest, ACollectiveOrdersTheDevicesOfItsRanks) {
  devices[1]->makeCurrent();
  EXPECT_CUDA(cuda().cuCtxEnablePeerAccess(devices[0]->context, 0));
  int32_t *flags[] = {devices[0]->upload(std::vector<int32_t>(4, 0)),
                      devices[1]->upload(std::vector<int32_t>(4, 0))};
  add(devices[0]->stream);
  EXPECT_NCCL(nccl().ncclGroupStart());
  for (size_t i = 0; i < 2; ++i)
    EXPECT_NCCL(nccl().ncclAllReduce(flags[i], flags[i], 4, ncclInt32, ncclSum, comms[i],
                                     devices[i]->stream));
  EXPECT_NCCL(nccl().ncclGroupEnd());
  devices[1]->makeCurrent();
  CUmodule module = nullptr;
  CUfunction other = nullptr;
  EXPECT_CUDA(cuda().cuModuleLoadData(&module, driver::testPtx));
  EXPECT_CUDA(cuda().cuModuleGetFunction(&other, module, "add_one"));
  void *address = data[0];
  uint32_t n = count;
  void *values[] = {&address, &n, nullptr};
  EXPECT_CUDA(
      cuda().cuLaunchKernel(other, 4, 1, 1, 32, 1, 1, 0, devices[1]->stream, values, nullptr));
  EXPECT_EQ(findings(), "none");
}

// These come last: a race that is reported once for its source line would hide a wrong report
// above.
TEST_F(NcclRaceTest, AKernelAfterwardsWithoutAnEventIsReported) {
  sum();
  add(second);
  EXPECT_THAT(findings(), AllOf(HasSubstr("ncclAllReduce"), HasSubstr("add_one")));
}

TEST_F(NcclRaceTest, AKernelBeforeWithoutAnEventIsReported) {
  // Another kernel than above: whichever comes first, this pair has not been reported yet.
  CUfunction wide = nullptr;
  EXPECT_CUDA(cuda().cuModuleGetFunction(&wide, module, "wide"));
  void *address = data[0];
  uint32_t last = 0;
  void *values[] = {&address, &last, nullptr};
  EXPECT_CUDA(cuda().cuLaunchKernel(wide, 1, 1, 1, 1, 1, 1, 64, second, values, nullptr));
  sum();
  EXPECT_THAT(findings(), AllOf(HasSubstr("ncclAllReduce"), HasSubstr("wide")));
}

} // namespace
} // namespace tilewright::vgpu::nccl
