#include "tilewright/collective/membership/Group.h"
#include "tilewright/collective/shm/ShmEngine.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

namespace tilewright::collective::membership {
namespace {

using namespace std::chrono_literals;
using test::Census;
using test::slowness;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Processes that are threads of this one; they exchange the same messages.
class Groups {
public:
  explicit Groups(int64_t count, std::vector<std::string> hosts = {}, size_t dense = 64) {
    std::vector<std::future<Result<std::unique_ptr<Group>>>> joining;
    for (int64_t process = 0; process < count; ++process)
      joining.push_back(std::async(std::launch::async, [&, process] {
        Group::Config config = configOf(process, count, hosts);
        config.dense = dense;
        return Group::join(config, store, after(20s));
      }));
    for (auto &each : joining) {
      Result<std::unique_ptr<Group>> group = each.get();
      EXPECT_TRUE(group.isOk()) << std::move(group).takeStatus().toString();
      all.push_back(group.isOk() ? *std::move(group) : nullptr);
    }
  }
  static Group::Config configOf(int64_t process, int64_t count,
                                std::vector<std::string> hosts = {}) {
    Group::Config config;
    config.process = process;
    for (int64_t other = 0; other < count; ++other)
      config.processes.push_back(other);
    config.address = "127.0.0.1";
    if (!hosts.empty())
      config.host = hosts[static_cast<size_t>(process)];
    return config;
  }
  MemoryKeyValueStore store;
  std::vector<std::unique_ptr<Group>> all;
};

TEST(Group, AllMeetInTheFirstView) {
  Groups groups(5);
  for (auto &group : groups.all) {
    EXPECT_EQ(group->view().epoch, 0U);
    EXPECT_THAT(group->view().members, ElementsAre(0, 1, 2, 3, 4));
    EXPECT_TRUE(group->status().isOk());
    EXPECT_EQ(group->whyOver(0), std::nullopt);
  }
}

/// A job in which a process is connected to few others, as a large one is: here to those at the
/// distances 1, 2 and 4, and not to those at distance 3.
TEST(Group, NeighboursPassOnViewsEndsAndNotes) {
  constexpr int64_t count = 12;
  Groups groups(count, {}, /*dense=*/0);
  for (auto &group : groups.all)
    EXPECT_EQ(group->view().members.size(), size_t(count));
  // A note to a process that is not connected to its writer.
  ASSERT_TRUE(groups.all[0]->store(0)->put("job/address", "here").isOk());
  EXPECT_EQ(*groups.all[6]->store(0)->get("job/address", after(10s)), "here");
  // All hear of a revocation with its reason, and go on together.
  groups.all[5]->revoke(0, Reason::of(5, "its rank failed"));
  for (auto &group : groups.all) {
    Result<View> view = group->agree(0, after(10s));
    ASSERT_TRUE(view.isOk()) << std::move(view).takeStatus().toString();
    EXPECT_EQ(view->members.size(), size_t(count));
    EXPECT_EQ(group->whyOver(0)->text, "its rank failed");
  }
  // The lowest process leads. It leaves, then the next.
  for (const uint64_t leaver : {0, 1}) {
    groups.all[leaver].reset();
    for (size_t i = leaver + 1; i < groups.all.size(); ++i) {
      Result<View> view = groups.all[i]->agree(leaver + 1, after(10s));
      ASSERT_TRUE(view.isOk()) << std::move(view).takeStatus().toString();
      EXPECT_EQ(view->members.size(), size_t(count) - leaver - 1);
      EXPECT_FALSE(view->has(static_cast<int64_t>(leaver)));
      EXPECT_TRUE(groups.all[i]->whyOver(leaver + 1)->hasLeft);
    }
  }
  // A process that is suspected by one that is not connected to it.
  const uint64_t epoch = groups.all[3]->view().epoch;
  groups.all[3]->suspect(epoch, 9, "it computes wrong sums");
  for (size_t i = 2; i < groups.all.size(); ++i)
    if (i == 9)
      EXPECT_EQ(groups.all[i]->agree(epoch, after(10s)).takeStatus().error(), Error::rankFenced);
    else
      EXPECT_FALSE(groups.all[i]->agree(epoch, after(10s))->has(9));
}

TEST(Group, OneProcessIsAGroup) {
  Groups groups(1);
  EXPECT_THAT(groups.all[0]->view().members, ElementsAre(0));
  groups.all[0]->revoke(0, Reason::of(0, "tried"));
  Result<View> view = groups.all[0]->agree(0, after(10s));
  ASSERT_TRUE(view.isOk());
  EXPECT_EQ(view->epoch, 1U);
}

TEST(Group, WhoeverRevokesTellsAllAndAllGoOn) {
  Groups groups(4);
  groups.all[2]->revoke(0, {2, 2, "'all_reduce.3'", "train.py:41", "out of memory"});
  for (auto &group : groups.all) {
    Result<View> view = group->agree(0, after(10s));
    ASSERT_TRUE(view.isOk()) << std::move(view).takeStatus().toString();
    EXPECT_EQ(view->epoch, 1U);
    EXPECT_THAT(view->members, ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(group->whyOver(0)->toString(),
              "process 2, rank 2 in 'all_reduce.3' at train.py:41: out of memory");
  }
}

TEST(Group, WhoLeavesIsOutAndEvenOneGoesOnAlone) {
  Groups groups(3);
  groups.all[0].reset();
  for (size_t i : {1, 2}) {
    Result<View> view = groups.all[i]->agree(0, after(10s));
    ASSERT_TRUE(view.isOk()) << std::move(view).takeStatus().toString();
    EXPECT_THAT(view->members, ElementsAre(1, 2));
    EXPECT_THAT(groups.all[i]->whyOver(0)->toString(), HasSubstr("process 0"));
  }
  groups.all[1].reset();
  Result<View> view = groups.all[2]->agree(1, after(10s));
  ASSERT_TRUE(view.isOk()) << std::move(view).takeStatus().toString();
  EXPECT_THAT(view->members, ElementsAre(2));
}

TEST(Group, WhoIsSuspectedIsToldThatItIsOut) {
  Groups groups(3);
  groups.all[1]->suspect(0, 2, "its sums are wrong");
  for (size_t i : {0, 1}) {
    Result<View> view = groups.all[i]->agree(0, after(10s));
    ASSERT_TRUE(view.isOk()) << std::move(view).takeStatus().toString();
    EXPECT_THAT(view->members, ElementsAre(0, 1));
    EXPECT_EQ(groups.all[i]->whyOver(0)->toString(), "process 2: its sums are wrong");
  }
  Status status = groups.all[2]->agree(0, after(10s)).takeStatus();
  EXPECT_EQ(status.error(), Error::rankFenced);
  EXPECT_THAT(status.message(), HasSubstr("of epoch 1"));
  EXPECT_EQ(groups.all[2]->status().error(), Error::rankFenced);
}

/// A process that leaves in good order announces it, so that between hosts, too, it counts as
/// ended.
TEST(Group, WhoLeavesLeavesNoDoubtBetweenHosts) {
  Groups groups(2, {"a", "b"});
  groups.all[0].reset();
  Result<View> view = groups.all[1]->agree(0, after(10s));
  ASSERT_TRUE(view.isOk()) << std::move(view).takeStatus().toString();
  EXPECT_THAT(view->members, ElementsAre(1));
}

TEST(Group, LeavingEndsAllWaits) {
  Groups groups(2);
  auto notes = groups.all[1]->store(0);
  auto view = std::async(std::launch::async,
                         [&] { return groups.all[1]->agree(0, after(20s)).takeStatus(); });
  auto note =
      std::async(std::launch::async, [&] { return notes->get("never", after(20s)).takeStatus(); });
  groups.all[1]->leave();
  EXPECT_EQ(view.get().code(), Code::cancelled);
  EXPECT_EQ(note.get().error(), Error::epochOver);
  ASSERT_TRUE(groups.all[0]->agree(0, after(10s)).isOk());
  EXPECT_TRUE(groups.all[0]->whyOver(0)->hasLeft);
}

/// A process that waits in connect() learns at once that its peer has left the view.
TEST(Group, ConnectingEndsWithTheEpoch) {
  Groups groups(2);
  auto connecting = std::async(std::launch::async, [&] {
    return shm::ShmEngine::connect(groups.all[0]->view().membershipOf(test::membershipOf(0, 2)),
                                   *groups.all[0]->store(0), {})
        .takeStatus();
  });
  std::this_thread::sleep_for(50ms);
  const auto before = std::chrono::steady_clock::now();
  groups.all[1].reset();
  Status status = connecting.get();
  EXPECT_EQ(status.error(), Error::epochOver);
  EXPECT_THAT(status.message(), HasSubstr("process 1: it has left the job"));
  EXPECT_LT(std::chrono::steady_clock::now() - before, 100ms * slowness());
}

TEST(Group, AnEpochThatNobodyEndedHasNoSuccessor) {
  Groups groups(2);
  Status status = groups.all[0]->agree(0, after(10ms)).takeStatus();
  EXPECT_EQ(status.error(), Error::groupUnsettled);
  EXPECT_THAT(status.message(), HasSubstr("has not ended"));
}

TEST(Group, AnOldEpochCannotBeRevokedAgain) {
  Groups groups(2);
  groups.all[0]->revoke(0, Reason::of(0, "once"));
  ASSERT_TRUE(groups.all[1]->agree(0, after(10s)).isOk());
  ASSERT_TRUE(groups.all[0]->agree(0, after(10s)).isOk());
  groups.all[1]->revoke(0, Reason::of(1, "late"));
  groups.all[1]->suspect(0, 0, "late");
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(groups.all[0]->view().epoch, 1U);
  EXPECT_EQ(groups.all[1]->view().epoch, 1U);
}

TEST(Group, AWatchIsCalledOnceWithTheReason) {
  Groups groups(2);
  std::promise<std::string> heard;
  auto watch = groups.all[1]->watch(0, [&](const Reason &why) { heard.set_value(why.toString()); });
  std::atomic<int> unwanted = 0;
  groups.all[1]->watch(0, [&](const Reason &) { ++unwanted; }).reset();
  groups.all[0]->revoke(0, Reason::of(0, "enough"));
  EXPECT_EQ(heard.get_future().get(), "process 0: enough");
  ASSERT_TRUE(groups.all[1]->agree(0, after(10s)).isOk());
  EXPECT_EQ(unwanted, 0);
  // A watch on an epoch that is over is called at once.
  int late = 0;
  auto second = groups.all[1]->watch(0, [&](const Reason &) { ++late; });
  EXPECT_EQ(late, 1);
}

TEST(Group, NotesReachAllMembersUntilTheEpochIsOver) {
  Groups groups(3);
  auto writer = groups.all[0]->store(0), reader = groups.all[2]->store(0);
  ASSERT_TRUE(writer->put("job/address/0", "here").isOk());
  Result<std::string> note = reader->get("job/address/0", after(10s));
  ASSERT_TRUE(note.isOk()) << std::move(note).takeStatus().toString();
  EXPECT_EQ(*note, "here");
  EXPECT_EQ(*reader->tryGet("job/address/1"), std::nullopt);
  EXPECT_EQ(reader->get("job/address/1", after(10ms)).takeStatus().code(), Code::deadlineExceeded);

  auto waiting = std::async(std::launch::async,
                            [&] { return reader->get("job/address/1", after(20s)).takeStatus(); });
  groups.all[1].reset();
  Status status = waiting.get();
  EXPECT_EQ(status.error(), Error::epochOver);
  EXPECT_THAT(status.message(), HasSubstr("while waiting for 'job/address/1': process 1"));
  // The writer may hear of it later than the reader.
  Status late = writer->put("job/address/1", "late");
  for (const Deadline end = after(10s); late.isOk() && std::chrono::steady_clock::now() < end;)
    late = writer->put("job/address/1", "late");
  EXPECT_EQ(late.error(), Error::epochOver);
  ASSERT_TRUE(groups.all[0]->agree(0, after(10s)).isOk());
  ASSERT_TRUE(groups.all[2]->agree(0, after(10s)).isOk());
  // Values of the old epoch are not visible in the new one.
  EXPECT_EQ(*groups.all[2]->store(1)->tryGet("job/address/0"), std::nullopt);
  ASSERT_TRUE(groups.all[0]->store(1)->put("job/address/0", "there").isOk());
  EXPECT_EQ(*groups.all[2]->store(1)->get("job/address/0", after(10s)), "there");
}

TEST(Group, WhoDoesNotComeIsNamed) {
  MemoryKeyValueStore store;
  Status status = Group::join(Groups::configOf(1, 3), store, after(50ms)).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("timed out waiting for process 0"));
  status = Group::join(Groups::configOf(0, 3), store, after(50ms)).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("processes [1, 2] did not connect in time"));
}

/// A restarted process finds the addresses of the others, but is rejected.
TEST(Group, WhoComesAgainIsFenced) {
  Groups groups(2);
  Status status = Group::join(Groups::configOf(1, 2), groups.store, after(20s)).takeStatus();
  EXPECT_EQ(status.error(), Error::rankFenced);
  EXPECT_THAT(status.message(), HasSubstr("must rejoin"));
  EXPECT_EQ(groups.all[0]->view().epoch, 0U); // the others did not notice
}

TEST(Group, LeavesNothingBehind) {
  const Census before = Census::take();
  for (int round = 0; round < 50; ++round) {
    Groups groups(3);
    groups.all[static_cast<size_t>(round % 3)].reset();
  }
  const Census later = Census::take();
  EXPECT_EQ(later.descriptors, before.descriptors);
  EXPECT_EQ(later.threads, before.threads);
}

} // namespace
} // namespace tilewright::collective::membership
