// ScaledDot: dot_general of block-scaled operands.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_SCALEDDOT_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_SCALEDDOT_H

#include "tilewright/runtime/cpu/library/CallReader.h"

namespace tilewright::runtime::cpu {

/// Prepares a call with a `block`. Operands 2 and 3 are the scales of lhs and rhs; those of an
/// epilogue follow. Both sides have the dimensions [batch…, free…, contracted], and an operand of
/// ui8 has two f4E2M1FN in each byte.
KernelResult prepareScaledDot(const artifact::DotGeneralCall &call, const LibrarySignature &types);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_SCALEDDOT_H
