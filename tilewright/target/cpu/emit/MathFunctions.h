// Elementary functions on vectors of f32 and f64, within the ulps that README.md states.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_MATHFUNCTIONS_H
#define TILEWRIGHT_TARGET_CPU_EMIT_MATHFUNCTIONS_H

#include "tilewright/target/cpu/emit/Lanes.h"

namespace tilewright::cpu {

/// Emits one function of one to three operands of one type, f32 or f64, scalars or vectors.
///
/// exp, log, tanh and erf of f32 are computed in f32, because they are what networks spend time
/// in. The other functions of f32 are computed in f64 and rounded, which needs no care near
/// zeros and poles and is right to little more than half an ulp. Functions of f64 are the C
/// library's, one lane at a time.
using MathFunction = llvm::Value *(LaneBuilder &, llvm::ArrayRef<llvm::Value *>);

MathFunction emitRound, emitFma, emitRsqrt, emitExp, emitExp2, emitExpm1, emitLog, emitLog2,
    emitLog10, emitLog1p, emitTanh, emitErf, emitErfc, emitSin, emitCos, emitTan, emitPow,
    emitAtan2, emitAtan, emitAsin, emitAcos, emitSinh, emitCosh, emitAsinh, emitAcosh, emitAtanh,
    emitCbrt;

/// A call of the C library for each lane: `name` for f64, with an f behind for f32.
llvm::Value *emitLibm(LaneBuilder &b, llvm::StringRef name, llvm::ArrayRef<llvm::Value *> operands);

/// c[0] + c[1] x + c[2] x² …
llvm::Value *emitPolynomial(LaneBuilder &b, llvm::Value *x, llvm::ArrayRef<double> coefficients);

// Those of f32 that are computed in f32 (MathSingle.cpp).
llvm::Value *expSingle(LaneBuilder &b, llvm::Value *x);
llvm::Value *logSingle(LaneBuilder &b, llvm::Value *x);
llvm::Value *tanhSingle(LaneBuilder &b, llvm::Value *x);
llvm::Value *erfSingle(LaneBuilder &b, llvm::Value *x);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_MATHFUNCTIONS_H
