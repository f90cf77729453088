// generateObject(): compiles the kernels of a module to object code.
#ifndef TILEWRIGHT_TARGET_CPU_GENERATEOBJECT_H
#define TILEWRIGHT_TARGET_CPU_GENERATEOBJECT_H

#include "tilewright/support/Status.h"
#include "tilewright/target/cpu/Chip.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::cpu {

struct CodegenOptions {
  /// The maximum number of threads of the code generator, including the caller's.
  unsigned threads = 1;
  /// The level to pass to `dump`: "llvm" before LLVM's passes, "llvm-optimized" after them, or
  /// "asm".
  std::string dumpLevel;
  std::function<void(std::string_view text)> dump;
};

/// One tile.kernel. Kernels that differ only in their name are compiled once; each has its own
/// symbol.
struct KernelInfo {
  std::string symbol; // its name in the module
  int64_t grid = 1;
  int64_t scratchBytes = 0;
  int64_t itemCost = 0; // estimated nanoseconds for one work item
};

struct ObjectCode {
  /// ELF relocatable files for x86-64: position-independent, small code model. Each thread of the
  /// code generator makes one; none refers to another. Empty if the module has no kernels and no
  /// bodies.
  std::vector<std::vector<std::byte>> objects;
  std::vector<KernelInfo> kernels;
  /// The symbols of scalar functions in the body or epilogue ABI; they have the names of the
  /// functions in the module.
  std::vector<std::string> bodies;
};

/// Compiles every `tile.kernel` of the module, and every private function over scalars:
///
///   void kernel(void *const *buffers, int64_t begin, int64_t end, std::byte *scratch)
///   void body(const void *const *args, void *const *results)
///
/// A function with `exec.epilogue` has the ABI of an epilogue instead (emit/EpilogueEmitter.h). The
/// objects' undefined symbols are math and memory functions of the C library, and `tw_scalar_call`
/// with its records. Fails with E4001 to E4003.
Result<ObjectCode> generateObject(mlir::ModuleOp module, const Chip &chip,
                                  const CodegenOptions &options = {});

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_GENERATEOBJECT_H
