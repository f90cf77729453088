// Races on tensor memory: a product that four warps read, with pieces of its synchronisation
// removed.
#include "tilewright/vgpu/check/testing/CheckKernel.h"

namespace tilewright::vgpu::check {
namespace {

using testing::HasSubstr;

/// Thread 0 multiplies matrices of 128 × 16 and 16 × 8 in shared memory; all threads load the
/// result.
const std::string product = R"(
.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 pout) {
  .reg .b64 %out, %y<8>;
  .reg .b32 %t, %w, %base, %a, %r<16>, %v<16>;
  .reg .pred %p<8>;
  .shared .align 1024 .b8 smem[4352];
  .shared .align 8 .b64 bar;
  .shared .b32 where;
  ld.param.u64 %out, [pout];
  mov.u32 %t, %tid.x;
  shr.u32 %w, %t, 5;
  mov.u32 %r0, smem;
  mad.lo.u32 %r1, %t, 32, %r0;
  mov.u32 %r2, 0;
  st.shared.v4.b32 [%r1], {%r2, %r2, %r2, %r2};
  st.shared.v4.b32 [%r1+16], {%r2, %r2, %r2, %r2};
  setp.lt.u32 %p0, %t, 16;
  mad.lo.u32 %r3, %t, 16, %r0;
  @%p0 st.shared.v4.b32 [%r3+4096], {%r2, %r2, %r2, %r2};
  setp.ne.u32 %p1, %t, 0;
  setp.ne.u32 %p2, %w, 0;
  @%p1 bra I;
  mbarrier.init.shared.b64 [bar], 1;
I:
  fence.proxy.async;
  @%p2 bra A;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 32;
A:
  bar.sync 0;
  ld.shared.b32 %base, [where];
  shl.b32 %a, %w, 21;
  add.u32 %a, %a, %base;
  @%p1 bra W;
  shr.u32 %r4, %r0, 4;
  cvt.u64.u32 %y0, %r4;
  add.u64 %y0, %y0, 70437464178688;
  add.u64 %y1, %y0, 256;
  mov.b32 %r5, 0x08020010;
  setp.eq.u32 %p3, %t, 1;
  tcgen05.mma.cta_group::1.kind::f16 [%base], %y0, %y1, %r5, %p3;
  tcgen05.mma.cta_group::1.kind::f16 [%base], %y0, %y1, %r5, %p0;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
W:
  mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;
  tcgen05.ld.sync.aligned.32x32b.x8.b32 {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7}, [%a];
  tcgen05.wait::ld.sync.aligned;
  bar.sync 1;
  @%p2 bra E;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 32;
E:
  ret;
}
)";

const machine::LaunchConfig warps{.block = {128, 1, 1}};

TEST(TensorRaces, AProductMustBeWaitedFor) {
  const Checked checked =
      expectNeeded(product, "mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;",
                   warps, FindingKind::race);
  EXPECT_THAT(checked.findings[0].finding.where, HasSubstr("tensor memory"));
}

TEST(TensorRaces, OperandsInSharedMemoryNeedAProxyFence) {
  expectNeeded(product, "fence.proxy.async;", warps, FindingKind::missingFence);
}

TEST(TensorRaces, LoadsMustBeCompleteBeforeTheColumnsAreFreed) {
  expectNeeded(product, "tcgen05.wait::ld.sync.aligned;", warps, FindingKind::race);
  // Without the barrier, warp 0 frees the columns before the others read them, which fails.
  std::string text = product;
  const std::string barrier = "bar.sync 1;";
  text.erase(text.find(barrier), barrier.size());
  EXPECT_THAT(check(text, warps).status.message(), HasSubstr("not all allocated"));
}

TEST(TensorRaces, AUseOfTheResultsCompletesALoad) {
  std::string text = product;
  const std::string wait = "tcgen05.wait::ld.sync.aligned;";
  text.replace(text.find(wait), wait.size(), "add.u32 %v8, %v7, 1;");
  EXPECT_EQ(check(text, warps, "all").text, "");
  EXPECT_THAT(check(text, warps, "all,strict").text, HasSubstr("tcgen05.dealloc"));
  // Other registers do not matter, and neither does a use of another load's results.
  text.replace(text.find("%v7, 1;"), 7, "%v9, 1;");
  EXPECT_THAT(check(text, warps, "all").text, HasSubstr("tcgen05.dealloc"));
}

TEST(TensorRaces, ACopyFollowsAProductInPractice) {
  std::string text = product;
  const std::string commit = "  tcgen05.commit";
  text.insert(text.find(commit), "  tcgen05.cp.cta_group::1.128x128b [%base], %y0;\n");
  EXPECT_EQ(check(text, warps, "all").text, "");
  EXPECT_THAT(check(text, warps, "all,strict").text, HasSubstr("tcgen05.cp"));
}

TEST(TensorRaces, ACopyMayOverwriteTheAddressOfTheColumns) {
  std::string text = product;
  auto replace = [&](const std::string &from, const std::string &to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace(".shared .b32 where;", ".shared .align 16 .b8 where[16];\n.shared .align 8 .b64 bar2;");
  replace("mbarrier.init.shared.b64 [bar], 1;",
          "mbarrier.init.shared.b64 [bar], 1;\nmbarrier.init.shared.b64 [bar2], 1;");
  replace("ld.shared.b32 %base, [where];", R"(ld.shared.b32 %base, [where];
  bar.sync 2;
  @%p1 bra X;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar2], 16;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [where], [%out], 16, [bar2];
X:
  mbarrier.try_wait.parity.shared.b64 %p5, [bar2], 0; @!%p5 bra X;)");
  EXPECT_EQ(check(text, warps, "all").text, "");
  EXPECT_THAT(check(text, warps, "all,strict").text, HasSubstr("proxy fence"));
  // The barrier is needed in any case.
  replace("  bar.sync 2;\n", "");
  EXPECT_THAT(check(text, warps, "all").text, HasSubstr("race"));
}

TEST(TensorRaces, ColumnsThatWereNeverWrittenAreReported) {
  std::string text = product;
  const std::string from = "[%a];";
  text.replace(text.find(from), from.size(), "[%a+8];");
  const Checked checked = check(text, warps);
  ASSERT_FALSE(checked.findings.empty());
  EXPECT_EQ(checked.findings[0].finding.kind, FindingKind::uninitialised);
  EXPECT_THAT(checked.text, HasSubstr("read of tensor memory that was never written"));
}

TEST(TensorRaces, AStoreMustBeWaitedForBeforeAProductReadsIt) {
  // The product adds to what the warps have stored.
  std::string text = product;
  const std::string at = "  @%p1 bra W;\n", first = ", %p3;";
  text.insert(text.find(at), "  mov.u32 %v0, 0;\n"
                             "  tcgen05.st.sync.aligned.32x32b.x8.b32 [%a], {%v0, %v0, %v0, %v0, "
                             "%v0, %v0, %v0, %v0};\n"
                             "  tcgen05.wait::st.sync.aligned;\n  bar.sync 2;\n");
  text.replace(text.find(first), first.size(), ", %p0;");
  expectNeeded(text, "tcgen05.wait::st.sync.aligned;", warps, FindingKind::race);
  expectNeeded(text, "bar.sync 2;", warps, FindingKind::race);
}

} // namespace
} // namespace tilewright::vgpu::check
