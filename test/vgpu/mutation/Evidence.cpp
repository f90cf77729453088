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
    collect();
    if (!isSimple)
      return false;
    std::sort(all.begin(), all.end(),
              [](const Seen &a, const Seen &b) { return a.begin < b.begin; });
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t k = i + 1; k < all.size() && all[k].begin < all[i].end; ++k)
        if (!look(all[i], all[k]))
          return false;
    for (const Edge &edge : edges)
      for (const Seen &one : all)
        if (one.hasOutsider && one.thread != edge.thread && one.thread.meets(edge.thread, unit) &&
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
    for (const Logged &event : log) {
      if (event.isAccess && event.async != 0)
        accesses[event.async].push_back(&event);
      if (!event.isAccess && event.async != 0 &&
          (event.sync == SyncKind::mbarrierComplete || event.sync == SyncKind::mbarrierArrive))
        completes[{event.object, event.phase}].push_back(event.async);
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
        // Barriers of a part of the block are another matter.
        isSimple = isSimple && (unit != Unit::block || event.object == 0);
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
  bool isSimple = true;
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

/// Whether every address that line `line` accesses is only accessed by one block.
static bool isOfOneBlock(const Events &log, uint32_t line) {
  std::set<uint32_t> blocks;
  for (const Logged &at : log)
    if (at.isAccess && at.line == line)
      for (const Logged::Range &range : at.ranges)
        for (const Logged &other : log)
          if (other.isAccess)
            for (const Logged::Range &touched : other.ranges)
              if (overlaps(range, touched) && other.block != at.block)
                return false;
  return true;
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
      for (const Logged &own : log) {
        if (!own.isAccess || own.async != id)
          continue;
        for (size_t k = waited; k < covered; ++k) {
          const Logged &other = log[k];
          if (!other.isAccess || !conflicts(own, other))
            continue;
          for (const Logged::Range &a : own.ranges)
            for (const Logged::Range &b : other.ranges)
              if (overlaps(a, b))
                return false;
        }
      }
    }
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
  for (size_t i = 0; i < log.size(); ++i) {
    const Logged &wait = log[i];
    if (wait.isAccess || wait.line != line || wait.sync != SyncKind::asyncWait)
      continue;
    for (const AsyncId id : wait.operations)
      for (const Logged &own : log)
        if (own.isAccess && own.async == id && own.access != AccessKind::read)
          for (size_t k = i; k < log.size(); ++k)
            if (log[k].isAccess && conflicts(own, log[k]))
              for (const Logged::Range &a : own.ranges)
                for (const Logged::Range &b : log[k].ranges)
                  if (overlaps(a, b))
                    return false;
  }
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

std::string whyBenign(const Events &log, const Mutant &mutant) {
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
  if (is({"scope mbarrier.try_wait"}) && ownBlockArrives(log, line))
    return "all who arrive for the phase are of the same block, and bytes of copies are seen by "
           "whoever waits";
  if (what.starts_with("delete ") && what.ends_with("commit_group") &&
      laterWaitCovers(log, line, SyncKind::asyncCommit))
    return "a later wait covers its operations before anything conflicts with them, or it has none";
  if ((what.starts_with("delete ") || what.starts_with("later ")) && what.ends_with("wait_group") &&
      laterWaitCovers(log, line, SyncKind::asyncWait))
    return "a later wait covers its operations before anything conflicts with them, or it has none";
  if (is({"delete mbarrier.arrive", "relax mbarrier.arrive"}) && arrivesForNobody(log, line))
    return "nobody waits for the phase that it counts for";
  if (is({"read cp.async.bulk.wait_group"}) && nobodyReadsBack(log, line))
    return "nobody accesses what was written before the kernel ends";
  if (is({"delete fence.mbarrier_init"}) && proxyFenceFollows(log, line))
    return "fence.proxy.async of the same thread follows before anybody knows of the mbarrier";
  if (is({"delete fence.mbarrier_init"}) && releaseFollows(log, line))
    return "no copy uses the mbarrier, and the barrier of the cluster releases";
  if (is({"delete wgmma.fence"}) && registersAreUntouched(mutant))
    return "no other instruction touched its registers since the fence before";
  return "";
}

} // namespace tilewright::vgpu::mutation
