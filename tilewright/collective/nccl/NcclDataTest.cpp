// Data of collectives on 2, 4 and 8 GPUs of one process, over every division of the ranks into
// groups, compared bit by bit with sums in the order of the ranks.
#include "tilewright/collective/conformance/Reference.h"

#include <gtest/gtest.h>

#include <thread>

namespace tilewright::collective::conformance {
namespace {

using namespace std::chrono_literals;

/// Groups that axes of a mesh of two would give, one group, pairs in reverse order, and ranks
/// alone.
std::vector<Groups> groupsOf(int64_t ranks) {
  std::vector<Groups> all = {{}};
  for (int64_t size = 1; size <= ranks; size *= 2) {
    Groups near, far;
    for (int64_t first = 0; first < ranks / size; ++first) {
      near.emplace_back();
      far.emplace_back();
      for (int64_t i = 0; i < size; ++i) {
        near.back().push_back(first * size + i);
        far.back().push_back(first + (size - 1 - i) * (ranks / size));
      }
    }
    all.push_back(near);
    all.push_back(far);
  }
  return all;
}

class NcclData : public ::testing::TestWithParam<int64_t> {};

TEST_P(NcclData, EveryKindInEverySubMesh) {
  const int64_t ranks = GetParam();
  std::vector<Case> cases;
  for (const Groups &groups : groupsOf(ranks)) {
    for (ElementType type : {ElementType::f32, ElementType::bf16, ElementType::i64})
      for (int64_t count : {1, 7, 1031})
        for (bool isInPlace : {false, true})
          cases.push_back(
              {Kind::allReduce, type, {count}, groups, ReductionKind::add, 0, 0, isInPlace});
    cases.push_back(
        {Kind::allReduce, ElementType::f32, {33}, groups, ReductionKind::add, 0, 0, true, 5});
    cases.push_back({Kind::allGather, ElementType::f16, {5, 3}, groups});
    cases.push_back({Kind::reduceScatter, ElementType::f32, {ranks * 3, 5}, groups});
    cases.push_back(
        {Kind::reduceScatter, ElementType::i8, {ranks, 3}, groups, ReductionKind::multiply});
    cases.push_back({Kind::allToAll, ElementType::bf16, {ranks * 2, 3}, groups});
    cases.push_back({Kind::broadcast, ElementType::c64, {11}, groups});
  }
  Groups ring, half;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    ring.push_back({rank, (rank + 1) % ranks});
    if (rank % 2 == 0)
      half.push_back({rank, rank + 1});
  }
  cases.push_back({Kind::permute, ElementType::f64, {1001}, ring});
  cases.push_back({Kind::permute, ElementType::i16, {7}, half});
  const std::vector<Status> ends = runRanks(kits().front(), ranks, 60s, [&](Communicator &rank) {
    for (const Case &test : cases)
      TILEWRIGHT_TRY(Trial(test, rank.rank(), ranks).run(rank));
    return Status();
  });
  for (const Status &end : ends)
    EXPECT_TRUE(end.isOk()) << end.toString();
}

/// Rows of one element, and of more than our own kernels have room for at once.
TEST_P(NcclData, RaggedRowsInEverySubMesh) {
  const std::vector<Status> ends =
      runRanks(kits().front(), GetParam(), 60s, [&](Communicator &rank) -> Status {
        for (const Groups &groups : groupsOf(GetParam())) {
          TILEWRIGHT_TRY(tryRaggedRows(groups, 1, 3, rank));
          TILEWRIGHT_TRY(tryRaggedRows(groups, 260, 11, rank));
        }
        return tryRaggedRows({}, 36'000, 1, rank);
      });
  for (const Status &end : ends)
    EXPECT_TRUE(end.isOk()) << end.toString();
}

/// A program on some of the devices, in another order; then one on all, whose groups cross.
TEST(NcclMembers, AreNumberedByTheProgram) {
  auto job = kits().front().makeJob(8, 60s);
  ASSERT_TRUE(job.isOk());
  for (const std::vector<int64_t> &members :
       {std::vector<int64_t>{6, 2, 5}, {3, 1, 0, 2, 7, 6, 5, 4}, {2, 6, 5}}) {
    const auto ranks = static_cast<int64_t>(members.size());
    const std::vector<Case> cases = {
        {Kind::allReduce, ElementType::f32, {129}, {}},
        {Kind::allReduce, ElementType::f32, {129}, {{2, 0}, {1}}},
        {Kind::allGather, ElementType::i8, {3}, {{2, 1, 0}}},
        {Kind::permute, ElementType::f32, {5}, {{0, 2}, {2, 1}, {1, 0}}},
        {Kind::broadcast, ElementType::f32, {5}, {{1, 2}}},
    };
    std::vector<Status> ends(members.size());
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        auto run = [&]() -> Status {
          TILEWRIGHT_ASSIGN(auto own, (*job)->engine(rank).join({1, rank, ranks, members}));
          for (const Case &test : cases)
            if (ranks == 3 || test.groups.empty() || test.kind == Kind::permute ||
                test.kind == Kind::broadcast)
              TILEWRIGHT_TRY(Trial(test, rank, ranks).run(*own));
          return Status();
        };
        ends[static_cast<size_t>(rank)] = run();
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const Status &end : ends)
      EXPECT_TRUE(end.isOk()) << end.toString();
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, NcclData, ::testing::Values(2, 4, 8));

} // namespace
} // namespace tilewright::collective::conformance
