// How a custom call says that its buffers have the layouts that its handler asks for.
#ifndef TILEWRIGHT_DIALECT_EXEC_CALLLAYOUTS_H
#define TILEWRIGHT_DIALECT_EXEC_CALLLAYOUTS_H

#include "llvm/ADT/StringRef.h"

namespace tilewright::exec {

/// A unit attribute of stablehlo.custom_call and exec.custom_call. The types of operands and
/// results have their dimensions from the major to the minor one of operand_layouts and
/// result_layouts, so the row-major buffers are what the handler expects. Without the attribute,
/// types have the handler's own order of dimensions, and the runtime reorders buffers.
inline constexpr llvm::StringLiteral transposedAttr = "exec.transposed";

} // namespace tilewright::exec

#endif // TILEWRIGHT_DIALECT_EXEC_CALLLAYOUTS_H
