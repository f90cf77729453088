#include "tilewright/transform/schedule/LiveIntervals.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <chrono>
#include <random>

namespace tilewright::schedule {
namespace {

std::vector<Segment> overlapping(const LiveIntervals &intervals, Segment segment) {
  std::vector<Segment> found;
  intervals.anyOverlap(segment, [&](const Segment &one) {
    found.push_back(one);
    return false;
  });
  return found;
}

TEST(LiveIntervals, FindsALongSegmentBehindManyShortOnes) {
  LiveIntervals intervals(Segment{0, 100});
  for (int64_t i = 1; i < 50; ++i)
    intervals.add({i, i});
  EXPECT_EQ(overlapping(intervals, {90, 95}), (std::vector<Segment>{{0, 100}}));
  EXPECT_EQ(intervals.hull(), (Segment{0, 100}));
  EXPECT_TRUE(overlapping(intervals, {101, 200}).empty());
}

TEST(LiveIntervals, AgreesWithLookingAtAllOfThem) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    LiveIntervals one, two;
    std::vector<Segment> all;
    for (int i = 0; i < 40; ++i) {
      int64_t begin = random() % 100, end = begin + random() % (i % 7 ? 5 : 60);
      all.push_back({begin, end});
      (i % 3 ? one : two).add({begin, end});
    }
    one.add(two);
    EXPECT_EQ(one.size(), all.size());
    EXPECT_EQ(two.size(), 0u);
    Segment query{static_cast<int64_t>(random() % 100), 0};
    query.end = query.begin + random() % 20;
    size_t expected = 0;
    for (const Segment &segment : all)
      expected += segment.overlaps(query);
    EXPECT_EQ(overlapping(one, query).size(), expected);
  }
}

/// A chain of ops that each work in place; a quadratic algorithm would take 10^11 steps.
TEST(LiveIntervals, AChainOfManyIsNotQuadratic) {
  LiveIntervals chain(Segment{0, 1});
  size_t asked = 0;
  for (int64_t i = 1; i < 400'000; ++i) {
    LiveIntervals next(Segment{i, i + 1});
    for (const Segment &segment : next.segments())
      chain.anyOverlap(segment, [&](const Segment &) {
        ++asked;
        return false;
      });
    chain.add(next);
  }
  EXPECT_EQ(asked, 399'999u);
}

} // namespace
} // namespace tilewright::schedule
