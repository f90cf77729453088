// What a thread knows to have happened before its next access.
//
// A warp counts epochs: one ends whenever lanes of it release something. A clock
// says, for each warp of a group of resident blocks, up to which epoch all of its
// accesses are known, and for some lanes of a warp that more of theirs is, since
// often one lane alone waits and signals. What asynchronous copies did is known by
// the phases of the mbarriers that they complete. Warps of other groups are only
// known through flags in global memory, which is rare: they are a map.
#ifndef TILEWRIGHT_VGPU_CHECK_CLOCK_H
#define TILEWRIGHT_VGPU_CHECK_CLOCK_H

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tilewright::vgpu::check {

/// Lanes of one warp of the group of which more is known than of the others.
struct LaneEpoch {
  uint32_t warp = 0; // index in the group
  uint32_t mask = 0;
  uint32_t epoch = 0;
};

/// A warp of another group and a lane of it, or 32 for all lanes, as one number.
constexpr uint64_t foreignKey(uint64_t block, uint32_t warp, uint32_t lane) {
  return (block * 32 + warp) * 33 + lane;
}
using ForeignEpochs = std::unordered_map<uint64_t, uint32_t>;

class Clock {
public:
  /// Whether the access of a lane (32: of several) in `epoch` is known.
  bool knows(uint32_t warp, uint32_t lane, uint32_t epoch) const {
    if (warp < warps.size() && warps[warp] >= epoch)
      return true;
    return !lanes.empty() && knowsLane(warp, lane, epoch);
  }
  /// Whether what one of the lanes of `mask` did in `epoch` is known, whichever it is.
  bool knowsOneOf(uint32_t warp, uint32_t mask, uint32_t epoch) const {
    if (warp < warps.size() && warps[warp] >= epoch)
      return true;
    for (const LaneEpoch &known : lanes)
      if (known.warp == warp && known.epoch >= epoch && (known.mask & mask) != 0)
        return true;
    return false;
  }
  bool knowsForeign(uint64_t block, uint32_t warp, uint32_t lane, uint32_t epoch) const;
  /// Whether phase `phase` of the mbarrier with number `slot` is known to be over.
  bool knowsPhase(uint32_t slot, uint64_t phase) const {
    return slot < phases.size() && phases[slot] > phase;
  }

  void join(const Clock &other);
  /// All lanes of `warp` are known up to `epoch`.
  void learn(uint32_t warp, uint32_t epoch);
  void learnLanes(uint32_t warp, uint32_t mask, uint32_t epoch);
  void learnPhase(uint32_t slot, uint64_t phase);
  void joinForeign(const std::shared_ptr<const ForeignEpochs> &other);
  bool isEmpty() const { return warps.empty() && phases.empty() && lanes.empty() && !foreign; }
  void clear();

  const std::vector<uint32_t> &warpEpochs() const { return warps; }
  const std::vector<LaneEpoch> &laneEpochs() const { return lanes; }
  const std::shared_ptr<const ForeignEpochs> &foreignEpochs() const { return foreign; }

private:
  bool knowsLane(uint32_t warp, uint32_t lane, uint32_t epoch) const;

  std::vector<uint32_t> warps;  // by index in the group
  std::vector<uint64_t> phases; // by number of the mbarrier: phases that are over
  std::vector<LaneEpoch> lanes;
  std::shared_ptr<const ForeignEpochs> foreign;
};

/// The clock of what is ordered before generic accesses, and those of what fences
/// have made visible to other proxies. All are carried along by what synchronises.
struct Knowledge {
  Clock base;
  // By fence.proxy.async: ordered before asynchronous accesses to shared memory, to global memory.
  Clock fenced, fencedGlobal;
  Clock released; // by fence.proxy.tensormap.release
  /// By fence.proxy.tensormap.acquire, of what was released: for the map at an address, or
  /// for all (0).
  struct Acquired {
    uint64_t address = 0;
    Clock clock;
  };
  std::vector<Acquired> acquired;
  Clock inits; // by fence.mbarrier_init: mbarriers that were initialised

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
