// What one rank does with the slots and arenas of its host.
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

/// Tells the others which core this rank runs on, and returns that.
uint32_t showCore(RankBoard &own) {
  const auto core = static_cast<uint32_t>(sched_getcpu() + 1);
  if (own.core.load(std::memory_order_relaxed) != core)
    own.core.store(core, std::memory_order_relaxed);
  return core;
}

/// A lane with the slots of all its members.
class ShmLane final : public LaneData {
public:
  ~ShmLane() override {
    if (staging)
      arena->free(staging);
  }
  struct Member {
    Peer peer;
    const SharedLane *lane = nullptr; // null until it has come for the first time
  };
  Arena *arena = nullptr;
  RankBoard *board = nullptr; // of this rank
  SharedLane *own = nullptr;
  std::vector<Member> members;
  std::vector<ProcessBoard *> listeners; // whom to wake
  /// Where operands go that are not in the arena, grown as needed and kept.
  std::byte *staging = nullptr;
  size_t stagingBytes = 0;
  // Views of everybody's memory, kept to be filled again.
  std::vector<const std::byte *> in, out;
  std::vector<const int64_t *> ragged;
};

class ShmOperation final : public Operation {
public:
  ShmOperation(Host &host, Lane &lane, const Turn &turn)
      : host(host), lane(lane), shared(static_cast<ShmLane &>(*lane.data)), turn(turn),
        call(*turn.call), number(lane.sequence++), isWhole(fitsASlot()),
        isSplit(call.kind == Kind::allReduce && !isWhole &&
                (shared.members.size() > 2 || turn.bytes > mostOfAPair)),
        isRead(call.kind == Kind::broadcast ? lane.mine == 0
               : call.kind == Kind::permute ? turn.target.has_value()
                                            : true) {}
  Result<bool> advance() override;
  bool isMissing(size_t member) const override;

  // One at a time on each thread, most often: its memory is kept for the next.
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
  Lane &lane;
  ShmLane &shared;
  const Turn &turn;
  const Call &call;
  const uint64_t number;
  /// Operands are in the slots, which nobody changes before all have come to the next collective:
  /// nobody needs to wait at the end.
  const bool isWhole;
  /// Each member of an all_reduce reduces a share. Two members read as much of each other either
  /// way; alone they wait less, and the sums that they do twice cost little in the cache.
  const bool isSplit;
  static constexpr size_t mostOfAPair = 256 << 10;
  const bool isRead; // somebody needs this rank's operand
  State state = State::arriving;
  size_t next = 0;                // the first member that was not seen to have come
  std::vector<std::byte *> share; // where the own part of an all_reduce goes
};

thread_local ShmOperation::Spare ShmOperation::spare;

/// How often a number is looked at before anything else is done: what is expected comes within
/// the time that the way back to here takes.
constexpr int triesAtOnce = 100;

/// Without a call for the smallest.
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
  // Ragged tensors differ in size, and all members must choose alike.
  if (call.kind == Kind::raggedAllToAll)
    return false;
  return turn.bytes + 7 * call.tensors.size() <= Slot::room;
}

/// Memory of the arena for what the caller has elsewhere.
Result<std::byte *> ShmOperation::stage(size_t bytes) {
  if (bytes <= shared.stagingBytes)
    return shared.staging;
  if (shared.staging)
    host.arena->free(shared.staging);
  shared.staging = host.arena->allocate(bytes);
  shared.stagingBytes = shared.staging ? bytes : 0;
  if (!shared.staging)
    return Status(Error::sharedMemoryExhausted,
                  concat("rank ", lane.members[lane.mine], " needs ", bytes,
                         " bytes of shared memory for ", turn.text, ", its arena of ",
                         host.arena->memory().size(), " has ", host.arena->largestFree(),
                         " left in one piece"));
  return shared.staging;
}

/// Says where the operands are, and where the own share of the result will be. A share goes to
/// the result if others can see that, else to the copy of the operand, whose own share only this
/// rank reads.
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
  // For those who never wait. Others may know it a little late, so not each time.
  if (number % 64 == 0)
    showCore(*shared.board);
  Slot &slot = shared.own->slots[number & 1];
  // What has not changed is not written, and the rest at once, the number last: whoever looks at
  // the line between two stores takes it away, and it must be fetched again for the second.
  if (slot.site != turn.site || number < 2) {
    shared.own->texts[number & 1].write(turn.text);
    slot.site = turn.site;
  }
  if (!isWhole) {
    TILEWRIGHT_TRY(publishOffsets(slot));
  } else {
    if (slot.form != Slot::operands)
      slot.form = Slot::operands;
    std::byte *to = slot.data;
    for (const Tensor &tensor : call.tensors) {
      const size_t bytes = call.tensors.size() == 1 ? turn.bytes : inBytes(tensor);
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
  // Either we see that they sleep, or they see what we wrote before they do. The barrier between is
  // theirs (Host::announceSleep), because waiting here until the line is ours costs as much as all
  // the rest.
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
  ShmLane::Member &member = shared.members[index];
  if (!member.lane) {
    const RankBoard &board = *member.peer.rank;
    for (size_t probe = 0; probe < RankBoard::capacity; ++probe) {
      const auto &entry = board.lanes[(lane.id + probe) % RankBoard::capacity];
      const uint64_t id = entry.lane.load(std::memory_order_acquire);
      if (id == 0)
        return false;
      if (id == lane.id) {
        member.lane = reinterpret_cast<const SharedLane *>(
            member.peer.base + entry.offset.load(std::memory_order_relaxed));
        break;
      }
    }
    if (!member.lane)
      return false;
  }
  const std::atomic<uint64_t> &came = member.lane->slots[number & 1].came;
  for (int tries = host.canSpin ? triesAtOnce : 1; tries > 0; --tries)
    if (came.load(std::memory_order_acquire) > number)
      return true;
  return false;
}

bool ShmOperation::haveReached(uint64_t step) const {
  for (const ShmLane::Member &member : shared.members) {
    int tries = host.canSpin ? triesAtOnce : 1;
    while (member.lane->step.load(std::memory_order_acquire) < step)
      if (--tries == 0)
        return false;
  }
  return true;
}

bool ShmOperation::isMissing(size_t index) const {
  const ShmLane::Member &member = shared.members[index];
  if (!member.lane || state == State::arriving)
    return true;
  if (state == State::gathering)
    return member.lane->slots[number & 1].came.load(std::memory_order_acquire) <= number;
  return member.lane->step.load(std::memory_order_acquire) <
         (state == State::halfDone ? half() : done());
}

/// Turns what the members said about their memory into pointers.
void ShmOperation::see() {
  const size_t tensors = call.tensors.size(), members = shared.members.size();
  shared.in.resize(members * tensors);
  shared.out.resize(members * tensors);
  shared.ragged.resize(members);
  for (size_t m = 0; m < members; ++m) {
    const ShmLane::Member &member = shared.members[m];
    const Slot &slot = member.lane->slots[number & 1];
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

/// The most frequent of all: one small tensor. The result may be the operand, since the slots have
/// copies.
void ShmOperation::sumSlots() {
  const Tensor &tensor = call.tensors[0];
  if (turn.bytes == 0)
    return;
  copySmall(tensor.out, shared.members[0].lane->slots[number & 1].data, turn.bytes);
  const size_t count = turn.bytes / numerics::storageBytes(tensor.element);
  for (size_t m = 1; m < shared.members.size(); ++m)
    turn.combine(tensor.out, shared.members[m].lane->slots[number & 1].data, count);
}

Status ShmOperation::work() {
  const Party party{call, lane.mine, shared.members.size(), shared.in, shared.out, shared.ragged};
  if (!isSplit)
    return exchange(party, turn.source);
  reduceShare(party, share);
  return Status();
}

/// A member that failed may have gone on and changed its operand while it was read here.
Result<bool> ShmOperation::afterFailures() const {
  for (const ShmLane::Member &member : shared.members)
    if (member.peer.process->hasFailed.load(std::memory_order_acquire))
      return Status(Error::collectiveAborted,
                    concat("rank ", lane.members[lane.mine], " stops in ", turn.text, " because ",
                           member.peer.process->failure.read()));
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
      const SharedLane &theirs = *shared.members[next].lane;
      if (theirs.slots[number & 1].site != turn.site)
        return mismatch(lane.members[next], theirs.texts[number & 1].read(),
                        lane.members[lane.mine], turn.text);
    }
    if (isWhole && call.kind == Kind::allReduce && call.tensors.size() == 1 && turn.combine) {
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
    collectShares({call, lane.mine, shared.members.size(), shared.in, shared.out});
    reach(done());
    state = State::ending;
  }
  if (!haveReached(done()))
    return false;
  return afterFailures();
}

class ShmDriver final : public Driver {
public:
  ShmDriver(Host &host, int64_t rank)
      : Driver(rank, host.options.patience, host.failure), host(host), own(*host.peer(rank).rank) {
    for (size_t other = 0; other < host.membership.processOfRank.size(); ++other)
      if (const Peer peer = host.peer(static_cast<int64_t>(other)); peer.rank && peer.rank != &own)
        others.push_back(peer.rank);
  }

  void fail(std::string text) override { host.fail(std::move(text)); }
  void leave(int64_t run) override {
    own.leftRun.store(run, std::memory_order_seq_cst);
    wakeEverybody();
  }

private:
  // In tries without a success: first without a pause, then with, then giving way to others, then
  // asleep. A rank without a core of its own gives way at once.
  static constexpr uint64_t eager = 500, spinning = 4000, yielding = 60;
  static constexpr uint64_t beforeLooking = 16; // and again and again, at the cores of the others

  std::unique_ptr<Operation> begin(Lane &lane, const Turn &turn) override {
    return makeShmOperation(host, lane, turn);
  }
  void wakeEverybody();

  uint64_t firstYield() const { return host.canSpin ? spinning : 0; }
  bool isPatient(uint64_t round) const override {
    return round >= firstYield() && round >= firstSleep;
  }
  void say(std::string_view where, bool) override { own.where.write(where); }
  /// There is a core for each rank, but the kernel may have put two of them on one, since others
  /// use the machine too. The other one cannot come while this one spins.
  bool sharesItsCore() {
    const uint32_t core = showCore(own);
    return std::any_of(others.begin(), others.end(), [&](const RankBoard *other) {
      return other->core.load(std::memory_order_relaxed) == core;
    });
  }
  void settle() override {
    own.core.store(0, std::memory_order_relaxed);
    host.announceSleep();
    seen = host.board->doorbell.load(std::memory_order_acquire);
    hasLooked = false;
  }
  void rise() override { host.board->sleepers.fetch_sub(1, std::memory_order_relaxed); }
  void idle(uint64_t round) override {
    if (round == 0)
      firstSleep = firstYield() + yielding;
    if (isPatient(round)) {
      if (!std::exchange(hasLooked, true)) // once more now that others know
        return;
      sleepOn(host.board->doorbell, seen, std::chrono::milliseconds(10));
      seen = host.board->doorbell.load(std::memory_order_acquire);
    } else if (round >= firstYield()) {
      // On a machine with much else to do, who gives way may be back after milliseconds.
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
  std::optional<std::string> lookAround(const Lane &lane, const Operation *operation,
                                        int64_t run) override {
    host.lookAround();
    if (!operation)
      return std::nullopt;
    for (size_t i = 0; i < lane.members.size(); ++i) {
      const int64_t other = lane.members[i];
      if (i == lane.mine || !operation->isMissing(i))
        continue;
      if (host.hasLeft(other))
        return concat("rank ", other, ", which has left the job");
      if (host.peer(other).rank->leftRun.load(std::memory_order_acquire) >= run)
        return concat("rank ", other, ", which has left the run");
    }
    return std::nullopt;
  }
  std::string whereIs(int64_t rank) override { return host.peer(rank).rank->where.read(); }
  void wakeHelper() override {
    if (host.options.hasHelper)
      host.helper->wake();
  }

  Host &host;
  RankBoard &own;
  std::vector<const RankBoard *> others;
  uint32_t seen = 0; // of the doorbell
  bool hasLooked = false;
  uint64_t firstSleep = 0; // the first try that is followed by sleep
};

/// Makes the slots of this rank in a lane, where the others will find them.
Status open(Host &host, Lane &lane) {
  const int64_t rank = lane.members[lane.mine];
  RankBoard &own = *host.peer(rank).rank;
  auto data = std::make_unique<ShmLane>();
  data->arena = host.arena.get();
  data->board = &own;
  for (int64_t member : lane.members) {
    const Peer peer = host.peer(member);
    if (!peer.process)
      return Status(Error::collectiveGroups, concat("rank ", member, " is not on this host"));
    data->members.push_back({peer});
    const bool isListed = std::find(data->listeners.begin(), data->listeners.end(), peer.process) !=
                          data->listeners.end();
    if (member != rank && !isListed)
      data->listeners.push_back(peer.process);
  }
  // Members' slots lie at different places within their pages. At the same one, a processor takes
  // the load of another's slot for one of what it has just stored in its own, and waits for that.
  constexpr size_t apart = 256, page = 4096;
  const size_t shift = lane.mine * apart % page;
  std::byte *memory = host.arena->allocate(sizeof(SharedLane) + page);
  RankBoard::Entry *entry = nullptr;
  for (size_t probe = 0; memory && !entry && probe < RankBoard::capacity; ++probe) {
    RankBoard::Entry &each = own.lanes[(lane.id + probe) % RankBoard::capacity];
    if (each.lane.load(std::memory_order_relaxed) == 0)
      entry = &each;
  }
  if (!entry) {
    if (memory)
      host.arena->free(memory);
    return Status(Error::sharedMemoryExhausted,
                  concat("rank ", rank, " has no room for the clique ", listed(lane.members),
                         " in its arena of ", host.arena->memory().size(), " bytes, which holds ",
                         RankBoard::capacity, " cliques at most"));
  }
  memory += (page - host.arena->offsetOf(memory) % page + shift) % page;
  data->own = new (memory) SharedLane(); // zeros, whatever was here before
  entry->offset.store(host.arena->offsetOf(memory), std::memory_order_relaxed);
  entry->lane.store(lane.id, std::memory_order_release);
  lane.data = std::move(data);
  return Status();
}

void ShmDriver::wakeEverybody() {
  for (size_t rank = 0; rank < host.membership.processOfRank.size(); ++rank)
    if (ProcessBoard *board = host.peer(static_cast<int64_t>(rank)).process)
      if (board->sleepers.load(std::memory_order_seq_cst) > 0)
        host.ring(*board);
}

} // namespace

std::unique_ptr<Operation> makeShmOperation(Host &host, Lane &lane, const Turn &turn) {
  if (!lane.data)
    if (Status status = open(host, lane); !status.isOk())
      return std::make_unique<FailedOperation>(std::move(status));
  return std::make_unique<ShmOperation>(host, lane, turn);
}

std::unique_ptr<Driver> makeDriver(Host &host, int64_t rank) {
  return std::make_unique<ShmDriver>(host, rank);
}

} // namespace tilewright::collective::shm
