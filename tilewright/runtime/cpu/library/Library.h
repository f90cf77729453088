// Library: kernels that are written, not generated, and how a plan finds them.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_LIBRARY_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_LIBRARY_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/numerics/Shape.h"
#include "tilewright/support/Status.h"
#include "tilewright/support/ThreadPool.h"

#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace tilewright::runtime::cpu {

using artifact::Attribute;
using artifact::TensorType;
using numerics::ElementType;
using numerics::Shape;

/// A scalar function that the compiler generated from a region.
using Body = void (*)(const void *const *args, void *const *results);

/// What is known when the executable is loaded.
struct LibraryCall {
  std::string_view name;
  std::span<const Attribute> attributes;
  std::span<const Body> bodies;
  std::span<const TensorType> operands, results;
};

/// What is known when it runs. Pointers are 64-byte aligned, in the order of the call's types.
/// Buffers do not overlap, with one exception: dynamic_update_slice and scatter may be given
/// operand i as result i, and then write only what changes.
struct LibraryRun {
  std::span<const std::byte *const> operands;
  std::span<std::byte *const> results;
  ThreadPool &pool;
  /// Which of the program's devices runs it.
  int64_t replica = 0, partition = 0;
};

/// A kernel with its configuration checked, ready to run many times and from
/// several threads at once.
class LibraryKernel {
public:
  virtual ~LibraryKernel() = default;
  virtual Status run(const LibraryRun &run) const = 0;
};

/// Makes the kernel for a call, or says what about it is not supported. Shapes
/// and attributes come from a file, so everything is checked here and nothing in `run`.
///  - libraryUnknown: no kernel has this name.
///  - libraryCall: its attributes, types or shapes do not fit together.
Result<std::unique_ptr<LibraryKernel>> prepareLibraryKernel(const LibraryCall &call);

/// Whether a kernel has this name, as a plan or a custom call gives it.
bool hasLibraryKernel(std::string_view name);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_LIBRARY_H
