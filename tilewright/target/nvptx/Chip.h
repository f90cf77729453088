// The chip table: what a GPU can do.
#ifndef TILEWRIGHT_TARGET_NVPTX_CHIP_H
#define TILEWRIGHT_TARGET_NVPTX_CHIP_H

#include "tilewright/target/elements/Lanes.h"

#include "mlir/IR/BuiltinOps.h"

#include <string_view>
#include <vector>

namespace tilewright::nvptx {

/// A row of Chips.def, and what all rows have in common.
struct Chip {
  std::string_view name; // "sm_90a", LLVM's name too
  int64_t ptxVersion;    // 80 is PTX 8.0
  int64_t processors;
  int64_t sharedBytes;      // of a CTA, at most
  int64_t processorShared;  // of a multiprocessor
  int64_t processorThreads; // that a multiprocessor holds at once
  int64_t maxCluster;
  std::string_view matrix; // "mma", "wgmma" or "tcgen05"

  int64_t warpSize = 32;
  int64_t registers = 65536;  // of a multiprocessor
  int64_t maxRegisters = 255; // of a thread
  int64_t maxThreads = 1024;  // of a CTA
  int64_t sectorBytes = 32;

  /// What code for elements may count on.
  lanes::Machine machine() const;
};

/// All rows, oldest first.
const std::vector<Chip> &chips();
const Chip *chipNamed(std::string_view name);

/// Writes the `exec.target` dictionary that the stages read: docs/design/gpu-compiler.md has its
/// keys. `processors` in place of the chip's, if not 0.
void attachTarget(mlir::ModuleOp module, const Chip &chip, int64_t processors = 0);

/// The GPU that `exec.target` names, if any.
const Chip *targetOf(mlir::ModuleOp module);

/// The processors that `exec.target` has, or the chip's if it says nothing.
int64_t processorsOf(mlir::ModuleOp module, const Chip &chip);

inline constexpr std::string_view triple = "nvptx64-nvidia-cuda";

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_CHIP_H
