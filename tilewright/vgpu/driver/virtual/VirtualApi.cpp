// cuMemAddressReserve, cuMemCreate, cuMemMap and related functions; cuMulticast*.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/virtual/AddressSpace.h"
#include "tilewright/vgpu/driver/virtual/Multicast.h"

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace tilewright::vgpu::driver {

static constexpr unsigned long long exportable = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

static CUresult checkProperties(const CUmemAllocationProp *asked, Device *&device) {
  VGPU_NEED(asked);
  VGPU_NEED(asked->type == CU_MEM_ALLOCATION_TYPE_PINNED);
  if (asked->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "cuMemCreate supports only memory on a device");
  if ((asked->requestedHandleTypes & ~exportable) != 0)
    return fail(CUDA_ERROR_NOT_SUPPORTED,
                concat("memory can be exported as a file descriptor, not as handle types ",
                       asked->requestedHandleTypes));
  return needDevice(asked->location.id, device);
}

static CUresult needObject(CUmemGenericAllocationHandle handle,
                           std::shared_ptr<MemoryObject> &object) {
  object = findObject(handle);
  return object ? CUDA_SUCCESS
                : fail(CUDA_ERROR_INVALID_VALUE, "the handle was released or is not of this call");
}

template <typename T>
static CUresult needObjectOf(CUmemGenericAllocationHandle handle, std::string_view what,
                             std::shared_ptr<T> &object) {
  object = std::dynamic_pointer_cast<T>(findObject(handle));
  return object ? CUDA_SUCCESS
                : fail(CUDA_ERROR_INVALID_VALUE, concat("the handle is not of ", what));
}

static CUresult needTeam(CUmemGenericAllocationHandle handle,
                         std::shared_ptr<MulticastObject> &team) {
  return needObjectOf(handle, "a multicast object", team);
}

static CUresult importMemory(int file, const FileKind &kind,
                             std::shared_ptr<PhysicalMemory> &memory) {
  auto made = std::make_shared<PhysicalMemory>(kind.bytes, kind.handleTypes, file);
  made->isImported = true;
  // The ordinal is the exporting process', which may have more devices than this one.
  const auto &devices = Driver::get().devices;
  made->device =
      devices[std::min(static_cast<size_t>(std::max(kind.device, 0)), devices.size() - 1)].get();
  if (!made->mapBase())
    return fail(CUDA_ERROR_OUT_OF_MEMORY, concat("the host cannot map ", kind.bytes, " bytes"));
  rememberFile(made);
  memory = std::move(made);
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
  VGPU_NEED(address && flags == 0);
  return addressSpace().reserve(size, alignment, hint, *address);
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
  return addressSpace().free(address, size);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *prop, unsigned long long flags) {
  VGPU_NEED(handle && flags == 0 && size != 0);
  Device *device = nullptr;
  VGPU_TRY(checkProperties(prop, device));
  if (size % granularity != 0)
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat(size, " bytes are not a multiple of the granularity of ", granularity,
                       " bytes (cuMemGetAllocationGranularity)"));
  std::shared_ptr<PhysicalMemory> memory;
  VGPU_TRY(createPhysical(*device, size, prop->requestedHandleTypes, memory));
  *handle = handleOf(memory);
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return releaseHandle(handle)
             ? CUDA_SUCCESS
             : fail(CUDA_ERROR_INVALID_VALUE, "the handle was released or is not of this call");
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  VGPU_NEED(offset == 0 && flags == 0); // CUDA has no other values yet
  std::shared_ptr<MemoryObject> object;
  VGPU_TRY(needObject(handle, object));
  return addressSpace().map(address, size, std::move(object));
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
  return addressSpace().unmap(address, size);
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *desc,
                        size_t count) {
  VGPU_NEED(desc && count);
  return addressSpace().setAccess(address, size, {desc, count});
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                        CUdeviceptr address) {
  VGPU_NEED(flags && location && location->type == CU_MEM_LOCATION_TYPE_DEVICE);
  Device *device = nullptr;
  VGPU_TRY(needDevice(location->id, device));
  const auto found = addressSpace().find(address);
  if (!found)
    return fail(CUDA_ERROR_INVALID_VALUE, "the address is not in a mapping of cuMemMap");
  const bool has = found->second.devices >> device->ordinal & 1;
  *flags = has ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType,
                                      unsigned long long flags) {
  VGPU_NEED(shareableHandle && flags == 0);
  std::shared_ptr<MemoryObject> object;
  VGPU_TRY(needObject(handle, object));
  if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !(object->handleTypes & handleType))
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat("the memory was created for handle types ", object->handleTypes,
                       ", and cannot be exported as type ", int(handleType)));
  const int file = fcntl(object->file, F_DUPFD_CLOEXEC, 0);
  if (file < 0)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "the process has no file descriptor left");
  std::memcpy(shareableHandle, &file, sizeof(file));
  return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                        CUmemAllocationHandleType handleType) {
  VGPU_NEED(handle && handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  const auto given = static_cast<int>(reinterpret_cast<intptr_t>(osHandle));
  FileKind kind;
  if (!readKind(given, kind))
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat("file descriptor ", given, " was not exported by this driver"));
  if (std::shared_ptr<MemoryObject> known = findByFile(given)) {
    *handle = handleOf(known);
    return CUDA_SUCCESS;
  }
  const int file = fcntl(given, F_DUPFD_CLOEXEC, 0); // the program may close its own
  if (file < 0)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "the process has no file descriptor left");
  if (std::memcmp(kind.magic, FileKind::multicastMagic, sizeof(kind.magic)) == 0) {
    std::shared_ptr<MulticastObject> team;
    VGPU_TRY(MulticastObject::open(file, kind, team));
    *handle = handleOf(team);
    return CUDA_SUCCESS;
  }
  std::shared_ptr<PhysicalMemory> memory;
  VGPU_TRY(importMemory(file, kind, memory));
  *handle = handleOf(memory);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option) {
  VGPU_NEED(bytes && (option == CU_MEM_ALLOC_GRANULARITY_MINIMUM ||
                      option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  Device *device = nullptr;
  VGPU_TRY(checkProperties(prop, device));
  *bytes = granularity;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                CUmemGenericAllocationHandle handle) {
  VGPU_NEED(prop);
  std::shared_ptr<PhysicalMemory> memory;
  VGPU_TRY(needObjectOf(handle, "memory", memory));
  *prop = {};
  prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop->requestedHandleTypes = static_cast<CUmemAllocationHandleType>(memory->handleTypes);
  prop->location = {CU_MEM_LOCATION_TYPE_DEVICE, memory->device->ordinal};
  return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address) {
  VGPU_NEED(handle);
  const auto found = addressSpace().find(reinterpret_cast<CUdeviceptr>(address));
  if (!found)
    return fail(CUDA_ERROR_INVALID_VALUE, "the address is not in a mapping of cuMemMap");
  *handle = handleOf(found->second.object);
  return CUDA_SUCCESS;
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle *handle,
                           const CUmulticastObjectProp *prop) {
  VGPU_NEED(handle && prop && prop->flags == 0);
  VGPU_NEED(prop->size != 0 && prop->size % granularity == 0);
  VGPU_NEED((prop->handleTypes & ~exportable) == 0);
  std::shared_ptr<MulticastObject> team;
  VGPU_TRY(MulticastObject::create(prop->numDevices, prop->size, prop->handleTypes, team));
  *handle = handleOf(team);
  return CUDA_SUCCESS;
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice number) {
  std::shared_ptr<MulticastObject> team;
  VGPU_TRY(needTeam(handle, team));
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  if (device->chip->architecture < 90)
    return fail(CUDA_ERROR_NOT_SUPPORTED,
                concat("device ", number, " (", device->chip->name, ") has no multicast"));
  return team->addDevice(*device);
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset,
                            CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size,
                            unsigned long long flags) {
  VGPU_NEED(flags == 0);
  std::shared_ptr<MulticastObject> team;
  VGPU_TRY(needTeam(handle, team));
  std::shared_ptr<PhysicalMemory> memory;
  VGPU_TRY(needObjectOf(memHandle, "memory", memory));
  return team->bind(*memory->device, offset, memory, memOffset, size);
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t offset,
                             CUdeviceptr address, size_t size, unsigned long long flags) {
  VGPU_NEED(flags == 0);
  std::shared_ptr<MulticastObject> team;
  VGPU_TRY(needTeam(handle, team));
  const auto found = addressSpace().find(address);
  const auto memory =
      found ? std::dynamic_pointer_cast<PhysicalMemory>(found->second.object) : nullptr;
  if (!memory)
    return fail(CUDA_ERROR_INVALID_VALUE, "the address is not in memory that cuMemMap mapped");
  return team->bind(*memory->device, offset, memory, address - found->first, size);
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice number, size_t offset,
                           size_t size) {
  std::shared_ptr<MulticastObject> team;
  VGPU_TRY(needTeam(handle, team));
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  return team->unbind(*device, offset, size);
}

CUresult cuMulticastGetGranularity(size_t *bytes, const CUmulticastObjectProp *prop,
                                   CUmulticastGranularity_flags option) {
  VGPU_NEED(bytes && prop &&
            (option == CU_MULTICAST_GRANULARITY_MINIMUM ||
             option == CU_MULTICAST_GRANULARITY_RECOMMENDED));
  *bytes = granularity;
  return CUDA_SUCCESS;
}

} // namespace api
} // namespace tilewright::vgpu::driver
