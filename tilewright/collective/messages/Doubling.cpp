#include "tilewright/collective/messages/Doubling.h"
#include "tilewright/collective/messages/MessageOperation.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace tilewright::collective::messages {
namespace {

/// `count` elements, divided among the members as evenly as possible, in a buffer that begins with
/// this member's block.
struct Blocks {
  size_t members = 1, mine = 0, count = 0, width = 1;

  size_t bytes() const { return count * width; }
  /// The position in the buffer of the block that belongs to member mine + j.
  size_t offset(size_t j) const {
    const size_t from = begin(mine), to = mine + j;
    return to <= members ? begin(to) - from : bytes() - from + begin(to - members);
  }
  /// The position of a member's block in the order of the group.
  size_t begin(size_t member) const {
    // Exact for tensors of up to 2^64 / members elements.
    return count / members * member * width + count % members * member / members * width;
  }
  size_t size(size_t member) const { return begin(member + 1) - begin(member); }
};

/// A sequence of steps, each of at most one message in each direction.
class DoublingOperation : public MessageOperation {
public:
  using MessageOperation::MessageOperation;

  Result<bool> advance() override {
    TILEWRIGHT_TRY(sameCalls());
    for (; next < steps; ++next) {
      if (!isPosted) {
        isPosted = true;
        post(next);
      }
      if (!areAllThere())
        return false;
      reach(expected.size());
      absorb(next);
      isPosted = false;
    }
    if (!hasLeft())
      return false;
    if (!std::exchange(isFinished, true))
      finish();
    return true;
  }

protected:
  virtual void post(size_t step) = 0;
  virtual void absorb(size_t step) = 0;
  virtual void finish() {}

  size_t up(size_t distance) const { return (mine + distance) % members; }
  size_t down(size_t distance) const { return (mine + members - distance) % members; }
  size_t rounds() const { return static_cast<size_t>(std::bit_width(members - 1)); }

  size_t steps = 0;

private:
  size_t next = 0;
  bool isPosted = false, isFinished = false;
};

/// all_gather, reduce_scatter, all_reduce, barrier.
class Spread final : public DoublingOperation {
public:
  Spread(Messages &messages, OrderedChannel &channel, const CollectiveRequest &request)
      : DoublingOperation(messages, channel, request) {
    const bool isGather = call.kind == Kind::allGather || call.kind == Kind::barrier;
    blocks.members = members;
    blocks.mine = mine;
    blocks.width = isGather ? 1 : numerics::storageBytes(call.tensors[0].element);
    blocks.count = request.bytes / blocks.width * (isGather ? members : 1);
    sums = isGather ? 0 : rounds();
    steps = sums + (call.kind == Kind::reduceScatter ? 0 : rounds());
    buffer.resize(blocks.bytes());
    if (isGather)
      packOwn();
    else
      packAll();
  }

private:
  /// The distance of a step, and the blocks that it moves: those of `count` members from `mine` or
  /// from `mine + distance` on.
  struct Step {
    size_t distance, count;
    bool isSum;
  };
  Step stepAt(size_t step) const {
    const bool isSum = step < sums;
    const size_t distance = size_t(1) << (isSum ? sums - 1 - step : step - sums);
    return {distance, std::min(distance, members - distance), isSum};
  }
  std::span<std::byte> blocksFrom(size_t first, size_t count) {
    return std::span(buffer).subspan(blocks.offset(first),
                                     blocks.offset(first + count) - blocks.offset(first));
  }

  void post(size_t number) override {
    const Step step = stepAt(number);
    const std::span<std::byte> near = blocksFrom(0, step.count),
                               far = blocksFrom(step.distance, step.count);
    const auto phase = static_cast<uint32_t>(number);
    const bool isEmpty = blocks.bytes() == 0; // every message counts, as in a barrier
    const std::span<std::byte> out = step.isSum ? far : near, in = step.isSum ? near : far;
    if (!in.empty() || isEmpty) {
      if (step.isSum)
        arriving.resize(in.size());
      expect(step.isSum ? down(step.distance) : up(step.distance), phase,
             step.isSum ? arriving.data() : in.data(), in.size());
    }
    if (!out.empty() || isEmpty)
      send(step.isSum ? up(step.distance) : down(step.distance), phase, 0, out.data(), out.size());
  }

  void absorb(size_t number) override {
    const Step step = stepAt(number);
    if (!step.isSum)
      return;
    const std::span<std::byte> into = blocksFrom(0, step.count);
    if (!into.empty())
      request.combine(into.data(), arriving.data(), into.size() / blocks.width);
  }

  void packOwn() {
    std::byte *to = buffer.data();
    for (const Tensor &tensor : call.tensors) {
      copyBytes(to, tensor.in, inBytes(tensor));
      to += inBytes(tensor);
    }
  }

  /// Copies the operands into the buffer, or the buffer into the results: for each member, its
  /// block of every tensor.
  template <typename Copy> void eachBlock(Copy copy) {
    for (size_t j = 0; j < members; ++j) {
      size_t at = blocks.offset(j);
      for (size_t t = 0; t < call.tensors.size(); ++t)
        at += copy(t, up(j), buffer.data() + at);
    }
  }
  void packAll() {
    if (call.kind == Kind::allReduce)
      return eachRun([](std::byte *inBuffer, const Tensor &tensor, size_t at, size_t bytes) {
        copyBytes(inBuffer, tensor.in + at, bytes);
      });
    eachBlock([&](size_t t, size_t member, std::byte *to) {
      const Tensor &tensor = call.tensors[t];
      const Piece piece = Piece::of(tensor.inDims, call.dimension, member, members,
                                    numerics::storageBytes(tensor.element));
      piece.pack(to, tensor.in);
      return piece.bytes();
    });
  }

  /// The tensors of an all_reduce one after the other, rotated so that this member's share comes
  /// first.
  template <typename Copy> void eachRun(Copy copy) {
    size_t first = 0; // of the tensor, in the order of the group
    for (const Tensor &tensor : call.tensors) {
      const size_t own = blocks.begin(mine), end = first + inBytes(tensor);
      for (auto [from, to, shift] : {std::tuple(size_t(0), own, blocks.bytes() - own),
                                     std::tuple(own, blocks.bytes(), size_t(0) - own)}) {
        const size_t begin = std::max(first, from), stop = std::min(end, to);
        if (begin < stop)
          copy(buffer.data() + (begin + shift), tensor, begin - first, stop - begin);
      }
      first = end;
    }
  }

  void finish() override {
    if (call.kind == Kind::allReduce) {
      eachRun([](std::byte *inBuffer, const Tensor &tensor, size_t at, size_t bytes) {
        copyBytes(tensor.out + at, inBuffer, bytes);
      });
    } else if (call.kind == Kind::reduceScatter) {
      const std::byte *from = buffer.data();
      for (const Tensor &tensor : call.tensors) {
        copyBytes(tensor.out, from, outBytes(tensor));
        from += outBytes(tensor);
      }
    } else if (call.kind == Kind::allGather) {
      eachBlock([&](size_t t, size_t member, const std::byte *from) {
        const Tensor &tensor = call.tensors[t];
        const Piece piece = Piece::of(tensor.outDims, call.dimension, member, members,
                                      numerics::storageBytes(tensor.element));
        piece.unpack(tensor.out, from);
        return piece.bytes();
      });
    }
  }

  Blocks blocks;
  size_t sums = 0; // steps that add
};

/// all_to_all of small pieces: piece j of the buffer has to move by j members, and moves by one
/// power of two per step.
class Shuffle final : public DoublingOperation {
public:
  Shuffle(Messages &messages, OrderedChannel &channel, const CollectiveRequest &request)
      : DoublingOperation(messages, channel, request), bytes(request.bytes / members) {
    steps = rounds();
    buffer.resize(request.bytes);
    for (size_t j = 0; j < members; ++j) {
      std::byte *to = buffer.data() + j * bytes;
      for (const Tensor &tensor : call.tensors) {
        const Piece piece = Piece::of(tensor.inDims, call.splitDimension, up(j), members,
                                      numerics::storageBytes(tensor.element));
        piece.pack(to, tensor.in);
        to += piece.bytes();
      }
    }
  }

private:
  template <typename Visit> void eachMoving(size_t step, Visit visit) {
    size_t at = 0;
    for (size_t j = 0; j < members; ++j)
      if (j >> step & 1) {
        visit(buffer.data() + j * bytes, at);
        at += bytes;
      }
    moving = at;
  }
  void post(size_t step) override {
    std::vector<std::byte> &out = packed.emplace_back(request.bytes);
    eachMoving(step,
               [&](std::byte *piece, size_t at) { copyBytes(out.data() + at, piece, bytes); });
    out.resize(moving);
    arriving.resize(moving);
    const auto phase = static_cast<uint32_t>(step);
    expect(down(size_t(1) << step), phase, arriving.data(), moving);
    send(up(size_t(1) << step), phase, 0, out.data(), moving);
  }
  void absorb(size_t step) override {
    eachMoving(step,
               [&](std::byte *piece, size_t at) { copyBytes(piece, arriving.data() + at, bytes); });
  }
  void finish() override {
    for (size_t j = 0; j < members; ++j) {
      const std::byte *from = buffer.data() + j * bytes;
      for (const Tensor &tensor : call.tensors) {
        const Piece piece = Piece::of(tensor.outDims, call.dimension, down(j), members,
                                      numerics::storageBytes(tensor.element));
        piece.unpack(tensor.out, from);
        from += piece.bytes();
      }
    }
  }

  const size_t bytes; // of a piece, of all tensors
  size_t moving = 0;
};

/// A broadcast along a binomial tree. A member waits for acknowledgements from its children, so
/// that it is at most one collective ahead of them.
class Tree final : public DoublingOperation {
public:
  Tree(Messages &messages, OrderedChannel &channel, const CollectiveRequest &request)
      : DoublingOperation(messages, channel, request) {
    steps = 2;
  }

private:
  uint32_t answer() const { return static_cast<uint32_t>(call.tensors.size()); }
  /// The highest power of two that is at most the member's number; 0 for the root.
  size_t own() const { return mine == 0 ? 0 : std::bit_floor(mine); }
  template <typename Visit> void eachChild(Visit visit) {
    for (size_t d = mine == 0 ? 1 : 2 * own(); mine + d < members; d *= 2)
      visit(mine + d);
  }

  void post(size_t step) override {
    const size_t parent = mine - own();
    if (step == 0) {
      for (size_t t = 0; mine > 0 && t < call.tensors.size(); ++t)
        expect(parent, static_cast<uint32_t>(t), call.tensors[t].out, outBytes(call.tensors[t]));
      return;
    }
    eachChild([&](size_t child) { expect(child, answer(), nullptr, 0); });
  }
  void absorb(size_t step) override {
    if (step != 0)
      return;
    if (mine > 0)
      send(mine - own(), answer(), 0, nullptr, 0);
    for (size_t t = 0; t < call.tensors.size(); ++t) {
      const Tensor &tensor = call.tensors[t];
      if (mine == 0 && tensor.out != tensor.in)
        copyBytes(tensor.out, tensor.in, outBytes(tensor));
      eachChild([&](size_t child) {
        send(child, static_cast<uint32_t>(t), 0, tensor.out, outBytes(tensor));
      });
    }
  }
};

} // namespace

std::unique_ptr<Operation> makeDoubling(Messages &messages, OrderedChannel &channel,
                                        const CollectiveRequest &request) {
  const Call &call = *request.call;
  // Above this size, log2(n) / 2 times the bytes take longer than n messages.
  constexpr size_t maxPiece = 512;
  const bool canSum =
      request.combine && request.bytes > 0 &&
      std::all_of(call.tensors.begin(), call.tensors.end(),
                  [&](const Tensor &tensor) { return tensor.element == call.tensors[0].element; });
  if (channel.members.size() < 2)
    return nullptr;
  switch (call.kind) {
  case Kind::allReduce:
  case Kind::reduceScatter:
    return canSum ? std::make_unique<Spread>(messages, channel, request) : nullptr;
  case Kind::allGather:
  case Kind::barrier:
    return std::make_unique<Spread>(messages, channel, request);
  case Kind::allToAll:
    if (request.bytes / channel.members.size() > maxPiece || request.bytes == 0)
      return nullptr;
    return std::make_unique<Shuffle>(messages, channel, request);
  case Kind::broadcast:
    return std::make_unique<Tree>(messages, channel, request);
  case Kind::permute:
  case Kind::raggedAllToAll:
    break;
  }
  return nullptr;
}

} // namespace tilewright::collective::messages
