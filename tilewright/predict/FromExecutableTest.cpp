#include "tilewright/artifact/StepCosts.h"
#include "tilewright/plan/PlanBytes.h"
#include "tilewright/predict/Report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace tilewright::predict {
namespace {

using artifact::Executable;
using artifact::Step;
using collective::CliqueSpec;
using collective::CommPlan;
using testing::HasSubstr;

Cluster named(std::string_view name, int64_t ranks) {
  return *withRanks(*parseCluster(shippedCluster(name), name), ranks);
}

/// An executable that is written step by step, with its plan.
struct Builder {
  Executable executable;
  CommPlan plan;
  uint32_t position = 0;

  Builder(int64_t data, int64_t model) {
    executable.partitions = data * model;
    executable.blocks.resize(1);
    executable.allocations = {{artifact::Storage::temporary, 0, 1 << 20, 0}};
    executable.kernels = {{"kernel", 1, 0, 0}};
    plan.mesh.axes = {{"data", data}, {"model", model}};
  }
  uint32_t clique(std::vector<uint8_t> axes) {
    plan.cliques.push_back({CliqueSpec::Form::axes, std::move(axes), {}});
    return static_cast<uint32_t>(plan.cliques.size() - 1);
  }
  void kernel(artifact::Index block, int64_t bytes) {
    executable.blocks[block].steps.push_back(
        {artifact::LaunchStep{0, {{0, 0, bytes}}}, "kernel", "", ""});
  }
  void sum(artifact::Index block, uint32_t clique, int64_t bytes,
           collective::PlanIndex guard = collective::nothing, uint32_t arm = 0) {
    collective::Site site;
    site.bytes = bytes;
    site.clique = clique;
    site.collectiveId = static_cast<uint32_t>(plan.sites.size());
    site.guard = guard;
    site.arm = arm;
    site.start = position++;
    site.done = position++;
    site.reduction = collective::ReductionKind::add;
    site.name = "all_reduce." + std::to_string(plan.sites.size());
    const auto id = static_cast<uint32_t>(plan.sites.size());
    artifact::CollectiveStartStep start;
    start.id = start.order = id;
    executable.blocks[block].steps.push_back({start, "all_reduce", "", ""});
    executable.blocks[block].steps.push_back({artifact::CollectiveDoneStep{id}, "done", "", ""});
    plan.sites.push_back(site);
  }
  const Executable &finish() {
    executable.communication = collective::writePlan(plan);
    return executable;
  }
};

TEST(FromExecutable, AMeshProgramHasOneClass) {
  Builder builder(16384, 8);
  builder.kernel(0, 29000000);
  builder.sum(0, builder.clique({1}), 1 << 20);
  builder.sum(0, builder.clique({0}), 1 << 20);
  const Cluster cluster = named("h100", 131072);
  Result<PricedProgram> priced = priceProgram(builder.finish(), cluster);
  ASSERT_TRUE(priced.isOk()) << std::move(priced).takeStatus().message();
  EXPECT_EQ(priced->program.classes.size(), 1u);
  EXPECT_EQ(priced->program.classes[0].ranks, 131072);
  ASSERT_EQ(priced->program.exchanges.size(), 2u);
  EXPECT_EQ(priced->program.exchanges[0].level, 0u); // inside a node
  EXPECT_EQ(priced->program.exchanges[1].level, 1u);
  EXPECT_DOUBLE_EQ(priced->program.exchanges[0].seconds,
                   secondsOf(cluster, CollectiveKind::allReduce, 1 << 20, {{8, 1}}));
  EXPECT_DOUBLE_EQ(priced->program.exchanges[1].seconds,
                   secondsOf(cluster, CollectiveKind::allReduce, 1 << 20, {{1, 16384}}));
  EXPECT_NEAR(priced->program.nodes[0].ops[0][0].seconds, cluster.launch + 1e-5, 1e-12);
  // The best of several runs, because other processes may interrupt one.
  auto best = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 10; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(priceProgram(builder.executable, cluster).isOk());
    best = std::min(best, std::chrono::steady_clock::now() - begin);
  }
  EXPECT_LT(best, std::chrono::milliseconds(20));
}

TEST(FromExecutable, AGroupOfAPermutedMeshIsPricedByItsMembers) {
  Builder builder(8, 8);
  builder.sum(0, builder.clique({1}), 1 << 20);
  const Cluster cluster = named("h100", 64);
  EXPECT_EQ(shapeOf(cluster, builder.plan, builder.plan.cliques[0]).counts,
            (std::vector<int64_t>{8, 1}));
  // Transposed: what was a row of the mesh is spread over the nodes.
  for (int64_t i = 0; i < 64; ++i)
    builder.plan.mesh.order.push_back(i % 8 * 8 + i / 8);
  EXPECT_EQ(shapeOf(cluster, builder.plan, builder.plan.cliques[0]).counts,
            (std::vector<int64_t>{1, 8}));
}

TEST(FromExecutable, LoopsMultiplyAndUnknownLoopsCountOnce) {
  for (int64_t trips : {int64_t(100), int64_t(0), int64_t(-1)}) {
    Builder builder(1, 8);
    builder.executable.blocks.resize(3);
    builder.executable.blocks[0].steps.push_back(
        {artifact::WhileStep{1, 2, {}, trips}, "while", "train.py:9", ""});
    builder.plan.guards.push_back({collective::Guard::Kind::loop,
                                   collective::nothing,
                                   0,
                                   builder.position++,
                                   2,
                                   trips,
                                   0,
                                   {},
                                   ""});
    builder.kernel(2, 29000000);
    builder.sum(2, builder.clique({1}), 1 << 20, 0, 1);
    const Cluster cluster = named("h100", 8);
    Result<Prediction> prediction = predictStep(builder.finish(), cluster, 1.1);
    ASSERT_TRUE(prediction.isOk()) << std::move(prediction).takeStatus().message();
    const double once =
        cluster.launch + 1e-5 + secondsOf(cluster, CollectiveKind::allReduce, 1 << 20, {{8, 1}});
    EXPECT_NEAR(prediction->smooth.seconds, once * double(trips < 0 ? 1 : trips), 1e-9) << trips;
    EXPECT_EQ(prediction->remarks.size(), trips >= 0 ? 1u : 2u);
    if (trips < 0)
      EXPECT_THAT(prediction->remarks[1], HasSubstr("train.py:9"));
  }
}

/// Ranks of the first half take another arm than the others, and meet them afterwards.
TEST(FromExecutable, RanksThatBranchDifferentlyAreClasses) {
  Builder builder(2, 4);
  builder.executable.blocks.resize(3);
  builder.executable.blocks[0].steps.push_back(
      {artifact::BranchStep{{}, false, {1, 2}}, "case", "", ""});
  collective::Guard guard;
  guard.position = builder.position++;
  guard.varies = 1;
  guard.choices = {0, 1};
  builder.plan.guards.push_back(guard);
  const uint32_t model = builder.clique({1}), all = builder.clique({0, 1});
  builder.kernel(1, 29000000);
  builder.sum(1, model, 1 << 20, 0, 0);
  builder.kernel(2, 290000000);
  builder.sum(0, all, 1 << 10);
  const Cluster cluster = named("h100", 8);
  Result<Prediction> prediction = predictStep(builder.finish(), cluster, 1.5);
  ASSERT_TRUE(prediction.isOk()) << std::move(prediction).takeStatus().message();
  ASSERT_EQ(prediction->program.classes.size(), 2u);
  EXPECT_EQ(prediction->program.classes[0].ranks, 4);
  EXPECT_EQ(prediction->program.exchanges[0].classes, (std::vector<uint32_t>{0}));
  EXPECT_EQ(prediction->program.exchanges[1].classes, (std::vector<uint32_t>{0, 1}));
  const double kernel = cluster.launch + 1e-4;
  EXPECT_NEAR(prediction->smooth.seconds,
              kernel + secondsOf(cluster, CollectiveKind::allReduce, 1 << 10, {{8, 1}}), 1e-9);
  EXPECT_GT(prediction->slowSeconds, prediction->step.seconds);
}

/// In a shift along a line the first rank only sends and the last only receives.
TEST(FromExecutable, EndsOfALineAreClasses) {
  CommPlan plan;
  plan.mesh.axes = {{"x", 6}};
  plan.cliques = {{CliqueSpec::Form::pairs, {}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}}};
  const RankClasses classes = classesOf(plan);
  EXPECT_EQ(classes.representatives, (std::vector<int64_t>{0, 1, 4, 5}));
  EXPECT_EQ(classes.sizes, (std::vector<int64_t>{1, 3, 1, 1}));
  plan.cliques = {{CliqueSpec::Form::pairs, {}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}}}};
  EXPECT_EQ(classesOf(plan).sizes, (std::vector<int64_t>{6}));
}

TEST(FromExecutable, APlanOfAnotherProgramIsRefused) {
  Builder builder(1, 8);
  builder.sum(0, builder.clique({1}), 1 << 20);
  builder.finish();
  builder.executable.blocks[0].steps.clear();
  Status status = priceProgram(builder.executable, named("h100", 8)).takeStatus();
  EXPECT_EQ(status.error(), Error::clusterMismatch);
  EXPECT_THAT(status.message(), HasSubstr("has 0 collectives in 0 loops and branches, but its "
                                          "communication plan lists 1 in 0"));
  builder.executable.communication.resize(3);
  EXPECT_FALSE(priceProgram(builder.executable, named("h100", 8)).isOk());
  EXPECT_EQ(priceProgram(builder.executable, named("h100", 4)).takeStatus().error(),
            Error::clusterMismatch);
}

TEST(Report, SaysWhereTheTimeGoes) {
  Builder builder(2, 8);
  builder.kernel(0, 290000000);
  builder.sum(0, builder.clique({1}), 1 << 26);
  Result<Prediction> prediction = predictStep(builder.finish(), named("h100", 16), 1.1);
  ASSERT_TRUE(prediction.isOk());
  const std::string text = describe(*prediction);
  EXPECT_THAT(text, HasSubstr("16 of 16 chips 'h100'"));
  EXPECT_THAT(text, HasSubstr("0 % of it is hidden"));
  EXPECT_THAT(text, HasSubstr("one rank 10 % slower"));
  EXPECT_THAT(text, HasSubstr("noticed after 2.00 s"));
  EXPECT_THAT(text, HasSubstr("|####"));
  EXPECT_THAT(text, HasSubstr("all_reduce.0"));
  EXPECT_THAT(text, HasSubstr("the executable has no step costs"));
}

} // namespace
} // namespace tilewright::predict
