// SymmetricMemory: memory of several devices that all of them can access.
#ifndef TILEWRIGHT_RUNTIME_CUDA_SYMMETRIC_SYMMETRICMEMORY_H
#define TILEWRIGHT_RUNTIME_CUDA_SYMMETRIC_SYMMETRICMEMORY_H

#include "tilewright/runtime/cuda/DriverApi.h"

#include <memory>
#include <span>
#include <vector>

namespace tilewright::runtime::cuda {

/// A window, as kernels take it by value (target/nvptx/lower/Windows.h): the rank, the multicast
/// address of all parts or 0, and the address of each rank's part.
using WindowArgument = std::vector<uint64_t>;

/// One part on each device, all of the same size. If all devices belong to this process and support
/// multicast, also an address at which the interconnect reaches all parts at once. Parts are zero
/// at first.
class SymmetricMemory {
public:
  /// `ordinals` are the driver's devices, in the order of ranks; negative for a device of another
  /// process, whose part must be imported.
  ///  - cudaCall (E5122)
  static Result<std::unique_ptr<SymmetricMemory>> make(std::shared_ptr<const DriverApi> api,
                                                       std::span<const int> ordinals, size_t bytes);
  /// Requires that no kernel accesses the memory any more.
  ~SymmetricMemory();

  /// A file descriptor for a part that belongs to this process; the caller closes it.
  Result<int> exportPart(size_t rank) const;
  /// Maps the part of another process. Does not close the descriptor.
  Status importPart(size_t rank, int descriptor);

  size_t ranks() const { return ordinals.size(); }
  bool isHere(size_t rank) const { return ordinals[rank] >= 0; }
  /// Whether the part is on a device of this process or was imported.
  bool hasPart(size_t rank) const { return parts[rank].isMapped; }
  /// At least the requested size.
  size_t bytes() const { return size; }
  CUdeviceptr part(size_t rank) const { return parts[rank].address; }
  /// The multicast address; 0 if the memory has none.
  CUdeviceptr multicast() const { return everywhere.address; }

  /// The window of the bytes at `offset` of all parts, as passed by rank `rank`.
  WindowArgument window(size_t rank, size_t offset) const;

private:
  struct Range {
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle memory = 0;
    bool isMapped = false;
  };
  SymmetricMemory(std::shared_ptr<const DriverApi> api, std::span<const int> ordinals)
      : api(std::move(api)), ordinals(ordinals.begin(), ordinals.end()) {}
  Status create(size_t wanted);
  Status createMulticast();
  Status map(Range &range);
  Result<bool> canMulticast() const;
  void release(Range &range);

  std::shared_ptr<const DriverApi> api;
  std::vector<int> ordinals;
  size_t size = 0;
  std::vector<Range> parts;
  Range everywhere;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_SYMMETRIC_SYMMETRICMEMORY_H
