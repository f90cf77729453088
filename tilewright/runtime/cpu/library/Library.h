// Library: handwritten kernels, and how a plan finds them.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_LIBRARY_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_LIBRARY_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/numerics/Shape.h"
#include "tilewright/support/Status.h"
#include "tilewright/support/ThreadPool.h"

#include <functional>
#include <memory>
#include <span>

namespace tilewright::runtime::cpu {

using artifact::TensorType;
using numerics::ElementType;
using numerics::Shape;

#define TILEWRIGHT_ENUMERATOR(enumerator, name)
#define TILEWRIGHT_LIBRARY_ENUM(Enum, ...) using numerics::Enum;
#include "tilewright/numerics/LibraryEnums.def"

/// A scalar function that the compiler generated from a region.
using Body = void (*)(const void *const *args, void *const *results);

/// The functions and types of a call of a library kernel; artifact::LibraryCall has the rest of
/// what is known at load time.
struct LibrarySignature {
  std::span<const Body> bodies;
  std::span<const TensorType> operands, results;
};

/// The arguments of one run. Pointers are 64-byte aligned, in the order of the call's types.
/// Buffers do not overlap, with one exception: the caller may pass operand i as result i to
/// dynamic_update_slice and scatter, which then write only the elements that change.
struct LibraryRun {
  std::span<const std::byte *const> operands;
  std::span<std::byte *const> results;
  ThreadPool &pool;
  /// The replica and partition of the device that runs the kernel.
  int64_t replica = 0, partition = 0;
};

/// A kernel whose configuration has been checked. It can run many times and from several threads
/// concurrently.
class LibraryKernel {
public:
  virtual ~LibraryKernel() = default;
  virtual Status run(const LibraryRun &run) const = 0;
};

/// Creates the kernel for a call, or fails if the call is not supported. Shapes and fields come
/// from an untrusted file: this function checks everything, and `run` checks nothing.
///  - libraryCall: its fields, types or shapes are inconsistent.
Result<std::unique_ptr<LibraryKernel>> prepareLibraryKernel(const artifact::LibraryCall &call,
                                                            const LibrarySignature &types);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_LIBRARY_H
