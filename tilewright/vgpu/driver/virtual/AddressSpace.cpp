#include "tilewright/vgpu/driver/virtual/AddressSpace.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Memory.h"
#include "tilewright/vgpu/driver/virtual/Multicast.h"
#include "tilewright/vgpu/machine/memory/Multicast.h"

#include <sys/mman.h>
#include <unistd.h>

namespace tilewright::vgpu::driver {

static void *pointer(uint64_t address) { return reinterpret_cast<void *>(address); }

static bool isGranular(uint64_t number) { return number % granularity == 0; }

static uint64_t pageBytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

/// Maps inaccessible pages, at `hint` if they are free there; 0 if that is impossible.
static uint64_t takeAddresses(uint64_t bytes, uint64_t hint) {
  void *found =
      mmap(pointer(hint), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return found == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(found);
}

CUresult AddressSpace::reserve(uint64_t bytes, uint64_t alignment, uint64_t hint,
                               CUdeviceptr &address) {
  const uint64_t page = pageBytes();
  VGPU_NEED(bytes != 0 && bytes % page == 0 && hint % page == 0);
  VGPU_NEED((alignment & (alignment - 1)) == 0);
  alignment = std::max(alignment, granularity);
  // A guard page separates reservations, so that no access runs from one into the next.
  uint64_t room = 0;
  if (__builtin_add_overflow(bytes, alignment + page, &room))
    return fail(CUDA_ERROR_OUT_OF_MEMORY, concat("cannot reserve ", bytes, " bytes"));
  const uint64_t begin = takeAddresses(room, hint);
  if (!begin)
    return fail(CUDA_ERROR_OUT_OF_MEMORY,
                concat("cannot reserve ", bytes, " bytes of address space"));
  // Unmap the surplus that was only needed to align the range.
  const uint64_t aligned = (begin + alignment - 1) / alignment * alignment;
  if (aligned > begin)
    munmap(pointer(begin), aligned - begin);
  const uint64_t end = aligned + bytes + page;
  if (begin + room > end)
    munmap(pointer(end), begin + room - end);
  std::lock_guard lock(mutex);
  reservations[aligned] = bytes;
  address = aligned;
  return CUDA_SUCCESS;
}

CUresult AddressSpace::free(CUdeviceptr address, uint64_t bytes) {
  std::lock_guard lock(mutex);
  const auto found = reservations.find(address);
  if (found == reservations.end() || found->second != bytes)
    return fail(CUDA_ERROR_INVALID_VALUE, concat("the ", bytes, " bytes at ", pointer(address),
                                                 " are not a reservation of cuMemAddressReserve"));
  const auto mapped = mappings.lower_bound(address);
  if (mapped != mappings.end() && mapped->first < address + bytes)
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat("memory is still mapped at ", pointer(mapped->first),
                       "; call cuMemUnmap before cuMemAddressFree"));
  munmap(pointer(address), bytes + pageBytes());
  reservations.erase(found);
  return CUDA_SUCCESS;
}

CUresult AddressSpace::map(CUdeviceptr address, uint64_t bytes,
                           std::shared_ptr<MemoryObject> object) {
  VGPU_NEED(bytes != 0 && isGranular(address) && isGranular(bytes));
  if (bytes > object->bytes)
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat("a mapping of ", bytes, " bytes is larger than its memory of ",
                       object->bytes, " bytes"));
  if (auto *team = dynamic_cast<MulticastObject *>(object.get()))
    VGPU_TRY(team->waitUntilComplete("cuMemMap"));
  std::lock_guard lock(mutex);
  auto reservation = reservations.upper_bound(address);
  const bool isReserved =
      reservation != reservations.begin() &&
      address + bytes <= std::prev(reservation)->first + std::prev(reservation)->second;
  if (!isReserved)
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat("the ", bytes, " bytes at ", pointer(address),
                       " are not in a reservation of cuMemAddressReserve"));
  const auto next = mappings.lower_bound(address);
  if ((next != mappings.end() && next->first < address + bytes) ||
      (next != mappings.begin() &&
       std::prev(next)->first + std::prev(next)->second.bytes > address))
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat("memory is already mapped in the ", bytes, " bytes at ", pointer(address)));
  mappings[address] = {bytes, std::move(object), 0};
  return CUDA_SUCCESS;
}

std::vector<AddressSpace::Mappings::iterator> AddressSpace::wholeMappings(uint64_t begin,
                                                                          uint64_t bytes) {
  std::vector<Mappings::iterator> found;
  const uint64_t end = begin + bytes;
  for (auto at = mappings.find(begin); at != mappings.end() && at->first == begin; ++at) {
    found.push_back(at);
    begin += at->second.bytes;
    if (begin >= end)
      break;
  }
  return begin == end ? found : std::vector<Mappings::iterator>();
}

void AddressSpace::publish(uint64_t begin, const Mapping &mapping, uint64_t before) {
  if (auto team = std::dynamic_pointer_cast<MulticastObject>(mapping.object)) {
    // Only multimem instructions use these addresses, so they stay inaccessible.
    if (mapping.devices && !before)
      machine::multicasts().add(begin, mapping.bytes, team);
    else if (!mapping.devices && before)
      machine::multicasts().remove(begin);
    return;
  }
  auto &memory = static_cast<PhysicalMemory &>(*mapping.object);
  if (before && mapping.devices)
    return machine::allocations().share(begin, mapping.devices);
  if (before) {
    takeOwned(begin);
    mmap(pointer(begin), mapping.bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return;
  }
  OwnedMemory owned;
  owned.begin = begin;
  owned.bytes = mapping.bytes;
  owned.kind = AllocationKind::mapped;
  owned.device = memory.device;
  owned.sharedWith = mapping.devices;
  owned.home = reinterpret_cast<uint64_t>(memory.base);
  addOwned(std::move(owned));
}

CUresult AddressSpace::unmap(CUdeviceptr address, uint64_t bytes) {
  std::vector<std::shared_ptr<MemoryObject>> ended; // after the lock
  std::lock_guard lock(mutex);
  const auto found = wholeMappings(address, bytes);
  if (found.empty())
    return fail(CUDA_ERROR_INVALID_VALUE, concat("the ", bytes, " bytes at ", pointer(address),
                                                 " do not consist of whole mappings of cuMemMap"));
  for (auto at : found) {
    const uint64_t before = at->second.devices;
    at->second.devices = 0;
    if (before)
      publish(at->first, at->second, before);
    ended.push_back(std::move(at->second.object));
    mappings.erase(at);
  }
  return CUDA_SUCCESS;
}

CUresult AddressSpace::setAccess(CUdeviceptr address, uint64_t bytes,
                                 std::span<const CUmemAccessDesc> wanted) {
  uint64_t give = 0, take = 0;
  for (const CUmemAccessDesc &one : wanted) {
    if (one.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
      return fail(CUDA_ERROR_NOT_SUPPORTED, "only devices can get access to mapped memory");
    Device *device = nullptr;
    VGPU_TRY(needDevice(one.location.id, device));
    const uint64_t bit = uint64_t(1) << device->ordinal;
    switch (one.flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE:
      take |= bit;
      break;
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
      give |= bit;
      break;
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
      return fail(CUDA_ERROR_NOT_SUPPORTED, "access to device memory is for reading and writing");
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, concat("unknown access flags ", int(one.flags)));
    }
  }
  std::lock_guard lock(mutex);
  const auto found = wholeMappings(address, bytes);
  if (found.empty())
    return fail(CUDA_ERROR_INVALID_VALUE, concat("the ", bytes, " bytes at ", pointer(address),
                                                 " do not consist of whole mappings of cuMemMap"));
  for (auto at : found) {
    auto &[begin, mapping] = *at;
    const uint64_t before = mapping.devices;
    const uint64_t after = (before | give) & ~take;
    if (after == before)
      continue;
    const bool isMemory = dynamic_cast<PhysicalMemory *>(mapping.object.get()) != nullptr;
    if (isMemory && !before &&
        mmap(pointer(begin), mapping.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             mapping.object->file, 0) == MAP_FAILED)
      return fail(CUDA_ERROR_OUT_OF_MEMORY,
                  concat("the host cannot map ", mapping.bytes, " bytes"));
    mapping.devices = after;
    publish(begin, mapping, before);
  }
  return CUDA_SUCCESS;
}

std::optional<std::pair<uint64_t, AddressSpace::Mapping>> AddressSpace::find(CUdeviceptr address) {
  std::lock_guard lock(mutex);
  const auto next = mappings.upper_bound(address);
  if (next == mappings.begin() || address - std::prev(next)->first >= std::prev(next)->second.bytes)
    return std::nullopt;
  return std::pair(std::prev(next)->first, std::prev(next)->second);
}

AddressSpace &addressSpace() {
  static auto &only = *new AddressSpace(); // outlives main(), as the streams do
  return only;
}

} // namespace tilewright::vgpu::driver
