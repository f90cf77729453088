// Marks a custom call whose buffers already have the layouts that its handler expects.
#ifndef TILEWRIGHT_DIALECT_EXEC_CALLLAYOUTS_H
#define TILEWRIGHT_DIALECT_EXEC_CALLLAYOUTS_H

#include "llvm/ADT/StringRef.h"

namespace tilewright::exec {

/// A unit attribute of stablehlo.custom_call and exec.custom_call. With it, the types of operands
/// and results list their dimensions from major to minor according to operand_layouts and
/// result_layouts, so the row-major buffers are what the handler expects. Without it, types have
/// the handler's own order of dimensions, and the runtime reorders buffers.
inline constexpr llvm::StringLiteral transposedAttr = "exec.transposed";

} // namespace tilewright::exec

#endif // TILEWRIGHT_DIALECT_EXEC_CALLLAYOUTS_H
