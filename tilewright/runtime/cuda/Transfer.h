// Copies between the host and devices, and between devices, with the guarantees of Backend::copy.
// Each function checks that the device is usable.
#ifndef TILEWRIGHT_RUNTIME_CUDA_TRANSFER_H
#define TILEWRIGHT_RUNTIME_CUDA_TRANSFER_H

#include "tilewright/runtime/cuda/CudaDevice.h"
#include "tilewright/support/ThreadPool.h"

namespace tilewright::runtime::cuda {

inline CUdeviceptr addressOf(const std::byte *data) { return reinterpret_cast<CUdeviceptr>(data); }

/// Copies from anywhere in host memory; the bytes have been read when this returns.
Event upload(CudaDevice &device, std::byte *to, const std::byte *from, size_t bytes,
             ThreadPool &pool);
/// Copies from pinned memory, which must stay valid until the event completes.
Event uploadPinned(CudaDevice &device, std::byte *to, const std::byte *from, size_t bytes);
/// Copies to anywhere in host memory; returns when the bytes have been written.
Event download(CudaDevice &device, std::byte *to, const std::byte *from, size_t bytes,
               ThreadPool &pool);
Event downloadPinned(CudaDevice &device, std::byte *to, const std::byte *from, size_t bytes);
Event copyBetween(CudaDevice &target, std::byte *to, CudaDevice &source, const std::byte *from,
                  size_t bytes);

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_TRANSFER_H
