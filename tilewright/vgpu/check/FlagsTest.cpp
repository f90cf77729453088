// Blocks that are ordered by flags: release, acquire, fences and scopes.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/check/testing/CheckKernel.h"

namespace tilewright::vgpu::check {
namespace {

using machine::LaunchConfig;
using testing::HasSubstr;

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
  // A fence of CTA scope does not reach the other block.
  std::string narrow = text;
  narrow.replace(narrow.find("acq_rel.gpu"), 11, "acq_rel.cta");
  EXPECT_FALSE(check(narrow, {.grid = {2, 1, 1}, .block = {32, 1, 1}}).findings.empty());
  // Nor does one of the reader, but a wider one after it does.
  std::string both = text;
  both.insert(both.find("fence.acq_rel.sys;"), "fence.acq_rel.cta;\n  ");
  expectNeeded(both, "fence.acq_rel.sys;", {.grid = {2, 1, 1}, .block = {32, 1, 1}},
               FindingKind::race);
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

TEST(Races, TheLastStoreOfAThreadDecidesTheScope) {
  // The state of a look-back: a thread stores twice to a word that another block reads.
  const std::string text = kernel(R"(
  setp.ne.u32 %p1, %t, 0;
  @%p1 bra END;
  setp.ne.u32 %p2, %c, 0;
  @%p2 bra READER;
  st.relaxed.gpu.global.u32 [%out], 1;
  st.relaxed.gpu.global.u32 [%out], 2;
  bra END;
READER:
  ld.relaxed.gpu.global.u32 %r1, [%out];
END:
)");
  const LaunchConfig config{.grid = {2, 1, 1}, .block = {32, 1, 1}};
  expectClean(text, config);
  for (const char *store :
       {"st.relaxed.gpu.global.u32 [%out], 1", "st.relaxed.gpu.global.u32 [%out], 2"}) {
    std::string narrow = text;
    narrow.replace(narrow.find(store) + 11, 3, "cta");
    // The first store is read only if the reader comes between the two.
    bool isFound = false;
    for (uint64_t seed = 0; seed < 20 && !isFound; ++seed)
      isFound = !check(narrow, {.grid = {2, 1, 1},
                                .block = {32, 1, 1},
                                .completion =
                                    seed ? machine::Completion::seeded : machine::Completion::eager,
                                .seed = seed})
                     .findings.empty();
    EXPECT_TRUE(isFound) << narrow;
  }
}

/// Block 0 releases a word by a fence and a flag. In block 1, `reader` reads the flag, the warp
/// meets, and `fencer` executes a fence and reads the word.
std::string flagAcrossAWarp(int reader, int fencer) {
  return kernel(concat(R"(
  setp.ne.u32 %p2, %c, 0;
  @%p2 bra READER;
  setp.ne.u32 %p1, %t, 0;
  @%p1 bra END;
  st.global.u32 [%out+64], 7;
  fence.acq_rel.gpu;
  st.relaxed.gpu.global.u32 [%out], 1;
  bra END;
READER:
  setp.ne.u32 %p4, %t, )",
                       reader, R"(;
  @%p4 bra MEET;
AGAIN:
  ld.relaxed.gpu.global.u32 %r1, [%out];
  setp.eq.u32 %p3, %r1, 0;
  @%p3 bra AGAIN;
MEET:
  bar.warp.sync -1;
  setp.ne.u32 %p4, %t, )",
                       fencer, R"(;
  @%p4 bra END;
  fence.acq_rel.gpu;
  ld.global.u32 %r2, [%out+64];
  st.global.u32 [%out+128], %r2;
END:
)"));
}

TEST(Races, AFenceAfterABarrierAcquiresWhatItsLaneReadBefore) {
  for (const int lane : {0, 5, 31})
    expectClean(flagAcrossAWarp(lane, lane), {.grid = {2, 1, 1}, .block = {32, 1, 1}});
}

TEST(Races, AFenceDoesNotAcquireWhatAnotherLaneRead) {
  for (const auto &[reader, fencer] : {std::pair(0, 5), std::pair(5, 0), std::pair(31, 5)}) {
    const Checked checked =
        check(flagAcrossAWarp(reader, fencer), {.grid = {2, 1, 1}, .block = {32, 1, 1}});
    EXPECT_FALSE(checked.findings.empty()) << reader << " " << fencer;
  }
}

} // namespace
} // namespace tilewright::vgpu::check
