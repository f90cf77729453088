// Complex numbers. Sums and products are expanded into components; functions use the complex
// dialect, whose expansions avoid overflow.
#include "tilewright/dialect/elements/Emitter.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tilewright::elements {

template <typename Op> static Value unary(Emitter &emit, ValueRange v) {
  return emit.make<Op>(v[0].getType(), v[0]);
}
template <typename Op> static Value binary(Emitter &emit, ValueRange v) {
  return emit.make<Op>(v[0].getType(), v[0], v[1]);
}
template <typename Op> static Value byComponent(Emitter &emit, ValueRange v) {
  return emit.join(emit.make<Op>(emit.re(v[0]), emit.re(v[1])),
                   emit.make<Op>(emit.im(v[0]), emit.im(v[1])));
}

static Value negate(Emitter &emit, ValueRange v) {
  return emit.join(emit.make<arith::NegFOp>(emit.re(v[0])),
                   emit.make<arith::NegFOp>(emit.im(v[0])));
}

/// The schoolbook product. Like XLA, omits the recovery of infinities that Annex G of the C
/// standard describes.
static Value multiply(Emitter &emit, ValueRange v) {
  Value a = emit.re(v[0]), b = emit.im(v[0]), c = emit.re(v[1]), d = emit.im(v[1]);
  auto product = [&](Value x, Value y) -> Value { return emit.make<arith::MulFOp>(x, y); };
  Value re = emit.make<arith::SubFOp>(product(a, c), product(b, d));
  Value im = emit.make<arith::AddFOp>(product(a, d), product(b, c));
  return emit.join(re, im);
}

static Value constant(Emitter &emit, Value like, double re) {
  Type component = cast<ComplexType>(like.getType()).getElementType();
  return emit.join(emit.real(component, re), emit.real(component, 0));
}

static Value logistic(Emitter &emit, ValueRange v) {
  Value one = constant(emit, v[0], 1);
  Value power = emit.make<complex::ExpOp>(v[0].getType(), negate(emit, v[0]));
  Value sum = byComponent<arith::AddFOp>(emit, {one, power});
  Value quotient = emit.make<complex::DivOp>(v[0].getType(), one, sum);
  // For a very negative real part, e^-z overflows, but the result is nearly e^z, which does not.
  Value re = emit.re(v[0]);
  Value isFar = emit.compare(arith::CmpFPredicate::OLT, re, emit.real(re, -40));
  return emit.select(isFar, emit.make<complex::ExpOp>(v[0].getType(), v[0]), quotient);
}

static Value cbrt(Emitter &emit, ValueRange v) {
  return emit.make<complex::PowOp>(v[0].getType(), v[0], constant(emit, v[0], 1.0 / 3));
}

static Value isFinite(Emitter &emit, ValueRange v) {
  auto finite = [&](Value x) {
    Value magnitude = emit.make<math::AbsFOp>(x);
    return emit.compare(arith::CmpFPredicate::OLT, magnitude, emit.infinity(magnitude));
  };
  return emit.both(finite(emit.re(v[0])), finite(emit.im(v[0])));
}

static Value isBelow(Emitter &emit, Value a, Value b) {
  return emitCompare(emit, "LT", Kind::complex, false, a, b);
}
static Value maximum(Emitter &emit, ValueRange v) {
  return emit.select(isBelow(emit, v[0], v[1]), v[1], v[0]);
}
static Value minimum(Emitter &emit, ValueRange v) {
  return emit.select(isBelow(emit, v[1], v[0]), v[1], v[0]);
}

Meaning complexMeaning(StringRef name) {
  static const llvm::StringMap<Meaning> table = {
      {"abs", [](Emitter &emit, ValueRange v) -> Value { return emit.make<complex::AbsOp>(v[0]); }},
      {"real", [](Emitter &emit, ValueRange v) { return emit.re(v[0]); }},
      {"imag", [](Emitter &emit, ValueRange v) { return emit.im(v[0]); }},
      {"is_finite", isFinite},
      {"cbrt", cbrt},
      {"cosine", unary<complex::CosOp>},
      {"exponential", unary<complex::ExpOp>},
      {"exponential_minus_one", unary<complex::Expm1Op>},
      {"log", unary<complex::LogOp>},
      {"log_plus_one", unary<complex::Log1pOp>},
      {"logistic", logistic},
      {"negate", negate},
      {"rsqrt", unary<complex::RsqrtOp>},
      {"sign", unary<complex::SignOp>},
      {"sine", unary<complex::SinOp>},
      {"sqrt", unary<complex::SqrtOp>},
      {"tan", unary<complex::TanOp>},
      {"tanh", unary<complex::TanhOp>},
      {"add", byComponent<arith::AddFOp>},
      {"subtract", byComponent<arith::SubFOp>},
      {"multiply", multiply},
      {"divide", binary<complex::DivOp>},
      {"power", binary<complex::PowOp>},
      {"atan2", binary<complex::Atan2Op>},
      {"maximum", maximum},
      {"minimum", minimum},
      {"clamp",
       [](Emitter &emit, ValueRange v) {
         Value raised = maximum(emit, {v[1], v[0]});
         return minimum(emit, {raised, v[2]});
       }},
  };
  return table.lookup(name);
}

} // namespace tilewright::elements
