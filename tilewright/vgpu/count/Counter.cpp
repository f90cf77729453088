#include "tilewright/vgpu/count/Counter.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/count/AccessModel.h"
#include "tilewright/vgpu/machine/Warp.h"
#include "tilewright/vgpu/ptx/Fragment.h"
#include "tilewright/vgpu/ptx/Module.h"

#include <atomic>
#include <bit>
#include <optional>
#include <tuple>

namespace tilewright::vgpu::count {

using machine::AccessKind;
using machine::AsyncId;
using machine::Grid;
using machine::Group;
using machine::MemoryEvent;
using machine::Program;
using machine::Proxy;
using machine::SyncEvent;
using machine::SyncKind;
using ptx::Handler;
using ptx::Modifier;

/// The counts of one host thread.
struct Counter::Thread {
  std::vector<MemoryCounts> byInstruction;
  std::map<uint32_t, std::map<std::string, uint64_t>> multiplyAdds; // of tcgen05, by instruction
  InFlightOps inFlightOps;
  std::unordered_map<AsyncId, uint64_t> bytes; // of each copy in flight
  uint64_t inFlight = 0, maxInFlight = 0;
  std::optional<Timeline> timeline;
  // Caches the last op that was looked up, because consecutive events often have the same op.
  const machine::Op *lastOp = nullptr;
  uint32_t lastNumber = 0;

  MemoryCounts &at(const machine::Warp &warp, const machine::Op *op) {
    if (op != lastOp) {
      const Program &program = *warp.block->group->grid->program;
      lastNumber = instructionNumber(program, op);
      lastOp = op;
      if (byInstruction.size() <= program.instructionCount)
        byInstruction.resize(program.instructionCount + 1);
    }
    return byInstruction[lastNumber];
  }
};

static uint64_t nextSerial() {
  static std::atomic<uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

Counter::Counter(CounterOptions options) : options(options) {}
Counter::~Counter() = default;

Counter::Thread &Counter::ofThread() {
  // A new counter may have the address of an old one, so the cache compares serial numbers.
  static thread_local std::pair<uint64_t, Thread *> last{0, nullptr};
  if (last.first != serial || !last.second) {
    std::lock_guard lock(mutex);
    std::unique_ptr<Thread> &mine = threads[std::this_thread::get_id()];
    if (!mine) {
      mine = std::make_unique<Thread>();
      if (options.hasTimeline)
        mine->timeline.emplace(*budget);
    }
    last = {serial, mine.get()};
  }
  return *last.second;
}

void Counter::launchBegin(const Grid &) {
  std::lock_guard lock(mutex);
  serial = nextSerial();
  threads.clear();
  instructionCounts.clear();
  budget = std::make_unique<TimelineBudget>(options.maxTimelineEvents);
  result = {};
  timelineText.clear();
}

void Counter::groupBegin(const Group &group) {
  Thread &thread = ofThread();
  thread.inFlightOps.clear();
  thread.bytes.clear();
  thread.inFlight = 0;
  if (thread.timeline)
    thread.timeline->groupBegin(group);
}
void Counter::groupEnd(const Group &group) {
  if (Thread &thread = ofThread(); thread.timeline)
    thread.timeline->groupEnd(group);
}

void Counter::access(const MemoryEvent &event) {
  Thread &thread = ofThread();
  MemoryCounts &counts = thread.at(event.warp, event.op);
  const uint64_t bytes = uint64_t(std::popcount(event.mask)) * event.bytes;
  if (event.async && event.kind != AccessKind::read)
    if (auto it = thread.bytes.find(event.async); it != thread.bytes.end()) {
      it->second += bytes;
      thread.inFlight += bytes;
      thread.maxInFlight = std::max(thread.maxInFlight, thread.inFlight);
    }
  if (thread.timeline)
    thread.timeline->access(event);

  // The lanes of one access may have generic addresses in different state spaces.
  uint32_t shared = 0, local = 0, remote = 0, tensor = 0;
  const uint64_t own = uint64_t(event.warp.block->rank + 1);
  for (uint32_t rest = event.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint64_t window = event.addresses[lane] & machine::windowMask;
    if (window == machine::sharedWindow &&
        (event.addresses[lane] & machine::sharedOffsetMask) >= machine::tensorOffset)
      tensor |= 1u << lane;
    else if (window == machine::sharedWindow)
      ((event.addresses[lane] & 0xff000000u) >> machine::sharedOffsetBits == own ? shared
                                                                                 : remote) |=
          1u << lane;
    else if (window == machine::localWindow)
      local |= 1u << lane;
  }
  const uint32_t global = event.mask & ~(shared | local | remote | tensor);
  auto bytesOf = [&](uint32_t mask) { return uint64_t(std::popcount(mask)) * event.bytes; };
  counts.localBytes += bytesOf(local);
  counts.remoteBytes += bytesOf(remote);
  (event.kind == AccessKind::read ? counts.tensorReadBytes : counts.tensorWriteBytes) +=
      bytesOf(tensor);
  if (event.proxy == Proxy::tensormap)
    return;
  if (event.proxy == Proxy::async) {
    counts.asyncSharedBytes += bytesOf(shared | remote);
    counts.asyncGlobalBytes += bytesOf(global);
    for (uint32_t rest = global; rest != 0; rest &= rest - 1) {
      const uint64_t address = event.addresses[std::countr_zero(rest)];
      counts.asyncGlobalSectors +=
          (address + event.bytes - 1) / sectorBytes - address / sectorBytes + 1;
    }
    return;
  }
  if (global != 0) {
    ++counts.globalRequests;
    (event.kind == AccessKind::read    ? counts.globalReadBytes
     : event.kind == AccessKind::write ? counts.globalWriteBytes
                                       : counts.globalAtomicBytes) += bytesOf(global);
    const AccessCost cost = globalSectors(global, event.addresses, event.bytes);
    counts.globalSectors += cost.actual;
    counts.globalIdealSectors += cost.ideal;
  }
  if (shared != 0) {
    ++counts.sharedRequests;
    (event.kind == AccessKind::read    ? counts.sharedReadBytes
     : event.kind == AccessKind::write ? counts.sharedWriteBytes
                                       : counts.sharedAtomicBytes) += bytesOf(shared);
    const AccessCost cost =
        sharedWavefronts(shared, event.addresses, event.bytes, event.kind == AccessKind::atomic);
    counts.sharedWavefronts += cost.actual;
    counts.sharedIdealWavefronts += cost.ideal;
  }
}

void Counter::multiplied(const machine::Warp &warp, const machine::Op *op, const std::string &types,
                         uint64_t multiplyAdds) {
  Thread &thread = ofThread();
  thread.at(warp, op);
  thread.multiplyAdds[thread.lastNumber][types] += multiplyAdds;
}

void Counter::synchronise(const SyncEvent &event) {
  Thread &thread = ofThread();
  switch (event.kind) {
  case SyncKind::barrierLeave:
    ++thread.at(event.warp, event.op).barrierWaits;
    break;
  case SyncKind::mbarrierWait:
    ++thread.at(event.warp, event.op).mbarrierWaits;
    break;
  case SyncKind::clusterLeave:
    ++thread.at(event.warp, event.op).clusterWaits;
    break;
  case SyncKind::asyncWait:
    ++thread.at(event.warp, event.op).groupWaits;
    break;
  case SyncKind::asyncIssue:
    thread.bytes[event.async] = 0;
    break;
  default:
    break;
  }
  for (AsyncId id : thread.inFlightOps.waitedFor(event))
    if (auto it = thread.bytes.find(id); it != thread.bytes.end()) {
      thread.inFlight -= it->second;
      thread.bytes.erase(it);
    }
  if (thread.timeline)
    thread.timeline->synchronise(event);
}

void Counter::instructionsCounted(const Grid &, std::span<const machine::InstructionCount> counts) {
  std::lock_guard lock(mutex);
  instructionCounts.resize(std::max(instructionCounts.size(), counts.size()));
  for (size_t i = 0; i < counts.size(); ++i) {
    instructionCounts[i].first += counts[i].warps;
    instructionCounts[i].second += counts[i].threads;
  }
}

// The report.

/// The type and number of multiply-adds of a matrix instruction in one warp; empty if it is not a
/// matrix instruction.
static std::pair<std::string, uint64_t> multiplyAddsOf(const ptx::Instruction &instruction) {
  const Handler handler = ptx::rowOf(instruction).handler;
  const bool isGroup = handler == Handler::wgmma || handler == Handler::wgmmaSparse;
  if (!isGroup && handler != Handler::mma && handler != Handler::mmaSparse &&
      handler != Handler::wmmaMma)
    return {};
  const ptx::Shape shape = ptx::shapeOf(instruction.find(ptx::ModifierKind::shape));
  // Each warp of a warpgroup computes 16 of the 64 rows.
  uint64_t count = uint64_t(isGroup ? shape.m / 4 : shape.m) * shape.n * shape.k;
  Modifier d = instruction.type(0), a = instruction.type(1), b = instruction.type(2);
  if (b == Modifier::none) // wmma.mma of f16 only names the types of D and C
    a = b = Modifier::f16;
  // m8n8k4 of f16 (Volta) computes four products, one in each quad pair.
  if (shape.m == 8 && shape.k == 4 && a == Modifier::f16)
    count *= 4;
  return {concat(ptx::spellingOf(a), '*', ptx::spellingOf(b), '+', ptx::spellingOf(d)), count};
}

void Counter::launchEnd(const Grid &grid) {
  std::lock_guard lock(mutex);
  const Program &program = *grid.program;
  const ptx::Module &module = *program.module;
  result.kernel = program.entry().name;
  result.chip = grid.chip->name;
  result.grid = grid.grid;
  result.block = grid.block;
  result.cluster = grid.cluster;
  instructionCounts.resize(program.instructionCount);
  std::map<std::pair<std::string, uint32_t>, Counts> lines;
  for (uint32_t number = 0; number < program.instructionCount; ++number) {
    const ptx::Instruction &instruction = instructionAt(program, number);
    Counts counts;
    std::tie(counts.warpInstructions, counts.threadInstructions) = instructionCounts[number];
    const ptx::InstructionClass klass = ptx::rowOf(instruction).klass;
    counts.byClass[static_cast<size_t>(klass)] = counts.warpInstructions;
    if (const auto [type, each] = multiplyAddsOf(instruction);
        each != 0 && counts.warpInstructions != 0)
      counts.multiplyAdds[type] = each * counts.warpInstructions;
    for (const auto &[id, thread] : threads) {
      if (number < thread->byInstruction.size())
        counts.memory.add(thread->byInstruction[number]);
      if (auto found = thread->multiplyAdds.find(number); found != thread->multiplyAdds.end())
        for (const auto &[types, count] : found->second)
          counts.multiplyAdds[types] += count;
    }
    if (counts.warpInstructions == 0)
      continue;
    std::pair<std::string, uint32_t> sourceLine("", instruction.position.line);
    if (instruction.location != ptx::noIndex) {
      const ptx::SourceLocation &location = module.locations[instruction.location];
      for (const ptx::SourceFile &file : module.files)
        if (file.number == location.file && location.line != 0)
          sourceLine = {std::string(module.name(file.name)), location.line};
    }
    lines[sourceLine].add(counts);
    result.total.add(counts);
  }
  for (auto &[sourceLine, counts] : lines)
    result.lines.push_back({sourceLine.first, sourceLine.second, std::move(counts)});
  for (const auto &[id, thread] : threads)
    result.maxBytesInFlight = std::max(result.maxBytesInFlight, thread->maxInFlight);
  if (options.hasTimeline) {
    std::vector<const Timeline *> timelines;
    for (const auto &[id, thread] : threads)
      timelines.push_back(&*thread->timeline);
    timelineText = Timeline::toJson(
        timelines,
        concat(result.kernel, ", grid ", listed(result.grid), ", block ", listed(result.block)),
        budget->left.load() >= 0);
  }
}

} // namespace tilewright::vgpu::count
