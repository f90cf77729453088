// Collectives of many ranks: results of every kind, and messages and time of up to 131,072 ranks.
#include "tilewright/collective/messages/Doubling.h"
#include "tilewright/collective/Move.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <iostream>
#include <numeric>

namespace tilewright::collective::messages {
namespace {

/// All ranks of a job in one thread: a message arrives after a latency and the time of its bytes,
/// and each rank has a clock.
class Wire final : public Messages {
public:
  explicit Wire(size_t ranks) : Messages(membershipOf(ranks), failureBox), ranks(ranks) {}
  static constexpr double latency = 5e-6, bytesPerSecond = 12.5e9;

  struct Rank {
    double now = 0, sentUntil = 0;
    uint64_t messages = 0, bytes = 0;
  };
  std::vector<Rank> ranks;

  void progress(std::chrono::milliseconds) override {}
  void wake() override {}
  void reach(int64_t rank, int64_t at) override {
    double &now = ranks[static_cast<size_t>(rank)].now;
    now = std::max(now, static_cast<double>(at) * 1e-12);
  }

protected:
  void post(int64_t, const Header &header, std::span<const std::byte> bytes, Sent *sent) override {
    Rank &from = ranks[static_cast<size_t>(header.key.from)];
    from.sentUntil = std::max(from.now, from.sentUntil) +
                     static_cast<double>(sizeof(Header) + bytes.size()) / bytesPerSecond;
    ++from.messages;
    from.bytes += bytes.size();
    Header arriving = header;
    arriving.at = static_cast<int64_t>((from.sentUntil + latency) * 1e12);
    deliver(arriving, bytes);
    sent->bytes.fetch_add(bytes.size());
  }
  void withdraw(Sent &) override {}
  void flushFor(std::chrono::milliseconds) override {}

private:
  /// Process 0 has no rank: so every message goes through post().
  static Membership membershipOf(size_t ranks) {
    Membership membership;
    membership.processOfRank.resize(ranks);
    std::iota(membership.processOfRank.begin(), membership.processOfRank.end(), 1);
    return membership;
  }
  FailureBox failureBox;
};

struct Case {
  Kind kind;
  std::vector<int64_t> in, out;
  int64_t dimension = 0, split = 0;
};

size_t countOf(const std::vector<int64_t> &dims) {
  return static_cast<size_t>(
      std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>()));
}

/// Small integers, so that sums are exact in every order.
std::vector<float> operandOf(size_t rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>((rank * 131 + i * 7) % 101);
  return values;
}

/// One collective of all ranks, with one or two tensors of the same shape.
class Job {
public:
  Job(Wire &wire, const Case &given, size_t tensors = 1) : wire(wire), given(given) {
    const size_t ranks = wire.ranks.size();
    Clique everyone(ranks);
    std::iota(everyone.begin(), everyone.end(), 0);
    parts.resize(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
      Part &part = parts[rank];
      part.channel.id = 1;
      // Of 131,072 lists of 131,072 members there is room for one: ranks run one after the other.
      part.channel.mine = rank;
      part.in = operandOf(rank, given.kind == Kind::barrier ? 0 : tensors * countOf(given.in));
      part.out.assign(given.kind == Kind::barrier ? 0 : tensors * countOf(given.out), -1);
      Call &call = part.call;
      call.kind = given.kind;
      call.groups = &all;
      call.dimension = given.dimension;
      call.splitDimension = given.split;
      call.reduction.operation = ReductionKind::add;
      for (size_t t = 0; given.kind != Kind::barrier && t < tensors; ++t)
        call.tensors.push_back(
            {ElementType::f32, given.in, given.out,
             reinterpret_cast<const std::byte *>(part.in.data() + t * countOf(given.in)),
             reinterpret_cast<std::byte *>(part.out.data() + t * countOf(given.out))});
      part.request.call = &call;
      part.request.bytes = part.in.size() * sizeof(float);
      part.request.combine = combineFor(ReductionKind::add, ElementType::f32);
    }
    members = std::move(everyone);
  }

  void run() {
    for (Part &part : parts)
      lend(part, [&] { part.operation = makeDoubling(wire, part.channel, part.request); });
    for (size_t left = parts.size(); left > 0;) {
      const size_t before = left;
      const uint64_t sent = messages();
      for (Part &part : parts) {
        if (!part.operation || part.isDone)
          continue;
        lend(part, [&] {
          Result<bool> done = part.operation->advance();
          ASSERT_TRUE(done.isOk());
          part.isDone = *done;
        });
        left -= part.isDone;
      }
      ASSERT_TRUE(left < before || messages() > sent) << left << " ranks wait forever";
    }
  }
  const std::vector<float> &resultOf(size_t rank) const { return parts[rank].out; }
  const Call &callOf(size_t rank) const { return parts[rank].call; }
  uint64_t messages() const {
    uint64_t sum = 0;
    for (const Wire::Rank &rank : wire.ranks)
      sum += rank.messages;
    return sum;
  }
  ~Job() {
    for (Part &part : parts)
      lend(part, [&] { part.operation.reset(); });
  }

private:
  struct Part {
    OrderedChannel channel;
    std::vector<float> in, out;
    Call call;
    CollectiveRequest request;
    std::unique_ptr<Operation> operation;
    bool isDone = false;
  };
  template <typename Work> void lend(Part &part, Work work) {
    part.channel.members.swap(members);
    work();
    part.channel.members.swap(members);
  }
  Wire &wire;
  const Case given;
  std::vector<std::vector<int64_t>> all;
  Clique members;
  std::vector<Part> parts;
};

std::vector<Case> casesFor(int64_t n) {
  return {{Kind::allReduce, {1}, {1}},
          {Kind::allReduce, {3, n + 2}, {3, n + 2}},
          {Kind::allGather, {2, 3}, {2, 3 * n}, 1},
          {Kind::allGather, {2}, {2 * n}},
          {Kind::reduceScatter, {2, 2 * n, 2}, {2, 2, 2}, 1},
          {Kind::allToAll, {2 * n, 3}, {2, 3 * n}, 1, 0},
          {Kind::broadcast, {5}, {5}},
          {Kind::barrier, {}, {}}};
}

TEST(Doubling, EveryKindComputesWhatAllOperandsTogetherGive) {
  for (size_t ranks : {2, 3, 4, 5, 8, 13, 33, 64, 65})
    for (const Case &given : casesFor(static_cast<int64_t>(ranks)))
      for (size_t tensors : {1, 2}) {
        Wire wire(ranks);
        Job job(wire, given, tensors);
        job.run();
        if (given.kind == Kind::barrier)
          continue;
        std::vector<std::vector<float>> operands;
        std::vector<const std::byte *> in;
        for (size_t rank = 0; rank < ranks; ++rank)
          operands.push_back(operandOf(rank, tensors * countOf(given.in)));
        for (size_t rank = 0; rank < ranks; ++rank)
          for (size_t t = 0; t < tensors; ++t)
            in.push_back(
                reinterpret_cast<const std::byte *>(operands[rank].data() + t * countOf(given.in)));
        for (size_t rank = 0; rank < ranks; ++rank) {
          std::vector<float> expected(tensors * countOf(given.out), -2);
          Call call = job.callOf(rank);
          for (size_t t = 0; t < tensors; ++t)
            call.tensors[t].out =
                reinterpret_cast<std::byte *>(expected.data() + t * countOf(given.out));
          ASSERT_TRUE(exchange({call, rank, ranks, in, {}}, std::nullopt).isOk());
          ASSERT_EQ(job.resultOf(rank), expected)
              << nameOf(given.kind) << " of rank " << rank << " of " << ranks;
        }
      }
}

/// An all_reduce sends 2 (n - 1) / n of the tensor, as the direct exchange does.
TEST(Doubling, BytesAreThoseOfARing) {
  constexpr size_t ranks = 64, count = 64 * 100;
  Wire wire(ranks);
  Job job(wire, {Kind::allReduce, {count}, {count}});
  job.run();
  for (const Wire::Rank &rank : wire.ranks) {
    EXPECT_EQ(rank.bytes, 2 * (ranks - 1) * count / ranks * sizeof(float));
    EXPECT_EQ(rank.messages, 12U);
  }
}

/// TILEWRIGHT_TEST_COUNT=131072 simulates so many ranks.
TEST(DoublingScale, MessagesAndTimeGrowWithTheLogarithmOfTheRanks) {
  const char *text = std::getenv("TILEWRIGHT_TEST_COUNT");
  const size_t ranks = text ? std::strtoull(text, nullptr, 10) : 8192;
  const auto rounds = static_cast<uint64_t>(std::bit_width(ranks - 1));
  for (const Case &given : {Case{Kind::allReduce, {4}, {4}}, Case{Kind::barrier, {}, {}},
                            Case{Kind::broadcast, {64}, {64}}})
    for (size_t count : {ranks, ranks - 1}) {
      Wire wire(count);
      Job job(wire, given);
      job.run();
      uint64_t most = 0;
      double last = 0;
      for (const Wire::Rank &rank : wire.ranks) {
        most = std::max(most, rank.messages);
        last = std::max(last, rank.now);
      }
      std::cout << nameOf(given.kind) << " of " << count << " ranks: at most " << most
                << " messages a rank, " << last * 1e6 << " us\n";
      EXPECT_LE(most, 2 * rounds + 1);
      EXPECT_LT(last, static_cast<double>(2 * rounds + 2) * 1.1 * Wire::latency);
      if (given.kind == Kind::allReduce) {
        std::vector<float> sum(4);
        for (size_t rank = 0; rank < count; ++rank)
          for (size_t i = 0; i < 4; ++i)
            sum[i] += operandOf(rank, 4)[i]; // below 2^24: exact
        EXPECT_EQ(job.resultOf(0), sum);
        EXPECT_EQ(job.resultOf(count / 2), sum);
        EXPECT_EQ(job.resultOf(count - 1), sum);
      }
      if (given.kind == Kind::broadcast)
        EXPECT_EQ(job.resultOf(count - 1), operandOf(0, 64));
    }
}

} // namespace
} // namespace tilewright::collective::messages
