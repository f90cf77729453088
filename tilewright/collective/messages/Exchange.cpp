#include "tilewright/collective/messages/Exchange.h"
#include "tilewright/collective/messages/Doubling.h"
#include "tilewright/collective/messages/MessageOperation.h"
#include "tilewright/support/Concat.h"

#include <cstring>

namespace tilewright::collective::messages {

namespace {

/// Buffers that a channel reuses, because allocating one costs more than the reduction itself.
class Staging final : public ChannelData {
public:
  static Staging &of(OrderedChannel &channel) {
    if (!channel.data)
      channel.data = std::make_unique<Staging>();
    return static_cast<Staging &>(*channel.data);
  }
  std::byte *received(size_t bytes) { return incoming.get(bytes); }
  std::byte *packed(size_t bytes) { return joined.get(bytes); }

private:
  struct Buffer {
    std::unique_ptr<std::byte[]> memory;
    size_t size = 0;
    std::byte *get(size_t bytes) {
      if (bytes > size) {
        memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
        size = bytes;
      }
      return memory.get();
    }
  };
  Buffer incoming, joined;
};

/// An all_reduce of one tensor by a built-in operation: reduces block by block as data arrives.
class StreamingAllReduce final : public MessageOperation {
public:
  StreamingAllReduce(Messages &messages, OrderedChannel &channel, const CollectiveRequest &request)
      : MessageOperation(messages, channel, request), tensor(call.tensors[0]),
        isSplit(request.bytes > (members > 2 ? maxUnsplitBytes : maxPairBytes)) {
    share = shareOfMember(mine);
    expectOperands();
    for (size_t m = 0; isSplit && m < members; ++m)
      if (m != mine && shareOfMember(m).bytes > 0)
        expect(m, 1, tensor.out + shareOfMember(m).begin, shareOfMember(m).bytes);
    // Start with the next member, so that the members do not all send to the same member at once.
    for (size_t i = 1; i < members; ++i) {
      const size_t m = (mine + i) % members;
      const Share theirs = shareOfMember(m);
      if (theirs.bytes > 0)
        send(m, 0, 0, tensor.in + theirs.begin, theirs.bytes);
    }
  }

  Result<bool> advance() override {
    TILEWRIGHT_TRY(sameCalls());
    reduceWhatCame();
    if (reduced < share.bytes || !areAllThere() || !hasLeft())
      return false;
    reach(expected.size());
    return true;
  }

private:
  /// Up to these sizes each member sends its whole operand to all others, because one step is
  /// faster than two. The limit for two ranks is higher: they send the same number of bytes either
  /// way, and splitting only halves the additions of each.
  static constexpr size_t maxUnsplitBytes = 16 << 10, maxPairBytes = 128 << 10;
  static constexpr size_t block = 256 << 10; // sent as one message, while it is still in the cache

  Share shareOfMember(size_t member) const {
    return isSplit ? shareOf(tensor, member, members) : Share{0, request.bytes};
  }

  /// Receives one operand directly into the result buffer, unless the result is in place.
  void expectOperands() {
    operands.resize(members);
    const bool isInPlace = tensor.in == tensor.out;
    std::byte *free = Staging::of(channel).received((members - 1) * share.bytes);
    bool isOutFree = !isInPlace;
    for (size_t m = 0; share.bytes > 0 && m < members; ++m) {
      if (m == mine) {
        operands[m] = tensor.in + share.begin;
        continue;
      }
      std::byte *to = isOutFree ? tensor.out + share.begin : free;
      if (!std::exchange(isOutFree, false))
        free += share.bytes;
      operands[m] = to;
      arriving.push_back(&expect(m, 0, to, share.bytes));
    }
  }

  void reduceWhatCame() {
    const size_t width = numerics::storageBytes(tensor.element);
    while (reduced < share.bytes) {
      // An in-place result overwrites the operand, so wait until the operand has been sent. In a
      // split all_reduce a rank does not send its own share, so it need not wait.
      if (!isSplit && tensor.in == tensor.out && !hasLeft())
        return;
      size_t there = share.bytes;
      for (const Expected *each : arriving)
        there = std::min(there, each->received.load(std::memory_order_acquire));
      const size_t bytes = std::min(there - reduced, block) / width * width;
      // Wait for a full block, because each block is sent as one message.
      if (bytes == 0 || (bytes < block && reduced + bytes < share.bytes))
        return;
      for (size_t done = 0; done < bytes; done += piece)
        reducePiece(reduced + done, std::min(piece, bytes - done), width);
      const std::byte *to = tensor.out + share.begin + reduced;
      reach(arriving.size()); // operands come first in `expected`
      for (size_t i = 1; isSplit && i < members; ++i)
        send((mine + i) % members, 1, reduced, to, bytes);
      reduced += bytes;
    }
  }

  void reducePiece(size_t at, size_t bytes, size_t width) {
    std::byte *to = tensor.out + share.begin + at;
    alignas(64) std::byte sum[piece];
    // The first operand may already be in the result buffer; then reduce in place.
    std::byte *into = operands[0] + at == to ? to : sum;
    if (into == sum)
      std::memcpy(sum, operands[0] + at, bytes);
    for (size_t m = 1; m < members; ++m)
      request.combine(into, operands[m] + at, bytes / width);
    if (into == sum)
      std::memcpy(to, sum, bytes);
  }

  static constexpr size_t piece = 16 << 10;
  const Tensor &tensor;
  const bool isSplit;
  Share share;
  std::vector<const std::byte *> operands; // of the share, by member
  std::vector<Expected *> arriving;
  size_t reduced = 0;
};

/// An all_reduce of several tensors: packs them into one, so that each member sends one message to
/// each other, and no more bytes than for one tensor of this size.
class PackedAllReduce final : public Operation {
public:
  PackedAllReduce(Messages &messages, OrderedChannel &channel, const CollectiveRequest &request)
      : call(*request.call), packed(call), packedRequest(request) {
    std::byte *memory = Staging::of(channel).packed(request.bytes);
    std::byte *to = memory;
    for (const Tensor &tensor : call.tensors) {
      copyBytes(to, tensor.in, inBytes(tensor));
      to += inBytes(tensor);
    }
    const ElementType element = call.tensors[0].element;
    const auto count = static_cast<int64_t>(request.bytes / numerics::storageBytes(element));
    packed.tensors = {Tensor{element, {count}, {count}, memory, memory}};
    packedRequest.call = &packed;
    inner.emplace(messages, channel, packedRequest);
  }

  Result<bool> advance() override {
    Result<bool> result = inner->advance();
    if (!result.isOk() || !*result)
      return result;
    const std::byte *from = packed.tensors[0].out;
    for (const Tensor &tensor : call.tensors) {
      copyBytes(tensor.out, from, outBytes(tensor));
      from += outBytes(tensor);
    }
    return true;
  }
  bool isMissing(size_t member) const override { return inner->isMissing(member); }

private:
  const Call &call;
  Call packed;
  CollectiveRequest packedRequest;
  std::optional<StreamingAllReduce> inner;
};

/// Implements all other collectives: packs and exchanges shards, and copies them into the results.
class Exchange final : public MessageOperation {
public:
  Exchange(Messages &messages, OrderedChannel &channel, const CollectiveRequest &request)
      : MessageOperation(messages, channel, request) {
    switch (call.kind) {
    case Kind::broadcast:
      oneWay(mine == 0 ? std::nullopt : std::optional<size_t>(0), mine == 0);
      return;
    case Kind::permute:
      oneWay(request.source, false);
      return;
    case Kind::raggedAllToAll:
      beginRagged();
      return;
    default:
      break;
    }
    const size_t tensors = std::max<size_t>(call.tensors.size(), 1);
    incoming.resize(tensors * members);
    for (size_t t = 0; t < tensors; ++t)
      for (size_t i = 1; i < members; ++i) {
        const size_t m = (mine + i) % members, from = (mine + members - i) % members;
        const size_t bytes = piece(t, mine).bytes();
        incoming[t * members + from].resize(bytes);
        expect(from, static_cast<uint32_t>(t), incoming[t * members + from].data(), bytes);
        sendPiece(t, m);
      }
  }

  Result<bool> advance() override {
    TILEWRIGHT_TRY(sameCalls());
    answerWhenThere();
    if (!areAllThere())
      return false;
    reach(expected.size());
    if (!isPlaced) {
      isPlaced = true;
      TILEWRIGHT_TRY(place());
    }
    return isPlaced && !answerTo && areAllThere() && hasLeft();
  }

private:
  /// The shard of operand `t` that member `m` needs.
  Piece piece(size_t t, size_t m) const {
    if (call.tensors.empty())
      return {0, 0, 0, 0};
    const Tensor &tensor = call.tensors[t];
    const size_t bytes = numerics::storageBytes(tensor.element);
    if (call.kind == Kind::reduceScatter)
      return Piece::of(tensor.inDims, call.dimension, m, members, bytes);
    if (call.kind == Kind::allToAll)
      return Piece::of(tensor.inDims, call.splitDimension, m, members, bytes);
    const size_t whole = inBytes(tensor);
    return {0, whole, whole, whole > 0 ? size_t(1) : 0};
  }

  void sendPiece(size_t t, size_t m) {
    const Piece part = piece(t, m);
    const std::byte *from = part.rows > 0 ? call.tensors[t].in + part.first : nullptr;
    if (!part.isContiguous()) {
      packed.emplace_back(part.bytes());
      part.pack(packed.back().data(), call.tensors[t].in);
      from = packed.back().data();
    }
    send(m, static_cast<uint32_t>(t), 0, from, part.bytes());
  }

  /// One-way transfers: broadcast and permute. The sender waits for an acknowledgement, so that it
  /// is at most one collective ahead of its peers and they buffer little unexpected data.
  void oneWay(std::optional<size_t> source, bool isRoot) {
    const auto answer = static_cast<uint32_t>(call.tensors.size());
    isPlaced = true;
    std::vector<size_t> targets;
    if (isRoot)
      for (size_t m = 1; m < members; ++m)
        targets.push_back(m);
    else if (call.kind == Kind::permute && request.target)
      targets.push_back(*request.target);
    for (size_t t = 0; t < call.tensors.size(); ++t) {
      const Tensor &tensor = call.tensors[t];
      const size_t bytes = outBytes(tensor);
      if (source && *source != mine)
        expect(*source, static_cast<uint32_t>(t), tensor.out, bytes);
      else if (source || isRoot)
        copyBytes(tensor.out, tensor.in, tensor.out == tensor.in ? 0 : bytes);
      else if (bytes > 0 && tensor.out)
        std::memset(tensor.out, 0, bytes);
      for (size_t m : targets)
        if (m != mine)
          send(m, static_cast<uint32_t>(t), 0, tensor.in, bytes);
    }
    awaited = expected.size();
    if (source && *source != mine)
      answerTo = *source;
    for (size_t m : targets)
      if (m != mine)
        expect(m, answer, nullptr, 0);
  }

  /// Acknowledges the operands as soon as they have arrived, without waiting for acknowledgements
  /// of this rank's own operand.
  void answerWhenThere() {
    if (!answerTo ||
        !std::all_of(expected.begin(), expected.begin() + static_cast<int64_t>(awaited),
                     [](const auto &each) { return each->isThere(); }))
      return;
    reach(awaited);
    send(*answerTo, static_cast<uint32_t>(call.tensors.size()), 0, nullptr, 0);
    answerTo.reset();
  }

  void beginRagged() {
    const size_t entries = call.ragged.size() / 4, each = entries / members;
    const auto *table = reinterpret_cast<const std::byte *>(call.ragged.data());
    const Tensor &tensor = call.tensors[0];
    row = product(std::span(tensor.inDims).subspan(1)) * numerics::storageBytes(tensor.element);
    tables.resize(members);
    incoming.resize(members);
    tables[mine].assign(call.ragged.begin(), call.ragged.end());
    for (size_t i = 1; i < members; ++i) {
      const size_t m = (mine + i) % members;
      tables[m].resize(call.ragged.size());
      expect(m, 0, reinterpret_cast<std::byte *>(tables[m].data()), call.ragged.size_bytes());
      send(m, 0, 0, table, call.ragged.size_bytes());
      size_t offset = 0;
      for (size_t e = m * each; e < (m + 1) * each; ++e) {
        const size_t bytes = static_cast<size_t>(call.ragged[entries + e]) * row;
        if (bytes > 0)
          send(m, 1, offset, tensor.in + static_cast<size_t>(call.ragged[e]) * row, bytes);
        offset += bytes;
      }
    }
  }

  /// Called when all tables have arrived: checks them against the expected row counts, then posts
  /// receives for the rows.
  Status expectRows() {
    const size_t entries = call.ragged.size() / 4, each = entries / members;
    for (size_t m = 0; m < members; ++m) {
      size_t bytes = 0;
      for (size_t i = 0; i < each; ++i) {
        const int64_t rows = tables[m][entries + mine * each + i];
        const int64_t awaited = call.ragged[3 * entries + m * each + i];
        if (rows != awaited)
          return Status(Error::raggedRows,
                        concat("member ", m, " of '", call.name, "' sends ", rows,
                               " rows to member ", mine, ", which expects ", awaited));
        bytes += static_cast<size_t>(rows) * row;
      }
      if (m == mine || bytes == 0)
        continue;
      incoming[m].resize(bytes);
      expect(m, 1, incoming[m].data(), bytes);
    }
    isPlaced = false;
    hasTables = true;
    return Status();
  }

  Status placeRagged() {
    // Received rows are contiguous, so rewrite the input offsets in the tables of the other
    // members; this rank's own rows stay where they are in its operand.
    const size_t entries = call.ragged.size() / 4, each = entries / members;
    std::vector<const std::byte *> in(members);
    std::vector<const int64_t *> ragged(members);
    for (size_t m = 0; m < members; ++m) {
      in[m] = m == mine ? call.tensors[0].in : incoming[m].data();
      int64_t next = 0;
      for (size_t e = mine * each; m != mine && e < (mine + 1) * each; ++e) {
        tables[m][e] = next;
        next += tables[m][entries + e];
      }
      ragged[m] = tables[m].data();
    }
    return raggedAllToAll({call, mine, members, in, {}, ragged});
  }

  Status place() {
    if (call.kind == Kind::raggedAllToAll)
      return hasTables ? placeRagged() : expectRows();
    const size_t tensors = call.tensors.size();
    std::vector<const std::byte *> in(members * tensors);
    for (size_t t = 0; t < tensors; ++t) {
      const Piece own = piece(t, mine);
      if (!own.isContiguous()) {
        incoming[t * members + mine].resize(own.bytes());
        own.pack(incoming[t * members + mine].data(), call.tensors[t].in);
      }
      for (size_t m = 0; m < members; ++m)
        in[m * tensors + t] = m == mine && own.isContiguous() ? call.tensors[t].in + own.first
                                                              : incoming[t * members + m].data();
    }
    if (call.kind == Kind::allReduce) {
      waitToReduce = std::move(in);
      return reduceWhole();
    }
    if (call.kind == Kind::reduceScatter) {
      // The shards have the shape of the result, so what remains is an all_reduce of the shards.
      Call sum = call;
      sum.kind = Kind::allReduce;
      for (Tensor &tensor : sum.tensors)
        tensor.inDims = tensor.outDims;
      reduceAll({sum, mine, members, in, {}});
      return Status();
    }
    for (size_t t = 0; t < tensors; ++t) {
      const Tensor &tensor = call.tensors[t];
      const size_t bytes = numerics::storageBytes(tensor.element);
      for (size_t m = 0; m < members; ++m)
        Piece::of(tensor.outDims, call.dimension, m, members, bytes)
            .unpack(tensor.out, in[m * tensors + t]);
    }
    return Status();
  }

  /// The result may alias an operand that is still being sent; in that case place() is called again
  /// later.
  Status reduceWhole() {
    if (!hasLeft()) {
      isPlaced = false;
      return Status();
    }
    reduceAll({call, mine, members, waitToReduce, {}});
    return Status();
  }

  std::vector<const std::byte *> waitToReduce;
  bool isPlaced = false;
  // Used only by broadcast and permute:
  std::optional<size_t> answerTo;
  size_t awaited = 0; // number of expected operand messages, which precede the acknowledgements
  // For ragged_all_to_all:
  size_t row = 0;
  bool hasTables = false;
};

} // namespace

std::unique_ptr<Operation> makeExchange(Messages &messages, OrderedChannel &channel,
                                        const CollectiveRequest &request, bool keepsOrder) {
  const Call &call = *request.call;
  const bool isSum = call.kind == Kind::allReduce || call.kind == Kind::reduceScatter;
  if (channel.members.size() >= manyMembers && !(isSum && keepsOrder))
    if (auto doubling = makeDoubling(messages, channel, request))
      return doubling;
  if (call.kind == Kind::allReduce && request.combine && request.bytes > 0) {
    if (call.tensors.size() == 1)
      return std::make_unique<StreamingAllReduce>(messages, channel, request);
    if (std::all_of(call.tensors.begin(), call.tensors.end(), [&](const Tensor &tensor) {
          return tensor.element == call.tensors[0].element;
        }))
      return std::make_unique<PackedAllReduce>(messages, channel, request);
  }
  return std::make_unique<Exchange>(messages, channel, request);
}

} // namespace tilewright::collective::messages
