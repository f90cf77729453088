// Integers and pred. Where the specification leaves a result open, this follows XLA: x / 0 is all
// ones, x % 0 is x, and a shift by the width or more shifts every bit out.
#include "tilewright/dialect/elements/Emitter.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tilewright::elements {

using P = arith::CmpIPredicate;

template <typename Op> static Value unary(Emitter &emit, ValueRange v) {
  return emit.make<Op>(v[0]);
}
template <typename Op> static Value binary(Emitter &emit, ValueRange v) {
  return emit.make<Op>(v[0], v[1]);
}
static Value first(Emitter &, ValueRange v) { return v[0]; }

static unsigned widthOf(Value value) { return value.getType().getIntOrFloatBitWidth(); }
static Value equals(Emitter &emit, Value value, int64_t constant) {
  return emit.compare(P::eq, value, emit.integer(value, constant));
}
static Value negated(Emitter &emit, Value value) {
  return emit.make<arith::SubIOp>(emit.integer(value, 0), value);
}

/// The divisor, or 1 where a hardware division would trap.
template <bool isSigned> static Value safeDivisor(Emitter &emit, Value divisor) {
  Value unsafe = equals(emit, divisor, 0);
  if (isSigned)
    unsafe = emit.either(unsafe, equals(emit, divisor, -1));
  return emit.select(unsafe, emit.integer(divisor, 1), divisor);
}

static Value divideSigned(Emitter &emit, ValueRange v) {
  Value quotient = emit.make<arith::DivSIOp>(v[0], safeDivisor<true>(emit, v[1]));
  // Division by -1 is a negation, so the only quotient that overflows wraps around.
  quotient = emit.select(equals(emit, v[1], -1), negated(emit, v[0]), quotient);
  return emit.select(equals(emit, v[1], 0), emit.integer(v[0], -1), quotient);
}
static Value divideUnsigned(Emitter &emit, ValueRange v) {
  Value quotient = emit.make<arith::DivUIOp>(v[0], safeDivisor<false>(emit, v[1]));
  return emit.select(equals(emit, v[1], 0), emit.integer(v[0], -1), quotient);
}
static Value remainderSigned(Emitter &emit, ValueRange v) {
  // For divisor -1, the safe divisor 1 gives remainder 0, which is correct.
  Value rest = emit.make<arith::RemSIOp>(v[0], safeDivisor<true>(emit, v[1]));
  return emit.select(equals(emit, v[1], 0), v[0], rest);
}
static Value remainderUnsigned(Emitter &emit, ValueRange v) {
  Value rest = emit.make<arith::RemUIOp>(v[0], safeDivisor<false>(emit, v[1]));
  return emit.select(equals(emit, v[1], 0), v[0], rest);
}

/// Square-and-multiply over the bits of the exponent, as straight-line code, because the lanes of a
/// vector cannot branch separately.
template <bool isSigned> static Value power(Emitter &emit, ValueRange v) {
  Value one = emit.integer(v[0], 1), zero = emit.integer(v[0], 0);
  Value result = one, square = v[0];
  const unsigned width = widthOf(v[0]);
  for (unsigned bit = 0; bit < width; ++bit) {
    Value mask = emit.integer(v[1].getType(), llvm::APInt::getOneBitSet(width, bit));
    Value isSet = emit.compare(P::ne, emit.make<arith::AndIOp>(v[1], mask), zero);
    result = emit.select(isSet, emit.make<arith::MulIOp>(result, square), result);
    if (bit + 1 < width)
      square = emit.make<arith::MulIOp>(square, square);
  }
  if (!isSigned)
    return result;
  // For a negative exponent, the result is the integer part of the fraction: 0 unless |base| is 1.
  // For base -1, the lowest bit of the exponent determines the sign.
  Value isOdd = emit.compare(P::ne, emit.make<arith::AndIOp>(v[1], one), zero);
  Value ofMinusOne = emit.select(isOdd, emit.integer(v[0], -1), one);
  Value fraction = emit.select(equals(emit, v[0], 1), one,
                               emit.select(equals(emit, v[0], -1), ofMinusOne, zero));
  return emit.select(emit.compare(P::slt, v[1], zero), fraction, result);
}

template <typename Op> static Value shift(Emitter &emit, ValueRange v) {
  Value width = emit.integer(v[1], widthOf(v[0]));
  Value inside = emit.compare(P::ult, v[1], width);
  Value count = v[1];
  // LLVM 22 folds a select of this form into PTX's clamping shift, whose count has 32 bits, and
  // truncates a count of 64 bits: 8 >> 2^32 became 8. It does not fold a count that is bounded.
  if (widthOf(v[0]) > 32)
    count = emit.make<arith::MinUIOp>(count, emit.integer(v[1], widthOf(v[0]) - 1));
  return emit.select(inside, emit.make<Op>(v[0], count), emit.integer(v[0], 0));
}
static Value shiftRightArithmetic(Emitter &emit, ValueRange v) {
  Value last = emit.integer(v[1], widthOf(v[0]) - 1);
  return emit.make<arith::ShRSIOp>(v[0], Value(emit.make<arith::MinUIOp>(v[1], last)));
}

static Value complement(Emitter &emit, ValueRange v) {
  return emit.make<arith::XOrIOp>(v[0], emit.integer(v[0], -1));
}
static Value signSigned(Emitter &emit, ValueRange v) {
  Value zero = emit.integer(v[0], 0);
  Value notAbove = emit.select(emit.compare(P::slt, v[0], zero), emit.integer(v[0], -1), zero);
  return emit.select(emit.compare(P::sgt, v[0], zero), emit.integer(v[0], 1), notAbove);
}
static Value signUnsigned(Emitter &emit, ValueRange v) {
  return emit.make<arith::MinUIOp>(v[0], emit.integer(v[0], 1));
}

template <typename Max, typename Min> static Value clamp(Emitter &emit, ValueRange v) {
  return emit.make<Min>(Value(emit.make<Max>(v[1], v[0])), v[2]);
}

/// Ops that do not depend on signedness.
static const llvm::StringMap<Meaning> &commonTable() {
  static const llvm::StringMap<Meaning> table = {
      {"add", binary<arith::AddIOp>},
      {"subtract", binary<arith::SubIOp>},
      {"multiply", binary<arith::MulIOp>},
      {"and", binary<arith::AndIOp>},
      {"or", binary<arith::OrIOp>},
      {"xor", binary<arith::XOrIOp>},
      {"not", complement},
      {"negate", [](Emitter &emit, ValueRange v) { return negated(emit, v[0]); }},
      {"popcnt", unary<math::CtPopOp>},
      {"count_leading_zeros", unary<math::CountLeadingZerosOp>},
      {"shift_left", shift<arith::ShLIOp>},
      {"shift_right_logical", shift<arith::ShRUIOp>},
      {"shift_right_arithmetic", shiftRightArithmetic},
  };
  return table;
}
static const llvm::StringMap<Meaning> &signedTable() {
  static const llvm::StringMap<Meaning> table = {
      {"abs", unary<math::AbsIOp>},
      {"sign", signSigned},
      {"divide", divideSigned},
      {"remainder", remainderSigned},
      {"maximum", binary<arith::MaxSIOp>},
      {"minimum", binary<arith::MinSIOp>},
      {"power", power<true>},
      {"clamp", clamp<arith::MaxSIOp, arith::MinSIOp>},
  };
  return table;
}
static const llvm::StringMap<Meaning> &unsignedTable() {
  static const llvm::StringMap<Meaning> table = {
      {"abs", first},
      {"sign", signUnsigned},
      {"divide", divideUnsigned},
      {"remainder", remainderUnsigned},
      {"maximum", binary<arith::MaxUIOp>},
      {"minimum", binary<arith::MinUIOp>},
      {"power", power<false>},
      {"clamp", clamp<arith::MaxUIOp, arith::MinUIOp>},
  };
  return table;
}
/// pred as a one-bit number: + and max are `or`, * and min are `and`.
static const llvm::StringMap<Meaning> &predTable() {
  static const llvm::StringMap<Meaning> table = {
      {"add", binary<arith::OrIOp>},
      {"multiply", binary<arith::AndIOp>},
      {"maximum", binary<arith::OrIOp>},
      {"minimum", binary<arith::AndIOp>},
      {"and", binary<arith::AndIOp>},
      {"or", binary<arith::OrIOp>},
      {"xor", binary<arith::XOrIOp>},
      {"not", complement},
      {"clamp", clamp<arith::OrIOp, arith::AndIOp>},
  };
  return table;
}

Meaning integerMeaning(StringRef name, Kind kind) {
  if (kind == Kind::pred)
    return predTable().lookup(name);
  if (Meaning common = commonTable().lookup(name))
    return common;
  return kind == Kind::signedInteger ? signedTable().lookup(name) : unsignedTable().lookup(name);
}

} // namespace tilewright::elements
