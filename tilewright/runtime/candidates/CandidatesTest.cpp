#include "tilewright/runtime/candidates/Candidates.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

namespace tilewright::runtime {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> names = {"ours", "theirs"};

/// The second candidate is fast; the first is slower than any delay on a busy machine.
void runSlowAndFast(size_t candidate) {
  if (candidate == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

TEST(Candidates, TheFirstIsTakenWithoutMeasuring) {
  Candidates book;
  int runs = 0;
  EXPECT_EQ(book.choose("p", names, [&](size_t) { ++runs; }), 0u);
  EXPECT_EQ(runs, 0);
  EXPECT_FALSE(book.find("p")->isMeasured);
}

TEST(Candidates, TheFasterIsTakenAndAllTimesAreKept) {
  Candidates book;
  book.set({.measure = true, .secondsPerProblem = 0.01});
  EXPECT_EQ(book.choose("p", names, runSlowAndFast), 1u);
  const Decision decision = *book.find("p");
  EXPECT_TRUE(decision.isMeasured);
  EXPECT_GE(decision.candidates[0].seconds, 0.03);
  EXPECT_LT(decision.candidates[1].seconds, decision.candidates[0].seconds);
  EXPECT_THAT(book.toString(), ContainsRegex("p\n    ours [0-9]+\\.[0-9]+ ms\n"));
  EXPECT_THAT(book.toString(), HasSubstr("  * theirs "));
}

TEST(Candidates, AProblemIsMeasuredOnce) {
  Candidates book;
  book.set({.measure = true});
  book.choose("p", names, runSlowAndFast);
  int runs = 0;
  EXPECT_EQ(book.choose("p", names, [&](size_t) { ++runs; }), 1u);
  EXPECT_EQ(runs, 0);
}

TEST(Candidates, ADecisionIsToldOnceWhenItWasMeasured) {
  Candidates book;
  std::vector<std::string> told;
  book.set({.measure = true,
            .secondsPerProblem = 0.01,
            .onMeasured = [&](const Decision &decision) { told.push_back(decision.problem); }});
  book.choose("p", names, runSlowAndFast);
  book.choose("p", names, runSlowAndFast);
  EXPECT_THAT(told, ElementsAre("p"));
}

TEST(Candidates, WhatIsKnownFromBeforeCountsWhileItIsThere) {
  Candidates book;
  book.add({.problem = "p", .candidates = {{"theirs", 1e-3}, {"ours", 2e-3}}, .chosen = 0});
  EXPECT_EQ(book.choose("p", names, runSlowAndFast), 1u);
  const std::vector<std::string> alone = {"ours"};
  EXPECT_EQ(book.choose("p", alone, runSlowAndFast), 0u);
}

TEST(Candidates, ADecisionForNobodyIsIgnored) {
  Candidates book;
  book.add({.problem = "p", .candidates = {}, .chosen = 3});
  EXPECT_EQ(book.find("p"), std::nullopt);
}

} // namespace
} // namespace tilewright::runtime
