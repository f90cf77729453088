// Reals: f32 and f64. Narrower types are widened before and rounded after.
#include "tilewright/dialect/elements/Emitter.h"
#include "tilewright/numerics/FloatFormat.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tilewright::elements {

template <typename Op> static Value unary(Emitter &emit, ValueRange v) {
  return emit.make<Op>(v[0]);
}
template <typename Op> static Value binary(Emitter &emit, ValueRange v) {
  return emit.make<Op>(v[0], v[1]);
}

static Value isFinite(Emitter &emit, ValueRange v) {
  Value magnitude = emit.make<math::AbsFOp>(v[0]);
  return emit.compare(arith::CmpFPredicate::OLT, magnitude, emit.infinity(magnitude));
}

/// 1 / (1 + e^-x), computed as e^x / (1 + e^x) for negative x, where e^-x would overflow.
static Value logistic(Emitter &emit, ValueRange v) {
  Value one = emit.real(v[0], 1);
  Value magnitude = emit.make<math::AbsFOp>(v[0]);
  Value power = emit.make<math::ExpOp>(Value(emit.make<arith::NegFOp>(magnitude)));
  Value isLeft = emit.compare(arith::CmpFPredicate::OLT, v[0], emit.real(v[0], 0));
  return emit.make<arith::DivFOp>(emit.select(isLeft, power, one),
                                  Value(emit.make<arith::AddFOp>(one, power)));
}

/// 1 or -1, or x itself if x is a zero or a NaN.
static Value sign(Emitter &emit, ValueRange v) {
  Value zero = emit.real(v[0], 0);
  Value below = emit.compare(arith::CmpFPredicate::OLT, v[0], zero);
  Value above = emit.compare(arith::CmpFPredicate::OGT, v[0], zero);
  return emit.select(above, emit.real(v[0], 1), emit.select(below, emit.real(v[0], -1), v[0]));
}

static Value clamp(Emitter &emit, ValueRange v) {
  Value raised = emit.make<arith::MaximumFOp>(v[1], v[0]);
  return emit.make<arith::MinimumFOp>(raised, v[2]);
}

Meaning realMeaning(StringRef name) {
  static const llvm::StringMap<Meaning> table = {
      {"abs", unary<math::AbsFOp>},
      {"cbrt", unary<math::CbrtOp>},
      {"ceil", unary<math::CeilOp>},
      {"cosine", unary<math::CosOp>},
      {"exponential", unary<math::ExpOp>},
      {"exponential_minus_one", unary<math::ExpM1Op>},
      {"floor", unary<math::FloorOp>},
      {"imag", [](Emitter &emit, ValueRange v) { return emit.real(v[0], 0); }},
      {"is_finite", isFinite},
      {"log", unary<math::LogOp>},
      {"log_plus_one", unary<math::Log1pOp>},
      {"logistic", logistic},
      {"negate", unary<arith::NegFOp>},
      {"real", [](Emitter &, ValueRange v) -> Value { return v[0]; }},
      {"round_nearest_afz", unary<math::RoundOp>},
      {"round_nearest_even", unary<math::RoundEvenOp>},
      {"rsqrt", unary<math::RsqrtOp>},
      {"sign", sign},
      {"sine", unary<math::SinOp>},
      {"sqrt", unary<math::SqrtOp>},
      {"tan", unary<math::TanOp>},
      {"tanh", unary<math::TanhOp>},
      {"add", binary<arith::AddFOp>},
      {"atan2", binary<math::Atan2Op>},
      {"divide", binary<arith::DivFOp>},
      {"maximum", binary<arith::MaximumFOp>},
      {"minimum", binary<arith::MinimumFOp>},
      {"multiply", binary<arith::MulFOp>},
      {"power", binary<math::PowFOp>},
      {"remainder", binary<arith::RemFOp>},
      {"subtract", binary<arith::SubFOp>},
      {"clamp", clamp},
      {"chlo.erf", unary<math::ErfOp>},
  };
  return table.lookup(name);
}

/// Maps an f32 or f64 to an integer such that integers compare in the order totalOrder.
static Value orderKey(Emitter &emit, Value value) {
  const unsigned width = value.getType().getIntOrFloatBitWidth();
  Type integer = emit.builder.getIntegerType(width);
  Value bits = emit.make<arith::BitcastOp>(integer, value);
  Value sign = emit.make<arith::ShRSIOp>(bits, emit.integer(integer, width - 1));
  Value mask =
      emit.make<arith::AndIOp>(sign, emit.integer(integer, llvm::APInt::getSignedMaxValue(width)));
  return emit.make<arith::XOrIOp>(bits, mask);
}

Value emitCompare(Emitter &emit, StringRef direction, Kind kind, bool totalOrder, Value a,
                  Value b) {
  if (kind == Kind::complex) {
    const bool isOrder = direction != "EQ" && direction != "NE";
    Value parts = emitCompare(emit, direction, Kind::real, false, emit.im(a), emit.im(b));
    Value first = emitCompare(emit, direction, Kind::real, false, emit.re(a), emit.re(b));
    if (!isOrder)
      return direction == "EQ" ? emit.both(first, parts) : emit.either(first, parts);
    Value tie = emit.compare(arith::CmpFPredicate::OEQ, emit.re(a), emit.re(b));
    return emit.select(tie, parts, first);
  }
  if (kind == Kind::real && totalOrder) {
    a = orderKey(emit, a);
    b = orderKey(emit, b);
    kind = Kind::signedInteger;
  }
  if (kind == Kind::real) {
    using P = arith::CmpFPredicate;
    P predicate = direction == "EQ"   ? P::OEQ
                  : direction == "NE" ? P::UNE
                  : direction == "GE" ? P::OGE
                  : direction == "GT" ? P::OGT
                  : direction == "LE" ? P::OLE
                                      : P::OLT;
    return emit.compare(predicate, a, b);
  }
  using P = arith::CmpIPredicate;
  const bool isSigned = kind == Kind::signedInteger;
  P predicate = direction == "EQ"   ? P::eq
                : direction == "NE" ? P::ne
                : direction == "GE" ? (isSigned ? P::sge : P::uge)
                : direction == "GT" ? (isSigned ? P::sgt : P::ugt)
                : direction == "LE" ? (isSigned ? P::sle : P::ule)
                                    : (isSigned ? P::slt : P::ult);
  return emit.compare(predicate, a, b);
}

/// Rounds the bits of a number as reducePrecision() of numerics/scalar does.
Value emitReducePrecision(Emitter &emit, unsigned exponentBits, unsigned mantissaBits,
                          Value value) {
  auto type = cast<FloatType>(value.getType());
  std::string name;
  llvm::raw_string_ostream(name) << type;
  const numerics::FloatFormat format = numerics::formatOf(*numerics::elementTypeNamed(name));
  Type integer = emit.builder.getIntegerType(type.getWidth());
  auto constant = [&](uint64_t bits) {
    return emit.integer(integer, llvm::APInt(64, bits).trunc(type.getWidth()));
  };
  const uint64_t beyond = format.hasInfinity ? format.infinity() : format.maxFinite();

  Value bits = emit.make<arith::BitcastOp>(integer, value);
  Value sign = emit.make<arith::AndIOp>(bits, constant(format.signBit()));
  Value magnitude = emit.make<arith::AndIOp>(bits, constant(format.magnitudeMask()));
  if (mantissaBits < format.mantissaBits) {
    const unsigned dropped = format.mantissaBits - mantissaBits;
    const uint64_t last = uint64_t(1) << dropped;
    Value odd = emit.make<arith::AndIOp>(
        Value(emit.make<arith::ShRUIOp>(magnitude, constant(dropped))), constant(1));
    Value bias = emit.make<arith::AddIOp>(odd, constant((last >> 1) - 1));
    magnitude = emit.make<arith::AddIOp>(magnitude, bias);
    magnitude = emit.make<arith::AndIOp>(magnitude, constant(~(last - 1)));
    // A format without infinity has numbers or NaN there, or the carry reaches the sign.
    if (!format.hasInfinity)
      magnitude = emit.make<arith::MinUIOp>(magnitude, constant(beyond));
  }
  if (exponentBits < format.exponentBits) {
    const uint64_t bias = (uint64_t(1) << (format.exponentBits - 1)) - 1;
    const uint64_t reducedBias = (uint64_t(1) << (exponentBits - 1)) - 1;
    Value field = emit.make<arith::ShRUIOp>(magnitude, constant(format.mantissaBits));
    Value above = emit.compare(arith::CmpIPredicate::ugt, field, constant(bias + reducedBias));
    Value below = emit.compare(arith::CmpIPredicate::ule, field, constant(bias - reducedBias));
    magnitude = emit.select(above, constant(beyond), emit.select(below, constant(0), magnitude));
  }
  if (format.zero == numerics::ZeroEncoding::plusOnly) {
    Value isZero = emit.compare(arith::CmpIPredicate::eq, magnitude, constant(0));
    sign = emit.select(isZero, constant(0), sign);
  }
  Value rounded =
      emit.make<arith::BitcastOp>(type, Value(emit.make<arith::OrIOp>(sign, magnitude)));
  Value isNan = emit.compare(arith::CmpFPredicate::UNO, value, value);
  return emit.select(isNan, value, rounded);
}

} // namespace tilewright::elements
