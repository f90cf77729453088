// Loops and branches on the device: conditional nodes of the graph of a command buffer. What they
// compute is tested by ../conformance.
#include "tilewright/runtime/conformance/Kit.h"
#include "tilewright/runtime/cuda/CommandBuffer.h"
#include "tilewright/runtime/cuda/Conditions.h"
#include "tilewright/runtime/cuda/testing/Kernels.h"

namespace tilewright::runtime::conformance {
namespace {

using cuda::CommandBuffer;
using ::testing::Each;
using ::testing::ElementsAre;

class CudaLoopTest : public Fixture {
protected:
  void SetUp() override { makeClient(); }
};

TEST_F(CudaLoopTest, ALoopIsOneLaunchAndTheHostReadsNothing) {
  auto program = load(counting());
  const CommandBuffer::Counts before = CommandBuffer::counts();
  const int64_t read0 = CommandBuffer::predicatesRead;
  // The buffers of each run are others: nodes in the body of the loop are updated.
  std::vector<Execution> kept;
  for (int32_t rounds : {5, 0, 40}) {
    auto from = integer(0), to = integer(rounds);
    auto input = buffer(100);
    auto run = execute(*program, {from.get(), to.get(), input.get()});
    ASSERT_TRUE(run.isOk());
    EXPECT_THAT(read(*run->results[0][0]), Each(100.0F + static_cast<float>(rounds)));
    EXPECT_THAT(read<int32_t>(*run->results[0][1]), ElementsAre(rounds));
    kept.push_back(*std::move(run));
  }
  const CommandBuffer::Counts after = CommandBuffer::counts();
  EXPECT_EQ(after.graphsBuilt - before.graphsBuilt, 1);
  EXPECT_EQ(after.graphLaunches - before.graphLaunches, 3);
  EXPECT_EQ(after.singleLaunches, before.singleLaunches);
  EXPECT_EQ(CommandBuffer::predicatesRead, read0);
}

/// Runs are queued one behind the other: none waits for the loop of an earlier one.
TEST_F(CudaLoopTest, LoopsAreQueued) {
  auto program = load(counting());
  auto zero = integer(0), rounds = integer(3);
  auto first = buffer(0);
  std::vector<Execution> kept;
  Buffer *x = first.get();
  for (int i = 0; i < 10; ++i) {
    auto run = execute(*program, {zero.get(), rounds.get(), x});
    ASSERT_TRUE(run.isOk());
    kept.push_back(*std::move(run));
    x = kept.back().results[0][0].get();
  }
  EXPECT_THAT(read(*x), Each(30));
}

/// The condition of the outer loop has a counted loop, so that one stands in the graph twice.
TEST_F(CudaLoopTest, LoopsNestInConditionsAndBodies) {
  Program p("nested");
  Slice last = p.parameter(integer()), x = p.parameter(floats());
  Slice y = p.result(floats()), z = p.result(floats()), i = p.result(integer());
  Slice flag = p.temporary(1), zero = p.constant(std::vector<int32_t>{0});
  const Index condition = p.block(), body = p.block(), counted = p.block(), inner = p.block(),
              unused = p.block();
  p.step(CopyStep{x, y});
  p.step(CopyStep{x, z});
  p.step(CopyStep{zero, i});
  p.step(WhileStep{condition, body, flag, -1});
  p.step(WhileStep{unused, counted, {}, 2}, condition);
  p.launch("add_one", length, {z, z}, counted);
  p.launch("less", 1, {i, last, flag}, condition);
  p.step(WhileStep{unused, inner, {}, 3}, body);
  p.step(WhileStep{unused, inner, {}, 0}, body); // never runs
  p.launch("add_one", length, {y, y}, inner);
  p.launch("increment", 1, {i, i}, body);
  auto program = load(p);
  const int64_t before = CommandBuffer::predicatesRead;
  auto four = integer(4);
  auto input = buffer(0);
  for (int round = 0; round < 2; ++round) {
    auto run = execute(*program, {four.get(), input.get()});
    ASSERT_TRUE(run.isOk());
    EXPECT_THAT(read(*run->results[0][0]), Each(12));
    EXPECT_THAT(read(*run->results[0][1]), Each(10));
    EXPECT_THAT(read<int32_t>(*run->results[0][2]), ElementsAre(4));
  }
  EXPECT_EQ(CommandBuffer::predicatesRead, before);
}

/// A branch that overwrites what selects it does not start another one.
TEST_F(CudaLoopTest, BranchesMayOverwriteTheirSelector) {
  Program p("branches");
  Slice which = p.parameter(integer()), x = p.parameter(floats());
  Slice y = p.result(floats()), n = p.result(integer());
  const Index a = p.block(), b = p.block(), c = p.block();
  p.step(CopyStep{which, n});
  p.step(CopyStep{x, y});
  p.step(BranchStep{n, false, {a, b, c}});
  p.launch("increment", 1, {n, n}, a);
  p.launch("add_one", length, {y, y}, b);
  p.launch("increment", 1, {n, n}, b);
  p.launch("add_one", length, {y, y}, c);
  p.launch("add_one", length, {y, y}, c);
  auto program = load(p);
  const int64_t before = CommandBuffer::predicatesRead;
  for (int32_t choice : {0, 1, 2, 3, -1}) {
    auto selector = integer(choice);
    auto input = buffer(0);
    auto run = execute(*program, {selector.get(), input.get()});
    ASSERT_TRUE(run.isOk());
    EXPECT_THAT(read(*run->results[0][0]), Each(choice == 0 ? 0 : choice == 1 ? 1 : 2)) << choice;
    EXPECT_THAT(read<int32_t>(*run->results[0][1]),
                ElementsAre(choice == 0 || choice == 1 ? choice + 1 : choice));
  }
  EXPECT_EQ(CommandBuffer::predicatesRead, before);
}

/// A kernel that fails ends the loop: the predicate would never become false.
TEST_F(CudaLoopTest, AFailedKernelEndsALoop) {
  Program p("broken");
  Slice one = p.parameter(integer()), x = p.parameter(floats()), y = p.result(floats());
  Slice flag = p.temporary(1), zero = p.constant(std::vector<int32_t>{0});
  const Index condition = p.block(), body = p.block();
  p.step(WhileStep{condition, body, flag, -1});
  p.launch("less", 1, {zero, one, flag}, condition);
  p.launch("trap", length, {x, y}, body);
  auto program = load(p);
  auto limit = integer(1);
  auto input = buffer(0);
  auto run = execute(*program, {limit.get(), input.get()});
  ASSERT_TRUE(run.isOk());
  EXPECT_EQ(run->done[0].await().error(), Error::cudaKernelFailed);
}

} // namespace
} // namespace tilewright::runtime::conformance
