// How many registers of which type a matrix takes in a thread.
#ifndef TILEWRIGHT_VGPU_PTX_FRAGMENT_H
#define TILEWRIGHT_VGPU_PTX_FRAGMENT_H

#include "tilewright/vgpu/ptx/InstructionTable.h"

namespace tilewright::vgpu::ptx {

/// A thread's part of a matrix: `count` registers that hold `type`, several to
/// a register if it is narrower than that.
struct Fragment {
  unsigned count = 0;
  Modifier type = Modifier::none;      // of the elements
  Modifier registers = Modifier::none; // of the registers
};

/// The part of operand 'A', 'B', 'C' or 'D' of an mma, wmma, wgmma, ldmatrix or
/// stmatrix. A of wgmma may also be a descriptor in one .b64 register.
Fragment fragmentOf(const Instruction &instruction, char matrix);

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_FRAGMENT_H
