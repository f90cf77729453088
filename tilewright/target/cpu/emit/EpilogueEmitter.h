// Scalar functions in the epilogue ABI, to which the library's matmuls pass their sums.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_EPILOGUEEMITTER_H
#define TILEWRIGHT_TARGET_CPU_EMIT_EPILOGUEEMITTER_H

#include "tilewright/target/lanes/Lanes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::cpu {

using lanes::LaneBuilder;
using lanes::Lanes;

/// Marks a scalar function as an epilogue. Its first argument is the sum. For each further argument
/// and then for each result, the attribute has two strides: element [row, column] is at row * first
/// + column * second. The second stride is 0 or 1.
inline constexpr llvm::StringLiteral epilogueAttribute = "exec.epilogue";

inline bool isEpilogue(mlir::func::FuncOp function) { return function->hasAttr(epilogueAttribute); }

/// Emits `void name(void *const *buffers, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
/// int64_t columnEnd, const void *tile, int64_t tileStride)`, the epilogue ABI of
/// runtime/cpu/matmul/Matmul.h.
void emitEpilogue(LaneBuilder &builder, mlir::func::FuncOp function);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_EPILOGUEEMITTER_H
