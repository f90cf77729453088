#include "tilewright/vgpu/machine/memory/ValidMemory.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/memory/Multicast.h"

namespace tilewright::vgpu::machine {

ValidMemory::ValidMemory(std::vector<ValidRange> own, Accessor accessor)
    : own(std::move(own)), by(accessor), table(allocations().snapshot()) {}

/// The valid range around `address`. Adjacent mappings form one range, because programs grow arrays
/// by mapping more memory after them.
static ValidRange rangeAt(const AllocationTable &table, uint64_t address, const Accessor &by) {
  const Allocation *found = table.find(address);
  if (!found || !by.mayAccess(*found))
    return {};
  uint64_t begin = found->begin, end = found->end;
  if (found->kind == AllocationKind::mapped) {
    auto joins = [&](const Allocation *one) {
      return one && one->kind == AllocationKind::mapped && by.mayAccess(*one);
    };
    for (const Allocation *one = table.find(end); joins(one); one = table.find(end))
      end = one->end;
    for (const Allocation *one = table.find(begin - 1); joins(one); one = table.find(begin - 1))
      begin = one->begin;
  }
  return {begin, end - begin};
}

ValidRange ValidMemory::find(uint64_t address) {
  for (const ValidRange &range : own)
    if (range.holds(address, 1))
      return range;
  std::lock_guard lock(mutex);
  if (const ValidRange found = rangeAt(*table, address, by); found.bytes != 0)
    return found;
  std::shared_ptr<const AllocationTable> now = allocations().snapshot();
  if (now == table)
    return {};
  table = std::move(now);
  return rangeAt(*table, address, by);
}

uint64_t ValidMemory::home(uint64_t address) {
  std::lock_guard lock(mutex);
  return table->home(address);
}

ValidRange ValidMemory::findHome(uint64_t address) {
  {
    std::lock_guard lock(mutex);
    if (const Allocation *found = table->hasHomes() ? table->find(address) : nullptr;
        found && found->kind == AllocationKind::home)
      return {found->begin, found->bytes()};
  }
  return find(address);
}

bool ValidMemory::hasHomes() {
  std::lock_guard lock(mutex);
  return table->hasHomes();
}

static std::string_view nameOf(AllocationKind kind) {
  switch (kind) {
  case AllocationKind::device:
    return "device memory";
  case AllocationKind::pool:
    return "device memory of a pool";
  case AllocationKind::managed:
    return "managed memory";
  case AllocationKind::host:
    return "pinned host memory";
  case AllocationKind::registered:
    return "registered host memory";
  case AllocationKind::variable:
    return "a variable of a module";
  case AllocationKind::heap:
    return "the heap of kernels";
  case AllocationKind::mapped:
  case AllocationKind::home:
    return "mapped device memory";
  }
  return "memory";
}

static std::string bytesOf(const Allocation &one) {
  return concat(one.bytes(), " bytes of ", nameOf(one.kind));
}

std::string describeInvalid(uint64_t address, const Accessor &by) {
  // An allocation that is farther away is unrelated to the access.
  constexpr uint64_t near = uint64_t(1) << 24;
  if (address < 4096)
    return "is near the null address";
  if (multicasts().find(address))
    return "is in the mapping of a multicast object, which cannot be read; use multimem.ld_reduce";
  const std::shared_ptr<const AllocationTable> table = allocations().snapshot();
  const Allocation *before = table->before(address), *after = table->after(address);
  if (const Allocation *found = table->find(address); found && !by.mayAccess(*found))
    return concat("is in memory of device ", found->device, ", to which device ", by.device,
                  " has no access; ",
                  found->kind == AllocationKind::mapped ? "call cuMemSetAccess for this device"
                                                        : "call cuCtxEnablePeerAccess");
  if (before && address < before->end)
    return concat("begins ", before->end - address, " bytes before the end of an allocation of ",
                  bytesOf(*before), " and extends past it");
  if (const std::optional<Allocation> freed = allocations().findFreed(address))
    return concat("is a use after free: at offset ", address - freed->begin,
                  " of a freed allocation of ", bytesOf(*freed));
  const uint64_t behind = before ? address - before->end : ~uint64_t(0);
  const uint64_t ahead = after ? after->begin - address : ~uint64_t(0);
  if (behind <= ahead && behind < near)
    return concat("is out of bounds: ", behind, " bytes past the end of an allocation of ",
                  bytesOf(*before));
  if (ahead < near)
    return concat("is out of bounds: ", ahead, " bytes before an allocation of ", bytesOf(*after));
  return "is outside of every allocation";
}

} // namespace tilewright::vgpu::machine
