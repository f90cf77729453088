#include "Evidence.h"

#include "tilewright/vgpu/machine/Memory.h"
#include "tilewright/vgpu/machine/Warp.h"
#include "tilewright/vgpu/ptx/Module.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace tilewright::vgpu::mutation {

using machine::AccessKind;
using machine::AsyncId;
using machine::GroupKind;
using machine::MemoryEvent;
using machine::Order;
using machine::Proxy;
using machine::SyncEvent;
using machine::SyncKind;

static Logged begin(const machine::Warp &warp, const machine::Op *op, uint32_t mask) {
  Logged logged;
  const machine::Block &block = *warp.block;
  logged.line = positionOf(*block.group->grid->program, op).line;
  logged.block = static_cast<uint32_t>(block.linear);
  logged.cluster = static_cast<uint32_t>(block.group->blocks[block.clusterBase].linear);
  logged.warp = warp.index;
  logged.mask = mask;
  return logged;
}

/// Shared memory with the cluster, so that equal addresses are equal memory.
static uint64_t unique(const machine::Warp &warp, uint64_t address) {
  if ((address & machine::windowMask) != machine::sharedWindow)
    return address;
  const machine::Block &block = *warp.block;
  return address | block.group->blocks[block.clusterBase].linear << 32;
}

void Log::access(const MemoryEvent &event) {
  Logged logged = begin(event.warp, event.op, event.mask);
  logged.isAccess = true;
  logged.access = event.kind;
  logged.async = event.async;
  logged.order = event.order;
  logged.scope = event.scope;
  logged.proxy = event.proxy;
  for (uint32_t rest = event.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint64_t first = unique(event.warp, event.addresses[lane]);
    logged.ranges.push_back({lane, first, first + event.bytes});
  }
  events.push_back(std::move(logged));
}

void Log::synchronise(const SyncEvent &event) {
  Logged logged = begin(event.warp, event.op, event.mask);
  logged.sync = event.kind;
  logged.async = event.async;
  logged.order = event.order;
  logged.scope = event.scope;
  logged.proxy = event.proxy;
  logged.group = event.group;
  logged.space = event.space;
  const bool isAddress =
      event.kind != SyncKind::barrierArrive && event.kind != SyncKind::barrierLeave;
  logged.object = isAddress ? unique(event.warp, event.object) : event.object;
  logged.phase = event.phase;
  logged.count = event.count;
  logged.operations.assign(event.operations.begin(), event.operations.end());
  events.push_back(std::move(logged));
}

using Events = std::vector<Logged>;

static bool overlaps(const Logged::Range &a, const Logged::Range &b) {
  return a.begin < b.end && b.begin < a.end;
}
static bool conflicts(const Logged &a, const Logged &b) {
  if (a.access == AccessKind::read && b.access == AccessKind::read)
    return false;
  // Atomic accesses do not disturb each other.
  return !(a.access == AccessKind::atomic && b.access == AccessKind::atomic);
}

/// The rank of the block that a shared address belongs to, as the address has it.
static uint64_t rankPart(uint64_t address) { return address >> machine::sharedOffsetBits & 0xff; }
static bool isShared(uint64_t address) {
  return (address & machine::windowMask) == machine::sharedWindow;
}

namespace {
/// What meets at a barrier.
enum class Unit : uint8_t { warp, block, cluster };

/// How many times a thread has passed the barrier in question, and others of its unit.
struct Passed {
  uint32_t here = 0, elsewhere = 0;
};
struct Thread {
  uint32_t cluster, block, warp, lane;
  auto operator<=>(const Thread &) const = default;
  bool meets(const Thread &other, Unit unit) const {
    return cluster == other.cluster && (unit == Unit::cluster || block == other.block) &&
           (unit != Unit::warp || warp == other.warp);
  }
};

/// An access as the rule about barriers sees it.
struct Seen {
  uint64_t begin, end;
  AccessKind kind;
  Thread thread;
  Passed passed;
  AsyncId op;
  size_t at;                // in the log
  bool hasOutsider = false; // conflicts with an access of another unit
};

/// A moment at which a thread gives or takes order beyond its unit.
struct Edge {
  Thread thread;
  Passed passed;
  bool gives;
};

class Crossing {
public:
  Crossing(const Events &log, uint32_t line, Unit unit) : log(log), line(line), unit(unit) {}

  /// Whether the barrier at `line` keeps nothing apart that others do not.
  bool isEmpty() {
    // Barriers of a part of the block are another matter.
    if (unit == Unit::block)
      for (const Logged &event : log)
        if (!event.isAccess && event.sync == SyncKind::barrierArrive && event.object != 0)
          return false;
    collect();
    std::sort(all.begin(), all.end(),
              [](const Seen &a, const Seen &b) { return a.begin < b.begin; });
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t k = i + 1; k < all.size() && all[k].begin < all[i].end; ++k)
        if (!look(all[i], all[k]))
          return false;
    std::erase_if(all, [](const Seen &one) { return !one.hasOutsider; });
    for (const Edge &edge : edges)
      for (const Seen &one : all)
        if (one.thread != edge.thread && one.thread.meets(edge.thread, unit) &&
            one.passed.elsewhere == edge.passed.elsewhere &&
            (edge.gives ? one.passed.here < edge.passed.here : one.passed.here > edge.passed.here))
          return false; // the barrier carries it
    return true;
  }

private:
  static bool conflict(AccessKind a, AccessKind b) { return !(a == b && a != AccessKind::write); }
  bool look(Seen &a, Seen &b) {
    if (a.thread == b.thread || !conflict(a.kind, b.kind))
      return true;
    if (!a.thread.meets(b.thread, unit)) {
      a.hasOutsider = b.hasOutsider = true;
      return true;
    }
    return a.passed.here == b.passed.here || a.passed.elsewhere != b.passed.elsewhere ||
           hasWaited(a, b) || hasWaited(b, a);
  }
  /// Whether the thread of `later` itself waited for the operation of `earlier` before.
  bool hasWaited(const Seen &earlier, const Seen &later) const {
    auto found = waited.find({earlier.op, later.thread});
    return earlier.op != 0 && found != waited.end() && found->second < later.at;
  }

  void add(const Logged &event, const Thread &thread, AccessKind kind) {
    for (const Logged::Range &range : event.ranges)
      all.push_back({range.begin, range.end, kind, thread, passed[thread], event.async, now});
  }
  static Thread threadOf(const Logged &event, uint32_t lane) {
    return {event.cluster, event.block, event.warp, lane};
  }
  static uint32_t firstLane(const Logged &event) {
    return event.mask ? static_cast<uint32_t>(std::countr_zero(event.mask)) : 0;
  }

  void collect() {
    // What each operation accesses, and on which phases it completes.
    std::map<AsyncId, std::vector<const Logged *>> accesses;
    std::map<std::pair<uint64_t, uint64_t>, std::vector<AsyncId>> completes;
    std::map<AsyncId, std::vector<AsyncId>> after;
    for (const Logged &event : log) {
      if (event.isAccess && event.async != 0)
        accesses[event.async].push_back(&event);
      // cp.async.mbarrier.arrive completes for the copies that it comes after.
      if (!event.isAccess && event.sync == SyncKind::asyncIssue && !event.operations.empty()) {
        std::vector<AsyncId> &copies = after[event.async];
        for (const AsyncId id : event.operations)
          if (auto found = after.find(id); found != after.end())
            copies.insert(copies.end(), found->second.begin(), found->second.end());
          else
            copies.push_back(id);
      }
      if (!event.isAccess && (event.async != 0 || !event.operations.empty()) &&
          (event.sync == SyncKind::mbarrierComplete || event.sync == SyncKind::mbarrierArrive)) {
        std::vector<AsyncId> &ids = completes[{event.object, event.phase}];
        ids.push_back(event.async);
        ids.insert(ids.end(), event.operations.begin(), event.operations.end());
        if (auto found = after.find(event.async); found != after.end())
          ids.insert(ids.end(), found->second.begin(), found->second.end());
      }
    }
    for (now = 0; now < log.size(); ++now) {
      const Logged &event = log[now];
      const Thread first = threadOf(event, firstLane(event));
      if (event.isAccess) {
        if (event.async != 0) {
          add(event, first, event.access);
        } else {
          for (const Logged::Range &range : event.ranges) {
            const Thread thread = threadOf(event, range.lane);
            all.push_back({range.begin, range.end, event.access, thread, passed[thread], 0, now});
          }
          if (event.order != Order::weak)
            edge(event, event.access != AccessKind::read, event.access != AccessKind::write);
        }
        continue;
      }
      switch (event.sync) {
      case SyncKind::barrierArrive:
        pass(event, unit == Unit::block || unit == Unit::warp);
        break;
      case SyncKind::warpBarrier:
        pass(event, unit == Unit::warp);
        break;
      case SyncKind::clusterArrive:
        if (unit == Unit::cluster)
          pass(event, true);
        else
          edge(event, true, false);
        break;
      case SyncKind::clusterLeave:
        if (unit != Unit::cluster)
          edge(event, false, true);
        break;
      case SyncKind::fence:
        edge(event, true, true);
        break;
      case SyncKind::asyncWait:
        // Until here the operation may have been accessing; who waited knows its end.
        for (const AsyncId id : event.operations) {
          for (const Logged *access : accesses[id])
            add(*access, first, access->access);
          for (uint32_t lane = 0; lane < 32; ++lane)
            if (event.mask >> lane & 1)
              waited.emplace(std::pair(id, threadOf(event, lane)), now);
        }
        break;
      case SyncKind::mbarrierInit:
      case SyncKind::mbarrierInvalidate:
        mbarrier(event, AccessKind::write);
        break;
      case SyncKind::mbarrierArrive:
        mbarrier(event, AccessKind::atomic);
        edge(event, true, false);
        break;
      case SyncKind::mbarrierExpect:
      case SyncKind::mbarrierComplete:
        mbarrier(event, AccessKind::atomic);
        break;
      case SyncKind::mbarrierWait:
        mbarrier(event, AccessKind::atomic);
        edge(event, false, true);
        for (const AsyncId id : completes[{event.object, event.phase}]) {
          for (const Logged *access : accesses[id])
            add(*access, first, access->access);
          for (uint32_t lane = 0; lane < 32; ++lane)
            if (event.mask >> lane & 1)
              waited.emplace(std::pair(id, threadOf(event, lane)), now);
        }
        break;
      default:
        break;
      }
    }
  }
  void mbarrier(const Logged &event, AccessKind kind) {
    for (uint32_t lane = 0; lane < 32; ++lane)
      if (event.mask >> lane & 1) {
        const Thread thread = threadOf(event, lane);
        all.push_back({event.object, event.object + 8, kind, thread, passed[thread], 0, now});
      }
  }
  void edge(const Logged &event, bool gives, bool takes) {
    for (uint32_t lane = 0; lane < 32; ++lane)
      if (event.mask >> lane & 1) {
        const Thread thread = threadOf(event, lane);
        if (gives)
          edges.push_back({thread, passed[thread], true});
        if (takes)
          edges.push_back({thread, passed[thread], false});
      }
  }
  void pass(const Logged &event, bool counts) {
    for (uint32_t lane = 0; lane < 32 && counts; ++lane)
      if (event.mask >> lane & 1) {
        Passed &thread = passed[threadOf(event, lane)];
        ++(event.line == line ? thread.here : thread.elsewhere);
      }
  }

  const Events &log;
  const uint32_t line;
  const Unit unit;
  size_t now = 0;
  std::map<Thread, Passed> passed;
  std::map<std::pair<AsyncId, Thread>, size_t> waited; // for its phase, when first
  std::vector<Seen> all;
  std::vector<Edge> edges;
};
} // namespace

static bool nothingCrosses(const Events &log, uint32_t line, Unit unit) {
  return Crossing(log, line, unit).isEmpty();
}

/// Whether each access to memory of another block is by a copy that the owner waits
/// for, and each own copy is waited for, so that no memory ends too early.
static bool ownersWait(const Events &log) {
  std::map<AsyncId, std::vector<std::pair<uint64_t, uint64_t>>> completes;
  std::set<std::pair<uint64_t, uint64_t>> waited;
  for (const Logged &event : log) {
    if (event.isAccess)
      continue;
    if (event.sync == SyncKind::mbarrierComplete && event.async != 0)
      completes[event.async].emplace_back(event.object, event.phase);
    if (event.sync == SyncKind::mbarrierWait)
      waited.emplace(event.object, event.phase);
  }
  for (const Logged &event : log) {
    const uint64_t own = event.block - event.cluster + 1;
    if (!event.isAccess) {
      // A thread that arrives at another block's mbarrier accesses its memory.
      if (event.sync == SyncKind::mbarrierArrive && rankPart(event.object) != own)
        return false;
      continue;
    }
    for (const Logged::Range &range : event.ranges) {
      if (!isShared(range.begin) || (event.async == 0 && rankPart(range.begin) == own))
        continue;
      bool isWaitedFor = false;
      for (const auto &[object, phase] : completes[event.async])
        isWaitedFor = isWaitedFor || (rankPart(object) == rankPart(range.begin) &&
                                      waited.count({object, phase}) != 0);
      if (!isWaitedFor)
        return false;
    }
  }
  return true;
}

namespace {
/// Ranges of memory, to be asked which of them overlap another one.
class Ranges {
public:
  void add(const Logged::Range &range, size_t event) {
    all.push_back({range, event});
    for (uint64_t part = range.begin / partBytes; part <= (range.end - 1) / partBytes; ++part)
      byPart[part].push_back(all.size() - 1);
  }
  /// Whether `holds` is true for the event of one that overlaps.
  bool any(const Logged::Range &range, const std::function<bool(size_t)> &holds) const {
    for (uint64_t part = range.begin / partBytes; part <= (range.end - 1) / partBytes; ++part)
      if (auto found = byPart.find(part); found != byPart.end())
        for (const size_t i : found->second)
          if (overlaps(all[i].first, range) && holds(all[i].second))
            return true;
    return false;
  }

private:
  static constexpr uint64_t partBytes = 64;
  std::vector<std::pair<Logged::Range, size_t>> all;
  std::unordered_map<uint64_t, std::vector<size_t>> byPart;
};
} // namespace

/// Whether every address that line `line` accesses is only accessed by one block.
static bool isOfOneBlock(const Events &log, uint32_t line) {
  Ranges ranges;
  for (size_t i = 0; i < log.size(); ++i)
    if (log[i].isAccess && log[i].line == line)
      for (const Logged::Range &range : log[i].ranges)
        ranges.add(range, i);
  for (const Logged &other : log)
    if (other.isAccess)
      for (const Logged::Range &touched : other.ranges)
        if (ranges.any(touched, [&](size_t i) { return log[i].block != other.block; }))
          return false;
  return true;
}

/// Whether no block accesses what another one accesses, but by strong accesses.
static bool blocksAreApart(const Events &log) {
  Ranges ranges;
  for (size_t i = 0; i < log.size(); ++i)
    if (log[i].isAccess && (log[i].order == Order::weak || log[i].async != 0))
      for (const Logged::Range &range : log[i].ranges)
        ranges.add(range, i);
  for (const Logged &other : log)
    if (other.isAccess)
      for (const Logged::Range &touched : other.ranges)
        if (ranges.any(touched, [&](size_t i) {
              return log[i].block != other.block && conflicts(log[i], other);
            }))
          return false;
  return true;
}

/// Whether of each block one thread alone accesses what `line` accesses.
static bool isOfOneThreadOfABlock(const Events &log, uint32_t line) {
  Ranges ranges;
  for (size_t i = 0; i < log.size(); ++i)
    if (log[i].isAccess && log[i].line == line)
      for (const Logged::Range &range : log[i].ranges)
        ranges.add(range, i);
  std::map<uint32_t, std::set<std::pair<uint32_t, uint32_t>>> threads;
  for (const Logged &other : log)
    if (other.isAccess)
      for (const Logged::Range &touched : other.ranges)
        if (ranges.any(touched, [](size_t) { return true; }))
          threads[other.block].emplace(other.warp, touched.lane);
  return std::all_of(threads.begin(), threads.end(),
                     [](const auto &one) { return one.second.size() == 1; });
}

/// Whether nothing conflicts with the operations that `line` commits or waits for
/// until a later wait, which leaves none, covers them anyway.
static bool laterWaitCovers(const Events &log, uint32_t line, SyncKind kind) {
  for (size_t i = 0; i < log.size(); ++i) {
    const Logged &at = log[i];
    if (at.isAccess || at.line != line || at.sync != kind)
      continue;
    // Without this group, waits that leave some leave others.
    if (kind == SyncKind::asyncCommit)
      for (size_t k = i; k < log.size(); ++k)
        if (!log[k].isAccess && log[k].sync == SyncKind::asyncWait && log[k].count != 0 &&
            log[k].block == at.block && log[k].warp == at.warp && log[k].group == at.group)
          return false;
    for (const AsyncId id : at.operations) {
      // Where it was waited for, and where it will be without that. Without a wait
      // at all its registers or its block's memory may end before.
      size_t waited = log.size(), covered = log.size();
      bool hasCommit = kind == SyncKind::asyncWait;
      for (size_t k = i; k < log.size(); ++k) {
        const Logged &event = log[k];
        if (event.isAccess || event.block != at.block || event.warp != at.warp ||
            event.group != at.group)
          continue;
        const bool isOther = event.line != line;
        if (event.sync == SyncKind::asyncCommit && isOther)
          hasCommit = true;
        if (event.sync != SyncKind::asyncWait)
          continue;
        if (waited == log.size() &&
            std::count(event.operations.begin(), event.operations.end(), id))
          waited = k;
        if (isOther && hasCommit && event.count == 0 && waited <= k) {
          covered = k;
          break;
        }
      }
      if (covered == log.size())
        return false;
      Ranges own;
      for (size_t k = 0; k < log.size(); ++k)
        if (log[k].isAccess && log[k].async == id)
          for (const Logged::Range &range : log[k].ranges)
            own.add(range, k);
      for (size_t k = waited; k < covered; ++k)
        if (log[k].isAccess)
          for (const Logged::Range &range : log[k].ranges)
            if (own.any(range, [&](size_t one) { return conflicts(log[one], log[k]); }))
              return false;
    }
  }
  return true;
}

/// Whether every wait for groups covers at least the operations that it covers, if the
/// commits or the waits at `line` are gone, or its waits leave one group more (`extra`).
static bool waitsCoverTheSame(const Events &log, uint32_t line, uint64_t extra) {
  struct Sequence {
    std::vector<std::vector<AsyncId>> was, is; // groups that are not waited for
    std::vector<AsyncId> open;                 // operations without a group
    std::set<AsyncId> done;
    uint32_t mask = 0;
  };
  std::map<std::tuple<uint32_t, uint32_t, GroupKind>, Sequence> sequences;
  for (const Logged &event : log) {
    if (event.isAccess ||
        (event.sync != SyncKind::asyncCommit && event.sync != SyncKind::asyncWait))
      continue;
    Sequence &sequence = sequences[{event.block, event.warp, event.group}];
    // Groups are a thread's own; here those of a warp are the same.
    if (sequence.mask == 0)
      sequence.mask = event.mask;
    if (sequence.mask != event.mask)
      return false;
    const bool isHere = event.line == line;
    if (event.sync == SyncKind::asyncCommit) {
      sequence.was.push_back(event.operations);
      sequence.open.insert(sequence.open.end(), event.operations.begin(), event.operations.end());
      if (!isHere)
        sequence.is.push_back(std::exchange(sequence.open, {}));
      continue;
    }
    auto take = [](std::vector<std::vector<AsyncId>> &groups, uint64_t leave) {
      std::vector<AsyncId> taken;
      for (; groups.size() > leave; groups.erase(groups.begin()))
        taken.insert(taken.end(), groups[0].begin(), groups[0].end());
      return taken;
    };
    if (!isHere || extra != 0)
      for (const AsyncId id : take(sequence.is, event.count + (isHere ? extra : 0)))
        sequence.done.insert(id);
    for (const AsyncId id : take(sequence.was, event.count))
      if (!sequence.done.count(id))
        return false;
  }
  return true;
}

/// Whether the same threads have executed a fence like the one at `line` before it, and
/// since then have accessed nothing and waited for nothing but products.
static bool fenceIsRepeated(const Events &log, uint32_t line) {
  for (size_t i = 0; i < log.size(); ++i) {
    const Logged &fence = log[i];
    if (fence.isAccess || fence.line != line || fence.sync != SyncKind::proxyFence)
      continue;
    bool isRepeated = false;
    for (size_t k = i; k-- > 0;) {
      const Logged &event = log[k];
      if (event.block != fence.block || event.warp != fence.warp)
        continue;
      if (event.isAccess) {
        if (event.async == 0)
          break;
        continue; // an operation of its own proxy
      }
      if (event.sync == SyncKind::proxyFence && event.proxy == fence.proxy &&
          event.space == fence.space && event.line != line && (fence.mask & ~event.mask) == 0) {
        isRepeated = true;
        break;
      }
      if (event.sync != SyncKind::wgmmaFence && event.sync != SyncKind::asyncIssue &&
          event.group != GroupKind::matrix)
        break;
    }
    if (!isRepeated)
      return false;
  }
  return true;
}

static bool arrivesForNobody(const Events &log, uint32_t line) {
  for (const Logged &arrival : log)
    if (!arrival.isAccess && arrival.line == line && arrival.sync == SyncKind::mbarrierArrive)
      for (const Logged &wait : log)
        if (!wait.isAccess && wait.sync == SyncKind::mbarrierWait &&
            wait.object == arrival.object && wait.phase >= arrival.phase)
          return false;
  return true;
}

/// Whether nobody accesses what the operations that `line` waits for have written.
static bool nobodyReadsBack(const Events &log, uint32_t line) {
  std::map<AsyncId, size_t> waited; // by operation: when first
  for (size_t i = 0; i < log.size(); ++i)
    if (!log[i].isAccess && log[i].line == line && log[i].sync == SyncKind::asyncWait)
      for (const AsyncId id : log[i].operations)
        waited.emplace(id, i);
  Ranges written;
  for (size_t i = 0; i < log.size(); ++i)
    if (log[i].isAccess && log[i].access != AccessKind::read && waited.count(log[i].async))
      for (const Logged::Range &range : log[i].ranges)
        written.add(range, i);
  for (size_t k = 0; k < log.size(); ++k)
    if (log[k].isAccess)
      for (const Logged::Range &range : log[k].ranges)
        if (written.any(range, [&](size_t i) {
              return waited[log[i].async] < k && conflicts(log[i], log[k]);
            }))
          return false;
  return true;
}

/// Whether who executes the fence at `line` executes fence.proxy.async before
/// anybody else can come to know of the initialisation.
static bool proxyFenceFollows(const Events &log, uint32_t line) {
  for (size_t i = 0; i < log.size(); ++i) {
    if (log[i].isAccess || log[i].line != line || log[i].sync != SyncKind::mbarrierInitFence)
      continue;
    bool isFenced = false;
    for (size_t k = i + 1; k < log.size() && !isFenced; ++k) {
      const Logged &event = log[k];
      if (event.isAccess || event.block != log[i].block || event.warp != log[i].warp ||
          !(event.mask & log[i].mask))
        continue;
      if (event.sync == SyncKind::proxyFence && event.proxy == Proxy::async)
        isFenced = true;
      else if (event.sync == SyncKind::barrierArrive || event.sync == SyncKind::clusterArrive ||
               event.sync == SyncKind::warpBarrier || event.sync == SyncKind::asyncIssue)
        break;
    }
    if (!isFenced)
      return false;
  }
  return true;
}

/// Whether no copy uses an mbarrier, and the next arrival at the cluster's barrier releases.
static bool releaseFollows(const Events &log, uint32_t line) {
  for (const Logged &event : log)
    if (!event.isAccess && event.sync == SyncKind::mbarrierComplete)
      return false;
  for (size_t i = 0; i < log.size(); ++i) {
    if (log[i].isAccess || log[i].line != line || log[i].sync != SyncKind::mbarrierInitFence)
      continue;
    bool isReleased = false;
    for (size_t k = i + 1; k < log.size(); ++k)
      if (!log[k].isAccess && log[k].block == log[i].block && log[k].warp == log[i].warp &&
          log[k].sync == SyncKind::clusterArrive) {
        isReleased = log[k].order == Order::release;
        break;
      }
    if (!isReleased)
      return false;
  }
  return true;
}

/// Whether every mbarrier that was initialised before `line` has its own fence.
static bool initsAreFenced(const Events &log, uint32_t line) {
  for (size_t i = 0; i < log.size(); ++i) {
    if (log[i].isAccess || log[i].sync != SyncKind::mbarrierInit)
      continue;
    bool isFenced = false;
    for (size_t k = i + 1; k < log.size() && log[k].line != line; ++k)
      isFenced = isFenced || (!log[k].isAccess && log[k].sync == SyncKind::mbarrierInitFence &&
                              log[k].block == log[i].block && log[k].warp == log[i].warp);
    if (!isFenced)
      return false;
  }
  return true;
}

/// Whether all threads that arrive for the phases that `line` waits for are of its block.
static bool ownBlockArrives(const Events &log, uint32_t line) {
  for (const Logged &wait : log)
    if (!wait.isAccess && wait.line == line && wait.sync == SyncKind::mbarrierWait)
      for (const Logged &arrival : log)
        if (!arrival.isAccess && arrival.sync == SyncKind::mbarrierArrive &&
            arrival.object == wait.object && arrival.phase == wait.phase &&
            arrival.block != wait.block)
          return false;
  return true;
}

/// Whether nothing but wgmma names the registers of the wgmma after line `line` since
/// the wgmma.fence before it, and nobody jumps in between.
static bool registersAreUntouched(const Mutant &mutant) {
  std::vector<std::string> lines;
  std::istringstream in(mutant.text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  size_t next = mutant.line;
  while (next < lines.size() && lines[next].find("wgmma.mma_async") == std::string::npos)
    ++next;
  if (next == lines.size())
    return false;
  // The lists in braces: accumulators, and A if it is in registers.
  std::set<std::string> registers;
  std::string name;
  int depth = 0;
  for (const char c : lines[next]) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (depth > 0 && (std::isalnum(static_cast<unsigned char>(c)) || c == '%' || c == '_')) {
      name += c;
    } else {
      if (!name.empty())
        registers.insert(name);
      name.clear();
    }
  }
  auto names = [&](const std::string &line) {
    std::string word;
    for (const char c : line + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '%' || c == '_') {
        word += c;
      } else {
        if (registers.count(word))
          return true;
        word.clear();
      }
    }
    return false;
  };
  size_t fence = next;
  while (fence > 0 &&
         (fence == mutant.line - 1 || lines[fence].find("wgmma.fence") == std::string::npos))
    --fence;
  if (fence == 0)
    return false;
  for (size_t i = fence + 1; i < next; ++i) {
    if (lines[i].find("wgmma.mma_async") == std::string::npos && names(lines[i]))
      return false;
    // Who comes to a label between must come from between.
    const size_t colon = lines[i].find(':');
    if (colon == std::string::npos || lines[i].find("::") != std::string::npos)
      continue;
    const size_t start = lines[i].find_first_not_of(" \t");
    const std::string label = lines[i].substr(start, colon - start);
    for (size_t k = 0; k < lines.size(); ++k)
      if ((k <= fence || k >= next) && lines[k].find("bra") != std::string::npos &&
          lines[k].find(label + ";") != std::string::npos)
        return false;
  }
  return true;
}

/// Whether nobody waits for a phase of the mbarriers that are initialised at `line`.
static bool isNotWaitedFor(const Events &log, uint32_t line) {
  std::set<uint64_t> objects;
  for (const Logged &event : log)
    if (!event.isAccess && event.sync == SyncKind::mbarrierInit && event.line == line)
      objects.insert(event.object);
  return std::none_of(log.begin(), log.end(), [&](const Logged &event) {
    return !event.isAccess && event.sync == SyncKind::mbarrierWait && objects.count(event.object);
  });
}

/// Whether the wait at `line` was only ever asked for the phase before the first one: that is
/// over from the beginning, and not told.
static bool isOverAlready(const Events &log, uint32_t line) {
  return std::none_of(log.begin(), log.end(), [&](const Logged &event) {
    return !event.isAccess && event.sync == SyncKind::mbarrierWait && event.line == line;
  });
}

/// Whether the same threads meet at the same barrier a few lines below (`step` 1) or above
/// (-1), and in between is nothing but arithmetic and, below, initialisations of mbarriers
/// in memory that nobody touched before.
static bool sameBarrierIsNear(const Events &log, const Mutant &mutant, int step) {
  std::vector<std::string> lines;
  std::istringstream in(mutant.text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  auto isFresh = [&](uint32_t line) {
    for (size_t i = 0; i < log.size(); ++i) {
      if (log[i].isAccess || log[i].line != line || log[i].sync != SyncKind::mbarrierInit)
        continue;
      const Logged::Range bytes{0, log[i].object, log[i].object + 8};
      for (size_t k = 0; k < i; ++k)
        for (const Logged::Range &range : log[k].ranges)
          if (overlaps(range, bytes))
            return false;
      for (size_t k = 0; k < i; ++k)
        if (!log[k].isAccess && log[k].object == log[i].object && log[k].cluster == log[i].cluster)
          return false;
    }
    return true;
  };
  for (size_t at = mutant.line - 1 + static_cast<size_t>(step); at < lines.size();
       at += static_cast<size_t>(step)) {
    const std::string &line = lines[at];
    if (line.find(mutant.before + ";") != std::string::npos && line.find('@') == std::string::npos)
      return true;
    if (step > 0 && line.find("mbarrier.init") != std::string::npos &&
        isFresh(static_cast<uint32_t>(at) + 1))
      continue;
    for (const char *word :
         {"ld.", "st.", "atom", "red", "bar", "fence", "wgmma", "async", "bra", "call", "ret",
          "exit", "matrix", "tensor", "bulk", "griddep", ":", "{", "}"})
      if (line.find(word) != std::string::npos && line.find("ld.param") == std::string::npos)
        return false;
  }
  return false;
}

std::string whyBenign(const Events &log, const Events &late, const Mutant &mutant) {
  const std::string &what = mutant.mutation;
  const uint32_t line = mutant.line;
  auto is = [&](std::initializer_list<const char *> names) {
    return std::any_of(names.begin(), names.end(), [&](const char *name) { return what == name; });
  };
  if (is({"delete bar.sync", "bar.sync to bar.arrive"}) && nothingCrosses(log, line, Unit::block))
    return "no conflicting accesses lie on both sides of it before another barrier, but of threads "
           "that waited for the operation themselves";
  if (is({"delete bar.warp.sync"}) && nothingCrosses(log, line, Unit::warp))
    return "no conflicting accesses lie on both sides of it before another barrier, but of threads "
           "that waited for the operation themselves";
  if (is({"delete barrier.cluster.arrive", "delete barrier.cluster.wait"})) {
    // The other half of the barrier stands at its own line.
    uint32_t arrive = line;
    if (what == "delete barrier.cluster.wait") {
      arrive = 0;
      for (const Logged &event : log)
        if (!event.isAccess && event.sync == SyncKind::clusterArrive && event.line < line)
          arrive = std::max(arrive, event.line);
    }
    if (nothingCrosses(log, arrive, Unit::cluster) && ownersWait(log))
      return "no conflicting accesses lie on both sides of it before another barrier, and every "
             "access to another block's memory is waited for there";
  }
  if (is({"relax barrier.cluster.arrive"}) && nothingCrosses(log, line, Unit::cluster) &&
      ownersWait(log))
    return "no conflicting accesses lie on both sides of it before another barrier, and every "
           "access to another block's memory is waited for there";
  if (is({"relax barrier.cluster.arrive"}) && initsAreFenced(log, line)) {
    // It is enough that blocks have started: nobody has accessed anything that is shared.
    const auto first = std::find_if(log.begin(), log.end(),
                                    [&](const Logged &event) { return event.line == line; });
    const bool isFirst = std::none_of(log.begin(), first, [](const Logged &event) {
      return event.isAccess && event.access != AccessKind::read;
    });
    const bool isOnlyStart = std::none_of(log.begin(), log.end(), [&](const Logged &event) {
      return event.isAccess && event.access != AccessKind::read && event.line < line;
    });
    if (isFirst && isOnlyStart)
      return "nothing but fenced initialisations happens before it";
  }
  if (what.starts_with("scope ") &&
      (what == "scope atom" || what == "scope red" || what == "scope st" || what == "scope ld" ||
       what == "scope tensormap.cp_fenceproxy") &&
      isOfOneBlock(log, line))
    return "every thread that accesses this memory is of the same block";
  if (is({"relax atom", "relax red", "relax ld", "relax st"}) && blocksAreApart(log) &&
      isOfOneThreadOfABlock(log, line))
    return "blocks share nothing but what they access by strong operations, here by one thread "
           "each";
  if (is({"scope mbarrier.try_wait"}) && ownBlockArrives(log, line))
    return "all who arrive for the phase are of the same block, and bytes of copies are seen by "
           "whoever waits";
  if (what.starts_with("delete ") && what.ends_with("commit_group") &&
      laterWaitCovers(log, line, SyncKind::asyncCommit))
    return "a later wait covers its operations before anything conflicts with them, or it has none";
  if ((what.starts_with("delete ") || what.starts_with("later ")) && what.ends_with("wait_group") &&
      laterWaitCovers(log, line, SyncKind::asyncWait))
    return "a later wait covers its operations before anything conflicts with them, or it has none";
  if (what.ends_with("commit_group") || what.ends_with("wait_group"))
    if ((what.starts_with("delete ") && waitsCoverTheSame(log, line, 0)) ||
        (what.starts_with("later ") && waitsCoverTheSame(log, line, 1)))
      return "every wait covers the same operations without it";
  if (is({"delete fence.proxy.async", "space fence.proxy.async"}) && fenceIsRepeated(log, line))
    return "the same fence stands before it, and nothing was accessed since";
  if (is({"delete mbarrier.arrive", "relax mbarrier.arrive"}) && arrivesForNobody(log, line))
    return "nobody waits for the phase that it counts for";
  if (is({"read cp.async.bulk.wait_group"}) && nobodyReadsBack(log, line))
    return "nobody accesses what was written before the kernel ends";
  if (is({"delete fence.mbarrier_init"}) && proxyFenceFollows(log, line))
    return "fence.proxy.async of the same thread follows before anybody knows of the mbarrier";
  if (is({"delete fence.mbarrier_init"}) && releaseFollows(log, line))
    return "no copy uses the mbarrier, and the barrier of the cluster releases";
  if (is({"count mbarrier.init"}) && isNotWaitedFor(log, line))
    return "nobody waits for a phase of it";
  if (is({"delete mbarrier.try_wait", "relax mbarrier.try_wait"}) && isOverAlready(log, line) &&
      isOverAlready(late, line))
    return "it is only asked for the phase before the first one, or not at all";
  if (is({"delete bar.sync"}) && mutant.before.find('@') == std::string::npos &&
      (sameBarrierIsNear(log, mutant, 1) || sameBarrierIsNear(log, mutant, -1)))
    return "the same threads meet at the same barrier beside it, with nothing in between";
  if (is({"delete wgmma.fence"}) && registersAreUntouched(mutant))
    return "no other instruction touched its registers since the fence before";
  return "";
}

} // namespace tilewright::vgpu::mutation
