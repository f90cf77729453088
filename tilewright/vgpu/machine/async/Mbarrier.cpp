// mbarriers: 64 bits of shared memory that count arrivals and bytes.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"

#include <bit>
#include <cstdlib>

namespace tilewright::vgpu::machine {

// Bits 0-19 pending, 20-39 expected, 40-60 transaction bytes, 61-63 phase.

Mbarrier Mbarrier::load(const std::byte *from) {
  uint64_t bits;
  std::memcpy(&bits, from, 8);
  Mbarrier barrier;
  barrier.pending = bits & 0xfffff;
  barrier.expected = bits >> 20 & 0xfffff;
  barrier.bytes = static_cast<int32_t>(static_cast<uint32_t>(bits >> 40 & 0x1fffff) << 11) >> 11;
  barrier.phase = static_cast<uint32_t>(bits >> 61);
  return barrier;
}
void Mbarrier::store(std::byte *to) const {
  const uint64_t bits = uint64_t(pending & 0xfffff) | uint64_t(expected & 0xfffff) << 20 |
                        uint64_t(static_cast<uint32_t>(bytes) & 0x1fffff) << 40 |
                        uint64_t(phase & 7) << 61;
  std::memcpy(to, &bits, 8);
}
bool Mbarrier::completeIfDone() {
  if (pending != 0 || bytes != 0)
    return false;
  ++phase;
  pending = expected;
  return true;
}

/// Whether the phase that the caller waits for is over.
static bool isOver(const Mbarrier &barrier, uint32_t wanted) {
  if (wanted & mbarrierParity)
    return (barrier.phase & 1) != (wanted & 1);
  return barrier.phase != wanted;
}

static bool misuse(Warp &warp, const Op *op, const std::string &what) {
  fault(warp, op, Error::vgpuBarrier, what);
  return false;
}

namespace {
/// One operation on an mbarrier: updates the record and notifies the observer.
class Access {
public:
  Access(Warp &warp, const Op *op, const AddressForm &form, uint64_t address, unsigned lane)
      : warp(warp), op(op), where(resolve(warp, op, form.space, address, lane, 8)) {
    if (!where)
      return;
    barrier = Mbarrier::load(where);
    if (AsyncQueue *queue = warp.block->group->async.get()) {
      flat = flatAddress(warp, form.space, address);
      record = &queue->recordOf(where, barrier.phase);
    }
  }
  explicit operator bool() const { return where; }

  /// The current phase; in tracked launches, not reduced modulo 8.
  uint64_t phase() const { return record ? record->phase : barrier.phase; }

  bool expect(uint32_t mask, uint32_t bytes) {
    if (!addBytes(bytes))
      return false;
    if (record) {
      record->arrivals.push_back({&warp, mask, op, bytes, true});
      tellEvent(SyncKind::mbarrierExpect, mask, bytes);
    }
    return true;
  }
  bool addBytes(int64_t bytes) {
    const int64_t sum = barrier.bytes + bytes;
    if (std::abs(sum) >= 1 << 20)
      return misuse(
          warp, op,
          concat("the transaction count of an mbarrier must stay within 2^20 - 1 bytes, got ", sum,
                 " (before: ", barrier.bytes, ")"));
    barrier.bytes = static_cast<int32_t>(sum);
    return true;
  }
  void tellEvent(SyncKind kind, uint32_t mask, uint64_t count, Order order = Order::weak,
                 Scope scope = Scope::none, AsyncId async = 0) const {
    if (record)
      tell(warp, {.warp = warp,
                  .op = op,
                  .mask = mask,
                  .kind = kind,
                  .order = order,
                  .scope = scope,
                  .object = flat,
                  .count = count,
                  .phase = record->phase,
                  .async = async});
  }
  /// Ends the phase if nothing is pending, and writes the mbarrier back. If the phase ends, calls
  /// `before` before notifying the observer.
  template <typename Before> void finish(uint32_t mask, Before before) {
    const Mbarrier earlier = barrier;
    if (barrier.completeIfDone()) {
      before();
      if (record) {
        tellLapped(earlier);
        tellEvent(SyncKind::mbarrierPhase, mask, 0);
        ++record->phase;
        record->arrivals.clear();
      }
    }
    barrier.store(where);
    ++warp.block->group->progress;
  }

  /// Reports lapped lanes: they wait for a phase that is over but have not run since. The end of
  /// the current phase restores the parity that they wait for, so they would wait for a later phase
  /// than the program intends.
  void tellLapped(const Mbarrier &earlier) const {
    for (Block &block : warp.block->group->blocks)
      for (Warp &one : block.warps)
        for (const Fragment &fragment : one.others)
          if (fragment.wait == Wait::mbarrier && (fragment.wanted & mbarrierParity) &&
              fragment.object == reinterpret_cast<uint64_t>(where) &&
              isOver(earlier, fragment.wanted) && record->phase > 0)
            tell(one, {.warp = one,
                       .op = fragment.pc,
                       .mask = fragment.mask,
                       .kind = SyncKind::mbarrierLapped,
                       .object = flat,
                       .count = record->phase,
                       .phase = record->phase - 1});
  }

  Warp &warp;
  const Op *op;
  std::byte *where;
  Mbarrier barrier;
  uint64_t flat = 0;
  MbarrierRecord *record = nullptr;
};

/// Reports the arrivals of several lanes at the same mbarrier and phase in one event.
class ArrivalTeller {
public:
  ArrivalTeller(Warp &warp, const Op *op, Order order, Scope scope, AsyncId async)
      : warp(warp), op(op), order(order), scope(scope), async(async) {}
  ~ArrivalTeller() { flush(); }
  ArrivalTeller(const ArrivalTeller &) = delete;
  ArrivalTeller &operator=(const ArrivalTeller &) = delete;

  void add(const Access &access, unsigned lane, uint64_t arrivals) {
    if (!access.record)
      return;
    if (mask != 0 && (access.flat != object || access.phase() != phase || arrivals != count))
      flush();
    object = access.flat, phase = access.phase(), count = arrivals;
    mask |= 1u << lane;
    std::vector<MbarrierRecord::Arrival> &list = access.record->arrivals;
    if (!list.empty() && list.back().warp == &warp && list.back().op == op &&
        list.back().count == arrivals && !list.back().isBytes)
      list.back().mask |= 1u << lane;
    else
      list.push_back({&warp, 1u << lane, op, arrivals, false});
  }
  void flush() {
    if (mask != 0)
      tell(warp, {.warp = warp,
                  .op = op,
                  .mask = mask,
                  .kind = SyncKind::mbarrierArrive,
                  .order = order,
                  .scope = scope,
                  .object = object,
                  .count = count,
                  .phase = phase,
                  .async = async});
    mask = 0;
  }

private:
  Warp &warp;
  const Op *op;
  Order order;
  Scope scope;
  AsyncId async;
  uint32_t mask = 0;
  uint64_t object = 0, phase = 0, count = 0;
};
} // namespace

bool completeBytes(Warp &warp, const Op *op, const AddressForm &form, uint64_t address,
                   unsigned lane, uint32_t bytes, AsyncId async) {
  Access access(warp, op, form, address, lane);
  if (!access || !access.addBytes(-int64_t(bytes)))
    return false;
  access.tellEvent(SyncKind::mbarrierComplete, 1u << lane, bytes, Order::release, Scope::cluster,
                   async);
  access.finish(1u << lane, [] {});
  return true;
}

bool isMbarrierReady(Warp &, const Fragment &fragment) {
  const auto *where = reinterpret_cast<const std::byte *>(fragment.object);
  return isOver(Mbarrier::load(where), fragment.wanted);
}

/// Executes the arrival of one lane. Returns false after a fault.
static bool arrive(Access &access, const MbarrierForm &form, std::byte *registers, unsigned lane,
                   ArrivalTeller &teller) {
  Mbarrier &barrier = access.barrier;
  uint64_t before;
  std::memcpy(&before, access.where, 8);
  const uint32_t value = form.hasCount || form.expects ? word(registers, form.value, lane) : 1;
  const uint32_t count = form.expects ? 1 : value;
  if (form.expects) {
    teller.flush();
    if (!access.expect(1u << lane, value))
      return false;
  }
  if (count > barrier.pending)
    return misuse(access.warp, access.op,
                  concat(count, " arrivals at an mbarrier that expects only ", barrier.pending));
  barrier.pending -= count;
  if (form.drops)
    barrier.expected -= std::min(count, barrier.expected);
  if (form.noComplete && barrier.pending == 0 && barrier.bytes == 0)
    return misuse(access.warp, access.op, "an arrival with .noComplete completes the phase");
  teller.add(access, lane, count);
  access.finish(1u << lane, [&] { teller.flush(); });
  if (form.returns)
    setLongWord(registers, form.result, lane, before);
  return true;
}

namespace {
/// Lanes that observed the end of the same phase of the same mbarrier, reported in one event.
struct Seen {
  uint64_t object, phase;
  uint32_t mask;
};
constexpr uint64_t beforeFirst = ~uint64_t(0);
} // namespace

static After runWait(Warp &warp, const Op *op, const MbarrierForm &form, std::byte *registers,
                     uint32_t mask, uint32_t active) {
  uint32_t over = 0;
  Seen seen[32];
  unsigned seenCount = 0;
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t address = laneAddress(form.address, registers, lane);
    Access access(warp, op, form.address, address, lane);
    if (!access)
      return After::stop;
    const uint32_t wanted =
        form.byParity ? (word(registers, form.value, lane) & 1) | mbarrierParity
                      : static_cast<uint32_t>(longWord(registers, form.value, lane) >> 61);
    if (!isOver(access.barrier, wanted)) {
      if (form.operation == MbarrierOperation::testWait)
        continue;
      // Wait until the phase is over; then all lanes test again.
      parkFragment(warp, {op, warp.frame, mask, Wait::mbarrier, wanted,
                          reinterpret_cast<uint64_t>(access.where),
                          flatAddress(warp, form.address.space, address)});
      return After::resume;
    }
    over |= 1u << lane;
    // With a parity, the lane waited for the preceding phase. The first phase has none: a wait for
    // it succeeds immediately, which producers use to acquire an empty buffer.
    const uint64_t behind = form.byParity ? 1 : (access.barrier.phase - wanted) & 7;
    if (!access.record)
      continue;
    const uint64_t phase = access.phase() < behind ? beforeFirst : access.phase() - behind;
    unsigned i = 0;
    while (i < seenCount && (seen[i].object != access.flat || seen[i].phase != phase))
      ++i;
    if (i == seenCount)
      seen[seenCount++] = {access.flat, phase, 0};
    seen[i].mask |= 1u << lane;
  }
  for (unsigned i = 0; i < seenCount; ++i)
    tell(warp,
         {.warp = warp,
          .op = op,
          .mask = seen[i].mask,
          .kind = seen[i].phase == beforeFirst ? SyncKind::mbarrierPass : SyncKind::mbarrierWait,
          .order = form.order,
          .scope = form.scope,
          .object = seen[i].object,
          .phase = seen[i].phase});
  const uint32_t old = predicateOf(registers, form.result);
  setWord(registers, form.result, 0, (old & ~active) | over);
  return After::next;
}

After runMbarrier(Warp &warp, const Op *op, std::byte *registers, uint32_t mask, uint32_t active) {
  const auto &form = *static_cast<const MbarrierForm *>(op->extra);
  if (form.operation == MbarrierOperation::pendingCount) {
    for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      setWord(registers, form.result, lane,
              static_cast<uint32_t>(longWord(registers, form.value, lane) & 0xfffff));
    }
    return After::next;
  }
  if (form.operation == MbarrierOperation::testWait || form.operation == MbarrierOperation::tryWait)
    return runWait(warp, op, form, registers, mask, active);
  ArrivalTeller teller(warp, op, form.order, form.scope, 0);
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint32_t own = 1u << lane;
    const uint64_t address = laneAddress(form.address, registers, lane);
    Access access(warp, op, form.address, address, lane);
    if (!access)
      return After::stop;
    switch (form.operation) {
    case MbarrierOperation::init: {
      const uint32_t count = word(registers, form.value, lane);
      if (count == 0 || count > 0xfffff) {
        misuse(warp, op,
               concat("the arrival count of an mbarrier must be 1 to 2^20 - 1, got ", count));
        return After::stop;
      }
      if (access.record)
        *access.record = {};
      access.tellEvent(SyncKind::mbarrierInit, own, count);
      Mbarrier barrier;
      barrier.pending = barrier.expected = count;
      barrier.store(access.where);
      break;
    }
    case MbarrierOperation::invalidate:
      access.tellEvent(SyncKind::mbarrierInvalidate, own, 0);
      if (access.record)
        warp.block->group->async->forgetRecord(access.where);
      std::memset(access.where, 0, 8);
      break;
    case MbarrierOperation::expectTx:
      if (!access.expect(own, word(registers, form.value, lane)))
        return After::stop;
      access.barrier.store(access.where);
      break;
    case MbarrierOperation::completeTx:
      if (!completeBytes(warp, op, form.address, address, lane, word(registers, form.value, lane),
                         0))
        return After::stop;
      break;
    default:
      if (!arrive(access, form, registers, lane, teller))
        return After::stop;
      break;
    }
  }
  return After::next;
}

// cp.async.mbarrier.arrive: an asynchronous arrival after the copies that the lanes issued.

bool arriveOnce(Warp &warp, const Op *op, const AddressForm &form, uint64_t address, unsigned lane,
                AsyncId async) {
  ArrivalTeller teller(warp, op, Order::release, Scope::cluster, async);
  Access access(warp, op, form, address, lane);
  if (!access)
    return false;
  if (access.barrier.pending == 0)
    return misuse(warp, op, "an operation arrives at an mbarrier that expects no more arrivals");
  --access.barrier.pending;
  teller.add(access, lane, 1);
  access.finish(1u << lane, [&] { teller.flush(); });
  return true;
}

static bool performArrive(Warp &warp, const Op *op, std::span<const CopyRequest> requests,
                          AsyncId id, Part, std::span<std::vector<std::byte>>) {
  const auto &form = *static_cast<const MbarrierForm *>(op->extra);
  ArrivalTeller teller(warp, op, Order::release, Scope::cta, id);
  for (const CopyRequest &request : requests) {
    Access access(warp, op, form.address, request.to, request.lane);
    if (!access)
      return false;
    if (access.barrier.pending == 0)
      return misuse(warp, op, "copies arrive at an mbarrier that expects no more arrivals");
    --access.barrier.pending;
    teller.add(access, request.lane, 1);
    access.finish(1u << request.lane, [&] { teller.flush(); });
  }
  return true;
}

After runCpAsyncMbarrier(Warp &warp, const Op *op, std::byte *registers, uint32_t,
                         uint32_t active) {
  const auto &form = *static_cast<const MbarrierForm *>(op->extra);
  Group &group = *warp.block->group;
  auto operation = group.async ? std::make_unique<AsyncOperation>() : nullptr;
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    CopyRequest request;
    request.lane = lane;
    request.to = laneAddress(form.address, registers, lane);
    if (!form.isCounted) {
      // Without .noinc, the count of mbarrier.init does not include this arrival.
      Access access(warp, op, form.address, request.to, lane);
      if (!access)
        return After::stop;
      if (access.barrier.pending == 0xfffff) {
        misuse(warp, op,
               "one more arrival exceeds the maximum of 2^20 - 1 arrivals of an mbarrier");
        return After::stop;
      }
      ++access.barrier.pending;
      access.barrier.store(access.where);
    }
    if (operation)
      operation->requests.push_back(request);
    else if (!performArrive(warp, op, {&request, 1}, 0, Part::whole, {}))
      return After::stop;
  }
  if (!operation)
    return After::next;
  operation->warp = &warp;
  operation->op = op;
  operation->mask = active;
  operation->signalsMbarrier = true;
  operation->perform = performArrive;
  std::vector<AsyncGroups::IssuedOperation> &unarrived = groupsOf(warp).unarrived;
  for (AsyncGroups::IssuedOperation &issued : unarrived)
    if (issued.mask & active) {
      operation->after.push_back(issued.id);
      issued.mask &= ~active;
    }
  std::erase_if(unarrived,
                [](const AsyncGroups::IssuedOperation &issued) { return issued.mask == 0; });
  return group.async->issue(std::move(operation)) ? After::next : After::stop;
}

} // namespace tilewright::vgpu::machine
