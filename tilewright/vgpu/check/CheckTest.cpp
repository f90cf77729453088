// Small kernels with and without errors, and the expected findings.
#include "tilewright/support/ThreadPool.h"
#include "tilewright/support/testing/ParsedJson.h"
#include "tilewright/vgpu/check/testing/CheckKernel.h"
#include "tilewright/vgpu/include/tilewright_vgpu.h"

#include <cstdlib>
#include <map>

namespace tilewright::vgpu::check {
namespace {

using machine::Completion;
using machine::LaunchConfig;
using testing::HasSubstr;
using testing::Not;

const std::string exchange = R"(
  st.shared.u32 [%o], %t;
  bar.sync 0;
  mov.u32 %r1, smem;
  xor.b32 %r2, %r0, 128;
  add.u32 %r1, %r1, %r2;
  ld.shared.u32 %r3, [%r1];
)";

TEST(Races, BarrierOrdersWarps) {
  const Checked checked =
      expectNeeded(kernel(exchange), "bar.sync 0;", {.block = {64, 1, 1}}, FindingKind::race);
  const Finding &finding = checked.findings[0].finding;
  ASSERT_EQ(finding.parties.size(), 2u);
  EXPECT_THAT(finding.parties[0].location.instruction, HasSubstr("st.shared"));
  EXPECT_THAT(finding.parties[1].location.instruction, HasSubstr("ld.shared"));
  EXPECT_THAT(finding.where, HasSubstr("shared memory"));
  EXPECT_THAT(finding.fix, HasSubstr("bar.sync"));
}

TEST(Races, LanesOfAWarpNeedAWarpBarrier) {
  const std::string text = kernel(R"(
  st.shared.u32 [%o], %t;
  bar.warp.sync -1;
  mov.u32 %r1, smem;
  xor.b32 %r2, %r0, 4;
  add.u32 %r1, %r1, %r2;
  ld.shared.u32 %r3, [%r1];
)");
  const Checked checked =
      expectNeeded(text, "bar.warp.sync -1;", {.block = {32, 1, 1}}, FindingKind::race);
  EXPECT_THAT(checked.findings[0].finding.fix, HasSubstr("bar.warp.sync"));
  EXPECT_EQ(checked.findings[0].finding.value.substr(0, 2), "0x");
}

TEST(Races, ALaneIsOrderedWithItself) {
  expectClean(kernel(R"(
  st.shared.u32 [%o], %t;
  ld.shared.u32 %r1, [%o];
  add.u32 %r1, %r1, 1;
  st.shared.u32 [%o], %r1;
)"),
              {.block = {64, 1, 1}});
}

TEST(Races, NeighbouringBytesAreDifferentMemory) {
  expectClean(kernel(R"(
  mov.u32 %r1, smem;
  add.u32 %r1, %r1, %t;
  st.shared.u8 [%r1], %t;
  ld.shared.u8 %r2, [%r1];
  st.shared.u8 [%r1], %t;
)"),
              {.block = {64, 1, 1}});
}

TEST(Races, OverwritingWhatOthersReadCounts) {
  expectNeeded(kernel(exchange + "bar.sync 1;\nst.shared.u32 [%o], %r3;"), "bar.sync 1;",
               {.block = {64, 1, 1}}, FindingKind::race);
}

// The machine fuses the loads into one operation, and only the last load reads what is written.
TEST(Races, ReadsOfARunOfLoadsAreRemembered) {
  std::string body = R"(
  st.shared.u32 [%o], %t;
  st.shared.u32 [%o+128], %t;
  bar.sync 0;
  mov.u32 %r1, smem;
  shl.b32 %r2, %l, 2;
  add.u32 %r2, %r2, %r1;
  mov.u32 %r9, 0;
)";
  for (int k = 0; k < 4; ++k) {
    const std::string at = std::to_string(4 * k);
    body += "  ld.shared.b32 %r3, [%r1+" + at + "];\n  ld.shared.b32 %r4, [%r2+" + at +
            "];\n  fma.rn.f32 %r9, %r3, %r4, %r9;\n";
  }
  body += R"(
  bar.sync 1;
  setp.eq.u32 %p1, %t, 2;
  @%p1 st.shared.u32 [%o+128], %r9;
)";
  expectNeeded(kernel(body), "bar.sync 1;", {.block = {32, 1, 1}}, FindingKind::race);
}

TEST(Races, WhoWritesWhatManyBlocksReadIsFound) {
  expectNeeded(kernel(R"(
  mul.wide.u32 %y0, %l, 4;
  add.u64 %y0, %y0, %out;
  ld.global.u32 %r1, [%y0];
  ld.global.u32 %r2, [%y0];
  setp.eq.u32 %p1, %c, 6;
  setp.eq.and.u32 %p1, %t, 99, %p1;
  @%p1 st.global.u32 [%y0], %r1;
)"),
               "setp.eq.and.u32 %p1, %t, 99, %p1;", {.grid = {8, 1, 1}, .block = {32, 1, 1}},
               FindingKind::race);
}

TEST(Races, SplitBarrierOrdersOnlyOneWay) {
  // Warp 0 writes and arrives; warp 1 waits and reads.
  const std::string text = kernel(R"(
  setp.lt.u32 %p1, %t, 32;
  @!%p1 bra CONSUMER;
  st.shared.u32 [%o], %t;
  bar.arrive 1, 64;
  bra END;
CONSUMER:
  bar.sync 1, 64;
  ld.shared.u32 %r3, [%o+-128];
END:
)");
  expectClean(text, {.block = {64, 1, 1}});
  std::string late = text;
  const std::string store = "  st.shared.u32 [%o], %t;\n";
  late.erase(late.find(store), store.size());
  late.insert(late.find("  bra END;"), store);
  EXPECT_FALSE(check(late, {.block = {64, 1, 1}}).findings.empty());
}

/// Expects no race when lanes, warps and blocks store equal values of %r4 to the same memory.
void expectEqualIsNothing(const std::string &before, const std::string &store,
                          const std::string &load, LaunchConfig config,
                          const std::string &different) {
  const std::string equal = before + "  mov.u32 %r4, 33554689;\n";
  expectClean(kernel(equal + store), config);
  const Checked other =
      check(kernel(before + "  mov.u32 %r4, " + different + ";\n" + store), config);
  ASSERT_FALSE(other.findings.empty()) << store;
  EXPECT_EQ(other.findings[0].finding.kind, FindingKind::race);
  EXPECT_THAT(other.findings[0].finding.message, HasSubstr("two writes"));
  // A read must be ordered after all of the writes.
  const Checked read = check(kernel(equal + store + load), config);
  ASSERT_FALSE(read.findings.empty()) << load;
  EXPECT_EQ(read.findings[0].finding.kind, FindingKind::race);
  EXPECT_THAT(read.text, Not(HasSubstr("two writes")));
}

TEST(EqualWrites, ByLanes) {
  const LaunchConfig warp{.block = {32, 1, 1}};
  // All lanes at one address; four lanes at each of eight; rows of eight, four times; pairs.
  const std::string places[] = {
      "mov.u32 %r1, smem;\n",
      "shr.u32 %r1, %t, 2;\nshl.b32 %r1, %r1, 2;\nmov.u32 %r2, smem;\nadd.u32 %r1, %r1, %r2;\n",
      "and.b32 %r1, %t, 7;\nshl.b32 %r1, %r1, 2;\nmov.u32 %r2, smem;\nadd.u32 %r1, %r1, %r2;\n"};
  for (const std::string &place : places) {
    expectEqualIsNothing(place, "st.shared.u32 [%r1], %r4;\n",
                         "mov.u32 %r2, smem;\nld.shared.u32 %r3, [%r2];\n", warp, "%t");
    expectEqualIsNothing(place + "cvt.u64.u32 %y1, %r1;\nadd.u64 %y1, %out, %y1;\n",
                         "st.global.u32 [%y1], %r4;\n",
                         "mov.u32 %r2, smem;\ncvt.u64.u32 %y1, %r2;\nadd.u64 %y1, %out, %y1;\n"
                         "ld.global.u32 %r3, [%y1];\n",
                         warp, "%t");
  }
  expectEqualIsNothing("mov.u32 %r1, smem;\n", "st.shared.v2.u32 [%r1], {%r4, %r4};\n",
                       "ld.shared.u32 %r3, [%r1+4];\n", warp, "%l");
  expectEqualIsNothing("mov.u32 %r1, smem;\n", "st.shared.u8 [%r1], %r4;\n",
                       "ld.shared.u8 %r3, [%r1];\n", warp, "%l");
}

TEST(EqualWrites, ByWarps) {
  const std::string place = "mov.u32 %r1, smem;\nshl.b32 %r2, %l, 2;\nadd.u32 %r1, %r1, %r2;\n";
  expectEqualIsNothing(place, "st.shared.u32 [%r1], %r4;\n",
                       "bar.warp.sync -1;\nld.shared.u32 %r3, [%r1];\n", {.block = {128, 1, 1}},
                       "%t");
  // Both writers count, even the one before the last, which is the only one not ordered before the
  // read.
  const Checked checked = check(kernel(R"(
  mov.u32 %r1, smem;
  setp.lt.u32 %p1, %t, 32;
  setp.ge.u32 %p2, %t, 64;
  @%p2 bra LAST;
  st.shared.u32 [%r1], 5;
  @%p1 bra END;
  bar.sync 1, 64;
  bra END;
LAST:
  bar.sync 1, 64;
  ld.shared.u32 %r3, [%r1];
END:
)"),
                                {.block = {96, 1, 1}}, "races");
  ASSERT_FALSE(checked.findings.empty());
  EXPECT_THAT(checked.text, HasSubstr("warp 0"));
  EXPECT_THAT(checked.text, Not(HasSubstr("two writes")));
}

TEST(EqualWrites, ByBlocks) {
  ThreadPool pool(2);
#if __has_feature(thread_sanitizer)
  // A race between blocks is also a race between host threads, which ThreadSanitizer would report.
  std::vector<ThreadPool *> pools = {nullptr};
#else
  std::vector<ThreadPool *> pools = {nullptr, &pool};
#endif
  for (ThreadPool *threads : pools)
    expectEqualIsNothing("", "st.global.u32 [%out], %r4;\n", "ld.global.u32 %r3, [%out];\n",
                         {.grid = {64, 1, 1}, .block = {64, 1, 1}, .pool = threads}, "%c");
}

TEST(EqualWrites, ByBulkStores) {
  const std::string text = kernel(R"(
  st.shared.u32 [%o], VALUE;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.ne.u32 %p1, %t, 0;
  @%p1 bra END;
  mov.u32 %r2, smem;
  cp.async.bulk.global.shared::cta.bulk_group [%out], [%r2], 256;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
END:
)");
  const LaunchConfig blocks{.grid = {4, 1, 1}, .block = {64, 1, 1}};
  std::string equal = text, different = text;
  equal.replace(equal.find("VALUE"), 5, "%t");
  different.replace(different.find("VALUE"), 5, "%c");
  expectClean(equal, blocks);
  EXPECT_THAT(check(different, blocks).text, HasSubstr("two writes"));
}

/// A bulk copy into shared memory, a wait for it, and a copy back.
const std::string bulk = kernel(R"(
  mov.u32 %r1, bar;
  mov.u32 %r2, smem;
  setp.ne.u32 %p1, %t, 0;
  @%p1 bra MEET;
  mbarrier.init.shared.b64 [%r1], 1;
  fence.mbarrier_init.release.cluster;
MEET:
  bar.sync 0;
  @%p1 bra WAIT;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%out], 256, [%r1];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0;
  @!%p2 bra WAIT;
  ld.shared.u32 %r3, [%o];
  add.u32 %r3, %r3, 1;
  bar.sync 1;
  st.shared.u32 [%o], %r3;
  fence.proxy.async.shared::cta;
  bar.sync 2;
  @%p1 bra END;
  cp.async.bulk.global.shared::cta.bulk_group [%out+1024], [%r2], 256;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
END:
)");
const LaunchConfig twoWarps{.block = {64, 1, 1}};

TEST(Async, EveryPartOfABulkCopyIsNeeded) {
  expectNeeded(bulk, "fence.proxy.async.shared::cta;", twoWarps, FindingKind::missingFence);
  expectNeeded(bulk, "  bar.sync 2;\n", twoWarps, FindingKind::race);
  expectNeeded(bulk, "  bar.sync 0;\n", twoWarps, FindingKind::barrier);
  expectNeeded(bulk, "  mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0;\n  @!%p2 bra WAIT;\n",
               twoWarps, FindingKind::race);
  expectNeeded(bulk, "cp.async.bulk.wait_group 0;", twoWarps, FindingKind::unfinished);
}

TEST(Async, TheFenceOfAnInitIsDemandedByTheLetterAlone) {
  std::string text = bulk;
  const std::string fence = "fence.mbarrier_init.release.cluster;";
  EXPECT_EQ(check(text, twoWarps, "all,strict").text, "");
  text.erase(text.find(fence), fence.size());
  EXPECT_EQ(check(text, twoWarps, "all").text, "");
  const Checked checked = check(text, twoWarps, "all,strict");
  ASSERT_EQ(checked.findings.size(), 1u) << checked.text;
  EXPECT_EQ(checked.findings[0].finding.kind, FindingKind::missingFence);
}

static const std::string initByThread0 = R"(
  mov.u32 %r1, bar;
  setp.ne.u32 %p1, %t, 0;
  @%p1 bra MEET;
  mbarrier.init.shared.b64 [%r1], 1;
MEET:
  bar.sync 0;
)";

TEST(Async, AWaitForThePhaseBeforeTheFirstNeedsTheInit) {
  // A producer that asks for an empty stage: no thread has arrived, and it continues at once.
  const std::string text = kernel(initByThread0 + R"(
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 1;
  @!%p2 bra WAIT;
)");
  expectNeeded(text, "  bar.sync 0;\n", twoWarps, FindingKind::barrier);
}

TEST(Async, AnnouncedBytesMayAllBeAbsentAtTheEnd) {
  auto withExpect = [](const std::string &before, const std::string &bytes) {
    std::string text = bulk;
    const size_t at = text.find(before);
    text.insert(at, "mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], " + bytes + ";\n  ");
    return text;
  };
  // After the last phase that threads wait for.
  const std::string stale = withExpect("cp.async.bulk.global.shared::cta", "128");
  EXPECT_EQ(check(stale, twoWarps, "all").text, "");
  EXPECT_THAT(check(stale, twoWarps, "all,strict").text, HasSubstr("expects 128 bytes"));
  std::string half = stale;
  half.insert(half.find("cp.async.bulk.global.shared::cta"),
              "mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 32;\n  ");
  EXPECT_THAT(check(half, twoWarps, "all").text, HasSubstr("expects 96 bytes"));
}

/// Blocks of a cluster whose copies complete on an mbarrier of the first one.
TEST(Async, OtherBlocksNeedTheFenceOrTheRelease) {
  const std::string text = kernel(R"(
  mov.u32 %r1, bar;
  setp.ne.u32 %p1, %t, 0;
  mov.u32 %r9, %cluster_ctarank;
  setp.ne.u32 %p3, %r9, 0;
  or.pred %p4, %p1, %p3;
  @%p4 bra MEET;
  mbarrier.init.shared.b64 [%r1], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 4;
MEET:
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  setp.eq.u32 %p5, %r9, 0;
  or.pred %p5, %p5, %p1;
  @%p5 bra WAIT;
  mapa.shared::cluster.u32 %r2, %r1, 0;
  mov.u32 %r3, smem;
  mapa.shared::cluster.u32 %r3, %r3, 0;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r3], 7, [%r2];
WAIT:
  @%p3 bra END;
LOOP:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0;
  @!%p2 bra LOOP;
END:
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
)");
  const LaunchConfig pair{.grid = {2, 1, 1}, .block = {32, 1, 1}, .cluster = {2, 1, 1}};
  expectClean(text, pair);
  std::string relaxed = text;
  relaxed.replace(relaxed.find("arrive.release"), 14, "arrive.relaxed");
  EXPECT_THAT(check(relaxed, pair).text, HasSubstr("after its initialisation"));
  relaxed.insert(relaxed.find("MEET:"), "fence.mbarrier_init.release.cluster;\n");
  expectClean(relaxed, pair);
}

/// Threads 0 to 127 multiply, and only one of them tells warp 4 that the operands may be
/// overwritten.
const std::string giveOperandsBack = R"(
  .reg .f32 %f<4>;
  st.shared.u32 [%o], %t;
  setp.ne.u32 %p0, %t, 0;
  @!%p0 mbarrier.init.shared.b64 [bar], 1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mov.u32 %r1, smem;
  setp.ge.u32 %p1, %t, 128;
  @%p1 bra overwrite;
  shr.u32 %r2, %r1, 4;
  cvt.u64.u32 %y0, %r2;
  setp.ne.u32 %p2, 0, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %y0, %y0, %p2, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  setp.ne.u32 %p3, %t, 37;
  @!%p3 mbarrier.arrive.shared.b64 _, [bar];
  ret;
overwrite:
  mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0;
  @!%p4 bra overwrite;
  sub.u32 %r3, %o, 512;
  st.shared.u32 [%r3], %t;
)";

/// wgmma is one operation of four warps: any lane that waited for it can pass that on to others.
TEST(Async, AnyLaneThatWaitedForAProductCanTell) {
  expectNeeded(kernel(giveOperandsBack), "wgmma.wait_group.sync.aligned 0;", {.block = {160, 1, 1}},
               FindingKind::race);
}

/// Bulk groups belong to a thread: the wait of another lane waits for nothing.
TEST(Async, ABulkGroupIsWaitedForByWhoCommittedIt) {
  const std::string text = kernel(R"(
  st.shared.u32 [%o], %t;
  fence.proxy.async;
  bar.warp.sync 0xffffffff;
  setp.ne.u32 %p0, %t, 3;
  mov.u32 %r1, smem;
  @!%p0 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], 128;
  @!%p0 cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
  bar.warp.sync 0xffffffff;
  st.shared.u32 [%o], %l;
)");
  // Remove the second warp barrier, which orders lane 3's wait before the other lanes.
  std::string without = text;
  without.erase(text.rfind("bar.warp.sync"), std::string("bar.warp.sync 0xffffffff;").size());
  expectClean(text, {.block = {32, 1, 1}});
  const Checked checked = check(without, {.block = {32, 1, 1}});
  ASSERT_FALSE(checked.findings.empty());
  EXPECT_EQ(checked.findings[0].finding.kind, FindingKind::race);
}

TEST(Barriers, LiveMbarriersAreNotTouched) {
  std::string again = bulk;
  again.insert(again.find("WAIT:\n"), "mbarrier.init.shared.b64 [%r1], 1;\n");
  EXPECT_THAT(check(again, twoWarps).text, HasSubstr("an mbarrier is initialised again"));
  std::string read = bulk;
  read.insert(read.find("  bar.sync 2;"), "  ld.shared.u32 %r4, [%r1];\n");
  EXPECT_THAT(check(read, twoWarps).text, HasSubstr("bytes of an mbarrier"));
}

/// Warp 0 ends three phases; warp 1 waits for the first and only runs after the third. Warp 1
/// continues first, since it is the last to arrive at the barrier.
TEST(Barriers, WhoWaitsIsNotLapped) {
  const std::string text = kernel(initByThread0 + R"(
  setp.ge.u32 %p2, %t, 32;
  @%p2 bra WAIT;
  @%p1 bra END;
  mbarrier.arrive.shared.b64 _, [%r1];
  mbarrier.arrive.shared.b64 _, [%r1];
  mbarrier.arrive.shared.b64 _, [%r1];
  bra END;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p4, [%r1], 0;
  @!%p4 bra WAIT;
END:
)");
  const Checked checked = check(text, twoWarps);
  EXPECT_TRUE(checked.status.isOk()) << checked.status.toString();
  EXPECT_THAT(checked.text, HasSubstr("phase 1 of an mbarrier completed before these lanes"));
}

TEST(Memory, UninitialisedSharedBytesAreFound) {
  const Checked checked = check(kernel("ld.shared.u32 %r1, [%o];"), twoWarps);
  ASSERT_EQ(checked.findings.size(), 1u);
  EXPECT_EQ(checked.findings[0].finding.kind, FindingKind::uninitialised);
  EXPECT_EQ(checked.findings[0].count, 8u); // one per sector
  EXPECT_TRUE(check(kernel("ld.shared.u32 %r1, [%o];"), twoWarps, "races").findings.empty());
}

TEST(Memory, AllocationsHaveBoundsAndAreUninitialised) {
  std::vector<uint32_t> memory(256);
  Checker checker(*Options::parse("all"));
  const auto begin = reinterpret_cast<uint64_t>(memory.data() + 16);
  checker.memory().allocated(begin, 64, 64, false);
  checker.memory().written(begin, 32);
  auto module = machine::loadText(kernel(R"(
  ld.global.u32 %r1, [%out];
  ld.global.u32 %r2, [%out+28];
  st.global.u32 [%out+40], 1;
  ld.global.u32 %r2, [%out+40];
  ld.global.u32 %r3, [%out+36];
  ld.global.u32 %r4, [%out+64];
)"));
  uint32_t *out = memory.data() + 16;
  LaunchConfig config{.observer = &checker};
  ASSERT_TRUE(machine::run(*module, "k", config, out).isOk());
  const std::vector<Report::Counted> findings = checker.report().findings();
  ASSERT_EQ(findings.size(), 2u) << checker.report().text();
  EXPECT_EQ(findings[0].finding.kind, FindingKind::uninitialised);
  EXPECT_THAT(findings[0].finding.parties[0].location.instruction, HasSubstr("+36"));
  EXPECT_EQ(findings[1].finding.kind, FindingKind::bounds);
  EXPECT_THAT(findings[1].finding.message, HasSubstr("64 bytes into an allocation of 64 bytes"));
}

TEST(Options, WordsAreChecked) {
  EXPECT_TRUE(Options::parse("races,bounds")->races);
  EXPECT_FALSE(Options::parse("races,bounds")->uninit);
  EXPECT_FALSE(Options::parse("off")->any());
  const Status status = Options::parse("race").takeStatus();
  EXPECT_EQ(status.error(), Error::checkOption);
  EXPECT_THAT(status.toString(), HasSubstr("E7301"));
  Options options;
  EXPECT_TRUE(options.setOrder("seed:12").isOk());
  EXPECT_EQ(options.seed, 12u);
  EXPECT_EQ(options.setOrder("late").error(), Error::checkOption);
}

TEST(Options, TheEnvironmentSaysWhatAndWhere) {
  ::setenv("TILEWRIGHT_VGPU_CHECK", "races,count", 1);
  ::setenv("TILEWRIGHT_VGPU_REPORT", "/tmp/found.sarif", 1);
  ::setenv("TILEWRIGHT_VGPU_CHECK_LIMIT", "7", 1);
  const Options options = *Options::fromEnvironment();
  EXPECT_TRUE(options.races);
  EXPECT_FALSE(options.barriers);
  EXPECT_EQ(options.format, ReportFormat::sarif);
  EXPECT_EQ(options.limit, 7u);
  ::setenv("TILEWRIGHT_VGPU_CHECK_LIMIT", "none", 1);
  EXPECT_EQ(Options::fromEnvironment().takeStatus().error(), Error::checkOption);
  for (const char *name :
       {"TILEWRIGHT_VGPU_CHECK", "TILEWRIGHT_VGPU_REPORT", "TILEWRIGHT_VGPU_CHECK_LIMIT"})
    ::unsetenv(name);
}

TEST(Reports, PlacesAreCountedAndLimited) {
  Report report(1);
  EXPECT_TRUE(report.countOrReserve({FindingKind::race, 1, 2, 3}));
  Finding finding;
  finding.kernel = "k";
  report.add(finding, {FindingKind::race, 1, 2, 3});
  EXPECT_FALSE(report.countOrReserve({FindingKind::race, 1, 2, 3}));
  report.add(finding, {FindingKind::race, 1, 2, 4});
  ASSERT_EQ(report.findings().size(), 1u);
  EXPECT_EQ(report.findings()[0].count, 2u);
  EXPECT_EQ(report.total(), 3u);
  EXPECT_THAT(report.text(), HasSubstr("2 times at this location"));
  EXPECT_THAT(report.text(), HasSubstr("findings at 1 more locations"));
}

/// A kernel with `.loc` in which a write and a read race; the writes store equal bytes.
const std::string located = head + R"(
.file 1 "dir/my kernel.py"
.visible .entry k(.param .u64 pout) {
  .reg .b32 %t, %r<4>;
  .shared .align 4 .b32 word;
  mov.u32 %t, 7;
  .loc 1 12 3
  st.shared.u32 [word], 7;
  .loc 1 13 3
  ld.shared.u32 %r1, [word];
  ret;
}
)";

TEST(Reports, NameSourceLines) {
  const Checked checked = check(located, {.block = {64, 1, 1}});
  // Lanes of each warp race, and so do the warps: one finding, which describes the warps.
  ASSERT_EQ(checked.findings.size(), 1u);
  const Finding &finding = checked.findings[0].finding;
  EXPECT_EQ(finding.parties[0].location.fileLine, 12u);
  EXPECT_EQ(finding.parties[1].location.fileLine, 13u);
  EXPECT_EQ(finding.parties[0].location.function, "k");
  EXPECT_THAT(finding.fix, HasSubstr("tl.debug_barrier()"));
}

/// The requirements of SARIF 2.1.0: version, runs, tool.driver.name, and a message for each result;
/// rules and locations that results name must exist.
TEST(Reports, SarifHasWhatItMust) {
  Checker checker(*Options::parse("all"));
  auto module = machine::loadText(located);
  std::vector<uint32_t> memory(64);
  uint32_t *out = memory.data();
  LaunchConfig config{.block = {64, 1, 1}, .observer = &checker};
  ASSERT_TRUE(machine::run(*module, "k", config, out).isOk());
  ParsedJson sarif(checker.report().sarif());
  ASSERT_TRUE(sarif.parse()) << checker.report().sarif();
  std::map<std::string, std::string> &values = sarif.values;
  EXPECT_EQ(values[".version"], "2.1.0");
  EXPECT_THAT(values[".$schema"], HasSubstr("sarif-2.1.0"));
  EXPECT_EQ(values[".runs[0].tool.driver.name"], "tilewright-vgpu");
  EXPECT_EQ(values[".runs[0].results[0].ruleId"], "race");
  const std::string rule =
      ".runs[0].tool.driver.rules[" + values[".runs[0].results[0].ruleIndex"] + "].id";
  EXPECT_EQ(values[rule], "race");
  EXPECT_EQ(values[".runs[0].results[0].level"], "error");
  EXPECT_NE(values[".runs[0].results[0].message.text"], "");
  const std::string place = ".runs[0].results[0].locations[0].physicalLocation";
  EXPECT_EQ(values[place + ".artifactLocation.uri"], "dir/my%20kernel.py");
  EXPECT_EQ(values[place + ".region.startLine"], "12");
  const std::string related = ".runs[0].results[0].relatedLocations[0].physicalLocation";
  EXPECT_EQ(values[related + ".region.startLine"], "13");
  ParsedJson json(checker.report().json());
  ASSERT_TRUE(json.parse()) << checker.report().json();
  EXPECT_EQ(json.values[".findings[0].kind"], "race");
  EXPECT_EQ(json.values[".findings[0].accesses[0].place.line"], "12");
}

TEST(CHeader, ChecksALaunch) {
  char *error = nullptr, *report = nullptr;
  tilewright_vgpu_module *module = tilewright_vgpu_load(located.c_str(), "sm_90a", &error);
  ASSERT_NE(module, nullptr) << error;
  tilewright_vgpu_config config = {};
  for (int i = 0; i < 3; ++i)
    config.grid[i] = config.block[i] = 1;
  config.block[0] = 64;
  std::vector<uint32_t> memory(64);
  uint32_t *out = memory.data();
  const void *arguments[] = {&out};
  size_t findings = 0;
  EXPECT_EQ(tilewright_vgpu_launch_checked(module, "k", &config, arguments, 1, "races", "json",
                                           &findings, &report, &error),
            0);
  EXPECT_GE(findings, 1u);
  EXPECT_THAT(report, HasSubstr("\"kind\":\"race\""));
  tilewright_vgpu_free_error(report);
  EXPECT_NE(tilewright_vgpu_launch_checked(module, "k", &config, arguments, 1, "everything",
                                           nullptr, nullptr, nullptr, &error),
            0);
  EXPECT_THAT(error, HasSubstr("E7301"));
  tilewright_vgpu_free_error(error);
  tilewright_vgpu_unload(module);
}

TEST(Reports, FilesThatCannotBeWrittenAreNamed) {
  const Report report(10);
  const Status status = write(report, ReportFormat::json, "/nowhere/report.json");
  EXPECT_EQ(status.error(), Error::checkReport);
  EXPECT_THAT(status.toString(), HasSubstr("/nowhere/report.json"));
}

} // namespace
} // namespace tilewright::vgpu::check
