// Cluster launch control: every block's work is done once, by the block itself or by one that took
// it.
#include "tilewright/vgpu/machine/testing/Kernels.h"

#include "tilewright/support/Concat.h"

namespace tilewright::vgpu::machine {
namespace {

/// Each block counts its own place in the grid, and then those of the clusters that it takes.
/// `afterwards` runs when there is none left.
std::string kernel(bool isMulticast, const std::string &afterwards = "") {
  // Thread 0 asks, of the first block only if all blocks of the cluster get the response.
  return concat(R"(.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 pcounts) {
.shared .align 16 .b8 response[16];
.shared .align 8 .b64 arrived;
.reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %d<9>; .reg .b128 %q1;
ld.param.u64 %d0, [pcounts];
mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;
mov.u32 %r2, %cluster_ctarank; setp.eq.u32 %p2, %r2, 0;
)",
                isMulticast ? "and.pred %p2, %p1, %p2;" : "mov.pred %p2, %p1;", R"(
@%p1 mbarrier.init.shared::cta.b64 [arrived], 1;
fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ctaid.z;
mov.u32 %r6, %cluster_ctaid.x; mov.u32 %r7, %cluster_ctaid.y;
mov.u32 %r8, %nctaid.x; mov.u32 %r9, %nctaid.y; mov.u32 %r10, 0;
mad.lo.u32 %r20, %r5, %r9, %r4; mad.lo.u32 %r20, %r20, %r8, %r3; mad.lo.u32 %r20, %r20, 256, 1;
NEXT:
@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [arrived], 16;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
@%p2 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes)",
                isMulticast ? ".multicast::cluster::all" : "", R"(.b128 [response], [arrived];
// The work: a count for this place, and in the upper bits which block did it.
mad.lo.u32 %r11, %r5, %r9, %r4; mad.lo.u32 %r11, %r11, %r8, %r3;
mul.wide.u32 %d1, %r11, 4; add.u64 %d1, %d1, %d0;
@%p1 red.global.add.u32 [%d1], %r20;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p3, [arrived], %r10; @!%p3 bra WAIT;
xor.b32 %r10, %r10, 1;
ld.shared.b128 %q1, [response];
fence.proxy.async.shared::cta;
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p4, %q1;
@!%p4 bra DONE;
clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r3, %r4, %r5, _}, %q1;
clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r12, %q1;
setp.ne.u32 %p5, %r12, %r4; @%p5 trap;
add.u32 %r3, %r3, %r6; add.u32 %r4, %r4, %r7;
bra NEXT;
DONE:
)",
                afterwards, "\nret;\n}\n");
}

/// How often the work of each place was done, in the lowest byte, and by which block.
std::vector<uint32_t> countPlaces(LoadedModule &module, const LaunchConfig &config) {
  std::vector<uint32_t> counts(volume(config.grid));
  uint32_t *pointer = counts.data();
  const Status status = run(module, "k", config, pointer);
  EXPECT_TRUE(status.isOk()) << status.toString() << describeOrder(config);
  return counts;
}

void expectEveryPlaceOnce(bool isMulticast, Dim3 grid, Dim3 cluster) {
  std::unique_ptr<LoadedModule> module = loadText(kernel(isMulticast), "sm_100a");
  ASSERT_TRUE(module);
  for (const LaunchConfig &config :
       ordersOf({.grid = grid, .block = {64, 1, 1}, .cluster = cluster}))
    for (const uint32_t count : countPlaces(*module, config))
      EXPECT_EQ(count & 0xff, 1u) << describeOrder(config);
}

TEST(LaunchControl, BlocksTakeTheWorkOfOthers) {
  expectEveryPlaceOnce(false, {5, 3, 2}, {1, 1, 1});
  expectEveryPlaceOnce(false, {1, 1, 1}, {1, 1, 1});
}
TEST(LaunchControl, ClustersTakeTheWorkOfOthers) {
  expectEveryPlaceOnce(true, {6, 4, 1}, {2, 1, 1});
  expectEveryPlaceOnce(true, {4, 4, 2}, {2, 2, 1});
}

TEST(LaunchControl, OneBlockDoesAllIfNoneElseStarts) {
  // In the plain order a block runs to its end before the next one starts.
  std::unique_ptr<LoadedModule> module = loadText(kernel(false), "sm_100a");
  ASSERT_TRUE(module);
  EXPECT_THAT(countPlaces(*module, {.grid = {7, 1, 1}, .block = {32, 1, 1}}), testing::Each(1u));
}

TEST(LaunchControl, RefusesARequestAfterAFailure) {
  std::unique_ptr<LoadedModule> module = loadText(
      kernel(false, "@%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::"
                    "bytes.b128 [response], [arrived];"),
      "sm_100a");
  ASSERT_TRUE(module);
  std::vector<uint32_t> counts(3);
  uint32_t *pointer = counts.data();
  const Status status = run(*module, "k", {.grid = {3, 1, 1}, .block = {32, 1, 1}}, pointer);
  EXPECT_FALSE(status.isOk());
  EXPECT_THAT(status.toString(), testing::HasSubstr("whose failure this warp has seen"));
}

} // namespace
} // namespace tilewright::vgpu::machine
