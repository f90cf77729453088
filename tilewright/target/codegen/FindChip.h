// The chip that a pass targets: the one named in its options, or the module's.
#ifndef TILEWRIGHT_TARGET_CODEGEN_FINDCHIP_H
#define TILEWRIGHT_TARGET_CODEGEN_FINDCHIP_H

#include "tilewright/support/Errors.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::codegen {

/// The row of `chips` with this name, or `otherwise` if the name is empty. If there is no such row,
/// reports an error at the module and returns null.
template <typename Chip>
const Chip *findChip(mlir::ModuleOp module, const std::string &name, const std::vector<Chip> &chips,
                     const Chip *otherwise, Error failure) {
  if (name.empty())
    return otherwise;
  for (const Chip &chip : chips)
    if (chip.name == name)
      return &chip;
  mlir::InFlightDiagnostic error = module.emitError() << idOf(failure) << " target: unknown chip '"
                                                      << name << "'; known chips are";
  for (const Chip &chip : chips)
    error << " " << llvm::StringRef(chip.name.data(), chip.name.size());
  return nullptr;
}

} // namespace tilewright::codegen

#endif // TILEWRIGHT_TARGET_CODEGEN_FINDCHIP_H
