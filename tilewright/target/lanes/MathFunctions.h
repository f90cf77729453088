// Elementary functions on vectors of f32 and f64, with the error bounds in README.md.
#ifndef TILEWRIGHT_TARGET_LANES_MATHFUNCTIONS_H
#define TILEWRIGHT_TARGET_LANES_MATHFUNCTIONS_H

#include "tilewright/target/lanes/Lanes.h"

namespace tilewright::lanes {

/// Emits a function of one to three operands of the same type, f32 or f64, scalars or vectors.
///
/// exp, log, tanh and erf of f32 are computed in f32, because networks spend most time in them.
/// Other functions of f32 are computed in f64 and rounded, which needs no special handling near
/// zeros and poles and has an error of little more than half an ulp. Functions of f64 call the C
/// library, one lane at a time; a machine without it uses MathAlone.cpp.
using MathFunction = llvm::Value *(LaneBuilder &, llvm::ArrayRef<llvm::Value *>);

MathFunction emitRound, emitFma, emitRsqrt, emitExp, emitExp2, emitExpm1, emitLog, emitLog2,
    emitLog10, emitLog1p, emitTanh, emitErf, emitErfc, emitSin, emitCos, emitTan, emitPow,
    emitAtan2, emitAtan, emitAsin, emitAcos, emitSinh, emitCosh, emitAsinh, emitAcosh, emitAtanh,
    emitCbrt, emitRemainder;

/// Calls the C library for each lane: `name` for f64, with the suffix f for f32. On a machine
/// without the library, calls emitAlone().
llvm::Value *emitLibm(LaneBuilder &b, llvm::StringRef name, llvm::ArrayRef<llvm::Value *> operands);

/// Emits the C library's function inline for one lane; rejects functions without an implementation.
llvm::Value *emitAlone(LaneBuilder &b, llvm::StringRef name,
                       llvm::ArrayRef<llvm::Value *> operands);

/// The exact remainder of f32 or f64 with the sign of `x`, for one lane.
llvm::Value *emitLongDivision(LaneBuilder &b, llvm::Value *x, llvm::Value *y);

/// c[0] + c[1] x + c[2] x² …
llvm::Value *emitPolynomial(LaneBuilder &b, llvm::Value *x, llvm::ArrayRef<double> coefficients);

// Functions of f32 that are computed in f32 (MathSingle.cpp).
llvm::Value *expSingle(LaneBuilder &b, llvm::Value *x);
llvm::Value *logSingle(LaneBuilder &b, llvm::Value *x);
llvm::Value *tanhSingle(LaneBuilder &b, llvm::Value *x);
llvm::Value *erfSingle(LaneBuilder &b, llvm::Value *x);

} // namespace tilewright::lanes

#endif // TILEWRIGHT_TARGET_LANES_MATHFUNCTIONS_H
