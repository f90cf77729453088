#include "tilewright/runtime/cuda/symmetric/SymmetricMemory.h"

#include <algorithm>

namespace tilewright::runtime::cuda {

static CUmemAllocationProp propertiesOf(int ordinal) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  // Multicast objects accept only exportable memory.
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  return properties;
}

Result<std::unique_ptr<SymmetricMemory>> SymmetricMemory::make(std::shared_ptr<const DriverApi> api,
                                                               std::span<const int> ordinals,
                                                               size_t bytes) {
  std::unique_ptr<SymmetricMemory> made(new SymmetricMemory(std::move(api), ordinals));
  TILEWRIGHT_TRY(made->create(bytes));
  return made;
}

Result<bool> SymmetricMemory::canMulticast() const {
  if (!api->cuMulticastCreate || ordinals.size() < 2)
    return false;
  for (int ordinal : ordinals) {
    int isSupported = 0;
    if (ordinal < 0)
      return false;
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuDeviceGetAttribute, &isSupported,
                                   CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, ordinal));
    if (!isSupported)
      return false;
  }
  return true;
}

Status SymmetricMemory::create(size_t wanted) {
  TILEWRIGHT_ASSIGN(const bool hasMulticast, canMulticast());
  size_t granularity = 1;
  for (int ordinal : ordinals) {
    if (ordinal < 0)
      continue;
    const CUmemAllocationProp properties = propertiesOf(ordinal);
    size_t own = 0;
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuMemGetAllocationGranularity, &own, &properties,
                                   CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    granularity = std::max(granularity, own);
  }
  const CUmulticastObjectProp object = {static_cast<unsigned>(ordinals.size()),
                                        std::max<size_t>(wanted, 1),
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0};
  if (hasMulticast) {
    size_t own = 0;
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuMulticastGetGranularity, &own, &object,
                                   CU_MULTICAST_GRANULARITY_RECOMMENDED));
    granularity = std::max(granularity, own);
  }
  size = (std::max<size_t>(wanted, 1) + granularity - 1) / granularity * granularity;
  parts.resize(ordinals.size());
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    if (!isHere(rank))
      continue;
    const CUmemAllocationProp properties = propertiesOf(ordinals[rank]);
    TILEWRIGHT_TRY(
        TILEWRIGHT_CUDA(*api, cuMemCreate, &parts[rank].memory, size, &properties, 0ULL));
    TILEWRIGHT_TRY(map(parts[rank]));
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuMemsetD8, parts[rank].address, 0, size));
  }
  return hasMulticast ? createMulticast() : Status();
}

Status SymmetricMemory::createMulticast() {
  const CUmulticastObjectProp object = {static_cast<unsigned>(ordinals.size()), size,
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0};
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuMulticastCreate, &everywhere.memory, &object));
  for (int ordinal : ordinals)
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuMulticastAddDevice, everywhere.memory, ordinal));
  for (const Range &part : parts)
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuMulticastBindMem, everywhere.memory, size_t(0),
                                   part.memory, size_t(0), size, 0ULL));
  return map(everywhere);
}

Result<int> SymmetricMemory::exportPart(size_t rank) const {
  int descriptor = -1;
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuMemExportToShareableHandle, &descriptor,
                                 parts[rank].memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 0ULL));
  return descriptor;
}

Status SymmetricMemory::importPart(size_t rank, int descriptor) {
  Range &part = parts[rank];
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuMemImportFromShareableHandle, &part.memory,
                                 reinterpret_cast<void *>(static_cast<intptr_t>(descriptor)),
                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  return map(part);
}

/// Maps the range's memory at a new address that all devices of this process can access.
Status SymmetricMemory::map(Range &range) {
  TILEWRIGHT_TRY(
      TILEWRIGHT_CUDA(*api, cuMemAddressReserve, &range.address, size, size_t(0), 0ULL, 0ULL));
  TILEWRIGHT_TRY(
      TILEWRIGHT_CUDA(*api, cuMemMap, range.address, size, size_t(0), range.memory, 0ULL));
  range.isMapped = true;
  std::vector<CUmemAccessDesc> access;
  for (int ordinal : ordinals)
    if (ordinal >= 0)
      access.push_back(
          {{CU_MEM_LOCATION_TYPE_DEVICE, ordinal}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
  return TILEWRIGHT_CUDA(*api, cuMemSetAccess, range.address, size, access.data(), access.size());
}

void SymmetricMemory::release(Range &range) {
  if (range.isMapped)
    api->cuMemUnmap(range.address, size);
  if (range.address)
    api->cuMemAddressFree(range.address, size);
  if (range.memory)
    api->cuMemRelease(range.memory);
}

SymmetricMemory::~SymmetricMemory() {
  release(everywhere);
  for (Range &part : parts)
    release(part);
}

WindowArgument SymmetricMemory::window(size_t rank, size_t offset) const {
  WindowArgument result = {rank, everywhere.address ? everywhere.address + offset : 0};
  for (const Range &part : parts)
    result.push_back(part.address + offset);
  return result;
}

} // namespace tilewright::runtime::cuda
