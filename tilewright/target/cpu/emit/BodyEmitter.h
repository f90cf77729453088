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

/// The columns of a row that are computed together, from `done` on. A null mask means all lanes.
struct Columns {
  llvm::Value *done;
  unsigned width;
  llvm::Value *mask;
};

/// Emits `step` for all columns of a row, `lanes` at a time. The remainder is one masked step if
/// the machine has masks, and single columns otherwise.
void eachColumns(LaneBuilder &builder, llvm::Value *columns, unsigned lanes,
                 llvm::function_ref<void(const Columns &)> step);

/// Emits `void name(const void *const *args, void *const *results)`: each argument points to one
/// element in its storage type.
void emitBody(LaneBuilder &builder, mlir::func::FuncOp function);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_BODYEMITTER_H
