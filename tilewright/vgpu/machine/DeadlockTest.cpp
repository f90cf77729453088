// The messages for launches that make no progress.
#include "tilewright/vgpu/machine/testing/Kernels.h"

namespace tilewright::vgpu::machine {
namespace {

using ::testing::HasSubstr;

const std::string head = ".version 8.6\n.target sm_90a\n.address_size 64\n";

/// An observer makes the decoder emit another program, which must give the same result.
class Silent : public Observer {
public:
  void access(const MemoryEvent &) override {}
  void synchronise(const SyncEvent &) override {}
};

/// Runs `k`, which must deadlock, and expects `text` in the message.
template <typename... Values>
void expectDeadlock(LoadedModule &module, const LaunchConfig &config, const std::string &text,
                    const Values &...values) {
  Status status = run(module, "k", config, values...);
  EXPECT_EQ(status.error(), Error::vgpuDeadlock) << describeOrder(config);
  EXPECT_THAT(status.message(), HasSubstr(text)) << describeOrder(config);
}

TEST(Deadlock, AnMbarrierNamesItsPhaseItsCountsAndWhoArrived) {
  auto module = loadText(head + R"(
.visible .entry k() {
  .reg .b32 %bar, %t;
  .reg .pred %p;
  .shared .align 8 .b64 barriers[2];
  mov.u32 %bar, barriers;
  mov.u32 %t, %tid.x;
  setp.eq.u32 %p, %t, 0;
  @%p mbarrier.init.shared.b64 [%bar+8], 3;
  bar.sync 0;
  setp.lt.u32 %p, %t, 2;
  @%p mbarrier.arrive.shared.b64 _, [%bar+8];
W:
  mbarrier.try_wait.parity.shared.b64 %p, [%bar+8], 0;
  @!%p bra W;
  ret;
})");
  Silent silent;
  for (Observer *observer : {static_cast<Observer *>(nullptr), static_cast<Observer *>(&silent)}) {
    Status status = run(*module, "k", {.block = {64, 1, 1}, .observer = observer});
    EXPECT_EQ(status.error(), Error::vgpuDeadlock);
    EXPECT_THAT(status.message(), HasSubstr("of the mbarrier at offset 8 of the shared memory of "
                                            "cluster rank 0, which has received 2 of 3 arrivals"));
    EXPECT_THAT(status.message(), HasSubstr("warp 1 lanes 0xffffffff wait for phase"));
    if (observer) {
      EXPECT_THAT(status.message(), HasSubstr("for phase 0 (parity 0)"));
      EXPECT_THAT(status.message(),
                  HasSubstr("has 1 from each of block [0, 0, 0] warp 0 lanes 0x3 at k, line 15"));
    }
  }
}

TEST(Deadlock, BytesThatNoCopyBringsAreNamed) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 in) {
  .reg .b32 %bar, %s;
  .reg .b64 %p;
  .reg .pred %done;
  .shared .align 16 .b8 tile[64];
  .shared .align 8 .b64 barrier;
  ld.param.u64 %p, [in];
  mov.u32 %bar, barrier;
  mov.u32 %s, tile;
  mbarrier.init.shared.b64 [%bar], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 64;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%p], 48, [%bar];
W:
  mbarrier.try_wait.parity.shared.b64 %done, [%bar], 0;
  @!%done bra W;
  ret;
})");
  alignas(16) std::array<uint32_t, 16> in{};
  uint32_t *pin = in.data();
  for (const LaunchConfig &order : ordersOf({}))
    expectDeadlock(
        *module, order,
        "has received 1 of 1 arrivals and waits for 16 bytes that no operation in flight will "
        "deliver",
        pin);
}

TEST(Deadlock, AWarpThatLeavesTheOthersAloneWithAWgmmaIsNamed) {
  auto module = loadText(head + R"(
.visible .entry k() {
  .reg .b32 %t;
  .reg .b64 %d;
  .reg .f32 %f<4>;
  .reg .pred %one, %last;
  .shared .align 1024 .b8 tiles[4096];
  mov.u32 %t, tiles;
  mov.u32 %t, %tid.x;
  setp.ge.u32 %last, %t, 96;
  setp.eq.u32 %one, %t, %t;
  @%last bra AWAY;
  mov.b64 %d, 0x0000001000080000;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d, %d, %one, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
AWAY:
  bar.sync 0;
  ret;
})");
  for (const LaunchConfig &order : ordersOf({.block = {128, 1, 1}}))
    expectDeadlock(*module, order,
                   "for wgmma number 1 of their warpgroup, which warp 3 did not issue");
}

TEST(Deadlock, ABarrierNamesTheWarpsThatCameAndThoseThatDidNot) {
  auto module = loadText(head + R"(
.visible .entry k() {
  .reg .b32 %t;
  .reg .pred %p;
  mov.u32 %t, %tid.x;
  setp.ge.u32 %p, %t, 96;
  @%p bra AWAY;
  setp.ge.u32 %p, %t, 64;
  @%p exit;
  bar.sync 1, 96;
  ret;
AWAY:
  bar.sync 2, 64;
  ret;
})");
  expectDeadlock(*module, {.block = {128, 1, 1}},
                 "barrier 1, where 2 of 3 warps have arrived (warps 0, 1); missing: warp 3; warp 2 "
                 "exited");
}

TEST(Deadlock, AClusterNamesTheBlocksThatDidNotCome) {
  auto module = loadText(head + R"(
.visible .entry k() .reqnctapercluster 2, 1, 1 {
  .reg .b32 %r;
  .reg .pred %p;
  mov.u32 %r, %cluster_ctarank;
  setp.eq.u32 %p, %r, 1;
  @%p bra OTHER;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
OTHER:
  bar.sync 1, 64;
  ret;
})");
  expectDeadlock(*module, {.grid = {2, 1, 1}, .block = {32, 1, 1}},
                 "for the barrier of their cluster, where 32 of 64 threads have arrived; missing: "
                 "warp 0 of block [1, 0, 0]");
}

TEST(Deadlock, LanesThatWaitForLanesElsewhereAreNamed) {
  auto module = loadText(head + R"(
.visible .entry k() {
  .reg .b32 %t;
  .reg .pred %p;
  mov.u32 %t, %tid.x;
  setp.lt.u32 %p, %t, 8;
  @%p bra AWAY;
  bar.warp.sync 0xffffffff;
  ret;
AWAY:
  bar.sync 1, 64;
  ret;
})");
  expectDeadlock(*module, {.block = {32, 1, 1}},
                 "for lanes 0xffffffff of their warp (0xff are elsewhere, 0x0 have exited)");
}

TEST(Deadlock, SpinningForEverNamesTheLoop) {
  auto module = loadText(head + R"(
.visible .entry flag(.param .u64 in) {
  .reg .b32 %v;
  .reg .b64 %p;
  .reg .pred %q;
  ld.param.u64 %p, [in];
L:
  ld.relaxed.gpu.global.u32 %v, [%p];
  setp.eq.u32 %q, %v, 0;
  @%q bra L;
  ret;
}
.visible .entry phase() {
  .reg .b32 %bar;
  .reg .pred %p;
  .shared .align 8 .b64 barrier;
  mov.u32 %bar, barrier;
  mbarrier.init.shared.b64 [%bar], 1;
L:
  mbarrier.test_wait.parity.shared.b64 %p, [%bar], 0;
  @!%p bra L;
  ret;
})");
  uint32_t zero = 0;
  uint32_t *pzero = &zero;
  for (LaunchConfig order : ordersOf({})) {
    order.maxSteps = 20000;
    Status status = run(*module, "flag", order, pzero);
    EXPECT_EQ(status.error(), Error::vgpuLivelock) << describeOrder(order);
    EXPECT_THAT(status.message(), HasSubstr("warp 0 lanes 0x1 spin at flag, line 1"));
    status = run(*module, "phase", order);
    EXPECT_EQ(status.error(), Error::vgpuLivelock);
    EXPECT_THAT(status.message(), HasSubstr("spin at phase, line 2"));
  }
}
} // namespace
} // namespace tilewright::vgpu::machine
