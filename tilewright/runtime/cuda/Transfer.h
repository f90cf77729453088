// Copies of bytes between the host and devices, and among devices. Each checks that the device can
// be used; the rules are those of Backend::copy.
#ifndef TILEWRIGHT_RUNTIME_CUDA_TRANSFER_H
#define TILEWRIGHT_RUNTIME_CUDA_TRANSFER_H

#include "tilewright/runtime/cuda/CudaDevice.h"
#include "tilewright/support/ThreadPool.h"

namespace tilewright::runtime::cuda {

inline CUdeviceptr addressOf(const std::byte *data) { return reinterpret_cast<CUdeviceptr>(data); }

/// From anywhere in the host's memory, which has been read when this returns.
Event upload(CudaDevice &device, std::byte *to, const std::byte *from, size_t bytes,
             ThreadPool &pool);
/// From pinned memory, which must stay until the event.
Event uploadPinned(CudaDevice &device, std::byte *to, const std::byte *from, size_t bytes);
/// To anywhere in the host's memory; returns when it has been written.
Event download(CudaDevice &device, std::byte *to, const std::byte *from, size_t bytes,
               ThreadPool &pool);
Event downloadPinned(CudaDevice &device, std::byte *to, const std::byte *from, size_t bytes);
Event copyBetween(CudaDevice &target, std::byte *to, CudaDevice &source, const std::byte *from,
                  size_t bytes);

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_TRANSFER_H
