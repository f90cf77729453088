// The launches that a checker observes, and how they are ordered with each other.
#ifndef TILEWRIGHT_VGPU_CHECK_LAUNCHES_H
#define TILEWRIGHT_VGPU_CHECK_LAUNCHES_H

#include "tilewright/vgpu/check/GlobalMemory.h"
#include "tilewright/vgpu/check/State.h"

#include <atomic>
#include <deque>

namespace tilewright::vgpu::check {

class Launches;

/// Flags in global memory. Launches that may run at the same time share them. A launch that begins
/// after all others have ended begins a new generation of flags: later launches do not need the
/// older flags, which can no longer change.
struct GlobalFlags {
  std::mutex mutex;
  std::unordered_map<uint64_t, Flag> byAddress; // guarded by mutex
  std::atomic<size_t> count = 0;                // to check for flags without the lock
  // The launch that began this generation, and the previous generation, which only Launches uses,
  // under its mutex. Both are null in the first generation.
  uint64_t firstLaunch = 0;
  std::shared_ptr<const machine::HostOrder> firstOrder;
  std::shared_ptr<GlobalFlags> older;
};

/// The state of a launch that its groups share. It is kept for some time after the launch, because
/// launches of other streams may conflict with it.
struct LaunchState : std::enable_shared_from_this<LaunchState> {
  machine::Grid *grid = nullptr; // valid only while the launch runs
  machine::Dim3 shape{}, cluster{};
  const machine::Program *program = nullptr;
  uint64_t id = 0;
  int device = -1;
  /// The blocks of all launches have different numbers: those of this launch are [firstBlock,
  /// firstBlock + blockCount), in the order of their linear index.
  uint32_t firstBlock = 0, blockCount = 0;
  std::shared_ptr<const machine::HostOrder> order; // null: after all earlier launches
  Launches *all = nullptr;
  std::atomic<bool> hasOtherGroups = false;
  std::shared_ptr<const AllocationTable> allocations;
  /// The ops of one function. Instructions are numbered consecutively across all functions; `first`
  /// is the number of `begin`.
  struct Range {
    const machine::Op *begin, *end;
    uint32_t first;
  };
  std::vector<Range> ranges;

  bool owns(uint32_t block) const { return block - firstBlock < blockCount; }
  /// Whether all of `other` happens before this launch.
  bool isAfter(const LaunchState &other) const;
  /// Adds a thread's knowledge of other launches when the thread ends.
  void learn(const Knowledge &knowledge);
  /// Whether other groups may access the same global memory without being ordered with this one.
  bool hasCompany() const { return hasOtherGroups.load(std::memory_order_relaxed) || order; }
  /// Whether two blocks of this launch belong to different groups, that is, to different clusters.
  bool areInTwoGroups(uint32_t block, uint32_t other) const;
  uint32_t instructionOf(const machine::Op *op) const;
  const machine::Op *opAt(uint32_t instruction) const;
  /// The key by which findings are grouped: the source line, if it is known, because a compiler
  /// generates many instructions and kernel variants from one line; otherwise the instruction.
  uint64_t sourceKey(uint32_t instruction);
  uint64_t programKey(uint32_t instruction);

  std::once_flag keysMade;
  std::vector<uint64_t> keys; // key, by instruction

  std::shared_ptr<GlobalFlags> flags;
  /// Older generations with flags that this launch may wait for, newest first.
  std::vector<std::shared_ptr<const GlobalFlags>> olderFlags;
  bool mayHaveFlags() const {
    return flags->count.load(std::memory_order_relaxed) != 0 || !olderFlags.empty();
  }
  // Completed asynchronous writes to global memory.
  struct Finished {
    uint32_t block, warp, mask, epoch;
    bool isReadOnly;
  };
  mutable std::mutex mutex;
  std::unordered_map<uint32_t, std::vector<Finished>> finished; // guarded by mutex
  /// Clocks of other launches that threads received through flags: `known` to this launch's threads
  /// when they end (guarded by mutex), `inherited` from earlier launches when they begin.
  Clock known, knownFenced;
  Clock inherited, inheritedFenced;
};

/// Thread-safe.
class Launches {
public:
  /// The state of a running launch; created by the first call for it.
  std::shared_ptr<LaunchState> begin(const machine::Grid &grid, const GlobalMemory &memory);
  /// Keeps the launch for comparisons with launches that are not ordered after it.
  void end(const machine::Grid &grid);

  /// The launch that a block belongs to; null if it was forgotten, so that its conflicts can no
  /// longer be found.
  std::shared_ptr<LaunchState> ofBlock(uint32_t block) const;
  std::shared_ptr<LaunchState> withId(uint64_t id) const;

private:
  /// How many ended launches are kept. Fewer are kept if a launch follows all of them: most
  /// launches that begin later follow them, too, but a stream that waits for nothing may still
  /// conflict with them.
  static constexpr size_t remembered = 1024, rememberedBeforeAll = 64;

  // The caller holds the lock.
  void forget(std::shared_ptr<LaunchState> launch);
  void inherit(LaunchState &launch);
  void chooseFlags(LaunchState &launch, bool isAfterAll);

  mutable std::mutex mutex;
  // All are guarded by mutex.
  std::unordered_map<uint64_t, std::shared_ptr<LaunchState>> running; // by the id of the grid
  std::map<uint32_t, std::shared_ptr<LaunchState>> byBlock;           // by the first block
  std::unordered_map<uint64_t, std::shared_ptr<LaunchState>> byId;
  std::deque<std::shared_ptr<LaunchState>> ended; // oldest first
  std::shared_ptr<GlobalFlags> flags = std::make_shared<GlobalFlags>();
  uint32_t nextBlock = 0;
};

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_LAUNCHES_H
