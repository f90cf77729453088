// Small kernels that are right or wrong, and what is said of them.
#include "tilewright/vgpu/check/Checker.h"
#include "tilewright/vgpu/machine/TestKernels.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdlib>

namespace tilewright::vgpu::check {
namespace {

using machine::Completion;
using machine::LaunchConfig;
using testing::HasSubstr;
using testing::Not;

const std::string head = ".version 8.4\n.target sm_90a\n.address_size 64\n";

/// A kernel with the memory `smem` (1024 bytes), thread %t, its place %o in smem, an
/// output pointer %out.
std::string kernel(const std::string &body) {
  return head + R"(
.visible .entry k(.param .u64 pout) {
  .reg .b64 %out, %y<8>;
  .reg .b32 %t, %o, %l, %c, %r<16>;
  .reg .pred %p<8>;
  .shared .align 128 .b8 smem[1024];
  .shared .align 8 .b64 bar[2];
  ld.param.u64 %out, [pout];
  mov.u32 %t, %tid.x;
  mov.u32 %l, %laneid;
  mov.u32 %c, %ctaid.x;
  shl.b32 %r0, %t, 2;
  mov.u32 %o, smem;
  add.u32 %o, %o, %r0;
)" + body +
         "\n  ret;\n}\n";
}

struct Checked {
  Status status;
  std::string text;
  std::vector<Report::Counted> findings;
};

Checked check(const std::string &text, LaunchConfig config, const std::string &checks = "all",
              std::vector<uint32_t> *memory = nullptr) {
  Checker checker(*Options::parse(checks));
  auto module = machine::loadText(text);
  std::vector<uint32_t> own(4096);
  uint32_t *out = memory ? memory->data() : own.data();
  config.observer = &checker;
  Checked result;
  if (module)
    result.status = machine::run(*module, "k", config, out);
  result.text = checker.report().text();
  result.findings = checker.report().findings();
  return result;
}

/// Nothing is said under any order.
void expectClean(const std::string &text, LaunchConfig config) {
  for (const Completion completion : {Completion::eager, Completion::latest, Completion::seeded})
    for (uint64_t seed = 1; seed < (completion == Completion::seeded ? 4u : 2u); ++seed) {
      config.completion = completion;
      config.seed = completion == Completion::seeded ? seed : 0;
      const Checked checked = check(text, config);
      EXPECT_TRUE(checked.status.isOk()) << checked.status.toString();
      EXPECT_EQ(checked.text, "");
    }
}

/// Something of that kind is found in the text without `piece`, and nothing in that with it.
Checked expectNeeded(std::string text, const std::string &piece, LaunchConfig config,
                     FindingKind kind) {
  expectClean(text, config);
  const size_t at = text.find(piece);
  EXPECT_NE(at, std::string::npos);
  text.erase(at, piece.size());
  Checked checked = check(text, config);
  std::erase_if(checked.findings,
                [&](const Report::Counted &one) { return one.finding.kind != kind; });
  EXPECT_FALSE(checked.findings.empty()) << text << checked.text;
  if (checked.findings.empty())
    checked.findings.resize(1);
  return checked;
}

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
  EXPECT_THAT(finding.parties[0].place.instruction, HasSubstr("st.shared"));
  EXPECT_THAT(finding.parties[1].place.instruction, HasSubstr("ld.shared"));
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

// The loads are one step of the machine, and only the last of them reads what is written.
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

TEST(Races, BlocksAreOrderedByReleaseAndAcquire) {
  const std::string text = kernel(R"(
  setp.ne.u32 %p1, %t, 0;
  @%p1 bra END;
  setp.ne.u32 %p2, %c, 0;
  @%p2 bra READER;
  st.global.u32 [%out+64], 7;
  fence.acq_rel.gpu;
  st.relaxed.gpu.global.u32 [%out], 1;
  bra END;
READER:
  ld.relaxed.gpu.global.u32 %r1, [%out];
  setp.eq.u32 %p3, %r1, 0;
  @%p3 bra READER;
  fence.acq_rel.sys;
  ld.global.u32 %r2, [%out+64];
  st.global.u32 [%out+128], %r2;
END:
)");
  expectNeeded(text, "fence.acq_rel.gpu;", {.grid = {2, 1, 1}, .block = {32, 1, 1}},
               FindingKind::race);
  expectNeeded(text, "fence.acq_rel.sys;", {.grid = {2, 1, 1}, .block = {32, 1, 1}},
               FindingKind::race);
  // A fence of the block alone does not reach the other one.
  std::string narrow = text;
  narrow.replace(narrow.find("acq_rel.gpu"), 11, "acq_rel.cta");
  EXPECT_FALSE(check(narrow, {.grid = {2, 1, 1}, .block = {32, 1, 1}}).findings.empty());
}

TEST(Races, AtomicsDoNotRaceUnlessTheirScopeIsTooSmall) {
  const std::string text = kernel("red.relaxed.gpu.global.add.u32 [%out], 1;");
  expectClean(text, {.grid = {4, 1, 1}, .block = {64, 1, 1}});
  std::string narrow = text;
  narrow.replace(narrow.find(".gpu"), 4, ".cta");
  const Checked checked = check(narrow, {.grid = {4, 1, 1}, .block = {64, 1, 1}});
  ASSERT_FALSE(checked.findings.empty());
  EXPECT_THAT(checked.findings[0].finding.fix, HasSubstr("scope"));
}

/// A bulk copy into shared memory, waited for, and one back.
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
  expectNeeded(bulk, "fence.mbarrier_init.release.cluster;", twoWarps, FindingKind::missingFence);
  expectNeeded(bulk, "  mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0;\n  @!%p2 bra WAIT;\n",
               twoWarps, FindingKind::race);
  expectNeeded(bulk, "cp.async.bulk.wait_group 0;", twoWarps, FindingKind::unfinished);
}

TEST(Barriers, LiveMbarriersAreNotTouched) {
  std::string again = bulk;
  again.insert(again.find("WAIT:\n"), "mbarrier.init.shared.b64 [%r1], 1;\n");
  EXPECT_THAT(check(again, twoWarps).text, HasSubstr("initialised again"));
  std::string read = bulk;
  read.insert(read.find("  bar.sync 2;"), "  ld.shared.u32 %r4, [%r1];\n");
  EXPECT_THAT(check(read, twoWarps).text, HasSubstr("bytes of an mbarrier"));
}

TEST(Memory, UninitialisedSharedBytesAreFound) {
  const Checked checked = check(kernel("ld.shared.u32 %r1, [%o];"), twoWarps);
  ASSERT_EQ(checked.findings.size(), 1u);
  EXPECT_EQ(checked.findings[0].finding.kind, FindingKind::uninitialised);
  EXPECT_EQ(checked.findings[0].count, 8u); // a sector each
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
  EXPECT_THAT(findings[0].finding.parties[0].place.instruction, HasSubstr("+36"));
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

TEST(Reports, FilesThatCannotBeWrittenAreNamed) {
  const Report report(10);
  const Status status = write(report, ReportFormat::json, "/nowhere/report.json");
  EXPECT_EQ(status.error(), Error::checkReport);
  EXPECT_THAT(status.toString(), HasSubstr("/nowhere/report.json"));
}

} // namespace
} // namespace tilewright::vgpu::check
