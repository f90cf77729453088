#include "tilewright/vgpu/ptx/Printer.h"

#include "tilewright/vgpu/ptx/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::vgpu::ptx;

namespace {

constexpr std::string_view everything = R"(.version 8.6
.target sm_90a, texmode_independent
.address_size 64
.file 1 "kernel.cu", 5, 7
.extern .func (.param .b32 r) g(.param .b64 a) .noreturn;
.visible .const .align 16 .v2 .f32 pairs[2] = {{1.5, -2.0}, {0f3F800000, 4}};
.global .s16 negative[] = {-1, -2, 3};
.global .u64 address = generic(pairs) + 8;
.weak .entry k(.param .u64 .ptr .global .align 8 p, .param .align 4 .b8 s[12])
.reqntid 32, 2, 1
.maxclusterrank 8
{
  .reg .pred %p<3>; .reg .v2 .f32 %v; .reg .b32 %r<5>; .reg .b64 %rd<5>; .reg .b16 %h<4>;
  .shared .align 8 .b64 bar[2];
  .loc 1 3 1
  ld.param.u64 %rd1, [p];
  ld.param.b32 %r1, [s+4];
  ld.global.v2.f32 %v, [%rd1+16];
  setp.gt.and.f32 %p1|_, %v.x, 0fBF800000, !%p2;
  { .reg .b32 %r1; mov.u32 %r1, %tid.x; @!%p1 bra OUT; OUT: }
  mov.b32 {%h1, _}, %r1;
  mov.b64 %rd2, bar + 8;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar+8], 4294967295;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], [%rd1, {%r3, 0}], [bar], %h2;
  mov.b64 %rd3, 0xffffffffffffffff;
  mov.b64 %rd3, 5U;
  mov.b64 %rd3, -9223372036854775808;
  elect.sync %r4|%p2, -1;
  call (%r1), %rd1, (%rd2), P;
P: .callprototype (.param .b32 _) _ (.param .b64 _);
  ret.uni;
}
.section .debug_str { $L: .b8 0 // }
}
)";

} // namespace

TEST(PtxPrinter, WhatIsPrintedReadsTheSame) {
  Result<Module> module = parse(everything);
  ASSERT_TRUE(module.isOk()) << std::move(module).takeStatus().toString();
  std::string text = print(*module);
  Result<Module> again = parse(text);
  ASSERT_TRUE(again.isOk()) << std::move(again).takeStatus().toString() << text;
  std::string difference;
  EXPECT_TRUE(equal(*module, *again, &difference)) << difference << "\n" << text;
  EXPECT_EQ(print(*again), text);
}

TEST(PtxPrinter, DifferencesAreFound) {
  std::string changed(everything);
  changed.replace(changed.find("[%rd1+16]"), 9, "[%rd1+20]");
  Result<Module> left = parse(everything), right = parse(changed);
  ASSERT_TRUE(left.isOk() && right.isOk());
  std::string difference;
  EXPECT_FALSE(equal(*left, *right, &difference));
  EXPECT_THAT(difference, ::testing::HasSubstr("operand"));
}
