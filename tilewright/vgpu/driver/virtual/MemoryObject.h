// Memory objects, to which a CUmemGenericAllocationHandle refers: memory of a device that has no
// address yet, or a multicast object.
#ifndef TILEWRIGHT_VGPU_DRIVER_VIRTUAL_MEMORYOBJECT_H
#define TILEWRIGHT_VGPU_DRIVER_VIRTUAL_MEMORYOBJECT_H

#include "tilewright/vgpu/driver/Driver.h"

namespace tilewright::vgpu::driver {

/// Sizes and addresses of memory objects are multiples of this many bytes, as on physical GPUs.
inline constexpr uint64_t granularity = uint64_t(2) << 20;

/// An object in an unnamed file (memfd). Processes share it by its descriptor; it ends with the
/// last process that has it open.
struct MemoryObject : Handled {
  MemoryObject(uint64_t bytes, unsigned long long handleTypes, int file)
      : bytes(bytes), handleTypes(handleTypes), file(file) {}
  MemoryObject(const MemoryObject &) = delete;
  MemoryObject &operator=(const MemoryObject &) = delete;
  virtual ~MemoryObject();

  const uint64_t bytes;
  const unsigned long long handleTypes; // that it may be exported as
  const int file;
  unsigned uses = 1; // handles that were not released; guarded by the mutex of MemoryObject.cpp
};

/// Memory of a device. `base` is its address in this driver, by which checkers know it; programs
/// see only the addresses at which they map it.
struct PhysicalMemory final : MemoryObject {
  using MemoryObject::MemoryObject;
  ~PhysicalMemory() override;

  Device *device = nullptr;
  bool isImported = false; // another process pays for it
  std::byte *base = nullptr;

  /// Maps the file at `base`; false if the host has no memory left.
  bool mapBase();
};

/// Allocates memory on a device.
///  - CUDA_ERROR_OUT_OF_MEMORY: the device or the host does not have that much.
CUresult createPhysical(Device &device, uint64_t bytes, unsigned long long handleTypes,
                        std::shared_ptr<PhysicalMemory> &memory);

/// Describes the file of a memory object; stored in its last page.
struct FileKind {
  static constexpr char memoryMagic[8] = "twvgpuM", multicastMagic[8] = "twvgpuT";
  static constexpr uint64_t pageBytes = 4096;

  char magic[8] = {};
  uint64_t bytes = 0, handleTypes = 0;
  int32_t device = 0;
};
/// Creates a file of `bytes` bytes and one page more, which describes it as `kind`; -1 if the host
/// has no memory for it.
int createFile(const char *name, uint64_t bytes, const FileKind &kind);
/// Reads the kind of a file that another process made; false if it holds no memory object.
bool readKind(int file, FileKind &kind);

/// The handle of an object; counts it as used once more if it has one already.
CUmemGenericAllocationHandle handleOf(const std::shared_ptr<MemoryObject> &object);
std::shared_ptr<MemoryObject> findObject(CUmemGenericAllocationHandle handle);
/// The object in a file that this process has open already; null if there is none.
std::shared_ptr<MemoryObject> findByFile(int file);
/// Remembers an object for findByFile().
void rememberFile(const std::shared_ptr<MemoryObject> &object);
/// Ends one use of a handle; false if there is no such handle.
bool releaseHandle(CUmemGenericAllocationHandle handle);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_VIRTUAL_MEMORYOBJECT_H
