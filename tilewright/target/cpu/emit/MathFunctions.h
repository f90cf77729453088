// Elementary functions on vectors of f32 and f64, within the ulps that README.md states.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_MATHFUNCTIONS_H
#define TILEWRIGHT_TARGET_CPU_EMIT_MATHFUNCTIONS_H

#include "tilewright/target/cpu/emit/Lanes.h"

namespace tilewright::cpu {

/// Emits one function of one to three operands of one type, f32 or f64, scalars or vectors.
using MathFunction = llvm::Value *(LaneBuilder &, llvm::ArrayRef<llvm::Value *>);

MathFunction emitRound, emitFma, emitRsqrt, emitExp, emitExp2, emitExpm1, emitLog, emitLog2,
    emitLog10, emitLog1p, emitTanh, emitErf, emitErfc, emitSin, emitCos, emitTan, emitPow,
    emitAtan2, emitAtan, emitAsin, emitAcos, emitSinh, emitCosh, emitAsinh, emitAcosh, emitAtanh,
    emitCbrt;

/// A call of the C library for each lane: `name` for f64, with an f behind for f32.
llvm::Value *emitLibm(LaneBuilder &b, llvm::StringRef name, llvm::ArrayRef<llvm::Value *> operands);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_MATHFUNCTIONS_H
