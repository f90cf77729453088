// transform/schedule: decides when each step runs and which memory each value uses.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_PASSES_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_PASSES_H

#include "tilewright/support/Options.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tilewright::schedule {

/// An attribute on a scheduled function, for tools that draw its memory: offset, bytes, begin and
/// end of each buffer in the arena, concatenated. Times are those of Lifetimes.
inline constexpr llvm::StringLiteral arenaAttr = "exec.arena";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilewright/transform/schedule/Passes.h.inc"

/// Orders the steps of a program of launches and library calls on tensors, and assigns memory to
/// every value.
void buildSchedulePipeline(mlir::OpPassManager &passes, const CommunicateOptions &options = {});

/// Registers the passes and the pipeline (`schedule`) by name.
void registerSchedulePasses();

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_PASSES_H
