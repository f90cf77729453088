#include "tilewright/vgpu/machine/Launch.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Hex.h"
#include "tilewright/vgpu/machine/Barriers.h"
#include "tilewright/vgpu/machine/Deadlock.h"
#include "tilewright/vgpu/machine/Warp.h"
#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"
#include "tilewright/vgpu/machine/decode/MemoryForms.h"
#include "tilewright/vgpu/machine/memory/MemoryFaults.h"
#include "tilewright/vgpu/machine/tcgen05/TensorMemory.h"
#include "tilewright/vgpu/ptx/Module.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>

namespace tilewright::vgpu::machine {

static Status refuse(std::string message) { return Status(Error::vgpuLaunch, std::move(message)); }

uint64_t Grid::nextId() {
  static std::atomic<uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

static Status checkSizes(const Chip &chip, const Program &program, const Grid &grid,
                         const ptx::Performance &wanted) {
  if (volume(grid.grid) == 0 || volume(grid.block) == 0)
    return refuse(
        concat("grid ", listed(grid.grid), " of blocks ", listed(grid.block), " has no threads"));
  if (grid.grid[0] > Chip::gridX || grid.grid[1] > Chip::gridY || grid.grid[2] > Chip::gridZ)
    return refuse(concat("grid ", listed(grid.grid), " exceeds the limits [", Chip::gridX, ", ",
                         Chip::gridY, ", ", Chip::gridZ, "]"));
  if (volume(grid.block) > Chip::threadsPerBlock || grid.block[0] > Chip::blockX ||
      grid.block[1] > Chip::blockY || grid.block[2] > Chip::blockZ)
    return refuse(concat("block ", listed(grid.block), " exceeds the limits [", Chip::blockX, ", ",
                         Chip::blockY, ", ", Chip::blockZ, "] or ", Chip::threadsPerBlock,
                         " threads"));
  const std::array<uint32_t, 3> &exact = wanted.reqntid, &most = wanted.maxntid;
  auto orOne = [](std::array<uint32_t, 3> dim) {
    for (uint32_t &one : dim)
      one = std::max(one, 1u);
    return dim;
  };
  if (exact[0] && orOne(exact) != grid.block)
    return refuse(concat("the kernel is compiled for blocks of ", listed(orOne(exact)),
                         " (.reqntid), got ", listed(grid.block)));
  if (most[0] && volume(orOne(most)) < volume(grid.block))
    return refuse(concat("the kernel is compiled for at most ", volume(orOne(most)),
                         " threads per block (.maxntid), got ", volume(grid.block)));
  if (grid.sharedBytes > chip.sharedPerBlockOptin)
    return refuse(concat("a block needs ", grid.sharedBytes, " bytes of shared memory (",
                         program.staticSharedBytes, " static), but ", chip.name, " has ",
                         chip.sharedPerBlockOptin));
  const uint64_t blocks = volume(grid.cluster);
  if (grid.explicitCluster && blocks > chip.clusterBlocksNonPortable)
    return refuse(concat("a cluster of ", listed(grid.cluster), " blocks exceeds the maximum of ",
                         chip.clusterBlocksNonPortable, " on ", chip.name));
  for (int i = 0; i < 3; ++i)
    if (grid.grid[i] % grid.cluster[i] != 0)
      return refuse(concat("grid ", listed(grid.grid), " is not a multiple of cluster ",
                           listed(grid.cluster)));
  return Status();
}

/// Parameters that are tensor maps must be aligned to 64 bytes.
static constexpr size_t parameterAlignment = 128;
static std::byte *alignedParameters(Grid &grid) {
  const auto begin = reinterpret_cast<uintptr_t>(grid.parameters.data());
  return reinterpret_cast<std::byte *>((begin + parameterAlignment - 1) &
                                       ~uintptr_t(parameterAlignment - 1));
}

namespace {
/// Decides whether a launch must stop, and collects the locations of its warps. Thread-safe.
class Stopper {
public:
  using Clock = std::chrono::steady_clock;
  Stopper(Grid &grid, const LaunchConfig &config)
      : grid(grid), limit(config.timeLimit), stop(config.stop),
        isUsed(config.timeLimit.count() > 0 || config.stop) {}

  /// Called after each time slice of a warp. Returns true if `group` must stop.
  bool stops(const Group &group) {
    if (!isUsed) [[likely]]
      return false;
    if (!isStopped.load(std::memory_order_relaxed) && !isDue())
      return false;
    isStopped = true;
    {
      std::lock_guard lock(mutex);
      stopped.add(group);
    }
    grid.failed = true; // finish() sets the reason once all threads have reported their places
    return true;
  }
  /// Sets the launch's failure. Called after all of its threads have stopped.
  void finish() {
    if (!isStopped)
      return;
    const std::string &kernel = grid.program->entry().name;
    grid.fail(isInterrupted() ? describeInterrupt(kernel, Clock::now() - begin, stopped)
                              : describeTimeout(kernel, limit, stopped));
  }

private:
  bool isInterrupted() const { return stop && stop->load(std::memory_order_relaxed); }
  bool isDue() const {
    return isInterrupted() || (limit.count() > 0 && Clock::now() - begin >= limit);
  }

  Grid &grid;
  const Clock::duration limit;
  const std::atomic<bool> *const stop;
  const bool isUsed;
  const Clock::time_point begin = Clock::now();
  std::atomic<bool> isStopped = false;
  std::mutex mutex;
  StoppedWarps stopped; // guarded by mutex
};

/// The maximum number of helper threads of a launch: enough for kernels whose blocks wait for each
/// other, which launch a few blocks per multiprocessor.
constexpr size_t maxHelpers = 512;
/// Threads in addition to those of the pool. A GPU's blocks are resident together, so a block that
/// spins may wait for one that has not started here, or for another device that waits for that one.
/// Thread-safe.
class Helpers {
public:
  explicit Helpers(std::function<void()> work) : work(std::move(work)) {}
  ~Helpers() {
    // The helper may in turn add another one.
    for (;;) {
      std::vector<std::thread> some;
      {
        std::lock_guard lock(mutex);
        some.swap(threads);
      }
      if (some.empty())
        return;
      for (std::thread &thread : some)
        thread.join();
    }
  }
  void add() {
    std::lock_guard lock(mutex);
    if (count++ < maxHelpers)
      threads.emplace_back(work);
  }

private:
  const std::function<void()> work;
  std::mutex mutex;
  size_t count = 0;                 // guarded by mutex
  std::vector<std::thread> threads; // guarded by mutex
};

/// If a group of a kernel that may poll has taken this many backward branches without progress, it
/// is assumed to spin. If it is only computing, one more helper does no harm.
constexpr uint64_t stepsOfSpinning = uint64_t(1) << 13;
/// A spinning group yields the processor after this many backward branches: the groups that it
/// waits for may need it.
constexpr int32_t spinQuantum = 1024;

/// Runs groups of blocks one after the other and reuses their memory.
class Executor {
public:
  Executor(Grid &grid, Stopper &stopper, Helpers &helpers, size_t blockCount)
      : grid(grid), stopper(stopper), helpers(helpers) {
    group.grid = &grid;
    group.blocks = std::vector<Block>(blockCount);
    if (grid.isTracked)
      group.async = std::make_shared<AsyncQueue>(group);
    if (grid.isCounted)
      counts.resize(grid.program->instructionCount);
    ranges.fill(grid.validMemory ? ValidRange{} : allOfMemory);
    const auto threads = static_cast<uint32_t>(volume(grid.block));
    for (Block &block : group.blocks) {
      block.group = &group;
      // Allocate at least 64 bytes, so that the limit that the fast path computes is not negative.
      const size_t bytes = std::max(grid.sharedBytes, 64u);
      block.sharedMemory = std::make_unique<std::byte[]>(bytes + 1024 + sharedSlack);
      block.shared = reinterpret_cast<std::byte *>(
          (reinterpret_cast<uintptr_t>(block.sharedMemory.get()) + 1023) & ~uintptr_t(1023));
      block.warps = std::vector<Warp>((threads + 31) / 32);
      for (uint32_t w = 0; w < block.warps.size(); ++w) {
        Warp &warp = block.warps[w];
        warp.block = &block;
        warp.index = w;
        warp.counts = counts.data();
        warp.shared = block.shared;
        warp.ranges = ranges.data();
        warp.sharedBytes = static_cast<uint32_t>(bytes);
        warp.parameters = alignedParameters(grid);
        for (uint32_t lane = 0; lane < 32; ++lane) {
          const uint32_t thread = 32 * w + lane;
          warp.tid[0][lane] = thread % grid.block[0];
          warp.tid[1][lane] = thread / grid.block[0] % grid.block[1];
          warp.tid[2][lane] = thread / (grid.block[0] * grid.block[1]);
        }
      }
    }
  }

  ~Executor() {
    if (grid.isCounted)
      grid.observer->instructionsCounted(grid, counts);
  }

  /// Runs all blocks of the group together: clusters from the one with index `first` on.
  void run(uint64_t first) {
    const uint64_t perCluster = volume(grid.cluster);
    group.clusters.assign(group.blocks.size() / perCluster, {});
    for (size_t i = 0; i < group.blocks.size(); ++i) {
      start(group.blocks[i], i, first + i / perCluster, static_cast<uint32_t>(i % perCluster));
    }
    if (group.async)
      group.async->reset();
    group.random = grid.seed * 0x9e3779b97f4a7c15u + first;
    if (grid.observer)
      beginObserved();
    schedule();
    if (grid.observer)
      grid.observer->groupEnd(group);
    grid.finishedGroups.fetch_add(1, std::memory_order_relaxed);
  }

private:
  void beginObserved() {
    grid.observer->groupBegin(group);
    for (Block &block : group.blocks) {
      SharedReads *reads = grid.observer->sharedReads(block);
      for (Warp &warp : block.warps)
        warp.reads = reads;
    }
  }

  void start(Block &block, size_t index, uint64_t cluster, uint32_t rank) {
    const Dim3 first = grid.firstBlockOf(cluster);
    const Dim3 &size = grid.cluster;
    block.rank = rank;
    block.clusterBase = static_cast<uint32_t>(index - rank);
    block.id = {first[0] + rank % size[0], first[1] + rank / size[0] % size[1],
                first[2] + rank / (size[0] * size[1])};
    block.linear =
        block.id[0] + uint64_t(grid.grid[0]) * (block.id[1] + uint64_t(grid.grid[1]) * block.id[2]);
    block.liveWarps = static_cast<uint32_t>(block.warps.size());
    block.tensor = nullptr;
    for (NamedBarrier &barrier : block.barriers)
      barrier = {};
    const auto threads = static_cast<uint32_t>(volume(grid.block));
    for (Warp &warp : block.warps) {
      const uint32_t left = threads - 32 * warp.index;
      warp.alive = left >= 32 ? ~0u : (1u << left) - 1;
      warp.frame = nullptr;
      warp.clusterGeneration = 0;
      warp.clusterArrived = 0;
      warp.sawNoCluster = false;
      warp.async = nullptr;
      warp.matricesIssued = warp.matricesWaited = 0;
      warp.matrixCommits.clear();
      warp.executed = 0;
      warp.others.clear();
      warp.stop = Stop::quantum;
      const DecodedFunction &entry = grid.program->entry();
      Frame *frame = enterFunction(warp, entry, warp.alive);
      warp.others.push_back({entry.code.data(), frame, warp.alive, Wait::none, 0, 0});
    }
  }

  /// Wakes fragments whose wait has ended. Returns whether any fragment can run.
  static bool hasRunnable(Warp &warp) {
    bool any = false;
    for (Fragment &fragment : warp.others) {
      if ((fragment.wait == Wait::mbarrier && isMbarrierReady(warp, fragment)) ||
          (fragment.wait == Wait::cluster && isClusterReady(warp, fragment)) ||
          (fragment.wait == Wait::matrices && areMatricesIssued(warp, fragment.object)) ||
          (fragment.wait == Wait::tensorMemory && isTensorReady(warp, fragment)))
        fragment.wait = Wait::none;
      any = any || fragment.wait == Wait::none;
    }
    return any;
  }

  /// Runs `warp` for one time slice. Returns false if it cannot run.
  bool runSlice(Warp &warp) {
    if (!hasRunnable(warp))
      return false;
    // With a seed, slices have random lengths, mostly short ones: an error between two accesses
    // appears only if the switch happens exactly there.
    const int32_t quantum =
        grid.seed    ? 1 + static_cast<int32_t>(group.nextRandom() % (1u << group.nextRandom() % 7))
        : isSpinning ? spinQuantum
                     : warpQuantum;
    warp.budget = quantum;
    if (chooseFragment(warp))
      warp.current.pc->run(warp, warp.current.pc, warp.current.frame->registers, warp.current.mask);
    steps += static_cast<uint64_t>(quantum - std::max(warp.budget, 0));
    if (grid.completion == Completion::seeded)
      while (group.nextRandom() % 2 == 0 && group.async->performRandom()) {
      }
    return true;
  }

  /// Schedules the warps round-robin until all have finished, or none can make progress.
  void schedule() {
    warps.clear();
    for (Block &block : group.blocks)
      for (Warp &warp : block.warps)
        warps.push_back(&warp);
    steps = 0;
    bool hasHelp = false;
    uint64_t nextYield = 0; // in steps
    isSpinning = false;
    uint64_t progress = group.progress, finished = grid.finishedGroups;
    for (;;) {
      const uint64_t before = group.progress;
      if (grid.seed)
        for (size_t i = warps.size(); i > 1; --i)
          std::swap(warps[i - 1], warps[group.nextRandom() % i]);
      bool anyRan = false, anyLeft = false;
      for (Warp *warp : warps) {
        if (warp->others.empty())
          continue;
        anyLeft = true;
        // With a random order, also skip some warps, so that other warps run ahead of them.
        if (grid.seed && anyRan && group.nextRandom() % 4 == 0)
          continue;
        if (!runSlice(*warp))
          continue;
        anyRan = true;
        if (stopper.stops(group))
          return;
        if (warp->stop == Stop::fault || grid.failed.load(std::memory_order_relaxed))
          return;
      }
      if (!anyLeft)
        break;
      // A spinning warp may be waiting for an operation in flight.
      if (!anyRan || (group.async && group.progress == before)) {
        const bool hasMore = group.async && group.async->performNext();
        if (grid.failed.load(std::memory_order_relaxed))
          return;
        if (!anyRan && !hasMore) {
          grid.fail(describeDeadlock(group));
          return;
        }
      }
      isSpinning = grid.program->mayPoll && group.progress == progress && steps > stepsOfSpinning;
      if (isSpinning && steps >= nextYield) {
        nextYield = steps + spinQuantum;
        std::this_thread::yield();
      }
      if (group.progress != progress || steps == 0) {
        progress = group.progress;
        steps = nextYield = 0;
      } else if (isSpinning && !hasHelp && grid.nextCluster < grid.clusters) {
        hasHelp = true;
        helpers.add();
      } else if (grid.maxSteps && steps > grid.maxSteps) {
        // This is not a livelock if another group has finished, since these warps may have waited
        // for it.
        const uint64_t now = grid.finishedGroups;
        if (now == finished) {
          grid.fail(describeLivelock(group, steps));
          return;
        }
        finished = now;
        steps = 0;
      }
    }
    if (group.async)
      group.async->finish();
    for (const Block &block : group.blocks)
      checkTensorFreed(grid, block);
  }

  Grid &grid;
  Stopper &stopper;
  Helpers &helpers;
  Group group;
  std::vector<Warp *> warps; // the schedule; a member, since a fault leaves schedule() by longjmp
  std::vector<InstructionCount> counts; // by instruction, for this host thread
  std::array<ValidRange, validRangeSlots> ranges;
  uint64_t steps = 0; // backward branches since the last progress
  bool isSpinning = false;
};
} // namespace

static Status bindArguments(const Program &program, std::span<const void *const> arguments,
                            Grid &grid) {
  if (arguments.size() != program.parameterSizes.size())
    return refuse(concat("kernel '", program.entry().name, "' takes ",
                         program.parameterSizes.size(), " arguments, got ", arguments.size()));
  // Leave room after the last parameter, so that a vector load of it stays in bounds.
  grid.parameters.assign(program.parameterBytes + 16 + parameterAlignment, std::byte(0));
  for (size_t i = 0; i < arguments.size(); ++i)
    if (program.parameterSizes[i])
      std::memcpy(alignedParameters(grid) + program.parameterOffsets[i], arguments[i],
                  program.parameterSizes[i]);
  return Status();
}

/// The ranges that a kernel may access in addition to allocations.
static std::vector<ValidRange> ownRanges(LoadedModule &module, Grid &grid) {
  std::vector<ValidRange> ranges;
  auto add = [&](const void *begin, size_t bytes) {
    if (bytes != 0)
      ranges.push_back({reinterpret_cast<uint64_t>(begin), bytes});
  };
  for (std::span<std::byte> variable : module.variables())
    add(variable.data(), variable.size());
  // The size includes the padding after the last parameter; see bindArguments().
  add(alignedParameters(grid), grid.program->parameterBytes + 16);
  add(grid.workspace.data(), grid.workspace.size());
  return ranges;
}

/// Like Executor::run(), but an access to unmapped memory fails the launch.
static void runCatchingFaults(Grid &grid, Executor &executor, uint64_t first) {
  struct Call {
    Executor &executor;
    uint64_t first;
  } call{executor, first};
  auto run = [](void *argument) {
    auto &call = *static_cast<Call *>(argument);
    call.executor.run(call.first);
  };
  MemoryFault fault;
  if (runCatchingFaults(*grid.program, run, &call, fault))
    return;
  grid.fail(Status(
      Error::vgpuAccess,
      concat("kernel '", grid.program->entry().name, "' accesses unmapped memory at ",
             hexNumber(fault.address),
             fault.op ? concat(" at ", describePosition(*grid.program, fault.op)) : std::string(),
             "; check the pointers passed to it, their sizes and the masks of its accesses")));
}

Status launch(LoadedModule &module, std::string_view name, const LaunchConfig &config,
              std::span<const void *const> arguments) {
  DecodeOptions options;
  options.observed = config.observer != nullptr;
  options.counted = config.observer && config.observer->countsInstructions();
  options.preempted = config.seed != 0;
  options.deferred = config.completion != Completion::eager;
  if (!config.instructionSet.empty())
    options.handlers = handlersFor(config.instructionSet);
  TILEWRIGHT_ASSIGN(const Program *program, module.kernel(name, options));
  const ptx::Performance &wanted = program->entry().source->performance;
  Grid grid;
  grid.program = program;
  grid.chip = &module.chip();
  grid.grid = config.grid;
  grid.block = config.block;
  grid.cluster = config.cluster[0] ? config.cluster : wanted.reqnctapercluster;
  grid.explicitCluster = grid.cluster[0] != 0;
  for (uint32_t &size : grid.cluster)
    size = std::max(size, 1u);
  grid.dynamicSharedBytes = config.dynamicSharedBytes;
  grid.sharedBytes = program->staticSharedBytes + config.dynamicSharedBytes;
  grid.observer = config.observer;
  grid.isTracked = options.observed || options.deferred;
  grid.isCounted = options.counted;
  grid.completion = config.completion;
  grid.seed = config.seed;
  grid.maxSteps = config.maxSteps;
  grid.arithmetic = config.arithmetic;
  TILEWRIGHT_TRY(checkSizes(module.chip(), *program, grid, wanted));
  TILEWRIGHT_TRY(bindArguments(*program, arguments, grid));
  if (config.checksAddresses)
    grid.validMemory = std::make_unique<ValidMemory>(ownRanges(module, grid), config.accessor);
  grid.suppressesInvalid = config.suppressesInvalid;
  grid.order = config.order;
  grid.device = config.accessor.device;

  grid.isCooperative = config.cooperative;
  // Blocks of a group run together. In a random order, a group has several clusters, as on a GPU:
  // errors between blocks, such as a counter that is not atomic, appear only if blocks interrupt
  // each other.
  constexpr uint64_t seededClusters = 8;
  const uint64_t perCluster = volume(grid.cluster);
  grid.clusters = volume(grid.grid) / perCluster;
  const uint64_t together = config.cooperative
                                ? grid.clusters
                                : std::min(grid.clusters, config.seed ? seededClusters : 1);
  Stopper stopper(grid, config);
  if (config.observer)
    config.observer->launchBegin(grid);
  // Threads take blocks in order, so a block can wait for an earlier block, which has been started
  // already.
  std::optional<Helpers> helpers;
  auto work = [&] {
    std::unique_ptr<Executor> executor;
    uint64_t clustersOfExecutor = 0, first = 0;
    while (!grid.failed) {
      const uint64_t count = grid.takeClusters(together, first);
      if (count == 0)
        break;
      if (count !=
          clustersOfExecutor) // the first group of this thread, or the last one, a smaller one
        executor = std::make_unique<Executor>(grid, stopper, *helpers, count * perCluster);
      clustersOfExecutor = count;
      if (config.catchesFaults)
        runCatchingFaults(grid, *executor, first);
      else
        executor->run(first);
    }
  };
  helpers.emplace(work);
  if (config.pool && grid.clusters > together)
    config.pool->parallelFor(config.pool->threadCount(), 1, [&](int64_t, int64_t) { work(); });
  else
    work();
  helpers.reset();
  stopper.finish();
  if (config.observer)
    config.observer->launchEnd(grid);
  std::lock_guard lock(grid.mutex);
  return std::move(grid.failure);
}

} // namespace tilewright::vgpu::machine
