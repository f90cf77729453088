// Scalar functions in the body ABI; library kernels call them for each element.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_BODYEMITTER_H
#define TILEWRIGHT_TARGET_CPU_EMIT_BODYEMITTER_H

#include "tilewright/target/lanes/Lanes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::cpu {

using lanes::LaneBuilder;
using lanes::Lanes;

/// Whether the function is private and has a body of one block whose arguments and results are
/// scalars.
bool isBody(mlir::func::FuncOp function);

/// Creates the function of `body` with the given type and sets the insertion point to its entry.
/// Fails if the name is taken.
llvm::Function *beginFunction(LaneBuilder &builder, mlir::func::FuncOp body,
                              llvm::FunctionType *type);

/// Emits `void name(const void *const *args, void *const *results)`: each argument points to one
/// element in its storage type.
void emitBody(LaneBuilder &builder, mlir::func::FuncOp function);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_BODYEMITTER_H
