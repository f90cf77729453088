#include "tilewright/collective/messages/Exchange.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tilewright::collective::messages {
namespace {

/// Carries nothing, and uses memory up to the moment when it is told that it may not any more: as
/// a message does that comes while its collective is given up.
class LastMoment final : public Messages {
public:
  using Messages::Messages;
  void progress(std::chrono::milliseconds) override {}
  void wake() override {}
  size_t written = 0, read = 0;

private:
  void post(int64_t, const Header &, std::span<const std::byte> bytes, Sent *) override {
    underWay.push_back(bytes);
  }
  void abandon(Expected &expected) override {
    if (expected.bytes > 0)
      std::memset(expected.to, 1, expected.bytes);
    written += expected.bytes;
  }
  void withdraw(Sent &) override {
    for (std::span<const std::byte> bytes : underWay) {
      const std::vector<std::byte> copy(bytes.begin(), bytes.end());
      read += copy.size();
    }
  }
  void flushFor(std::chrono::milliseconds) override {}
  std::vector<std::span<const std::byte>> underWay;
};

/// A sanitizer says so if not.
TEST(Exchange, MemoryOfMessagesStaysUntilTheyAreForgotten) {
  Membership membership;
  membership.processOfRank = {0, 1};
  const std::vector<int64_t> ragged = {0, 1, 1, 1, 0, 1, 1, 1};
  std::vector<float> in(64, 1), out(128);
  for (Kind kind : {Kind::allReduce, Kind::allGather, Kind::reduceScatter, Kind::allToAll,
                    Kind::raggedAllToAll, Kind::permute, Kind::broadcast, Kind::barrier}) {
    FailureBox failure;
    LastMoment messages(membership, failure);
    Lane lane;
    lane.members = {0, 1};
    Call call;
    call.kind = kind;
    call.ragged = ragged;
    call.dimension = call.splitDimension = kind == Kind::raggedAllToAll ? 0 : 1; // parts lie apart
    call.reduction.operation = "add";
    Tensor tensor;
    tensor.inDims = tensor.outDims = {8, 8};
    tensor.in = reinterpret_cast<const std::byte *>(in.data());
    tensor.out = reinterpret_cast<std::byte *>(out.data());
    if (kind != Kind::barrier)
      call.tensors = {tensor, tensor};
    Turn turn;
    turn.call = &call;
    turn.text = "one that is given up";
    turn.bytes = 2 * in.size() * sizeof(float);
    turn.source = turn.target = 1;
    makeExchange(messages, lane, turn).reset();
    if (kind != Kind::barrier && kind != Kind::broadcast)
      EXPECT_GT(messages.written, 0u) << nameOf(kind);
    if (kind != Kind::barrier)
      EXPECT_GT(messages.read, 0u) << nameOf(kind);
  }
}

} // namespace
} // namespace tilewright::collective::messages
