#include "Ordered.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <tuple>
#include <unordered_map>

namespace tilewright::vgpu::mutation {

using machine::AccessKind;
using machine::AsyncId;
using machine::GroupKind;
using machine::Order;
using machine::Scope;
using machine::SyncKind;

namespace {
using Warp = std::pair<uint32_t, uint32_t>; // block, warp

Warp warpOf(const Logged &event) { return {event.block, event.warp}; }

/// Accesses with the same ordering: those of lanes of a warp between two synchronising events, or
/// those of one operation to the shared memory of one block.
struct Source {
  Warp warp;
  uint32_t lanes;
  size_t from;       // the next synchronising event, by index among those
  AsyncId operation; // 0: the lanes themselves
  uint64_t rank;     // of the block whose memory an operation accesses; 0: global memory
  bool isLaneByLane; // each lane has its own part of the operation (cp.async)
  bool isWrite;
  auto operator<=>(const Source &) const = default;
};

/// Follows one source forward: which lanes know that its accesses are complete.
class Walk {
public:
  Walk(const Events &log, const std::vector<size_t> &synchronising,
       const std::map<AsyncId, std::vector<AsyncId>> &after, const Source &source, bool isStrict)
      : log(log), synchronising(synchronising), after(after), source(source), isStrict(isStrict) {
    if (source.operation == 0) {
      done = source.lanes;
      if (std::has_single_bit(done))
        know(source.warp, done);
    }
  }

  /// Lanes of `warp` that know it before event `at` of the log. Call with increasing `at`.
  uint32_t knowing(const Warp &warp, size_t at) {
    for (; next < synchronising.size() && synchronising[next] < at; ++next)
      if (next >= source.from)
        step(log[synchronising[next]]);
    auto found = known.find(warp);
    return found == known.end() ? 0 : found->second;
  }

private:
  void know(const Warp &warp, uint32_t lanes) { known[warp] |= lanes; }
  /// Whether threads that wait for `event` then know that the source is complete: a lane of the
  /// event knew it, or all lanes of the source have reached the event, which `told` collects.
  bool tells(const Logged &event, uint32_t &told) {
    auto found = known.find(warpOf(event));
    if (found != known.end() && (found->second & event.mask))
      return true;
    if (warpOf(event) == source.warp)
      told |= event.mask & done;
    return told == source.lanes;
  }
  /// Marks the part of these lanes of the source as complete.
  void finish(uint32_t lanes) {
    done |= lanes & source.lanes;
    if (std::has_single_bit(source.lanes) && done == source.lanes)
      know(source.warp, done);
  }

  /// Processes a strong access: an acquiring read takes over what the releasing write has
  /// published. The log has accesses in execution order, so a read sees the last write.
  void flag(const Logged &event) {
    const bool reads = event.access != AccessKind::write, writes = event.access != AccessKind::read;
    const bool isBoth = event.order == Order::acquireRelease || event.order == Order::sequential;
    const bool isWide = event.scope != Scope::cta;
    for (const Logged::Range &range : event.ranges) {
      const uint32_t lane = uint32_t(1) << range.lane;
      auto found = flags.find(range.begin);
      if (reads && (isBoth || event.order == Order::acquire) && found != flags.end() &&
          ((found->second.isWide && isWide) || found->second.block == event.block))
        know(warpOf(event), lane);
      if (!writes)
        continue;
      if ((isBoth || event.order == Order::release) && (known[warpOf(event)] & lane))
        flags[range.begin].tell(true, isWide, event.block);
      else if (!reads && found != flags.end())
        flags.erase(found); // overwritten; atomic operations continue the release sequence
    }
  }
  void step(const Logged &event) {
    if (event.isAccess)
      return flag(event);
    switch (event.sync) {
    case SyncKind::barrierArrive: {
      Rendezvous &rendezvous = barriers[{event.block, event.object, event.phase}];
      rendezvous.isTold = rendezvous.isTold || tells(event, rendezvous.lanes);
      break;
    }
    case SyncKind::barrierLeave:
      if (barriers[{event.block, event.object, event.phase}].isTold)
        know(warpOf(event), event.mask);
      break;
    case SyncKind::warpBarrier: {
      uint32_t lanes = 0;
      if (tells(event, lanes))
        know(warpOf(event), event.mask);
      break;
    }
    case SyncKind::clusterArrive: {
      Rendezvous &rendezvous = clusters[{event.cluster, event.phase}];
      if (event.order != Order::relaxed)
        rendezvous.isTold = rendezvous.isTold || tells(event, rendezvous.lanes);
      break;
    }
    case SyncKind::clusterLeave:
      if (clusters[{event.cluster, event.phase}].isTold)
        know(warpOf(event), event.mask);
      break;
    case SyncKind::mbarrierInit:
      mbarriers.erase(event.object);
      break;
    case SyncKind::mbarrierArrive: {
      Rendezvous &rendezvous = mbarriers[event.object][event.phase];
      const bool isWide = event.scope != Scope::cta;
      bool told = false;
      if (commits.count(event.async)) {
        // A commit arrives after the products, and they come after what their thread knew.
        told = isPartOf(event.async) || event.async == source.operation || commits[event.async];
      } else if (event.async != 0) { // cp.async.mbarrier.arrive: for copies only
        told = (isPartOf(event.async) || event.async == source.operation) &&
               (rendezvous.lanes |= event.mask & source.lanes) == source.lanes;
      } else if (event.order != Order::relaxed) {
        told = tells(event, rendezvous.lanes);
      }
      rendezvous.tell(told, isWide, event.block);
      break;
    }
    case SyncKind::mbarrierComplete:
      if (event.async == source.operation && source.operation != 0 && source.rank != 0 &&
          rankPart(event.object) == source.rank)
        mbarriers[event.object][event.phase].tell(true, true, event.block);
      break;
    case SyncKind::mbarrierWait:
      if (event.order != Order::relaxed)
        for (const auto &[phase, rendezvous] : mbarriers[event.object])
          if (phase <= event.phase && rendezvous.isTold &&
              ((rendezvous.isWide && event.scope != Scope::cta) || rendezvous.block == event.block))
            know(warpOf(event), event.mask);
      break;
    case SyncKind::asyncIssue:
      if (event.group == GroupKind::tensorCommit)
        commits[event.async] = (known[warpOf(event)] & event.mask) == event.mask;
      break;
    case SyncKind::tensorUse: // an instruction that uses the registers waits for them
    case SyncKind::asyncWait:
      if (source.operation == 0 || (event.sync == SyncKind::tensorUse && isStrict) ||
          std::find(event.operations.begin(), event.operations.end(), source.operation) ==
              event.operations.end() ||
          (event.isReadOnly && source.isWrite))
        break;
      if (event.group == GroupKind::matrix)
        know(warpOf(event), event.mask);
      else if (source.isLaneByLane)
        finish(event.mask);
      else if (warpOf(event) == source.warp)
        know(source.warp, event.mask & source.lanes);
      break;
    default:
      break;
    }
  }
  bool isPartOf(AsyncId arrival) const {
    auto found = after.find(arrival);
    return found != after.end() && std::find(found->second.begin(), found->second.end(),
                                             source.operation) != found->second.end();
  }

  struct Rendezvous {
    uint32_t lanes = 0; // lanes of the source that have arrived
    bool isTold = false, isWide = false;
    uint32_t block = 0;
    void tell(bool told, bool wide, uint32_t by) {
      if (told && (!isTold || wide)) {
        isTold = true;
        isWide = wide;
        block = by;
      }
    }
  };

  const Events &log;
  const std::vector<size_t> &synchronising;
  const std::map<AsyncId, std::vector<AsyncId>> &after;
  const Source &source;
  const bool isStrict;
  size_t next = 0;
  uint32_t done = 0; // lanes of the source whose accesses are complete
  std::map<Warp, uint32_t> known;
  std::map<std::tuple<uint32_t, uint64_t, uint64_t>, Rendezvous> barriers;
  std::map<std::pair<uint32_t, uint64_t>, Rendezvous> clusters;
  std::map<uint64_t, std::map<uint64_t, Rendezvous>> mbarriers;
  std::map<AsyncId, bool> commits; // tcgen05.commit: whether its thread knew the source
  std::unordered_map<uint64_t, Rendezvous> flags; // by address
};

/// An access that must be ordered after a source: by these lanes, or by an operation that they
/// issue.
struct Target {
  size_t at;
  Warp warp;
  uint32_t lanes;
  auto operator<=>(const Target &) const = default;
};

class Conflicts {
public:
  Conflicts(const Events &log, bool isStrict)
      : log(log), after(operationsBefore(log)), isStrict(isStrict) {}

  bool areOrdered() {
    collect();
    findNext();
    std::sort(all.begin(), all.end(),
              [](const ByteAccess &a, const ByteAccess &b) { return a.begin < b.begin; });
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t k = i + 1; k < all.size() && all[k].begin < all[i].end; ++k)
        note(all[i].at < all[k].at ? all[i] : all[k], all[i].at < all[k].at ? all[k] : all[i]);
    for (auto &[source, targets] : wanted) {
      Walk walk(log, synchronising, after, source, isStrict);
      std::vector<Target> sorted;
      for (const auto &[key, at] : targets)
        sorted.push_back({at, key.first, key.second});
      std::sort(sorted.begin(), sorted.end());
      for (const Target &target : sorted)
        if ((walk.knowing(target.warp, target.at) & target.lanes) != target.lanes)
          return false;
    }
    return true;
  }

private:
  struct ByteAccess {
    uint64_t begin, end;
    AccessKind kind;
    uint32_t lane;
    size_t at;
    uint64_t stored = 0;
  };
  void collect() {
    for (size_t i = 0; i < log.size(); ++i) {
      const Logged &event = log[i];
      if (event.isAccess) {
        for (const Logged::Range &range : event.ranges)
          all.push_back({range.begin, range.end, event.access, range.lane, i, range.stored});
        if (event.order != Order::weak && event.async == 0)
          synchronising.push_back(i);
        continue;
      }
      synchronising.push_back(i);
      if (event.sync == SyncKind::asyncIssue)
        issues[event.async] = i;
      // Using an mbarrier is an access to it, for threads and operations alike.
      const bool isWrite =
          event.sync == SyncKind::mbarrierInit || event.sync == SyncKind::mbarrierInvalidate;
      if (isWrite || event.sync == SyncKind::mbarrierArrive ||
          event.sync == SyncKind::mbarrierExpect || event.sync == SyncKind::mbarrierComplete ||
          event.sync == SyncKind::mbarrierWait || event.sync == SyncKind::mbarrierPass)
        for (uint32_t rest = event.async != 0 ? 1 : event.mask; rest != 0; rest &= rest - 1)
          all.push_back({event.object, event.object + 8,
                         isWrite ? AccessKind::write : AccessKind::atomic,
                         static_cast<uint32_t>(std::countr_zero(rest)), i});
    }
  }
  void findNext() {
    for (size_t i = 0; i < synchronising.size(); ++i)
      indices[synchronising[i]] = i;
    next.resize(log.size());
    std::map<Warp, size_t> coming;
    for (size_t i = log.size(); i-- > 0;) {
      auto found = coming.find(warpOf(log[i]));
      next[i] = found == coming.end() ? synchronising.size() : found->second;
      if (auto index = indices.find(i); index != indices.end())
        coming[warpOf(log[i])] = index->second;
    }
  }
  bool isLaneByLane(const Logged &event) const {
    auto issue = issues.find(event.async);
    return issue != issues.end() && log[issue->second].group == GroupKind::copy;
  }
  bool isProduct(const Logged &event) const {
    auto issue = issues.find(event.async);
    return issue != issues.end() && log[issue->second].group == GroupKind::tensor;
  }
  void note(const ByteAccess &first, const ByteAccess &second) {
    const Logged &a = log[first.at], &b = log[second.at];
    const bool areAlike = first.kind == second.kind && first.kind != AccessKind::write;
    if (first.at == second.at || (a.async != 0 && a.async == b.async))
      return;
    // The unit performs a thread's tcgen05 operations in their order.
    if (isProduct(a) && isProduct(b) && warpOf(a) == warpOf(b) &&
        log[issues.at(a.async)].mask == log[issues.at(b.async)].mask)
      return;
    // For atomic accesses to memory the scopes decide, below.
    if (areAlike && (first.kind == AccessKind::read || !a.isAccess || a.async != 0 || b.async != 0))
      return;
    // It does not matter which of two equal values remains.
    if (first.stored != 0 && first.stored == second.stored && first.begin == second.begin &&
        first.end == second.end)
      return;
    // Strong accesses do not race with each other if the scope of each includes the other thread.
    auto reaches = [](const Logged &one, const Logged &other) {
      return one.order != Order::weak && one.async == 0 &&
             (one.block == other.block ||
              (one.scope != Scope::cta &&
               (one.scope != Scope::cluster || one.cluster == other.cluster)));
    };
    if (a.isAccess && b.isAccess && reaches(a, b) && reaches(b, a))
      return;
    if (a.async == 0 && b.async == 0 && warpOf(a) == warpOf(b) && first.lane == second.lane)
      return;
    const bool isShare = isLaneByLane(a);
    const uint32_t lanes = a.async == 0 || isShare ? uint32_t(1) << first.lane
                           : issues.count(a.async) ? log[issues.at(a.async)].mask
                                                   : a.mask;
    // An operation may access memory until it is waited for, so everything after its issue counts.
    const Source source{warpOf(a),
                        lanes,
                        a.async == 0 ? next[first.at] : issueOf(first.at),
                        a.async,
                        a.async != 0 && isShared(first.begin) ? rankPart(first.begin) : 0,
                        isShare,
                        first.kind != AccessKind::read};
    uint32_t lanesAfter = uint32_t(1) << second.lane;
    size_t at = second.at;
    if (b.async != 0) {
      at = issues.count(b.async) ? issues.at(b.async) : second.at;
      if (!isLaneByLane(b))
        lanesAfter = issues.count(b.async) ? log[at].mask : b.mask;
    }
    auto [target, isNew] = wanted[source].try_emplace({warpOf(b), lanesAfter}, at);
    target->second = std::min(target->second, at);
  }
  size_t issueOf(size_t at) const {
    auto found = issues.find(log[at].async);
    return found == issues.end() ? next[at] : indices.at(found->second);
  }

  const Events &log;
  std::vector<ByteAccess> all;
  std::vector<size_t> synchronising;
  std::unordered_map<size_t, size_t> indices; // index of each synchronising event among those
  /// For each event: the index of the same warp's next synchronising event. Accesses before it have
  /// the same ordering.
  std::vector<size_t> next;
  const std::map<AsyncId, std::vector<AsyncId>> after;
  const bool isStrict;
  std::unordered_map<AsyncId, size_t> issues;
  std::map<Source, std::map<std::pair<Warp, uint32_t>, size_t>> wanted;
};
} // namespace

bool everyConflictIsOrdered(const Events &log, bool isStrict) {
  return Conflicts(log, isStrict).areOrdered();
}

} // namespace tilewright::vgpu::mutation
