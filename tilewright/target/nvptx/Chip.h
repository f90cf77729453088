// The GPUs that we generate code for, and the target attribute that describes one.
#ifndef TILEWRIGHT_TARGET_NVPTX_CHIP_H
#define TILEWRIGHT_TARGET_NVPTX_CHIP_H

#include "tilewright/chips/Nvidia.h"
#include "tilewright/target/lanes/Lanes.h"

#include "mlir/IR/BuiltinOps.h"

#include <string_view>
#include <vector>

namespace tilewright::nvptx {

using Chip = chips::NvidiaChip;
using MatrixUnit = chips::MatrixUnit;

/// The rows of the table that we compile for, oldest first.
const std::vector<Chip> &chips();
/// The chip of this name that we compile for, or null.
const Chip *chipNamed(std::string_view name);

/// The machine description for the code generator of elementwise code (target/lanes); the same for
/// all chips.
lanes::Machine elementMachine();

/// Sets the module's `exec.target`, which the stages read. If `multiprocessors` is not 0, it
/// overrides the chip's number of multiprocessors.
void attachTarget(mlir::ModuleOp module, const Chip &chip, int64_t multiprocessors = 0);

/// The GPU that `exec.target` names, if any.
const Chip *targetOf(mlir::ModuleOp module);

/// The number of multiprocessors in `exec.target`; the chip's if the module has no target.
int64_t multiprocessorsOf(mlir::ModuleOp module, const Chip &chip);

inline constexpr std::string_view triple = "nvptx64-nvidia-cuda";

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_CHIP_H
