// Chips, ptxas, and what the target rejects.
#include "test/nvptx/GpuKernels.h"

#include "tilewright/support/Concat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace tilewright;
using namespace tilewright::nvptx;
using testing::HasSubstr;
using testing::Not;

namespace {

/// Adds and multiplies pairs of neighbours: LLVM would form vectors of two f32 here if it could.
constexpr const char *pairs = R"(
  #l = #sm.layout<[32 lane, 4 reg]>
  sm.kernel @f grid [4] inputs 2 warps 1 {
  ^bb0(%i: index, %x: memref<512xf32>, %y: memref<512xf32>, %out: memref<512xf32>):
    %o = affine.apply affine_map<(i) -> (i * 128)>(%i)
    %a = tile.load %x[%o] : memref<512xf32> -> tensor<128xf32, #l>
    %b = tile.load %y[%o] : memref<512xf32> -> tensor<128xf32, #l>
    %r = tile.map(%a, %b) : (tensor<128xf32, #l>, tensor<128xf32, #l>) -> tensor<128xf32, #l> {
    ^bb0(%p: f32, %q: f32):
      %m = arith.mulf %p, %q : f32
      %s = arith.addf %m, %p : f32
      tile.yield %s : f32
    }
    tile.store %r, %out[%o] : tensor<128xf32, #l>, memref<512xf32>
  })";

TEST(Chips, EveryRowCompilesAndAssembles) {
  for (const Chip &chip : nvptx::chips()) {
    Result<GpuCode> code = compileText(pairs, chip);
    ASSERT_TRUE(code.isOk()) << std::move(code).takeStatus().toString();
    EXPECT_THAT(code->ptx, HasSubstr(concat(".target ", chip.name)));
    // ptxas 12.9 and 13.0 contract separate f32x2 operations.
    EXPECT_THAT(code->ptx, Not(HasSubstr("f32x2"))) << chip.name;
    EXPECT_THAT(code->ptx, HasSubstr("mul.rn.f32"));
    EXPECT_THAT(code->ptx, HasSubstr("add.rn.f32"));
    EXPECT_THAT(code->ptx, Not(HasSubstr("fma.rn"))) << chip.name;
    if (!ptxas())
      GTEST_SKIP() << "no ptxas";
    Result<Assembled> made = ptxas()->assemble(code->ptx, chip);
    ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    ASSERT_EQ(made->kernels.size(), 1u);
    EXPECT_EQ(made->kernels[0].symbol, "f");
    EXPECT_GT(made->kernels[0].registers, 8);
    EXPECT_EQ(made->kernels[0].spillStoreBytes, 0);
    EXPECT_GT(made->binary.size(), 1000u);
  }
  EXPECT_EQ(chipNamed("sm_70"), nullptr); // E4053 where a pass is given such a name
}

TEST(Ptxas, BudgetsAreRead) {
  std::vector<KernelBudget> kernels = parseBudgets(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
      "ptxas info    : Function properties for gemm\n"
      "    24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 2 barriers, 2048 bytes smem, 380 bytes cmem[0]\n"
      "ptxas info    : Compile time = 5.1 ms\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].symbol, "gemm");
  EXPECT_EQ(kernels[0].registers, 168);
  EXPECT_EQ(kernels[0].stackBytes, 24);
  EXPECT_EQ(kernels[0].spillStoreBytes, 16);
  EXPECT_EQ(kernels[0].spillLoadBytes, 20);
  EXPECT_EQ(kernels[0].barriers, 2);
  EXPECT_EQ(kernels[0].sharedBytes, 2048);
}

/// A folder with a program that pretends to be ptxas.
class Pretender {
public:
  explicit Pretender(std::string_view script) {
    std::string pattern = (std::filesystem::temp_directory_path() / "ptxas-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    std::ofstream(path()) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  ~Pretender() { std::filesystem::remove_all(folder); }
  std::string path() const { return folder + "/ptxas"; }

private:
  std::string folder;
};

TEST(Ptxas, MissingOldOrBroken) {
  EXPECT_EQ(Ptxas::find("/nowhere/ptxas").takeStatus().error(), Error::ptxasMissing);
  Pretender silent("exit 0");
  EXPECT_EQ(Ptxas::find(silent.path()).takeStatus().error(), Error::ptxasMissing);

  Pretender old("echo 'Cuda compilation tools, release 11.8, V11.8.89'");
  Result<Ptxas> found = Ptxas::find(old.path());
  ASSERT_TRUE(found.isOk());
  EXPECT_EQ(found->version(), "11.8.89");
  EXPECT_FALSE(found->contractsPairs());
  Status status = found->assemble("", *chipNamed("sm_90a")).takeStatus();
  EXPECT_EQ(status.error(), Error::ptxasVersion);
  EXPECT_THAT(status.toString(), HasSubstr("is version 11.8.89"));
  EXPECT_THAT(status.toString(), HasSubstr(" or later"));

  Pretender broken("test \"$1\" = --version && echo 'tools, release 13.0, V13.0.88' && exit 0\n"
                   "echo 'line 3; error : no such thing'; exit 255");
  found = Ptxas::find(broken.path());
  ASSERT_TRUE(found.isOk());
  EXPECT_TRUE(found->contractsPairs());
  status = found->assemble("", *chipNamed("sm_90a")).takeStatus();
  EXPECT_EQ(status.error(), Error::ptxasRefused);
  EXPECT_THAT(status.toString(), HasSubstr("no such thing"));
}

TEST(Ptxas, WhatWasMadeIsKept) {
  if (!ptxas())
    GTEST_SKIP() << "no ptxas";
  const Chip &chip = *chipNamed("sm_80");
  std::string ptx = compileText(pairs, chip)->ptx;
  std::string pattern = (std::filesystem::temp_directory_path() / "cubins-XXXXXX").string();
  const std::string folder = mkdtemp(pattern.data());
  const FileCache cache(folder, 0);
  Assembled first = *ptxas()->assemble(ptx, chip, &cache);
  ASSERT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  Assembled second = *ptxas()->assemble(ptx, chip, &cache);
  EXPECT_EQ(first.binary, second.binary);
  EXPECT_EQ(second.kernels[0].registers, first.kernels[0].registers);
  // A damaged cache entry is made again.
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    std::ofstream(entry.path()) << "9\nrubbish";
  EXPECT_EQ(ptxas()->assemble(ptx, chip, &cache)->binary, first.binary);
  std::filesystem::remove_all(folder);
}

/// A cache entry that was changed anywhere, truncated or renamed is made again, and the new one is
/// kept.
TEST(Ptxas, AChangedEntryIsNeverUsed) {
  // Writes another cubin each time.
  Pretender counting("test \"$1\" = --version && echo 'tools, release 13.0, V13.0.88' && exit 0\n"
                     "while [ \"$1\" != -o ]; do shift; done\n"
                     "echo made >> \"$0.count\"\n"
                     "printf '\\177ELF a cubin, number %d' $(wc -l < \"$0.count\") > \"$2\"\n"
                     "echo 'a log'");
  Ptxas assembler = *Ptxas::find(counting.path());
  const Chip &chip = *chipNamed("sm_90a");
  std::string pattern = (std::filesystem::temp_directory_path() / "cubins-XXXXXX").string();
  const std::string folder = mkdtemp(pattern.data());
  const FileCache cache(folder, 0);
  auto cubin = [&](std::string_view ptx = "a program") {
    std::vector<std::byte> binary = assembler.assemble(ptx, chip, &cache)->binary;
    return std::string(reinterpret_cast<const char *>(binary.data()), binary.size());
  };
  ASSERT_EQ(cubin(), "\177ELF a cubin, number 1");
  EXPECT_EQ(cubin(), "\177ELF a cubin, number 1") << "what is whole is used";
  const std::string path = std::filesystem::directory_iterator(folder)->path();
  auto read = [](const std::string &from) {
    std::ifstream file(from, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string whole = read(path);
  int made = 1;
  auto expectMadeAgain = [&](const std::string &damaged, const std::string &what) {
    std::ofstream(path, std::ios::binary) << damaged;
    EXPECT_EQ(cubin(), concat("\177ELF a cubin, number ", ++made)) << what;
    EXPECT_EQ(cubin(), concat("\177ELF a cubin, number ", made)) << "kept again after " << what;
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] ^= 1;
    expectMadeAgain(changed, concat("byte ", at, " was changed"));
  }
  for (size_t size = 0; size < whole.size(); size += 7)
    expectMadeAgain(whole.substr(0, size), concat("cut to ", size, " bytes"));
  expectMadeAgain(whole + "more", "something was added");
  // Puts the entry of one program under the name of another.
  cubin("another program");
  ++made;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path() != path)
      expectMadeAgain(read(entry.path()), "another program's entry");
  std::filesystem::remove_all(folder);
}

// --- Refusals ---

Status refusal(std::string_view body, std::string_view warps = "1") {
  return compileText(concat("#l = #sm.layout<[32 lane]>\nsm.kernel @f grid [1] inputs 1 warps ",
                            warps,
                            " {\n^bb0(%i: index, %x: memref<32xf64>, %out: memref<32xf64>):\n",
                            body, "\n}"),
                     *chipNamed("sm_90a"))
      .takeStatus();
}

TEST(Refuses, FunctionsWithoutInstructions) {
  Status status = refusal(R"(
    %z = arith.constant 0 : index
    %t = tile.load %x[%z] : memref<32xf64> -> tensor<32xf64, #l>
    %r = tile.map(%t) : (tensor<32xf64, #l>) -> tensor<32xf64, #l> {
    ^bb0(%a: f64):
      %c = arith.constant 3 : i32
      %b = math.fpowi %a, %c : f64, i32
      tile.yield %b : f64
    }
    tile.store %r, %out[%z] : tensor<32xf64, #l>, memref<32xf64>)");
  EXPECT_EQ(status.error(), Error::gpuScalarOp);
  EXPECT_THAT(status.toString(), HasSubstr("'math.fpowi' at"));
}

TEST(Refuses, OpsThatAreNotTiles) {
  Status status = refusal("%c = arith.constant 1.0 : f64\n%z = arith.constant 0 : index\n"
                          "memref.store %c, %out[%z] : memref<32xf64>");
  EXPECT_EQ(status.error(), Error::gpuTileOp);
  EXPECT_THAT(status.toString(), HasSubstr("'memref.store' at"));
}

TEST(Refuses, MoreThreadsOrRegistersThanThereAre) {
  Status status = refusal("", "64");
  EXPECT_EQ(status.error(), Error::gpuBudget);
  EXPECT_THAT(status.toString(), HasSubstr("2048 threads"));
  const Chip &chip = *chipNamed("sm_90a");
  EXPECT_TRUE(checkLaunch(chip, "f", 1024, 64).isOk());
  EXPECT_EQ(checkLaunch(chip, "f", 1024, 72).error(), Error::gpuBudget);
}

TEST(Refuses, ChipsThatLlvmDoesNotKnow) {
  Chip chip = *chipNamed("sm_90a");
  chip.name = "sm_1";
  Status status = compileText(pairs, chip).takeStatus();
  EXPECT_EQ(status.error(), Error::gpuCodegen);
}

} // namespace
