// The functions that the library's attention calls on blocks of scores.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_ATTENTIONEMITTER_H
#define TILEWRIGHT_TARGET_CPU_EMIT_ATTENTIONEMITTER_H

#include "tilewright/target/lanes/Lanes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::cpu {

using lanes::LaneBuilder;
using lanes::Lanes;

/// Marks a scalar function as a score function: (product: f32, query: i32, key: i32, inputs…) ->
/// f32, or (f32, f32) with a factor of the weight that does not depend on the product; or (query,
/// key, inputs…) -> i1, which tells whether an element is visible. For each input,
/// the attribute has two strides: element [query, key] is at query * first + key * second. The
/// second stride is 0 or 1.
inline constexpr llvm::StringLiteral scoreAttribute = "exec.score";
/// The type of the weights, on a function that computes scores.
inline constexpr llvm::StringLiteral weightAttribute = "exec.weight_type";
/// The types of weights and gradients, on a function of the backward pass: (product: f32,
/// cotangents: f32, row dot: f32, query: i32, key: i32, inputs…) -> (f32, f32).
inline constexpr llvm::StringLiteral gradientAttribute = "exec.gradient_types";

inline bool isScore(mlir::func::FuncOp function) { return function->hasAttr(scoreAttribute); }

/// Emits the function in the ABI of ScoreFunction::Update, ScoreFunction::IsMasked
/// (runtime/cpu/attention/Attention.h) or GradientFunction::Compute (AttentionBackward.h).
void emitScore(LaneBuilder &builder, mlir::func::FuncOp function);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_ATTENTIONEMITTER_H
