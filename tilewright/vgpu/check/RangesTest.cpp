// Accesses in chunks of 16 bytes are checked by page, all others by sector. Both must find the
// same.
#include "tilewright/vgpu/check/Checker.h"
#include "tilewright/vgpu/check/SharedShadow.h"
#include "tilewright/vgpu/machine/testing/Kernels.h"

#include "gtest/gtest.h"

#include <random>
#include <set>
#include <sstream>

namespace tilewright::vgpu::check {
namespace {

using machine::LaunchConfig;

/// A kernel of three warps with random accesses to 2048 bytes of shared memory. Each step is one
/// source line.
class RandomKernel {
public:
  explicit RandomKernel(uint64_t seed) : random(seed) {
    // Every second kernel has a barrier after most of its steps.
    for (int i = 0; i < 14; ++i)
      steps.push_back({one(10), one(5), one(6), one(128), seed % 2 == 0 && one(32) != 0});
  }

  std::string text() const {
    std::ostringstream text;
    text << ".version 8.4\n.target sm_90a\n.address_size 64\n.file 1 \"kernel.py\"\n"
            ".visible .entry k(.param .u64 pout) {\n"
            ".reg .b64 %out, %g;\n.reg .b32 %t, %l, %w, %o, %x, %v, %a<4>;\n.reg .pred %p;\n"
            ".shared .align 1024 .b8 smem[2048];\n"
            "ld.param.u64 %out, [pout];\nmov.u32 %t, %tid.x;\nmov.u32 %l, %laneid;\n"
            "shr.u32 %w, %t, 5;\n";
    for (size_t i = 0; i < steps.size(); ++i) {
      text << ".loc 1 " << i + 1 << " 0\n";
      write(text, steps[i], i);
      if (steps[i].isOrdered)
        text << "cp.async.wait_all;\nbar.sync 0;\n";
    }
    // Operations that are never waited for would be findings, too.
    text << "cp.async.wait_all;\nbar.sync 0;\nret;\n}\n";
    return text.str();
  }

private:
  struct Step {
    uint32_t what, pattern, lanes, shift;
    bool isOrdered;
  };
  uint32_t one(uint32_t below) { return static_cast<uint32_t>(random() % below); }

  static void write(std::ostringstream &text, const Step &step, size_t number) {
    switch (step.what) {
    case 0:
    case 1:
      text << "bar.sync 0;\n";
      return;
    case 2:
      text << "bar.warp.sync 0xffffffff;\n";
      return;
    case 3:
      text << "cp.async.commit_group;\ncp.async.wait_group " << step.lanes % 2 << ";\n";
      return;
    default:
      break;
    }
    // Which chunk each thread accesses.
    static const char *const patterns[] = {
        "mov.u32 %x, %t;\n",
        "shr.u32 %x, %t, 3;\nand.b32 %x, %x, 7;\nxor.b32 %x, %x, %t;\n", // swizzled
        "mul.lo.u32 %x, %t, 3;\n",
        "mov.u32 %x, %w;\n", // the whole warp the same chunk
        "xor.b32 %x, %t, 31;\n",
    };
    static const char *const lanes[] = {
        "setp.ge.u32 %p, %t, 0;\n", "setp.ge.u32 %p, %t, 0;\n", "setp.eq.u32 %p, %w, 0;\n",
        "setp.eq.u32 %p, %w, 2;\n", "setp.lt.u32 %p, %l, 8;\n", "setp.eq.u32 %p, %l, 5;\n",
    };
    text << patterns[step.pattern] << lanes[step.lanes] << "add.u32 %x, %x, " << step.shift
         << ";\nand.b32 %x, %x, 127;\nshl.b32 %x, %x, 4;\nmov.u32 %o, smem;\nadd.u32 %o, %o, %x;\n"
         << "cvt.u64.u32 %g, %x;\nadd.u64 %g, %g, %out;\nmov.u32 %v, " << number << ";\n";
    if (step.what < 6)
      text << "@%p st.shared.v4.b32 [%o], {%v, %v, %v, %v};\n";
    else if (step.what < 8)
      text << "@%p ld.shared.v4.b32 {%a0, %a1, %a2, %a3}, [%o];\n";
    else if (step.what < 9)
      text << "@%p cp.async.cg.shared.global [%o], [%g], 16;\n";
    else // a small access, which gives sectors their own lists
      text << (step.shift % 2 ? "@%p st.shared.b32 [%o+4], %v;\n"
                              : "@%p ld.shared.b32 %a0, [%o+4];\n");
  }

  std::mt19937_64 random;
  std::vector<Step> steps;
};

/// The kinds of findings, with the source lines of their accesses.
using Findings = std::set<std::pair<FindingKind, std::vector<uint32_t>>>;
Findings findingsOf(const std::string &text, const std::string &checks, bool byPages,
                    LaunchConfig config) {
  Options options = *Options::parse(checks);
  options.byPages = byPages;
  Checker checker(options);
  auto module = machine::loadText(text);
  std::vector<uint32_t> memory(1024);
  uint32_t *out = memory.data();
  config.block = {96, 1, 1};
  config.observer = &checker;
  Findings result;
  if (!module)
    return result;
  const Status status = machine::run(*module, "k", config, out);
  EXPECT_TRUE(status.isOk()) << status.toString();
  for (const Report::Counted &one : checker.report().findings()) {
    std::vector<uint32_t> lines;
    for (const Party &party : one.finding.parties)
      lines.push_back(party.location.fileLine);
    result.emplace(one.finding.kind, std::move(lines));
  }
  return result;
}

TEST(Ranges, FindWhatSectorsFind) {
  unsigned clean = 0, racy = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::string text = RandomKernel(seed).text();
    for (const LaunchConfig &config : machine::ordersOf({})) {
      const char *checks = seed % 3 == 0 ? "races" : seed % 3 == 1 ? "all" : "all,strict";
      const Findings found = findingsOf(text, checks, true, config);
      EXPECT_EQ(found, findingsOf(text, checks, false, config))
          << "seed " << seed << ' ' << checks << machine::describeOrder(config) << '\n'
          << text;
      ++(found.empty() ? clean : racy);
    }
  }
  // The generator makes both.
  EXPECT_GT(clean, 200u);
  EXPECT_GT(racy, 200u);
}

RangeAccess rangeOf(uint32_t op, machine::AccessKind kind, uint64_t chunks) {
  RangeAccess access;
  access.record.op = op;
  access.record.kind = static_cast<uint8_t>(kind) & 3;
  access.record.isLaneless = 1;
  access.chunks = chunks;
  return access;
}

TEST(Ranges, SectorsLeaveTheirPageAndComeBack) {
  SharedPage page;
  page.add(rangeOf(1, machine::AccessKind::write, ~uint64_t(0)));
  page.add(rangeOf(2, machine::AccessKind::read, 0xff));
  page.add(rangeOf(2, machine::AccessKind::read, 0xff00));
  ASSERT_EQ(page.ranges.size(), 2u); // one entry for each operation
  page.initialised = ~uint64_t(0);

  Sector &sector = page.own(1);
  ASSERT_EQ(sector.size(), 2u);
  EXPECT_EQ(sector[0].record.op, 1u);
  EXPECT_EQ(sector[1].record.op, 2u);
  EXPECT_EQ(sector[0].mask, ~0u);
  EXPECT_EQ(sector.initialised, ~0u);
  EXPECT_EQ(page.ranges[0].chunks, ~uint64_t(0xc));
  EXPECT_EQ(page.ranges[1].chunks, 0xfff3u);

  // Two entries are left, so it stays; when one write is left, it returns.
  page.joinAfter(sector[0].record, 1, false);
  EXPECT_EQ(page.split, 2u);
  sector.remove(1);
  page.joinAfter(sector[0].record, 1, false);
  EXPECT_EQ(page.split, 0u);
  EXPECT_EQ(page.ranges[0].chunks, ~uint64_t(0));
}

TEST(Ranges, PagesKnowTheirSectors) {
  EXPECT_EQ(SharedPage::sectorsOf(0), 0u);
  EXPECT_EQ(SharedPage::sectorsOf(1), 1u);
  EXPECT_EQ(SharedPage::sectorsOf(2), 1u);
  EXPECT_EQ(SharedPage::sectorsOf(0x8000000000000004u), 0x80000002u);
  EXPECT_EQ(SharedPage::sectorsOf(~uint64_t(0)), ~0u);
}

} // namespace
} // namespace tilewright::vgpu::check
