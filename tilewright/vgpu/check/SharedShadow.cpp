#include "tilewright/vgpu/check/SharedShadow.h"

#include <algorithm>
#include <bit>

namespace tilewright::vgpu::check {

void RangeAccess::extend(const RangeAccess &other) {
  for (uint64_t rest = other.record.isLaneless ? 0 : other.chunks; rest != 0; rest &= rest - 1) {
    const auto chunk = static_cast<uint32_t>(std::countr_zero(rest));
    lanes[chunk] = other.lanes[chunk];
  }
  chunks |= other.chunks;
  if ((other.laneMask & ~laneMask) != 0)
    knownBy = 0;
  laneMask |= other.laneMask;
}

bool RangeAccess::hasLanesOf(const RangeAccess &other, uint64_t some) const {
  for (uint64_t rest = some; rest != 0; rest &= rest - 1) {
    const auto chunk = static_cast<uint32_t>(std::countr_zero(rest));
    if (lanes[chunk] != other.lanes[chunk])
      return false;
  }
  return true;
}

uint32_t SharedPage::sectorsOf(uint64_t chunks) {
  // Join each pair of bits, then move the even bits together.
  uint64_t even = (chunks | chunks >> 1) & 0x5555555555555555u;
  even = (even | even >> 1) & 0x3333333333333333u;
  even = (even | even >> 2) & 0x0f0f0f0f0f0f0f0fu;
  even = (even | even >> 4) & 0x00ff00ff00ff00ffu;
  even = (even | even >> 8) & 0x0000ffff0000ffffu;
  return static_cast<uint32_t>(even | even >> 16);
}

void SharedPage::add(const RangeAccess &access) {
  const AccessRecord &now = access.record;
  for (RangeAccess &entry : ranges) {
    const AccessRecord &earlier = entry.record;
    if (earlier.sameActor(now) && earlier.instruction == now.instruction &&
        earlier.kind == now.kind && earlier.proxy == now.proxy &&
        (entry.chunks & access.chunks) == 0) {
      entry.extend(access);
      return;
    }
  }
  ranges.push_back(access);
}

void SharedPage::dropEmpty() {
  std::erase_if(ranges, [](const RangeAccess &entry) { return entry.chunks == 0; });
}

Sector &SharedPage::own(uint32_t sector) {
  if (!sectors)
    sectors = std::make_unique<Sector[]>(sectorCount);
  Sector &list = sectors[sector];
  if (split >> sector & 1)
    return list;
  split |= 1u << sector;
  const uint32_t first = 2 * sector;
  list.clear();
  bool isEmptied = false;
  for (RangeAccess &entry : ranges) {
    const auto both = static_cast<uint32_t>(entry.chunks >> first & 3);
    if (both == 0)
      continue;
    entry.chunks &= ~(uint64_t(3) << first);
    isEmptied = isEmptied || entry.chunks == 0;
    AccessRecord record = entry.record;
    record.laneShift = 5;
    if (both == 3 && (record.isLaneless || entry.lanes[first + 1] == entry.lanes[first] + 1)) {
      if (!record.isLaneless) {
        record.laneShift = 4;
        record.firstLane = entry.lanes[first];
      }
      list.add({record, ~0u});
      continue;
    }
    for (uint32_t half = 0; half < 2; ++half)
      if (both >> half & 1) {
        if (!record.isLaneless)
          record.firstLane = entry.lanes[first + half];
        list.add({record, 0xffffu << (16 * half)});
      }
  }
  if (isEmptied)
    dropEmpty();
  const auto written = static_cast<uint32_t>(initialised >> first & 3);
  list.initialised |= (written & 1 ? 0xffffu : 0) | (written & 2 ? 0xffff0000u : 0);
  return list;
}

void SharedPage::joinAfter(const AccessRecord &write, uint32_t sector, bool isMatrix) {
  Sector &list = sectors[sector];
  RangeAccess access;
  for (uint32_t i = 0; i < list.size(); ++i) {
    const auto &[record, mask] = list[i];
    if (!record.sameActor(write) || record.instruction != write.instruction ||
        record.kind != write.kind || record.isStrong || record.isMany || record.laneShift < 4)
      return;
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t byte = 16 * half, part = mask >> byte & 0xffff, chunk = 2 * sector + half;
      const uint64_t bit = uint64_t(1) << chunk;
      // A chunk that several lanes wrote, or that was written twice, has no single writer lane.
      if (part == 0)
        continue;
      if (part != 0xffff || (access.chunks & bit) != 0)
        return;
      access.chunks |= bit;
      if (!write.isLaneless) {
        const uint32_t lane = record.laneOf(byte);
        access.lanes[chunk] = static_cast<int8_t>(lane);
        access.laneMask |= 1u << lane;
      }
    }
  }
  const uint64_t both = uint64_t(3) << (2 * sector);
  if (access.chunks != both)
    return;
  access.record = write;
  access.record.laneShift = 5;
  access.isMatrix = isMatrix;
  add(access);
  split &= ~(1u << sector);
  initialised |= both;
  list.clear();
}

void SharedShadow::forget(uint32_t offset, uint32_t bytes) {
  for (uint32_t at = offset; at < offset + bytes;) {
    SharedPage &here = page(at / SharedPage::bytes);
    const uint32_t first = at % SharedPage::bytes / SharedPage::chunkBytes;
    const uint32_t next =
        std::min(offset + bytes, (at / SharedPage::bytes + 1) * SharedPage::bytes);
    const uint32_t count = (next - at) / SharedPage::chunkBytes;
    const uint64_t chunks = (count >= 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1) << first;
    here.initialised &= ~chunks;
    for (RangeAccess &entry : here.ranges)
      entry.chunks &= ~chunks;
    here.dropEmpty();
    for (uint32_t rest = SharedPage::sectorsOf(chunks) & here.split; rest != 0; rest &= rest - 1) {
      Sector &sector = here.sectors[static_cast<size_t>(std::countr_zero(rest))];
      sector.clear();
      sector.initialised = 0;
    }
    at = next;
  }
}

bool SharedShadow::isInitialised(uint32_t sector) const {
  const SharedPage &page = pages[sector / SharedPage::sectorCount];
  const uint32_t within = sector % SharedPage::sectorCount;
  if (page.split >> within & 1)
    return page.sectors[within].initialised == ~0u;
  return (page.initialised >> (2 * within) & 3) == 3;
}

} // namespace tilewright::vgpu::check
