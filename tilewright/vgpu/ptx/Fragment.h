// The number and type of registers that a matrix fragment needs in a thread.
#ifndef TILEWRIGHT_VGPU_PTX_FRAGMENT_H
#define TILEWRIGHT_VGPU_PTX_FRAGMENT_H

#include "tilewright/vgpu/ptx/InstructionTable.h"

namespace tilewright::vgpu::ptx {

/// The fragment of a matrix in one thread: `count` registers with elements of `type`, several per
/// register if the type is narrower.
struct Fragment {
  unsigned count = 0;
  Modifier type = Modifier::none;      // of the elements
  Modifier registers = Modifier::none; // of the registers
};

/// The fragment of operand 'A', 'B', 'C' or 'D' of an mma, wmma, wgmma, ldmatrix or stmatrix. A of
/// wgmma may also be a descriptor in one .b64 register.
Fragment fragmentOf(const Instruction &instruction, char matrix);
/// The number of .x1, .x2, ….
unsigned repetitionsOf(const Instruction &instruction);

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_FRAGMENT_H
