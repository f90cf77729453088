// Passes of the CPU target.
#ifndef TILEWRIGHT_TARGET_CPU_PASSES_H
#define TILEWRIGHT_TARGET_CPU_PASSES_H

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tilewright::cpu {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilewright/target/cpu/Passes.h.inc"

/// Lowers all remaining ops to launches and runtime calls.
void buildLowerPipeline(mlir::OpPassManager &passes);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_PASSES_H
