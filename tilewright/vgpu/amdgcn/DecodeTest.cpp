#include "tilewright/vgpu/amdgcn/Disassemble.h"
#include "tilewright/vgpu/amdgcn/Instruction.h"
#include "tilewright/vgpu/amdgcn/testing/MakeObject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <tuple>

namespace tilewright::vgpu::amdgcn {
namespace {

std::string textOf(std::vector<uint32_t> words, Chip chip = Chip::gfx950) {
  const auto instruction = decode(words, chip);
  if (!instruction)
    return "unknown";
  EXPECT_EQ(instruction->dwords, words.size());
  return toText(*instruction);
}

TEST(Decode, ScalarInstructions) {
  EXPECT_EQ(textOf({0x80081E14}), "s_add_u32 s8, s20, s30");
  EXPECT_EQ(textOf({0xBE8A01FF, 1}), "s_mov_b64 s[10:11], lit(0x1)");
  EXPECT_EQ(textOf({0xBEEA017E}), "s_mov_b64 vcc, exec");
  EXPECT_EQ(textOf({0xB00AFFFF}), "s_movk_i32 s10, 0xffff");
  EXPECT_EQ(textOf({0xB88AF801}), "s_getreg_b32 s10, hwreg(HW_REG_MODE)");
  EXPECT_EQ(textOf({0xBF8CC07F}), "s_waitcnt lgkmcnt(0)");
  EXPECT_EQ(textOf({0xBF8CCF7F}), "s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)");
  EXPECT_EQ(textOf({0xBF810000}), "s_endpgm");
  EXPECT_EQ(textOf({0xC00A0100, 8}), "s_load_dwordx4 s[4:7], s[0:1], 0x8");
  EXPECT_EQ(textOf({0xC0024308, 0x3C000000}), "s_load_dword s12, s[16:17], s30 offset:0x0");
}

TEST(Decode, FormsOfVectorInstructions) {
  EXPECT_EQ(textOf({0x021428F6}), "v_add_f32_e32 v10, 4.0, v20");
  EXPECT_EQ(textOf({0xD1CB8705, 0xE305E100}), "v_fma_f32 v5, -|v0|, -|0.5|, -|-1| clamp");
  EXPECT_EQ(textOf({0x020206F9, 0x8135AB02}),
            "v_add_f32_sdwa v1, -|v2|, s3 clamp mul:4 dst_sel:BYTE_3 dst_unused:UNUSED_SEXT "
            "src0_sel:WORD_1 src1_sel:BYTE_1");
  EXPECT_EQ(textOf({0x020206FA, 0xA598E402}),
            "v_add_f32_dpp v1, -v2, |v3| quad_perm:[0,1,2,3] row_mask:0xa bank_mask:0x5 "
            "bound_ctrl:1");
  EXPECT_EQ(textOf({0xD2340104, 0x461C461B}), "v_bitop3_b32 v4, s27, s35, v135 bitop3:10");
}

TEST(Decode, MatrixInstructions) {
  EXPECT_EQ(textOf({0xD3B70040, 0x02038568}),
            "v_mfma_f32_32x32x16_bf16 v[64:79], v[104:107], v[194:197], 0");
  EXPECT_EQ(textOf({0xD3AC0000, 0x18023318, 0xD3AE8C00, 0x5C021904}),
            "v_mfma_scale_f32_32x32x64_f8f6f4 a[0:15], a[4:7], a[12:17], a[0:15], v24, v25 "
            "op_sel_hi:[1,1,0] cbsz:4 blgp:2");
  // The registers of a source depend on its format: 4 of FP4, 6 of FP6.
  EXPECT_EQ(textOf({0xD3AD0400, 0x44521904}),
            "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[12:17], v[20:23] cbsz:4 blgp:2");
}

TEST(Decode, MemoryInstructions) {
  EXPECT_EQ(textOf({0xDE538014, 0x2884000A}),
            "global_load_dword a40, v10, s[4:5] offset:20 sc0 nt sc1");
  EXPECT_EQ(textOf({0xDC504014, 0x287F0000}), "scratch_load_dword v40, off, off offset:20");
  EXPECT_EQ(textOf({0xE0511000, 0x0703000A}), "buffer_load_dword v10, s[12:15], s7 offen lds");
  EXPECT_EQ(textOf({0xE8D01000, 0x0703140A}),
            "tbuffer_load_format_x v20, v10, s[12:15], s7 "
            "format:[BUF_DATA_FORMAT_8_8_8_8,BUF_NUM_FORMAT_SNORM] offen");
  EXPECT_EQ(textOf({0xD87A0C1F, 0x2800000A}), "ds_swizzle_b32 v40, v10 offset:swizzle(REVERSE,4)");
}

TEST(Decode, BytesThatAreNotAnInstructionAreUnknown) {
  EXPECT_EQ(textOf({0xFFFFFFFF}), "unknown");
  EXPECT_EQ(decode({}, Chip::gfx950), std::nullopt);
  // The literal, or the second half, is missing.
  EXPECT_EQ(textOf({0xBE8A01FF}), "unknown");
  EXPECT_EQ(textOf({0xC00A0100}), "unknown");
  // A pair of VGPRs begins at an even number, a pair of SGPRs too.
  EXPECT_EQ(textOf({0xDC548000, 0x037F0002}), "unknown");
  EXPECT_EQ(textOf({0xBE8B010C}), "unknown");
  // Bits that no operand uses.
  EXPECT_EQ(textOf({0xBF8A0001}), "unknown");
}

TEST(Decode, AChipHasOnlyItsInstructions) {
  // v_mfma_f32_32x32x16_bf16 is new in gfx950, xf32 was removed.
  EXPECT_EQ(textOf({0xD3B70040, 0x02038568}, Chip::gfx942), "unknown");
  EXPECT_EQ(textOf({0xD3BE0000, 0x04020104}, Chip::gfx942),
            "v_mfma_f32_16x16x8_xf32 v[0:3], v[4:5], v[0:1], v[0:3]");
  EXPECT_EQ(textOf({0xD3BE0000, 0x04020104}, Chip::gfx950), "unknown");
}

TEST(Table, AnOpcodeHasOneRowForAChip) {
  std::set<std::tuple<Encoding, uint16_t, Chip>> seen;
  for (const Row &row : table())
    for (Chip chip : {Chip::gfx942, Chip::gfx950})
      if (row.isOn(chip)) {
        EXPECT_TRUE(seen.emplace(row.encoding, row.opcode, chip).second) << row.name;
        EXPECT_EQ(findRow(row.encoding, row.opcode, chip), &row);
      }
  EXPECT_EQ(findRow(Encoding::sopp, 1000, Chip::gfx942), nullptr);
}

TEST(Disassemble, BranchesNameTheirTargetAndUnknownBytesAreWords) {
  const std::string file = testing::makeObject({.code = {0xBF820001, 0xFFFFFFFF, 0xBF810000}});
  Result<CodeObject> object = readCodeObject(std::as_bytes(std::span(file)));
  ASSERT_TRUE(object.isOk()) << std::move(object).takeStatus().toString();
  const Disassembly result = disassemble(*object);
  EXPECT_EQ(result.instructions, 2u);
  EXPECT_EQ(result.unknown, 1u);
  EXPECT_EQ(result.text,
            "\nDisassembly of section .text:\n\n0000000000001100 <add>:\n"
            "\ts_branch 1                                                 // 000000001100: "
            "BF820001 <add+0x8>\n"
            "\t.long 0xffffffff                                           // 000000001104: "
            "FFFFFFFF\n"
            "\ts_endpgm                                                   // 000000001108: "
            "BF810000\n");
}

} // namespace
} // namespace tilewright::vgpu::amdgcn
