// LibraryProduct: a launch of a program whose product a library computes.
#ifndef TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_LIBRARYPRODUCT_H
#define TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_LIBRARYPRODUCT_H

#include "tilewright/runtime/cuda/Command.h"
#include "tilewright/runtime/cuda/CudaCall.h"
#include "tilewright/runtime/cuda/libraries/GpuLibraries.h"

#include <string>

namespace tilewright::runtime::cuda::libraries {

/// One step on one device: a library's plan, and the program's kernel for the step. The kernel
/// computes the product if the library fails, or if the library's first result differs.
///
/// Not thread-safe: only the thread that runs the current task of the device's stream uses it.
class LibraryProduct {
public:
  /// `zero` is the device address of an f32 that is 0.
  LibraryProduct(const artifact::Step &step, const artifact::ScaledProduct &product, Choice choice,
                 Use use, Command kernel, CUdeviceptr zero);

  /// Queues the product on the stream of programs. The first time, and with Use::check each time,
  /// both compute the product: the kernel, and the library into separate memory between guards. The
  /// host then waits and compares.
  ///  - cudaKernelFailed (E5129): the library wrote outside of its memory; or with Use::check, its
  ///    result differs. The message names the library and the element.
  ///  - outOfMemory (E5050): of a comparison with Use::check
  Status submit(CudaRun &run);

  /// How the products of this process were computed, for tests.
  struct Counts {
    int64_t byLibrary = 0, byKernel = 0, compared = 0;
  };
  static Counts counts();

private:
  Status submitKernel(CudaRun &run);
  Status submitCompared(CudaRun &run);
  Status needWorkspace(CudaRun &run);
  /// Compares the results once both have been queued.
  Status compare(CudaRun &run, CUdeviceptr theirs, std::span<const CUdeviceptr> guards);
  /// After this call, the program's own kernel computes the product.
  void refuse(const std::string &reason);
  ProductAddresses addressesIn(const CudaRun &run) const;

  const artifact::Step &step;
  const artifact::ScaledProduct product;
  const std::vector<artifact::Slice> &buffers; // of the step
  Choice choice;
  const Use use;
  Command kernel;
  const CUdeviceptr zero;
  bool isTrusted = false;
  Allocator::Block workspace; // of all runs, which the stream orders
};

} // namespace tilewright::runtime::cuda::libraries

#endif // TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_LIBRARYPRODUCT_H
