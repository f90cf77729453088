// Accesses to shared memory in chunks of 16 bytes, checked by page. See SharedShadow.h.
//
// This is only a fast path for accesses that are ordered. Whenever the order of two accesses is not
// the same for all their lanes, or they may race, the sectors get their own lists, and the rules of
// Compare.cpp decide and report.
#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/machine/memory/Memory.h"

#include <algorithm>
#include <bit>

namespace tilewright::vgpu::check {

using machine::AccessKind;
using machine::GroupKind;
using machine::MemoryEvent;
using machine::Order;
using machine::Proxy;

/// The chunks of one page that an event accesses.
struct Detector::Piece {
  uint32_t page = 0;
  RangeAccess access; // without its record
};

/// The bits [from, to) of a page's chunks.
static uint64_t chunkMask(uint32_t from, uint32_t to) {
  const uint64_t below = to - from >= 64 ? ~uint64_t(0) : (uint64_t(1) << (to - from)) - 1;
  return below << from;
}

/// Splits an event by pages. False if it does not consist of chunks below `limit`, or if several
/// lanes access the same chunk.
bool Detector::collectPieces(const MemoryEvent &event, uint32_t mask, bool isLaneless,
                             uint64_t limit, std::vector<Piece> &pieces) const {
  pieces.clear();
  auto pieceOf = [&](uint32_t page) -> RangeAccess & {
    for (size_t i = pieces.size(); i-- > 0;)
      if (pieces[i].page == page)
        return pieces[i].access;
    pieces.emplace_back().page = page;
    return pieces.back().access;
  };
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint64_t offset = event.addresses[lane] & machine::sharedOffsetMask;
    if (offset % SharedPage::chunkBytes != 0 || offset + event.bytes > limit)
      return false;
    if (!isLaneless) {
      const auto chunk = static_cast<uint32_t>(offset / SharedPage::chunkBytes);
      RangeAccess &access = pieceOf(chunk / SharedPage::chunkCount);
      const uint64_t bit = uint64_t(1) << chunk % SharedPage::chunkCount;
      if ((access.chunks & bit) != 0)
        return false;
      access.chunks |= bit;
      access.lanes[chunk % SharedPage::chunkCount] = static_cast<int8_t>(lane);
      access.laneMask |= 1u << lane;
      continue;
    }
    const auto end = static_cast<uint32_t>(offset) + event.bytes;
    for (auto at = static_cast<uint32_t>(offset); at < end;) {
      const uint32_t page = at / SharedPage::bytes, base = page * SharedPage::bytes;
      const uint32_t next = std::min(base + SharedPage::bytes, end);
      RangeAccess &access = pieceOf(page);
      const uint32_t first = (at - base) / SharedPage::chunkBytes;
      access.chunks |= chunkMask(first, (next - base) / SharedPage::chunkBytes);
      at = next;
    }
  }
  return true;
}

uint32_t Detector::accessRanges(const Actor &actor, const MemoryEvent &event, uint32_t mask) {
  const bool isLaneless = actor.operation && actor.operation->group != GroupKind::copy;
  if (isReplay || !options.byPages || !options.races || event.order != Order::weak ||
      event.kind == AccessKind::atomic || event.proxy == Proxy::tensormap ||
      event.bytes % SharedPage::chunkBytes != 0 ||
      (isLaneless ? event.values != nullptr : event.bytes != SharedPage::chunkBytes))
    return mask;
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  const uint64_t window = event.addresses[first] & ~uint64_t(machine::sharedOffsetMask);
  if ((window & machine::windowMask) != machine::sharedWindow)
    return mask;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
    if ((event.addresses[std::countr_zero(rest)] & ~uint64_t(machine::sharedOffsetMask)) != window)
      return mask;
  const auto rank = static_cast<uint32_t>(window >> machine::sharedOffsetBits & 0xff);
  BlockState *block = rank == 0 ? &actor.block : group.blockAt(actor.block, rank - 1);
  if (!block || (!actor.operation && block != &actor.block))
    return mask;
  static thread_local std::vector<Piece> pieces;
  if (!collectPieces(event, mask, isLaneless, block->shared.bytes(), pieces))
    return mask;
  AccessRecord record = recordOf(actor, event);
  record.firstLane = static_cast<int8_t>(first);
  if (actor.operation)
    touchShared(actor, *block);
  if (!record.isRead())
    beforeSharedWrite(actor, *block, record);
  inShared = true;
  uint32_t lanesLeft = 0;
  for (Piece &piece : pieces) {
    RangeAccess &access = piece.access;
    access.record = record;
    access.isMatrix = isMatrix(actor);
    if (checkPiece(actor, block->shared.page(piece.page), access))
      continue;
    lanesLeft |= access.laneMask;
    // The operation has no lanes: check each run of chunks.
    for (uint64_t rest = isLaneless ? access.chunks : 0; rest != 0;) {
      const auto chunk = static_cast<uint32_t>(std::countr_zero(rest));
      const auto count = static_cast<uint32_t>(std::countr_one(rest >> chunk));
      rest &= ~chunkMask(chunk, chunk + count);
      accessRun(
          actor, event,
          {window | (uint64_t(piece.page) * SharedPage::bytes + SharedPage::chunkBytes * chunk),
           uint64_t(count) * SharedPage::chunkBytes, first, 5, false});
    }
  }
  return lanesLeft;
}

/// Compares an access with the earlier accesses to the same chunks, and adds it to them. False if
/// the page cannot decide; then nothing was added.
bool Detector::checkPiece(const Actor &actor, SharedPage &page, RangeAccess &access) {
  const uint64_t chunks = access.chunks;
  const AccessRecord &now = access.record;
  const bool isRead = now.isRead();
  if ((SharedPage::sectorsOf(chunks) & (page.split | page.mbarriers)) != 0 ||
      (isRead && (chunks & ~page.initialised) != 0) || page.ranges.size() >= SharedPage::maxRanges)
    return false;
  bool isEmptied = false;
  for (RangeAccess &entry : page.ranges) {
    const uint64_t overlap = entry.chunks & chunks;
    if (overlap == 0)
      continue;
    const AccessRecord &earlier = entry.record;
    bool isDropped = !isRead;
    if (isRead && earlier.isRead()) {
      // Of the reads by the same lanes, keep only the last one. The same holds for the wgmma of one
      // warp: they complete in order, so a thread that waited for the later one also waited for the
      // earlier one.
      const bool isSameWarp = earlier.block == now.block && earlier.warp == now.warp;
      isDropped =
          isSameWarp && earlier.proxy == now.proxy &&
          (entry.isMatrix ? access.isMatrix
                          : earlier.op == 0 && now.op == 0 && entry.hasLanesOf(access, overlap));
      isDropped = isDropped || (now.accessProxy() == Proxy::generic && earlier.op == 0 &&
                                isBeforeRange(actor, entry, access));
    } else if (!isBeforeRange(actor, entry, access)) {
      return false;
    }
    if (isDropped) {
      entry.chunks &= ~overlap;
      isEmptied = isEmptied || entry.chunks == 0;
    }
  }
  if (isEmptied)
    page.dropEmpty();
  if (!isRead)
    page.initialised |= chunks;
  page.add(access);
  return true;
}

/// Whether all lanes of `earlier` made their accesses before all lanes of `now` make theirs. Also
/// false if in doubt.
bool Detector::isBeforeRange(const Actor &actor, RangeAccess &entry, const RangeAccess &access) {
  const AccessRecord &earlier = entry.record, &now = access.record;
  if (earlier.op != 0 && earlier.op == now.op && earlier.block == now.block)
    return true;
  if (earlier.isLaneless && now.isLaneless)
    return orderOfOperations(actor, earlier, 0, now) == Ordering::ordered;
  const bool isOwnBlock = earlier.block == actor.block.linear;
  // Caches which warps have synchronised with the earlier access. An asynchronous operation has
  // only the order known at its issue, so it does not use the cache.
  const uint32_t bit =
      !actor.operation && actor.warp.cohorts.size() == 1 ? 1u << actor.warp.index : 0;
  if (isOwnBlock && (entry.knownBy & bit) != 0)
    return true;
  const bool crosses =
      now.accessProxy() != Proxy::generic && earlier.accessProxy() == Proxy::generic;
  const Clock &clock = crosses ? actor.knowledge->fenced : actor.knowledge->base;
  bool isBefore = false;
  if (earlier.op == 0) {
    isBefore = isOwnBlock && clock.knowsAllOf(actor.block.warps[earlier.warp].groupIndex,
                                              entry.laneMask, earlier.epoch);
  } else if (earlier.isLaneless) {
    // Lanes that waited for the operation themselves may have a later clock than the rest of their
    // warp.
    if (!knows(actor, clock, earlier, 0, 0))
      return !crosses && knows(actor, clock, earlier, 0, access.laneMask);
    isBefore = true;
  } else if (const AsyncState *operation = operationOf(earlier.op)) {
    // cp.async: every lane must have waited for its own copy.
    for (const CompletionMark &mark : operation->completions) {
      if ((mark.isReadOnly && !earlier.isRead()) || (entry.laneMask & ~mark.mask) != 0)
        continue;
      isBefore = mark.isPhase ? clock.knowsPhase(mark.warp, mark.epoch)
                              : clock.knowsAllOf(mark.warp, entry.laneMask,
                                                 static_cast<uint32_t>(mark.epoch));
      if (isBefore)
        break;
    }
  }
  if (isBefore && isOwnBlock)
    entry.knownBy |= bit;
  return isBefore;
}

} // namespace tilewright::vgpu::check
