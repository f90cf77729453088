#include "tilewright/vgpu/driver/virtual/MemoryObject.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/observe/ObserveCheck.h"
#include "tilewright/vgpu/machine/memory/Allocations.h"

#include <cstring>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright::vgpu::driver {

namespace {
/// The objects with handles, and all objects by file.
struct Objects {
  std::mutex mutex;
  HandleTable<MemoryObject> handles; // changed with the mutex held, because of MemoryObject::uses
  std::map<std::pair<dev_t, ino_t>, std::weak_ptr<MemoryObject>> byFile; // guarded by mutex
};
} // namespace

static Objects &objects() {
  static auto &only = *new Objects(); // outlives main(), as the streams do
  return only;
}

static CUmemGenericAllocationHandle asNumber(void *handle) {
  return reinterpret_cast<CUmemGenericAllocationHandle>(handle);
}
static void *asHandle(CUmemGenericAllocationHandle number) {
  return reinterpret_cast<void *>(number);
}

MemoryObject::~MemoryObject() {
  if (file >= 0)
    close(file);
}

PhysicalMemory::~PhysicalMemory() {
  if (base) {
    tellFreed(reinterpret_cast<uint64_t>(base));
    machine::allocations().remove(reinterpret_cast<uint64_t>(base));
    munmap(base, bytes);
  }
  if (device && !isImported)
    device->usedBytes -= bytes;
}

bool PhysicalMemory::mapBase() {
  void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED)
    return false;
  base = static_cast<std::byte *>(at);
  // Another process may have written to the memory that it exports.
  tellAllocated(reinterpret_cast<uint64_t>(base), bytes, /*isInitialised=*/isImported);
  const auto begin = reinterpret_cast<uint64_t>(base);
  machine::allocations().add({.begin = begin,
                              .end = begin + bytes,
                              .kind = machine::AllocationKind::home,
                              .device = device->ordinal});
  return true;
}

int createFile(const char *name, uint64_t bytes, const FileKind &kind) {
  const int file = memfd_create(name, MFD_CLOEXEC);
  if (file < 0)
    return -1;
  const bool isWritten = ftruncate(file, static_cast<off_t>(bytes + FileKind::pageBytes)) == 0 &&
                         pwrite(file, &kind, sizeof(kind), static_cast<off_t>(bytes)) ==
                             static_cast<ssize_t>(sizeof(kind));
  if (isWritten)
    return file;
  close(file);
  return -1;
}

bool readKind(int file, FileKind &kind) {
  struct stat status{};
  if (fstat(file, &status) != 0 || status.st_size < off_t(FileKind::pageBytes))
    return false;
  const off_t at = status.st_size - off_t(FileKind::pageBytes);
  return pread(file, &kind, sizeof(kind), at) == static_cast<ssize_t>(sizeof(kind)) &&
         kind.bytes == static_cast<uint64_t>(at) &&
         (std::memcmp(kind.magic, FileKind::memoryMagic, sizeof(kind.magic)) == 0 ||
          std::memcmp(kind.magic, FileKind::multicastMagic, sizeof(kind.magic)) == 0);
}

CUresult createPhysical(Device &device, uint64_t bytes, unsigned long long handleTypes,
                        std::shared_ptr<PhysicalMemory> &memory) {
  auto refuse = [&](std::string_view why) {
    return fail(CUDA_ERROR_OUT_OF_MEMORY,
                concat("cannot allocate ", bytes, " bytes of memory on device ", device.ordinal,
                       ": ", why));
  };
  if (bytes > device.memoryBytes ||
      device.usedBytes.fetch_add(bytes) + bytes > device.memoryBytes) {
    if (bytes <= device.memoryBytes)
      device.usedBytes -= bytes;
    return refuse(concat(device.memoryBytes - device.usedBytes,
                         " bytes are free; raise TILEWRIGHT_VGPU_MEMORY"));
  }
  FileKind kind;
  std::memcpy(kind.magic, FileKind::memoryMagic, sizeof(kind.magic));
  kind.bytes = bytes;
  kind.handleTypes = handleTypes;
  kind.device = device.ordinal;
  const int file = createFile("tilewright-vgpu-memory", bytes, kind);
  auto made = std::make_shared<PhysicalMemory>(bytes, handleTypes, file);
  made->device = &device; // pays until the object ends
  if (file < 0 || !made->mapBase())
    return refuse("the host has no file descriptor or no memory left");
  rememberFile(made);
  memory = std::move(made);
  return CUDA_SUCCESS;
}

CUmemGenericAllocationHandle handleOf(const std::shared_ptr<MemoryObject> &object) {
  Objects &all = objects();
  std::lock_guard lock(all.mutex);
  if (object->handle && all.handles.find(object->handle)) {
    ++object->uses;
    return asNumber(object->handle);
  }
  object->uses = 1;
  return asNumber(all.handles.add(object));
}

std::shared_ptr<MemoryObject> findObject(CUmemGenericAllocationHandle handle) {
  return objects().handles.find(asHandle(handle));
}

bool releaseHandle(CUmemGenericAllocationHandle handle) {
  Objects &all = objects();
  std::shared_ptr<MemoryObject> object; // ends after the lock
  std::lock_guard lock(all.mutex);
  object = all.handles.find(asHandle(handle));
  if (!object)
    return false;
  if (--object->uses == 0)
    all.handles.take(asHandle(handle));
  return true;
}

static std::optional<std::pair<dev_t, ino_t>> identityOf(int file) {
  struct stat status{};
  if (fstat(file, &status) != 0)
    return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

std::shared_ptr<MemoryObject> findByFile(int file) {
  const auto identity = identityOf(file);
  Objects &all = objects();
  std::lock_guard lock(all.mutex);
  const auto found = identity ? all.byFile.find(*identity) : all.byFile.end();
  return found == all.byFile.end() ? nullptr : found->second.lock();
}

void rememberFile(const std::shared_ptr<MemoryObject> &object) {
  const auto identity = identityOf(object->file);
  Objects &all = objects();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.byFile, [](const auto &one) { return one.second.expired(); });
  if (identity)
    all.byFile[*identity] = object;
}

} // namespace tilewright::vgpu::driver
