#include "tilewright/vgpu/check/Clock.h"

#include <algorithm>
#include <bit>

namespace tilewright::vgpu::check {

bool Clock::knowsLane(uint32_t warp, uint32_t lane, uint32_t epoch) const {
  for (const LaneEpoch &known : lanes)
    if (known.warp == warp && known.epoch >= epoch &&
        // If several lanes made the access, knowing one of them is not enough.
        (lane < 32 ? (known.mask >> lane & 1) != 0 : std::popcount(known.mask) > 1))
      return true;
  return false;
}

bool Clock::knowsForeign(uint64_t block, uint32_t warp, uint32_t lane, uint32_t epoch) const {
  if (!foreign)
    return false;
  for (uint32_t lanes : {32u, lane})
    if (auto found = foreign->find(foreignKey(block, warp, lanes));
        found != foreign->end() && found->second >= epoch)
      return true;
  return false;
}

void Clock::join(const Clock &other) {
  if (warps.size() < other.warps.size())
    warps.resize(other.warps.size());
  for (size_t i = 0; i < other.warps.size(); ++i)
    warps[i] = std::max(warps[i], other.warps[i]);
  if (phases.size() < other.phases.size())
    phases.resize(other.phases.size());
  for (size_t i = 0; i < other.phases.size(); ++i)
    phases[i] = std::max(phases[i], other.phases[i]);
  if (!lanes.empty())
    std::erase_if(lanes, [&](const LaneEpoch &known) {
      return known.warp < warps.size() && warps[known.warp] >= known.epoch;
    });
  for (const LaneEpoch &known : other.lanes)
    learnLanes(known.warp, known.mask, known.epoch);
  if (other.foreign)
    joinForeign(other.foreign);
}

void Clock::learn(uint32_t warp, uint32_t epoch) {
  if (warps.size() <= warp)
    warps.resize(warp + 1);
  if (warps[warp] >= epoch)
    return;
  warps[warp] = epoch;
  if (!lanes.empty())
    std::erase_if(
        lanes, [&](const LaneEpoch &known) { return known.warp == warp && known.epoch <= epoch; });
}

void Clock::learnLanes(uint32_t warp, uint32_t mask, uint32_t epoch) {
  if (warp < warps.size() && warps[warp] >= epoch)
    return;
  for (LaneEpoch &known : lanes) {
    if (known.warp != warp)
      continue;
    if (known.epoch >= epoch && (mask & ~known.mask) == 0)
      return;
    if (known.mask == mask) {
      known.epoch = epoch;
      return;
    }
    // The new entry has a later epoch for these lanes: remove them from the old entry.
    if (known.epoch <= epoch)
      known.mask &= ~mask;
  }
  std::erase_if(lanes, [](const LaneEpoch &known) { return known.mask == 0; });
  lanes.push_back({warp, mask, epoch});
}

void Clock::learnPhase(uint32_t slot, uint64_t phase) {
  if (phases.size() <= slot)
    phases.resize(slot + 1);
  phases[slot] = std::max(phases[slot], phase + 1);
}

void Clock::joinForeign(const std::shared_ptr<const ForeignEpochs> &other) {
  if (!other || other == foreign)
    return;
  if (!foreign) {
    foreign = other;
    return;
  }
  auto merged = std::make_shared<ForeignEpochs>(*foreign);
  for (const auto &[key, epoch] : *other) {
    uint32_t &known = (*merged)[key];
    known = std::max(known, epoch);
  }
  foreign = std::move(merged);
}

} // namespace tilewright::vgpu::check
