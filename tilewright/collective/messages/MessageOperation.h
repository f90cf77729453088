// MessageOperation: the base class of collectives that are implemented with messages.
#ifndef TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGEOPERATION_H
#define TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGEOPERATION_H

#include "tilewright/collective/Move.h"
#include "tilewright/collective/messages/Messages.h"

#include <functional>
#include <numeric>

namespace tilewright::collective::messages {

using Dims = std::vector<int64_t>;

inline size_t product(std::span<const int64_t> dims) {
  return static_cast<size_t>(
      std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>()));
}

/// Shard `index` of the `pieces` shards of a tensor along a dimension: rows at a fixed stride.
struct Piece {
  size_t first, row, stride, rows; // in bytes, except `rows`, which is a count

  static Piece of(const Dims &dims, int64_t dim, size_t index, size_t pieces, size_t bytes) {
    const auto d = static_cast<size_t>(dim);
    const size_t stride = product(std::span(dims).subspan(d)) * bytes;
    const size_t row = stride / pieces;
    return {index * row, row, stride, row > 0 ? product(std::span(dims).first(d)) : 0};
  }
  size_t bytes() const { return row * rows; }
  bool isContiguous() const { return rows <= 1; }
  void pack(std::byte *to, const std::byte *tensor) const {
    for (size_t r = 0; r < rows; ++r)
      copyBytes(to + r * row, tensor + first + r * stride, row);
  }
  void unpack(std::byte *tensor, const std::byte *from) const {
    for (size_t r = 0; r < rows; ++r)
      copyBytes(tensor + first + r * stride, from + r * row, row);
  }
};

/// The base class of all message operations: sends to and receives from the members. The destructor
/// cancels both, so that no memory of an aborted operation is accessed.
class MessageOperation : public Operation {
public:
  MessageOperation(Messages &messages, OrderedChannel &channel, const CollectiveRequest &request)
      : messages(messages), channel(channel), request(request), call(*request.call),
        number(channel.sequence++), members(channel.members.size()), mine(channel.mine) {}
  ~MessageOperation() override {
    for (const std::unique_ptr<Expected> &each : expected)
      messages.forget(*each);
    if (!hasLeft())
      messages.forget(sent);
  }
  bool isMissing(size_t member) const override {
    for (const std::unique_ptr<Expected> &each : expected)
      if (!each->isThere() && each->key.from == static_cast<int32_t>(channel.members[member]))
        return true;
    return false;
  }

protected:
  Expected &expect(size_t member, uint32_t phase, std::byte *to, size_t bytes) {
    Expected &fresh = *expected.emplace_back(std::make_unique<Expected>());
    fresh.key = {channel.id, number, static_cast<int32_t>(channel.members[member]),
                 static_cast<int32_t>(channel.members[mine]), phase};
    fresh.site = request.site;
    fresh.to = to;
    fresh.bytes = bytes;
    messages.expect(fresh);
    return fresh;
  }
  void send(size_t member, uint32_t phase, uint64_t offset, const std::byte *from, size_t bytes) {
    toSend += bytes;
    messages.send({channel.id, number, static_cast<int32_t>(channel.members[mine]),
                   static_cast<int32_t>(channel.members[member]), phase},
                  request.site, request.text, offset, {from, bytes}, sent);
  }
  /// Fails if a member called a different collective.
  Status sameCalls() const {
    for (const std::unique_ptr<Expected> &each : expected)
      if (each->isDifferent.load(std::memory_order_acquire))
        return mismatch(each->key.from, each->text, each->key.to, request.text);
    return Status();
  }
  bool areAllThere() const {
    return std::all_of(expected.begin(), expected.end(),
                       [](const auto &each) { return each->isThere(); });
  }
  /// Advances this rank's clock to the arrival of its first `count` expected messages.
  void reach(size_t count) {
    int64_t at = 0;
    for (size_t i = 0; i < count; ++i)
      at = std::max(at, expected[i]->at.load(std::memory_order_relaxed));
    messages.reach(channel.members[mine], at);
  }
  bool hasLeft() const { return sent.bytes.load(std::memory_order_acquire) >= toSend; }

  Messages &messages;
  OrderedChannel &channel;
  const CollectiveRequest &request;
  const Call &call;
  const uint64_t number;
  const size_t members, mine;
  Sent sent;
  size_t toSend = 0;
  std::vector<std::unique_ptr<Expected>> expected;
  // Buffers that messages read and write. They are in the base class because members of a derived
  // class are destroyed before the messages are cancelled.
  std::vector<std::vector<std::byte>> incoming; // by tensor and member
  std::deque<std::vector<std::byte>> packed;    // until they are sent
  std::vector<std::byte> buffer, arriving;      // of Doubling
  std::vector<std::vector<int64_t>> tables;     // of ragged_all_to_all, by member
};

} // namespace tilewright::collective::messages

#endif // TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGEOPERATION_H
