// The GPU target: kernels of a module as PTX.
#ifndef TILEWRIGHT_TARGET_NVPTX_TARGET_H
#define TILEWRIGHT_TARGET_NVPTX_TARGET_H

#include "tilewright/support/Status.h"
#include "tilewright/target/nvptx/Chip.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::nvptx {

struct CodegenOptions {
  /// What to give to `dump`: "llvm" before its passes, "llvm-optimized" after them, or "ptx".
  std::string dumpLevel;
  std::function<void(std::string_view text)> dump;
};

/// A tensor as the copy engine sees it, dimension 0 the contiguous one; lines of `swizzleBytes` (64
/// or 128), swizzled, zero outside.
struct TensorMapInfo {
  int64_t argument = 0; // of the kernel's memrefs
  mlir::Type elementType;
  std::vector<int64_t> dims, byteStrides, box;
  int64_t swizzleBytes = 128;
  bool operator==(const TensorMapInfo &) const = default;
};

/// One sm.kernel: how it is launched.
struct KernelInfo {
  std::string name;   // in the module
  std::string symbol; // in the PTX
  std::array<int64_t, 3> grid = {1, 1, 1}, cluster = {1, 1, 1};
  int64_t threads = 32; // of a CTA
  int64_t sharedBytes = 0;
  /// Parameters after the pointers, 128 bytes each.
  std::vector<TensorMapInfo> tensorMaps;
};

struct GpuCode {
  /// Empty if the module has no kernels.
  std::string ptx;
  std::vector<KernelInfo> kernels;
};

/// Compiles every `sm.kernel` of the module. The parameters of a kernel are the pointers of its
/// memrefs in order. Fails with E4050 to E4052 and E4054.
Result<GpuCode> generateCode(mlir::ModuleOp module, const Chip &chip,
                             const CodegenOptions &options = {});

/// Why a CTA of so many threads with so many registers cannot start on the chip: E4058; OK if it
/// can.
Status checkLaunch(const Chip &chip, std::string_view kernel, int64_t threads, int64_t registers);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_TARGET_H
