#include "tilewright/target/lanes/MathFunctions.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/lanes/MathWide.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace tilewright::lanes {

Value *emitLibm(LaneBuilder &b, StringRef name, ArrayRef<Value *> operands) {
  Type *type = operands[0]->getType()->getScalarType();
  if (!b.machine.hasLibrary)
    return emitAlone(b, name, operands);
  std::string symbol = (name + (type->isFloatTy() ? "f" : "")).str();
  SmallVector<Type *> types(operands.size(), type);
  if (Function *known = b.module.getFunction(symbol); known && !known->isDeclaration())
    b.fail(Status(Error::cpuCodegen, concat("the code calls '", symbol,
                                            "' of the C library, but a kernel has the same name; "
                                            "run cpu-lower-ops first, which renames it")));
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

/// Rounds half away from zero: truncate, then add one if the fraction was at least a half. Adding a
/// half first would round 0.49999997 up.
Value *emitRound(LaneBuilder &b, ArrayRef<Value *> x) {
  Value *whole = b.intrinsic(Intrinsic::trunc, {x[0]});
  Value *cut = b.intrinsic(Intrinsic::fabs, {b.ir.CreateFSub(x[0], whole)});
  Value *one = b.intrinsic(Intrinsic::copysign, {b.real(x[0], 1.0), x[0]});
  Value *up = b.ir.CreateFAdd(whole, one);
  Value *result = b.ir.CreateSelect(b.ir.CreateFCmpOGE(cut, b.real(cut, 0.5)), up, whole);
  return b.intrinsic(Intrinsic::copysign, {result, x[0]}); // -0.3 rounds to -0
}

Value *emitFma(LaneBuilder &b, ArrayRef<Value *> x) {
  if (b.machine.hasFma)
    return b.intrinsic(Intrinsic::fma, x);
  return emitLibm(b, "fma", x);
}

namespace {

/// Above this value, f64 has too few digits of π/2 for the argument reduction, and the C library is
/// called.
constexpr double largestTurned = 1048576.0;

/// Returns `fast`, but if any lane of `needs` is set, calls the C library's function `name` for
/// those lanes.
Value *unlessAny(LaneBuilder &b, Value *needs, Value *fast, StringRef name, Value *x) {
  IRBuilder<> &ir = b.ir;
  unsigned lanes = b.lanesOf(x);
  Value *any = lanes == 1 ? needs : ir.CreateOrReduce(needs);
  AllocaInst *slot = b.slot(x->getType());
  ir.CreateStore(fast, slot);
  // A loop with at most one iteration serves as a branch.
  b.loop(ir.CreateZExt(any, ir.getInt64Ty()), [&](Value *) {
    ir.CreateStore(ir.CreateSelect(needs, emitLibm(b, name, {x}), fast), slot);
  });
  return ir.CreateLoad(x->getType(), slot);
}

/// Keeps -0.
Value *keepZero(LaneBuilder &b, Value *x, Value *result) {
  return b.ir.CreateSelect(b.ir.CreateFCmpOEQ(x, b.real(x, 0.0)), x, result);
}

bool isSingle(Value *x) { return x->getType()->getScalarType()->isFloatTy(); }

using WideFunction = Value *(Wide &, ArrayRef<Value *>);
Value *inWide(LaneBuilder &b, ArrayRef<Value *> x, StringRef libm, WideFunction function) {
  if (!isSingle(x[0]))
    return emitLibm(b, libm, x);
  Wide wide{b};
  SmallVector<Value *, 2> operands;
  for (Value *operand : x)
    operands.push_back(wide.in(operand));
  return wide.out(function(wide, operands));
}

} // namespace

/// The argument reduction for small angles, or, in a branch that few threads take, for large ones.
Wide::Angle emitAngle(LaneBuilder &b, Value *x) {
  Wide wide{b};
  // NaN propagates without special handling; infinities exceed the limit.
  Value *size = b.intrinsic(Intrinsic::fabs, {x});
  Value *isFar = b.ir.CreateFCmpOGT(size, b.real(x, largestTurned));
  Wide::Angle near = wide.angle(wide.in(x));
  AllocaInst *quadrant = b.slot(near.quadrant->getType()), *rest = b.slot(near.rest->getType());
  b.ir.CreateStore(near.quadrant, quadrant);
  b.ir.CreateStore(near.rest, rest);
  b.loop(b.ir.CreateZExt(isFar, b.ir.getInt64Ty()), [&](Value *) {
    Wide::Angle far = emitFarAngle(b, x);
    b.ir.CreateStore(far.quadrant, quadrant);
    b.ir.CreateStore(far.rest, rest);
  });
  return {b.ir.CreateLoad(near.quadrant->getType(), quadrant),
          b.ir.CreateLoad(near.rest->getType(), rest)};
}

Value *emitExp(LaneBuilder &b, ArrayRef<Value *> x) {
  return isSingle(x[0]) ? expSingle(b, x[0]) : emitLibm(b, "exp", x);
}
Value *emitLog(LaneBuilder &b, ArrayRef<Value *> x) {
  return isSingle(x[0]) ? logSingle(b, x[0]) : emitLibm(b, "log", x);
}
Value *emitTanh(LaneBuilder &b, ArrayRef<Value *> x) {
  return isSingle(x[0]) ? tanhSingle(b, x[0]) : emitLibm(b, "tanh", x);
}
Value *emitErf(LaneBuilder &b, ArrayRef<Value *> x) {
  return isSingle(x[0]) ? erfSingle(b, x[0]) : emitLibm(b, "erf", x);
}
Value *emitErfc(LaneBuilder &b, ArrayRef<Value *> x) { return emitLibm(b, "erfc", x); }

Value *emitRemainder(LaneBuilder &b, ArrayRef<Value *> x) {
  return b.machine.hasLibrary ? b.ir.CreateFRem(x[0], x[1]) : emitLongDivision(b, x[0], x[1]);
}

/// Two instructions, each of which rounds.
Value *emitRsqrt(LaneBuilder &b, ArrayRef<Value *> x) {
  return b.ir.CreateFDiv(b.real(x[0], 1.0), b.intrinsic(Intrinsic::sqrt, {x[0]}));
}

Value *emitExp2(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "exp2", [](Wide &w, ArrayRef<Value *> v) { return w.exp2(v[0]); });
}
Value *emitExpm1(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "expm1", [](Wide &w, ArrayRef<Value *> v) { return w.expm1(v[0]); });
}
Value *emitLog2(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "log2", [](Wide &w, ArrayRef<Value *> v) {
    return w.mul(w.log(v[0]), w.c(v[0], 1.4426950408889634));
  });
}
Value *emitLog10(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "log10", [](Wide &w, ArrayRef<Value *> v) {
    return w.mul(w.log(v[0]), w.c(v[0], 0.43429448190325182));
  });
}
Value *emitLog1p(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "log1p", [](Wide &w, ArrayRef<Value *> v) { return w.log1p(v[0]); });
}
Value *emitPow(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "pow", [](Wide &w, ArrayRef<Value *> v) { return w.pow(v[0], v[1]); });
}
Value *emitAtan2(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "atan2", [](Wide &w, ArrayRef<Value *> v) { return w.atan2(v[0], v[1]); });
}
Value *emitAtan(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "atan",
                [](Wide &w, ArrayRef<Value *> v) { return w.atan2(v[0], w.c(v[0], 1.0)); });
}
Value *emitAsin(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "asin", [](Wide &w, ArrayRef<Value *> v) {
    Value *one = w.c(v[0], 1.0);
    return w.atan2(v[0], w.sqrt(w.mul(w.sub(one, v[0]), w.add(one, v[0]))));
  });
}
Value *emitAcos(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "acos", [](Wide &w, ArrayRef<Value *> v) {
    Value *one = w.c(v[0], 1.0);
    return w.atan2(w.sqrt(w.mul(w.sub(one, v[0]), w.add(one, v[0]))), v[0]);
  });
}
Value *emitSinh(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "sinh", [](Wide &w, ArrayRef<Value *> v) {
    Value *q = w.expm1(w.abs(v[0]));
    Value *sum = w.add(q, w.div(q, w.add(q, w.c(q, 1.0))));
    return w.sign(w.mul(sum, w.c(q, 0.5)), v[0]);
  });
}
Value *emitCosh(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "cosh", [](Wide &w, ArrayRef<Value *> v) {
    Value *power = w.exp(w.abs(v[0]));
    return w.mul(w.add(power, w.div(w.c(power, 1.0), power)), w.c(power, 0.5));
  });
}
Value *emitAsinh(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "asinh", [](Wide &w, ArrayRef<Value *> v) {
    Value *size = w.abs(v[0]), *one = w.c(size, 1.0), *square = w.mul(size, size);
    Value *root = w.sqrt(w.add(square, one));
    // For infinity, `rest` is inf / inf; use infinity itself, whose logarithm is infinity.
    Value *rest = w.div(square, w.add(one, root));
    Value *sum = w.select(w.equal(size, HUGE_VAL), size, w.add(size, rest));
    return w.sign(w.log1p(sum), v[0]);
  });
}
Value *emitAcosh(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "acosh", [](Wide &w, ArrayRef<Value *> v) {
    Value *t = w.sub(v[0], w.c(v[0], 1.0));
    Value *root = w.sqrt(w.add(w.add(t, t), w.mul(t, t)));
    return w.select(w.less(t, 0.0), w.nan(t), w.log1p(w.add(t, root)));
  });
}
Value *emitAtanh(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "atanh", [](Wide &w, ArrayRef<Value *> v) {
    Value *size = w.abs(v[0]);
    Value *ratio = w.div(w.add(size, size), w.sub(w.c(size, 1.0), size));
    return w.sign(w.mul(w.log1p(ratio), w.c(size, 0.5)), v[0]);
  });
}
Value *emitCbrt(LaneBuilder &b, ArrayRef<Value *> x) {
  return inWide(b, x, "cbrt", [](Wide &w, ArrayRef<Value *> v) { return w.cbrt(v[0]); });
}

using TurnedFunction = Value *(Wide &, Wide::Turned);

static Value *emitTurned(LaneBuilder &b, Value *x, StringRef name, TurnedFunction function) {
  if (!isSingle(x))
    return emitLibm(b, name, {x});
  Wide wide{b};
  if (!b.machine.hasLibrary)
    return wide.out(function(wide, wide.turn(emitAngle(b, x))));
  Value *fast = wide.out(function(wide, wide.turn(wide.angle(wide.in(x)))));
  // NaN propagates without special handling; infinities exceed the limit.
  Value *size = b.intrinsic(Intrinsic::fabs, {x});
  return unlessAny(b, b.ir.CreateFCmpOGT(size, b.real(x, largestTurned)), fast, name, x);
}
Value *emitSin(LaneBuilder &b, ArrayRef<Value *> x) {
  Value *result = emitTurned(b, x[0], "sin", [](Wide &w, Wide::Turned t) { return w.sinOf(t, 0); });
  return isSingle(x[0]) ? keepZero(b, x[0], result) : result;
}
Value *emitCos(LaneBuilder &b, ArrayRef<Value *> x) {
  return emitTurned(b, x[0], "cos", [](Wide &w, Wide::Turned t) { return w.sinOf(t, 1); });
}
Value *emitTan(LaneBuilder &b, ArrayRef<Value *> x) {
  Value *result = emitTurned(b, x[0], "tan", [](Wide &w, Wide::Turned t) { return w.tanOf(t); });
  return isSingle(x[0]) ? keepZero(b, x[0], result) : result;
}

} // namespace tilewright::lanes
