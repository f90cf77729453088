#include "tools/tilewright/pictures/CommPicture.h"

#include "tilewright/plan/testing/Plan.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>

namespace tilewright::tools {
namespace {

using namespace collective;

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

/// Three cliques of two ranks each, which wait for each other in a cycle.
TestPlan circle() {
  TestPlan plan({{"x", 3}});
  plan.call("sum", plan.axes({0}), 9);
  plan.callInACircle();
  return plan;
}

TEST(CommPicture, ACircleIsRed) {
  const TestPlan plan = circle();
  ASSERT_EQ(checkPlan(plan).message(), "");
  auto verdict = verify(plan);
  ASSERT_TRUE(verdict.isOk());
  const std::string picture = communicationPicture(plan, *verdict);
  EXPECT_EQ(count(picture, "<rect x=") - plan.cliques.size(), 9u) << "three bars for each rank";
  EXPECT_EQ(count(picture, "fill=\"#d62728\" fill-opacity"), 3u);
  EXPECT_EQ(count(picture, "marker-end"), 3u);
  // The arrow's head follows the direction in which the curve ends. Its second control point is to
  // the right, so the head points left, at the bar in which the other rank waits.
  std::smatch curve;
  std::string rest = picture;
  for (; std::regex_search(rest, curve, std::regex(R"(C(\d+),\d+ (\d+),(\d+) (\d+),(\d+))"));
       rest = curve.suffix()) {
    EXPECT_GT(std::stoi(curve[2]), std::stoi(curve[4]));
    EXPECT_EQ(curve[3], curve[5]) << "it arrives level";
  }
  // docs/design/circle.svg is this picture.
  if (const char *path = std::getenv("TILEWRIGHT_WRITE_PICTURE"))
    std::ofstream(path) << picture;
}

TEST(CommPicture, OfManyRanksAndSitesThoseAreShownThatWait) {
  TestPlan plan({{"x", 1000}});
  const PlanIndex all = plan.axes({0});
  for (uint32_t i = 0; i < 200; ++i)
    plan.call("c" + std::to_string(i), all, i);
  std::vector<uint32_t> choices(1000);
  choices[777] = 1;
  plan.branchByRank(choices);
  plan.arm(0);
  plan.call("late<&>", all, 200);
  plan.end();
  auto verdict = verify(plan);
  ASSERT_TRUE(verdict.isOk());
  const std::string picture = communicationPicture(plan, *verdict);
  EXPECT_EQ(count(picture, ">rank 777<"), 1u);
  EXPECT_GT(count(picture, "late&lt;&amp;&gt;"), 0u);
  EXPECT_EQ(count(picture, ">c150<"), 0u) << "what lies long before is left out";
  EXPECT_LT(picture.size(), 100'000u);
}

} // namespace
} // namespace tilewright::tools
