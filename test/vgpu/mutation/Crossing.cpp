#include "Crossing.h"

#include "tilewright/vgpu/machine/Warp.h"
#include "tilewright/vgpu/machine/memory/Memory.h"
#include "tilewright/vgpu/ptx/Module.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace tilewright::vgpu::mutation {

std::map<AsyncId, std::vector<AsyncId>> copiesBefore(const Events &log) {
  std::map<AsyncId, std::vector<AsyncId>> before;
  for (const Logged &event : log) {
    if (event.isAccess || event.sync != SyncKind::asyncIssue || event.operations.empty())
      continue;
    std::vector<AsyncId> copies;
    for (const AsyncId id : event.operations)
      if (auto found = before.find(id); found != before.end())
        copies.insert(copies.end(), found->second.begin(), found->second.end());
      else
        copies.push_back(id);
    std::vector<AsyncId> &all = before[event.async];
    all.insert(all.end(), copies.begin(), copies.end());
  }
  return before;
}

std::map<AsyncId, std::vector<AsyncId>> operationsBefore(const Events &log) {
  std::map<AsyncId, std::vector<AsyncId>> before = copiesBefore(log);
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<AsyncId>> products; // by thread
  for (const Logged &event : log) {
    if (event.isAccess || event.sync != SyncKind::asyncIssue)
      continue;
    std::vector<AsyncId> &own = products[{event.block, event.warp, event.mask}];
    if (event.group == GroupKind::tensor)
      own.push_back(event.async);
    if (event.group == GroupKind::tensorCommit) {
      before[event.async] = own;
      own.push_back(event.async);
    }
  }
  return before;
}

namespace {
/// How often a thread has passed the barrier under test, and other barriers of the same unit.
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

/// An access with the data that the barrier rule needs.
struct Seen {
  uint64_t begin, end;
  AccessKind kind;
  Thread thread;
  Passed passed;
  AsyncId op;
  size_t at;                // in the log
  bool hasOutsider = false; // it conflicts with an access of another unit
};

/// An event at which a thread releases to, or acquires from, threads outside its unit.
struct Edge {
  Thread thread;
  Passed passed;
  bool gives;
};

class Crossing {
public:
  Crossing(const Events &log, uint32_t line, Unit unit) : log(log), line(line), unit(unit) {}

  /// Whether the barrier at `line` orders no conflicting accesses that other barriers do not order.
  bool isEmpty() {
    // Barriers of a subset of the block are not supported.
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
          return false; // the order depends on the barrier
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
  /// Whether the thread of `later` has itself waited for the operation of `earlier` before.
  bool hasWaited(const Seen &earlier, const Seen &later) const {
    auto found = waited.find({earlier.op, later.thread});
    return earlier.op != 0 && found != waited.end() && found->second < later.at;
  }

  void add(const Logged &event, const Thread &thread, AccessKind kind) {
    for (const Logged::Range &range : event.ranges)
      all.push_back({range.begin, range.end, kind, thread, passed[thread], event.async, now});
  }
  /// With cp.async each lane accesses its own part.
  void addByLane(const Logged &event) {
    for (const Logged::Range &range : event.ranges) {
      const Thread thread = threadOf(event, range.lane);
      all.push_back(
          {range.begin, range.end, event.access, thread, passed[thread], event.async, now});
    }
  }
  static Thread threadOf(const Logged &event, uint32_t lane) {
    return {event.cluster, event.block, event.warp, lane};
  }
  static uint32_t firstLane(const Logged &event) {
    return event.mask ? static_cast<uint32_t>(std::countr_zero(event.mask)) : 0;
  }

  void collect() {
    // The accesses of each operation, and the phases that it completes.
    std::map<AsyncId, std::vector<const Logged *>> accesses;
    std::map<std::pair<uint64_t, uint64_t>, std::vector<AsyncId>> completes;
    const std::map<AsyncId, std::vector<AsyncId>> after = copiesBefore(log);
    for (const Logged &event : log) {
      if (event.isAccess && event.async != 0)
        accesses[event.async].push_back(&event);
      if (!event.isAccess && event.sync == SyncKind::asyncIssue && event.group == GroupKind::copy)
        copies.insert(event.async);
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
        if (copies.count(event.async)) {
          addByLane(event);
        } else if (event.async != 0) {
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
        // The operation may have accessed memory until here; the waiting thread knows that it is
        // complete. A lane waits only for its own copies, so other lanes of the warp do not know
        // about them.
        for (const AsyncId id : event.operations) {
          for (const Logged *access : accesses[id])
            if (event.group == GroupKind::copy)
              addByLane(*access);
            else
              add(*access, first, access->access);
          for (uint32_t lane = 0; lane < 32; ++lane)
            if (event.group == GroupKind::matrix && (event.mask >> lane & 1))
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
      case SyncKind::mbarrierPass:
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
  std::set<AsyncId> copies; // operations of cp.async
  std::map<Thread, Passed> passed;
  std::map<std::pair<AsyncId, Thread>, size_t> waited; // for its phase, first time
  std::vector<Seen> all;
  std::vector<Edge> edges;
};
} // namespace

bool nothingCrosses(const Events &log, uint32_t line, Unit unit) {
  return Crossing(log, line, unit).isEmpty();
}

} // namespace tilewright::vgpu::mutation
