// A vector clock: the accesses that happen before a thread's next access.
//
// A warp counts epochs: an epoch ends whenever lanes of the warp execute a release. For each warp
// of a group of resident blocks, the clock holds an epoch: all accesses of that warp up to this
// epoch happen before the thread's next access. For some lanes of a warp it holds a later epoch,
// because often a single lane waits and signals. Asynchronous copies are ordered by the phases of
// the mbarriers that they complete. Warps of other groups are ordered only through flags in global
// memory. This is rare, so their epochs are in a map.
#ifndef TILEWRIGHT_VGPU_CHECK_CLOCK_H
#define TILEWRIGHT_VGPU_CHECK_CLOCK_H

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tilewright::vgpu::check {

/// Lanes of one warp of the group whose known epoch is later than that of the whole warp.
struct LaneEpoch {
  uint32_t warp = 0; // index in the group
  uint32_t mask = 0;
  uint32_t epoch = 0;
};

/// The key in ForeignEpochs of a lane in another group of resident blocks; lane 32 means the whole
/// warp.
constexpr uint64_t foreignKey(uint64_t block, uint32_t warp, uint32_t lane) {
  return (block * 32 + warp) * 33 + lane;
}
/// The block of a key.
constexpr uint64_t foreignBlock(uint64_t key) { return key / 33 / 32; }
using ForeignEpochs = std::unordered_map<uint64_t, uint32_t>;

class Clock {
public:
  /// Whether the clock covers the access of `lane` (32: of several lanes) in `epoch`.
  bool knows(uint32_t warp, uint32_t lane, uint32_t epoch) const {
    if (warp < warps.size() && warps[warp] >= epoch)
      return true;
    return !lanes.empty() && knowsLane(warp, lane, epoch);
  }
  /// Whether the clock covers `epoch` for at least one of the lanes in `mask`.
  bool knowsOneOf(uint32_t warp, uint32_t mask, uint32_t epoch) const {
    if (warp < warps.size() && warps[warp] >= epoch)
      return true;
    for (const LaneEpoch &known : lanes)
      if (known.warp == warp && known.epoch >= epoch && (known.mask & mask) != 0)
        return true;
    return false;
  }
  /// Whether the clock covers `epoch` for all of the lanes in `mask`.
  bool knowsAllOf(uint32_t warp, uint32_t mask, uint32_t epoch) const {
    if (warp < warps.size() && warps[warp] >= epoch)
      return true;
    for (const LaneEpoch &known : lanes)
      if (known.warp == warp && known.epoch >= epoch)
        mask &= ~known.mask;
    return mask == 0;
  }
  bool knowsForeign(uint64_t block, uint32_t warp, uint32_t lane, uint32_t epoch) const;
  /// Whether the clock covers the end of phase `phase` of the mbarrier with number `slot`.
  bool knowsPhase(uint32_t slot, uint64_t phase) const {
    return slot < phases.size() && phases[slot] > phase;
  }

  void join(const Clock &other);
  /// Records that the accesses of all lanes of `warp` up to `epoch` happen before the thread's next
  /// access.
  void learn(uint32_t warp, uint32_t epoch);
  void learnLanes(uint32_t warp, uint32_t mask, uint32_t epoch);
  void learnPhase(uint32_t slot, uint64_t phase);
  void joinForeign(const std::shared_ptr<const ForeignEpochs> &other);
  bool isEmpty() const { return warps.empty() && phases.empty() && lanes.empty() && !foreign; }

  const std::vector<uint32_t> &warpEpochs() const { return warps; }
  const std::vector<LaneEpoch> &laneEpochs() const { return lanes; }
  const std::shared_ptr<const ForeignEpochs> &foreignEpochs() const { return foreign; }

private:
  bool knowsLane(uint32_t warp, uint32_t lane, uint32_t epoch) const;

  std::vector<uint32_t> warps;  // epoch, by index in the group
  std::vector<uint64_t> phases; // number of phases that are over, by number of the mbarrier
  std::vector<LaneEpoch> lanes;
  std::shared_ptr<const ForeignEpochs> foreign;
};

/// A clock for generic accesses, and one for each kind of proxy fence, which holds the accesses
/// that such fences have made visible to other proxies. Every synchronisation transfers all of
/// these clocks.
struct Knowledge {
  Clock base;
  // Accesses that fence.proxy.async orders before asynchronous accesses to shared memory, and to
  // global memory.
  Clock fenced, fencedGlobal;
  Clock released; // what fence.proxy.tensormap.release covers
  /// The released accesses that fence.proxy.tensormap.acquire made visible for the tensor map at
  /// `address` (0: for all maps).
  struct Acquired {
    uint64_t address = 0;
    Clock clock;
  };
  std::vector<Acquired> acquired;
  Clock inits; // initialised mbarriers that fence.mbarrier_init covers

  Clock &acquiredAt(uint64_t address) {
    for (Acquired &one : acquired)
      if (one.address == address)
        return one.clock;
    return acquired.emplace_back(Acquired{address, {}}).clock;
  }
  void join(const Knowledge &other) {
    base.join(other.base);
    if (!other.fenced.isEmpty())
      fenced.join(other.fenced);
    if (!other.fencedGlobal.isEmpty())
      fencedGlobal.join(other.fencedGlobal);
    if (!other.released.isEmpty())
      released.join(other.released);
    for (const Acquired &one : other.acquired)
      acquiredAt(one.address).join(one.clock);
    if (!other.inits.isEmpty())
      inits.join(other.inits);
  }
};

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_CLOCK_H
