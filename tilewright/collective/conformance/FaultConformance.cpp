// Tests ranks that disagree, fail, leave or are late, and collectives that overlap.
#include "tilewright/collective/conformance/Reference.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>

namespace tilewright::collective::conformance {
namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class Faults : public ::testing::TestWithParam<Kit> {};

/// An all_reduce of floats, or another collective with equal shapes.
class Floats {
public:
  Floats(const Groups &groups, size_t count, float value, Kind kind = Kind::allReduce)
      : in(count, value), out(count, -1) {
    call.kind = kind;
    call.groups = &groups;
    call.reduction.operation = ReductionKind::add;
    call.name = nameOf(kind);
    call.place = "train.py:41";
    call.tensors = {{ElementType::f32,
                     {static_cast<int64_t>(count)},
                     {static_cast<int64_t>(count)},
                     reinterpret_cast<const std::byte *>(in.data()),
                     reinterpret_cast<std::byte *>(out.data())}};
  }
  Status expect(float value) const {
    for (float each : out)
      if (each != value)
        return Status(Code::internal, concat("got result ", each, ", expected ", value));
    return Status();
  }

  std::vector<float> in, out;
  Call call;
};

void expectAllWell(const std::vector<Status> &ends) {
  for (const Status &end : ends)
    EXPECT_TRUE(end.isOk()) << end.toString();
}

TEST_P(Faults, ManyRoundsOfMixedSizesMeetInOrder) {
  const Groups all = {}, pairs = {{0, 1}, {1, 2}, {2, 0}};
  expectAllWell(runRanks(GetParam(), 3, 60s, [&](Communicator &rank) {
    for (int round = 0; round < 300; ++round) {
      const size_t count = round % 7 == 3 ? 30'000 : static_cast<size_t>(round % 5 + 1);
      Floats sum(all, count, static_cast<float>(rank.rank() + round));
      TILEWRIGHT_TRY(rank.run(sum.call));
      TILEWRIGHT_TRY(sum.expect(static_cast<float>(3 + 3 * round)));
      Floats shift(pairs, count, static_cast<float>(rank.rank()), Kind::permute);
      TILEWRIGHT_TRY(rank.run(shift.call));
      TILEWRIGHT_TRY(shift.expect(static_cast<float>((rank.rank() + 2) % 3)));
      if (round % 10 == 0) {
        Call barrier;
        barrier.kind = Kind::barrier;
        barrier.groups = &all;
        barrier.name = "barrier";
        TILEWRIGHT_TRY(rank.run(barrier));
      }
    }
    return Status();
  }));
}

/// start() never blocks, so ranks may start collectives of different cliques in different orders.
TEST_P(Faults, StartsOfDifferentCliquesMayCross) {
  const Groups one = {{0, 1}}, other = {{1, 0}};
  for (size_t count : {size_t(4), size_t(50'000)})
    expectAllWell(runRanks(GetParam(), 2, 60s, [&](Communicator &rank) {
      Floats a(one, count, 1), b(other, count, 2);
      const bool isSwapped = rank.rank() == 1;
      TILEWRIGHT_ASSIGN(Communicator::Ticket x, rank.start(isSwapped ? b.call : a.call));
      TILEWRIGHT_ASSIGN(Communicator::Ticket y, rank.start(isSwapped ? a.call : b.call));
      TILEWRIGHT_TRY(rank.finish(isSwapped ? y : x));
      TILEWRIGHT_TRY(rank.finish(isSwapped ? x : y));
      TILEWRIGHT_TRY(a.expect(2));
      return b.expect(4);
    }));
}

/// Rank 1 waits for a collective that cannot begin before another collective of rank 1 is done, so
/// rank 1 must advance both.
TEST_P(Faults, WhoWaitsForOneCollectiveDoesNotHoldUpTheOthers) {
  const Groups first = {{0, 1}}, second = {{1, 2}}, between = {{0, 2}};
  constexpr size_t count = 200'000;
  expectAllWell(runRanks(GetParam(), 3, 60s, [&](Communicator &rank) -> Status {
    for (int round = 0; round < 3; ++round) {
      Floats a(first, count, 1), b(second, count, 2), order(between, 1, 3);
      order.call.timeout = 20s; // a rank that progresses only what it waits for deadlocks here
      if (rank.rank() == 1) {
        TILEWRIGHT_ASSIGN(Communicator::Ticket x, rank.start(a.call));
        TILEWRIGHT_ASSIGN(Communicator::Ticket y, rank.start(b.call));
        TILEWRIGHT_TRY(rank.finish(x));
        TILEWRIGHT_TRY(rank.finish(y));
      } else if (rank.rank() == 2) {
        std::this_thread::sleep_for(20ms);
        TILEWRIGHT_TRY(rank.run(b.call));
        TILEWRIGHT_TRY(rank.run(order.call));
      } else {
        TILEWRIGHT_TRY(rank.run(order.call));
        TILEWRIGHT_TRY(rank.run(a.call));
      }
      if (rank.rank() < 2)
        TILEWRIGHT_TRY(a.expect(2));
      if (rank.rank() > 0)
        TILEWRIGHT_TRY(b.expect(4));
    }
    return Status();
  }));
}

TEST_P(Faults, ManyMayBeUnderWayAtOnce) {
  const Groups all = {};
  expectAllWell(runRanks(GetParam(), 3, 60s, [&](Communicator &rank) {
    std::deque<Floats> calls;
    std::vector<Communicator::Ticket> tickets;
    for (size_t i = 0; i < 20; ++i) {
      calls.emplace_back(all, i % 2 ? 20'000 : 3, static_cast<float>(i));
      TILEWRIGHT_ASSIGN(Communicator::Ticket ticket, rank.start(calls.back().call));
      tickets.push_back(ticket);
    }
    for (size_t i = 0; i < 20; ++i) {
      TILEWRIGHT_TRY(rank.finish(tickets[i]));
      TILEWRIGHT_TRY(calls[i].expect(static_cast<float>(3 * i)));
    }
    return Status();
  }));
}

/// A run with some of the engine's ranks, in a different order.
TEST_P(Faults, ARunMayHaveSomeOfTheRanks) {
  auto made = GetParam().makeJob(4, 60s);
  ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
  const std::vector<int64_t> members = {3, 1};
  const Groups all = {};
  std::vector<std::thread> threads;
  for (int64_t rank : {0, 1})
    threads.emplace_back([&, rank] {
      auto joined = (*made)->engine(members[static_cast<size_t>(rank)]).join({1, rank, 2, members});
      ASSERT_TRUE(joined.isOk());
      Floats gather(all, 3, static_cast<float>(rank + 1));
      Status status = (*joined)->run(gather.call);
      EXPECT_TRUE(status.isOk()) << status.toString();
      EXPECT_TRUE(gather.expect(3).isOk());
      Floats shift(all, 3, static_cast<float>(rank + 1), Kind::broadcast);
      EXPECT_TRUE((*joined)->run(shift.call).isOk());
      EXPECT_TRUE(shift.expect(1).isOk());
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_P(Faults, DifferentCallsInOnePlaceAreFoundAtOnce) {
  const Groups all = {};
  for (size_t count : {size_t(4), size_t(50'000)}) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Status> ends = runRanks(GetParam(), 2, 60s, [&](Communicator &rank) {
      Floats floats(all, rank.rank() == 0 ? count : count + 1, 1);
      return rank.run(floats.call);
    });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
    int found = 0;
    for (const Status &end : ends) {
      found += end.error() == Error::collectiveMismatch;
      EXPECT_THAT(end.message(), HasSubstr("do not run the same program"));
      EXPECT_THAT(end.message(), HasSubstr("train.py:41"));
    }
    EXPECT_GE(found, 1);
  }
}

TEST_P(Faults, ThePlaceInTheOrderIsPartOfACall) {
  const Groups all = {};
  const std::vector<Status> ends = runRanks(GetParam(), 2, 60s, [&](Communicator &rank) {
    Floats floats(all, 4, 1);
    floats.call.order = static_cast<uint32_t>(rank.rank());
    return rank.run(floats.call);
  });
  EXPECT_THAT(ends[0].message(), HasSubstr("order 1"));
  EXPECT_THAT(ends[1].message(), HasSubstr("order 0"));
}

TEST_P(Faults, AFailedRankEndsEverybodyAndIsNamed) {
  const Groups all = {};
  for (size_t count : {size_t(4), size_t(50'000)}) {
    const std::vector<Status> ends = runRanks(GetParam(), 3, 60s, [&](Communicator &rank) {
      if (rank.rank() == 2)
        return Status(Code::internal, "kernel crashed");
      Floats floats(all, count, 1);
      return rank.run(floats.call);
    });
    for (size_t rank : {0, 1}) {
      EXPECT_EQ(ends[rank].error(), Error::collectiveAborted) << ends[rank].toString();
      EXPECT_THAT(ends[rank].message(), HasSubstr("rank 2 failed: kernel crashed"));
      EXPECT_THAT(ends[rank].message(), HasSubstr("'all_reduce'"));
      EXPECT_THAT(ends[rank].message(), HasSubstr("train.py:41"));
    }
  }
}

TEST_P(Faults, ARankThatLeavesEndsThoseWhoWait) {
  const Groups all = {};
  std::vector<Status> ends = runRanks(GetParam(), 2, 60s, [&](Communicator &rank) {
    if (rank.rank() == 1) // never joins
      return Status();
    Floats floats(all, 4, 1);
    return rank.run(floats.call);
  });
  EXPECT_EQ(ends[0].error(), Error::collectiveAborted) << ends[0].toString();
  EXPECT_THAT(ends[0].message(), HasSubstr("rank 1, which has left the run"));

  std::deque<Floats> calls; // the run uses their memory until both ranks have left
  for (int i = 0; i < 2; ++i)
    calls.emplace_back(all, 50'000, 1);
  ends = runRanks(GetParam(), 2, 60s, [&](Communicator &rank) {
    const Call &call = calls[static_cast<size_t>(rank.rank())].call;
    if (rank.rank() == 1) // starts, then leaves
      return std::move(rank.start(call)).takeStatus();
    return rank.run(call);
  });
  // Rank 0 succeeds if rank 1 completed its part before it left.
  if (!ends[0].isOk())
    EXPECT_THAT(ends[0].message(), HasSubstr("rank 1"));
}

TEST_P(Faults, NobodyWaitsForEverAndTheMessageSaysWhoIsMissing) {
  const Groups all = {};
  std::atomic<int> ended = 0;
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<Status> ends = runRanks(GetParam(), 3, 60s, [&](Communicator &rank) {
    if (rank.rank() == 2) { // busy with something else
      while (ended < 2)
        std::this_thread::sleep_for(1ms);
      return Status();
    }
    Floats floats(all, 4, 1);
    floats.call.timeout = 80ms;
    Status status = rank.run(floats.call);
    ++ended;
    return status;
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  int stuck = 0;
  for (size_t rank : {0, 1})
    if (ends[rank].error() == Error::collectiveStuck) {
      ++stuck;
      EXPECT_THAT(ends[rank].message(), HasSubstr("rank 2 "));
      EXPECT_THAT(ends[rank].message(), HasSubstr("'all_reduce'"));
      EXPECT_THAT(ends[rank].message(), HasSubstr("train.py:41"));
      EXPECT_THAT(ends[rank].message(), HasSubstr("runtime.collective-timeout"));
    } else {
      EXPECT_EQ(ends[rank].error(), Error::collectiveAborted) << ends[rank].toString();
    }
  EXPECT_GE(stuck, 1);
}

TEST_P(Faults, GroupsAndShapesMustFit) {
  const Groups outside = {{0, 5}}, twice = {{0, 1}, {1}}, without = {{1}}, odd = {{0, 1}, {1, 1}},
               triple = {{0, 1, 0}}, all = {};
  auto made = GetParam().makeJob(2, 60s);
  ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
  auto joined = (*made)->engine(0).join({1, 0, 2, {}});
  ASSERT_TRUE(joined.isOk());
  auto errorOf = [&](const Groups &groups, Kind kind, int64_t out = 6,
                     ReductionKind operation = ReductionKind::add) {
    Floats floats(groups, 6, 1, kind);
    floats.call.tensors[0].outDims = {out};
    floats.call.reduction.operation = operation;
    return (*joined)->run(floats.call).error();
  };
  EXPECT_EQ(errorOf(outside, Kind::allReduce), Error::collectiveGroups);
  EXPECT_EQ(errorOf(twice, Kind::allReduce), Error::collectiveGroups);
  EXPECT_EQ(errorOf(without, Kind::allReduce), Error::collectiveGroups);
  EXPECT_EQ(errorOf(odd, Kind::permute), Error::collectiveGroups);
  EXPECT_EQ(errorOf(triple, Kind::permute), Error::collectiveGroups);
  EXPECT_EQ(errorOf(all, Kind::allReduce, 5), Error::collectiveGroups);
  EXPECT_EQ(errorOf(all, Kind::allGather), Error::collectiveGroups);
  EXPECT_EQ(errorOf(all, Kind::reduceScatter), Error::collectiveGroups);
  EXPECT_EQ(errorOf(all, Kind::raggedAllToAll), Error::collectiveGroups);
  EXPECT_EQ(errorOf(all, Kind::allReduce, 6, ReductionKind::none), Error::collectiveGroups);
}

TEST_P(Faults, RaggedRowsMustExistAndBeExpected) {
  const Groups all = {};
  // Entries of rank 0's table: offsets and sizes of the rows that it sends, their target rows, and
  // the row counts that it expects. Rank 1 sends and expects one row.
  struct Bad {
    std::vector<int64_t> ragged;
    const char *says;
  };
  for (const Bad &bad : {Bad{{0, 1, 1, 9, 0, 0, 1, 1}, "sends 9 rows from row 1"},
                         Bad{{0, 1, 1, 2, 0, 0, 1, 1}, "sends 2 rows to member 1, which expects 1"},
                         Bad{{0, 1, 1, 1, 0, 7, 1, 1}, "sends 1 rows to row 7"}}) {
    const std::vector<Status> ends = runRanks(GetParam(), 2, 60s, [&](Communicator &rank) {
      const std::vector<int64_t> good = {0, 1, 1, 1, 1, 1, 1, 1};
      Floats floats(all, 4, 1, Kind::raggedAllToAll);
      floats.call.ragged = rank.rank() == 0 ? bad.ragged : good;
      return rank.run(floats.call);
    });
    int found = 0;
    for (const Status &end : ends)
      if (end.error() == Error::raggedRows) {
        ++found;
        EXPECT_THAT(end.message(), HasSubstr(bad.says));
      }
    EXPECT_GE(found, 1) << bad.says;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Faults, ::testing::ValuesIn(kits()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace tilewright::collective::conformance
