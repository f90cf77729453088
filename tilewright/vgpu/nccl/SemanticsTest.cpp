// Tests the promises of the interface besides results: groups, waiting, failing, ending.
#include "tilewright/vgpu/nccl/Record.h"
#include "tilewright/vgpu/nccl/testing/Nccl.h"

#include "gmock/gmock.h"

#include <atomic>

namespace tilewright::vgpu::nccl {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Long enough for everything that does not wait for another rank.
constexpr auto moment = 100ms;

std::string lastError(ncclComm_t comm) { return nccl().ncclGetLastError(comm); }

ncclResult_t asyncError(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  EXPECT_NCCL(nccl().ncclCommGetAsyncError(comm, &state));
  return state;
}

/// Waits until the asynchronous error is `expected`.
void awaitError(ncclComm_t comm, ncclResult_t expected) {
  for (int i = 0; i < 500 && asyncError(comm) != expected; ++i)
    std::this_thread::sleep_for(2ms);
  EXPECT_EQ(asyncError(comm), expected) << lastError(comm);
}

/// Communicators of one thread for several devices.
struct Job {
  explicit Job(int ranks) : comms(static_cast<size_t>(ranks)) {
    for (int i = 0; i < ranks; ++i)
      devices.push_back(std::make_unique<RankDevice>(i));
    EXPECT_NCCL(nccl().ncclCommInitAll(comms.data(), ranks, nullptr));
  }
  ~Job() {
    for (ncclComm_t comm : comms)
      EXPECT_NCCL(nccl().ncclCommDestroy(comm));
  }
  void abort() {
    for (ncclComm_t &comm : comms) {
      EXPECT_NCCL(nccl().ncclCommAbort(comm));
      comm = nullptr;
    }
  }
  /// Calls `call(rank)` for all ranks in a group.
  template <typename Call> ncclResult_t inGroup(Call call) {
    EXPECT_NCCL(nccl().ncclGroupStart());
    for (size_t i = 0; i < comms.size(); ++i)
      call(i);
    return nccl().ncclGroupEnd();
  }
  std::vector<float *> upload(float value, size_t count = 4) {
    std::vector<float *> all;
    for (const auto &device : devices)
      all.push_back(device->upload(std::vector<float>(count, value)));
    return all;
  }
  ncclResult_t sum(const std::vector<float *> &data, size_t count = 4) {
    return inGroup([&](size_t i) {
      EXPECT_NCCL(nccl().ncclAllReduce(data[i], data[i], count, ncclFloat32, ncclSum, comms[i],
                                       devices[i]->stream));
    });
  }
  void synchronise() {
    for (const auto &device : devices)
      device->synchronise();
  }
  std::vector<std::unique_ptr<RankDevice>> devices;
  std::vector<ncclComm_t> comms;
};

/// A call on a thread of its own, which may block.
struct Blocked {
  template <typename Call>
  explicit Blocked(Call call)
      : thread([this, call] {
          result = call();
          isDone = true;
        }) {}
  ~Blocked() { thread.join(); }
  std::atomic<bool> isDone = false;
  ncclResult_t result = ncclInProgress;
  std::thread thread;
};

TEST(Groups, MessagesBlockEachOtherOutsideOfAGroupOnly) {
  Job job(2);
  const std::vector<float *> in = job.upload(1), out = job.upload(0);
  auto exchange = [&](size_t rank, bool inGroup) {
    const int other = 1 - static_cast<int>(rank);
    CUstream stream = job.devices[rank]->stream;
    ncclComm_t comm = job.comms[rank];
    if (inGroup)
      nccl().ncclGroupStart();
    ncclResult_t result = nccl().ncclSend(in[rank], 4, ncclFloat32, other, comm, stream);
    if (result == ncclSuccess)
      result = nccl().ncclRecv(out[rank], 4, ncclFloat32, other, comm, stream);
    return inGroup ? nccl().ncclGroupEnd() : result;
  };
  {
    Blocked first([&] { return exchange(0, true); }), second([&] { return exchange(1, true); });
  }
  for (size_t i = 0; i < 2; ++i) {
    job.devices[i]->synchronise();
    EXPECT_THAT(job.devices[i]->download(out[i], 4), Each(1.0f));
  }
  // The ranks are connected now, so the hosts need not wait, but the streams do.
  {
    Blocked first([&] { return exchange(0, false); }), second([&] { return exchange(1, false); });
  }
  std::this_thread::sleep_for(moment);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(cuda().cuStreamQuery(job.devices[i]->stream), CUDA_ERROR_NOT_READY);
  job.abort();
  for (size_t i = 0; i < 2; ++i)
    job.devices[i]->synchronise();
}

TEST(Groups, OneThreadWithoutAGroupWaitsForItself) {
  Job job(2);
  const std::vector<float *> data = job.upload(1);
  Blocked alone([&] {
    return nccl().ncclAllReduce(data[0], data[0], 4, ncclFloat32, ncclSum, job.comms[0],
                                job.devices[0]->stream);
  });
  std::this_thread::sleep_for(moment);
  EXPECT_FALSE(alone.isDone);
  job.abort();
}

TEST(Groups, NothingOfAGroupWithAnInvalidCallIsStarted) {
  Job job(2);
  const std::vector<float *> data = job.upload(1);
  const ncclResult_t result = job.inGroup([&](size_t i) {
    EXPECT_NCCL(nccl().ncclAllReduce(data[i], data[i], 4, ncclFloat32, ncclSum, job.comms[i],
                                     job.devices[i]->stream));
    if (i == 1)
      EXPECT_EQ(nccl().ncclBroadcast(data[i], data[i], 4, ncclFloat32, 7, job.comms[i],
                                     job.devices[i]->stream),
                ncclInvalidArgument);
  });
  EXPECT_EQ(result, ncclInvalidArgument);
  EXPECT_THAT(lastError(nullptr),
              HasSubstr("invalid root or peer 7, the communicator has 2 ranks"));
  for (size_t i = 0; i < 2; ++i) {
    job.devices[i]->synchronise();
    EXPECT_THAT(job.devices[i]->download(data[i], 4), Each(1.0f));
  }
  EXPECT_NCCL(job.sum(data));
  job.devices[1]->synchronise();
  EXPECT_THAT(job.devices[1]->download(data[1], 4), Each(2.0f));
}

TEST(Groups, NestAndEndOnce) {
  EXPECT_EQ(nccl().ncclGroupEnd(), ncclInvalidUsage);
  Job job(2);
  const std::vector<float *> data = job.upload(1);
  EXPECT_NCCL(nccl().ncclGroupStart());
  EXPECT_NCCL(job.sum(data));
  EXPECT_NCCL(nccl().ncclGroupStart());
  EXPECT_NCCL(nccl().ncclGroupEnd());
  EXPECT_THAT(job.devices[0]->download(data[0], 4), Each(1.0f));
  EXPECT_NCCL(nccl().ncclGroupEnd());
  job.devices[0]->synchronise();
  EXPECT_THAT(job.devices[0]->download(data[0], 4), Each(2.0f));
}

TEST(Groups, RanksMayOrderMessagesAndCollectivesOfAGroupDifferently) {
  Job job(2);
  const std::vector<float *> data = job.upload(1), sent = job.upload(5), got = job.upload(0);
  EXPECT_NCCL(job.inGroup([&](size_t i) {
    auto sum = [&] {
      EXPECT_NCCL(nccl().ncclAllReduce(data[i], data[i], 4, ncclFloat32, ncclSum, job.comms[i],
                                       job.devices[i]->stream));
    };
    if (i == 0) {
      EXPECT_NCCL(
          nccl().ncclSend(sent[0], 4, ncclFloat32, 1, job.comms[0], job.devices[0]->stream));
      sum();
    } else {
      sum();
      EXPECT_NCCL(nccl().ncclRecv(got[1], 4, ncclFloat32, 0, job.comms[1], job.devices[1]->stream));
    }
  }));
  job.devices[1]->synchronise();
  EXPECT_THAT(job.devices[1]->download(got[1], 4), Each(5.0f));
  EXPECT_THAT(job.devices[1]->download(data[1], 4), Each(2.0f));
  job.devices[0]->synchronise();
}

TEST(Groups, ASimulatedGroupIsNotStarted) {
  Job job(2);
  const std::vector<float *> data = job.upload(1);
  ncclSimInfo_t info;
  EXPECT_NCCL(nccl().ncclGroupStart());
  EXPECT_NCCL(job.sum(data));
  EXPECT_NCCL(nccl().ncclGroupSimulateEnd(&info));
  EXPECT_GT(info.estimatedTime, 0);
  job.devices[0]->synchronise();
  EXPECT_THAT(job.devices[0]->download(data[0], 4), Each(1.0f));
}

TEST(Init, WithoutBlockingIsInProgressUntilAllRanksCame) {
  RankDevice first(0), second(1);
  ncclConfig_t config;
  config.blocking = 0;
  ncclUniqueId id;
  ncclComm_t comms[2] = {};
  EXPECT_NCCL(nccl().ncclGetUniqueId(&id));
  first.makeCurrent();
  EXPECT_EQ(nccl().ncclCommInitRankConfig(&comms[0], 2, id, 0, &config), ncclInProgress);
  std::this_thread::sleep_for(moment);
  EXPECT_EQ(asyncError(comms[0]), ncclInProgress);
  int count = 0;
  EXPECT_EQ(nccl().ncclCommCount(comms[0], &count), ncclInvalidArgument) << "not ready";
  second.makeCurrent();
  EXPECT_EQ(nccl().ncclCommInitRankConfig(&comms[1], 2, id, 1, &config), ncclInProgress);
  EXPECT_NCCL(settle(comms[0]));
  EXPECT_NCCL(settle(comms[1]));
  // Collectives do not block either.
  float *data[] = {first.upload(std::vector<float>(4, 1)), second.upload(std::vector<float>(4, 2))};
  EXPECT_EQ(nccl().ncclAllReduce(data[0], data[0], 4, ncclFloat32, ncclSum, comms[0], first.stream),
            ncclInProgress);
  EXPECT_EQ(nccl().ncclAllReduce(data[0], data[0], 4, ncclFloat32, ncclSum, comms[0], first.stream),
            ncclInvalidArgument)
      << "the call before is not done";
  EXPECT_EQ(
      nccl().ncclAllReduce(data[1], data[1], 4, ncclFloat32, ncclSum, comms[1], second.stream),
      ncclInProgress);
  for (ncclComm_t comm : comms)
    EXPECT_NCCL(settle(comm));
  first.synchronise();
  EXPECT_THAT(first.download(data[0], 4), Each(3.0f));
  second.synchronise();
  for (ncclComm_t comm : comms) {
    EXPECT_EQ(nccl().ncclCommFinalize(comm), ncclInProgress);
    EXPECT_NCCL(settle(comm));
    EXPECT_NCCL(nccl().ncclCommDestroy(comm));
  }
}

TEST(Init, AMissingRankIsWaitedForUntilAbort) {
  RankDevice device(0);
  ncclConfig_t config;
  config.blocking = 0;
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  EXPECT_NCCL(nccl().ncclGetUniqueId(&id));
  EXPECT_EQ(nccl().ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  std::this_thread::sleep_for(moment);
  EXPECT_EQ(asyncError(comm), ncclInProgress);
  EXPECT_NCCL(nccl().ncclCommAbort(comm));
  // The rank that comes later finds no communicator to join.
  RankDevice second(1);
  ncclComm_t late = nullptr;
  EXPECT_EQ(nccl().ncclCommInitRank(&late, 2, id, 1), ncclSystemError);
  EXPECT_THAT(lastError(nullptr), HasSubstr("is the unique id used a second time?"));
  EXPECT_EQ(late, nullptr);
}

TEST(Init, RefusesWhatCannotBeMeant) {
  RankDevice device(0);
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  EXPECT_EQ(nccl().ncclCommInitRank(&comm, 1, id, 0), ncclInvalidArgument);
  EXPECT_THAT(lastError(nullptr), HasSubstr("do all processes load the same library?"));
  EXPECT_NCCL(nccl().ncclGetUniqueId(&id));
  EXPECT_EQ(nccl().ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument);
  ncclConfig_t config;
  config.magic = 0;
  EXPECT_EQ(nccl().ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
  config = {};
  config.minCTAs = 8, config.maxCTAs = 4;
  EXPECT_EQ(nccl().ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
  // Two ranks of a process on one device.
  ncclComm_t both[2] = {};
  const int devices[] = {0, 0};
  EXPECT_EQ(nccl().ncclCommInitAll(both, 2, devices), ncclInvalidUsage);
  EXPECT_THAT(lastError(nullptr), HasSubstr("ranks 0 and 1 both use device 0"));
  // A structure of an older NCCL is shorter.
  config = {};
  config.size = offsetof(ncclConfig_t, splitShare);
  config.splitShare = 77;
  EXPECT_NCCL(nccl().ncclCommInitRankConfig(&comm, 1, id, 0, &config));
  EXPECT_NCCL(nccl().ncclCommDestroy(comm));
}

TEST(Init, ScalableTakesTheSameListOfIdsFromAllRanks) {
  ncclUniqueId ids[2];
  for (ncclUniqueId &id : ids)
    EXPECT_NCCL(nccl().ncclGetUniqueId(&id));
  ncclComm_t comms[2] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      RankDevice device(i);
      EXPECT_NCCL(nccl().ncclCommInitRankScalable(&comms[i], 2, i, 2, ids, nullptr));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (ncclComm_t comm : comms)
    EXPECT_NCCL(nccl().ncclCommDestroy(comm));
}

TEST(Split, OrdersByKeyAndLeavesOutRanksWithoutColour) {
  Job job(4);
  ncclComm_t parts[4] = {};
  const int colours[] = {1, NCCL_SPLIT_NOCOLOR, 1, 1}, keys[] = {5, 0, 3, 4};
  EXPECT_NCCL(job.inGroup([&](size_t i) {
    EXPECT_NCCL(nccl().ncclCommSplit(job.comms[i], colours[i], keys[i], &parts[i], nullptr));
  }));
  EXPECT_EQ(parts[1], nullptr);
  const int expected[] = {2, -1, 0, 1};
  for (size_t i = 0; i < 4; ++i)
    if (parts[i]) {
      int rank = -1, count = -1;
      EXPECT_NCCL(nccl().ncclCommUserRank(parts[i], &rank));
      EXPECT_NCCL(nccl().ncclCommCount(parts[i], &count));
      EXPECT_EQ(rank, expected[i]);
      EXPECT_EQ(count, 3);
    }
  const std::vector<float *> data = job.upload(1);
  EXPECT_NCCL(job.inGroup([&](size_t i) {
    if (parts[i])
      EXPECT_NCCL(nccl().ncclAllReduce(data[i], data[i], 4, ncclFloat32, ncclSum, parts[i],
                                       job.devices[i]->stream));
  }));
  for (size_t i = 0; i < 4; ++i) {
    job.devices[i]->synchronise();
    EXPECT_THAT(job.devices[i]->download(data[i], 4), Each(parts[i] ? 3.0f : 1.0f));
    EXPECT_NCCL(nccl().ncclCommDestroy(parts[i]));
  }
}

TEST(Split, NeedsAllRanksOfTheParent) {
  Job job(2);
  ncclComm_t part = nullptr;
  {
    Blocked alone([&] { return nccl().ncclCommSplit(job.comms[0], 0, 0, &part, nullptr); });
    std::this_thread::sleep_for(moment);
    EXPECT_FALSE(alone.isDone);
    job.abort();
  }
  EXPECT_EQ(part, nullptr);
}

TEST(Mismatch, IsNamedWithBothCallsAndNothingIsWritten) {
  struct Case {
    ncclResult_t (*call)(Job &, size_t, float *);
    std::string first, second;
  };
  const Case cases[] = {
      {[](Job &job, size_t i, float *data) {
         return nccl().ncclAllReduce(data, data, i ? 4 : 3, ncclFloat32, ncclSum, job.comms[i],
                                     job.devices[i]->stream);
       },
       "ncclAllReduce(count 3, ncclFloat32, ncclSum)",
       "ncclAllReduce(count 4, ncclFloat32, ncclSum)"},
      {[](Job &job, size_t i, float *data) {
         return nccl().ncclAllReduce(data, data, 4, i ? ncclInt32 : ncclFloat32,
                                     i ? ncclMax : ncclSum, job.comms[i], job.devices[i]->stream);
       },
       "ncclFloat32, ncclSum", "ncclInt32, ncclMax"},
      {[](Job &job, size_t i, float *data) {
         return nccl().ncclBroadcast(data, data, 4, ncclFloat32, static_cast<int>(i), job.comms[i],
                                     job.devices[i]->stream);
       },
       "root 0", "root 1"},
  };
  for (const Case &one : cases) {
    Job job(2);
    const std::vector<float *> data = job.upload(1);
    EXPECT_NCCL(job.inGroup([&](size_t i) { EXPECT_NCCL(one.call(job, i, data[i])); }));
    for (ncclComm_t comm : job.comms) {
      awaitError(comm, ncclInvalidUsage);
      EXPECT_THAT(lastError(comm), AllOf(HasSubstr(one.first), HasSubstr(one.second),
                                         HasSubstr("rank 0 "), HasSubstr("rank 1 ")));
    }
    EXPECT_EQ(cuda().cuStreamQuery(job.devices[0]->stream), CUDA_ERROR_NOT_READY);
    job.abort();
    job.devices[0]->synchronise();
    EXPECT_THAT(job.devices[0]->download(data[0], 4), Each(1.0f));
  }
}

TEST(Mismatch, OfMessages) {
  Job job(2);
  const std::vector<float *> data = job.upload(1);
  EXPECT_NCCL(job.inGroup([&](size_t i) {
    if (i == 0)
      EXPECT_NCCL(
          nccl().ncclSend(data[0], 4, ncclFloat32, 1, job.comms[0], job.devices[0]->stream));
    else
      EXPECT_NCCL(
          nccl().ncclRecv(data[1], 2, ncclFloat32, 0, job.comms[1], job.devices[1]->stream));
  }));
  awaitError(job.comms[0], ncclInvalidUsage);
  EXPECT_THAT(lastError(job.comms[0]),
              AllOf(HasSubstr("ncclSend(count 4, ncclFloat32, to rank 1)"),
                    HasSubstr("ncclRecv(count 2, ncclFloat32, from rank 0)")));
  job.abort();
}

TEST(Abort, IsSeenByTheOthersWhoseStreamsWaitUntilTheirOwn) {
  Job job(3);
  const std::vector<float *> data = job.upload(1);
  EXPECT_NCCL(job.sum(data)); // connects
  job.synchronise();
  for (size_t i = 0; i < 2; ++i)
    EXPECT_NCCL(nccl().ncclAllReduce(data[i], data[i], 4, ncclFloat32, ncclSum, job.comms[i],
                                     job.devices[i]->stream));
  EXPECT_NCCL(nccl().ncclCommAbort(job.comms[2]));
  job.comms[2] = nullptr;
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(asyncError(job.comms[i]), ncclRemoteError);
    EXPECT_THAT(lastError(job.comms[i]), HasSubstr("rank 2 aborted the communicator"));
    EXPECT_EQ(cuda().cuStreamQuery(job.devices[i]->stream), CUDA_ERROR_NOT_READY);
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NCCL(nccl().ncclCommAbort(job.comms[i]));
    job.comms[i] = nullptr;
    job.devices[i]->synchronise();
  }
}

TEST(Revoke, EndsWorkAndShrinkGoesOnWithoutTheExcluded) {
  Job job(3);
  const std::vector<float *> data = job.upload(1);
  EXPECT_NCCL(job.sum(data));
  job.synchronise();
  for (size_t i : {0, 2})
    EXPECT_NCCL(nccl().ncclAllReduce(data[i], data[i], 4, ncclFloat32, ncclSum, job.comms[i],
                                     job.devices[i]->stream));
  for (size_t i : {0, 2}) {
    EXPECT_NCCL(nccl().ncclCommRevoke(job.comms[i], 0));
    job.devices[i]->synchronise();
    EXPECT_EQ(nccl().ncclAllReduce(data[i], data[i], 4, ncclFloat32, ncclSum, job.comms[i],
                                   job.devices[i]->stream),
              ncclInvalidUsage);
    EXPECT_EQ(nccl().ncclCommFinalize(job.comms[i]), ncclInvalidUsage);
  }
  int excluded = 1;
  ncclComm_t rest[3] = {};
  EXPECT_EQ(nccl().ncclCommShrink(job.comms[1], &excluded, 1, &rest[1], nullptr, 0),
            ncclInvalidUsage);
  EXPECT_THAT(lastError(job.comms[1]), HasSubstr("an excluded rank must not call ncclCommShrink"));
  EXPECT_NCCL(nccl().ncclGroupStart());
  for (size_t i : {0, 2})
    EXPECT_NCCL(
        nccl().ncclCommShrink(job.comms[i], &excluded, 1, &rest[i], nullptr, NCCL_SHRINK_ABORT));
  EXPECT_NCCL(nccl().ncclGroupEnd());
  const std::vector<float *> again = job.upload(1);
  EXPECT_NCCL(nccl().ncclGroupStart());
  for (size_t i : {0, 2})
    EXPECT_NCCL(nccl().ncclAllReduce(again[i], again[i], 4, ncclFloat32, ncclSum, rest[i],
                                     job.devices[i]->stream));
  EXPECT_NCCL(nccl().ncclGroupEnd());
  for (size_t i : {0, 2}) {
    job.devices[i]->synchronise();
    EXPECT_THAT(job.devices[i]->download(again[i], 4), Each(2.0f));
    EXPECT_NCCL(nccl().ncclCommDestroy(rest[i]));
  }
}

TEST(Windows, AreRegisteredByAllRanksWithTheSameSize) {
  Job job(2);
  void *memory[2] = {};
  ncclWindow_t windows[2] = {};
  for (size_t i = 0; i < 2; ++i) {
    job.devices[i]->makeCurrent();
    EXPECT_NCCL(nccl().ncclMemAlloc(&memory[i], 100));
  }
  auto registerAll = [&](size_t second) {
    return job.inGroup([&](size_t i) {
      EXPECT_NCCL(nccl().ncclCommWindowRegister(job.comms[i], memory[i], i ? second : 100,
                                                &windows[i], NCCL_WIN_COLL_SYMMETRIC));
    });
  };
  EXPECT_NCCL(registerAll(100));
  EXPECT_EQ(nccl().ncclMemFree(memory[0]), ncclInvalidUsage);
  EXPECT_THAT(lastError(nullptr), HasSubstr("call ncclCommWindowDeregister first"));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NCCL(nccl().ncclCommWindowDeregister(job.comms[i], windows[i]));
    EXPECT_EQ(nccl().ncclCommWindowDeregister(job.comms[i], windows[i]), ncclInvalidArgument);
  }
  EXPECT_EQ(registerAll(64), ncclInvalidUsage);
  EXPECT_THAT(lastError(nullptr), AllOf(HasSubstr("100 bytes"), HasSubstr("64 bytes")));
  for (void *one : memory)
    EXPECT_NCCL(nccl().ncclMemFree(one));
}

TEST(Windows, MemoryOfNoDeviceIsRefused) {
  Job job(1);
  float local[4];
  void *handle = nullptr;
  EXPECT_EQ(nccl().ncclCommRegister(job.comms[0], local, sizeof local, &handle),
            ncclInvalidArgument);
  float *data = job.upload(1)[0];
  EXPECT_NCCL(nccl().ncclCommRegister(job.comms[0], data, 16, &handle));
  EXPECT_NCCL(nccl().ncclCommDeregister(job.comms[0], handle));
  EXPECT_EQ(nccl().ncclCommDeregister(job.comms[0], handle), ncclInvalidArgument);
}

TEST(End, ADestroyedCommunicatorIsUnknown) {
  ncclComm_t comm = nullptr;
  {
    Job job(1);
    comm = job.comms[0];
    EXPECT_NCCL(nccl().ncclCommFinalize(comm));
    EXPECT_EQ(nccl().ncclCommFinalize(comm), ncclInvalidUsage);
  }
  int count = 0;
  EXPECT_EQ(nccl().ncclCommCount(comm, &count), ncclInvalidArgument);
  EXPECT_EQ(nccl().ncclCommDestroy(comm), ncclInvalidArgument);
  EXPECT_NCCL(nccl().ncclCommDestroy(nullptr));
}

TEST(End, FreedMemoryMakesTheContextFailAsAKernelWould) {
  CUcontext own = nullptr; // the failure stays in this context
  CUdeviceptr gone = 0;
  CUstream stream = nullptr;
  ncclComm_t comm = nullptr;
  ncclUniqueId id;
  EXPECT_CUDA(cuda().cuInit(0));
  EXPECT_CUDA(cuda().cuCtxCreate_v2(&own, 0, 0));
  EXPECT_NCCL(nccl().ncclGetUniqueId(&id));
  EXPECT_NCCL(nccl().ncclCommInitRank(&comm, 1, id, 0));
  EXPECT_CUDA(cuda().cuMemAlloc_v2(&gone, 16));
  EXPECT_CUDA(cuda().cuMemFree_v2(gone));
  EXPECT_CUDA(cuda().cuStreamCreate(&stream, 0));
  void *data = reinterpret_cast<void *>(gone);
  // Without the gate the context may fail before ncclAllReduce has returned, and then it says so.
  driver::Gate gate;
  EXPECT_CUDA(cuda().cuLaunchHostFunc(stream, driver::Gate::wait, &gate));
  EXPECT_NCCL(nccl().ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, comm, stream));
  gate.open();
  EXPECT_EQ(cuda().cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NCCL(nccl().ncclCommAbort(comm));
  EXPECT_CUDA(cuda().cuCtxDestroy_v2(own));
}

std::string textOf(const char *function) {
  auto *read = reinterpret_cast<size_t (*)(char *, size_t)>(dlsym(nccl().library, function));
  std::string text(1 << 16, '\0');
  text.resize(read(text.data(), text.size()));
  return text;
}

TEST(Record, HasTheCallsOfEveryRankAndWhatWasForgotten) {
  auto *record =
      reinterpret_cast<void (*)(int)>(dlsym(nccl().library, "tilewright_vgpu_nccl_record"));
  record(1);
  {
    Job job(2);
    const std::vector<float *> data = job.upload(1);
    EXPECT_NCCL(job.sum(data));
    job.synchronise();
    void *handle = nullptr;
    EXPECT_NCCL(nccl().ncclCommRegister(job.comms[1], data[1], 16, &handle));
    EXPECT_THAT(
        textOf("tilewright_vgpu_nccl_leaks"),
        AllOf(HasSubstr("rank 0 of 2, was not destroyed"), HasSubstr("its memory of 16 bytes at")));
  }
  record(0);
  EXPECT_THAT(textOf("tilewright_vgpu_nccl_leaks"), IsEmpty());
  const std::string calls = textOf("tilewright_vgpu_nccl_calls");
  EXPECT_THAT(calls, HasSubstr("\"rank\": 1, \"call\": \"ncclAllReduce\""));
  EXPECT_THAT(calls, HasSubstr("\"count\": 4, \"datatype\": 7, \"op\": 0"));
  EXPECT_THAT(calls, HasSubstr("\"call\": \"ncclCommDestroy\""));
  EXPECT_THAT(textOf("tilewright_vgpu_nccl_calls"), IsEmpty());
}

} // namespace
} // namespace tilewright::vgpu::nccl
