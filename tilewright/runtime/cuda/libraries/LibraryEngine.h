// LibraryEngine: an NVIDIA library that multiplies block-scaled matrices, loaded at run time.
#ifndef TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_LIBRARYENGINE_H
#define TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_LIBRARYENGINE_H

#include "tilewright/artifact/ScaledProducts.h"
#include "tilewright/cuda-api/CudaTypes.h"
#include "tilewright/runtime/cuda/libraries/Gates.h"
#include "tilewright/support/Status.h"

#include <memory>
#include <string>

namespace tilewright::runtime::cuda::libraries {

/// The addresses of one product in device memory.
struct ProductAddresses {
  cuda_api::CUdeviceptr lhs = 0, rhs = 0, lhsScale = 0, rhsScale = 0, result = 0;
  cuda_api::CUdeviceptr factor = 0; // 0 if the product has none
  cuda_api::CUdeviceptr zero = 0;   // an f32 of 0
};

/// A product that a library has accepted. Only one thread at a time may use it. It must be
/// destroyed before its engine.
class LibraryPlan {
public:
  virtual ~LibraryPlan() = default;
  /// The number of bytes of device memory that a run needs in addition to the operands.
  virtual size_t workspaceBytes() const = 0;
  /// Queues the product on the stream. After a failure, anything that was queued writes only to
  /// memory that will be overwritten: the caller may compute the product in another way.
  virtual Status run(const ProductAddresses &addresses, cuda_api::CUdeviceptr workspace,
                     cuda_api::CUstream stream) = 0;
};

/// A library on one device, whose context must be current in each call. Failures have no error id:
/// the caller uses its own kernel instead, and reports the message as the reason for that.
class LibraryEngine {
public:
  virtual ~LibraryEngine() = default;
  virtual Library library() const = 0;
  virtual int version() const = 0; // 91300 for 9.13.0
  /// Asks the library for its best implementation with at most `maxWorkspace` bytes.
  virtual Result<std::unique_ptr<LibraryPlan>> plan(const artifact::ScaledProduct &product,
                                                    size_t maxWorkspace) = 0;

  /// "cuBLASLt 13.1.0"
  std::string text() const { return std::string(nameOf(library())) + " " + versionText(version()); }
};

/// A library that is loaded but has no device yet. Stays loaded: libraries have threads.
struct LoadedLibrary {
  Library library;
  std::string file;
  int version = 0;
  /// Connects the library to the current context.
  Result<std::unique_ptr<LibraryEngine>> (*connect)(const LoadedLibrary &) = nullptr;
  std::shared_ptr<const void> functions; // of the library
};

/// Loads a library of this name or path, and looks up its functions. The message of a failure
/// contains dlerror() or the name of the missing function.
Result<LoadedLibrary> loadCublasLt(const std::string &file);
Result<LoadedLibrary> loadCudnn(const std::string &file);

/// Has cuDNN check the graph from which it would make a plan for the product. Needs no GPU.
Status checkCudnnGraph(const LoadedLibrary &loaded, const artifact::ScaledProduct &product);

} // namespace tilewright::runtime::cuda::libraries

#endif // TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_LIBRARYENGINE_H
