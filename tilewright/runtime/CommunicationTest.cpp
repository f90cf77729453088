#include "tilewright/runtime/Communication.h"

#include "tilewright/plan/PlanBytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace tilewright::runtime {
namespace {

using testing::HasSubstr;

struct Sample {
  artifact::Executable executable;
  collective::CommPlan plan;
};

/// An all_reduce in two groups of 2 of the 4 ranks, and a permutation between 2 ranks.
Sample sample() {
  Sample made;
  made.executable.partitions = 4;
  made.executable.blocks.resize(1);
  artifact::CollectiveStartStep sum, shift;
  sum.kind = artifact::CollectiveKind::allReduce;
  sum.groups = {{2, 3}, {0, 1}};
  sum.operands = {{{0, 0, 64}, 0}};
  shift.kind = artifact::CollectiveKind::permute;
  shift.order = shift.id = 1;
  shift.groups = {{0, 1}, {1, 0}};
  shift.operands = {{{0, 0, 8}, 0}};
  made.executable.blocks[0].steps = {{sum, "", ""},
                                     {artifact::CollectiveDoneStep{0}, "", ""},
                                     {shift, "", ""},
                                     {artifact::CollectiveDoneStep{1}, "", ""}};
  collective::CommPlan &plan = made.plan;
  plan.mesh.axes = {{"x", 2}, {"y", 2}};
  plan.cliques = {{collective::CliqueSpec::Form::axes, {1}, {}},
                  {collective::CliqueSpec::Form::pairs, {}, {{1, 0}, {0, 1}}}};
  plan.sites.resize(2);
  plan.sites[0].bytes = 64;
  plan.sites[0].done = 1;
  plan.sites[1] = plan.sites[0];
  plan.sites[1].kind = collective::Kind::permute;
  plan.sites[1].bytes = 8;
  plan.sites[1].clique = plan.sites[1].collectiveId = 1;
  plan.sites[1].start = 2;
  plan.sites[1].done = 3;
  return made;
}

Status statusOf(Sample made) {
  made.executable.communication = collective::writePlan(made.plan);
  return communicationOf(made.executable).takeStatus();
}

TEST(Communication, ThePlanOfAnExecutableIsRead) {
  Sample made = sample();
  EXPECT_FALSE(communicationOf(made.executable)->has_value());
  made.executable.communication = collective::writePlan(made.plan);
  auto read = communicationOf(made.executable);
  ASSERT_TRUE(read.isOk()) << std::move(read).takeStatus().message();
  EXPECT_EQ(**read, made.plan);
}

void expectForeign(const std::string &text, const std::function<void(Sample &)> &change) {
  Sample made = sample();
  change(made);
  const Status status = statusOf(std::move(made));
  EXPECT_EQ(status.error(), Error::commPlanForeign);
  EXPECT_THAT(status.message(), HasSubstr(text));
}

TEST(Communication, APlanOfAnotherProgramIsRefused) {
  using Start = artifact::CollectiveStartStep;
  auto start = [](Sample &s, size_t i) -> Start & {
    return std::get<Start>(s.executable.blocks[0].steps[2 * i].action);
  };
  expectForeign("for 4 ranks, but the executable is for 8",
                [](Sample &s) { s.executable.replicas = 2; });
  expectForeign("is all_reduce of 32 bytes",
                [&](Sample &s) { start(s, 0).operands[0].slice.bytes = 32; });
  expectForeign("all_gather of 64 bytes",
                [&](Sample &s) { start(s, 0).kind = artifact::CollectiveKind::allGather; });
  expectForeign("has different ranks", [&](Sample &s) { start(s, 0).groups = {{0, 1}}; });
  expectForeign("has different ranks", [&](Sample &s) { start(s, 1).groups = {{0, 1}}; });
  expectForeign("appears twice", [&](Sample &s) { start(s, 1).order = 0; });
  expectForeign("no step of the executable performs",
                [](Sample &s) { s.executable.blocks[0].steps.resize(2); });
  expectForeign("has collective id 7", [](Sample &s) { s.plan.sites[1].collectiveId = 7; });
}

} // namespace
} // namespace tilewright::runtime
