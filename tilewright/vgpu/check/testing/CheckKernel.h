// Runs a small kernel with checks, for tests.
#ifndef TILEWRIGHT_VGPU_CHECK_TESTING_CHECKKERNEL_H
#define TILEWRIGHT_VGPU_CHECK_TESTING_CHECKKERNEL_H

#include "tilewright/vgpu/check/Checker.h"
#include "tilewright/vgpu/machine/testing/Kernels.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::vgpu::check {

inline const std::string head = ".version 8.4\n.target sm_90a\n.address_size 64\n";

/// A kernel with `smem` (1024 bytes of shared memory), thread index %t, the thread's address %o in
/// smem, and an output pointer %out.
inline std::string kernel(const std::string &body) {
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

inline Checked check(const std::string &text, machine::LaunchConfig config,
                     const std::string &checks = "all,strict",
                     std::vector<uint32_t> *memory = nullptr) {
  Checker checker(*Options::parse(checks));
  auto module = machine::loadText(text, text.find("sm_100a") == text.npos ? "sm_90a" : "sm_100a");
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

/// Expects no findings under any order of completion.
inline void expectClean(const std::string &text, machine::LaunchConfig config) {
  for (const machine::Completion completion :
       {machine::Completion::eager, machine::Completion::latest, machine::Completion::seeded})
    for (uint64_t seed = 1; seed < (completion == machine::Completion::seeded ? 4u : 2u); ++seed) {
      config.completion = completion;
      config.seed = completion == machine::Completion::seeded ? seed : 0;
      const Checked checked = check(text, config);
      EXPECT_TRUE(checked.status.isOk()) << checked.status.toString();
      EXPECT_EQ(checked.text, "");
    }
}

/// Expects a finding of that kind in the text without `piece`, and none in the text with it.
inline Checked expectNeeded(std::string text, const std::string &piece,
                            machine::LaunchConfig config, FindingKind kind) {
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

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_TESTING_CHECKKERNEL_H
