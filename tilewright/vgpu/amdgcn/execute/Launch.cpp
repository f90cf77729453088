#include "tilewright/vgpu/amdgcn/execute/Launch.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/watch/Watch.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>

namespace tilewright::vgpu::amdgcn {

static constexpr uint32_t maxBlockThreads = 1024;
/// LDS of a compute unit.
static uint32_t maxLdsBytes(Chip chip) { return chip == Chip::gfx950 ? 160 << 10 : 64 << 10; }

// -- Arguments

/// The value of a hidden argument; 0 if the machine does not provide it, as a runtime does for
/// features that it lacks. Remainders and global offsets are 0, too.
static uint64_t hiddenValue(std::string_view kind, const LaunchConfig &config) {
  constexpr std::string_view axes = "xyz";
  const size_t axis = axes.find(kind.back());
  if (kind == "hidden_grid_dims")
    return config.grid[2] > 1 || config.block[2] > 1   ? 3
           : config.grid[1] > 1 || config.block[1] > 1 ? 2
                                                       : 1;
  if (kind == "hidden_dynamic_lds_size")
    return config.dynamicLdsBytes;
  if (kind == "hidden_shared_base")
    return ldsAperture >> 32;
  if (kind == "hidden_private_base")
    return scratchAperture >> 32;
  if (axis == std::string_view::npos)
    return 0;
  if (kind.starts_with("hidden_block_count_"))
    return config.grid[axis];
  if (kind.starts_with("hidden_group_size_"))
    return config.block[axis];
  return 0;
}

/// The kernel's argument segment: the explicit arguments, then the hidden ones.
static Result<std::vector<std::byte>> makeArguments(const Kernel &kernel,
                                                    const LaunchConfig &config,
                                                    std::span<const std::byte> arguments) {
  const uint32_t size = kernel.descriptor.kernelArgumentBytes;
  if (arguments.size() > size)
    return Status(Error::vgpuLaunch, concat("kernel '", kernel.name, "' takes ", size,
                                            " bytes of arguments, got ", arguments.size()));
  std::vector<std::byte> segment(size_t(size) +
                                 64); // loads of several dwords may go beyond the end
  std::copy(arguments.begin(), arguments.end(), segment.begin());
  for (const KernelArgument &argument : kernel.arguments) {
    if (!argument.valueKind.starts_with("hidden_"))
      continue;
    const uint64_t value = hiddenValue(argument.valueKind, config);
    if (argument.size > 8 || argument.offset > size || size - argument.offset < argument.size)
      return Status(Error::vgpuBinary,
                    concat("damaged code object: argument '", argument.valueKind, "' of kernel '",
                           kernel.name, "' is outside its ", size, " bytes"));
    std::memcpy(segment.data() + argument.offset, &value, argument.size);
  }
  return segment;
}

/// The dispatch packet that a queue would hold; kernels read group sizes from it.
struct DispatchPacket {
  uint16_t header = 0, setup = 3;
  uint16_t groupSize[3] = {}, reserved = 0;
  uint32_t gridSize[3] = {}; // in work-items
  uint32_t scratchBytes = 0, ldsBytes = 0;
  uint64_t kernelObject = 0, arguments = 0, reserved2 = 0, signal = 0;
};
static_assert(sizeof(DispatchPacket) == 64);

// -- Waves

namespace {
/// The values from which a wave's first registers are initialised.
struct StartState {
  const Kernel &kernel;
  const DispatchPacket &packet;
};
} // namespace

static Status setScalars(Wave &wave, const StartState &start) {
  const KernelDescriptor &descriptor = start.kernel.descriptor;
  unsigned next = 0;
  auto addPointer = [&](uint64_t value) {
    wave.setScalar64(next, value);
    next += 2;
  };
  // Bit 0, the scratch buffer, is not used on these chips, which have architected flat scratch.
  if ((descriptor.properties & 1) != 0)
    next += 4;
  if (descriptor.hasDispatchPointer())
    addPointer(reinterpret_cast<uint64_t>(&start.packet));
  if (descriptor.hasQueuePointer())
    addPointer(0);
  if (descriptor.hasArgumentPointer())
    addPointer(start.packet.arguments);
  if (descriptor.hasDispatchId())
    addPointer(0);
  if ((descriptor.properties >> 5 & 1) != 0) // the initial value of FLAT_SCRATCH
    addPointer(0);
  if ((descriptor.properties >> 6 & 1) != 0)
    wave.scalars[next++] = descriptor.scratchBytesPerLane;
  const unsigned preloaded = descriptor.preloadedDwords();
  if (next + preloaded > descriptor.userSgprs())
    return Status(Error::vgpuBinary,
                  concat("damaged code object: kernel '", start.kernel.name, "' has ",
                         descriptor.userSgprs(), " user SGPRs, but its descriptor fills ",
                         next + preloaded));
  const uint64_t from = start.packet.arguments + 4u * descriptor.preloadOffset();
  if (4u * (descriptor.preloadOffset() + preloaded) > descriptor.kernelArgumentBytes + 64)
    return Status(Error::vgpuBinary, concat("damaged code object: kernel '", start.kernel.name,
                                            "' preloads arguments that it does not have"));
  std::memcpy(&wave.scalars[next], reinterpret_cast<const void *>(from), 4u * preloaded);
  next = descriptor.userSgprs();
  for (unsigned axis = 0; axis < 3; ++axis)
    if (descriptor.hasGroupId(axis))
      wave.scalars[next++] = wave.group->id[axis];
  return Status();
}

/// The ids of the work-items, packed into v0; EXEC has the lanes that have a work-item.
static void setLanes(Wave &wave, const std::array<uint32_t, 3> &block) {
  const uint32_t threads = block[0] * block[1] * block[2], first = wave.number * laneCount;
  LaneMask exec = 0;
  for (unsigned lane = 0; lane < laneCount && first + lane < threads; ++lane) {
    const uint32_t item = first + lane;
    const uint32_t x = item % block[0], y = item / block[0] % block[1],
                   z = item / block[0] / block[1];
    wave.vectors[0].lanes[lane] = x | y << 10 | z << 20;
    exec |= LaneMask(1) << lane;
  }
  wave.setScalar64(execSlot, exec);
}

// -- The scheduler

/// The number of branches after which another wave runs, so that waves can wait for each other.
static constexpr uint32_t branchesPerTurn = 4096;

static void runTurn(Wave &wave, const Program &program) {
  wave.branches = 0;
  while (wave.state == WaveState::running && wave.branches < branchesPerTurn) {
    const Op &op = program[wave.pc];
    wave.pc = op.next;
    if (wave.watch)
      wave.watch->execute(wave, op);
    if (wave.inFlight)
      wave.inFlight->execute(wave, op);
    else
      op.run(wave, op);
  }
}

namespace {
/// Decides when the waves of a launch must stop before their end, and keeps the first failure.
/// Thread-safe.
class Stopper {
public:
  explicit Stopper(std::string_view kernel, const LaunchConfig &config)
      : kernel(kernel), config(config) {}

  /// Keeps the failure of a workgroup if it is the first one.
  void fail(Status status) {
    std::lock_guard lock(mutex);
    if (!failed.exchange(true))
      failure = std::move(status);
  }
  bool hasFailed() const { return failed.load(std::memory_order_relaxed); }
  /// The failure of the launch. Called when it has ended.
  Status takeFailure() { return std::move(failure); }

  /// Fails if the launch was interrupted or ran too long, and names the wave's position; or if
  /// another workgroup failed that this one may be waiting for.
  Status check(const Wave &wave, const Program &program) const {
    if (hasFailed())
      return Status(Error::vgpuInterrupted, "another workgroup failed");
    const bool isInterrupted = config.stop && config.stop->load(std::memory_order_relaxed);
    const auto time = std::chrono::steady_clock::now() - begin;
    if (!isInterrupted && (config.timeLimit.count() == 0 || time < config.timeLimit))
      return Status();
    const Op &op = program[wave.pc];
    const auto &id = wave.group->id;
    return Status(isInterrupted ? Error::vgpuInterrupted : Error::vgpuTimeout,
                  concat("kernel '", kernel, "' was ",
                         isInterrupted ? "interrupted" : "stopped by the time limit", " after ",
                         std::chrono::duration_cast<std::chrono::milliseconds>(time).count(),
                         " ms: wave ", wave.number, " of workgroup (", id[0], ", ", id[1], ", ",
                         id[2], ") is at ", placeOf(op)));
  }

private:
  const std::string_view kernel;
  const LaunchConfig &config;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::atomic<bool> failed = false;
  std::mutex mutex;
  Status failure; // guarded by mutex
};
} // namespace

/// Runs the waves of a workgroup to their end, round-robin.
static Status runWaves(std::vector<Wave> &waves, const Program &program, uint64_t maxBranches,
                       const Stopper &stopper, GroupWatch *watch) {
  uint64_t branches = 0;
  for (;;) {
    bool isAnyRunning = false, hasProgress = false;
    for (Wave &wave : waves) {
      if (wave.state != WaveState::running)
        continue;
      runTurn(wave, program);
      branches += wave.branches;
      // The wave may be waiting for the effect of an operation in flight, which the chip performs
      // eventually.
      if (wave.inFlight && wave.state == WaveState::running)
        for (Wave &other : waves)
          other.inFlight->performAll(other);
      for (Wave &other : waves)
        if (other.state == WaveState::failed)
          return std::move(other.failure);
      if (wave.state == WaveState::running)
        TILEWRIGHT_TRY(stopper.check(wave, program));
      if (watch && watch->launch.grid.failed) {
        std::lock_guard lock(watch->launch.grid.mutex);
        return std::move(watch->launch.grid.failure);
      }
      hasProgress |= wave.state != WaveState::running;
      isAnyRunning |= wave.state == WaveState::running;
    }
    if (hasProgress)
      branches = 0;
    if (maxBranches != 0 && branches > maxBranches)
      return Status(Error::vgpuLivelock, concat("the waves of a workgroup branched ", branches,
                                                " times without an end or a barrier"));
    if (isAnyRunning)
      continue;
    // Waves that ended count as arrived.
    bool isAnyWaiting = false;
    if (watch)
      watch->leaveBarrier(waves);
    for (Wave &wave : waves)
      if (wave.state == WaveState::atBarrier) {
        wave.state = WaveState::running;
        isAnyWaiting = true;
      }
    if (!isAnyWaiting)
      return Status();
  }
}

static Status checkSizes(const LoadedObject &object, const Kernel &kernel,
                         const LaunchConfig &config) {
  const uint64_t threads = uint64_t(config.block[0]) * config.block[1] * config.block[2];
  const uint32_t limit = kernel.maxWorkgroupSize != 0 ? kernel.maxWorkgroupSize : maxBlockThreads;
  if (threads == 0 || threads > limit)
    return Status(Error::vgpuLaunch,
                  concat("kernel '", kernel.name, "' runs in workgroups of 1 to ", limit,
                         " work-items, got ", threads));
  const Chip chip = object.object().chip;
  const uint64_t lds = uint64_t(kernel.descriptor.ldsBytes) + config.dynamicLdsBytes;
  if (lds > maxLdsBytes(chip))
    return Status(Error::vgpuLaunch,
                  concat("a workgroup of kernel '", kernel.name, "' needs ", lds,
                         " bytes of LDS, but ", nameOf(chip), " has ", maxLdsBytes(chip)));
  constexpr uint32_t maxScratch = 8191 * 1024 / laneCount; // 13 bits hold the KiB of a wave
  if (kernel.descriptor.scratchBytesPerLane > maxScratch)
    return Status(Error::vgpuLaunch,
                  concat("a lane of kernel '", kernel.name, "' needs ",
                         kernel.descriptor.scratchBytesPerLane, " bytes of scratch, but ",
                         nameOf(chip), " has at most ", maxScratch));
  constexpr uint64_t maxItems = std::numeric_limits<uint32_t>::max();
  for (unsigned axis = 0; axis < 3; ++axis)
    if (const uint64_t items = uint64_t(config.grid[axis]) * config.block[axis]; items > maxItems)
      return Status(Error::vgpuLaunch,
                    concat("a launch has at most ", maxItems, " work-items in each dimension, got ",
                           items, " of kernel '", kernel.name, "' in dimension ", axis, " (",
                           config.grid[axis], " workgroups of ", config.block[axis], ")"));
  constexpr uint32_t roundBits = 15;
  if ((kernel.descriptor.rsrc1 >> 12 & roundBits) != 0)
    return Status(Error::vgpuUnimplemented,
                  concat("kernel '", kernel.name,
                         "' does not round to nearest; the virtual GPU has no other rounding"));
  return Status();
}

static Status runWorkgroup(Workgroup &group, const StartState &start, const LaunchConfig &config,
                           const Stopper &stopper, LaunchWatch *launch) {
  const uint32_t threads = config.block[0] * config.block[1] * config.block[2];
  std::vector<Wave> waves((threads + laneCount - 1) / laneCount);
  std::deque<InFlight> inFlight;
  std::optional<GroupWatch> watch;
  std::deque<WaveWatch> watches;
  if (launch)
    watch.emplace(*launch, group, waves.size());
  for (unsigned number = 0; number < waves.size(); ++number) {
    Wave &wave = waves[number];
    wave.number = number;
    wave.group = &group;
    wave.pc = group.dispatch->program->entry();
    if (watch)
      wave.watch = &watches.emplace_back(*watch, number);
    if (config.completion != Completion::eager || watch) {
      const uint64_t place = group.id[0] + 31 * (group.id[1] + uint64_t(31) * group.id[2]);
      wave.inFlight = &inFlight.emplace_back(config.completion, config.seed + 64 * place + number);
    }
    wave.scratch.resize(size_t(group.dispatch->scratchBytesPerLane) * laneCount);
    TILEWRIGHT_TRY(setScalars(wave, start));
    setLanes(wave, config.block);
    if (watch)
      wave.watch->start(start.kernel.descriptor.userSgprs() + 3); // and the workgroup's ids
  }
  return runWaves(waves, *group.dispatch->program, config.maxBranches, stopper,
                  watch ? &*watch : nullptr);
}

/// Runs all workgroups. Threads take them in order, so that one may wait for an earlier one.
/// Returns the failure of the first one that failed.
static Status runGrid(const Dispatch &dispatch, const StartState &start, const LaunchConfig &config,
                      LaunchWatch *watch) {
  const auto &grid = config.grid;
  const uint64_t count = uint64_t(grid[0]) * grid[1] * grid[2];
  Stopper stopper(start.kernel.name, config);
  std::atomic<uint64_t> next = 0;
  auto work = [&] {
    for (uint64_t i = next++; i < count && !stopper.hasFailed(); i = next++) {
      Workgroup group = {.dispatch = &dispatch,
                         .id = {static_cast<uint32_t>(i % grid[0]),
                                static_cast<uint32_t>(i / grid[0] % grid[1]),
                                static_cast<uint32_t>(i / grid[0] / grid[1])},
                         .lds = std::vector<std::byte>(start.packet.ldsBytes)};
      if (Status status = runWorkgroup(group, start, config, stopper, watch); !status.isOk())
        stopper.fail(std::move(status));
    }
  };
  // Observers are told the waves' events in the order of a single thread.
  if (config.pool && count > 1 && !watch)
    config.pool->parallelFor(config.pool->threadCount(), 1, [&](int64_t, int64_t) { work(); });
  else
    work();
  return stopper.takeFailure();
}

/// Sorts ranges and joins those that overlap: variables are inside the range of their code object.
static void joinOverlapping(std::vector<MemoryRange> &ranges) {
  std::ranges::sort(ranges, {}, &MemoryRange::begin);
  size_t last = 0;
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[last].end)
      ranges[last].end = std::max(ranges[last].end, ranges[i].end);
    else
      ranges[++last] = ranges[i];
  ranges.resize(std::min(ranges.size(), last + 1));
}

Status launch(LoadedObject &object, std::string_view name, const LaunchConfig &config,
              std::span<const std::byte> arguments) {
  TILEWRIGHT_ASSIGN(const Program *program, object.program(name));
  const Kernel &kernel = *object.object().find(name);
  TILEWRIGHT_TRY(checkSizes(object, kernel, config));
  TILEWRIGHT_ASSIGN(const std::vector<std::byte> segment, makeArguments(kernel, config, arguments));
  const KernelDescriptor &descriptor = kernel.descriptor;
  DispatchPacket packet;
  for (unsigned axis = 0; axis < 3; ++axis) {
    packet.groupSize[axis] = static_cast<uint16_t>(config.block[axis]);
    packet.gridSize[axis] = config.grid[axis] * config.block[axis];
  }
  packet.ldsBytes = descriptor.ldsBytes + config.dynamicLdsBytes;
  packet.scratchBytes = descriptor.scratchBytesPerLane;
  constexpr unsigned usesDynamicStack = 1 << 11; // recursion
  if ((descriptor.properties & usesDynamicStack) != 0)
    packet.scratchBytes += config.dynamicStackBytes;
  packet.arguments = reinterpret_cast<uint64_t>(segment.data());
  std::vector<MemoryRange> memory = config.memory;
  if (!memory.empty()) {
    memory.push_back(object.range());
    memory.push_back({packet.arguments, packet.arguments + segment.size()});
    const uint64_t packetAddress = reinterpret_cast<uint64_t>(&packet);
    memory.push_back({packetAddress, packetAddress + sizeof packet});
    joinOverlapping(memory);
  }
  constexpr uint32_t keepsDenormals = 3;
  const Dispatch dispatch = {.program = program,
                             .memory = memory,
                             .flushes32 = (descriptor.rsrc1 >> 16 & 3) != keepsDenormals,
                             .flushes16And64 = (descriptor.rsrc1 >> 18 & 3) != keepsDenormals,
                             .scratchBytesPerLane = packet.scratchBytes};
  const StartState start = {.kernel = kernel, .packet = packet};
  std::optional<LaunchWatch> watch;
  if (config.observer)
    watch.emplace(config, object.listing(name), packet.ldsBytes);
  return runGrid(dispatch, start, config, watch ? &*watch : nullptr);
}

} // namespace tilewright::vgpu::amdgcn
