// The disassembly of a code object.
#ifndef TILEWRIGHT_VGPU_AMDGCN_DISASSEMBLE_H
#define TILEWRIGHT_VGPU_AMDGCN_DISASSEMBLE_H

#include "tilewright/vgpu/amdgcn/CodeObject.h"

namespace tilewright::vgpu::amdgcn {

struct Disassembly {
  std::string text;
  size_t instructions = 0;
  size_t unknown = 0; // dwords that are not an instruction, written as .long; bytes at the end
};

/// All executable sections, line for line as `llvm-objdump -d` prints them after the name of the
/// file.
Disassembly disassemble(const CodeObject &object);

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_DISASSEMBLE_H
