// The rules of the checker. A Detector handles one event of a group, in the thread that runs the
// group.
#ifndef TILEWRIGHT_VGPU_CHECK_DETECTOR_H
#define TILEWRIGHT_VGPU_CHECK_DETECTOR_H

#include "tilewright/vgpu/check/Advice.h"
#include "tilewright/vgpu/check/Checker.h"
#include "tilewright/vgpu/check/Launches.h"
#include "tilewright/vgpu/check/State.h"

namespace tilewright::vgpu::check {

/// The thread or asynchronous operation whose access is checked.
struct Actor {
  BlockState &block;
  WarpState &warp;
  const Knowledge *knowledge; // of the lanes, or of the operation at the time of issue
  const AsyncState *operation = nullptr;
  uint32_t cohortMask = ~0u;
};

class Detector {
public:
  Detector(const Options &options, Report &report, GlobalMemory &global, LaunchState &launch,
           GroupState &group)
      : options(options), report(report), global(global), launch(launch), group(group) {}

  void access(const machine::MemoryEvent &event);
  /// Called when a strong access has read flags: passes on what they released until then; see
  /// Observer::valueRead().
  void valueRead(const machine::MemoryEvent &event);
  void synchronise(const machine::SyncEvent &event);
  void accessInFlight(const machine::Warp &warp, const machine::Op *op, uint32_t mask,
                      machine::AsyncId operation);
  void hazard(const machine::HazardEvent &event);
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
  void accessLanes(const Actor &actor, const machine::MemoryEvent &event, uint32_t mask);
  /// The record of an access, without lanes.
  AccessRecord recordOf(const Actor &actor, const machine::MemoryEvent &event) const;
  void accessRun(const Actor &actor, const machine::MemoryEvent &event, const Run &run);
  void accessShared(const Actor &actor, const AccessRecord &record, const Run &run);
  void checkMbarrierBytes(BlockState &block, const AccessRecord &record, uint32_t offset,
                          uint32_t mask);

  static void touchShared(const Actor &actor, const BlockState &block);
  static bool isMatrix(const Actor &actor) {
    return actor.operation &&
           (actor.operation->group == machine::GroupKind::matrix || actor.operation->follows ||
            machine::isOfWave(actor.operation->group));
  }

  // Ranges.cpp

  /// Checks those lanes that access shared memory in 16-byte chunks, if their order with all
  /// earlier accesses is simple. Returns the other lanes.
  uint32_t accessRanges(const Actor &actor, const machine::MemoryEvent &event, uint32_t mask);
  struct Piece;
  bool collectPieces(const machine::MemoryEvent &event, uint32_t mask, bool isLaneless,
                     uint64_t limit, std::vector<Piece> &pieces) const;
  bool checkPiece(const Actor &actor, SharedPage &page, RangeAccess &access);
  bool isBeforeRange(const Actor &actor, RangeAccess &earlier, const RangeAccess &now);

  // GlobalAccess.cpp
  void accessGlobal(const Actor &actor, const AccessRecord &record, const Run &run);
  void copyStored(uint64_t begin, uint64_t end, std::byte *to) const;
  bool clipToValid(const AccessRecord &record, uint64_t &begin, uint64_t &end);
  void reportBounds(const AccessRecord &record, const Run &run, uint64_t begin,
                    const Allocation *allocation);

  // Compare.cpp

  /// Compares an access with the earlier accesses to the bytes `mask` of the sector at `address`,
  /// and adds it to them.
  void checkSector(const Actor &actor, Sector &sector, const AccessRecord &record, uint32_t mask,
                   uint64_t address);
  bool compareBytes(const Actor &actor, const AccessRecord &earlier, const AccessRecord &now,
                    uint32_t overlap, uint64_t address);
  /// Memory that many blocks read, or that their asynchronous copies read, is rarely written. If a
  /// block does write it, the write is unordered with all readers in other groups, unless flags
  /// order the groups. So while the launch has no flags, it is enough to remember some of the
  /// readers.
  bool isReadOfMany(const AccessRecord &record) const {
    return record.isRead() && !record.isStrong &&
           (group.blocks.size() == 1 || launch.hasOtherGroups.load(std::memory_order_relaxed)) &&
           launch.flags->count.load(std::memory_order_relaxed) == 0;
  }
  /// Whether a write stores the same values as an earlier write, in the bytes `mask` of a sector.
  bool storesTheSame(const AccessRecord &earlier, const AccessRecord &now, uint32_t mask,
                     uint64_t address) const;
  /// The byte that the run stores at an address.
  std::byte storedAt(uint64_t address) const {
    const uint64_t distance = address - currentRun->address;
    if (currentRun->shift == 5)
      return current->values->at(currentRun->lane, distance);
    const auto lane = static_cast<uint32_t>(distance >> currentRun->shift);
    return current->values->at(currentRun->lane + lane, distance & (current->bytes - 1));
  }
  /// Reports lanes of one instruction that store different values at the same address.
  void compareLanes(const Actor &actor, const AccessRecord &record);

  // ReadLog.cpp

  /// Logs a read that is ordered after all writes. False if the read cannot be logged and must be
  /// checked.
  bool logRead(const machine::MemoryEvent &event, WarpState &warp);
  void beforeSharedWrite(const Actor &actor, BlockState &block, const AccessRecord &record);
  void replay(BlockState &block);
  void remember(Sector &sector, const AccessRecord &record, uint32_t mask);

public:
  // Order.cpp
  enum class Ordering : uint8_t { ordered, unfenced, unordered };
  Ordering orderOf(const Actor &actor, const AccessRecord &earlier, uint32_t byte,
                   const AccessRecord &now) const;
  bool areMorallyStrong(const Actor &actor, const AccessRecord &earlier,
                        const AccessRecord &now) const;
  Ordering orderOfOperations(const Actor &actor, const AccessRecord &earlier, uint32_t byte,
                             const AccessRecord &now);

private:
  /// Whether a scope of a thread in `block` includes the threads of another block.
  struct OtherBlock {
    uint32_t block, cluster;
    int device;
  };
  bool scopeReaches(machine::Scope scope, const BlockState &block, const OtherBlock &other) const;
  /// The launch of an earlier access: this one, or a remembered launch of another stream.
  std::shared_ptr<LaunchState> otherLaunchOf(const AccessRecord &record) const {
    return launch.owns(record.block) ? nullptr : launch.all->ofBlock(record.block);
  }
  /// Whether a tcgen05 operation is complete, or comes before that of the actor.
  bool knowsTensor(const Actor &actor, const Clock &clock, const AsyncState &earlier) const;
  bool knows(const Actor &actor, const Clock &clock, const AccessRecord &earlier, uint32_t byte,
             uint32_t nowLane) const;

  // Synchronise.cpp
  void publish(WarpState &warp, uint32_t mask, Knowledge &into);
  void endEpoch(WarpState &warp) { ++warp.epoch; }
  /// Adds to `into` the lanes' own accesses up to `epoch`, and the accesses that their fences
  /// cover.
  static void publishOwn(const WarpState &warp, uint32_t mask, uint32_t epoch, const OwnEpochs &own,
                         Knowledge &into);
  SharedKnowledge published(WarpState &warp, uint32_t mask);
  static SharedKnowledge publishedByFence(const WarpState &warp, uint32_t mask,
                                          const FencePoint &fence);
  /// Splits cohorts so that each is either inside `mask` or outside of it.
  void split(WarpState &warp, uint32_t mask);
  void merge(WarpState &warp, uint32_t mask, const Knowledge *also);
  Generation &generationOf(std::vector<Generation> &all, uint64_t number);
  AccessRecord recordOf(const machine::SyncEvent &event, const WarpState &warp) const;
  void fence(const machine::SyncEvent &event, WarpState &warp);
  void proxyFence(const machine::SyncEvent &event, WarpState &warp);
  void mbarrierInitFence(const machine::SyncEvent &event, WarpState &warp);
  Generation &clusterGeneration(const machine::SyncEvent &event, const WarpState &warp);
  void clusterArrive(const machine::SyncEvent &event, WarpState &warp);
  void clusterLeave(const machine::SyncEvent &event, WarpState &warp);
  static void allocateTensor(const machine::SyncEvent &event, BlockState &block);
  void reportUnfencedWgmma(const machine::SyncEvent &event, const WarpState &warp);
  AsyncState *operationOf(machine::AsyncId id);
  static std::shared_ptr<const IssuedKnowledge> issuedKnowledge(const machine::SyncEvent &event,
                                                                WarpState &warp);
  void issue(const machine::SyncEvent &event, WarpState &warp);
  void waitForOperations(const machine::SyncEvent &event, const WarpState &warp);

  // Mbarriers.cpp

  /// An event of an mbarrier, at `offset` in the shared memory of `block`.
  struct MbarrierUse {
    const machine::SyncEvent &event;
    WarpState &warp;
    BlockState &block;
    uint32_t offset;
    MbarrierState &state;
    AccessRecord now;

    uint64_t address() const {
      return machine::sharedWindow | machine::sharedAddress(block.rank, offset);
    }
  };
  void mbarrier(const machine::SyncEvent &event, WarpState &warp);
  void checkInitKnown(const MbarrierUse &use);
  void initMbarrier(const MbarrierUse &use);
  void reviveMbarrier(const MbarrierUse &use);
  Knowledge publishedByArrival(const MbarrierUse &use);
  void arriveAtMbarrier(const MbarrierUse &use);
  void arriveAfterCopies(const MbarrierUse &use);
  static void endPhase(MbarrierState &state, uint64_t phase);
  void waitAtMbarrier(const MbarrierUse &use);
  void completeByPhase(MbarrierState &state, machine::AsyncId id, uint64_t phase, uint32_t lanes);
  void reportLapped(const machine::SyncEvent &event, const WarpState &warp);

  // Flags.cpp
  void flags(const machine::MemoryEvent &event, WarpState &warp);
  /// Like readFlag, for flags that launches before the current generation wrote.
  void readOlderFlags(const machine::MemoryEvent &event, WarpState &warp, uint32_t lanes,
                      uint64_t address);
  void accessFlag(const machine::MemoryEvent &event, WarpState &warp, uint32_t lanes,
                  uint64_t address, bool publishes);
  void readFlag(const machine::MemoryEvent &event, WarpState &warp, uint32_t lanes,
                const Flag &flag);
  std::vector<Published> publishedByWrite(const machine::MemoryEvent &event, WarpState &warp,
                                          uint32_t lanes, bool isGlobal);
  void addToFlag(Flag &flag, std::vector<Published> made, const WarpState &warp,
                 bool isGlobal) const;
  Published makePublished(const WarpState &warp, SharedKnowledge knowledge, machine::Scope scope,
                          bool isGlobal) const;
  std::shared_ptr<const ForeignEpochs> translate(const Clock &clock) const;
  void acquire(Cohort &cohort, const Published &from) const;

  // Explain.cpp
  bool isKnownIn(const BlockState &block, const AsyncState &operation) const;
  static SourceLocation locationOf(const LaunchState &of, uint32_t number);
  std::string describeActor(const AccessRecord &record, uint32_t byte) const;
  Party partyOf(const AccessRecord &record, uint32_t byte) const;
  Conflict::Width widthOf(const AccessRecord &now, const AccessRecord &earlier) const;
  std::string describeAddress(uint64_t address) const;
  std::string valueAt(uint64_t address) const;
  void reportConflict(const Actor &actor, const AccessRecord &now, const AccessRecord &earlier,
                      uint32_t byte, uint64_t address, Ordering ordering);
  void reportSimple(FindingKind kind, const AccessRecord &record, uint32_t byte,
                    std::string message, uint64_t address, std::string fix,
                    const AccessRecord *other = nullptr, std::string otherWhat = {});
  void failLaunch(uint32_t instruction);

  const Options &options;
  Report &report;
  GlobalMemory &global;
  LaunchState &launch;
  GroupState &group;
  bool inShared = false;                         // the access being checked is to shared memory
  const machine::MemoryEvent *current = nullptr; // the access being checked, and its run of lanes
  const Run *currentRun = nullptr;
  const std::byte *held = nullptr; // the values that earlier writes left in its sector
  uint32_t heldBytes = 0;          // how many of those bytes may be read
  bool isReplay = false;           // the access comes from the read log and was made in replayEpoch
  uint32_t replayEpoch = 0;
};

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_DETECTOR_H
