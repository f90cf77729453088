// The chip table: what a CPU can do, and which one this is.
#ifndef TILEWRIGHT_TARGET_CPU_CHIP_H
#define TILEWRIGHT_TARGET_CPU_CHIP_H

#include "tilewright/target/elements/Lanes.h"

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
  int64_t l1Bytes, l2Bytes;
  /// What the machine must have, of this row and all above it, as LLVM spells it.
  std::vector<std::string_view> features;

  bool has(std::string_view feature) const;
  /// What code for elements may count on.
  lanes::Machine machine() const;
};

/// All rows, weakest first.
const std::vector<Chip> &chips();
const Chip *chipNamed(std::string_view name);

/// The strongest row whose features this machine has.
const Chip &hostChip();

/// Writes the `exec.target` dictionary that the stages read: chip, triple, vector_bytes,
/// l1_bytes, l2_bytes, cores, features.
void attachTarget(mlir::ModuleOp module, const Chip &chip, int64_t cores);

/// The chip that `exec.target` names, if any.
const Chip *targetOf(mlir::ModuleOp module);

inline constexpr std::string_view triple = "x86_64-unknown-linux-gnu";

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_CHIP_H
