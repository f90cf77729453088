// `tilewright vgpu disassemble`: the machine code of an AMD code object as text.
#ifndef TILEWRIGHT_VGPU_RUN_DISASSEMBLECOMMAND_H
#define TILEWRIGHT_VGPU_RUN_DISASSEMBLECOMMAND_H

#include "tilewright/support/Status.h"

#include <span>
#include <string_view>

namespace tilewright::vgpu::run {

/// Prints the code objects that the arguments name. Returns the exit code: 1 if a file contains
/// bytes in a code section that are not instructions.
///  - vgpuCommand: wrong arguments, or a file cannot be read.
///  - vgpuBinary, vgpuChip: a file is not a code object for a chip that we can decode.
Result<int> disassembleCommand(std::span<const std::string_view> arguments);

std::string_view disassembleHelp();

} // namespace tilewright::vgpu::run

#endif // TILEWRIGHT_VGPU_RUN_DISASSEMBLECOMMAND_H
