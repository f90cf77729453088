#include "tilewright/collective/local/LocalCollectives.h"
#include "tilewright/collective/conformance/Kit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

namespace tilewright::collective {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Groups = std::vector<std::vector<int64_t>>;
using Floats = std::vector<float>;

std::vector<Status> runRanks(LocalCollectives &collectives, int64_t ranks,
                             const conformance::RankBody &body) {
  return conformance::runRanks([&](int64_t) -> Engine & { return collectives; }, ranks, body);
}

Tensor tensor(std::vector<int64_t> inDims, std::vector<int64_t> outDims, const Floats &in,
              Floats &out) {
  out.resize(static_cast<size_t>(
      std::accumulate(outDims.begin(), outDims.end(), int64_t(1), std::multiplies<>())));
  return {ElementType::f32, std::move(inDims), std::move(outDims),
          reinterpret_cast<const std::byte *>(in.data()),
          reinterpret_cast<std::byte *>(out.data())};
}

Call makeCall(Kind kind, const Groups &groups, std::vector<Tensor> tensors) {
  Call call;
  call.kind = kind;
  call.groups = &groups;
  call.tensors = std::move(tensors);
  call.reduction.operation = ReductionKind::add;
  call.name = nameOf(kind);
  return call;
}

/// in[i] = 10 * rank + i
Floats numbered(int64_t rank, int64_t count) {
  Floats in(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    in[static_cast<size_t>(i)] = static_cast<float>(10 * rank + i);
  return in;
}

void expectAllWell(const std::vector<Status> &ends) {
  for (const Status &end : ends)
    EXPECT_TRUE(end.isOk()) << end.toString();
}

TEST(LocalCollectives, NamesAreThoseOfStablehlo) {
  EXPECT_EQ(numerics::collectiveNamed("reduce_scatter"), Kind::reduceScatter);
  EXPECT_EQ(numerics::collectiveNamed("gossip"), std::nullopt);
  for (size_t i = 0; i < numerics::collectiveKindCount; ++i)
    EXPECT_EQ(numerics::collectiveNamed(nameOf(static_cast<Kind>(i))), static_cast<Kind>(i));
  EXPECT_EQ(numerics::reductionNamed("and"), ReductionKind::bitAnd);
  EXPECT_EQ(numerics::reductionNamed("median"), std::nullopt);
  for (size_t i = 0; i < numerics::reductionKindCount; ++i)
    EXPECT_EQ(numerics::reductionNamed(nameOf(static_cast<ReductionKind>(i))),
              static_cast<ReductionKind>(i));
}

TEST(LocalCollectives, AllReduceAddsInGroups) {
  LocalCollectives collectives(60s);
  const Groups groups = {{0, 2}, {3, 1}};
  std::vector<Floats> outs(4);
  expectAllWell(runRanks(collectives, 4, [&](Communicator &rank) {
    Floats in(1000, static_cast<float>(1 << rank.rank()));
    return rank.run(makeCall(Kind::allReduce, groups,
                             {tensor({1000}, {1000}, in, outs[static_cast<size_t>(rank.rank())])}));
  }));
  EXPECT_THAT(outs[0], Each(5));
  EXPECT_THAT(outs[2], Each(5));
  EXPECT_THAT(outs[1], Each(10));
  EXPECT_THAT(outs[3], Each(10));
}

TEST(LocalCollectives, AllReduceWorksInPlaceAndInTheSameOrderEverywhere) {
  LocalCollectives collectives(60s);
  const Groups groups = {{0, 1, 2}};
  std::vector<Floats> values(3, Floats(100'003));
  for (size_t rank = 0; rank < 3; ++rank)
    for (size_t i = 0; i < values[rank].size(); ++i)
      values[rank][i] = rank == 0 ? 1e8F : rank == 1 ? -1e8F : 0.25F;
  expectAllWell(runRanks(collectives, 3, [&](Communicator &rank) {
    Floats &mine = values[static_cast<size_t>(rank.rank())];
    return rank.run(makeCall(Kind::allReduce, groups, {tensor({100'003}, {100'003}, mine, mine)}));
  }));
  for (const Floats &value : values)
    EXPECT_THAT(value, Each(0.25F)); // (1e8 - 1e8) + 0.25; every other order gives another result
}

TEST(LocalCollectives, AllReduceWithAFunctionSeesAllTensors) {
  LocalCollectives collectives(60s);
  const Groups groups = {{0, 1}};
  std::vector<Floats> sums(2), counts(2);
  expectAllWell(runRanks(collectives, 2, [&](Communicator &rank) {
    const auto r = static_cast<size_t>(rank.rank());
    Floats a(7, static_cast<float>(r + 1)), b(7, 1);
    Call call = makeCall(Kind::allReduce, groups,
                         {tensor({7}, {7}, a, sums[r]), tensor({7}, {7}, b, counts[r])});
    call.reduction = {ReductionKind::function, [](const void *const *args, void *const *results) {
                        auto at = [&](int i) { return *static_cast<const float *>(args[i]); };
                        *static_cast<float *>(results[0]) = at(0) * at(2);
                        *static_cast<float *>(results[1]) = at(1) + at(3);
                      }};
    return rank.run(call);
  }));
  EXPECT_THAT(sums[1], Each(2));
  EXPECT_THAT(counts[0], Each(2));
}

TEST(LocalCollectives, AllGatherJoinsAlongADimension) {
  LocalCollectives collectives(60s);
  const Groups groups = {{1, 0}};
  std::vector<Floats> outs(2);
  expectAllWell(runRanks(collectives, 2, [&](Communicator &rank) {
    Floats in = numbered(rank.rank(), 4);
    Call call = makeCall(Kind::allGather, groups,
                         {tensor({2, 2}, {2, 4}, in, outs[static_cast<size_t>(rank.rank())])});
    call.dimension = 1;
    return rank.run(call);
  }));
  EXPECT_THAT(outs[0], ElementsAre(10, 11, 0, 1, 12, 13, 2, 3));
  EXPECT_EQ(outs[1], outs[0]);
}

TEST(LocalCollectives, ReduceScatterGivesEachItsPart) {
  LocalCollectives collectives(60s);
  const Groups groups = {{0, 1}};
  std::vector<Floats> outs(2);
  expectAllWell(runRanks(collectives, 2, [&](Communicator &rank) {
    Floats in = numbered(rank.rank(), 8);
    Call call = makeCall(Kind::reduceScatter, groups,
                         {tensor({2, 4}, {2, 2}, in, outs[static_cast<size_t>(rank.rank())])});
    call.dimension = 1;
    return rank.run(call);
  }));
  EXPECT_THAT(outs[0], ElementsAre(10, 12, 18, 20));
  EXPECT_THAT(outs[1], ElementsAre(14, 16, 22, 24));
}

TEST(LocalCollectives, AllToAllSplitsOneDimensionAndJoinsAnother) {
  LocalCollectives collectives(60s);
  const Groups groups = {{0, 1}};
  std::vector<Floats> outs(2), same(2);
  expectAllWell(runRanks(collectives, 2, [&](Communicator &rank) {
    const auto r = static_cast<size_t>(rank.rank());
    Floats in = numbered(rank.rank(), 8);
    Call call = makeCall(Kind::allToAll, groups, {tensor({2, 4}, {4, 2}, in, outs[r])});
    call.splitDimension = 1;
    call.dimension = 0;
    TILEWRIGHT_TRY(rank.run(call));
    call = makeCall(Kind::allToAll, groups, {tensor({4, 2}, {4, 2}, in, same[r])});
    return rank.run(call);
  }));
  EXPECT_THAT(outs[0], ElementsAre(0, 1, 4, 5, 10, 11, 14, 15));
  EXPECT_THAT(outs[1], ElementsAre(2, 3, 6, 7, 12, 13, 16, 17));
  EXPECT_THAT(same[1], ElementsAre(4, 5, 6, 7, 14, 15, 16, 17));
}

TEST(LocalCollectives, PermuteAndBroadcastGiveZerosToWhoeverIsLeftOut) {
  LocalCollectives collectives(60s);
  const Groups pairs = {{0, 1}, {1, 2}}, groups = {{2, 0}};
  std::vector<Floats> permuted(4), broadcast(4);
  expectAllWell(runRanks(collectives, 4, [&](Communicator &rank) {
    const auto r = static_cast<size_t>(rank.rank());
    Floats in = numbered(rank.rank() + 1, 2);
    permuted[r].assign(2, -1);
    broadcast[r].assign(2, -1);
    TILEWRIGHT_TRY(rank.run(makeCall(Kind::permute, pairs, {tensor({2}, {2}, in, permuted[r])})));
    return rank.run(makeCall(Kind::broadcast, groups, {tensor({2}, {2}, in, broadcast[r])}));
  }));
  EXPECT_THAT(permuted[0], Each(0));
  EXPECT_THAT(permuted[1], ElementsAre(10, 11));
  EXPECT_THAT(permuted[2], ElementsAre(20, 21));
  EXPECT_THAT(permuted[3], Each(0));
  EXPECT_THAT(broadcast[0], ElementsAre(30, 31));
  EXPECT_THAT(broadcast[1], Each(0));
}

/// Starts never block, so ranks may start collectives of different cliques in different orders.
TEST(LocalCollectives, StartsOfDifferentCliquesMayCross) {
  LocalCollectives collectives(60s);
  const Groups one = {{0, 1}}, other = {{1, 0}};
  expectAllWell(runRanks(collectives, 2, [&](Communicator &rank) {
    Floats in(4, 1), a, b;
    Call first = makeCall(Kind::allReduce, one, {tensor({4}, {4}, in, a)});
    Call second = makeCall(Kind::allReduce, other, {tensor({4}, {4}, in, b)});
    const bool isSwapped = rank.rank() == 1;
    TILEWRIGHT_ASSIGN(Communicator::Ticket x, rank.start(isSwapped ? second : first));
    TILEWRIGHT_ASSIGN(Communicator::Ticket y, rank.start(isSwapped ? first : second));
    TILEWRIGHT_TRY(rank.finish(isSwapped ? y : x));
    TILEWRIGHT_TRY(rank.finish(isSwapped ? x : y));
    EXPECT_THAT(a, Each(2));
    EXPECT_THAT(b, Each(2));
    return Status();
  }));
}

TEST(LocalCollectives, AFailedRankEndsEverybody) {
  LocalCollectives collectives(60s);
  const Groups groups = {{0, 1, 2}};
  std::vector<Status> ends = runRanks(collectives, 3, [&](Communicator &rank) {
    if (rank.rank() == 2)
      return Status(Code::internal, "kernel crashed");
    Floats in(4), out;
    return rank.run(makeCall(Kind::allReduce, groups, {tensor({4}, {4}, in, out)}));
  });
  for (size_t rank : {0, 1}) {
    EXPECT_EQ(ends[rank].error(), Error::collectiveAborted);
    EXPECT_THAT(ends[rank].message(), HasSubstr("rank 2 failed: kernel crashed"));
  }
}

TEST(LocalCollectives, ARankThatLeavesEndsThoseWhoWait) {
  LocalCollectives collectives(60s);
  const Groups groups = {{0, 1}};
  // The run uses the memory of a started call until the call is finished or its rank has left, and
  // a rank leaves after its function has returned.
  std::array<Floats, 2> inputs = {Floats(4), Floats(4)}, outputs;
  std::vector<Status> ends = runRanks(collectives, 2, [&](Communicator &rank) {
    const size_t mine = static_cast<size_t>(rank.rank());
    Call call = makeCall(Kind::allReduce, groups, {tensor({4}, {4}, inputs[mine], outputs[mine])});
    if (rank.rank() == 1) // joins, but never does its share
      return std::move(rank.start(call)).takeStatus();
    return rank.run(call);
  });
  EXPECT_EQ(ends[0].error(), Error::collectiveAborted);
  EXPECT_THAT(ends[0].message(),
              HasSubstr("rank 1 left the run while its collectives were in progress"));

  ends = runRanks(collectives, 2, [&](Communicator &rank) {
    Floats in(4), out;
    if (rank.rank() == 1) // never joins
      return Status();
    return rank.run(makeCall(Kind::allReduce, groups, {tensor({4}, {4}, in, out)}));
  });
  EXPECT_EQ(ends[0].error(), Error::collectiveAborted);
  EXPECT_THAT(ends[0].message(), HasSubstr("for rank 1, which has left the run"));
}

TEST(LocalCollectives, NobodyWaitsForEverAndTheMessageSaysWhoIsWhere) {
  LocalCollectives collectives(50ms);
  const Groups both = {{0, 1, 2}}, pair = {{0, 1}};
  std::atomic<int> ended = 0;
  std::vector<Status> ends = runRanks(collectives, 3, [&](Communicator &rank) {
    Floats in(4), out;
    Status status;
    if (rank.rank() == 2) { // busy with something else
      while (ended < 2)
        std::this_thread::sleep_for(1ms);
      return Status();
    }
    Call call = makeCall(Kind::allReduce, both, {tensor({4}, {4}, in, out)});
    status = rank.run(call);
    ++ended;
    return status;
  });
  int stuck = 0;
  for (size_t rank : {0, 1})
    if (ends[rank].error() == Error::collectiveStuck) {
      ++stuck;
      EXPECT_THAT(ends[rank].message(), HasSubstr("rank 2 has not joined a collective yet"));
      EXPECT_THAT(ends[rank].message(), HasSubstr("runtime.collective-timeout"));
    } else {
      EXPECT_EQ(ends[rank].error(), Error::collectiveAborted);
    }
  EXPECT_GE(stuck, 1);
}

TEST(LocalCollectives, DifferentCallsInOnePlaceAreFound) {
  LocalCollectives collectives(60s);
  const Groups groups = {{0, 1}};
  std::vector<Status> ends = runRanks(collectives, 2, [&](Communicator &rank) {
    Floats in(4), out;
    Call call = makeCall(rank.rank() ? Kind::broadcast : Kind::allReduce, groups,
                         {tensor({4}, {4}, in, out)});
    return rank.run(call);
  });
  int found = 0;
  for (const Status &end : ends) {
    found += end.error() == Error::collectiveMismatch;
    EXPECT_THAT(end.message(), HasSubstr("do not run the same program"));
  }
  EXPECT_GE(found, 1);
}

TEST(LocalCollectives, GroupsAndShapesMustFit) {
  LocalCollectives collectives(60s);
  auto rank = *collectives.join({1000, 0, 2, {}});
  Floats in(6), out;
  auto errorOf = [&](Kind kind, const Groups &groups, std::vector<int64_t> inDims,
                     std::vector<int64_t> outDims) {
    return rank->start(makeCall(kind, groups, {tensor(inDims, outDims, in, out)}))
        .takeStatus()
        .error();
  };
  EXPECT_EQ(errorOf(Kind::allReduce, {{0, 5}}, {6}, {6}), Error::collectiveGroups);
  EXPECT_EQ(errorOf(Kind::allReduce, {{0, 1}, {1}}, {6}, {6}), Error::collectiveGroups);
  EXPECT_EQ(errorOf(Kind::allReduce, {{1}}, {6}, {6}), Error::collectiveGroups);
  EXPECT_EQ(errorOf(Kind::allReduce, {{0, 1}}, {6}, {5}), Error::collectiveGroups);
  EXPECT_EQ(errorOf(Kind::allGather, {{0, 1}}, {6}, {6}), Error::collectiveGroups);
  EXPECT_EQ(errorOf(Kind::reduceScatter, {{0, 1}}, {3}, {1}), Error::collectiveGroups);
  EXPECT_EQ(errorOf(Kind::permute, {{0, 1}, {1, 1}}, {6}, {6}), Error::collectiveGroups);
  Call call = makeCall(Kind::allReduce, {}, {});
  const Groups none;
  call = makeCall(Kind::allReduce, none, {tensor({6}, {6}, in, out)});
  call.reduction.operation = ReductionKind::none;
  EXPECT_EQ(rank->start(call).takeStatus().error(), Error::collectiveGroups);
}

TEST(LocalCollectives, RowsThatAreSentMustExist) {
  LocalCollectives collectives(60s);
  auto rank = *collectives.join({1001, 0, 1, {}});
  const Groups all;
  Floats in(6), out;
  Call call = makeCall(Kind::raggedAllToAll, all, {tensor({3, 2}, {3, 2}, in, out)});
  const std::vector<int64_t> beyond = {1, 3, 0, 3}; // three rows from row 1 of 3
  call.ragged = beyond;
  Status status = rank->start(call).takeStatus();
  EXPECT_EQ(status.error(), Error::raggedRows);
  EXPECT_THAT(status.message(), HasSubstr("sends 3 rows from row 1 of a tensor with 3 rows"));
}

TEST(LocalCollectives, ManyRoundsInALoop) {
  LocalCollectives collectives(60s);
  const Groups groups = {{0, 1, 2, 3}}, pairs = {{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  expectAllWell(runRanks(collectives, 4, [&](Communicator &rank) {
    Floats value(16, static_cast<float>(rank.rank())), out;
    for (int round = 0; round < 100; ++round) {
      TILEWRIGHT_TRY(rank.run(makeCall(Kind::permute, pairs, {tensor({16}, {16}, value, out)})));
      value = out;
      TILEWRIGHT_TRY(rank.run(makeCall(Kind::allReduce, groups, {tensor({16}, {16}, out, out)})));
      EXPECT_THAT(out, Each(6));
    }
    EXPECT_THAT(value, Each(static_cast<float>(rank.rank())));
    return Status();
  }));
}

} // namespace
} // namespace tilewright::collective
