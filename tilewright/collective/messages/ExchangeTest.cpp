#include "tilewright/collective/messages/Exchange.h"
#include "tilewright/collective/messages/Doubling.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace tilewright::collective::messages {
namespace {

/// A transport that carries nothing. It accesses the memory of messages until they are cancelled,
/// as a message does that arrives while its collective is aborted.
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
    underWay.clear();
  }
  void flushFor(std::chrono::milliseconds) override {}
  std::vector<std::span<const std::byte>> underWay;
};

/// A sanitizer reports a violation.
TEST(Exchange, MemoryOfMessagesStaysUntilTheyAreForgotten) {
  Membership membership;
  membership.processOfRank = {0, 1};
  const std::vector<int64_t> ragged = {0, 1, 1, 1, 0, 1, 1, 1};
  std::vector<float> in(64, 1), out(128);
  for (Kind kind : {Kind::allReduce, Kind::allGather, Kind::reduceScatter, Kind::allToAll,
                    Kind::raggedAllToAll, Kind::permute, Kind::broadcast, Kind::barrier}) {
    FailureBox failure;
    LastMoment messages(membership, failure);
    OrderedChannel channel;
    channel.members = {0, 1};
    Call call;
    call.kind = kind;
    call.ragged = ragged;
    call.dimension = call.splitDimension = kind == Kind::raggedAllToAll ? 0 : 1; // strided
    call.reduction.operation = ReductionKind::add;
    Tensor tensor;
    tensor.inDims = tensor.outDims = {8, 8};
    tensor.in = reinterpret_cast<const std::byte *>(in.data());
    tensor.out = reinterpret_cast<std::byte *>(out.data());
    if (kind != Kind::barrier)
      call.tensors = {tensor, tensor};
    CollectiveRequest request;
    request.call = &call;
    request.text = "a cancelled collective";
    request.bytes = 2 * in.size() * sizeof(float);
    request.source = request.target = 1;
    makeExchange(messages, channel, request).reset();
    if (kind != Kind::barrier && kind != Kind::broadcast)
      EXPECT_GT(messages.written, 0u) << nameOf(kind);
    if (kind != Kind::barrier)
      EXPECT_GT(messages.read, 0u) << nameOf(kind);
    // The same among many members.
    request.combine = combineFor(ReductionKind::add, ElementType::f32);
    messages.written = 0;
    if (auto doubling = makeDoubling(messages, channel, request)) {
      Result<bool> isDone = doubling->advance();
      EXPECT_TRUE(isDone.isOk() && (!*isDone || kind == Kind::broadcast)) << nameOf(kind);
      doubling.reset();
      if (kind != Kind::barrier && kind != Kind::broadcast)
        EXPECT_GT(messages.written, 0u) << nameOf(kind);
    }
  }
}

TEST(ProgressThread, AsksForShortSlices) {
  std::thread([] {
    if (!askForShortSlices())
      GTEST_SKIP() << "the kernel has no slices for each thread (before Linux 6.12)";
    uint64_t attributes[6] = {}; // struct sched_attr; the fourth word is sched_runtime
    ASSERT_EQ(syscall(SYS_sched_getattr, 0, attributes, sizeof attributes, 0), 0);
    if (attributes[3] != 0) // kernels before 6.12 accept the request and ignore it
      EXPECT_EQ(attributes[3], 100'000u);
  }).join();
}

} // namespace
} // namespace tilewright::collective::messages
