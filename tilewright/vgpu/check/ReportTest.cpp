// Tests the grouping of findings and their advice.
#include "tilewright/vgpu/check/Advice.h"
#include "tilewright/vgpu/check/Checker.h"
#include "tilewright/vgpu/machine/testing/Kernels.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <set>

namespace tilewright::vgpu::check {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string head = ".version 8.4\n.target sm_90a\n.address_size 64\n";

/// The findings of a kernel with four blocks of two warps and a memory parameter.
std::vector<Report::Counted> findingsOf(Checker &checker, const std::string &text) {
  auto module = machine::loadText(text);
  std::vector<uint32_t> memory(1024);
  uint32_t *pmemory = memory.data();
  machine::LaunchConfig config{.grid = {4, 1, 1}, .block = {64, 1, 1}};
  config.observer = &checker;
  if (module)
    EXPECT_TRUE(machine::run(*module, "k", config, pmemory).isOk());
  return checker.report().findings();
}

/// Two source lines that many instructions come from, as in an unrolled loop.
std::string unrolled(const std::string &file) {
  std::string text = head + ".file 1 \"" + file + "\"\n" + R"(
.visible .entry k(.param .u64 p) {
  .reg .b64 %a, %b, %o;
  .reg .b32 %t, %r;
  ld.param.u64 %a, [p];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %o, %t, 4;
  add.u64 %b, %a, %o;
)";
  for (int i = 0; i < 8; ++i) {
    const std::string at = "+" + std::to_string(256 * i) + "]";
    text += "  .loc 1 20 3\n  st.global.u32 [%b" + at + ", %t;\n";
    text += "  .loc 1 21 3\n  ld.global.u32 %r, [%a" + at + ";\n";
  }
  return text + "  ret;\n}\n";
}

TEST(Reports, ALineOfTheSourceIsOneFindingOfItsWidestPair) {
  // The blocks write the same addresses, so blocks race, and so do warps and lanes.
  for (const auto &[file, words] :
       {std::pair("k.py", "tl.atomic_xchg"), std::pair("k.cu", "cuda::atomic_ref"),
        std::pair("cutlass/k.py", "cute.arch.fence_acq_rel_gpu")}) {
    Checker checker(*Options::parse("races"));
    const std::vector<Report::Counted> findings = findingsOf(checker, unrolled(file));
    size_t readsAndWrites = 0;
    for (const Report::Counted &one : findings) {
      std::set<uint32_t> lines;
      for (const Party &party : one.finding.parties)
        lines.insert(party.location.fileLine);
      readsAndWrites += lines == std::set<uint32_t>{20, 21};
      EXPECT_THAT(one.finding.message, HasSubstr("by different blocks"));
      EXPECT_THAT(one.finding.fix, HasSubstr("blocks run in any order"));
      EXPECT_THAT(one.finding.fix, HasSubstr(words));
      EXPECT_THAT(one.finding.fix, Not(HasSubstr("__syncwarp")));
    }
    EXPECT_EQ(readsAndWrites, 1u);
    EXPECT_LE(findings.size(), 2u); // plus the stores with each other
  }
}

TEST(Reports, VariantsOfAKernelAreOneFinding) {
  Checker checker(*Options::parse("races"));
  const size_t once = findingsOf(checker, unrolled("k.py")).size();
  EXPECT_EQ(findingsOf(checker, unrolled("k.py") + "// another module\n").size(), once);
  EXPECT_GT(findingsOf(checker, unrolled("other.py")).size(), once);
}

TEST(Reports, AWiderPairReplacesANarrowOne) {
  Report report(10);
  const Report::Key key{FindingKind::race, 1, 2, 3};
  auto withFix = [](std::string fix) {
    Finding finding;
    finding.fix = std::move(fix);
    return finding;
  };
  EXPECT_TRUE(report.countOrReserve(key, 0));
  report.add(withFix("narrow"), key, 0);
  EXPECT_FALSE(report.countOrReserve(key, 0));
  EXPECT_TRUE(report.countOrReserve(key, 2));
  report.add(withFix("wide"), key, 2);
  EXPECT_FALSE(report.countOrReserve(key, 1));
  ASSERT_EQ(report.size(), 1u);
  EXPECT_EQ(report.findings()[0].finding.fix, "wide");
  EXPECT_EQ(report.findings()[0].count, 4u);
  EXPECT_EQ(report.changeCount(), 2u);
}

static machine::Place placeIn(std::string_view file) {
  machine::Place place;
  place.line = 1;
  place.file = file;
  return place;
}

TEST(Advice, SpeaksTheLanguageOfTheProducer) {
  EXPECT_EQ(producerOf(placeIn(""), "k"), Producer::ptx);
  EXPECT_EQ(producerOf(placeIn("train.py"), "k"), Producer::triton);
  EXPECT_EQ(producerOf(placeIn("gemm.py"), "kernel_cutlass_gemm_0"), Producer::cuteDsl);
  EXPECT_EQ(producerOf(placeIn("gemm.cu"), "k"), Producer::cuda);
  EXPECT_EQ(producerOf(placeIn("include/cutlass/gemm/kernel.hpp"), "k"), Producer::cute);
  machine::Place address = placeIn("train.py");
  address.line = 0;
  address.address = 0x100;
  EXPECT_EQ(producerOf(address, "k"), Producer::amdgcn);
  Conflict conflict;
  conflict.width = Conflict::Width::block;
  EXPECT_THAT(adviceFor(conflict, Producer::cuda), HasSubstr("__syncthreads()"));
  EXPECT_THAT(adviceFor(conflict, Producer::triton), HasSubstr("tl.debug_barrier()"));
  EXPECT_THAT(adviceFor(conflict, Producer::cuteDsl), HasSubstr("cute.arch.sync_threads()"));
  conflict.isAfterOperation = true;
  conflict.earlierOperation = machine::GroupKind::copy;
  EXPECT_THAT(adviceFor(conflict, Producer::ptx), HasSubstr("cp.async.wait_group"));
  EXPECT_THAT(adviceFor(conflict, Producer::triton), HasSubstr("async_copy.wait_group"));
  EXPECT_THAT(adviceFor(conflict, Producer::cute), HasSubstr("cp_async_wait<0>"));
  EXPECT_THAT(fenceAdvice(false, true, Producer::triton), HasSubstr("fence_async_shared()"));
  EXPECT_THAT(fenceAdvice(false, true, Producer::ptx), HasSubstr("fence.proxy.async.shared::cta"));
}

} // namespace
} // namespace tilewright::vgpu::check
