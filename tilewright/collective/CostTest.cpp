#include "tilewright/collective/Cost.h"

#include <gtest/gtest.h>

namespace tilewright::collective {
namespace {

using namespace std::chrono_literals;

/// The tables of docs/design/collective-engines.md, microseconds.
TEST(Cost, PredictsWhatWasMeasured) {
  struct Row {
    EngineKind engine;
    int64_t ranks;
    uint64_t bytes;
    double measured;
  };
  const Row rows[] = {
      {EngineKind::shm, 2, 4, 0.42},           {EngineKind::shm, 2, 65536, 5.65},
      {EngineKind::shm, 2, 1 << 20, 114.83},   {EngineKind::shm, 2, 64 << 20, 16293.44},
      {EngineKind::shm, 4, 4, 1.58},           {EngineKind::shm, 4, 65536, 18.06},
      {EngineKind::shm, 4, 1 << 20, 245.47},   {EngineKind::shm, 4, 64 << 20, 29924.08},
      {EngineKind::tcp, 2, 4, 4.36},           {EngineKind::tcp, 2, 1024, 4.90},
      {EngineKind::tcp, 2, 65536, 21.02},      {EngineKind::tcp, 2, 1 << 20, 320.31},
      {EngineKind::tcp, 2, 64 << 20, 33346.97}};
  for (const Row &row : rows) {
    const double predicted =
        std::chrono::duration<double, std::micro>(
            measuredCost().estimate({Kind::allReduce, row.bytes, row.ranks, row.engine}))
            .count();
    EXPECT_GT(predicted, row.measured / 1.5) << row.ranks << " ranks, " << row.bytes << " bytes";
    EXPECT_LT(predicted, row.measured * 4) << row.ranks << " ranks, " << row.bytes << " bytes";
  }
}

TEST(Cost, OneRankWaitsForNobodyAndMoreBytesTakeLonger) {
  EXPECT_EQ(measuredCost().estimate({Kind::allReduce, 1 << 20, 1, EngineKind::shm}), 0ns);
  for (Kind kind : {Kind::allReduce, Kind::allGather, Kind::reduceScatter, Kind::allToAll,
                    Kind::permute, Kind::broadcast, Kind::raggedAllToAll})
    EXPECT_GT(measuredCost().estimate({kind, 1 << 20, 4, EngineKind::tcp}),
              measuredCost().estimate({kind, 4, 4, EngineKind::tcp}));
  EXPECT_GT(measuredCost().estimate({Kind::barrier, 0, 4, EngineKind::tcp}), 0ns);
}

TEST(Cost, PatienceIsThreeTimesThePredictionWithinBounds) {
  class OneSecond final : public Cost {
    std::chrono::nanoseconds estimate(const Step &) const override { return 1s; }
  };
  EXPECT_EQ(patienceFor(OneSecond(), {}, 120s), 3s);
  EXPECT_EQ(patienceFor(OneSecond(), {}, 2s), 2s);
  EXPECT_EQ(patienceFor(measuredCost(), {Kind::allReduce, 4, 2, EngineKind::shm}, 120s), 500ms);
}

} // namespace
} // namespace tilewright::collective
