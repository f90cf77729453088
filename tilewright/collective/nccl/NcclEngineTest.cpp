// Which calls of NCCL the engine makes, in which order, by a fake that records them; what the calls
// compute is tested with vgpu/nccl (testing/).
#include "tilewright/collective/nccl/NcclEngine.h"
#include "tilewright/collective/nccl/testing/FakeNccl.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace tilewright::collective::nccl {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NcclEngineTest : public ::testing::Test {
protected:
  void SetUp() override {
    test::clear();
    test::setState(abi::ncclSuccess);
  }
  /// Four ranks in this process, or two of four if `processes` is 2.
  std::unique_ptr<NcclEngine> engine(const Library &library = test::library(),
                                     int64_t processes = 1) {
    Membership membership;
    for (int64_t rank = 0; rank < 4; ++rank)
      membership.processOfRank.push_back(rank * processes / 4);
    return NcclEngine::connect(library, membership, store, access, options);
  }
  using Communicators = std::vector<std::unique_ptr<DeviceCommunicator>>;
  static Communicators prepare(DeviceEngine &engine, const std::vector<DeviceClique> &cliques,
                               const std::vector<int64_t> &members = {0, 1, 2, 3}) {
    auto made = engine.prepare(members, cliques, after(5s));
    EXPECT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    return made.isOk() ? *std::move(made) : Communicators();
  }
  static Status statusOf(Result<Communicators> made) { return std::move(made).takeStatus(); }
  /// Waits until another thread has made a call that begins with these words.
  static void awaitCall(std::string_view words) {
    const auto isMade = [&] {
      const std::vector<std::string> calls = test::calls();
      return std::any_of(calls.begin(), calls.end(),
                         [&](const std::string &call) { return call.starts_with(words); });
    };
    const auto deadline = std::chrono::steady_clock::now() + 4s;
    while (!isMade() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(isMade()) << words;
  }

  /// A call with one tensor; memory is not accessed.
  Call call(Kind kind, std::vector<int64_t> in, std::vector<int64_t> out,
            ElementType element = ElementType::f32, ReductionKind operation = ReductionKind::add) {
    Call made;
    made.kind = kind;
    made.name = "c";
    made.groups = &none;
    made.reduction.operation = operation;
    made.tensors = {{element, std::move(in), std::move(out), memory, memory + 4096}};
    return made;
  }

  const std::vector<std::vector<int64_t>> none;
  std::byte memory[8192] = {};
  MemoryKeyValueStore store;
  test::FakeAccess access;
  NcclEngine::Options options;
};

TEST_F(NcclEngineTest, InitializesAllRanksOfAProcessInOneGroupAndSplitsInTheOrderOfTheCliques) {
  options.maxChannels = 8;
  const auto made = engine();
  prepare(*made, {{{{0, 1}, {3, 2}}}, {{}}, {{{1, 0}}, false}});
  EXPECT_THAT(
      test::calls(),
      ElementsAre(
          "GetUniqueId()", "GroupStart()", "Init(0 of 4, id i-3, blocking 0, CTAs 8)",
          "Init(1 of 4, id i-3, blocking 0, CTAs 8)", "Init(2 of 4, id i-3, blocking 0, CTAs 8)",
          "Init(3 of 4, id i-3, blocking 0, CTAs 8)", "GroupEnd()", "GroupStart()",
          "Split(0, color 0, key 0)", "Split(1, color 0, key 1)", "Split(2, color 1, key 1)",
          "Split(3, color 1, key 0)", "GroupEnd()", "GroupStart()", "Split(0, color 0, key 0)",
          "Split(1, color 0, key 1)", "Split(2, color 0, key 2)", "Split(3, color 0, key 3)",
          "GroupEnd()", "GroupStart()", "Split(0, color 0, key 1)", "Split(1, color 0, key 0)",
          "Split(2, color -1, key 0)", "Split(3, color -1, key 0)", "GroupEnd()"));
}

TEST_F(NcclEngineTest, ProgramsShareCommunicatorsOfTheSameMembersAndLane) {
  const auto made = engine();
  prepare(*made, {{{{0, 1}, {2, 3}}}, {{}}});
  test::clear();
  prepare(*made, {{{}}, {{{0, 1}, {2, 3}}}, {{{0}, {1}, {2}, {3}}}, {{{0, 1}}, true}});
  EXPECT_THAT(test::calls(), IsEmpty());
  prepare(*made, {{{}, false, 1}}); // another lane
  EXPECT_THAT(test::calls(),
              ElementsAre("GroupStart()", "Split(0, color 0, key 0)", "Split(1, color 0, key 1)",
                          "Split(2, color 0, key 2)", "Split(3, color 0, key 3)", "GroupEnd()"));
  test::clear();
  prepare(*made, {{{}}}, {2, 0}); // other members: rank 0 of the program is rank 2
  EXPECT_THAT(test::calls(),
              ElementsAre("GetUniqueId()", "GroupStart()", HasSubstr("Init(0 of 2"),
                          HasSubstr("Init(1 of 2"), "GroupEnd()", "GroupStart()",
                          HasSubstr("color 0, key 0"), HasSubstr("color 0, key 1"), "GroupEnd()"));
}

TEST_F(NcclEngineTest, SeveralIdsForManyRanks) {
  options.ranksPerId = 2;
  const auto made = engine();
  prepare(*made, {});
  EXPECT_THAT(test::calls(), ::testing::Contains("InitScalable(3 of 4, ids 2)"));
}

TEST_F(NcclEngineTest, QueuesEachKind) {
  const auto made = engine();
  const Communicators ranks =
      prepare(*made, {{{}}, {{{0, 1}, {1, 2}, {3, 3}}, true}, {{{2, 0}}}, {{{0}, {1}, {2}, {3}}}});
  test::clear();
  DeviceCommunicator &zero = *ranks[0], &one = *ranks[1], &two = *ranks[2], &three = *ranks[3];
  auto run = [](DeviceCommunicator &rank, const Call &each, size_t clique) {
    const Status status = rank.enqueue(each, clique, nullptr);
    EXPECT_TRUE(status.isOk()) << status.toString();
  };
  run(one, call(Kind::allReduce, {5}, {5}, ElementType::bf16, ReductionKind::multiply), 0);
  run(one, call(Kind::allGather, {5}, {20}), 0);
  run(one, call(Kind::reduceScatter, {8, 2}, {2, 2}), 0);
  run(one, call(Kind::allToAll, {8, 2}, {8, 2}), 0);
  run(one, call(Kind::permute, {3}, {3}), 1);
  run(zero, call(Kind::permute, {3}, {3}), 1);   // sends only
  run(three, call(Kind::permute, {3}, {3}), 1);  // to itself
  run(zero, call(Kind::broadcast, {3}, {3}), 2); // from 2
  run(one, call(Kind::broadcast, {3}, {3}), 2);  // not a member
  run(two, call(Kind::allReduce, {3}, {3}), 3);  // alone
  run(two, call(Kind::allReduce, {0}, {0}), 0);
  EXPECT_THAT(test::calls(),
              ElementsAre("AllReduce(5, 5, type 9, op 1)", "AllGather(5, 20)",
                          "ReduceScatter(5, 4, type 7, op 0)", "AlltoAll(5, 16)", "GroupStart()",
                          "Send(5, 12, to 2)", "Recv(5, 12, from 0)", "GroupEnd()", "zeros(12)",
                          "GroupStart()", "Send(4, 12, to 1)", "GroupEnd()", "copy(12)",
                          "Broadcast(8, 12, from 0)", "zeros(12)", "copy(12)"));
}

TEST_F(NcclEngineTest, SeveralTensorsAreAGroupAndGroupsNest) {
  const auto made = engine();
  const Communicators ranks = prepare(*made, {{{}}});
  test::clear();
  Call two = call(Kind::allReduce, {5}, {5});
  two.tensors.push_back(two.tensors[0]);
  ASSERT_TRUE(ranks[0]->beginGroup().isOk());
  ASSERT_TRUE(ranks[0]->enqueue(two, 0, nullptr).isOk());
  ASSERT_TRUE(ranks[0]->endGroup().isOk());
  EXPECT_THAT(test::calls(),
              ElementsAre("GroupStart()", "GroupStart()", "AllReduce(4, 5, type 7, op 0)",
                          "AllReduce(4, 5, type 7, op 0)", "GroupEnd()", "GroupEnd()"));
}

TEST_F(NcclEngineTest, RaggedAllToAllSendsTheRowsOfEachMember) {
  const auto made = engine();
  const Communicators ranks = prepare(*made, {{{{0, 1}}}});
  test::clear();
  Call rows = call(Kind::raggedAllToAll, {6, 2}, {8, 2});
  const std::vector<int64_t> lists = {0, 2, /*sizes*/ 2, 3, /*to*/ 0, 5, /*received*/ 2, 0};
  rows.ragged = lists;
  ASSERT_TRUE(ranks[0]->enqueue(rows, 0, nullptr).isOk());
  EXPECT_THAT(test::calls(), ElementsAre("GroupStart()", "Send(4, 16, to 0)", "Recv(4, 16, from 0)",
                                         "Send(4, 24, to 1)", "GroupEnd()"));
  const std::vector<int64_t> outside = {0, 4, 2, 3, 0, 5, 2, 0};
  rows.ragged = outside;
  const Status status = ranks[0]->enqueue(rows, 0, nullptr);
  EXPECT_EQ(status.error(), Error::raggedRows);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 sends rows 4 to 7 of a tensor with 6 rows"));
}

TEST_F(NcclEngineTest, AnOldLibraryExchangesBySendAndReceive) {
  const auto made = engine(test::oldLibrary());
  const Communicators ranks = prepare(*made, {{{{0, 1}}}});
  test::clear();
  ASSERT_TRUE(ranks[0]->enqueue(call(Kind::allToAll, {4}, {4}), 0, nullptr).isOk());
  EXPECT_THAT(test::calls(), ElementsAre("GroupStart()", "Send(4, 8, to 0)", "Recv(4, 8, from 0)",
                                         "Send(4, 8, to 1)", "Recv(4, 8, from 1)", "GroupEnd()"));
  test::clear();
  made->revoke("rank 3 died"); // without ncclCommRevoke, communicators are freed
  EXPECT_THAT(test::calls(), ::testing::Contains("Abort(4)"));
  EXPECT_THAT(ranks[0]->check().message(), HasSubstr("rank 3 died"));
}

TEST_F(NcclEngineTest, RefusesFormsThatNcclDoesNotKnow) {
  const auto made = engine();
  const Communicators ranks = prepare(*made, {{{}}});
  test::clear();
  auto refuse = [&](const Call &each, const char *why) {
    const Status status = ranks[0]->enqueue(each, 0, nullptr);
    EXPECT_EQ(status.error(), Error::deviceForm) << status.toString();
    EXPECT_THAT(status.message(), AllOf(HasSubstr(why), HasSubstr("communicate-device-forms")));
  };
  Call inner = call(Kind::allGather, {2, 5}, {2, 20});
  inner.dimension = 1;
  refuse(inner, "dimension 1 of [2, 5] is not the outermost one");
  Call turn = call(Kind::allToAll, {4, 4}, {16, 1});
  turn.splitDimension = 1;
  refuse(turn, "splits dimension 1 and joins dimension 0");
  refuse(call(Kind::allReduce, {5}, {5}, ElementType::i16), "reduces i16 by add");
  refuse(call(Kind::allReduce, {5}, {5}, ElementType::i32, ReductionKind::bitXor), "i32 by xor");
  refuse(call(Kind::allReduce, {5}, {5}, ElementType::f32, ReductionKind::maximum),
         "f32 by maximum");
  EXPECT_THAT(test::calls(), IsEmpty());
  EXPECT_TRUE(ranks[0]->check().isOk()); // nothing was queued, so nothing has failed
  Call one = call(Kind::allGather, {1, 5}, {1, 20});
  one.dimension = 1; // the dimension before has size 1
  EXPECT_TRUE(ranks[0]->enqueue(one, 0, nullptr).isOk());
}

TEST_F(NcclEngineTest, RefusesCliquesAndMembersThatDoNotExist) {
  const auto made = engine();
  const std::vector<DeviceClique> twice = {{{{0, 1}, {1, 2}}}}, outside = {{{{0, 4}}}};
  EXPECT_EQ(statusOf(made->prepare({0, 1, 2, 3}, twice, after(1s))).error(),
            Error::collectiveGroups);
  EXPECT_EQ(statusOf(made->prepare({0, 1, 2, 3}, outside, after(1s))).error(),
            Error::collectiveGroups);
  EXPECT_EQ(statusOf(made->prepare({0, 4}, {}, after(1s))).error(), Error::collectiveGroups);
  const Communicators ranks = prepare(*made, {{{{0, 1}}}, {{{0, 1}}, true}});
  EXPECT_THAT(ranks[2]->enqueue(call(Kind::allReduce, {5}, {5}), 0, nullptr).message(),
              HasSubstr("no group that contains rank 2"));
  EXPECT_THAT(ranks[0]->enqueue(call(Kind::allReduce, {5}, {5}), 2, nullptr).message(),
              HasSubstr("clique 2 of a program that has 2 cliques"));
  EXPECT_THAT(ranks[0]->enqueue(call(Kind::allReduce, {5}, {5}), 1, nullptr).message(),
              HasSubstr("which has pairs"));
}

TEST_F(NcclEngineTest, AFailedCallFailsTheEngineAndRevokesAllRanks) {
  const auto made = engine();
  const Communicators ranks = prepare(*made, {{{}}});
  test::clear();
  test::failCalls("AllReduce", abi::ncclSystemError);
  const Status status = ranks[1]->enqueue(call(Kind::allReduce, {5}, {5}), 0, nullptr);
  EXPECT_EQ(status.error(), Error::ncclCall);
  EXPECT_THAT(status.message(),
              HasSubstr("ncclAllReduce failed: unhandled system error (the last words)"));
  EXPECT_THAT(test::calls(),
              ElementsAre(HasSubstr("AllReduce"), "Revoke(4)", "Revoke(0)", "Revoke(5)",
                          "Revoke(1)", "Revoke(6)", "Revoke(2)", "Revoke(7)", "Revoke(3)"));
  const Status later = ranks[3]->enqueue(call(Kind::allReduce, {5}, {5}), 0, nullptr);
  EXPECT_EQ(later.error(), Error::collectiveAborted);
  EXPECT_THAT(later.message(), HasSubstr("rank 1: ncclAllReduce failed"));
}

TEST_F(NcclEngineTest, AnAsynchronousErrorFailsTheEngine) {
  const auto made = engine();
  const Communicators ranks = prepare(*made, {{{}}});
  EXPECT_TRUE(ranks[2]->check().isOk());
  test::setState(abi::ncclRemoteError);
  const Status status = ranks[2]->check();
  EXPECT_EQ(status.error(), Error::ncclCall);
  EXPECT_THAT(status.message(), HasSubstr("remote process exited"));
  EXPECT_EQ(ranks[0]->check().error(), Error::collectiveAborted);
}

TEST_F(NcclEngineTest, RevokeEndsAWaitForOtherRanks) {
  const auto made = engine();
  const Communicators ranks = prepare(*made, {{{}}});
  test::setState(abi::ncclInProgress);
  std::thread other([&] {
    awaitCall("AllReduce(");
    made->revoke("rank 3 (process 1) was killed");
  });
  const auto begin = std::chrono::steady_clock::now();
  const Status status = ranks[0]->enqueue(call(Kind::allReduce, {5}, {5}), 0, nullptr);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
  other.join();
  EXPECT_EQ(status.error(), Error::collectiveAborted);
  EXPECT_THAT(status.message(), HasSubstr("rank 3 (process 1) was killed"));
}

TEST_F(NcclEngineTest, EveryWaitHasADeadline) {
  options.timeout = 30ms;
  const auto made = engine();
  const Communicators ranks = prepare(*made, {{{}}});
  test::setState(abi::ncclInProgress);
  const Status status = ranks[0]->enqueue(call(Kind::allReduce, {5}, {5}), 0, nullptr);
  EXPECT_EQ(status.error(), Error::collectiveStuck);
}

TEST_F(NcclEngineTest, NamesTheProcessesThatDoNotPrepare) {
  const auto made = engine(test::library(), 2);
  test::setState(abi::ncclInProgress);
  const Status status = statusOf(made->prepare({0, 1, 2, 3}, {}, after(30ms)));
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("process 1 with ranks [2, 3] did not load the program"));
  EXPECT_THAT(test::calls(), ::testing::Contains("Abort(0)")); // not ready, so not revoked
}

TEST_F(NcclEngineTest, NamesTheProcessThatPreparesOtherCliques) {
  Membership membership;
  membership.processOfRank = {0, 0, 1, 1};
  membership.process = 1;
  auto other = NcclEngine::connect(test::library(), membership, store, access, options);
  const auto made = engine(test::library(), 2);
  test::setState(abi::ncclInProgress);
  const std::vector<DeviceClique> cliques = {{{{0, 1}}}};
  std::thread thread(
      [&] { EXPECT_FALSE(other->prepare({0, 1, 2, 3}, cliques, after(100ms)).isOk()); });
  const Status status = statusOf(made->prepare({0, 1, 2, 3}, {}, after(100ms)));
  thread.join();
  EXPECT_EQ(status.error(), Error::commPlanDiffers);
  EXPECT_THAT(status.message(), HasSubstr("must load the same programs in the same order"));
}

TEST_F(NcclEngineTest, AProcessWithoutTheUniqueIdTimesOut) {
  Membership membership;
  membership.processOfRank = {0, 0, 1, 1};
  membership.process = 1;
  const auto made = NcclEngine::connect(test::library(), membership, store, access, options);
  const Status status = statusOf(made->prepare({0, 1, 2, 3}, {}, after(20ms)));
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("process 0 with ranks [0, 1]"));
  EXPECT_THAT(test::calls(), IsEmpty());
}

TEST_F(NcclEngineTest, ShrinksWhatWasRevoked) {
  const auto made = engine();
  const Communicators ranks = prepare(*made, {{{}}});
  made->revoke("rank 1 died");
  test::clear();
  auto shrunk = made->shrink({1}, 7, store, after(5s));
  ASSERT_TRUE(shrunk.isOk());
  EXPECT_THAT(test::calls(), ElementsAre("GroupStart()", "Shrink(0, without 1, flags 1)",
                                         "Shrink(2, without 1, flags 1)",
                                         "Shrink(3, without 1, flags 1)", "GroupEnd()"));
  test::clear();
  const Communicators rest = prepare(**shrunk, {{{}}}, {0, 2, 3});
  ASSERT_EQ(rest.size(), 3U);
  EXPECT_THAT(test::calls(),
              ElementsAre("GroupStart()", "Split(8, color 0, key 0)", "Split(9, color 0, key 1)",
                          "Split(10, color 0, key 2)", "GroupEnd()"));
  EXPECT_TRUE(rest[2]->enqueue(call(Kind::allReduce, {5}, {5}), 0, nullptr).isOk());
  EXPECT_EQ(statusOf((*shrunk)->prepare({0, 1}, {}, after(1s))).error(), Error::collectiveGroups);
}

/// A rank that was aborted while it made a communicator has nothing to shrink.
TEST_F(NcclEngineTest, MakesNewCommunicatorsIfTheOldOnesWereAborted) {
  const auto made = engine();
  prepare(*made, {});
  test::clear();
  test::setState(abi::ncclInProgress);
  std::thread other([&] {
    awaitCall("GroupEnd()");
    made->revoke("rank 1 died in a split");
  });
  const std::vector<DeviceClique> cliques = {{{{0, 1}, {2, 3}}}};
  const Status status = statusOf(made->prepare({0, 1, 2, 3}, cliques, after(5s)));
  other.join();
  EXPECT_THAT(status.message(), HasSubstr("rank 1 died in a split"));
  EXPECT_THAT(test::calls(), ::testing::Contains("Abort(3)"));
  test::setState(abi::ncclSuccess);
  test::clear();
  auto shrunk = made->shrink({1}, 7, store, after(5s));
  ASSERT_TRUE(shrunk.isOk()) << std::move(shrunk).takeStatus().toString();
  EXPECT_THAT(test::calls(), IsEmpty());
  prepare(**shrunk, {{{}}}, {0, 2, 3});
  EXPECT_THAT(test::calls(), ::testing::Contains(HasSubstr("Init(2 of 3")));
}

/// Process 0 has lost its communicator, process 1 has not: neither shrinks.
TEST_F(NcclEngineTest, ProcessesAgreeOnWhatTheyShrink) {
  Membership membership;
  membership.processOfRank = {0, 1, 2};
  std::vector<std::unique_ptr<NcclEngine>> engines;
  for (int64_t process : {0, 1}) {
    membership.process = process;
    engines.push_back(NcclEngine::connect(test::library(), membership, store, access, options));
    prepare(*engines.back(), {}, {0, 1, 2});
    prepare(*engines.back(), {}, {0, 2, 1});
  }
  test::setState(abi::ncclInProgress); // of a split, in which process 0 is when a rank dies
  const std::vector<DeviceClique> cliques = {{{{0, 1}}}};
  EXPECT_FALSE(engines[0]->prepare({0, 1, 2}, cliques, after(20ms)).isOk());
  test::setState(abi::ncclSuccess);
  engines[1]->revoke("rank 2 died");
  test::clear();
  std::vector<Status> ends(2);
  std::vector<std::thread> threads;
  for (size_t i : {0, 1})
    threads.emplace_back(
        [&, i] { ends[i] = engines[i]->shrink({2}, 1, store, after(5s)).takeStatus(); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(ends[0].isOk()) << ends[0].toString();
  EXPECT_TRUE(ends[1].isOk()) << ends[1].toString();
  // The program with members 0, 2, 1 only: rank 2 is its rank 1.
  std::vector<std::string> shrinks = test::calls();
  std::erase_if(shrinks, [](const std::string &each) { return !each.starts_with("Shrink"); });
  EXPECT_THAT(shrinks, ElementsAre(HasSubstr("without 1"), HasSubstr("without 1")));
}

TEST_F(NcclEngineTest, AFailureInsideAGroupEndsWhenTheGroupEnds) {
  const auto made = engine();
  const Communicators ranks = prepare(*made, {{{}}});
  test::clear();
  ASSERT_TRUE(ranks[1]->beginGroup().isOk());
  test::failCalls("AllReduce", abi::ncclSystemError);
  EXPECT_EQ(ranks[1]->enqueue(call(Kind::allReduce, {5}, {5}), 0, nullptr).error(),
            Error::ncclCall);
  EXPECT_THAT(test::calls(), ::testing::Not(::testing::Contains("Revoke(1)")));
  (void)ranks[1]->endGroup();
  EXPECT_THAT(test::calls(),
              AllOf(::testing::Contains("Revoke(1)"), ::testing::Contains("Revoke(0)")));
}

/// Each of the threads holds its rank's lock, and revokes all ranks.
TEST_F(NcclEngineTest, TwoRanksMayFailInGroupsWhileAProgramIsLoaded) {
  for (int round = 0; round < 20; ++round) {
    test::clear();
    const auto made = engine();
    const Communicators ranks = prepare(*made, {{{}}});
    test::failCalls("AllReduce", abi::ncclSystemError);
    std::vector<std::thread> threads;
    for (size_t rank : {0, 1})
      threads.emplace_back([&, rank] {
        EXPECT_TRUE(ranks[rank]->beginGroup().isOk());
        EXPECT_FALSE(ranks[rank]->enqueue(call(Kind::allReduce, {5}, {5}), 0, nullptr).isOk());
        EXPECT_FALSE(ranks[rank]->endGroup().isOk());
      });
    const std::vector<DeviceClique> cliques = {{{{0, 1}}}};
    (void)made->prepare({0, 1, 2, 3}, cliques, after(1s)); // may succeed or fail
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(ranks[3]->check().error(), Error::collectiveAborted);
  }
}

TEST_F(NcclEngineTest, RegistersMemoryOnceForEachCommunicator) {
  const auto made = engine();
  {
    const Communicators ranks = prepare(*made, {{{}}, {{{0, 1}, {2, 3}}}, {{{0, 1}}, true}});
    const Communicators again = prepare(*made, {{{}}});
    test::clear();
    ASSERT_TRUE(ranks[0]->registerMemory(memory, 4096).isOk());
    ASSERT_TRUE(again[0]->registerMemory(memory, 4096).isOk());
    EXPECT_THAT(test::calls(), ElementsAre("Register(4, 4096)", "Register(8, 4096)"));
    test::clear();
    ASSERT_TRUE(ranks[0]->deregisterMemory(memory).isOk());
    EXPECT_THAT(test::calls(), ElementsAre("Deregister(8)"));
    EXPECT_FALSE(ranks[0]->deregisterMemory(memory).isOk());
    auto window = ranks[1]->registerWindow(0, memory, 4096, after(1s));
    ASSERT_TRUE(window.isOk());
    EXPECT_EQ(*window, memory);
    test::clear();
  }
  EXPECT_THAT(test::calls(), ElementsAre("Deregister(4)")); // of the second program
}

TEST_F(NcclEngineTest, FinalizesAllRanksBeforeItDestroysAny) {
  auto made = engine();
  prepare(*made, {{{{0, 1}}}}, {0, 1});
  test::clear();
  made.reset();
  EXPECT_THAT(test::calls(), ElementsAre("Finalize(2)", "Finalize(0)", "Finalize(3)", "Finalize(1)",
                                         "Destroy(2)", "Destroy(0)", "Destroy(3)", "Destroy(1)"));
}

TEST(NcclLibrary, ForgetsFunctionsThatAreNewerThanItsVersion) {
  Library library = test::library();
  library.forgetNewer();
  EXPECT_TRUE(library.CommRevoke);
  library.version = 22803;
  library.forgetNewer();
  EXPECT_FALSE(library.CommRevoke);
  EXPECT_TRUE(library.AlltoAll && library.CommShrink);
  library.version = 22304;
  library.forgetNewer();
  EXPECT_FALSE(library.AlltoAll || library.CommShrink || library.CommWindowRegister);
}

TEST(NcclLibrary, NamesTheFileOrFunctionThatIsMissing) {
  const Status none = Library::load("/no/libnccl.so.2").takeStatus();
  EXPECT_EQ(none.error(), Error::carrierUnavailable);
  EXPECT_THAT(none.message(), HasSubstr("runtime.nccl-library"));
  const Status other = Library::load("libm.so.6").takeStatus();
  EXPECT_THAT(other.message(), HasSubstr("'libm.so.6' does not export nccl"));
}

} // namespace
} // namespace tilewright::collective::nccl
