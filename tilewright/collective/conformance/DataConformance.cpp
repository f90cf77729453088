// Tests the results of every kind, type, size and group, bit by bit.
#include "tilewright/collective/conformance/Reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace tilewright::collective::conformance {
namespace {

using namespace std::chrono_literals;

class Data : public ::testing::TestWithParam<Kit> {
protected:
  static constexpr int64_t ranks = 4;

  /// Runs all cases in order, with heap memory and, if the engine allocates memory, with the
  /// engine's.
  static void tryAll(const std::vector<Case> &cases, int64_t ranks = Data::ranks) {
    auto made = GetParam().makeJob(ranks, 60s);
    ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    Job &job = **made;
    const std::vector<Status> ends = runRanks(job, ranks, [&](Communicator &rank) {
      for (const Case &test : cases) {
        const Trial trial(test, rank.rank(), ranks);
        TILEWRIGHT_TRY(trial.run(rank));
        auto allocate = [&](size_t bytes) { return job.allocate(rank.rank(), bytes); };
        if (allocate(1)) {
          TILEWRIGHT_TRY(trial.run(rank, allocate));
          // Operands in the engine's memory, results on the heap.
          bool isShared = false;
          TILEWRIGHT_TRY(trial.run(rank, [&](size_t bytes) {
            return (isShared = !isShared) ? allocate(bytes) : nullptr;
          }));
        }
      }
      return Status();
    });
    for (const Status &end : ends)
      EXPECT_TRUE(end.isOk()) << end.toString();
  }
};

const std::vector<Groups> manyGroups = {
    {}, {{0, 1, 2, 3}}, {{3, 1}, {0, 2}}, {{0}, {1}, {2}, {3}}, {{2, 0, 1}, {3}}};

std::vector<ElementType> everyType() {
  std::vector<ElementType> types;
  for (size_t i = 0; i < numerics::elementTypeCount; ++i)
    types.push_back(static_cast<ElementType>(i));
  return types;
}

TEST_P(Data, AllReduceOfEveryTypeByEveryOperation) {
  std::vector<Case> cases;
  for (ElementType type : everyType())
    for (ReductionKind operation :
         {ReductionKind::add, ReductionKind::multiply, ReductionKind::maximum,
          ReductionKind::minimum, ReductionKind::bitAnd, ReductionKind::bitOr,
          ReductionKind::bitXor})
      if (combineFor(operation, type))
        for (int64_t count : {7, 300})
          cases.push_back({Kind::allReduce, type, {count}, {}, operation});
  tryAll(cases, 3);
}

TEST_P(Data, AllReduceOfEverySizeInEveryGroup) {
  std::vector<Case> cases;
  for (const Groups &groups : manyGroups)
    for (ElementType type : {ElementType::f32, ElementType::bf16})
      for (int64_t count : {0, 1, 7, 13, 2049, 4093})
        for (bool isInPlace : {false, true})
          cases.push_back(
              {Kind::allReduce, type, {count}, groups, ReductionKind::add, 0, 0, isInPlace});
  for (bool isInPlace : {false, true})
    cases.push_back(
        {Kind::allReduce, ElementType::ui8, {1'000'003}, {}, ReductionKind::add, 0, 0, isInPlace});
  tryAll(cases);
}

TEST_P(Data, AllReduceOfSeveralTensors) {
  std::vector<Case> cases;
  for (size_t tensors : {0, 2, 3, 40})
    for (int64_t count : {0, 1, 5, 999, 4'001})
      cases.push_back({Kind::allReduce,
                       ElementType::f32,
                       {count},
                       {},
                       ReductionKind::add,
                       0,
                       0,
                       true,
                       tensors});
  tryAll(cases, 3);
}

TEST_P(Data, AllGatherOfEveryTypeAlongEveryDimension) {
  std::vector<Case> cases;
  for (ElementType type : everyType())
    cases.push_back({Kind::allGather, type, {7}, {}});
  for (const Groups &groups : manyGroups)
    for (const Dims &dims : {Dims{1}, Dims{0}, Dims{5, 3, 2}, Dims{3, 0, 2}, Dims{17, 25, 11}})
      for (int64_t dim = 0; dim < static_cast<int64_t>(dims.size()); ++dim)
        cases.push_back({Kind::allGather, ElementType::f16, dims, groups, ReductionKind::add, dim});
  cases.push_back({Kind::allGather, ElementType::i8, {1'000'003}, {{3, 1}, {0, 2}}});
  tryAll(cases);
}

TEST_P(Data, ReduceScatterOfEveryTypeAlongEveryDimension) {
  std::vector<Case> cases;
  for (ElementType type : everyType())
    if (combineFor(ReductionKind::add, type))
      cases.push_back({Kind::reduceScatter, type, {28}, {}});
  for (const Groups &groups : manyGroups)
    for (const Dims &dims : {Dims{12}, Dims{0}, Dims{12, 24, 12}})
      for (int64_t dim = 0; dim < static_cast<int64_t>(dims.size()); ++dim)
        cases.push_back(
            {Kind::reduceScatter, ElementType::f32, dims, groups, ReductionKind::add, dim});
  cases.push_back({Kind::reduceScatter, ElementType::i8, {1'000'004}, {}});
  tryAll(cases);
}

TEST_P(Data, AllToAllOfEveryTypeBetweenAllDimensions) {
  std::vector<Case> cases;
  for (ElementType type : everyType())
    cases.push_back({Kind::allToAll, type, {28}, {}});
  for (const Groups &groups : manyGroups)
    for (const Dims &dims : {Dims{12}, Dims{0}, Dims{12, 36, 12}})
      for (int64_t join = 0; join < static_cast<int64_t>(dims.size()); ++join)
        for (int64_t split = 0; split < static_cast<int64_t>(dims.size()); ++split)
          cases.push_back(
              {Kind::allToAll, ElementType::bf16, dims, groups, ReductionKind::add, join, split});
  tryAll(cases);
}

TEST_P(Data, PermuteAndBroadcastGiveZerosToWhoeverIsLeftOut) {
  std::vector<Case> cases;
  for (int64_t count : {0, 1, 7, 50'000}) {
    for (const Groups &pairs : {Groups{}, Groups{{0, 1}, {1, 2}}, Groups{{0, 1}, {1, 0}, {2, 2}},
                                Groups{{0, 1}, {1, 2}, {2, 3}, {3, 0}}, Groups{{3, 1}}})
      cases.push_back({Kind::permute, ElementType::ui8, {count}, pairs});
    for (const Groups &groups : {Groups{{2, 0}}, Groups{{3, 1}, {0, 2}}, Groups{{1, 2, 3, 0}},
                                 Groups{{0}, {1}, {2}, {3}}, Groups{}})
      cases.push_back({Kind::broadcast, ElementType::ui8, {count}, groups});
  }
  cases.push_back({Kind::permute, ElementType::ui8, {1'000'003}, {{0, 1}, {1, 2}}});
  for (ElementType type : everyType()) {
    cases.push_back({Kind::permute, type, {3}, {{0, 1}, {1, 2}}});
    cases.push_back({Kind::broadcast, type, {3}, {}});
  }
  tryAll(cases);
}

TEST_P(Data, OneRankAlone) {
  std::vector<Case> cases;
  for (Kind kind : {Kind::allReduce, Kind::allGather, Kind::reduceScatter, Kind::allToAll,
                    Kind::broadcast, Kind::barrier})
    for (int64_t count : {0, 5, 100'000})
      cases.push_back({kind,
                       ElementType::f32,
                       {count},
                       {},
                       ReductionKind::add,
                       0,
                       0,
                       false,
                       kind == Kind::barrier ? size_t(0) : size_t(1)});
  tryAll(cases, 1);
}

TEST_P(Data, RaggedAllToAllMovesRowsOfAnyNumber) {
  const std::vector<Status> ends = runRanks(GetParam(), 3, 60s, [&](Communicator &rank) -> Status {
    for (int64_t scale : {1, 700})
      TILEWRIGHT_TRY(tryRaggedRows({}, 5, scale, rank));
    return Status();
  });
  for (const Status &end : ends)
    EXPECT_TRUE(end.isOk()) << end.toString();
}

TEST_P(Data, AFunctionSeesAllTensorsInTheOrderOfTheGroup) {
  const Groups groups = {{2, 0, 1}};
  const std::vector<Status> ends = runRanks(GetParam(), 3, 60s, [&](Communicator &rank) {
    for (size_t count : {size_t(7), size_t(20'000)}) {
      std::vector<float> a(count, static_cast<float>(rank.rank() + 1)), b(count, 1);
      Call call;
      call.kind = Kind::allReduce;
      call.groups = &groups;
      call.name = "with a function";
      // A reduction that is not commutative: ten times the first argument plus the second.
      call.reduction = {ReductionKind::function, [](const void *const *args, void *const *results) {
                          auto at = [&](int i) { return *static_cast<const float *>(args[i]); };
                          *static_cast<float *>(results[0]) = 10 * at(0) + at(2);
                          *static_cast<float *>(results[1]) = at(1) + at(3);
                        }};
      for (std::vector<float> *values : {&a, &b})
        call.tensors.push_back({ElementType::f32,
                                {static_cast<int64_t>(count)},
                                {static_cast<int64_t>(count)},
                                reinterpret_cast<const std::byte *>(values->data()),
                                reinterpret_cast<std::byte *>(values->data())});
      TILEWRIGHT_TRY(rank.run(call));
      for (size_t i = 0; i < count; ++i)
        if (a[i] != 312 || b[i] != 3)
          return Status(Code::internal, "wrong sum");
    }
    return Status();
  });
  for (const Status &end : ends)
    EXPECT_TRUE(end.isOk()) << end.toString();
}

INSTANTIATE_TEST_SUITE_P(Of, Data, ::testing::ValuesIn(kits()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace tilewright::collective::conformance
