#include "tilewright/vgpu/machine/memory/ValidMemory.h"

#include "tilewright/support/Concat.h"

namespace tilewright::vgpu::machine {

ValidMemory::ValidMemory(std::vector<ValidRange> own)
    : own(std::move(own)), table(allocations().snapshot()) {}

static ValidRange asRange(const Allocation &allocation) {
  return {allocation.begin, allocation.bytes()};
}

ValidRange ValidMemory::find(uint64_t address) {
  for (const ValidRange &range : own)
    if (range.holds(address, 1))
      return range;
  std::lock_guard lock(mutex);
  if (const Allocation *found = table->find(address))
    return asRange(*found);
  std::shared_ptr<const AllocationTable> now = allocations().snapshot();
  if (now == table)
    return {};
  table = std::move(now);
  const Allocation *found = table->find(address);
  return found ? asRange(*found) : ValidRange{};
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
  }
  return "memory";
}

static std::string bytesOf(const Allocation &one) {
  return concat(one.bytes(), " bytes of ", nameOf(one.kind));
}

std::string describeInvalid(uint64_t address) {
  // An allocation that is farther away is unrelated to the access.
  constexpr uint64_t near = uint64_t(1) << 24;
  if (address < 4096)
    return "is near the null address";
  const std::shared_ptr<const AllocationTable> table = allocations().snapshot();
  const Allocation *before = table->before(address), *after = table->after(address);
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
