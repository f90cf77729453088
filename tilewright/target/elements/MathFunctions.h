// Elementary functions on vectors of f32 and f64, within the ulps that README.md states.
#ifndef TILEWRIGHT_TARGET_ELEMENTS_MATHFUNCTIONS_H
#define TILEWRIGHT_TARGET_ELEMENTS_MATHFUNCTIONS_H

#include "tilewright/target/elements/Lanes.h"

namespace tilewright::lanes {

/// Emits one function of one to three operands of one type, f32 or f64, scalars or vectors.
///
/// exp, log, tanh and erf of f32 are computed in f32, because they are what networks spend time
/// in. The other functions of f32 are computed in f64 and rounded, which needs no care near
/// zeros and poles and is right to little more than half an ulp. Functions of f64 are the C
/// library's, one lane at a time; a machine without a library gets those of MathAlone.cpp.
using MathFunction = llvm::Value *(LaneBuilder &, llvm::ArrayRef<llvm::Value *>);

MathFunction emitRound, emitFma, emitRsqrt, emitExp, emitExp2, emitExpm1, emitLog, emitLog2,
    emitLog10, emitLog1p, emitTanh, emitErf, emitErfc, emitSin, emitCos, emitTan, emitPow,
    emitAtan2, emitAtan, emitAsin, emitAcos, emitSinh, emitCosh, emitAsinh, emitAcosh, emitAtanh,
    emitCbrt, emitRemainder;

/// A call of the C library for each lane: `name` for f64, with an f behind for f32. On a machine
/// without one, emitAlone.
llvm::Value *emitLibm(LaneBuilder &b, llvm::StringRef name, llvm::ArrayRef<llvm::Value *> operands);

/// What the C library would compute, as instructions for one lane; refused where there are none.
llvm::Value *emitAlone(LaneBuilder &b, llvm::StringRef name,
                       llvm::ArrayRef<llvm::Value *> operands);

/// The exact remainder of f32 or f64 with the sign of `x`, one lane.
llvm::Value *emitLongDivision(LaneBuilder &b, llvm::Value *x, llvm::Value *y);

/// c[0] + c[1] x + c[2] x² …
llvm::Value *emitPolynomial(LaneBuilder &b, llvm::Value *x, llvm::ArrayRef<double> coefficients);

// Those of f32 that are computed in f32 (MathSingle.cpp).
llvm::Value *expSingle(LaneBuilder &b, llvm::Value *x);
llvm::Value *logSingle(LaneBuilder &b, llvm::Value *x);
llvm::Value *tanhSingle(LaneBuilder &b, llvm::Value *x);
llvm::Value *erfSingle(LaneBuilder &b, llvm::Value *x);

} // namespace tilewright::lanes

#endif // TILEWRIGHT_TARGET_ELEMENTS_MATHFUNCTIONS_H
