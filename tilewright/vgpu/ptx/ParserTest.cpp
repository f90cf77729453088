#include "tilewright/vgpu/ptx/Parser.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/testing/Slowness.h"
#include "tilewright/vgpu/ptx/InstructionTable.h"
#include "tilewright/vgpu/ptx/Printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

using namespace tilewright;
using namespace tilewright::vgpu::ptx;
using ::testing::HasSubstr;

namespace {

/// A kernel for sm_90a with registers of every size around `body`.
std::string kernel(std::string_view body, std::string_view target = "sm_90a",
                   std::string_view version = "8.6") {
  return concat(
      ".version ", version, "\n.target ", target, "\n.address_size 64\n",
      ".visible .entry k(.param .u64 .ptr .global .align 16 p, .param .b32 n)\n{\n",
      ".reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .f32 %f<8>;\n",
      body, "\nret;\n}\n");
}

Module parsed(std::string_view text) {
  Result<Module> module = parse(text);
  if (!module.isOk()) {
    ADD_FAILURE() << std::move(module).takeStatus().toString();
    return {};
  }
  return *std::move(module);
}

/// The failure of a kernel with `body`, which is at line 7.
Status failure(std::string_view body, std::string_view target = "sm_90a") {
  Result<Module> module = parse(kernel(body, target));
  EXPECT_FALSE(module.isOk()) << body;
  return module.isOk() ? Status() : std::move(module).takeStatus();
}

const Instruction &first(const Module &module) {
  return module.findDefinition("k")->instructions.front();
}

} // namespace

TEST(PtxParser, TableIsWellFormed) {
  EXPECT_THAT(tableProblems(), ::testing::IsEmpty());
  EXPECT_GT(instructionTable().size(), 400u);
}

TEST(PtxParser, InstructionCarriesRowModifiersAndPlace) {
  Module module = parsed(kernel("  @!%p1 ld.global.L1::evict_last.v2.f32 {%f1, %f2}, [%rd1+-8];"));
  const Function &function = *module.findDefinition("k");
  const Instruction &load = function.instructions[0];

  EXPECT_EQ(load.row, RowId::ld_evict);
  EXPECT_EQ(rowOf(load).handler, Handler::ld);
  EXPECT_EQ(load.find(ModifierKind::space), Modifier::global);
  EXPECT_EQ(load.find(ModifierKind::vector), Modifier::v2);
  EXPECT_EQ(load.type(), Modifier::f32);
  EXPECT_TRUE(load.guarded && load.guardNegated);
  EXPECT_EQ(module.registerName(function, load.guard), "%p1");
  EXPECT_EQ(load.position.line, 7u);
  EXPECT_EQ(load.position.column, 9u);
  std::span<const Operand> operands = function.operandsOf(load);
  ASSERT_EQ(operands.size(), 2u);
  EXPECT_EQ(operands[0].kind, OperandKind::vector);
  EXPECT_EQ(module.registerName(function, function.elementsOf(operands[0])[1].index), "%f2");
  EXPECT_EQ(operands[1].kind, OperandKind::address);
  EXPECT_EQ(static_cast<int64_t>(operands[1].value), -8);
}

TEST(PtxParser, ModifiersInOtherOrderMeanTheSame) {
  Module module = parsed(kernel("atom.shared.cta.add.u32 %r1, [%rd1], 1;"));
  EXPECT_EQ(first(module).row, RowId::atom_add);
  EXPECT_EQ(first(module).mods()[0], Modifier::cta);
  EXPECT_EQ(print(module, *module.findDefinition("k"), first(module)),
            "atom.cta.shared.add.u32 %r1, [%rd1], 1");
}

TEST(PtxParser, HeadMayHaveGaps) {
  Module module = parsed(kernel("wgmma.mma_async\n .sync.aligned /* n */ .m64n8k16.f32.f16.f16\n"
                                " {%f1,%f2,%f3,%f4}, %rd1, %rd2, %p1, 1, -1, 0, 1;"));
  EXPECT_EQ(first(module).row, RowId::wgmma_f16);
  EXPECT_EQ(shapeOf(first(module).find(ModifierKind::shape)), (Shape{64, 8, 16}));
}

TEST(PtxParser, ConstantsAreEvaluated) {
  Module module =
      parsed(kernel("mov.b64 %rd1, (3 + 4) * 2 - (1 << 4) / 3;\nmov.b64 %rd1, 0x10 | 010;\n"
                    "mov.b64 %rd1, 0b101 == 5 ? WARP_SZ : -1;\nmov.f32 %f1, -0f3F800000;\n"
                    "mov.b64 %rd1, ~0U >> 60;\nmov.b64 %rd1, -7 % 4;"));
  const Function &function = *module.findDefinition("k");
  auto value = [&](size_t i) { return function.operandsOf(function.instructions[i])[1].value; };
  EXPECT_EQ(value(0), 9u);
  EXPECT_EQ(value(1), 24u);
  EXPECT_EQ(value(2), 32u);
  EXPECT_EQ(value(3), 0xbf800000u);
  EXPECT_EQ(value(4), 15u);
  EXPECT_EQ(static_cast<int64_t>(value(5)), -3);
}

TEST(PtxParser, InnerBlocksHaveNamesOfTheirOwn) {
  Module module = parsed(kernel(R"({
  .reg .pred p; .reg .b32 %r<3>;
  setp.ne.b32 p, %r1, 0;
  @p bra DONE;
  add.u32 %r2, %r2, %r9;
DONE:
}
{
  .reg .pred p;
DONE:
  @p bra DONE;
})"));
  const Function &function = *module.findDefinition("k");
  ASSERT_EQ(function.labels.size(), 2u);
  EXPECT_NE(function.labels[0].scope, function.labels[1].scope);
  const Instruction &add = function.instructions[2];
  std::span<const Operand> operands = function.operandsOf(add);
  EXPECT_EQ(function.groups[function.registers[operands[0].index].group].scope, 1u);
  EXPECT_EQ(function.groups[function.registers[operands[2].index].group].scope, 0u);
  EXPECT_EQ(function.operandsOf(function.instructions[1])[0].index, 0u);
  EXPECT_EQ(function.operandsOf(function.instructions[3])[0].index, 1u);
  EXPECT_EQ(function.labels[0].instruction, 3u);
}

TEST(PtxParser, GroupsWithDigitsInTheirNameAreToldApart) {
  Module module = parsed(kernel("{ .reg .b32 %r1<3>; mov.b32 %r12, %r11; }"));
  const Function &function = *module.findDefinition("k");
  std::span<const Operand> operands = function.operandsOf(function.instructions[0]);
  EXPECT_TRUE(function.groups[function.registers[operands[0].index].group].scope == 1);
  EXPECT_EQ(module.registerName(function, operands[0].index), "%r12");
}

TEST(PtxParser, ReadsVariablesWithInitialValuesAndAddresses) {
  Module module = parsed(R"(.version 8.0
.target sm_80
.address_size 64
.global .align 4 .f32 table[2][2] = {{1.0, 0f40000000}, {3}};
.visible .global .u64 where[2] = {table + 8, generic(table) + 4};
.const .b8 bytes[4] = {0xFF(table), 0xFF00(table), 7};
.extern .shared .align 1024 .b8 dynamic[];
.global .attribute(.managed) .v2 .u32 pair = {1, 2};
.func f(.param .b32 a);
.global .u64 vtable[1] = {f};
)");
  const Variable &table = module.variables[0];
  EXPECT_EQ(table.size(), 16u);
  EXPECT_EQ(table.bytes.size(), 12u);
  EXPECT_EQ(table.bytes[7], 0x40);
  const Variable &where = module.variables[1];
  ASSERT_EQ(where.relocations.size(), 2u);
  EXPECT_EQ(where.relocations[0].addend, 8);
  EXPECT_TRUE(where.relocations[1].generic);
  EXPECT_EQ(module.variables[2].relocations[1].mask, 0xff00u);
  EXPECT_EQ(module.variables[3].alignment, 1024u);
  EXPECT_EQ(module.variables[3].linkage, Linkage::external);
  EXPECT_TRUE(module.variables[4].managed);
  EXPECT_EQ(module.variables[4].size(), 8u);
}

TEST(PtxParser, ReadsPerformanceDirectivesAndParameters) {
  Module module = parsed(R"(.version 8.6
.target sm_90a, debug
.address_size 64
.pragma "global";
.weak .entry k(.param .align 64 .b8 map[128], .param .u64 .ptr .shared .align 8 q)
.maxntid 128
.reqnctapercluster 2, 1, 1
.explicitcluster
.minnctapersm 2
.maxnreg 168
{ .pragma "nounroll"; ret; }
)");
  const Function &function = *module.findDefinition("k");
  EXPECT_TRUE(module.target.debug);
  EXPECT_EQ(function.linkage, Linkage::weak);
  EXPECT_EQ(function.performance.maxntid, (std::array<uint32_t, 3>{128, 1, 1}));
  EXPECT_EQ(function.performance.reqnctapercluster[0], 2u);
  EXPECT_TRUE(function.performance.explicitcluster);
  EXPECT_EQ(function.performance.maxnreg, 168u);
  EXPECT_EQ(module.variables[function.parameters[0]].size(), 128u);
  EXPECT_EQ(module.variables[function.parameters[1]].pointerSpace, Modifier::shared);
}

TEST(PtxParser, LocationsKnowTheInlinedFunction) {
  Module module = parsed(kernel(".loc 1 10 3\nmov.b32 %r1, 1;\n"
                                ".loc 1 20 5, function_name $L__info_string0, inlined_at 1 11 7\n"
                                "mov.b32 %r1, 2;") +
                         ".file 1 \"a.py\"\n.section .debug_str\n{\n$L__info_string0:\n"
                         ".b8 109\n.b8 97\n.b8 120\n.b8 0\n}\n");
  const Function &function = *module.findDefinition("k");
  const SourceLocation &inner = module.locations[function.instructions[1].location];
  EXPECT_EQ(module.locations[function.instructions[0].location].line, 10u);
  EXPECT_TRUE(inner.inlined);
  EXPECT_EQ(inner.inlinedLine, 11u);
  EXPECT_EQ(module.name(inner.function), "max");
  EXPECT_EQ(module.files[0].number, 1u);
}

TEST(PtxParser, ReadsWhatCuTileWrites) {
  Module module = parsed(".version 9.4\n.target sm_100a\n.address_size 64\n"
                         ".visible .entry k()\n.reqntid 128\n.language 7\n{\n.reg .b32 %r<2>;\n"
                         ".loc 1 10 3\n.loc_intermediate 2 41 4\nmov.b32 %r1, 1;\nret;\n}\n"
                         ".nv_intermediate_source_section {\n.code_block { .ir_name: \"} tile\"\n"
                         "%0 = load <?x4> -> tile { return }\n} }\n.global .b32 after;\n");
  const Function &function = *module.findDefinition("k");
  EXPECT_EQ(module.variables.size(), 1u);
  EXPECT_EQ(module.locations[function.instructions[0].location].line, 10u);
  EXPECT_EQ(function.performance.reqntid[0], 128u);
}

TEST(PtxParser, ReadsCallsOfEveryKind) {
  Module module = parsed(R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 out) g(.param .b64 a, .param .align 8 .b8 s[24]);
.func (.reg .f32 %y) h(.reg .f32 %x) { mov.f32 %y, %x; ret; }
.entry k() {
.reg .b64 %rd<3>; .reg .f32 %f<3>; .reg .b32 %r<3>;
{ .param .b64 p0; .param .align 8 .b8 p1[24]; .param .b32 r0;
st.param.b64 [p0], %rd1; st.param.v2.b32 [p1+8], {%r1, %r2};
call.uni (r0), g, (p0, p1);
ld.param.b32 %r1, [r0]; }
call (%f1), h, (%f2);
{ .param .b64 p0; .param .b32 r0;
proto: .callprototype (.param .b32 _) _ (.param .b64 _);
call (r0), %rd1, (p0), proto; }
targets: .branchtargets A, B;
brx.idx %r1, targets;
A: B:
ret; })");
  const Function &function = *module.findDefinition("k");
  EXPECT_EQ(function.prototypes.size(), 1u);
  EXPECT_EQ(function.branchTargets[0].targets, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(module.functions[0].returns.size(), 1u);
}

TEST(PtxParser, TextAfterAZeroByteIsNotRead) {
  std::string text = kernel("");
  text += std::string("\0 garbage", 9);
  EXPECT_TRUE(parse(text).isOk());
}

TEST(PtxParser, HundredThousandInstructionsAreQuick) {
  std::string body = ".reg .b32 %x<50000>;\n";
  for (int i = 0; i < 100000; ++i)
    body += concat("\tadd.s32 \t%x", i % 50000, ", %x", (i * 7) % 50000, ", ", i, ";\n");
  std::string text = kernel(body);
  // CPU time, since other processes may use the machine.
  std::clock_t begin = std::clock();
  Module module = parsed(text);
  double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_EQ(module.findDefinition("k")->instructions.size(), 100001u);
  EXPECT_LT(seconds, 0.5 * slowness());
  RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
}

// Failures: the code, the position and the message.

struct BadLine {
  const char *body;
  Error error;
  unsigned column;
  const char *words;
};

class PtxFailure : public ::testing::TestWithParam<BadLine> {};

TEST_P(PtxFailure, NamesPlaceAndReason) {
  const BadLine &bad = GetParam();
  Status status = failure(bad.body);
  EXPECT_EQ(status.error(), bad.error) << status.message();
  EXPECT_THAT(status.message(), HasSubstr(concat("line 7, column ", bad.column, ": ")));
  EXPECT_THAT(status.message(), HasSubstr(bad.words));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, PtxFailure,
    ::testing::Values(
        BadLine{"add.s32 %r1, %r2 %r3;", Error::ptxSyntax, 18, "expected ',' or ';'"},
        BadLine{"ld.global.b32 %r1, [%rd1;", Error::ptxSyntax, 25, "expected ']'"},
        BadLine{"mov.f32 %f1, 0f3F8;", Error::ptxToken, 14, "8 hexadecimal digits"},
        BadLine{"mov.b64 %rd1, 99999999999999999999;", Error::ptxToken, 15, "64 bits"},
        BadLine{"frobnicate.b32 %r1;", Error::ptxUnknownInstruction, 1, "'frobnicate.b32'"},
        BadLine{"mbarrier.foo [%rd1];", Error::ptxUnknownInstruction, 1, "mbarrier.init"},
        BadLine{"tex.2d.v4.f32.f32 {%f1}, [%rd1];", Error::ptxUnsupportedInstruction, 1,
                "textures"},
        BadLine{"tcgen05.fence::before_thread_sync;", Error::ptxRequirement, 1, "tensor memory"},
        BadLine{"multimem.cp.async.bulk.bulk_group.global.shared::cta [%rd1], [%rd2], 64;",
                Error::ptxUnsupportedInstruction, 1, "Blackwell"},
        BadLine{"vadd4.u32.u32.u32 %r1, %r2, %r3, %r4;", Error::ptxUnsupportedInstruction, 1,
                "video"},
        BadLine{"shfl.idx.b32 %r1, %r2, 0, 31;", Error::ptxUnsupportedInstruction, 1, ".sync"},
        BadLine{"add.rn.f16x4 %r1, %r2, %r3;", Error::ptxModifier, 7,
                "'.f16x4' is not allowed after 'add.rn'"},
        BadLine{"mul.s32 %r1, %r2, %r3;", Error::ptxModifier, 4, ".wide"},
        BadLine{"cvt.rn.f32 %f1, %r2;", Error::ptxModifier, 1, "incomplete"},
        BadLine{"ld.global.v4.u64 {%rd1,%rd2,%rd3,%rd4}, [%rd1];", Error::ptxRequirement, 1,
                "sm_100 or higher"},
        BadLine{"ld.shared.v4.u64 {%rd1,%rd2,%rd3,%rd4}, [%rd1];", Error::ptxModifier, 1,
                "128 bits"},
        BadLine{"ld.shared.L2::128B.u32 %r1, [%rd1];", Error::ptxModifier, 1,
                "'.L2::128B' requires .global"},
        BadLine{"cp.async.bulk.shared::cta.shared::cluster.mbarrier::complete_tx::bytes [%r1], "
                "[%r2], 16, [%r3];",
                Error::ptxModifier, 26, "expected .global"},
        BadLine{"add.s32 %r1, %r2;", Error::ptxOperandCount, 1, "takes 3 operands"},
        BadLine{"ld.global.v2.b32 {%r1}, [%rd1];", Error::ptxOperandCount, 18, "2 elements"},
        BadLine{"add.s32 %r1, [%rd1], 2;", Error::ptxOperandKind, 14, "got an address"},
        BadLine{"add.s32 5, %r1, %r2;", Error::ptxOperandKind, 9, "because it is written"},
        BadLine{"add.s32 %r1, %tid.x, 2;", Error::ptxOperandKind, 14, "read by mov"},
        BadLine{"bar.sync !%p1;", Error::ptxOperandKind, 11, "cannot be negated"},
        BadLine{"ld.global.b32 %r1, [n];", Error::ptxOperandKind, 21, "'n' is in .param"},
        BadLine{"add.f32 %f1, %rd1, %f2;", Error::ptxOperandType, 14, "'%rd1' is declared as .b64"},
        BadLine{"add.s32 %r1, %f1, %r2;", Error::ptxOperandType, 14, ".s32 register"},
        BadLine{"@%r1 bra L; L:", Error::ptxOperandType, 2, ".pred"},
        BadLine{"add.f32 %f1, %f2, 1;", Error::ptxOperandType, 19, "0f"},
        BadLine{"mov.b32 %r1, %r99;", Error::ptxUndefined, 14, "'%r99'"},
        BadLine{"mov.b32 %r1, nothing;", Error::ptxUndefined, 14, "'nothing'"},
        BadLine{"bra nowhere;", Error::ptxUndefined, 5, "'nowhere'"},
        BadLine{".reg .b32 %r<4>;", Error::ptxRedefined, 11, "'%r' was already declared"},
        BadLine{"L: L:", Error::ptxRedefined, 4, "label 'L'"},
        BadLine{".shared .b8 n[4];", Error::ptxRedefined, 13, "'n'"},
        BadLine{"ld.shared.v8.b32 {%r1}, [%rd1];", Error::ptxModifier, 10, ".v2, .v4"},
        BadLine{".section {", Error::ptxSyntax, 10, "section's name"},
        BadLine{".maxregs 5;", Error::ptxDirective, 1, "'.maxregs'"},
        BadLine{".local .bf16 x;", Error::ptxVariable, 8, ".b8 to .b128"},
        BadLine{".hidden .param .b32 x;", Error::ptxUnsupportedInstruction, 1, "driver fills in"},
        BadLine{".shared .b32 x = 5;", Error::ptxVariable, 16, "only .global and .const"},
        BadLine{".local .align 3 .b32 x;", Error::ptxVariable, 8, "power of two"},
        BadLine{"mov.b32 %r1, 4 / (2 - 2);", Error::ptxConstant, 16, "division by zero"},
        BadLine{"call k, (%r1);", Error::ptxCall, 9, "the function has 2 parameters, got 1"},
        BadLine{".reg .b32 %y<99999999>;", Error::ptxLimit, 14, "1048576"}));

TEST(PtxFailure, SpaceInsteadOfLineSeven) {
  // The beginning of a module, and its version.
  EXPECT_EQ(std::move(parse("")).takeStatus().error(), Error::ptxSyntax);
  EXPECT_EQ(std::move(parse(".version 5.0\n.target sm_80")).takeStatus().error(),
            Error::ptxVersion);
  EXPECT_EQ(std::move(parse(".version 8.0\n.target sm_20")).takeStatus().error(),
            Error::ptxVersion);
  EXPECT_EQ(std::move(parse("\x7f"
                            "ELF"))
                .takeStatus()
                .error(),
            Error::ptxToken);
}

TEST(PtxParser, LinesOfInlineAssemblyAreOfItsStatement) {
  Result<Module> module = parse(R"(.version 8.0
.target sm_90a
.address_size 64
.file 1 "k.py"
.visible .entry k() {
  .reg .b32 %r<4>;
  .loc 1 20 5
  // begin inline asm
  .loc 1 20 5
  mov.b32 %r1, 0;
  .loc 1 21 5
  mov.b32 %r2, 0;
  // end inline asm
  mov.b32 %r3, 0;
  .loc 1 30 5
  ret;
}
)");
  ASSERT_TRUE(module.isOk());
  std::vector<uint32_t> lines;
  for (const Instruction &one : module->functions[0].instructions)
    lines.push_back(module->locations[one.location].line);
  EXPECT_EQ(lines, (std::vector<uint32_t>{20, 20, 20, 30}));
}

TEST(PtxFailure, RequirementNamesWhatIsNeeded) {
  Status status = failure("wgmma.fence.sync.aligned;", "sm_80");
  EXPECT_EQ(status.error(), Error::ptxRequirement);
  EXPECT_THAT(status.message(), HasSubstr("requires target sm_90a, but the module is for sm_80"));
  EXPECT_EQ(failure("wgmma.fence.sync.aligned;", "sm_100a").error(), Error::ptxRequirement);
  status = std::move(parse(kernel("fence.proxy.async;", "sm_90", "7.8"))).takeStatus();
  EXPECT_EQ(status.error(), Error::ptxRequirement);
  EXPECT_THAT(status.message(), HasSubstr("requires PTX 8.0 or higher"));
  EXPECT_EQ(failure("mov.b32 %r1, %cluster_ctarank;", "sm_80").error(), Error::ptxRequirement);
  EXPECT_EQ(failure("mbarrier.arrive.b64 %rd1, [%rd2], 2;", "sm_80").error(),
            Error::ptxRequirement);
}

TEST(PtxFailure, DeepNestingIsRefused) {
  EXPECT_EQ(failure(std::string(100000, '{')).error(), Error::ptxLimit);
  EXPECT_EQ(failure("mov.b32 %r1, " + std::string(100000, '(')).error(), Error::ptxLimit);
  EXPECT_EQ(failure("mov.b32 %r1, " + std::string(100000, '-') + "1;").error(), Error::ptxLimit);
}
