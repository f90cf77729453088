// generateCode(): compiles the kernels of a module to PTX.
#ifndef TILEWRIGHT_TARGET_NVPTX_GENERATECODE_H
#define TILEWRIGHT_TARGET_NVPTX_GENERATECODE_H

#include "tilewright/support/Status.h"
#include "tilewright/target/gpu/KernelInfo.h"
#include "tilewright/target/nvptx/Chip.h"

#include "mlir/IR/DialectRegistry.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::nvptx {

struct CodegenOptions {
  /// The level to pass to `dump`: "nvvm" in MLIR, "llvm" before LLVM's passes, "llvm-optimized"
  /// after them, or "ptx".
  std::string dumpLevel;
  std::function<void(std::string_view text)> dump;
  /// The path of the LLVM bitcode from which functions that kernels call are linked: NVSHMEM's
  /// device library, if a kernel has windows on the heap.
  std::string deviceLibrary;
};

/// A tensor map (TMA descriptor) with swizzled lines of `swizzleBytes` (64 or 128). Dimension 0 is
/// contiguous; out-of-bounds elements read as zero. A box takes every `elementStrides`-th element,
/// so it has `box / elementStrides` of them.
struct TensorMapInfo {
  int64_t argument = 0; // of the kernel's memrefs
  mlir::Type elementType;
  std::vector<int64_t> dims, byteStrides, box, elementStrides;
  int64_t swizzleBytes = 128;
  bool operator==(const TensorMapInfo &) const = default;
};

struct KernelInfo : gpu::KernelInfo {
  std::array<int64_t, 3> cluster = {1, 1, 1};
  /// Kernel parameters of 128 bytes each, after the pointers.
  std::vector<TensorMapInfo> tensorMaps;
  /// By memref: the number of ranks if it is a window (lower/Windows.h has the parameter's fields),
  /// else 0.
  std::vector<int64_t> windowRanks;
};

struct GpuCode {
  /// Empty if the module has no kernels.
  std::string ptx;
  std::vector<KernelInfo> kernels;
};

/// Compiles every `sm.kernel` of the module. A kernel's parameters are the pointers of its memrefs
/// (the addresses of a window's parts), in order, then its tensor maps. Fails with E4050 to E4052
/// and E4054.
Result<GpuCode> generateCode(mlir::ModuleOp module, const Chip &chip,
                             const CodegenOptions &options = {});

/// Adds the dialects that kernels are lowered to, with their translation to LLVM IR.
void registerDialects(mlir::DialectRegistry &registry);

/// Fails with E4058 if a CTA with this many threads and registers cannot launch on the chip.
Status checkLaunch(const Chip &chip, std::string_view kernel, int64_t threads, int64_t registers);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_GENERATECODE_H
