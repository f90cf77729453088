#include "tilewright/vgpu/machine/memory/Allocations.h"

#include <algorithm>

namespace tilewright::vgpu::machine {

static bool holds(const Allocation &allocation, uint64_t address) {
  return allocation.begin <= address && address < allocation.end;
}

const Allocation *AllocationTable::before(uint64_t address) const {
  auto next = std::upper_bound(sorted.begin(), sorted.end(), address,
                               [](uint64_t a, const Allocation &b) { return a < b.begin; });
  return next == sorted.begin() ? nullptr : &*std::prev(next);
}

const Allocation *AllocationTable::after(uint64_t address) const {
  auto next = std::upper_bound(sorted.begin(), sorted.end(), address,
                               [](uint64_t a, const Allocation &b) { return a < b.begin; });
  return next == sorted.end() ? nullptr : &*next;
}

const Allocation *AllocationTable::find(uint64_t address) const {
  const Allocation *found = before(address);
  return found && holds(*found, address) ? found : nullptr;
}

uint64_t Allocations::add(uint64_t begin, uint64_t bytes, AllocationKind kind, int device) {
  std::lock_guard lock(mutex);
  current.reset();
  const uint64_t id = nextId++;
  byBegin[begin] = {begin, begin + bytes, id, kind, device};
  return id;
}

std::optional<Allocation> Allocations::remove(uint64_t begin) {
  std::lock_guard lock(mutex);
  auto found = byBegin.find(begin);
  if (found == byBegin.end())
    return std::nullopt;
  current.reset();
  const Allocation gone = found->second;
  byBegin.erase(found);
  if (freed.size() < rememberedFrees)
    freed.push_back(gone);
  else
    freed[nextFreed] = gone;
  nextFreed = (nextFreed + 1) % rememberedFrees;
  return gone;
}

std::optional<Allocation> Allocations::find(uint64_t address) const {
  std::lock_guard lock(mutex);
  auto next = byBegin.upper_bound(address);
  if (next == byBegin.begin() || !holds(std::prev(next)->second, address))
    return std::nullopt;
  return std::prev(next)->second;
}

std::optional<Allocation> Allocations::findFreed(uint64_t address) const {
  std::lock_guard lock(mutex);
  std::optional<Allocation> latest;
  for (const Allocation &one : freed)
    if (holds(one, address) && (!latest || latest->id < one.id))
      latest = one;
  return latest;
}

bool Allocations::overlaps(uint64_t begin, uint64_t bytes) const {
  std::lock_guard lock(mutex);
  auto next = byBegin.lower_bound(begin + bytes);
  return next != byBegin.begin() && std::prev(next)->second.end > begin;
}

std::shared_ptr<const AllocationTable> Allocations::snapshot() const {
  std::lock_guard lock(mutex);
  if (!current) {
    std::vector<Allocation> sorted;
    sorted.reserve(byBegin.size());
    for (const auto &[begin, allocation] : byBegin)
      sorted.push_back(allocation);
    current = std::make_shared<const AllocationTable>(std::move(sorted));
  }
  return current;
}

Allocations &allocations() {
  // Never destroyed: threads of the driver may outlive main().
  static auto &only = *new Allocations();
  return only;
}

} // namespace tilewright::vgpu::machine
