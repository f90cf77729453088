#include "tilewright/collective/membership/StateMachine.h"
#include "tilewright/collective/membership/testing/UnsafeStateMachine.h"
#include "tilewright/collective/membership/testing/Witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <numeric>

namespace tilewright::collective::membership {
namespace {

using ::testing::HasSubstr;

/// Machines whose messages the test delivers explicitly.
class Table {
public:
  explicit Table(size_t count, const UnsafeStateMachine::Rules &rules = {}) {
    StateMachine::Settings settings;
    std::vector<int64_t> processes(count);
    std::iota(processes.begin(), processes.end(), 0);
    settings.processes = std::make_shared<const std::vector<int64_t>>(processes);
    settings.dense = count;
    for (size_t place = 0; place < count; ++place) {
      settings.self = place;
      nodes.push_back(std::make_unique<Node>(*this, place, settings, rules));
      witness.add(place);
    }
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b)
        if (a != b)
          at(a).connected(b);
    deliverAll();
    sent = 0;
  }

  StateMachine &at(size_t place) { return nodes[place]->machine; }
  const Status &endOf(size_t place) const { return nodes[place]->end; }
  bool hasEnded(size_t place) const { return nodes[place]->hasEnded; }

  /// Delivers all that one machine has sent to another.
  void deliver(size_t from, size_t to) {
    auto &queue = nodes[from]->queues[to];
    while (!queue.empty()) {
      const Message message = std::move(queue.front());
      queue.pop_front();
      if (!nodes[to]->hasEnded)
        at(to).receive(from, message);
    }
  }
  /// Delivers messages until none is left.
  void deliverAll() {
    for (bool isMore = true; isMore;) {
      isMore = false;
      for (auto &from : nodes)
        for (auto &[to, queue] : from->queues) {
          isMore |= !queue.empty();
          deliver(from->place, to);
        }
    }
  }
  /// Drops the last message, as if it had never been sent.
  void takeBack(size_t from, size_t to) { nodes[from]->queues[to].pop_back(); }
  void forget(size_t from, size_t to) { nodes[from]->queues[to].clear(); }
  void crash(size_t place) {
    nodes[place]->hasEnded = true;
    witness.crash(place);
  }
  /// `who` receives everything from the crashed machines, and then sees their ends.
  void seeEnds(size_t who) {
    for (auto &node : nodes)
      if (node->hasEnded && node->place != who) {
        deliver(node->place, who);
        at(who).ended(node->place);
      }
  }

  Witness witness;
  size_t sent = 0;

private:
  struct Node final : Effects {
    Node(Table &table, size_t place, const StateMachine::Settings &settings,
         const UnsafeStateMachine::Rules &rules)
        : table(table), place(place), machine(settings, *this, rules) {}
    void send(size_t to, const Message &message) override {
      ++table.sent;
      queues[to].push_back(message);
    }
    void over(uint64_t epoch, const Reason &) override { table.witness.over(place, epoch); }
    void deliver(uint64_t epoch, const Places &members) override {
      table.witness.deliver(place, epoch, members);
    }
    void stop(Status status) override {
      end = std::move(status);
      hasEnded = true;
      table.witness.stop(place);
    }
    Table &table;
    const size_t place;
    UnsafeStateMachine machine;
    std::map<size_t, std::deque<Message>> queues; // by receiver
    bool hasEnded = false;
    Status end;
  };
  std::vector<std::unique_ptr<Node>> nodes;
};

/// Process 0 decides on [0, 1, 2, 4] with a majority that then dies. Its decision is still in
/// flight to process 4, which follows process 3 by now. Process 0 would send to 3 before 4, but the
/// protocol must not rely on that: a broadcast tree has another order.
std::string lastWordOfTheDead(bool proofNeedsAll) {
  UnsafeStateMachine::Rules rules;
  rules.proofNeedsAll = proofNeedsAll;
  Table table(5, rules);
  table.at(0).suspect(0, 3, "mistaken");
  for (size_t place : {1, 2, 4})
    table.deliver(0, place), table.deliver(place, 0);
  // Process 0 has proposed. Process 3 wrongly suspects all of them, and asks process 4.
  for (size_t place : {0, 1, 2})
    table.at(3).suspect(0, place, "mistaken");
  table.deliver(3, 4);
  table.deliver(4, 3);
  for (size_t place : {1, 2})
    table.deliver(0, place), table.deliver(place, 0);
  EXPECT_EQ(table.at(0).epoch(), 1U);
  table.takeBack(0, 3);
  for (size_t place : {0, 1, 2})
    table.crash(place);
  table.seeEnds(3);
  table.deliver(3, 4);
  table.deliver(4, 3);
  EXPECT_EQ(table.at(3).epoch(), proofNeedsAll ? 0U : 1U);
  table.seeEnds(4);
  table.deliverAll();
  return table.witness.problem();
}

TEST(StateMachine, AnEndCountsWhenAllHaveSeenIt) { EXPECT_EQ(lastWordOfTheDead(true), ""); }

TEST(StateMachine, AnEndThatOneHasSeenIsNotEnough) {
  EXPECT_THAT(lastWordOfTheDead(false), HasSubstr("epoch 1 has two views"));
}

TEST(StateMachine, WhoWasLeftOutIsToldWhenItSpeaks) {
  Table table(3);
  table.at(0).suspect(0, 2, "silent");
  table.deliver(0, 1), table.deliver(1, 0), table.deliver(0, 1), table.deliver(1, 0);
  ASSERT_EQ(table.at(0).epoch(), 1U);
  table.forget(0, 2); // it was told, but the message was lost
  EXPECT_FALSE(table.hasEnded(2));
  table.at(2).beat();
  table.deliver(2, 0);
  table.deliver(0, 2);
  EXPECT_EQ(table.endOf(2).error(), Error::rankFenced);
  EXPECT_EQ(table.witness.problem(), "");
}

TEST(StateMachine, AViewCostsAFewMessagesForEachProcess) {
  for (size_t count : {8, 64, 300}) {
    Table table(count);
    table.crash(1);
    for (size_t place = 0; place < count; ++place)
      if (place != 1)
        table.at(place).ended(1);
    table.deliverAll();
    for (size_t place = 0; place < count; ++place)
      if (place != 1) {
        EXPECT_EQ(table.at(place).epoch(), 1U);
        EXPECT_EQ(table.at(place).members().count(), count - 1);
      }
    EXPECT_LE(table.sent, 6 * count);
    EXPECT_EQ(table.witness.problem(), "");
  }
}

TEST(StateMachine, MessagesAreReadAsTheyWereWritten) {
  Message message;
  message.type = Message::promise;
  message.epoch = 7;
  message.ballot = {3, 2};
  message.accepted = {1, 99};
  message.members = Places::firstOf(130);
  message.accused.add(64);
  message.reason = {2, 5, "'all_reduce.3'", "train.py:41", "died"};
  std::vector<std::byte> bytes = encode(message);
  const std::optional<Message> read = decode(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->type, message.type);
  EXPECT_EQ(read->epoch, 7U);
  EXPECT_EQ(read->ballot, message.ballot);
  EXPECT_EQ(read->accepted, message.accepted);
  EXPECT_EQ(read->members, message.members);
  EXPECT_EQ(read->accused, message.accused);
  EXPECT_TRUE(read->ended.isEmpty());
  EXPECT_EQ(read->reason, message.reason);
  // No prefix decodes as a message, and no corrupt byte makes the decoder read out of bounds.
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode(std::span(bytes).first(size)));
  for (std::byte &byte : bytes) {
    const std::byte before = byte;
    byte = std::byte(0xff);
    (void)decode(bytes);
    byte = before;
  }
  EXPECT_EQ(encode({}).size(), 2U); // a heartbeat, the most frequent message
}

} // namespace
} // namespace tilewright::collective::membership
