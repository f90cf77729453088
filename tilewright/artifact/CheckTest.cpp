// Each promise of Check.h, broken: one executable an error, with the words that
// a user needs.

#include "tilewright/artifact/Check.h"
#include "tilewright/artifact/Reader.h"
#include "tilewright/artifact/SampleExecutable.h"
#include "tilewright/artifact/Writer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::artifact;
using testing::HasSubstr;

/// Both the check and the reader must refuse `executable`.
static void expectFailure(const Executable &executable, Error error, std::string_view words) {
  Status status = checkExecutable(executable);
  ASSERT_FALSE(status.isOk()) << "expected " << idOf(error);
  EXPECT_EQ(status.error(), error) << status.toString();
  EXPECT_THAT(status.message(), HasSubstr(words));
  EXPECT_EQ(readExecutable(writeExecutable(executable)).takeStatus().error(), error);
}

/// The sample with something changed.
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
  expectFailure(index, "step 0 'fusion.0' of block 0 uses kernel 2 of 2",
                [](auto &e) { action<LaunchStep>(e, 0).kernel = 2; });
  expectFailure(index, "uses allocation 7 of 7",
                [](auto &e) { action<LaunchStep>(e, 0).buffers[0].allocation = 7; });
  expectFailure(index, "uses library kernel 1 of 1",
                [](auto &e) { action<LibraryStep>(e, 1).library = 1; });
  expectFailure(index, "uses type 4294967295 of 3",
                [](auto &e) { action<LibraryStep>(e, 1).results[0].type = none; });
  expectFailure(index, "uses block 9 of 9", [](auto &e) { action<WhileStep>(e, 5).body = 9; });
  expectFailure(index, "uses block 99 of 9",
                [](auto &e) { action<BranchStep>(e, 0, 2).blocks[1] = 99; });
  expectFailure(index, "allocation 0 is parameter 2 of 2",
                [](auto &e) { e.allocations[0].index = 2; });
  expectFailure(index, "allocation 2 is result 9 of 2",
                [](auto &e) { e.allocations[2].index = 9; });
}

TEST(CheckExecutable, TypesHaveASize) {
  const auto type = Error::executableType;
  expectFailure(type, "type 0 of the executable has no size",
                [](auto &e) { e.types[0].dims = {int64_t(1) << 40, int64_t(1) << 40}; });
  expectFailure(type, "parameter 1", [](auto &e) { e.parameters[1].type.dims = {-1}; });
  expectFailure(type, "result 0", [](auto &e) { e.results[0].type.dims = {-1, 0}; });
}

TEST(CheckExecutable, AllocationsFitWhereTheyAreKept) {
  const auto allocation = Error::executableAllocation;
  expectFailure(allocation, "allocation 0 has 64 bytes, and parameter 0 has 128",
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
  Executable e = sampleExecutable(); // its first result is one
  e.allocations[2] = {Storage::temporary, 64, 128, 0};
  EXPECT_TRUE(checkExecutable(e).isOk());
  e.results[0].aliasOf = none;
  expectFailure(e, Error::executableAllocation, "result 0 has no allocation");
}

TEST(CheckExecutable, SlicesFitTheirAllocationAndUse) {
  const auto slice = Error::executableSlice;
  expectFailure(slice, "a slice of 128 bytes at 64, which must be a multiple of 64 inside the 128",
                [](auto &e) { action<LaunchStep>(e, 0).buffers[0].offset = 64; });
  expectFailure(slice, "at 4, which must be a multiple of 64",
                [](auto &e) { action<LaunchStep>(e, 0).buffers[0] = {0, 4, 4}; });
  expectFailure(slice, "at -64", [](auto &e) { action<CopyStep>(e, 4).to.offset = -64; });
  expectFailure(slice, "a slice of -1 bytes",
                [](auto &e) { action<LaunchStep>(e, 0).buffers[0].bytes = -1; });
  expectFailure(slice, "at 9223372036854775744", [](auto &e) {
    action<LaunchStep>(e, 0).buffers[0].offset = (~uint64_t(0) >> 1) - 63;
  });
  expectFailure(slice, "a slice of 64 bytes for a tensor of 128",
                [](auto &e) { action<LibraryStep>(e, 1).operands[0].slice.bytes = 64; });
  expectFailure(slice, "copies 4 bytes to 8", [](auto &e) { action<CopyStep>(e, 4).to.bytes = 8; });
  expectFailure(slice, "a predicate of 0 bytes",
                [](auto &e) { action<WhileStep>(e, 5).predicate.bytes = 0; });
  expectFailure(slice, "a selector of 3 bytes and needs 4",
                [](auto &e) { action<BranchStep>(e, 0, 2).selector.bytes = 3; });
  expectFailure(slice, "writes to allocation 4, which is constant",
                [](auto &e) { action<LibraryStep>(e, 1).results[0].slice.allocation = 4; });
}

TEST(CheckExecutable, BlocksFormATree) {
  const auto blocks = Error::executableBlocks;
  expectFailure(blocks, "has no blocks", [](auto &e) { e.blocks.clear(); });
  expectFailure(blocks, "block 0 is used twice", [](auto &e) { action<WhileStep>(e, 5).body = 0; });
  expectFailure(blocks, "block 3 is used twice, by 'case.7'",
                [](auto &e) { action<BranchStep>(e, 0, 2).blocks[1] = 3; });
  expectFailure(blocks, "block 9 is used by no step", [](auto &e) { e.blocks.emplace_back(); });
  // Two that use only each other.
  expectFailure(blocks, "is used by no step", [](auto &e) {
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
  expectFailure(step, "library kernel 0 has no name", [](auto &e) { e.libraries[0].name = ""; });
  expectFailure(step, "no object code", [](auto &e) { e.object.clear(); });
  expectFailure(step, "passes 4097 buffers",
                [](auto &e) { action<LaunchStep>(e, 0).buffers.assign(4097, Slice{0, 0, 128}); });
  expectFailure(step, "with API version 5",
                [](auto &e) { action<CustomCallStep>(e, 2).apiVersion = 5; });
  expectFailure(step, "a loop of -2 rounds",
                [](auto &e) { action<WhileStep>(e, 5).tripCount = -2; });
  expectFailure(step, "has 0 branches",
                [](auto &e) { action<BranchStep>(e, 0, 2).blocks.clear(); });
  expectFailure(step, "a predicate chooses between 2", [](auto &e) {
    action<BranchStep>(e, 0, 2).isPredicate = true;
    action<BranchStep>(e, 0, 2).blocks.pop_back();
  });
  expectFailure(step, "a collective 'gossip'",
                [](auto &e) { action<CollectiveStartStep>(e, 6).kind = "gossip"; });
  expectFailure(step, "names rank 2 of 2",
                [](auto &e) { action<CollectiveStartStep>(e, 6).groups = {{0, 2}}; });
  expectFailure(step, "pairs are needed", [](auto &e) {
    action<CollectiveStartStep>(e, 6).kind = "collective_permute";
    action<CollectiveStartStep>(e, 6).groups = {{0, 1, 1}};
  });
  expectFailure(step, "ends collective 8, which did not begin",
                [](auto &e) { action<CollectiveDoneStep>(e, 7).id = 8; });
  expectFailure(step, "collective 7 'all-reduce.6' in block 0 never ends",
                [](auto &e) { e.blocks[0].steps.pop_back(); });
  expectFailure(step, "begins collective 7 a second time",
                [](auto &e) { e.blocks[0].steps.push_back(e.blocks[0].steps[6]); });
}

TEST(CheckExecutable, SignaturesFitTogether) {
  const auto signature = Error::executableSignature;
  expectFailure(signature, "0 replicas", [](auto &e) { e.replicas = 0; });
  expectFailure(signature, "partitions", [](auto &e) { e.partitions = int64_t(1) << 62; });
  expectFailure(signature, "parameter 0 is in memory 'moon'",
                [](auto &e) { e.parameters[0].memoryKind = "moon"; });
  expectFailure(signature, "result 1 is in memory ''",
                [](auto &e) { e.results[1].memoryKind = ""; });
  expectFailure(signature, "result 0 takes over parameter 5 of 2",
                [](auto &e) { e.results[0].aliasOf = 5; });
  expectFailure(signature, "must be donated", [](auto &e) { e.results[0].aliasOf = 1; });
}

TEST(CheckExecutable, AttributesAreWellFormed) {
  const auto attribute = Error::executableAttribute;
  expectFailure(attribute, "of library kernel 0 'sort' has no name",
                [](auto &e) { e.libraries[0].attributes[0].name = ""; });
  expectFailure(attribute, "'flops' of the statistics has 9 bytes for one element of 8",
                [](auto &e) { std::get<Elements>(e.statistics[0].value).bytes.resize(9); });
}
