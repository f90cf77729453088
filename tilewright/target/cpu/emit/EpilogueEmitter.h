// Scalar functions in the epilogue ABI, to which the library's products hand their sums.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_EPILOGUEEMITTER_H
#define TILEWRIGHT_TARGET_CPU_EMIT_EPILOGUEEMITTER_H

#include "tilewright/target/elements/Lanes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::cpu {

using lanes::LaneBuilder;
using lanes::Lanes;

/// On a function of scalars: it is an epilogue. Its first argument is the sum; for each of the
/// others and then for each result, the attribute has two strides: element [row, column] lies at
/// row * first + column * second. The second is 0 or 1.
inline constexpr llvm::StringLiteral epilogueAttribute = "exec.epilogue";

inline bool isEpilogue(mlir::func::FuncOp function) { return function->hasAttr(epilogueAttribute); }

/// `void name(void *const *buffers, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
/// int64_t columnEnd, const void *tile, int64_t tileStride)`, as runtime/cpu/matmul/Matmul.h has
/// it.
void emitEpilogue(LaneBuilder &builder, mlir::func::FuncOp function);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_EPILOGUEEMITTER_H
