#include "tilewright/target/cpu/emit/MathFunctions.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/cpu/emit/MathCoefficients.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace tilewright::cpu {

Value *emitLibm(LaneBuilder &b, StringRef name, ArrayRef<Value *> operands) {
  Type *type = operands[0]->getType()->getScalarType();
  std::string symbol = (name + (type->isFloatTy() ? "f" : "")).str();
  SmallVector<Type *> types(operands.size(), type);
  if (Function *known = b.module.getFunction(symbol); known && !known->isDeclaration())
    b.fail(Status(Error::cpuCodegen, concat("it needs '", symbol,
                                            "' of the C library, which is the name of a kernel; "
                                            "run cpu-lower-ops before, which renames it")));
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
  Value *up = b.ir.CreateFAdd(whole, one);
  Value *result = b.ir.CreateSelect(b.ir.CreateFCmpOGE(cut, b.real(cut, 0.5)), up, whole);
  return b.intrinsic(Intrinsic::copysign, {result, x[0]}); // -0.3 rounds to -0
}

Value *emitFma(LaneBuilder &b, ArrayRef<Value *> x) {
  if (b.chip.hasFma())
    return b.intrinsic(Intrinsic::fma, x);
  return emitLibm(b, "fma", x);
}

namespace {

/// Formulas in f64, for results in f32.
struct Wide {
  LaneBuilder &b;
  IRBuilder<> &ir = b.ir;

  Value *in(Value *x) { return ir.CreateFPExt(x, b.vectorOf(ir.getDoubleTy(), b.lanesOf(x))); }
  Value *out(Value *x) { return ir.CreateFPTrunc(x, b.vectorOf(ir.getFloatTy(), b.lanesOf(x))); }
  Value *c(Value *like, double value) { return b.real(like, value); }
  Value *add(Value *x, Value *y) { return ir.CreateFAdd(x, y); }
  Value *sub(Value *x, Value *y) { return ir.CreateFSub(x, y); }
  Value *mul(Value *x, Value *y) { return ir.CreateFMul(x, y); }
  Value *div(Value *x, Value *y) { return ir.CreateFDiv(x, y); }
  Value *abs(Value *x) { return b.intrinsic(Intrinsic::fabs, {x}); }
  Value *sqrt(Value *x) { return b.intrinsic(Intrinsic::sqrt, {x}); }
  Value *sign(Value *size, Value *x) { return b.intrinsic(Intrinsic::copysign, {size, x}); }
  Value *select(Value *condition, Value *x, Value *y) { return ir.CreateSelect(condition, x, y); }
  Value *less(Value *x, double y) { return ir.CreateFCmpOLT(x, c(x, y)); }
  Value *more(Value *x, double y) { return ir.CreateFCmpOGT(x, c(x, y)); }
  Value *equal(Value *x, double y) { return ir.CreateFCmpOEQ(x, c(x, y)); }
  Value *nan(Value *like) { return c(like, __builtin_nan("")); }

  /// 2^n and e^r - 1 with x = n ln 2 + r. Far beyond f32 the power stays finite; a NaN is kept.
  std::pair<Value *, Value *> splitExp(Value *x, double perUnit, double least, double most) {
    x = select(more(x, most), c(x, most), x);
    x = select(less(x, least), c(x, least), x);
    Value *shift = c(x, 6755399441055744.0); // 1.5 · 2^52 leaves the integer in the low bits
    Value *shifted = b.multiplyAdd(x, c(x, perUnit), shift);
    Value *n = sub(shifted, shift);
    // The unit in two parts: products of the first, of 32 bits, with n are exact.
    double high, low;
    if (perUnit == 1.0) {
      Value *r = mul(sub(x, n), c(x, 0.69314718055994531));
      return {powerOfTwo(shifted), mul(r, emitPolynomial(b, r, coefficients::expSlope))};
    }
    high = 0.693147180369123816490, low = 1.90821492927058770002e-10;
    Value *r = b.multiplyAdd(n, c(x, -high), x);
    r = b.multiplyAdd(n, c(x, -low), r);
    return {powerOfTwo(shifted), mul(r, emitPolynomial(b, r, coefficients::expSlope))};
  }
  Value *powerOfTwo(Value *shifted) {
    Value *raw = b.bits(shifted);
    Value *field = ir.CreateAdd(raw, b.integer(raw, 1023));
    return b.asFloat(ir.CreateShl(field, b.integer(raw, 52)));
  }
  Value *exp(Value *x) {
    auto [power, rest] = splitExp(x, 1.4426950408889634, -200, 200);
    return b.multiplyAdd(power, rest, power);
  }
  Value *exp2(Value *x) {
    auto [power, rest] = splitExp(x, 1.0, -300, 300);
    return b.multiplyAdd(power, rest, power);
  }
  Value *expm1(Value *x) {
    auto [power, rest] = splitExp(x, 1.4426950408889634, -200, 200);
    Value *result = b.multiplyAdd(power, rest, sub(power, c(x, 1.0)));
    return select(equal(x, 0.0), x, result); // -0 stays
  }

  /// log of what is not below zero. `x` is from f32, so it is normal or zero.
  Value *log(Value *x) {
    Value *raw = b.bits(x);
    Value *away = ir.CreateSub(raw, b.integer(raw, 0x3FE6A09E667F3BCD));
    Value *n = ir.CreateAShr(away, b.integer(raw, 52));
    Value *f = sub(b.asFloat(ir.CreateSub(raw, ir.CreateShl(n, b.integer(n, 52)))), c(x, 1.0));
    // No conversion of 64-bit integers before AVX-512: put n into the low bits of 1.5 · 2^52.
    Value *magic = c(x, 6755399441055744.0);
    Value *whole = sub(b.asFloat(ir.CreateAdd(n, b.bits(magic))), magic);
    Value *result = mul(f, emitPolynomial(b, f, coefficients::logSlope));
    result = b.multiplyAdd(whole, c(x, 1.90821492927058770002e-10), result);
    result = b.multiplyAdd(whole, c(x, 0.693147180369123816490), result);
    result = select(equal(x, HUGE_VAL), x, result);
    result = select(equal(x, 0.0), c(x, -HUGE_VAL), result);
    return select(ir.CreateFCmpULT(x, c(x, 0.0)), nan(x), result); // below zero, or NaN
  }
  Value *log1p(Value *x) {
    Value *sum = add(x, c(x, 1.0));
    // What the sum lost, which matters only where it is nearly one.
    Value *lost = sub(x, sub(sum, c(x, 1.0)));
    Value *result = add(log(sum), lost);
    result = select(equal(x, HUGE_VAL), x, result);
    return select(equal(x, 0.0), x, result);
  }

  /// The quadrant and the rest of |x| < 2^20 in units of π/2, sine and cosine of the rest.
  struct Turned {
    Value *quadrant, *sin, *cos;
  };
  Turned turn(Value *x) {
    Value *shift = c(x, 6755399441055744.0);
    Value *shifted = b.multiplyAdd(x, c(x, 0.63661977236758134), shift);
    Value *n = sub(shifted, shift);
    // π/2 in parts of 33, 33 and 53 bits.
    Value *r = b.multiplyAdd(n, c(x, -1.57079632673412561417), x);
    r = b.multiplyAdd(n, c(x, -6.07710050630396597660e-11), r);
    r = b.multiplyAdd(n, c(x, -2.02226624879595063154e-21), r);
    Value *z = mul(r, r);
    Value *sin = b.multiplyAdd(mul(z, r), emitPolynomial(b, z, coefficients::sinTail), r);
    Value *cos = b.multiplyAdd(mul(z, z), emitPolynomial(b, z, coefficients::cosTail),
                               b.multiplyAdd(z, c(x, -0.5), c(x, 1.0)));
    return {b.bits(shifted), sin, cos};
  }
  Value *hasBit(Value *bits, int64_t bit) {
    return ir.CreateICmpNE(ir.CreateAnd(bits, b.integer(bits, bit)), b.integer(bits, 0));
  }
  Value *sinOf(Turned t, int64_t quarter) {
    Value *q = ir.CreateAdd(t.quadrant, b.integer(t.quadrant, quarter));
    Value *result = select(hasBit(q, 1), t.cos, t.sin);
    return select(hasBit(q, 2), ir.CreateFNeg(result), result);
  }
  /// sin(x) / cos(x): the quotient of the rest, or its negated inverse.
  Value *tanOf(Turned t) {
    Value *isOdd = hasBit(t.quadrant, 1);
    return div(select(isOdd, ir.CreateFNeg(t.cos), t.sin), select(isOdd, t.sin, t.cos));
  }

  /// The angle of (x, y).
  Value *atan2(Value *y, Value *x) {
    Value *across = abs(x), *up = abs(y);
    Value *isSteep = ir.CreateFCmpOGT(up, across);
    Value *small = select(isSteep, across, up), *large = select(isSteep, up, across);
    // One division: of the ratio itself below tan(π/8), of its turn by π/4 above.
    Value *isMiddle = ir.CreateFCmpOGT(small, mul(large, c(x, 0.41421356237309505)));
    isMiddle = ir.CreateOr(isMiddle, equal(small, HUGE_VAL));
    Value *top = select(isMiddle, sub(small, large), small);
    Value *bottom = select(isMiddle, add(small, large), large);
    Value *t = div(top, bottom);
    // 0 / 0 and inf / inf: the angle is 0, or π/4.
    t = select(equal(small, HUGE_VAL), c(x, 0.0), t);
    t = select(equal(large, 0.0), c(x, 0.0), t);
    Value *z = mul(t, t);
    Value *angle = b.multiplyAdd(mul(z, t), emitPolynomial(b, z, coefficients::atanTail), t);
    angle = add(angle, select(isMiddle, c(x, 0.78539816339744831), c(x, 0.0)));
    angle = select(isSteep, sub(c(x, 1.5707963267948966), angle), angle);
    Value *isLeft = ir.CreateICmpSLT(b.bits(x), b.integer(b.bits(x), 0));
    angle = select(isLeft, sub(c(x, 3.1415926535897931), angle), angle);
    angle = select(ir.CreateFCmpUNO(x, y), nan(x), angle);
    return sign(angle, y);
  }

  Value *cbrt(Value *x) {
    Value *size = abs(x);
    Value *raw = b.bits(size);
    // A third of the exponent; the constant makes the error symmetric, about 3 %.
    Value *high = ir.CreateLShr(raw, b.integer(raw, 32));
    Type *narrow = b.vectorOf(ir.getInt32Ty(), b.lanesOf(x));
    Value *third = ir.CreateUDiv(ir.CreateTrunc(high, narrow), ConstantInt::get(narrow, 3));
    third = ir.CreateAdd(third, ConstantInt::get(narrow, 715094163));
    Value *t = b.asFloat(ir.CreateShl(ir.CreateZExt(third, raw->getType()), b.integer(raw, 32)));
    for (int step = 0; step < 2; ++step) { // Halley's: digits triple
      Value *cube = mul(mul(t, t), t);
      t = mul(t, div(add(cube, add(size, size)), add(add(cube, cube), size)));
    }
    t = select(equal(size, 0.0), size, t);
    t = select(ir.CreateFCmpUEQ(size, c(x, HUGE_VAL)), size, t); // inf and NaN
    return sign(t, x);
  }

  Value *pow(Value *x, Value *y) {
    Value *size = abs(x);
    Value *result = exp(mul(y, log(size)));
    // The clamp of exp keeps a NaN of 0 · inf; what it hides are infinities.
    Value *whole = b.intrinsic(Intrinsic::trunc, {y});
    Value *isWhole = ir.CreateFCmpOEQ(whole, y);
    Value *half = mul(y, c(y, 0.5));
    Value *isOdd =
        ir.CreateAnd(isWhole, ir.CreateFCmpONE(b.intrinsic(Intrinsic::trunc, {half}), half));
    Value *isBelow = ir.CreateICmpSLT(b.bits(x), b.integer(b.bits(x), 0));
    Value *minus = ir.CreateAnd(isBelow, isOdd);
    result = select(minus, ir.CreateFNeg(result), result);
    Value *isFinite = ir.CreateAnd(less(size, HUGE_VAL), more(size, 0.0));
    Value *hasNoRoot = ir.CreateAnd(ir.CreateAnd(isBelow, isFinite), ir.CreateNot(isWhole));
    Value *isInfinite = equal(abs(y), HUGE_VAL);
    hasNoRoot = ir.CreateAnd(hasNoRoot, ir.CreateNot(isInfinite));
    result = select(hasNoRoot, nan(x), result);
    result = select(ir.CreateAnd(equal(size, 1.0), isInfinite), c(x, 1.0), result);
    result = select(ir.CreateFCmpUNO(x, y), nan(x), result);
    return select(ir.CreateOr(equal(y, 0.0), equal(x, 1.0)), c(x, 1.0), result);
  }
};

/// Above, where f64 has no more digits of π/2 for the reduction, the C library takes over.
constexpr double largestTurned = 1048576.0;

/// Takes `slow` for all lanes where one of them needs it; otherwise only `fast` is run.
Value *unlessAny(LaneBuilder &b, Value *needs, Value *fast, StringRef name, Value *x) {
  IRBuilder<> &ir = b.ir;
  unsigned lanes = b.lanesOf(x);
  Value *any = lanes == 1 ? needs : ir.CreateOrReduce(needs);
  AllocaInst *slot = b.slot(x->getType());
  ir.CreateStore(fast, slot);
  // A loop that runs once or not at all.
  b.loop(ir.CreateZExt(any, ir.getInt64Ty()), [&](Value *) {
    ir.CreateStore(ir.CreateSelect(needs, emitLibm(b, name, {x}), fast), slot);
  });
  return ir.CreateLoad(x->getType(), slot);
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

/// Two instructions, each rounded.
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
    // inf / inf: the logarithm of infinity is asked for anyway.
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

static Value *emitTurned(LaneBuilder &b, Value *x, StringRef name, WideFunction function) {
  if (!isSingle(x))
    return emitLibm(b, name, {x});
  Wide wide{b};
  Value *fast = wide.out(function(wide, {wide.in(x)}));
  // NaN needs nothing: it comes through; infinities are above.
  Value *size = b.intrinsic(Intrinsic::fabs, {x});
  return unlessAny(b, b.ir.CreateFCmpOGT(size, b.real(x, largestTurned)), fast, name, x);
}
Value *emitSin(LaneBuilder &b, ArrayRef<Value *> x) {
  return emitTurned(b, x[0], "sin", [](Wide &w, ArrayRef<Value *> v) {
    return w.select(w.equal(v[0], 0.0), v[0], w.sinOf(w.turn(v[0]), 0)); // -0 stays
  });
}
Value *emitCos(LaneBuilder &b, ArrayRef<Value *> x) {
  return emitTurned(b, x[0], "cos",
                    [](Wide &w, ArrayRef<Value *> v) { return w.sinOf(w.turn(v[0]), 1); });
}
Value *emitTan(LaneBuilder &b, ArrayRef<Value *> x) {
  return emitTurned(b, x[0], "tan", [](Wide &w, ArrayRef<Value *> v) {
    return w.select(w.equal(v[0], 0.0), v[0], w.tanOf(w.turn(v[0])));
  });
}

} // namespace tilewright::cpu
