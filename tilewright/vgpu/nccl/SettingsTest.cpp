// The variables TILEWRIGHT_VGPU_NCCL_…, which the library reads once: each test starts this program
// again with other values.
#include "tilewright/vgpu/nccl/testing/Nccl.h"

#include "gmock/gmock.h"

namespace tilewright::vgpu::nccl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Runs a test below in another process; returns what it printed.
std::string inside(const std::string &variables, const std::string &test) {
  const std::string command =
      variables + " /proc/" + std::to_string(getpid()) +
      "/exe --gtest_also_run_disabled_tests --gtest_filter=Inside.DISABLED_" + test + " 2>&1";
  std::FILE *pipe = popen(command.c_str(), "r");
  std::string text;
  for (int each = std::fgetc(pipe); each != EOF; each = std::fgetc(pipe))
    text += static_cast<char>(each);
  EXPECT_EQ(pclose(pipe), 0) << text;
  return text;
}

TEST(Settings, TheVersionHidesNewerFunctions) {
  EXPECT_THAT(
      inside("TILEWRIGHT_VGPU_NCCL_VERSION=2.23.4", "Version"),
      AllOf(HasSubstr("version 22304, shrink 5"), HasSubstr("ncclCommShrink is new in NCCL 2.27")));
  EXPECT_THAT(inside("TILEWRIGHT_VGPU_NCCL_VERSION=", "Version"),
              HasSubstr("version 22809, shrink 4"));
}

TEST(Settings, AWrongValueFailsEveryCallWithTheReason) {
  EXPECT_THAT(inside("TILEWRIGHT_VGPU_NCCL_VERSION=1.0", "Refused"),
              HasSubstr("expected a version from 2.23 to 2.32"));
  EXPECT_THAT(inside("TILEWRIGHT_VGPU_NCCL_FAULT='explode rank=1'", "Refused"),
              HasSubstr("unknown action 'explode'"));
  EXPECT_THAT(inside("TILEWRIGHT_VGPU_NCCL_FAULT='fail rank=x'", "Refused"),
              HasSubstr("cannot read 'rank=x'"));
  EXPECT_THAT(inside("TILEWRIGHT_VGPU_NCCL_TIMEOUT=soon", "Refused"),
              HasSubstr("expected a number of seconds above 0"));
}

TEST(Settings, TheTimeLimitNamesMissingRanks) {
  const std::string text = inside("TILEWRIGHT_VGPU_NCCL_TIMEOUT=0.3", "Hang");
  EXPECT_THAT(text, HasSubstr("init 2: rank 0 of 2: stopped after 300 ms: ncclCommInitRank waits "
                              "for rank 1"));
  EXPECT_THAT(text, HasSubstr("ncclAllReduce(count 4, ncclFloat32, ncclSum) waits for rank 1"));
}

TEST(Settings, FaultsLeaksAndTheLog) {
  char path[] = "/tmp/tilewright-nccl-log-XXXXXX";
  const int file = mkstemp(path);
  const std::string text =
      inside(std::string("TILEWRIGHT_VGPU_NCCL_LEAKS=1 TILEWRIGHT_VGPU_NCCL_LOG=") + path +
                 " TILEWRIGHT_VGPU_NCCL_FAULT='fail rank=0 call=ncclAllReduce number=2 result=6'",
             "Fault");
  EXPECT_THAT(text, AllOf(HasSubstr("results 0 6 0"), HasSubstr("rank 0 of 1, was not destroyed")));
  std::string log(1 << 16, '\0');
  log.resize(static_cast<size_t>(std::max<ssize_t>(0, read(file, log.data(), log.size()))));
  EXPECT_THAT(log, HasSubstr("\"call\": \"ncclAllReduce\", \"arguments\": {\"sendbuff\": "));
  EXPECT_THAT(log, HasSubstr("\"result\": 6}"));
  close(file);
  unlink(path);
}

TEST(Inside, DISABLED_Version) {
  int version = 0, excluded = 1;
  ncclComm_t made = nullptr;
  EXPECT_EQ(nccl().ncclGetVersion(&version), ncclSuccess);
  const ncclResult_t shrink = nccl().ncclCommShrink(nullptr, &excluded, 1, &made, nullptr, 0);
  std::printf("version %d, shrink %d: %s\n", version, shrink, nccl().ncclGetLastError(nullptr));
}

TEST(Inside, DISABLED_Refused) {
  ncclUniqueId id;
  EXPECT_EQ(nccl().ncclGetUniqueId(&id), ncclInvalidArgument);
  std::printf("%s\n", nccl().ncclGetLastError(nullptr));
}

TEST(Inside, DISABLED_Hang) {
  {
    RankDevice device(0);
    ncclUniqueId id;
    ncclComm_t comm = nullptr;
    EXPECT_NCCL(nccl().ncclGetUniqueId(&id));
    const ncclResult_t result = nccl().ncclCommInitRank(&comm, 2, id, 0);
    std::printf("init %d: %s\n", result, nccl().ncclGetLastError(nullptr));
  }
  RankDevice first(0), second(1);
  ncclComm_t comms[2] = {};
  EXPECT_NCCL(nccl().ncclCommInitAll(comms, 2, nullptr));
  float *data[] = {first.upload(std::vector<float>(4, 1)), second.upload(std::vector<float>(4, 1))};
  auto sum = [&](int rank, CUstream stream) {
    return nccl().ncclAllReduce(data[rank], data[rank], 4, ncclFloat32, ncclSum, comms[rank],
                                stream);
  };
  EXPECT_NCCL(nccl().ncclGroupStart());
  EXPECT_NCCL(sum(0, first.stream));
  EXPECT_NCCL(sum(1, second.stream));
  EXPECT_NCCL(nccl().ncclGroupEnd());
  first.synchronise();
  EXPECT_NCCL(sum(0, first.stream)); // rank 1 does not come
  EXPECT_EQ(cuda().cuStreamSynchronize(first.stream), CUDA_ERROR_LAUNCH_TIMEOUT);
  for (ncclComm_t comm : comms)
    EXPECT_NCCL(nccl().ncclCommAbort(comm));
}

TEST(Inside, DISABLED_Fault) {
  RankDevice device(0);
  ncclComm_t comm = nullptr;
  const int devices[] = {0};
  EXPECT_NCCL(nccl().ncclCommInitAll(&comm, 1, devices));
  float *data = device.upload(std::vector<float>(4, 1));
  std::printf("results");
  for (int i = 0; i < 3; ++i)
    std::printf(" %d",
                nccl().ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, comm, device.stream));
  std::printf("\n");
  device.synchronise(); // and forgets to destroy the communicator
}

} // namespace
} // namespace tilewright::vgpu::nccl
