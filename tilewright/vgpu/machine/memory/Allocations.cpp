#include "tilewright/vgpu/machine/memory/Allocations.h"

#include <algorithm>

namespace tilewright::vgpu::machine {

static bool holds(const Allocation &allocation, uint64_t address) {
  return allocation.begin <= address && address < allocation.end;
}

AllocationTable::AllocationTable(std::vector<Allocation> all)
    : sorted(std::move(all)),
      withHomes(std::any_of(sorted.begin(), sorted.end(),
                            [](const Allocation &one) { return one.home != 0; })) {}

uint64_t AllocationTable::home(uint64_t address) const {
  const Allocation *found = withHomes ? find(address) : nullptr;
  return found && found->home ? found->home + (address - found->begin) : address;
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

bool Accessor::mayAccess(const Allocation &allocation) const {
  if (device < 0)
    return true;
  const uint64_t bit = uint64_t(1) << device;
  switch (allocation.kind) {
  case AllocationKind::managed:
  case AllocationKind::host:
  case AllocationKind::registered:
    return true;
  case AllocationKind::mapped:
    return (allocation.sharedWith & bit) != 0;
  case AllocationKind::home:
    return false;
  default:
    return allocation.device < 0 || allocation.device == device ||
           (allocation.sharedWith & bit) != 0 || (peers >> allocation.device & 1) != 0;
  }
}

uint64_t Allocations::add(Allocation allocation) {
  std::lock_guard lock(mutex);
  current.reset();
  allocation.id = nextId++;
  byBegin[allocation.begin] = allocation;
  return allocation.id;
}

void Allocations::share(uint64_t begin, uint64_t sharedWith) {
  std::lock_guard lock(mutex);
  current.reset();
  if (auto found = byBegin.find(begin); found != byBegin.end())
    found->second.sharedWith = sharedWith;
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
