// Executes one rank's collectives through the shared slots and arenas of its host.
#include "tilewright/collective/Move.h"
#include "tilewright/collective/shm/ShmHost.h"
#include "tilewright/support/Concat.h"

#include <new>
#include <sched.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace tilewright::collective::shm {

namespace {

/// Publishes the core that this rank runs on, and returns it.
uint32_t showCore(RankBoard &own) {
  const auto core = static_cast<uint32_t>(sched_getcpu() + 1);
  if (own.core.load(std::memory_order_relaxed) != core)
    own.core.store(core, std::memory_order_relaxed);
  return core;
}

/// The slots of all members of a channel.
class ShmChannel final : public ChannelData {
public:
  ~ShmChannel() override {
    if (staging)
      arena->free(staging);
  }
  struct Member {
    Peer peer;
    const SharedChannel *channel = nullptr; // null until the member's first collective
  };
  Arena *arena = nullptr;
  RankBoard *board = nullptr; // of this rank
  SharedChannel *own = nullptr;
  std::vector<Member> members;
  std::vector<ProcessBoard *> listeners; // processes to wake
  /// Staging memory for operands outside the arena. Grows as needed, and is kept for later
  /// collectives.
  std::byte *staging = nullptr;
  size_t stagingBytes = 0;
  // Pointers to all members' memory, kept here to reuse the vectors.
  std::vector<const std::byte *> in, out;
  std::vector<const int64_t *> ragged;
};

class ShmOperation final : public Operation {
public:
  ShmOperation(Host &host, OrderedChannel &channel, const CollectiveRequest &request)
      : host(host), channel(channel), shared(static_cast<ShmChannel &>(*channel.data)),
        request(request), call(*request.call), number(channel.sequence++), isWhole(fitsASlot()),
        isSplit(call.kind == Kind::allReduce && !isWhole &&
                (shared.members.size() > 2 || request.bytes > maxPairBytes)),
        isRead(call.kind == Kind::broadcast ? channel.mine == 0
               : call.kind == Kind::permute ? request.target.has_value()
                                            : true) {}
  Result<bool> advance() override;
  bool isMissing(size_t member) const override;

  // A thread usually has one operation at a time, so it reuses the memory of the last one.
  static void *operator new(size_t bytes) {
    void *kept = std::exchange(spare.memory, nullptr);
    return kept ? kept : ::operator new(bytes);
  }
  static void operator delete(void *memory) {
    if (spare.memory)
      ::operator delete(memory);
    else
      spare.memory = memory;
  }

private:
  struct Spare {
    ~Spare() { ::operator delete(memory); }
    void *memory = nullptr;
  };
  static thread_local Spare spare;

  enum class State { arriving, gathering, halfDone, ending };
  uint64_t half() const { return 2 * number + 1; }
  uint64_t done() const { return 2 * number + 2; }
  bool fitsASlot() const;
  Status arrive();
  Status publishOffsets(Slot &slot);
  Result<std::byte *> stage(size_t bytes);
  bool hasCome(size_t member);
  bool haveReached(uint64_t step) const;
  void reach(uint64_t step);
  void wakeOthers();
  void see();
  void sumSlots();
  Status work();
  Result<bool> afterFailures() const;

  Host &host;
  OrderedChannel &channel;
  ShmChannel &shared;
  const CollectiveRequest &request;
  const Call &call;
  const uint64_t number;
  /// Whether the operands fit in a slot as a whole. If so, members read the operands from the
  /// slots, which do not change until all members have joined the next collective, and no member
  /// needs to wait at the end.
  const bool isWhole;
  /// Whether each member of an all_reduce reduces only its share. Two members read the same number
  /// of bytes either way; without a split they wait less, and the duplicate additions are cheap
  /// because the data is in the cache.
  const bool isSplit;
  static constexpr size_t maxPairBytes = 256 << 10;
  const bool isRead; // another member needs this rank's operand
  State state = State::arriving;
  size_t next = 0;                // the first member that has not been seen to join
  std::vector<std::byte *> share; // where this rank's share of an all_reduce goes
};

thread_local ShmOperation::Spare ShmOperation::spare;

/// How often to poll a value before doing anything else: the expected value usually arrives before
/// this code would be reached again.
constexpr int triesAtOnce = 100;

/// Copies with inlined code for the smallest sizes.
void copySmall(std::byte *to, const std::byte *from, size_t bytes) {
  if (bytes == 4)
    std::memcpy(to, from, 4);
  else if (bytes == 8)
    std::memcpy(to, from, 8);
  else if (bytes > 0)
    std::memcpy(to, from, bytes);
}

size_t padded(size_t bytes) { return (bytes + 7) / 8 * 8; }

bool ShmOperation::fitsASlot() const {
  // Sizes of ragged tensors differ between members, but all members must make the same choice.
  if (call.kind == Kind::raggedAllToAll)
    return false;
  return request.bytes + 7 * call.tensors.size() <= Slot::room;
}

/// Allocates memory in the arena, to which operands outside the arena are copied.
Result<std::byte *> ShmOperation::stage(size_t bytes) {
  if (bytes <= shared.stagingBytes)
    return shared.staging;
  if (shared.staging)
    host.arena->free(shared.staging);
  shared.staging = host.arena->allocate(bytes);
  shared.stagingBytes = shared.staging ? bytes : 0;
  if (!shared.staging)
    return Status(Error::sharedMemoryExhausted,
                  concat("rank ", channel.members[channel.mine], " needs ", bytes,
                         " bytes of shared memory for ", request.text, ", but its arena of ",
                         host.arena->memory().size(), " bytes has at most ",
                         host.arena->largestFree(), " contiguous bytes free"));
  return shared.staging;
}

/// Publishes the offsets of the operands and of this rank's share of each result. The share is
/// written to the result if that is in the arena. Otherwise it is written over the copy of the
/// operand, because only this rank reads its own share there.
Status ShmOperation::publishOffsets(Slot &slot) {
  const size_t tensors = call.tensors.size(), words = 2 * tensors + 1;
  auto isShared = [&](const std::byte *pointer, size_t bytes) {
    return bytes > 0 && host.arena->contains(pointer, bytes);
  };
  auto needsCopy = [&](const Tensor &tensor) {
    const size_t bytes = inBytes(tensor);
    return isRead && (!isShared(tensor.in, bytes) || (isSplit && !isShared(tensor.out, bytes)) ||
                      (!isSplit && tensor.in == tensor.out));
  };
  size_t bytes = padded(words * 8) + padded(call.ragged.size_bytes());
  for (const Tensor &tensor : call.tensors)
    if (needsCopy(tensor))
      bytes += (inBytes(tensor) + 63) / 64 * 64;
  TILEWRIGHT_ASSIGN(std::byte * free, stage(bytes));
  auto *table = reinterpret_cast<uint64_t *>(free);
  free += padded(words * 8);
  table[2 * tensors] = host.arena->offsetOf(free);
  if (!call.ragged.empty())
    std::memcpy(free, call.ragged.data(), call.ragged.size_bytes());
  free += padded(call.ragged.size_bytes());
  share.clear();
  for (size_t t = 0; t < tensors; ++t) {
    const Tensor &tensor = call.tensors[t];
    const size_t size = inBytes(tensor);
    const std::byte *in = tensor.in;
    std::byte *out = tensor.out;
    if (needsCopy(tensor)) {
      if (!isShared(tensor.in, size) || !isSplit) {
        copyBytes(free, tensor.in, size);
        in = free;
      }
      if (isSplit && !isShared(tensor.out, size))
        out = free;
      free += (size + 63) / 64 * 64;
    }
    table[t] = isRead ? host.arena->offsetOf(in) : 0;
    table[tensors + t] = isSplit ? host.arena->offsetOf(out) : 0;
    share.push_back(out);
  }
  slot.form = Slot::offsets;
  const uint64_t where = host.arena->offsetOf(shared.staging);
  std::memcpy(slot.data, &where, sizeof where);
  return Status();
}

Status ShmOperation::arrive() {
  // Publish the core now and then, for ranks that never wait. Not in every collective, because
  // peers need not know it at once.
  if (number % 64 == 0)
    showCore(*shared.board);
  Slot &slot = shared.own->slots[number & 1];
  // Skip fields that have not changed, and write the others together, the sequence number last. If
  // a peer polls between two stores, it takes the cache line away, and the second store must fetch
  // it again.
  if (slot.site != request.site || number < 2) {
    shared.own->texts[number & 1].write(request.text);
    slot.site = request.site;
  }
  if (!isWhole) {
    TILEWRIGHT_TRY(publishOffsets(slot));
  } else {
    if (slot.form != Slot::operands)
      slot.form = Slot::operands;
    std::byte *to = slot.data;
    for (const Tensor &tensor : call.tensors) {
      const size_t bytes = call.tensors.size() == 1 ? request.bytes : inBytes(tensor);
      if (isRead)
        copySmall(to, tensor.in, bytes);
      to += padded(bytes);
    }
  }
  slot.came.store(number + 1, std::memory_order_release);
  wakeOthers();
  return Status();
}

void ShmOperation::wakeOthers() {
  // Either this rank sees that a peer sleeps, or the peer sees this rank's data before it sleeps.
  // The full barrier that this requires is on the sleeper's side (Host::announceSleep). A barrier
  // here would wait for the cache line, and would cost as much as the rest of the collective.
  if (host.isFenced)
    std::atomic_thread_fence(std::memory_order_seq_cst);
  else
    std::atomic_signal_fence(std::memory_order_seq_cst);
  for (ProcessBoard *board : shared.listeners)
    if (board->sleepers.load(std::memory_order_relaxed) > 0)
      host.ring(*board);
}

void ShmOperation::reach(uint64_t step) {
  shared.own->step.store(step, std::memory_order_release);
  wakeOthers();
}

bool ShmOperation::hasCome(size_t index) {
  ShmChannel::Member &member = shared.members[index];
  if (!member.channel) {
    const RankBoard &board = *member.peer.rank;
    for (size_t probe = 0; probe < RankBoard::capacity; ++probe) {
      const auto &entry = board.channels[(channel.id + probe) % RankBoard::capacity];
      const uint64_t id = entry.channel.load(std::memory_order_acquire);
      if (id == 0)
        return false;
      if (id == channel.id) {
        member.channel = reinterpret_cast<const SharedChannel *>(
            member.peer.base + entry.offset.load(std::memory_order_relaxed));
        break;
      }
    }
    if (!member.channel)
      return false;
  }
  const std::atomic<uint64_t> &came = member.channel->slots[number & 1].came;
  for (int tries = host.canSpin ? triesAtOnce : 1; tries > 0; --tries)
    if (came.load(std::memory_order_acquire) > number)
      return true;
  return false;
}

bool ShmOperation::haveReached(uint64_t step) const {
  for (const ShmChannel::Member &member : shared.members) {
    int tries = host.canSpin ? triesAtOnce : 1;
    while (member.channel->step.load(std::memory_order_acquire) < step)
      if (--tries == 0)
        return false;
  }
  return true;
}

bool ShmOperation::isMissing(size_t index) const {
  const ShmChannel::Member &member = shared.members[index];
  if (!member.channel || state == State::arriving)
    return true;
  if (state == State::gathering)
    return member.channel->slots[number & 1].came.load(std::memory_order_acquire) <= number;
  return member.channel->step.load(std::memory_order_acquire) <
         (state == State::halfDone ? half() : done());
}

/// Converts the offsets that the members published to pointers.
void ShmOperation::see() {
  const size_t tensors = call.tensors.size(), members = shared.members.size();
  shared.in.resize(members * tensors);
  shared.out.resize(members * tensors);
  shared.ragged.resize(members);
  for (size_t m = 0; m < members; ++m) {
    const ShmChannel::Member &member = shared.members[m];
    const Slot &slot = member.channel->slots[number & 1];
    if (slot.form == Slot::operands) {
      const std::byte *from = slot.data;
      for (size_t t = 0; t < tensors; ++t) {
        shared.in[m * tensors + t] = from;
        from += padded(inBytes(call.tensors[t]));
      }
      continue;
    }
    uint64_t where;
    std::memcpy(&where, slot.data, sizeof where);
    const auto *table = reinterpret_cast<const uint64_t *>(member.peer.base + where);
    for (size_t t = 0; t < tensors; ++t) {
      shared.in[m * tensors + t] = member.peer.base + table[t];
      shared.out[m * tensors + t] = member.peer.base + table[tensors + t];
    }
    shared.ragged[m] = reinterpret_cast<const int64_t *>(member.peer.base + table[2 * tensors]);
  }
}

/// Fast path for the most frequent collective: an all_reduce of one small tensor. The result may
/// alias the operand, because the slots contain copies.
void ShmOperation::sumSlots() {
  const Tensor &tensor = call.tensors[0];
  if (request.bytes == 0)
    return;
  copySmall(tensor.out, shared.members[0].channel->slots[number & 1].data, request.bytes);
  const size_t count = request.bytes / numerics::storageBytes(tensor.element);
  for (size_t m = 1; m < shared.members.size(); ++m)
    request.combine(tensor.out, shared.members[m].channel->slots[number & 1].data, count);
}

Status ShmOperation::work() {
  const Party party{call,      channel.mine, shared.members.size(),
                    shared.in, shared.out,   shared.ragged};
  if (!isSplit)
    return exchange(party, request.source);
  reduceShare(party, share);
  return Status();
}

/// Fails if a member has failed, because it may have changed its operand while this rank read it.
Result<bool> ShmOperation::afterFailures() const {
  for (const ShmChannel::Member &member : shared.members)
    if (member.peer.process->hasFailed.load(std::memory_order_acquire))
      return Status(Error::collectiveAborted,
                    concat("rank ", channel.members[channel.mine], " stopped in ", request.text,
                           " because ", member.peer.process->failure.read()));
  return true;
}

Result<bool> ShmOperation::advance() {
  if (state == State::arriving) {
    TILEWRIGHT_TRY(arrive());
    state = State::gathering;
  }
  if (state == State::gathering) {
    for (; next < shared.members.size(); ++next) {
      if (!hasCome(next))
        return false;
      const SharedChannel &theirs = *shared.members[next].channel;
      if (theirs.slots[number & 1].site != request.site)
        return mismatch(channel.members[next], theirs.texts[number & 1].read(),
                        channel.members[channel.mine], request.text);
    }
    if (isWhole && call.kind == Kind::allReduce && call.tensors.size() == 1 && request.combine) {
      sumSlots();
      return true;
    }
    see();
    TILEWRIGHT_TRY(work());
    if (isWhole)
      return true;
    reach(isSplit ? half() : done());
    state = isSplit ? State::halfDone : State::ending;
  }
  if (state == State::halfDone) {
    if (!haveReached(half()))
      return false;
    collectShares({call, channel.mine, shared.members.size(), shared.in, shared.out});
    reach(done());
    state = State::ending;
  }
  if (!haveReached(done()))
    return false;
  return afterFailures();
}

class ShmProgressEngine final : public ProgressEngine {
public:
  ShmProgressEngine(Host &host, int64_t rank)
      : ProgressEngine(rank, host.options.timeout, host.failure), host(host),
        own(*host.peer(rank).rank) {
    for (size_t other = 0; other < host.membership.processOfRank.size(); ++other)
      if (const Peer peer = host.peer(static_cast<int64_t>(other)); peer.rank && peer.rank != &own)
        others.push_back(peer.rank);
  }

  void fail(std::string text) override { host.fail(std::move(text)); }
  void leave(int64_t run) override {
    own.leftRun.store(run, std::memory_order_seq_cst);
    wakeAll();
  }

private:
  // Numbers of attempts without progress: first poll without a pause, then with a pause, then
  // yield, then sleep. If ranks outnumber cores, yield at once.
  static constexpr uint64_t eager = 500, spinning = 4000, yielding = 60;
  static constexpr uint64_t beforeLooking = 16; // attempts between two checks for a shared core

  std::unique_ptr<Operation> begin(OrderedChannel &channel,
                                   const CollectiveRequest &request) override {
    return makeShmOperation(host, channel, request);
  }
  void wakeAll();

  uint64_t firstYield() const { return host.canSpin ? spinning : 0; }
  bool isSleepRound(uint64_t round) const override {
    return round >= firstYield() && round >= firstSleep;
  }
  void publishStatus(std::string_view status, bool) override { own.status.write(status); }
  /// Whether another rank runs on this rank's core, and so makes no progress while this rank spins.
  /// There is a core for each rank, but the kernel may put two ranks on the same core if other
  /// programs use the machine.
  bool sharesItsCore() {
    const uint32_t core = showCore(own);
    return std::any_of(others.begin(), others.end(), [&](const RankBoard *other) {
      return other->core.load(std::memory_order_relaxed) == core;
    });
  }
  void enterSleep() override {
    own.core.store(0, std::memory_order_relaxed);
    host.announceSleep();
    seen = host.board->doorbell.load(std::memory_order_acquire);
    hasLooked = false;
  }
  void leaveSleep() override { host.board->sleepers.fetch_sub(1, std::memory_order_relaxed); }
  void backOff(uint64_t round) override {
    if (round == 0)
      firstSleep = firstYield() + yielding;
    if (isSleepRound(round)) {
      if (!std::exchange(hasLooked, true)) // poll once more now that peers know of the sleeper
        return;
      sleepOn(host.board->doorbell, seen, std::chrono::milliseconds(10));
      seen = host.board->doorbell.load(std::memory_order_acquire);
    } else if (round >= firstYield()) {
      // On a busy machine sched_yield() may take milliseconds to return; if so, sleep instead.
      const auto before = std::chrono::steady_clock::now();
      sched_yield();
      if (std::chrono::steady_clock::now() - before > std::chrono::milliseconds(1))
        firstSleep = round + 1;
    } else if (round % beforeLooking == beforeLooking - 1 && sharesItsCore()) {
      sched_yield();
    } else if (round >= eager) {
#if defined(__x86_64__)
      _mm_pause();
#endif
    }
  }
  std::optional<std::string> pollPeers(const OrderedChannel &channel, const Operation *operation,
                                       int64_t run) override {
    host.pollPeers();
    if (!operation)
      return std::nullopt;
    for (size_t i = 0; i < channel.members.size(); ++i) {
      const int64_t other = channel.members[i];
      if (i == channel.mine || !operation->isMissing(i))
        continue;
      if (host.hasLeft(other))
        return concat("rank ", other, ", which has left the job");
      if (host.peer(other).rank->leftRun.load(std::memory_order_acquire) >= run)
        return concat("rank ", other, ", which has left the run");
    }
    return std::nullopt;
  }
  std::string peerStatus(int64_t rank) override { return host.peer(rank).rank->status.read(); }
  void wakeProgressThread() override {
    if (host.options.hasProgressThread)
      host.progressThread->wake();
  }

  Host &host;
  RankBoard &own;
  std::vector<const RankBoard *> others;
  uint32_t seen = 0; // last value of the doorbell
  bool hasLooked = false;
  uint64_t firstSleep = 0; // the first attempt that is followed by sleep
};

/// Allocates this rank's slots of a channel, and publishes them on its board.
Status open(Host &host, OrderedChannel &channel) {
  const int64_t rank = channel.members[channel.mine];
  RankBoard &own = *host.peer(rank).rank;
  auto data = std::make_unique<ShmChannel>();
  data->arena = host.arena.get();
  data->board = &own;
  for (int64_t member : channel.members) {
    const Peer peer = host.peer(member);
    if (!peer.process)
      return Status(Error::collectiveGroups, concat("rank ", member, " is not on this host"));
    data->members.push_back({peer});
    const bool isListed = std::find(data->listeners.begin(), data->listeners.end(), peer.process) !=
                          data->listeners.end();
    if (member != rank && !isListed)
      data->listeners.push_back(peer.process);
  }
  // Place the members' slots at different offsets within a page. Equal offsets would cause 4K
  // aliasing: the processor would mistake the load of a peer's slot for a load of its own recent
  // store, and wait for that store.
  constexpr size_t apart = 256, page = 4096;
  const size_t shift = channel.mine * apart % page;
  std::byte *memory = host.arena->allocate(sizeof(SharedChannel) + page);
  RankBoard::ChannelSlot *slot = nullptr;
  for (size_t probe = 0; memory && !slot && probe < RankBoard::capacity; ++probe) {
    RankBoard::ChannelSlot &each = own.channels[(channel.id + probe) % RankBoard::capacity];
    if (each.channel.load(std::memory_order_relaxed) == 0)
      slot = &each;
  }
  if (!slot) {
    if (memory)
      host.arena->free(memory);
    return Status(Error::sharedMemoryExhausted,
                  concat("rank ", rank, " has no room for the clique ", listed(channel.members),
                         " in its arena of ", host.arena->memory().size(),
                         " bytes, which holds at most ", RankBoard::capacity, " cliques"));
  }
  memory += (page - host.arena->offsetOf(memory) % page + shift) % page;
  data->own = new (memory) SharedChannel(); // zero, whatever was there before
  slot->offset.store(host.arena->offsetOf(memory), std::memory_order_relaxed);
  slot->channel.store(channel.id, std::memory_order_release);
  channel.data = std::move(data);
  return Status();
}

void ShmProgressEngine::wakeAll() {
  for (size_t rank = 0; rank < host.membership.processOfRank.size(); ++rank)
    if (ProcessBoard *board = host.peer(static_cast<int64_t>(rank)).process)
      if (board->sleepers.load(std::memory_order_seq_cst) > 0)
        host.ring(*board);
}

} // namespace

std::unique_ptr<Operation> makeShmOperation(Host &host, OrderedChannel &channel,
                                            const CollectiveRequest &request) {
  if (!channel.data)
    if (Status status = open(host, channel); !status.isOk())
      return std::make_unique<FailedOperation>(std::move(status));
  return std::make_unique<ShmOperation>(host, channel, request);
}

std::unique_ptr<ProgressEngine> makeProgressEngine(Host &host, int64_t rank) {
  return std::make_unique<ShmProgressEngine>(host, rank);
}

} // namespace tilewright::collective::shm
