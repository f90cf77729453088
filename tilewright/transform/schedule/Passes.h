// transform/schedule: what runs when, in which memory.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_PASSES_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tilewright::schedule {

/// On a scheduled function, for whoever draws its memory: offset, bytes, begin and end of each
/// buffer of the arena, one after the other. Times are those of Lifetimes.
inline constexpr llvm::StringLiteral arenaAttr = "exec.arena";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilewright/transform/schedule/Passes.h.inc"

/// From launches and library calls on tensors to the same with a place for every value.
void buildSchedulePipeline(mlir::OpPassManager &passes);

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_PASSES_H
