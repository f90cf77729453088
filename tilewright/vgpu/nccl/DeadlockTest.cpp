// The programs and situations that made XLA's collectives hang between November 2025 and August
// 2026, by the engine of collective/nccl on the virtual NCCL: each runs, and its plan is proven, or
// the plan is refused with the reason. A hang would end by TILEWRIGHT_VGPU_NCCL_TIMEOUT and fail.
#include "tilewright/collective/nccl/NcclEngine.h"
#include "tilewright/plan/Verify.h"
#include "tilewright/plan/testing/Plan.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/nccl/testing/Access.h"

#include "gmock/gmock.h"

#include <map>

namespace tilewright::vgpu::nccl {
namespace {

using namespace std::chrono_literals;
using collective::Call;
using collective::DeviceClique;
using collective::DeviceCommunicator;
using collective::Kind;
using collective::TestPlan;
using ::testing::HasSubstr;

constexpr int ranks = 4;
constexpr size_t count = 300;
using Groups = std::vector<std::vector<int64_t>>;

class Access final : public DriverAccess {
public:
  std::vector<std::unique_ptr<RankDevice>> devices;
  Status makeCurrent(int64_t rank) override {
    devices[static_cast<size_t>(rank)]->makeCurrent();
    return Status();
  }
};

class XlaDeadlock : public ::testing::Test {
protected:
  using Communicators = std::vector<std::unique_ptr<DeviceCommunicator>>;

  void SetUp() override {
    setenv("TILEWRIGHT_VGPU_NCCL_TIMEOUT", "20", 0); // read when the library starts
    nccl();
    collective::Membership job;
    for (int i = 0; i < ranks; ++i) {
      access.devices.push_back(std::make_unique<RankDevice>(i));
      job.processOfRank.push_back(0);
    }
    auto made = collective::nccl::NcclEngine::connect(job, store, access, {});
    ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    engine = *std::move(made);
    record(1);
  }
  void TearDown() override { record(0); }

  void record(int isOn) {
    reinterpret_cast<void (*)(int)>(dlsym(nccl().library, "tilewright_vgpu_nccl_record"))(isOn);
    calls();
  }
  /// How often each rank called a function since the last time.
  std::map<std::string, std::map<int, int>> calls() {
    auto *read = reinterpret_cast<size_t (*)(char *, size_t)>(
        dlsym(nccl().library, "tilewright_vgpu_nccl_calls"));
    std::string text(size_t(1) << 22, '\0');
    text.resize(read(text.data(), text.size()));
    std::map<std::string, std::map<int, int>> found;
    for (size_t at = text.find("\"rank\": "); at != std::string::npos;
         at = text.find("\"rank\": ", at + 1)) {
      const size_t name = text.find("\"call\": \"", at) + 9;
      ++found[text.substr(name, text.find('"', name) - name)][std::atoi(text.c_str() + at + 8)];
    }
    return found;
  }
  /// All ranks called a function equally often, since none decides by itself; or not at all.
  void expectEqualCalls(const std::string &function, bool isCalled) {
    std::map<int, int> found = calls()[function];
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(found[rank], found[0]) << function << " of rank " << rank;
    EXPECT_EQ(found[0] > 0, isCalled) << function;
  }

  Communicators prepare(const std::vector<DeviceClique> &cliques,
                        const std::vector<int64_t> &members = {0, 1, 2, 3}) {
    auto made = engine->prepare(members, cliques, after(20s));
    EXPECT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    return made.isOk() ? *std::move(made) : Communicators();
  }

  /// Calls `body(rank, communicator)` on a thread for each.
  template <typename Body> void onAll(const Communicators &communicators, Body body) {
    std::vector<std::thread> threads;
    for (const auto &one : communicators)
      threads.emplace_back([&] {
        const auto rank = static_cast<int>(one->rank());
        device(rank).makeCurrent();
        body(rank, *one);
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  RankDevice &device(int rank) { return *access.devices[static_cast<size_t>(rank)]; }

  /// Enqueues a collective of f32: every element of rank r is r + 1.
  float *enqueue(int rank, DeviceCommunicator &communicator, size_t clique, CUstream stream,
                 Kind kind = Kind::allReduce, const Groups &groups = {}) {
    std::vector<float> values(count, static_cast<float>(rank + 1));
    float *in = device(rank).upload(values),
          *out = device(rank).upload(std::vector<float>(count, -1));
    Call call;
    call.kind = kind;
    call.groups = &groups;
    call.name = "collective.1";
    call.reduction.operation = collective::ReductionKind::add;
    call.tensors = {{collective::ElementType::f32,
                     {static_cast<int64_t>(count)},
                     {static_cast<int64_t>(count)},
                     reinterpret_cast<const std::byte *>(in),
                     reinterpret_cast<std::byte *>(out)}};
    const Status status = communicator.enqueue(call, clique, stream);
    EXPECT_TRUE(status.isOk()) << status.toString();
    return out;
  }
  /// The value of all elements after the stream is done.
  float finish(int rank, DeviceCommunicator &communicator, const float *out) {
    device(rank).synchronise();
    const Status status = communicator.check();
    EXPECT_TRUE(status.isOk()) << status.toString();
    const std::vector<float> values = device(rank).download(out, count);
    EXPECT_THAT(values, ::testing::Each(values[0]));
    return values[0];
  }
  float sum(int rank, DeviceCommunicator &communicator, size_t clique) {
    return finish(rank, communicator, enqueue(rank, communicator, clique, device(rank).stream));
  }

  static void expectProven(const TestPlan &plan) {
    EXPECT_EQ(checkPlan(plan).message(), "");
    auto verdict = collective::verify(plan);
    ASSERT_TRUE(verdict.isOk());
    if (const auto *found = std::get_if<collective::Counterexample>(&*verdict))
      ADD_FAILURE() << describe(plan, *found);
  }

  /// The reason why the plan is refused; empty if it is proven.
  static std::string refusalOf(const TestPlan &plan) {
    auto verdict = collective::verify(plan);
    EXPECT_TRUE(verdict.isOk());
    const auto *found =
        verdict.isOk() ? std::get_if<collective::Counterexample>(&*verdict) : nullptr;
    return found ? std::string(toStatus(plan, *found).message()) : "";
  }

  MemoryKeyValueStore store;
  Access access;
  std::unique_ptr<collective::DeviceEngine> engine;
};

/// d20fe8e99b: groups "{}" and the list of all ranks had different keys in the cache, so that some
/// ranks found a communicator and others called ncclCommSplit.
TEST_F(XlaDeadlock, AllRanksWithAndWithoutAList) {
  const Communicators unnamed = prepare({{{}}});
  calls();
  const Communicators named = prepare({{{{0, 1, 2, 3}}}});
  expectEqualCalls("ncclCommSplit", false);
  for (const Communicators &each : {std::cref(unnamed), std::cref(named)})
    onAll(each, [&](int rank, DeviceCommunicator &one) { EXPECT_EQ(sum(rank, one, 0), 10); });
  TestPlan plan({{"x", ranks}});
  plan.call("A", plan.axes({0}), 0).call("B", plan.group({0, 1, 2, 3}), 1);
  expectProven(plan);
}

/// a41e22a233: a split needs all ranks of the parent, also those of no group.
TEST_F(XlaDeadlock, GroupsThatDoNotCoverAllRanks) {
  const Communicators made = prepare({{{{0, 1}}}});
  expectEqualCalls("ncclCommSplit", true);
  onAll(made, [&](int rank, DeviceCommunicator &one) {
    if (rank < 2)
      EXPECT_EQ(sum(rank, one, 0), 3);
  });
  TestPlan plan({{"x", ranks}});
  plan.call("A", plan.group({0, 1}), 0);
  expectProven(plan);
}

/// b47689e218: a cached communicator whose parent is another one was dropped by some ranks only.
TEST_F(XlaDeadlock, TheSameGroupFromTwoParents) {
  const Communicators whole = prepare({{{}}, {{{0, 1}, {2, 3}}}});
  const Communicators pair = prepare({{{}}}, {0, 1}); // a parent of its own
  calls();
  const Communicators again = prepare({{{{0, 1}, {2, 3}}}});
  expectEqualCalls("ncclCommSplit", false);
  onAll(whole,
        [&](int rank, DeviceCommunicator &one) { EXPECT_EQ(sum(rank, one, 1), rank < 2 ? 3 : 7); });
  onAll(pair, [&](int rank, DeviceCommunicator &one) { EXPECT_EQ(sum(rank, one, 0), 3); });
  onAll(again,
        [&](int rank, DeviceCommunicator &one) { EXPECT_EQ(sum(rank, one, 0), rank < 2 ? 3 : 7); });
  // Each program has a plan of its own, which does not contain the parents.
  TestPlan both({{"x", ranks}}), two({{"x", 2}});
  both.call("A", both.axes({0}), 0).call("B", both.groups({{0, 1}, {2, 3}}), 1);
  two.call("A", two.axes({0}), 0);
  expectProven(both);
  expectProven(two);
}

/// 7cd0cfdd81: the same, where the second parent contains more ranks than the first.
TEST_F(XlaDeadlock, AGroupThatIsCachedBeforeALargerParentComes) {
  const Communicators pair = prepare({{{}}}, {0, 1});
  calls();
  const Communicators whole = prepare({{{}}, {{{0, 1}, {2, 3}}}});
  expectEqualCalls("ncclCommSplit", true);
  onAll(whole, [&](int rank, DeviceCommunicator &one) {
    EXPECT_EQ(sum(rank, one, 1), rank < 2 ? 3 : 7);
    EXPECT_EQ(sum(rank, one, 0), 10);
  });
  onAll(pair, [&](int rank, DeviceCommunicator &one) { EXPECT_EQ(sum(rank, one, 0), 3); });
  TestPlan plan({{"x", ranks}});
  plan.call("A", plan.groups({{0, 1}, {2, 3}}), 0).call("B", plan.axes({0}), 1);
  expectProven(plan);
}

/// cf1e2b7399: components of a permute with a single rank.
TEST_F(XlaDeadlock, PermutesWithRanksThatAreAlone) {
  const Groups pairs = {{0, 1}, {1, 0}, {2, 2}}; // rank 2 sends to itself, rank 3 does nothing
  const Communicators made = prepare({{pairs, true}});
  onAll(made, [&](int rank, DeviceCommunicator &one) {
    const float *out = enqueue(rank, one, 0, device(rank).stream, Kind::permute, pairs);
    EXPECT_EQ(finish(rank, one, out),
              (std::array{2.0f, 1.0f, 3.0f, 0.0f})[static_cast<size_t>(rank)]);
  });
  TestPlan plan({{"x", ranks}});
  plan.call("A", plan.pairs(pairs), 0);
  plan.sites[0].kind = Kind::permute;
  expectProven(plan);
}

/// ee4a48ec5e: devices that no clique contains skipped the rendezvous after initialisation.
TEST_F(XlaDeadlock, ADeviceWithoutAnyClique) {
  const Communicators made = prepare({{{{0, 1, 2}}}});
  expectEqualCalls("ncclCommSplit", true);
  onAll(made, [&](int rank, DeviceCommunicator &one) {
    if (rank < 3)
      EXPECT_EQ(sum(rank, one, 0), 6);
  });
  const Communicators next = prepare({{{}}});
  onAll(next, [&](int rank, DeviceCommunicator &one) { EXPECT_EQ(sum(rank, one, 0), 10); });
  TestPlan plan({{"x", ranks}});
  plan.call("A", plan.group({0, 1, 2}), 0);
  expectProven(plan);
}

/// 919252e488: loading a module waited for kernels that waited for this rank.
TEST_F(XlaDeadlock, ARankLoadsAModuleWhileTheOthersWaitForIt) {
  const Communicators made = prepare({{{}}});
  onAll(made, [&](int rank, DeviceCommunicator &one) { EXPECT_EQ(sum(rank, one, 0), 10); });
  onAll(made, [&](int rank, DeviceCommunicator &one) {
    if (rank == 3) {
      std::this_thread::sleep_for(50ms); // the streams of the others wait now
      CUmodule module = nullptr;
      CUfunction kernel = nullptr;
      EXPECT_CUDA(cuda().cuModuleLoadData(&module, driver::testPtx));
      EXPECT_CUDA(cuda().cuModuleGetFunction(&kernel, module, "nothing"));
      EXPECT_CUDA(cuda().cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, device(rank).stream, nullptr,
                                        nullptr));
    }
    EXPECT_EQ(sum(rank, one, 0), 10);
  });
  // Loading is not in the plan: that it waits for no kernel is what running shows. The collectives
  // themselves cannot deadlock.
  TestPlan plan({{"x", ranks}});
  plan.call("A", plan.axes({0}), 0).call("B", plan.axes({0}), 1);
  expectProven(plan);
}

/// 2738c2880c: ranks were aborted one after the other, and the first waited for the others.
TEST_F(XlaDeadlock, OneThreadEndsAllRanksWhileTheirStreamsWait) {
  Communicators made = prepare({{{}}, {{{0, 1}, {2, 3}}}});
  onAll(made, [&](int rank, DeviceCommunicator &one) {
    sum(rank, one, 0);
    sum(rank, one, 1);
  });
  onAll(made, [&](int rank, DeviceCommunicator &one) {
    if (rank != 3) { // which does not come
      enqueue(rank, one, 1, device(rank).stream);
      enqueue(rank, one, 0, device(rank).stream);
    }
  });
  EXPECT_EQ(cuda().cuStreamQuery(device(0).stream), CUDA_ERROR_NOT_READY);
  const auto begin = std::chrono::steady_clock::now();
  engine->revoke("rank 3 is gone");
  for (int rank = 0; rank < ranks; ++rank)
    device(rank).synchronise();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  for (const auto &one : made)
    EXPECT_THAT(one->check().message(), HasSubstr("rank 3 is gone"));
  made.clear();
  engine.reset();
  // With all ranks the program is proven; a plan in which rank 3 stays away is refused.
  TestPlan plan({{"x", ranks}}), without({{"x", ranks}});
  plan.start("A", plan.groups({{0, 1}, {2, 3}}), 0).start("B", plan.axes({0}), 1);
  plan.wait("A").wait("B");
  expectProven(plan);
  without.branchByRank({0, 0, 0, 1});
  without.arm(0);
  without.call("B", without.axes({0}), 0);
  without.end();
  EXPECT_THAT(refusalOf(without), HasSubstr("rank 3"));
}

/// 17a2d4f0ec: two collectives under way on two streams, begun in different orders.
TEST_F(XlaDeadlock, TwoStreamsThatRanksFillInDifferentOrders) {
  const Communicators made = prepare({{{}, false, 0}, {{}, false, 1}}); // two lanes
  onAll(made, [&](int rank, DeviceCommunicator &one) {
    CUstream second = nullptr;
    EXPECT_CUDA(cuda().cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    // The first use of each lane waits for all ranks on the host, so in the same order.
    sum(rank, one, 0);
    sum(rank, one, 1);
    float *out[2] = {};
    for (size_t i : {0, 1}) {
      const size_t lane = rank % 2 ? 1 - i : i;
      out[lane] = enqueue(rank, one, lane, lane ? second : device(rank).stream);
    }
    EXPECT_CUDA(cuda().cuStreamSynchronize(second));
    EXPECT_EQ(finish(rank, one, out[0]), 10);
    EXPECT_EQ(finish(rank, one, out[1]), 10);
    EXPECT_CUDA(cuda().cuStreamDestroy_v2(second));
  });
  // Both under way in one order on all ranks: proven. In different orders the engine gets through,
  // but the first use of a lane waits on the host, so the plan refuses it.
  TestPlan same({{"x", ranks}}), other({{"x", ranks}});
  same.start("A", same.axes({0}), 0, 0).start("B", same.axes({0}), 1, 1).wait("A").wait("B");
  expectProven(same);
  other.branchByRank({0, 1, 0, 1});
  for (uint32_t arm : {0, 1}) {
    other.arm(arm);
    for (uint32_t i : {arm, 1 - arm})
      other.start(i ? "B" : "A", other.axes({0}), i, static_cast<uint8_t>(i));
    other.wait("A").wait("B");
  }
  other.end();
  EXPECT_THAT(refusalOf(other), HasSubstr("issue different collectives at the same point"));
  TestPlan plan({{"x", 3}});
  plan.callInACircle();
  EXPECT_THAT(refusalOf(plan), HasSubstr("3 ranks wait for each other in a cycle"));
}

/// The program that the plan refuses really hangs: any two of its collectives share one rank only,
/// so a check of pairs accepts it.
TEST_F(XlaDeadlock, TheRefusedCircleHangs) {
  const Communicators made = prepare({{{{0, 1}}}, {{{1, 2}}}, {{{0, 2}}}});
  onAll(made, [&](int rank, DeviceCommunicator &one) { // connects, in the order of the plan
    for (size_t clique : {0, 1, 2})
      if (rank != 3 && clique != (static_cast<size_t>(rank) + 1) % 3)
        sum(rank, one, clique);
  });
  onAll(made, [&](int rank, DeviceCommunicator &one) {
    if (rank == 3)
      return;
    const size_t first = (std::array<size_t, 3>{0, 1, 2})[static_cast<size_t>(rank)];
    const size_t second = (std::array<size_t, 3>{2, 0, 1})[static_cast<size_t>(rank)];
    enqueue(rank, one, first, device(rank).stream);
    enqueue(rank, one, second, device(rank).stream);
  });
  std::this_thread::sleep_for(100ms);
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(cuda().cuStreamQuery(device(rank).stream), CUDA_ERROR_NOT_READY);
  engine->revoke("the ranks wait for each other");
  for (int rank = 0; rank < 3; ++rank)
    device(rank).synchronise();
}

} // namespace
} // namespace tilewright::vgpu::nccl
