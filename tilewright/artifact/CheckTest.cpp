// Violates each invariant of Check.h: one executable per error, with the text that a user needs.

#include "tilewright/artifact/Check.h"
#include "tilewright/artifact/Reader.h"
#include "tilewright/artifact/Writer.h"
#include "tilewright/artifact/testing/SampleExecutable.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::artifact;
using testing::HasSubstr;

/// Both checkExecutable and the reader must reject `executable`.
static void expectFailure(const Executable &executable, Error error, std::string_view words) {
  Status status = checkExecutable(executable);
  ASSERT_FALSE(status.isOk()) << "expected " << idOf(error);
  EXPECT_EQ(status.error(), error) << status.toString();
  EXPECT_THAT(status.message(), HasSubstr(words));
  EXPECT_EQ(readExecutable(writeExecutable(executable)).takeStatus().error(), error);
}

/// The sample with a change.
template <typename Change>
static void expectFailure(Error error, std::string_view words, Change change) {
  Executable executable = sampleExecutable();
  change(executable);
  expectFailure(executable, error, words);
}
template <typename Action> static Action &action(Executable &e, size_t step, size_t block = 0) {
  return std::get<Action>(e.blocks[block].steps[step].action);
}

TEST(CheckExecutable, AcceptsTheSample) {
  Status status = checkExecutable(sampleExecutable());
  EXPECT_TRUE(status.isOk()) << status.toString();
}

TEST(CheckExecutable, Indices) {
  const auto index = Error::executableIndex;
  expectFailure(index, "step 0 'fusion.0' of block 0 uses kernel 2, expected an index less than 2",
                [](auto &e) { action<LaunchStep>(e, 0).kernel = 2; });
  expectFailure(index, "uses allocation 7, expected an index less than 7",
                [](auto &e) { action<LaunchStep>(e, 0).buffers[0].allocation = 7; });
  expectFailure(index, "uses library kernel 4, expected an index less than 4",
                [](auto &e) { action<LibraryStep>(e, 1).library = 4; });
  expectFailure(index, "uses type 4294967295, expected an index less than 3",
                [](auto &e) { action<LibraryStep>(e, 1).results[0].type = none; });
  expectFailure(index, "uses block 9, expected an index less than 9",
                [](auto &e) { action<WhileStep>(e, 5).body = 9; });
  expectFailure(index, "uses block 99, expected an index less than 9",
                [](auto &e) { action<BranchStep>(e, 0, 2).blocks[1] = 99; });
  expectFailure(index, "allocation 0 is for parameter 2, but there are 2 parameters",
                [](auto &e) { e.allocations[0].index = 2; });
  expectFailure(index, "allocation 2 is for result 9, but there are 2 results",
                [](auto &e) { e.allocations[2].index = 9; });
}

TEST(CheckExecutable, TypesHaveASize) {
  const auto type = Error::executableType;
  expectFailure(type, "type 0 of the executable has an invalid shape",
                [](auto &e) { e.types[0].dims = {int64_t(1) << 40, int64_t(1) << 40}; });
  expectFailure(type, "parameter 1", [](auto &e) { e.parameters[1].type.dims = {-1}; });
  expectFailure(type, "result 0", [](auto &e) { e.results[0].type.dims = {-1, 0}; });
}

TEST(CheckExecutable, AllocationsFitWhereTheyAreKept) {
  const auto allocation = Error::executableAllocation;
  expectFailure(allocation, "allocation 0 has 64 bytes, but parameter 0 has 128",
                [](auto &e) { e.allocations[0].bytes = 64; });
  expectFailure(allocation, "inside the 256 bytes of the constants",
                [](auto &e) { e.allocations[4].index = 192; });
  expectFailure(allocation, "inside the 256 bytes of the constants",
                [](auto &e) { e.allocations[4].index = ~uint64_t(63); });
  expectFailure(allocation, "a multiple of 64", [](auto &e) { e.allocations[4].index = 1; });
  expectFailure(allocation, "inside the 512 bytes of the arena",
                [](auto &e) { e.allocations[5].bytes = 512; });
  expectFailure(allocation, "-1 bytes", [](auto &e) { e.allocations[5].bytes = -1; });
  expectFailure(allocation, "in space 2", [](auto &e) { e.allocations[5].space = 2; });
  expectFailure(allocation, "an arena has -64 bytes", [](auto &e) { e.arenaBytes[1] = -64; });
  expectFailure(allocation, "result 1 has no allocation",
                [](auto &e) { e.allocations[3] = {Storage::constant, 0, 64, 0}; });
}

TEST(CheckExecutable, AResultMayBeLeftInTheParameterItTakesOver) {
  Executable e = sampleExecutable(); // its first result aliases a parameter
  e.allocations[2] = {Storage::temporary, 64, 128, 0};
  EXPECT_TRUE(checkExecutable(e).isOk());
  e.results[0].aliasOf = none;
  expectFailure(e, Error::executableAllocation, "result 0 has no allocation");
}

TEST(CheckExecutable, SlicesFitTheirAllocationAndUse) {
  const auto slice = Error::executableSlice;
  expectFailure(
      slice,
      "a slice of 128 bytes at offset 64; it must begin at a multiple of 64 and be inside the 128",
      [](auto &e) { action<LaunchStep>(e, 0).buffers[0].offset = 64; });
  expectFailure(slice, "at offset 4; it must begin at a multiple of 64",
                [](auto &e) { action<LaunchStep>(e, 0).buffers[0] = {0, 4, 4}; });
  expectFailure(slice, "at offset -64", [](auto &e) { action<CopyStep>(e, 4).to.offset = -64; });
  expectFailure(slice, "a slice of -1 bytes",
                [](auto &e) { action<LaunchStep>(e, 0).buffers[0].bytes = -1; });
  expectFailure(slice, "at offset 9223372036854775744", [](auto &e) {
    action<LaunchStep>(e, 0).buffers[0].offset = (~uint64_t(0) >> 1) - 63;
  });
  expectFailure(slice, "a slice of 64 bytes for a tensor of 128",
                [](auto &e) { action<LibraryStep>(e, 1).operands[0].slice.bytes = 64; });
  expectFailure(slice, "copies 4 bytes to a slice of 8",
                [](auto &e) { action<CopyStep>(e, 4).to.bytes = 8; });
  expectFailure(slice, "a predicate of 0 bytes",
                [](auto &e) { action<WhileStep>(e, 5).predicate.bytes = 0; });
  expectFailure(slice, "a selector of 3 bytes, but needs 4",
                [](auto &e) { action<BranchStep>(e, 0, 2).selector.bytes = 3; });
  expectFailure(slice, "writes to allocation 4, which is constant",
                [](auto &e) { action<LibraryStep>(e, 1).results[0].slice.allocation = 4; });
}

TEST(CheckExecutable, BlocksFormATree) {
  const auto blocks = Error::executableBlocks;
  expectFailure(blocks, "has no blocks", [](auto &e) { e.blocks.clear(); });
  expectFailure(blocks, "block 0 is used twice", [](auto &e) { action<WhileStep>(e, 5).body = 0; });
  expectFailure(blocks, "block 3 is used twice, the second time by 'case.7'",
                [](auto &e) { action<BranchStep>(e, 0, 2).blocks[1] = 3; });
  expectFailure(blocks, "block 9 is not used by any step",
                [](auto &e) { e.blocks.emplace_back(); });
  // Two blocks that only use each other.
  expectFailure(blocks, "is not used by any step", [](auto &e) {
    const Slice flag = action<WhileStep>(e, 5).predicate;
    e.blocks.resize(13);
    e.blocks[9].steps = {{WhileStep{10, 11, flag, -1}, "", ""}};
    e.blocks[11].steps = {{WhileStep{12, 9, flag, -1}, "", ""}};
  });
}

TEST(CheckExecutable, NestingIsLimited) {
  Executable e = sampleExecutable();
  const Slice flag = action<WhileStep>(e, 5).predicate;
  e.blocks.assign(1, {});
  for (Index i = 0; i < maxBlockNesting; ++i) {
    e.blocks.resize(e.blocks.size() + 2);
    e.blocks[2 * i].steps = {{WhileStep{2 * i + 1, 2 * i + 2, flag, -1}, "", ""}};
  }
  expectFailure(e, Error::executableBlocks, "nested deeper than 128");
}

TEST(CheckExecutable, StepsCanRun) {
  const auto step = Error::executableStep;
  expectFailure(step, "a grid of -1", [](auto &e) { e.kernels[0].grid = -1; });
  expectFailure(step, "kernel 1 ''", [](auto &e) { e.kernels[1].symbol.clear(); });
  expectFailure(step, "bytes of scratch", [](auto &e) { e.kernels[0].scratchBytes = 1 << 30; });
  expectFailure(step, "no object code", [](auto &e) { e.objects.clear(); });
  expectFailure(step, "object 1 of the executable has no bytes",
                [](auto &e) { e.objects[1].clear(); });
  expectFailure(step, "passes 4097 buffers",
                [](auto &e) { action<LaunchStep>(e, 0).buffers.assign(4097, Slice{0, 0, 128}); });
  expectFailure(step, "with API version 5",
                [](auto &e) { action<CustomCallStep>(e, 2).apiVersion = 5; });
  expectFailure(step, "an invalid trip count of -2",
                [](auto &e) { action<WhileStep>(e, 5).tripCount = -2; });
  expectFailure(step, "has 0 branches",
                [](auto &e) { action<BranchStep>(e, 0, 2).blocks.clear(); });
  expectFailure(step, "branches, but needs 2 for a predicate", [](auto &e) {
    action<BranchStep>(e, 0, 2).isPredicate = true;
    action<BranchStep>(e, 0, 2).blocks.pop_back();
  });
  expectFailure(step, "has unsupported collective kind 'barrier'",
                [](auto &e) { action<CollectiveStartStep>(e, 6).kind = CollectiveKind::barrier; });
  expectFailure(step, "must have 6 operands and 1 result for ragged_all_to_all, got 1 and 1",
                [](auto &e) {
                  action<CollectiveStartStep>(e, 6).kind = CollectiveKind::raggedAllToAll;
                  action<CollectiveStartStep>(e, 6).reduction = ReductionKind::none;
                });
  expectFailure(step, "is all_gather with reduction 'add'", [](auto &e) {
    action<CollectiveStartStep>(e, 6).kind = CollectiveKind::allGather;
  });
  expectFailure(step, "is all_reduce with reduction ''",
                [](auto &e) { action<CollectiveStartStep>(e, 6).reduction = ReductionKind::none; });
  expectFailure(step, "has 0 reduction functions, but reduction 'function' needs 1", [](auto &e) {
    action<CollectiveStartStep>(e, 6).reduction = ReductionKind::function;
  });
  expectFailure(step, "has dimension -1, which must not be negative",
                [](auto &e) { action<CollectiveStartStep>(e, 6).dimension = -1; });
  expectFailure(step, "names rank 2, but the executable is for 2 ranks",
                [](auto &e) { action<CollectiveStartStep>(e, 6).groups = {{0, 2}}; });
  expectFailure(step, "has a source-target pair of ", [](auto &e) {
    action<CollectiveStartStep>(e, 6).kind = CollectiveKind::permute;
    action<CollectiveStartStep>(e, 6).reduction = ReductionKind::none;
    action<CollectiveStartStep>(e, 6).groups = {{0, 1, 1}};
  });
  expectFailure(step, "completes collective 8, which no earlier step",
                [](auto &e) { action<CollectiveDoneStep>(e, 7).id = 8; });
  expectFailure(step, "collective 7 'all-reduce.6' in block 0 is never completed",
                [](auto &e) { e.blocks[0].steps.pop_back(); });
  expectFailure(step, "starts collective 7 a second time",
                [](auto &e) { e.blocks[0].steps.push_back(e.blocks[0].steps[6]); });
}

/// The GPU sample with a change to its launch.
template <typename Change>
static void expectGpuFailure(std::string_view words, Change change,
                             Error error = Error::executableStep) {
  Executable executable = sampleGpuExecutable();
  change(*executable.kernels[0].gpu);
  expectFailure(executable, error, words);
}

TEST(CheckExecutable, GpuLaunchesAreThereForGpusOnly) {
  Status status = checkExecutable(sampleGpuExecutable());
  ASSERT_TRUE(status.isOk()) << status.toString();

  Executable e = sampleGpuExecutable();
  e.kernels[0].gpu.reset();
  expectFailure(e, Error::executableStep, "kernel 0 'fusion_0' has no GPU launch");
  e = sampleGpuExecutable();
  e.target.triple = "x86_64-unknown-linux-gnu";
  expectFailure(e, Error::executableStep, "has a GPU launch, but the target is x86_64");
  e = sampleGpuExecutable();
  e.objects.push_back(e.objects[0]);
  expectFailure(e, Error::executableStep, "is for nvptx64-nvidia-cuda, but has 2 objects");
  e = sampleExecutable();
  e.binary.resize(1);
  expectFailure(e, Error::executableStep, "has code for an NVIDIA GPU");
}

TEST(CheckExecutable, AnExecutableForAmdHasOneObjectAndNoPtx) {
  Executable e = sampleGpuExecutable();
  e.target = {std::string(amdTriple), "gfx950", {}};
  e.binary.clear();
  Status status = checkExecutable(e);
  ASSERT_TRUE(status.isOk()) << status.toString();
  e.binary.resize(1);
  expectFailure(e, Error::executableStep, "is for amdgcn-amd-amdhsa, but has code for an NVIDIA");
  e.binary.clear();
  e.objects.push_back(e.objects[0]);
  expectFailure(e, Error::executableStep, "is for amdgcn-amd-amdhsa, but has 2 objects");
}

TEST(CheckExecutable, GpuLaunchesAreWithinWhatAnyGpuTakes) {
  expectGpuFailure("kernel 0 'fusion_0' has a grid of 0 blocks along x",
                   [](GpuLaunch &l) { l.grid[0] = 0; });
  expectGpuFailure("a grid of 65536 blocks along z", [](GpuLaunch &l) { l.grid[2] = 65536; });
  expectGpuFailure("blocks of 1025 threads along x", [](GpuLaunch &l) { l.block[0] = 1025; });
  expectGpuFailure("blocks of 65 threads along z", [](GpuLaunch &l) { l.block[2] = 65; });
  expectGpuFailure("blocks of 2048 threads, but the limit is 1024",
                   [](GpuLaunch &l) { l.block = {128, 16, 1}; });
  expectGpuFailure("clusters of 3 blocks along x, which must divide the grid of 4",
                   [](GpuLaunch &l) { l.cluster[0] = 3; });
  expectGpuFailure("clusters of 0 blocks along y", [](GpuLaunch &l) { l.cluster[1] = 0; });
  expectGpuFailure("clusters of 32 blocks, but the limit is 16", [](GpuLaunch &l) {
    l.grid = {8, 4, 1};
    l.cluster = {8, 4, 1};
  });
  expectGpuFailure("2097152 bytes of shared memory", [](GpuLaunch &l) { l.sharedBytes = 1 << 21; });
  expectGpuFailure("step 0 'fusion.0' of block 0 passes 33344 bytes of parameters",
                   [](GpuLaunch &l) { l.tensorMaps.assign(260, l.tensorMaps[0]); });
}

TEST(CheckExecutable, TensorMapsAreOnesThatADriverTakes) {
  auto map = [](std::string_view words, auto change, Error error = Error::executableStep) {
    expectGpuFailure(words, [&](GpuLaunch &l) { change(l.tensorMaps[0]); }, error);
  };
  map(
      "tensor map 0 of step 0 'fusion.0' of block 0 uses buffer 3, but the step passes 3 buffers",
      [](TensorMap &m) { m.buffer = 3; }, Error::executableIndex);
  map("covers 16384 bytes, but its buffer has 64", [](TensorMap &m) { m.buffer = 1; });
  map("covers 9223372036854775807 bytes", [](TensorMap &m) {
    m.dims = {8, int64_t(1) << 32};
    m.byteStrides = {(int64_t(1) << 40) - 16};
  });
  map("has 0 dimensions", [](TensorMap &m) { m.dims.clear(); });
  map("2 strides", [](TensorMap &m) { m.byteStrides.push_back(16); });
  map("a box of rank 1", [](TensorMap &m) { m.box.pop_back(); });
  map("3 element strides", [](TensorMap &m) { m.elementStrides.push_back(1); });
  map("has size 0 in dimension 1, expected 1 to 4294967296", [](TensorMap &m) { m.dims[1] = 0; });
  map("has box size 257 in dimension 1", [](TensorMap &m) { m.box[1] = 257; });
  map("has element stride 9 in dimension 0", [](TensorMap &m) { m.elementStrides[0] = 9; });
  map("has stride 264 in dimension 1, expected a multiple of 16",
      [](TensorMap &m) { m.byteStrides[0] = 264; });
  map("has stride -16 in dimension 1", [](TensorMap &m) { m.byteStrides[0] = -16; });
  map("has stride 16 in dimension 1, expected at least the 256 bytes of a row",
      [](TensorMap &m) { m.byteStrides[0] = 16; });
  map("rows of 2 bytes, which must be a multiple of 16", [](TensorMap &m) { m.box[0] = 1; });
  map("rows of 128 bytes, but its swizzle allows at most 64 bytes",
      [](TensorMap &m) { m.swizzle = TensorMap::Swizzle::bytes64; });
  map("is interleaved but has 2 dimensions",
      [](TensorMap &m) { m.interleave = TensorMap::Interleave::bytes16; });
  map("needs a swizzle of 32 bytes", [](TensorMap &m) {
    m.dims = {8, 8, 8};
    m.byteStrides = {32, 256};
    m.box = {8, 8, 8};
    m.elementStrides = {1, 1, 1};
    m.interleave = TensorMap::Interleave::bytes32;
  });
  map("elements of 16 bytes", [](TensorMap &m) { m.element = ElementType::c128; });
  map("fills with NaN, which i16 does not have",
      [](TensorMap &m) { m.element = ElementType::i16; });
}

TEST(CheckExecutable, SignaturesFitTogether) {
  const auto signature = Error::executableSignature;
  expectFailure(signature, "0 replicas", [](auto &e) { e.replicas = 0; });
  expectFailure(signature, "partitions", [](auto &e) { e.partitions = int64_t(1) << 62; });
  expectFailure(signature, "parameter 0 has unknown memory kind 'moon'",
                [](auto &e) { e.parameters[0].memoryKind = "moon"; });
  expectFailure(signature, "result 1 has unknown memory kind ''",
                [](auto &e) { e.results[1].memoryKind = ""; });
  expectFailure(signature, "result 0 aliases parameter 5, but there are 2 parameters",
                [](auto &e) { e.results[0].aliasOf = 5; });
  expectFailure(signature, "must be donated", [](auto &e) { e.results[0].aliasOf = 1; });
}

TEST(CheckExecutable, AttributesAreWellFormed) {
  const auto attribute = Error::executableAttribute;
  expectFailure(attribute, "of a custom call has no name",
                [](auto &e) { action<CustomCallStep>(e, 2).attributes[0].name = ""; });
  expectFailure(attribute, "'flops' of the statistics has 9 bytes, expected one element of 8 bytes",
                [](auto &e) { std::get<Elements>(e.statistics[0].value).bytes.resize(9); });
}
