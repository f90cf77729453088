// Command buffers and failures of kernels that are the same on GPUs of NVIDIA and AMD.
#include "tilewright/runtime/cuda/CommandBuffer.h"
#include "tilewright/runtime/cuda/testing/GpuFixture.h"

namespace tilewright::runtime::conformance {
namespace {

using cuda::CommandBuffer;
using ::testing::Each;

class GpuProgramTest : public GpuFixture {};

TEST_F(GpuProgramTest, SeveralStepsAreOneGraphThatIsUpdatedInPlace) {
  constexpr int steps = 8, runs = 6;
  makeClient();
  auto program = load(chain(steps));
  const CommandBuffer::Counts before = CommandBuffer::counts();
  std::vector<Execution> kept; // results and addresses differ from run to run
  for (int i = 0; i < runs; ++i) {
    auto input = buffer(static_cast<float>(i));
    auto run = execute(*program, {input.get()});
    ASSERT_TRUE(run.isOk());
    kept.push_back(*std::move(run));
  }
  for (int i = 0; i < runs; ++i)
    EXPECT_THAT(read(*kept[size_t(i)].results[0][0]), Each(static_cast<float>(i + steps)));
  const CommandBuffer::Counts after = CommandBuffer::counts();
  EXPECT_EQ(after.graphsBuilt - before.graphsBuilt, 1);
  EXPECT_EQ(after.graphLaunches - before.graphLaunches, runs);
  EXPECT_EQ(after.singleLaunches, before.singleLaunches);
  // In each run but the first, at least the last step, whose result has a new address; at most
  // every step, if the temporaries and the operand moved, too.
  EXPECT_GE(after.nodesRenewed - before.nodesRenewed, runs - 1);
  EXPECT_LE(after.nodesRenewed - before.nodesRenewed, (runs - 1) * (steps + 1));
}

TEST_F(GpuProgramTest, AFailureOnOneDeviceLeavesTheOthersUsable) {
  if (!makeClientWith(4))
    GTEST_SKIP() << "there are " << client->devices().size() << " devices";
  auto bad = load(unary("trap"), {1, 1, {device(1).id()}});
  auto good = load(unary(), {1, 1, {device(2).id()}});
  auto x = buffer(1, 1), y = buffer(1, 2);
  EXPECT_EQ(execute(*bad, {x.get()})->done[0].await().error(), Error::cudaKernelFailed);
  EXPECT_THAT(read(*execute(*good, {y.get()})->results[0][0]), Each(2));
  // Buffers of the lost device cannot be copied to another one either.
  EXPECT_EQ((*x->copyTo(memory(2)))->definition().await().error(), Error::cudaLost);
}

/// The lost context is destroyed with the last client that uses it: a new client has a new context.
TEST_F(GpuProgramTest, ANewClientCanUseTheDeviceAgain) {
  makeClient();
  {
    auto bad = load(unary("trap"));
    auto x = buffer(1);
    EXPECT_FALSE(execute(*bad, {x.get()})->done[0].await().isOk());
  }
  client.reset();
  makeClient();
  auto x = buffer(1);
  EXPECT_THAT(read(*execute(*load(unary()), {x.get()})->results[0][0]), Each(2));
}

} // namespace
} // namespace tilewright::runtime::conformance
