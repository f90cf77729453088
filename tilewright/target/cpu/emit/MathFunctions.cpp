#include "tilewright/target/cpu/emit/MathFunctions.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace tilewright::cpu {

Value *emitLibm(LaneBuilder &b, StringRef name, ArrayRef<Value *> operands) {
  Type *type = operands[0]->getType()->getScalarType();
  std::string symbol = (name + (type->isFloatTy() ? "f" : "")).str();
  SmallVector<Type *> types(operands.size(), type);
  FunctionCallee callee =
      b.module.getOrInsertFunction(symbol, FunctionType::get(type, types, false));
  unsigned lanes = b.lanesOf(operands[0]);
  if (lanes == 1)
    return b.ir.CreateCall(callee, operands);
  SmallVector<Value *> slots;
  for (Value *operand : operands) {
    slots.push_back(b.slot(operand->getType()));
    b.ir.CreateStore(operand, slots.back());
  }
  Value *out = b.slot(operands[0]->getType());
  b.loop(b.i64(lanes), [&](Value *lane) {
    SmallVector<Value *> arguments;
    for (Value *slot : slots)
      arguments.push_back(b.ir.CreateLoad(type, b.ir.CreateGEP(type, slot, lane)));
    b.ir.CreateStore(b.ir.CreateCall(callee, arguments), b.ir.CreateGEP(type, out, lane));
  });
  return b.ir.CreateLoad(operands[0]->getType(), out);
}

/// Half away from zero: truncate, then add one where half or more was cut off. Adding a half
/// before would round 0.49999997 up.
Value *emitRound(LaneBuilder &b, ArrayRef<Value *> x) {
  Value *whole = b.intrinsic(Intrinsic::trunc, {x[0]});
  Value *cut = b.intrinsic(Intrinsic::fabs, {b.ir.CreateFSub(x[0], whole)});
  Value *one = b.intrinsic(Intrinsic::copysign, {b.real(x[0], 1.0), x[0]});
  // copysign: -0.3 rounds to -0.
  Value *up = b.ir.CreateFAdd(whole, one);
  Value *result = b.ir.CreateSelect(b.ir.CreateFCmpOGE(cut, b.real(cut, 0.5)), up, whole);
  return b.intrinsic(Intrinsic::copysign, {result, x[0]});
}

Value *emitFma(LaneBuilder &b, ArrayRef<Value *> x) {
  if (b.chip.hasFma())
    return b.intrinsic(Intrinsic::fma, x);
  return emitLibm(b, "fma", x);
}

Value *emitRsqrt(LaneBuilder &b, ArrayRef<Value *> x) {
  return b.ir.CreateFDiv(b.real(x[0], 1.0), b.intrinsic(Intrinsic::sqrt, {x[0]}));
}

#define TILEWRIGHT_LIBM(function, name)                                                            \
  Value *function(LaneBuilder &b, ArrayRef<Value *> x) { return emitLibm(b, name, x); }
TILEWRIGHT_LIBM(emitExp, "exp")
TILEWRIGHT_LIBM(emitExp2, "exp2")
TILEWRIGHT_LIBM(emitExpm1, "expm1")
TILEWRIGHT_LIBM(emitLog, "log")
TILEWRIGHT_LIBM(emitLog2, "log2")
TILEWRIGHT_LIBM(emitLog10, "log10")
TILEWRIGHT_LIBM(emitLog1p, "log1p")
TILEWRIGHT_LIBM(emitTanh, "tanh")
TILEWRIGHT_LIBM(emitErf, "erf")
TILEWRIGHT_LIBM(emitErfc, "erfc")
TILEWRIGHT_LIBM(emitSin, "sin")
TILEWRIGHT_LIBM(emitCos, "cos")
TILEWRIGHT_LIBM(emitTan, "tan")
TILEWRIGHT_LIBM(emitPow, "pow")
TILEWRIGHT_LIBM(emitAtan2, "atan2")
TILEWRIGHT_LIBM(emitAtan, "atan")
TILEWRIGHT_LIBM(emitAsin, "asin")
TILEWRIGHT_LIBM(emitAcos, "acos")
TILEWRIGHT_LIBM(emitSinh, "sinh")
TILEWRIGHT_LIBM(emitCosh, "cosh")
TILEWRIGHT_LIBM(emitAsinh, "asinh")
TILEWRIGHT_LIBM(emitAcosh, "acosh")
TILEWRIGHT_LIBM(emitAtanh, "atanh")
TILEWRIGHT_LIBM(emitCbrt, "cbrt")
#undef TILEWRIGHT_LIBM

} // namespace tilewright::cpu
