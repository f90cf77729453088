#include "Crossing.h"
#include "Ordered.h"
#include "Registers.h"

#include "tilewright/vgpu/machine/Warp.h"
#include "tilewright/vgpu/machine/memory/Memory.h"
#include "tilewright/vgpu/ptx/Module.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace tilewright::vgpu::mutation {

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

/// Adds the cluster to a shared address, so that equal addresses mean the same memory.
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
    uint64_t stored = 0;
    if (event.values && event.kind == AccessKind::write) {
      stored = 1469598103934665603U;
      for (uint64_t i = 0; i < event.bytes; ++i)
        stored = (stored ^ static_cast<uint64_t>(event.values->at(lane, i))) * 1099511628211U;
      stored |= 1;
    }
    logged.ranges.push_back({lane, first, first + event.bytes, stored});
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
  logged.isReadOnly = event.isReadOnly;
  const bool isAddress =
      event.kind != SyncKind::barrierArrive && event.kind != SyncKind::barrierLeave;
  logged.object = isAddress ? unique(event.warp, event.object) : event.object;
  logged.phase = event.phase;
  logged.count = event.count;
  logged.operations.assign(event.operations.begin(), event.operations.end());
  events.push_back(std::move(logged));
}

/// Whether each access to another block's memory is a copy that the owning block waits for, and
/// each of a block's own copies is waited for, so that no block exits while its memory is accessed.
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
      // Arriving at another block's mbarrier is an access to that block's memory.
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
/// A set of memory ranges that can be searched for overlaps.
class Ranges {
public:
  void add(const Logged::Range &range, size_t event) {
    all.push_back({range, event});
    for (uint64_t part = range.begin / partBytes; part <= (range.end - 1) / partBytes; ++part)
      byPart[part].push_back(all.size() - 1);
  }
  /// Adds the ranges of the accesses for which `holds` is true.
  template <typename Holds> static Ranges ofAccesses(const Events &log, Holds holds) {
    Ranges ranges;
    for (size_t i = 0; i < log.size(); ++i)
      if (log[i].isAccess && holds(log[i]))
        for (const Logged::Range &range : log[i].ranges)
          ranges.add(range, i);
    return ranges;
  }
  static Ranges ofLine(const Events &log, uint32_t line) {
    return ofAccesses(log, [&](const Logged &access) { return access.line == line; });
  }
  /// Whether an access of the log overlaps a range for whose event `holds(event, access)` is true.
  template <typename Holds> bool anyAccess(const Events &log, Holds holds) const {
    for (const Logged &other : log)
      if (other.isAccess)
        for (const Logged::Range &touched : other.ranges)
          if (any(touched, [&](size_t i) { return holds(log[i], other); }))
            return true;
    return false;
  }
  /// Whether a range overlaps for whose event `holds` is true.
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

/// Whether no other block writes what line `line` accesses, or accesses what it writes.
static bool isOfOneBlock(const Events &log, uint32_t line) {
  return !Ranges::ofLine(log, line).anyAccess(log, [](const Logged &own, const Logged &other) {
    return own.block != other.block &&
           (own.access != AccessKind::read || other.access != AccessKind::read);
  });
}

/// Whether blocks share memory only through strong accesses.
static bool blocksAreApart(const Events &log) {
  auto isWeak = [](const Logged &access) {
    return access.order == Order::weak || access.async != 0;
  };
  return !Ranges::ofAccesses(log, isWeak)
              .anyAccess(log, [](const Logged &own, const Logged &other) {
                return own.block != other.block && conflicts(own, other);
              });
}

/// Whether in each block a single thread accesses the memory that `line` accesses.
static bool isOfOneThreadOfABlock(const Events &log, uint32_t line) {
  const Ranges ranges = Ranges::ofLine(log, line);
  std::map<uint32_t, std::set<std::pair<uint32_t, uint32_t>>> threads;
  for (const Logged &other : log)
    if (other.isAccess)
      for (const Logged::Range &touched : other.ranges)
        if (ranges.any(touched, [](size_t) { return true; }))
          threads[other.block].emplace(other.warp, touched.lane);
  return std::all_of(threads.begin(), threads.end(),
                     [](const auto &one) { return one.second.size() == 1; });
}

/// Whether one thread of the whole launch accesses the memory that `line` accesses.
static bool isOfOneThread(const Events &log, uint32_t line) {
  std::set<uint32_t> blocks;
  for (const Logged &event : log)
    if (event.isAccess && event.line == line)
      blocks.insert(event.block);
  return blocks.size() <= 1 && isOfOneBlock(log, line) && isOfOneThreadOfABlock(log, line);
}

/// Whether nothing conflicts with the operations that `line` commits or waits for until a later
/// wait for all groups covers them anyway. The log does not contain registers: for wgmma, the
/// caller must know that they rest until that wait.
static bool laterWaitCovers(const Events &log, uint32_t line, SyncKind kind, bool registersRest) {
  std::set<std::pair<uint64_t, uint64_t>> awaited; // phases of mbarriers
  for (const Logged &event : log)
    if (!event.isAccess && event.sync == SyncKind::mbarrierWait)
      awaited.emplace(event.object, event.phase);
  for (size_t i = 0; i < log.size(); ++i) {
    const Logged &at = log[i];
    if (at.isAccess || at.line != line || at.sync != kind)
      continue;
    if (at.group == GroupKind::matrix && !at.operations.empty() && !registersRest)
      return false;
    // Without this group, a wait that leaves N groups pending leaves other groups.
    if (kind == SyncKind::asyncCommit)
      for (size_t k = i; k < log.size(); ++k)
        if (!log[k].isAccess && log[k].sync == SyncKind::asyncWait && log[k].count != 0 &&
            log[k].block == at.block && log[k].warp == at.warp && log[k].group == at.group)
          return false;
    for (const AsyncId id : at.operations) {
      // Where the operation was waited for, and where it will be without that wait. Without any
      // wait, its registers or its block's memory may be released too early.
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
      for (size_t k = waited; k < covered; ++k) {
        if (log[k].isAccess)
          for (const Logged::Range &range : log[k].ranges)
            if (own.any(range, [&](size_t one) { return conflicts(log[one], log[k]); }))
              return false;
        // A signal by which another thread could learn that the operation's memory is free.
        if (!log[k].isAccess && log[k].block == at.block && log[k].warp == at.warp &&
            log[k].group == GroupKind::none &&
            !((log[k].sync == SyncKind::mbarrierArrive || log[k].sync == SyncKind::mbarrierPhase) &&
              !awaited.count({log[k].object, log[k].phase})))
          return false;
      }
    }
  }
  return true;
}

/// Whether every wait for groups still covers at least the same operations if the commits or waits
/// at `line` are removed, or if its waits leave one more group pending (`extra`).
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
    // Each thread has its own groups; here all threads of a warp have the same ones.
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

/// Whether, before fence `at` of the log, each of these warps has executed an equal fence on
/// another line, and since then has accessed no memory and learned of no access, except by barriers
/// of the block if `passesBarriers`.
static bool areFenced(const Events &log, size_t at, std::set<uint32_t> warps, bool passesBarriers) {
  const Logged &fence = log[at];
  auto isNeutral = [&](const Logged &event) {
    switch (event.sync) {
    case SyncKind::barrierArrive:
    case SyncKind::barrierLeave:
    case SyncKind::warpBarrier:
    case SyncKind::mbarrierArrive:
    case SyncKind::mbarrierPhase:
    case SyncKind::mbarrierComplete:
      return passesBarriers;
    case SyncKind::wgmmaFence:
    case SyncKind::asyncIssue:
      return true;
    default:
      return event.group == GroupKind::matrix;
    }
  };
  for (size_t k = at; k-- > 0 && !warps.empty();) {
    const Logged &event = log[k];
    if (event.block != fence.block || !warps.count(event.warp))
      continue;
    if (event.isAccess) {
      if (event.async == 0)
        return false;
      continue; // an operation of its own proxy
    }
    if (event.sync == SyncKind::proxyFence && event.proxy == fence.proxy &&
        event.space == fence.space && (fence.mask & ~event.mask) == 0) {
      if (event.line != fence.line)
        warps.erase(event.warp);
    } else if (!isNeutral(event)) {
      return false;
    }
  }
  return warps.empty();
}

/// Whether an equal fence covers all that the one at `line` could: by the same warp, or, if there
/// is a barrier between them, by all warps of the block.
static bool fenceIsRepeated(const Events &log, uint32_t line) {
  std::map<uint32_t, std::set<uint32_t>> warps; // by block
  for (const Logged &event : log)
    warps[event.block].insert(event.warp);
  for (size_t i = 0; i < log.size(); ++i)
    if (!log[i].isAccess && log[i].line == line && log[i].sync == SyncKind::proxyFence &&
        !areFenced(log, i, {log[i].warp}, false) && !areFenced(log, i, warps[log[i].block], true))
      return false;
  return true;
}

static bool arrivalIsNotWaitedFor(const Events &log, uint32_t line) {
  for (const Logged &arrival : log)
    if (!arrival.isAccess && arrival.line == line && arrival.sync == SyncKind::mbarrierArrive)
      for (const Logged &wait : log)
        if (!wait.isAccess && wait.sync == SyncKind::mbarrierWait &&
            wait.object == arrival.object && wait.phase >= arrival.phase)
          return false;
  return true;
}

/// Whether no access conflicts with what the operations that `line` waits for have written.
static bool writesAreNotReadBack(const Events &log, uint32_t line) {
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

enum class Search { goOn, found, failed };

/// Whether after each event of `kind`, on any line or only on `line`, the events that follow lead
/// to one for which `step(begin, event)` is found, before one for which it has failed.
template <typename Step>
static bool eachLeadsTo(const Events &log, SyncKind kind, std::optional<uint32_t> line, Step step) {
  for (size_t i = 0; i < log.size(); ++i) {
    if (log[i].isAccess || log[i].sync != kind || (line && log[i].line != *line))
      continue;
    Search search = Search::goOn;
    for (size_t k = i + 1; k < log.size() && search == Search::goOn; ++k)
      search = step(log[i], log[k]);
    if (search != Search::found)
      return false;
  }
  return true;
}

/// Whether `event` is a synchronisation by the warp of `begin`.
static bool isOfSameWarp(const Logged &begin, const Logged &event) {
  return !event.isAccess && event.block == begin.block && event.warp == begin.warp;
}

/// Whether the thread that executes the fence at `line` also executes fence.proxy.async, or the
/// same fence for other mbarriers, before another thread can observe the initialisation.
static bool fenceFollows(const Events &log, uint32_t line) {
  return eachLeadsTo(
      log, SyncKind::mbarrierInitFence, line, [&](const Logged &begin, const Logged &event) {
        if (!isOfSameWarp(begin, event) || !(event.mask & begin.mask))
          return Search::goOn;
        switch (event.sync) {
        case SyncKind::proxyFence:
          return event.proxy == Proxy::async ? Search::found : Search::goOn;
        case SyncKind::mbarrierInitFence:
          return event.line != line && (begin.mask & ~event.mask) == 0 ? Search::found
                                                                       : Search::goOn;
        case SyncKind::barrierArrive:
        case SyncKind::clusterArrive:
        case SyncKind::warpBarrier:
        case SyncKind::asyncIssue:
          return Search::failed;
        default:
          return Search::goOn;
        }
      });
}

/// Whether no copy uses an mbarrier, and the next arrival at the cluster's barrier is a release.
static bool releaseFollows(const Events &log, uint32_t line) {
  for (const Logged &event : log)
    if (!event.isAccess && event.sync == SyncKind::mbarrierComplete)
      return false;
  return eachLeadsTo(log, SyncKind::mbarrierInitFence, line,
                     [](const Logged &begin, const Logged &event) {
                       if (!isOfSameWarp(begin, event) || event.sync != SyncKind::clusterArrive)
                         return Search::goOn;
                       return event.order == Order::release ? Search::found : Search::failed;
                     });
}

/// Whether, since each initialisation before the fence at `line`, the thread has arrived at the
/// cluster's barrier with release semantics, so that the fence comes too late to matter.
static bool releasePrecedes(const Events &log, uint32_t line) {
  return eachLeadsTo(log, SyncKind::mbarrierInit, std::nullopt,
                     [&](const Logged &begin, const Logged &event) {
                       if (!isOfSameWarp(begin, event))
                         return Search::goOn;
                       if (event.sync == SyncKind::clusterArrive && event.order == Order::release)
                         return Search::found;
                       return event.line == line ? Search::failed : Search::goOn;
                     });
}

/// Whether the same warp executes a fence between each initialisation of an mbarrier and line
/// `line`.
static bool initsAreFenced(const Events &log, uint32_t line) {
  return eachLeadsTo(
      log, SyncKind::mbarrierInit, std::nullopt, [&](const Logged &begin, const Logged &event) {
        if (event.line == line)
          return Search::failed;
        return isOfSameWarp(begin, event) && event.sync == SyncKind::mbarrierInitFence
                   ? Search::found
                   : Search::goOn;
      });
}

/// Whether all threads that arrive for the phases that `line` waits for belong to its block.
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

/// Whether no thread waits for a phase of the mbarriers that are initialised at `line`.
static bool isNotWaitedFor(const Events &log, uint32_t line) {
  std::set<uint64_t> objects;
  for (const Logged &event : log)
    if (!event.isAccess && event.sync == SyncKind::mbarrierInit && event.line == line)
      objects.insert(event.object);
  return std::none_of(log.begin(), log.end(), [&](const Logged &event) {
    return !event.isAccess && event.sync == SyncKind::mbarrierWait && objects.count(event.object);
  });
}

/// Whether the wait at `line` only ever waited for the phase before the first one. That phase
/// counts as complete from the beginning, and the log has no event for it.
static bool isOverAlready(const Events &log, uint32_t line) {
  return std::none_of(log.begin(), log.end(), [&](const Logged &event) {
    return !event.isAccess && event.sync == SyncKind::mbarrierWait && event.line == line;
  });
}

/// Whether an instruction tells the observer of each execution.
static bool alwaysTells(const std::string &instruction) {
  return instruction.find("mbarrier.arrive") != std::string::npos ||
         instruction.find("bar.sync") != std::string::npos ||
         instruction.find("barrier.sync") != std::string::npos;
}
static bool isNotExecuted(const Events &log, uint32_t line) {
  return std::none_of(log.begin(), log.end(),
                      [&](const Logged &event) { return event.line == line; });
}

/// Whether the same threads meet at the same barrier a few lines below (`step` 1) or above (-1),
/// with only arithmetic in between and, below, initialisations of mbarriers in memory that was not
/// accessed before.
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
  if (alwaysTells(mutant.before) && isNotExecuted(log, line) && isNotExecuted(late, line))
    return "no thread executes it";
  if (is({"delete bar.sync", "bar.sync to bar.arrive"}) && nothingCrosses(log, line, Unit::block))
    return "no conflicting accesses lie on both sides of it before another barrier, but of threads "
           "that waited for the operation themselves";
  if (is({"delete bar.warp.sync"}) && nothingCrosses(log, line, Unit::warp))
    return "no conflicting accesses lie on both sides of it before another barrier, but of threads "
           "that waited for the operation themselves";
  if (is({"delete barrier.cluster.arrive", "delete barrier.cluster.wait"})) {
    // The other half of the barrier is on another line.
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
    // It is enough that all blocks have started: no shared data has been accessed yet.
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
    return "no other block writes what it accesses, or accesses what it writes";
  if (what.starts_with("split ") && isOfOneThread(log, line))
    return "a single thread accesses the number that it adds to";
  if (is({"relax atom", "relax red", "relax ld", "relax st"}) && blocksAreApart(log) &&
      isOfOneThreadOfABlock(log, line))
    return "blocks share nothing but what they access by strong operations, here by one thread "
           "each";
  if (is({"scope mbarrier.try_wait"}) && ownBlockArrives(log, line))
    return "all threads that arrive for the phase are of the same block, and waiting threads see "
           "the bytes of copies";
  if (what.starts_with("delete ") && what.ends_with("commit_group") &&
      laterWaitCovers(log, line, SyncKind::asyncCommit, registersRestUntilWaits(mutant.text)))
    return "a later wait covers its operations before anything conflicts with them, or it has none";
  if ((what.starts_with("delete ") || what.starts_with("later ")) && what.ends_with("wait_group") &&
      laterWaitCovers(log, line, SyncKind::asyncWait, registersRestUntilWaits(mutant.text)))
    return "a later wait covers its operations before anything conflicts with them, or it has none";
  if (what.ends_with("commit_group") || what.ends_with("wait_group"))
    if ((what.starts_with("delete ") && waitsCoverTheSame(log, line, 0)) ||
        (what.starts_with("later ") && waitsCoverTheSame(log, line, 1)))
      return "every wait covers the same operations without it";
  if (is({"delete fence.proxy.async", "space fence.proxy.async"}) && fenceIsRepeated(log, line))
    return "the same fence precedes it, and nothing was accessed since";
  if (is({"delete mbarrier.arrive", "relax mbarrier.arrive"}) && arrivalIsNotWaitedFor(log, line))
    return "no thread waits for the phase that it counts for";
  if (is({"read cp.async.bulk.wait_group"}) && writesAreNotReadBack(log, line))
    return "no thread accesses the written bytes before the kernel ends";
  if (is({"delete fence.mbarrier_init"}) && fenceFollows(log, line))
    return "another fence of the same thread follows before other threads know of the mbarrier";
  if (is({"delete fence.mbarrier_init"}) && releaseFollows(log, line))
    return "no copy uses the mbarrier, and the barrier of the cluster releases";
  if (is({"delete fence.mbarrier_init"}) && releasePrecedes(log, line))
    return "the barrier of the cluster has released the initialisation before";
  if (is({"count mbarrier.init"}) && isNotWaitedFor(log, line))
    return "no thread waits for a phase of it";
  if (is({"delete mbarrier.try_wait", "relax mbarrier.try_wait"}) && isOverAlready(log, line) &&
      isOverAlready(late, line))
    return "it is only asked for the phase before the first one, or not at all";
  if (is({"delete bar.sync"}) && mutant.before.find('@') == std::string::npos &&
      (sameBarrierIsNear(log, mutant, 1) || sameBarrierIsNear(log, mutant, -1)))
    return "the same threads meet at the same barrier beside it, with nothing in between";
  if (is({"delete wgmma.fence"}) && registersAreFenced(mutant.text))
    return "another fence precedes the next wgmma with registers that an instruction accessed";
  return "";
}

bool haveSameAccesses(const Events &log, const Events &other) {
  auto isSame = [](const Logged &a, const Logged &b) {
    return a.isAccess == b.isAccess && a.line == b.line && a.block == b.block && a.warp == b.warp &&
           a.mask == b.mask && a.access == b.access &&
           std::equal(a.ranges.begin(), a.ranges.end(), b.ranges.begin(), b.ranges.end(),
                      [](const Logged::Range &x, const Logged::Range &y) {
                        return x.lane == y.lane && x.begin == y.begin && x.end == y.end;
                      });
  };
  return !log.empty() && std::equal(log.begin(), log.end(), other.begin(), other.end(), isSame);
}

/// Whether a thread of the block that owns the shared memory waits for every operation on it, so
/// that the operation completes before the memory is released.
static bool memoryOutlivesOperations(const Events &log, bool isStrict) {
  std::set<std::pair<uint64_t, AsyncId>> waited; // by rank of the block in its cluster, plus 1
  std::map<std::pair<uint64_t, uint64_t>, std::vector<std::pair<AsyncId, uint64_t>>> completes;
  const std::map<AsyncId, std::vector<AsyncId>> after = operationsBefore(log);
  for (const Logged &event : log) {
    if (event.isAccess)
      continue;
    const uint64_t own = event.block - event.cluster + 1;
    if (event.sync == SyncKind::asyncIssue && event.group == GroupKind::copy)
      waited.emplace(own, event.async);
    if (event.sync == SyncKind::asyncWait || (event.sync == SyncKind::tensorUse && !isStrict))
      for (const AsyncId id : event.operations)
        waited.emplace(own, id);
    if (event.async != 0 &&
        (event.sync == SyncKind::mbarrierComplete || event.sync == SyncKind::mbarrierArrive)) {
      auto &ids = completes[{event.object, event.phase}];
      ids.emplace_back(event.async, rankPart(event.object));
      if (auto found = after.find(event.async); found != after.end())
        for (const AsyncId id : found->second)
          ids.emplace_back(id, rankPart(event.object));
    }
    if (event.sync == SyncKind::mbarrierWait)
      for (const auto &[id, rank] : completes[{event.object, event.phase}])
        if (rank == own)
          waited.emplace(own, id);
  }
  for (const Logged &event : log) {
    const uint64_t own = event.block - event.cluster + 1;
    if (!event.isAccess) {
      if (event.sync == SyncKind::mbarrierArrive && event.async == 0 &&
          rankPart(event.object) != own)
        return false; // arrives at the mbarrier of another block, which may have exited
      continue;
    }
    for (const Logged::Range &range : event.ranges) {
      if (!isShared(range.begin) || (event.async == 0 && rankPart(range.begin) == own))
        continue;
      if (event.async == 0 || !waited.count({rankPart(range.begin), event.async}))
        return false;
    }
  }
  return true;
}

std::string whyStillOrdered(const Events &log, const Mutant &mutant, bool isStrict) {
  const std::string &what = mutant.mutation;
  // Which arrival then completes a phase depends on the order of execution, so one log is not
  // evidence.
  if (what.starts_with("count ") || what.starts_with("parity "))
    return "";
  // An addition by another thread between the read and the write is lost, however well they are
  // ordered.
  // Nor does order make another buffer's contents right.
  if (what.starts_with("split ") || what.starts_with("alias "))
    return "";
  const bool isFence =
      what.find("fence") != std::string::npos || what.find("membar") != std::string::npos;
  if (isFence || log.empty() || !memoryOutlivesOperations(log, isStrict))
    return "";
  if (what.find("wgmma") != std::string::npos && !registersRestUntilWaits(mutant.text))
    return "";
  if (!everyConflictIsOrdered(log, isStrict))
    return "";
  return "all that conflicts in the mutant is still ordered by other barriers and waits";
}

} // namespace tilewright::vgpu::mutation
