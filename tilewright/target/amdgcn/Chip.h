// The AMD GPUs that we generate code for, and the target attribute that describes one.
#ifndef TILEWRIGHT_TARGET_AMDGCN_CHIP_H
#define TILEWRIGHT_TARGET_AMDGCN_CHIP_H

#include "tilewright/chips/Amd.h"
#include "tilewright/target/lanes/Lanes.h"

#include "mlir/IR/BuiltinOps.h"

#include <string_view>
#include <vector>

namespace tilewright::amdgcn {

using Chip = chips::AmdChip;

/// All rows of the table, oldest first.
const std::vector<Chip> &chips();
/// The chip of this name, or null.
const Chip *chipNamed(std::string_view name);

/// The machine description for the code generator of elementwise code (target/lanes).
lanes::Machine elementMachine(const Chip &chip);

/// Sets the module's `exec.target`, which the stages read. If `computeUnits` is not 0, it overrides
/// the chip's number of compute units.
void attachTarget(mlir::ModuleOp module, const Chip &chip, int64_t computeUnits = 0);

/// The AMD GPU that `exec.target` names, if any.
const Chip *targetOf(mlir::ModuleOp module);

inline constexpr std::string_view triple = "amdgcn-amd-amdhsa";

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_CHIP_H
