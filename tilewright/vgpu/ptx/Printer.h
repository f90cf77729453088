// Writes a Module as PTX text.
#ifndef TILEWRIGHT_VGPU_PTX_PRINTER_H
#define TILEWRIGHT_VGPU_PTX_PRINTER_H

#include "tilewright/vgpu/ptx/Module.h"

#include <string>

namespace tilewright::vgpu::ptx {

/// Prints PTX that ptxas accepts and that parse() reads into an equal module. Comments and the
/// spelling of constants are lost.
std::string print(const Module &module);

/// Prints one instruction without its semicolon, for messages: "@!%p1 bra $L1".
std::string print(const Module &module, const Function &function, const Instruction &instruction);

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_PRINTER_H
