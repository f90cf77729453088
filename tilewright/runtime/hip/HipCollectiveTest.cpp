// Collectives through RCCL, the virtual one of this build: results, order and a missing library.
#include "tilewright/runtime/conformance/Kit.h"
#include "tilewright/runtime/cuda/testing/Kernels.h"

namespace tilewright::runtime::conformance {
namespace {

using artifact::CollectiveDoneStep;
using artifact::CollectiveStartStep;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t ranks = 4;

class HipCollectiveTest : public Fixture {
protected:
  /// y = sum over ranks of (x + 1), + 1
  static Program sums() {
    Program p("sums");
    p.executable.partitions = ranks;
    p.executable.types = {floats()};
    Slice x = p.parameter(floats()), y = p.result(floats());
    Slice a = p.temporary(4 * length), b = p.temporary(4 * length);
    p.launch("slow", length, {x, a});
    CollectiveStartStep start;
    start.kind = numerics::CollectiveKind::allReduce;
    start.groups = {{0, 1, 2, 3}};
    start.reduction = numerics::ReductionKind::add;
    start.operands = {{a, 0}};
    start.results = {{b, 0}};
    p.step(start, 0, "all_reduce");
    p.step(CollectiveDoneStep{0}, 0, "done");
    p.launch("add_one", length, {b, y});
    return p;
  }
  void makeClient(const std::string &library) {
    RuntimeOptions options;
    options.ncclLibrary = library;
    auto made = cuda::testClient(options);
    ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    client = *std::move(made);
    if (client->devices().size() < ranks)
      GTEST_SKIP() << "needs " << ranks << " devices";
  }
};

TEST_F(HipCollectiveTest, RcclSumsBetweenTheStepsOfThePlan) {
  makeClient("");
  if (IsSkipped())
    return;
  auto program = load(sums());
  ASSERT_TRUE(program);
  for (int round = 0; round < 3; ++round) {
    Arguments arguments = onEachDevice({1, 2, 3, 4});
    auto run = program->execute(arguments.lists);
    ASSERT_TRUE(run.isOk()) << std::move(run).takeStatus().toString();
    for (size_t i = 0; i < ranks; ++i)
      EXPECT_THAT(read(*run->results[i][0]), Each(15));
  }
}

TEST_F(HipCollectiveTest, AMissingLibraryAndOurOwnKernelsAreRefusedWithACode) {
  struct {
    const char *option;
    Error error;
    const char *words;
  } cases[] = {{"/nowhere/librccl.so.1", Error::carrierUnavailable, "/nowhere/librccl.so.1"},
               {"none", Error::optionValue, "no collective kernels for AMD GPUs"}};
  for (const auto &[option, error, words] : cases) {
    makeClient(option);
    if (IsSkipped())
      return;
    auto loaded = client->load(std::make_shared<artifact::Executable>(sums().executable),
                               *client->defaultAssignment(1, ranks));
    ASSERT_FALSE(loaded.isOk());
    Status status = std::move(loaded).takeStatus();
    EXPECT_EQ(status.error(), error) << status.toString();
    EXPECT_THAT(status.message(), HasSubstr(words));
  }
}

} // namespace
} // namespace tilewright::runtime::conformance
