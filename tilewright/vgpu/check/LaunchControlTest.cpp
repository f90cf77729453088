// Races on the response of cluster launch control, with pieces of its synchronisation removed.
#include "tilewright/vgpu/check/testing/CheckKernel.h"

namespace tilewright::vgpu::check {
namespace {

/// Blocks count their own place and those of the blocks that they take.
const std::string stealing = R"(
.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 pout) {
  .reg .b64 %out, %y<4>;
  .reg .b32 %t, %x, %phase;
  .reg .pred %p<8>;
  .reg .b128 %q;
  .shared .align 16 .b8 response[16];
  .shared .align 8 .b64 bar;
  ld.param.u64 %out, [pout];
  mov.u32 %t, %tid.x;
  setp.eq.u32 %p0, %t, 0;
  @%p0 mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mov.u32 %x, %ctaid.x;
  mov.u32 %phase, 0;
NEXT:
  bar.sync 0;
  @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
  @%p0 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [response], [bar];
  mul.wide.u32 %y0, %x, 4;
  add.u64 %y0, %y0, %out;
  @%p0 st.global.u32 [%y0], 1;
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], %phase; @!%p1 bra W;
  xor.b32 %phase, %phase, 1;
  ld.shared.b128 %q, [response];
  fence.proxy.async.shared::cta;
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q;
  clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %x, %q;
  @%p2 bra NEXT;
  ret;
}
)";
const machine::LaunchConfig config{.grid = {9, 1, 1}, .block = {64, 1, 1}};

TEST(LaunchControlCheck, TheResponseIsReadAfterItsBarrier) {
  expectNeeded(stealing, "mbarrier.try_wait.parity.shared.b64 %p1, [bar], %phase; @!%p1 bra W;",
               config, FindingKind::race);
}
TEST(LaunchControlCheck, TheNextRequestWaitsForTheReads) {
  std::string text = stealing;
  // The first barrier of the loop also orders the initialisation; keep one before the loop.
  text.replace(text.find("NEXT:"), 5, "barrier.sync 0;\nNEXT:");
  expectNeeded(text, "\n  bar.sync 0;", config, FindingKind::race);
}

} // namespace
} // namespace tilewright::vgpu::check
