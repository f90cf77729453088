#include "tilewright/plan/PlanBytes.h"

#include "tilewright/plan/testing/Plan.h"
#include "tilewright/plan/testing/RandomPlan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace tilewright::collective {
namespace {

using testing::HasSubstr;

TestPlan samplePlan() {
  TestPlan plan({{"data", 2}, {"model", 4}});
  const PlanIndex model = plan.axes({1}), half = plan.group({0, 3, 5});
  plan.loop(12);
  plan.arm(1);
  plan.call("all_reduce.0", model, 0);
  plan.end();
  plan.branchByRank({0, 0, 0, 0, 1, 1, 1, 1});
  plan.arm(0);
  plan.call("all_reduce.1", model, 1);
  plan.arm(1);
  plan.call("all_reduce.1", model, 1);
  plan.end();
  plan.call("all_reduce.2", half, 2);
  plan.sites[0].reduction = ReductionKind::add;
  plan.windows = {{model, 4096, 64}};
  return plan;
}

TEST(PlanBytes, WhatIsWrittenIsRead) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const CommPlan plan = randomPlan(seed);
    Result<CommPlan> read = readPlan(writePlan(plan));
    ASSERT_TRUE(read.isOk()) << std::move(read).takeStatus().message();
    ASSERT_EQ(*read, plan);
    ASSERT_EQ(fingerprintOf(*read), fingerprintOf(plan));
  }
  const TestPlan plan = samplePlan();
  EXPECT_EQ(*readPlan(writePlan(plan)), static_cast<const CommPlan &>(plan));
}

TEST(PlanBytes, NothingGrowsWithTheNumberOfRanks) {
  auto bytesFor = [](int64_t ranks) {
    TestPlan plan({{"data", ranks}, {"model", 8}});
    plan.call("A", plan.axes({0}), 0);
    return writePlan(plan).size();
  };
  EXPECT_LE(bytesFor(100'000), bytesFor(2) + 4);
}

TEST(PlanBytes, CutAndChangedBytesAreRefusedWithAnId) {
  const std::vector<std::byte> bytes = writePlan(samplePlan());
  for (size_t size = 0; size < bytes.size(); ++size) {
    Result<CommPlan> cut = readPlan(std::span(bytes).first(size));
    ASSERT_FALSE(cut.isOk()) << size;
    ASSERT_EQ(std::move(cut).takeStatus().error(), Error::commPlanEncoding);
  }
  std::vector<std::byte> changed = bytes;
  changed[0] = std::byte(9);
  EXPECT_THAT(readPlan(changed).takeStatus().message(), HasSubstr("has version 9"));
  changed = bytes;
  changed.push_back(std::byte(0));
  EXPECT_EQ(readPlan(changed).takeStatus().error(), Error::commPlanEncoding);
}

void expectInvalid(const std::string &text, const std::function<void(CommPlan &)> &breakIt) {
  CommPlan plan = samplePlan();
  ASSERT_EQ(checkPlan(plan).message(), "");
  breakIt(plan);
  const Status status = checkPlan(plan);
  EXPECT_EQ(status.error(), Error::commPlanInvalid) << text;
  EXPECT_THAT(status.message(), HasSubstr(text));
  EXPECT_FALSE(readPlan(writePlan(plan)).isOk());
}

TEST(CheckPlan, EveryRuleIsHeld) {
  expectInvalid("has size 0", [](auto &p) { p.mesh.axes[0].size = 0; });
  expectInvalid("their product at most", [](auto &p) { p.mesh.axes[0].size = int64_t(1) << 60; });
  expectInvalid("are called 'model'", [](auto &p) { p.mesh.axes[0].name = "model"; });
  expectInvalid("its order lists 1", [](auto &p) { p.mesh.order = {0}; });
  expectInvalid("names rank 8, but the mesh has 8 ranks",
                [](auto &p) { p.mesh.order = {0, 1, 2, 3, 4, 5, 6, 8}; });
  expectInvalid("names rank 1 twice", [](auto &p) { p.mesh.order = {0, 1, 1, 3, 4, 5, 6, 7}; });
  expectInvalid("has axis 2; its axes must be distinct and less than 2",
                [](auto &p) { p.cliques[0].axes = {2}; });
  expectInvalid("is defined by lists of ranks, but also has axes",
                [](auto &p) { p.cliques[1].axes = {0}; });
  expectInvalid("is defined by groups of ranks, but has no group",
                [](auto &p) { p.cliques[1].lists.clear(); });
  expectInvalid("is defined by axes, but also has lists of ranks",
                [](auto &p) { p.cliques[0].lists = {{0}}; });
  expectInvalid("names rank 9", [](auto &p) { p.cliques[1].lists[0][0] = 9; });
  expectInvalid("names rank 3 twice", [](auto &p) { p.cliques[1].lists[0][0] = 3; });
  expectInvalid("inside guard 1, expected an index less than 0",
                [](auto &p) { p.guards[0].parent = 1; });
  expectInvalid("has arm number 1, but is not inside a guard",
                [](auto &p) { p.guards[0].arm = 1; });
  expectInvalid("has 3 arms", [](auto &p) { p.guards[0].arms = 3; });
  expectInvalid("trip count -2", [](auto &p) { p.guards[0].tripCount = -2; });
  expectInvalid("has axis mask 8", [](auto &p) { p.guards[0].varies = 8; });
  expectInvalid("7 choices, expected one for each of the 8",
                [](auto &p) { p.guards[1].choices.pop_back(); });
  expectInvalid("chooses arm 5", [](auto &p) { p.guards[1].choices[0] = 5; });
  expectInvalid("is a loop, but only branches", [](auto &p) { p.guards[0].choices = {1}; });
  expectInvalid("uses clique 7", [](auto &p) { p.sites[0].clique = 7; });
  expectInvalid("is collective_permute with clique",
                [](auto &p) { p.sites[0].kind = Kind::permute; });
  expectInvalid("-1 bytes", [](auto &p) { p.sites[0].bytes = -1; });
  expectInvalid("is done at", [](auto &p) { p.sites[0].done = p.sites[0].start; });
  expectInvalid("not after the previous site", [](auto &p) { std::swap(p.sites[0], p.sites[1]); });
  expectInvalid("are at position", [](auto &p) { p.guards[0].position = p.sites[0].start; });
  expectInvalid("but comes before or after that arm", [](auto &p) { p.sites[3].guard = 0; });
  expectInvalid("exchange different data", [](auto &p) { p.sites[1].bytes = 1; });
  expectInvalid("different arms of a branch that depends on the rank", [](auto &p) {
    p.sites[3].collectiveId = 0;
    p.sites[3].clique = 0;
    p.sites[3].reduction = ReductionKind::add;
  });
  expectInvalid("window 0", [](auto &p) { p.windows[0].alignment = 48; });
  expectInvalid("window 0", [](auto &p) { p.windows[0].clique = 5; });
}

TEST(CommPlan, GroupsThatAreAxesBecomeAxes) {
  Mesh mesh{{{"x", 2}, {"one", 1}, {"y", 3}}, {}};
  const MeshCoordinates coordinates(mesh);
  for (std::vector<uint8_t> axes : {std::vector<uint8_t>{0}, {2}, {0, 2}, {2, 0}, {}}) {
    const CliqueSpec clique{CliqueSpec::Form::axes, axes, {}};
    EXPECT_EQ(cliqueSpecOf(mesh, groupsOf(coordinates, clique)), clique);
  }
  EXPECT_EQ(cliqueSpecOf(mesh, {{0, 1, 2}}).form, CliqueSpec::Form::groups) << "half of the ranks";
  EXPECT_EQ(cliqueSpecOf(mesh, {{0, 2, 1}, {3, 5, 4}}).form, CliqueSpec::Form::groups);
  // Ranks in another order than the positions of the mesh.
  mesh.order = {5, 4, 3, 2, 1, 0};
  const MeshCoordinates turned(mesh);
  EXPECT_EQ(groupsOf(turned, {CliqueSpec::Form::axes, {2}, {}}),
            (std::vector<std::vector<int64_t>>{{5, 4, 3}, {2, 1, 0}}));
  EXPECT_EQ(cliqueSpecOf(mesh, {{2, 1, 0}, {5, 4, 3}}).axes, std::vector<uint8_t>{2});
}

TEST(CommPlan, TheFirstDifferenceNamesBothSites) {
  const CommPlan a = samplePlan();
  CommPlan b = a;
  EXPECT_EQ(firstDifference(a, b, "one", "other"), "");
  b.sites[0].bytes = 128;
  b.sites[0].location = "step.py:77";
  const std::string text = firstDifference(a, b, "one", "other");
  EXPECT_THAT(text, HasSubstr("all_reduce.0 (add f32, 64 bytes, along model) at step.py:10"));
  EXPECT_THAT(text, HasSubstr("all_reduce.0 (add f32, 128 bytes, along model) at step.py:77"));
  b = a;
  b.sites.pop_back();
  EXPECT_THAT(firstDifference(a, b, "one", "other"), HasSubstr("absent on other"));
  b = a;
  b.mesh.axes[0].size = 4;
  EXPECT_THAT(firstDifference(a, b, "one", "other"), HasSubstr("other has data=4, model=4"));
  b = a;
  b.guards[0].tripCount = 3;
  EXPECT_THAT(firstDifference(a, b, "one", "other"), HasSubstr("3 iterations"));
  b = a;
  b.cliques[1].lists[0] = {0, 3};
  EXPECT_THAT(firstDifference(a, b, "one", "other"), HasSubstr("ranks [0, 3]"));
}

} // namespace
} // namespace tilewright::collective
