// The chip table: the capabilities of each CPU, and the host's row.
#ifndef TILEWRIGHT_TARGET_CPU_CHIP_H
#define TILEWRIGHT_TARGET_CPU_CHIP_H

#include "tilewright/target/lanes/Lanes.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string_view>
#include <vector>

namespace tilewright::cpu {

/// A row of Chips.def.
struct Chip {
  std::string_view name; // "x86-64-v4"
  std::string_view cpu;  // LLVM's name
  unsigned vectorBytes;
  int64_t l1Bytes;
  /// The features that the machine must have, in LLVM's spelling: those of this row and of all rows
  /// above it.
  std::vector<std::string_view> features;

  bool has(std::string_view feature) const;
  /// The machine description for the code generator of elementwise code (target/lanes).
  lanes::Machine machine() const;
};

/// All rows, weakest first.
const std::vector<Chip> &chips();
const Chip *chipNamed(std::string_view name);

/// The strongest row whose features the host has.
const Chip &hostChip();

/// Sets the module's `exec.target`, which the stages read.
void attachTarget(mlir::ModuleOp module, const Chip &chip, int64_t cores);

/// The chip that `exec.target` names, if any.
const Chip *targetOf(mlir::ModuleOp module);

inline constexpr std::string_view triple = "x86_64-unknown-linux-gnu";

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_CHIP_H
