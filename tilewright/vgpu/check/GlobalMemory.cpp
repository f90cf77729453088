#include "tilewright/vgpu/check/GlobalMemory.h"

namespace tilewright::vgpu::check {

const Allocation *AllocationTable::find(uint64_t address) const {
  auto after = byBegin.upper_bound(address);
  if (after != byBegin.begin()) {
    const Allocation &before = *std::prev(after)->second;
    if (address < before.begin + before.bytes + before.redZone)
      return &before;
  }
  if (after != byBegin.end() && address + after->second->redZone >= after->second->begin)
    return after->second.get();
  return nullptr;
}

std::shared_ptr<const AllocationTable> GlobalMemory::table() const {
  std::lock_guard lock(tableMutex);
  return current;
}

void GlobalMemory::allocated(uint64_t begin, uint64_t bytes, uint64_t redZone, bool isInitialised) {
  auto allocation = std::make_shared<Allocation>();
  allocation->begin = begin;
  allocation->bytes = bytes;
  allocation->redZone = redZone;
  allocation->isTracked = !isInitialised;
  if (!isInitialised) {
    const uint64_t sectors = (begin + bytes) / Sector::bytes - begin / Sector::bytes + 1;
    allocation->initialised = std::make_unique<std::atomic<uint32_t>[]>(sectors);
  }
  std::lock_guard lock(tableMutex);
  auto next = std::make_shared<AllocationTable>(*current);
  next->byBegin[begin] = std::move(allocation);
  current = std::move(next);
}

void GlobalMemory::freed(uint64_t begin) {
  uint64_t end = begin;
  {
    std::lock_guard lock(tableMutex);
    auto found = current->byBegin.find(begin);
    if (found == current->byBegin.end())
      return;
    end = begin + found->second->bytes;
    auto next = std::make_shared<AllocationTable>(*current);
    next->byBegin.erase(begin);
    current = std::move(next);
  }
  // The arena rarely reuses addresses, so pages of freed memory would accumulate: recycle them. The
  // first and the last page may be shared with an adjacent allocation, so recycle only whole pages.
  const uint64_t first = (begin + Page::bytes - 1) / Page::bytes, last = end / Page::bytes;
  std::lock_guard lock(pagesMutex);
  for (uint64_t number = first; number < last;) {
    Node *node = nodes[(number >> 2 * levelBits) % levelSize].load(std::memory_order_relaxed);
    Leaf *leaf =
        node ? node->leaves[(number >> levelBits) % levelSize].load(std::memory_order_relaxed)
             : nullptr;
    if (!leaf) {
      number = (number / levelSize + 1) * levelSize;
      continue;
    }
    if (Page *page = leaf->pages[number % levelSize].exchange(nullptr)) {
      // A launch that still uses the freed memory may hold a pointer to this page, so recycle the
      // page instead of destroying it.
      page->launch.store(0, std::memory_order_release);
      unused.push_back(page);
    }
    ++number;
  }
}

void GlobalMemory::written(uint64_t begin, uint64_t bytes) {
  const std::shared_ptr<const AllocationTable> now = table();
  const uint64_t end = begin + bytes;
  for (uint64_t at = begin; at < end;) {
    const Allocation *allocation = now->find(at);
    if (!allocation || !allocation->isTracked || at < allocation->begin ||
        at >= allocation->begin + allocation->bytes)
      return;
    const uint64_t last = std::min(end, allocation->begin + allocation->bytes);
    while (at < last) {
      const uint64_t sectorEnd = std::min((at / Sector::bytes + 1) * Sector::bytes, last);
      const uint64_t from = at % Sector::bytes;
      const uint32_t mask = byteMask(from, from + (sectorEnd - at));
      allocation->wordOf(at).fetch_or(mask, std::memory_order_relaxed);
      at = sectorEnd;
    }
  }
}

Page &GlobalMemory::pageOf(uint64_t address) {
  const uint64_t number = address / Page::bytes;
  std::atomic<Node *> &top = nodes[(number >> 2 * levelBits) % levelSize];
  auto leafIn = [&](Node &node) -> std::atomic<Leaf *> & {
    return node.leaves[(number >> levelBits) % levelSize];
  };
  auto pageIn = [&](Leaf &leaf) -> std::atomic<Page *> & { return leaf.pages[number % levelSize]; };
  if (Node *node = top.load(std::memory_order_acquire))
    if (Leaf *leaf = leafIn(*node).load(std::memory_order_acquire))
      if (Page *page = pageIn(*leaf).load(std::memory_order_acquire))
        return *page;
  std::lock_guard lock(pagesMutex);
  auto makePage = [&](std::atomic<Page *> &at) {
    Page *there = at.load(std::memory_order_relaxed);
    if (!there && !unused.empty()) {
      there = unused.back();
      unused.pop_back();
      at.store(there, std::memory_order_release);
    }
  };
  // Creates the node unless another thread has created it by now.
  auto ensure = []<typename T>(std::atomic<T *> &at, std::vector<std::unique_ptr<T>> &owners) {
    T *there = at.load(std::memory_order_relaxed);
    if (!there) {
      there = owners.emplace_back(std::make_unique<T>()).get();
      at.store(there, std::memory_order_release);
    }
    return there;
  };
  std::atomic<Page *> &at = pageIn(*ensure(leafIn(*ensure(top, inner)), leaves));
  makePage(at);
  return *ensure(at, pages);
}

} // namespace tilewright::vgpu::check
