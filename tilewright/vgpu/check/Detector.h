// The rules by which accesses are compared. Used by the thread that runs a group.
#ifndef TILEWRIGHT_VGPU_CHECK_DETECTOR_H
#define TILEWRIGHT_VGPU_CHECK_DETECTOR_H

#include "tilewright/vgpu/check/Checker.h"
#include "tilewright/vgpu/check/State.h"

#include <atomic>

namespace tilewright::vgpu::check {

/// A launch: what its groups share.
struct LaunchState {
  machine::Grid *grid = nullptr;
  const machine::Program *program = nullptr;
  uint64_t id = 0;
  std::atomic<bool> hasOtherGroups = false;
  std::shared_ptr<const AllocationTable> allocations;
  /// The operations of the program, numbered across its functions.
  struct Range {
    const machine::Op *begin, *end;
    uint32_t first;
  };
  std::vector<Range> ranges;

  uint32_t placeOf(const machine::Op *op) const;
  const machine::Op *opAt(uint32_t place) const;

  // Flags in global memory, and asynchronous writes to it that were waited for.
  std::mutex mutex;
  std::unordered_map<uint64_t, Flag> flags; // guarded by mutex
  std::atomic<size_t> flagCount = 0;        // for a look without it
  struct Finished {
    uint32_t block, warp, mask, epoch;
    bool isReadOnly;
  };
  std::unordered_map<uint32_t, std::vector<Finished>> finished; // guarded by mutex
};

/// Who makes the access that is checked.
struct Actor {
  BlockState &block;
  WarpState &warp;
  const Knowledge *knowledge; // of the lanes, or of the operation when it was issued
  const AsyncState *operation = nullptr;
  uint32_t cohortMask = ~0u;
};

class Detector {
public:
  Detector(const Options &options, Report &report, GlobalMemory &global, LaunchState &launch,
           GroupState &group)
      : options(options), report(report), global(global), launch(launch), group(group) {}

  void access(const machine::MemoryEvent &event);
  void synchronise(const machine::SyncEvent &event);
  void touchInFlight(const machine::Warp &warp, const machine::Op *op, uint32_t mask,
                     machine::AsyncId operation);
  void finish();

private:
  // Access.cpp
  struct Run {
    uint64_t address;
    uint64_t length;
    uint32_t lane;
    uint32_t shift;
    bool isMany;
  };
  void accessBy(const Actor &actor, const machine::MemoryEvent &event, uint32_t mask);
  void accessRun(const Actor &actor, const machine::MemoryEvent &event, const Run &run);
  void accessShared(const Actor &actor, const Touch &touch, const Run &run);
  void accessGlobal(const Actor &actor, const Touch &touch, const Run &run);
  bool isReadOfMany(const Touch &touch) const;
  void checkSector(const Actor &actor, Sector &sector, const Touch &touch, uint32_t mask,
                   uint64_t address);
  /// Whether a write stores in some bytes of a sector what an earlier one left there.
  bool storesTheSame(const Touch &earlier, const Touch &now, uint32_t mask, uint64_t address) const;
  std::byte storedAt(uint64_t address) const;
  void copyStored(uint64_t begin, uint64_t end, std::byte *to) const;
  /// Lanes that store different values at one place by one instruction.
  void compareLanes(const Actor &actor, const Touch &touch);
  void checkMbarrierBytes(const Actor &actor, BlockState &block, const Touch &touch,
                          uint32_t offset, uint32_t mask);
  void flags(const machine::MemoryEvent &event, WarpState &warp);

  // ReadLog.cpp
  /// Writes a read down, if it is one that can be. Else it must be checked.
  bool logRead(const machine::MemoryEvent &event, WarpState &warp);
  void beforeSharedWrite(const Actor &actor, BlockState &block, const Touch &touch);
  void replay(BlockState &block);
  void remember(Sector &sector, const Touch &touch, uint32_t mask);

public:
  // Order.cpp
  enum class Ordering : uint8_t { ordered, unfenced, unordered };
  Ordering orderOf(const Actor &actor, const Touch &earlier, uint32_t byte, const Touch &now) const;
  bool areMorallyStrong(const Actor &actor, const Touch &earlier, const Touch &now) const;
  Ordering orderOfOperations(const Actor &actor, const Touch &earlier, uint32_t byte,
                             const Touch &now);

private:
  bool knows(const Actor &actor, const Clock &clock, const Touch &earlier, uint32_t byte,
             uint32_t nowLane) const;

  // Synchronise.cpp
  void publish(WarpState &warp, uint32_t mask, Knowledge &into);
  void endEpoch(WarpState &warp) { ++warp.epoch; }
  /// Adds to `into` that lanes did what they did up to `epoch`, and what they fenced.
  static void publishOwn(const WarpState &warp, uint32_t mask, uint32_t epoch, const OwnEpochs &own,
                         Knowledge &into);
  SharedKnowledge published(WarpState &warp, uint32_t mask);
  static SharedKnowledge publishedByFence(const WarpState &warp, uint32_t mask,
                                          const FencePoint &fence);
  Published makePublished(WarpState &warp, SharedKnowledge knowledge, machine::Scope scope,
                          bool isGlobal) const;
  std::shared_ptr<const ForeignEpochs> translate(const Clock &clock) const;
  void acquire(Cohort &cohort, const Published &from) const;
  bool scopeReaches(machine::Scope scope, const BlockState &block, uint32_t otherBlock,
                    uint32_t otherCluster) const;
  /// The cohorts of `mask` alone, split off if others are with them.
  void split(WarpState &warp, uint32_t mask);
  void merge(WarpState &warp, uint32_t mask, const Knowledge *also);
  Generation &generationOf(std::vector<Generation> &all, uint64_t number);
  void mbarrier(const machine::SyncEvent &event, WarpState &warp);
  void useMbarrier(const machine::SyncEvent &event, WarpState &warp, BlockState &block,
                   uint32_t offset, MbarrierState &state);
  void asynchronous(const machine::SyncEvent &event, WarpState &warp);
  AsyncState *operationOf(machine::AsyncId id);
  void completeByPhase(MbarrierState &state, machine::AsyncId id, uint64_t phase, uint32_t lanes);
  bool isKnownIn(const BlockState &block, const AsyncState &operation) const;

  // Explain.cpp
  SourcePlace sourceOf(uint32_t place) const;
  std::string who(const BlockState &block, uint32_t warp, uint32_t lane) const;
  std::string who(const Touch &touch, uint32_t byte) const;
  Party partyOf(const Touch &touch, uint32_t byte) const;
  std::string whereIs(uint64_t address) const;
  std::string valueAt(uint64_t address) const;
  void reportConflict(const Actor &actor, const Touch &now, const Touch &earlier, uint32_t byte,
                      uint64_t address, Ordering ordering);
  void reportSimple(FindingKind kind, const Touch &touch, uint32_t byte, std::string message,
                    uint64_t address, std::string fix, const Touch *other = nullptr,
                    std::string otherWhat = {});
  Touch touchOf(const machine::SyncEvent &event, const WarpState &warp) const;
  void failLaunch(uint32_t place);

  const Options &options;
  Report &report;
  GlobalMemory &global;
  LaunchState &launch;
  GroupState &group;
  bool inShared = false;                         // the access that is looked at
  const machine::MemoryEvent *current = nullptr; // likewise, and the run of its lanes
  const Run *currentRun = nullptr;
  const std::byte *held = nullptr; // what its sector has from earlier writes
  uint32_t heldBytes = 0;          // how much of that may be read
  bool isReplay = false;           // it was made earlier, in this epoch
  uint32_t replayEpoch = 0;
};

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_DETECTOR_H
