#include "tilewright/collective/hosts/Steps.h"
#include "tilewright/collective/Move.h"
#include "tilewright/collective/messages/Exchange.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tilewright::collective::hosts {

using numerics::storageBytes;

Levels::Levels(const OrderedChannel &channel, const std::vector<std::string> &hostOfRank) {
  std::vector<std::vector<size_t>> hosts;
  std::map<std::string_view, size_t> numberOf;
  size_t here = 0, place = 0;
  for (size_t m = 0; m < channel.members.size(); ++m) {
    const std::string &name = hostOfRank[static_cast<size_t>(channel.members[m])];
    const size_t host = numberOf.try_emplace(name, hosts.size()).first->second;
    if (host == hosts.size())
      hosts.emplace_back();
    if (m == channel.mine) {
      here = host;
      place = hosts[host].size();
    }
    hosts[host].push_back(m);
  }
  each = hosts[0].size();
  for (const std::vector<size_t> &members : hosts) {
    leaders.members.push_back(channel.members[members[0]]);
    byHost.insert(byHost.end(), members.begin(), members.end());
    if (members.size() != hosts[0].size())
      each = 0;
  }
  isInOrder = std::is_sorted(byHost.begin(), byHost.end());
  for (size_t m : hosts[here])
    within.members.push_back(channel.members[m]);
  again.members = within.members;
  flat.members = channel.members;
  if (each > 0)
    for (const std::vector<size_t> &members : hosts)
      rail.members.push_back(channel.members[members[place]]);
  isLeader = place == 0;
  const int64_t own = channel.members[channel.mine];
  uint64_t salt = channel.id;
  for (OrderedChannel *part : {&flat, &within, &leaders, &again, &rail}) {
    part->id = std::max<uint64_t>(hashOf(part->members, ++salt), 1);
    part->mine = static_cast<size_t>(std::find(part->members.begin(), part->members.end(), own) -
                                     part->members.begin());
  }
}

namespace {

/// Runs collectives of parts of the members, one after the other.
class Steps : public Operation {
public:
  Steps(Transports transports, const OrderedChannel &channel, const CollectiveRequest &request)
      : transports(transports), channel(channel), request(request) {}
  ~Steps() override {
    current.reset(); // reads and writes the memory below
    for (std::byte *each : memory)
      transports.host.arena->free(each);
  }

  Result<bool> advance() override {
    TILEWRIGHT_TRY(std::exchange(failure, Status()));
    for (; next < steps.size(); ++next, current.reset()) {
      Step &step = steps[next];
      transports.isOnWire = step.isWire;
      if (!current)
        current = step.isWire ? messages::makeExchange(transports.mesh, *step.channel, step.request)
                              : shm::makeShmOperation(transports.host, *step.channel, step.request);
      TILEWRIGHT_ASSIGN(const bool isDone, current->advance());
      if (!isDone)
        return false;
    }
    finish();
    return true;
  }

  bool isMissing(size_t member) const override {
    if (!current || next >= steps.size())
      return true;
    const Clique &members = steps[next].channel->members;
    const auto found = std::find(members.begin(), members.end(), channel.members[member]);
    return found != members.end() &&
           current->isMissing(static_cast<size_t>(found - members.begin()));
  }

protected:
  /// Members take part in only some of the steps, so a step is identified by where it runs.
  enum Where { inMemory, onWire, inMemoryAgain };

  /// Adds a step: the collective of this request, with other tensors and dimensions.
  Call &add(Where where, OrderedChannel &over, Kind kind) {
    Step &step = steps.emplace_back();
    step.isWire = where == onWire;
    step.channel = &over;
    step.call = *request.call;
    step.call.kind = kind;
    step.request = request;
    step.request.call = &step.call;
    step.request.site = request.site + where;
    step.request.source.reset();
    step.request.target.reset();
    return step.call;
  }
  CollectiveRequest &last() { return steps.back().request; }
  /// Call when the tensors of the last step are complete.
  void seal() {
    last().bytes = 0;
    for (const Tensor &tensor : last().call->tensors)
      last().bytes += inBytes(tensor);
  }
  /// Memory that the other processes of the host can read; freed with the operation.
  std::byte *allocate(size_t bytes) {
    if (bytes == 0)
      return nullptr;
    std::byte *fresh = transports.host.arena->allocate(bytes);
    if (fresh)
      memory.push_back(fresh);
    else if (failure.isOk())
      failure = Status(Error::sharedMemoryExhausted,
                       concat("rank ", channel.members[channel.mine], " needs ", bytes,
                              " bytes of shared memory for ", request.text, ", but its arena of ",
                              transports.host.arena->memory().size(), " bytes has at most ",
                              transports.host.arena->largestFree(), " contiguous bytes free"));
    return fresh;
  }
  bool canGoOn() const { return failure.isOk(); }
  virtual void finish() {}

  const Transports transports;
  const OrderedChannel &channel;
  const CollectiveRequest &request;

private:
  struct Step {
    OrderedChannel *channel = nullptr;
    Call call;
    CollectiveRequest request;
    bool isWire = false;
  };
  std::deque<Step> steps; // its addresses must not change
  size_t next = 0;
  Status failure;
  std::unique_ptr<Operation> current;
  std::vector<std::byte *> memory;
};

/// all_reduce, broadcast and barrier: within each host, between the first members of the hosts, and
/// within each host again.
class ByLeaders final : public Steps {
public:
  ByLeaders(Transports transports, OrderedChannel &channel, Levels &levels,
            const CollectiveRequest &request)
      : Steps(transports, channel, request) {
    const Kind kind = request.call->kind;
    const bool isAlone = levels.within.members.size() == 1;
    // If a host has only one member, that member's operand is the host's sum: the step copies it to
    // the result.
    if (kind == Kind::allReduce || (kind == Kind::barrier && !isAlone))
      add(inMemory, levels.within, kind);
    if (levels.isLeader) {
      Call &between = add(onWire, levels.leaders, kind);
      if (kind == Kind::allReduce)
        continueFromResults(between);
    }
    if (!isAlone)
      continueFromResults(
          add(inMemoryAgain, levels.again, kind == Kind::barrier ? kind : Kind::broadcast));
  }

private:
  static void continueFromResults(Call &call) {
    for (Tensor &tensor : call.tensors)
      tensor.in = tensor.out;
  }
};

/// A tensor whose bytes are [outer][members][inner], one block of `inner` bytes or elements for
/// each member.
struct Blocks {
  int64_t outer = 1, inner = 1;
  static Blocks of(const std::vector<int64_t> &shard, int64_t dimension) {
    const auto split = shard.begin() + dimension;
    return {std::accumulate(shard.begin(), split, int64_t(1), std::multiplies<>()),
            std::accumulate(split, shard.end(), int64_t(1), std::multiplies<>())};
  }
};

/// all_gather, reduce_scatter and all_to_all on hosts with equally many members. Between the hosts,
/// each member acts for its whole host and exchanges only with the members at the same position on
/// their hosts.
class ByRails final : public Steps {
public:
  ByRails(Transports transports, OrderedChannel &channel, Levels &levels,
          const CollectiveRequest &request)
      : Steps(transports, channel, request), levels(levels),
        each(static_cast<int64_t>(levels.each)),
        hosts(static_cast<int64_t>(levels.rail.members.size())) {
    if (request.call->kind == Kind::allGather)
      gather();
    else if (request.call->kind == Kind::reduceScatter)
      reduceScatter();
    else
      allToAll();
  }

private:
  const std::vector<Tensor> &tensors() const { return request.call->tensors; }

  /// First between the hosts, from [outer][inner] to [outer][hosts][inner]; then within each host,
  /// to [outer][hosts][each][inner].
  void gather() {
    Call &between = add(onWire, levels.rail, Kind::allGather);
    between.dimension = 1;
    for (Tensor &tensor : between.tensors) {
      const Blocks blocks = Blocks::of(tensor.inDims, request.call->dimension);
      tensor.out = allocate(inBytes(tensor) * static_cast<size_t>(hosts));
      tensor.inDims = {blocks.outer, blocks.inner};
      tensor.outDims = {blocks.outer, hosts * blocks.inner};
    }
    if (!canGoOn())
      return;
    seal();
    Call &inside = add(inMemory, levels.within, Kind::allGather);
    inside.dimension = 1;
    for (size_t t = 0; t < tensors().size(); ++t) {
      const Blocks blocks = Blocks::of(tensors()[t].inDims, request.call->dimension);
      Tensor &tensor = inside.tensors[t];
      tensor.in = between.tensors[t].out;
      tensor.out = levels.isInOrder ? tensors()[t].out : allocate(outBytes(tensors()[t]));
      tensor.inDims = {blocks.outer * hosts, blocks.inner};
      tensor.outDims = {blocks.outer * hosts, each * blocks.inner};
      joined.push_back(tensor.out);
    }
    seal();
  }

  /// First within each host, from [outer][hosts][each][inner] to [outer][hosts][inner]; then
  /// between the hosts, to [outer][inner].
  void reduceScatter() {
    Call &inside = add(inMemory, levels.within, Kind::reduceScatter);
    inside.dimension = 1;
    for (Tensor &tensor : inside.tensors) {
      const Blocks blocks = Blocks::of(tensor.outDims, request.call->dimension);
      const size_t bytes = storageBytes(tensor.element);
      if (!levels.isInOrder) {
        std::byte *sorted = allocate(inBytes(tensor));
        if (canGoOn())
          sortBlocks(sorted, tensor.in, blocks, bytes, true);
        tensor.in = sorted;
      }
      tensor.out = allocate(outBytes(tensor) * static_cast<size_t>(hosts));
      tensor.inDims = {blocks.outer * hosts, each * blocks.inner};
      tensor.outDims = {blocks.outer * hosts, blocks.inner};
    }
    if (!canGoOn())
      return;
    seal();
    Call &between = add(onWire, levels.rail, Kind::reduceScatter);
    between.dimension = 1;
    for (size_t t = 0; t < tensors().size(); ++t) {
      const Blocks blocks = Blocks::of(tensors()[t].outDims, request.call->dimension);
      Tensor &tensor = between.tensors[t];
      tensor.in = inside.tensors[t].out;
      tensor.inDims = {blocks.outer, hosts * blocks.inner};
      tensor.outDims = {blocks.outer, blocks.inner};
    }
    seal();
  }

  /// First within each host: afterwards a member has everything that its host sends to the members
  /// at its position, as [hosts][each][piece] with `each` by sender. Then between the hosts:
  /// [hosts][each][piece] by sender.
  void allToAll() {
    Call &inside = add(inMemory, levels.within, Kind::allToAll);
    inside.dimension = inside.splitDimension = 1;
    for (Tensor &tensor : inside.tensors) {
      const Pieces pieces(*request.call, tensor, hosts * each);
      std::byte *sorted = allocate(inBytes(tensor));
      if (canGoOn())
        for (size_t i = 0; i < levels.byHost.size(); ++i)
          pieces.pack(sorted + i * pieces.bytes, tensor.in, levels.byHost[i]);
      tensor.in = sorted;
      tensor.out = allocate(outBytes(tensor));
      tensor.element = ElementType::ui8;
      tensor.inDims = tensor.outDims = {hosts, each, static_cast<int64_t>(pieces.bytes)};
    }
    if (!canGoOn())
      return;
    seal();
    Call &between = add(onWire, levels.rail, Kind::allToAll);
    between.dimension = between.splitDimension = 0;
    for (size_t t = 0; t < tensors().size(); ++t) {
      Tensor &tensor = between.tensors[t];
      tensor = inside.tensors[t];
      tensor.in = inside.tensors[t].out;
      tensor.out = allocate(outBytes(tensor));
      joined.push_back(tensor.out);
    }
    seal();
  }

  /// The positions of the pieces of an all_to_all in its operand and in its result.
  struct Pieces {
    Pieces(const Call &call, const Tensor &tensor, int64_t members)
        : bytes(inBytes(tensor) / static_cast<size_t>(members)),
          from(rowsOf(tensor.inDims, call.splitDimension, tensor, members)),
          to(rowsOf(tensor.outDims, call.dimension, tensor, members)) {}

    /// Rows of a piece at a fixed stride.
    struct Rows {
      size_t count = 0, bytes = 0, stride = 0;
    };
    static Rows rowsOf(const std::vector<int64_t> &dims, int64_t dimension, const Tensor &tensor,
                       int64_t members) {
      const Blocks blocks = Blocks::of(dims, dimension);
      const size_t stride = static_cast<size_t>(blocks.inner) * storageBytes(tensor.element);
      return {stride > 0 ? static_cast<size_t>(blocks.outer) : 0,
              stride / static_cast<size_t>(members), stride};
    }
    void pack(std::byte *piece, const std::byte *tensor, size_t member) const {
      for (size_t r = 0; r < from.count; ++r)
        copyBytes(piece + r * from.bytes, tensor + member * from.bytes + r * from.stride,
                  from.bytes);
    }
    void unpack(std::byte *tensor, const std::byte *piece, size_t member) const {
      for (size_t r = 0; r < to.count; ++r)
        copyBytes(tensor + member * to.bytes + r * to.stride, piece + r * to.bytes, to.bytes);
    }
    const size_t bytes;
    const Rows from, to;
  };

  /// Copies blocks between the order of the group and that of the hosts.
  void sortBlocks(std::byte *to, const std::byte *from, Blocks blocks, size_t elementBytes,
                  bool isToHosts) const {
    const size_t bytes = static_cast<size_t>(blocks.inner) * elementBytes;
    const size_t members = levels.byHost.size();
    for (size_t o = 0; bytes > 0 && o < static_cast<size_t>(blocks.outer); ++o)
      for (size_t i = 0; i < members; ++i) {
        const size_t inGroup = (o * members + levels.byHost[i]) * bytes;
        const size_t inHosts = (o * members + i) * bytes;
        copyBytes(to + (isToHosts ? inHosts : inGroup), from + (isToHosts ? inGroup : inHosts),
                  bytes);
      }
  }

  void finish() override {
    const Call &call = *request.call;
    for (size_t t = 0; t < joined.size(); ++t) {
      const Tensor &tensor = tensors()[t];
      if (call.kind == Kind::allGather && joined[t] != tensor.out)
        sortBlocks(tensor.out, joined[t], Blocks::of(tensor.inDims, call.dimension),
                   storageBytes(tensor.element), false);
      if (call.kind != Kind::allToAll)
        continue;
      const Pieces pieces(call, tensor, hosts * each);
      for (size_t i = 0; i < levels.byHost.size(); ++i)
        pieces.unpack(tensor.out, joined[t] + i * pieces.bytes, levels.byHost[i]);
    }
  }

  Levels &levels;
  const int64_t each, hosts;
  std::vector<std::byte *> joined; // results in the order of hosts
};

/// A permute: pairs on one host by shared memory, the others by messages.
class ByPairs final : public Steps {
public:
  ByPairs(Transports transports, OrderedChannel &channel, Levels &levels,
          const CollectiveRequest &request)
      : Steps(transports, channel, request) {
    for (const Tensor &tensor : request.call->tensors)
      if (!request.source && outBytes(tensor) > 0)
        std::memset(tensor.out, 0, outBytes(tensor));
    addStep(inMemory, levels.within);
    addStep(onWire, levels.flat);
  }

private:
  void addStep(Where where, OrderedChannel &over) {
    Call &call = add(where, over, Kind::permute);
    last().source = memberOf(where, over, request.source);
    last().target = memberOf(where, over, request.target);
    // Without a result: an operation writes zeros where it receives nothing.
    if (!last().source)
      for (Tensor &tensor : call.tensors)
        tensor.out = nullptr;
  }

  /// The same rank in another channel, if that channel reaches it.
  std::optional<size_t> memberOf(Where where, const OrderedChannel &over,
                                 std::optional<size_t> member) const {
    if (!member)
      return std::nullopt;
    const int64_t rank = channel.members[*member];
    const bool isHere = transports.host.peer(rank).rank != nullptr;
    if (isHere != (where == inMemory))
      return std::nullopt;
    return static_cast<size_t>(std::find(over.members.begin(), over.members.end(), rank) -
                               over.members.begin());
  }
};

} // namespace

std::unique_ptr<Operation> makeSteps(Transports transports, OrderedChannel &channel, Levels &levels,
                                     const CollectiveRequest &request, bool mayRegroup) {
  switch (request.call->kind) {
  case Kind::allReduce:
    if (mayRegroup)
      return std::make_unique<ByLeaders>(transports, channel, levels, request);
    break;
  case Kind::broadcast:
  case Kind::barrier:
    return std::make_unique<ByLeaders>(transports, channel, levels, request);
  case Kind::reduceScatter:
    if (mayRegroup && levels.each > 1)
      return std::make_unique<ByRails>(transports, channel, levels, request);
    break;
  case Kind::allGather:
  case Kind::allToAll:
    if (levels.each > 1)
      return std::make_unique<ByRails>(transports, channel, levels, request);
    break;
  case Kind::permute:
    return std::make_unique<ByPairs>(transports, channel, levels, request);
  case Kind::raggedAllToAll:
    break;
  }
  return nullptr;
}

} // namespace tilewright::collective::hosts
