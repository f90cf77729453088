// Conversions between element types. Real to integer saturates and converts NaN to 0; all others
// round once.
#include "tilewright/dialect/elements/Emitter.h"
#include "tilewright/dialect/elements/ScalarSemantics.h"

using namespace mlir;

namespace tilewright::elements {

Type computeType(Type type) { return type.isF64() ? type : Float32Type::get(type.getContext()); }

Value narrow(Emitter &emit, Value value, Type type) {
  return value.getType() == type ? value : emit.make<arith::TruncFOp>(type, value);
}

Value widen(Emitter &emit, Value value) {
  Type wide = computeType(value.getType());
  return value.getType() == wide ? value : emit.make<arith::ExtFOp>(wide, value);
}

static Value realToReal(Emitter &emit, Value value, Type to) {
  value = widen(emit, value);
  if (value.getType() == to)
    return value;
  if (to.isF64())
    return emit.make<arith::ExtFOp>(to, value);
  return narrow(emit, value, to);
}

/// If a double cannot represent a 64-bit integer, merges the lowest bits of the integer into a
/// sticky bit. Rounding the resulting double to a narrower type then gives the same value as
/// rounding the integer once.
static Value stickyForDouble(Emitter &emit, Value value, bool isSigned) {
  Type type = value.getType();
  Value magnitude = isSigned ? Value(emit.make<math::AbsIOp>(value)) : value;
  Value isLarge =
      emit.compare(arith::CmpIPredicate::uge, magnitude, emit.integer(type, int64_t(1) << 52));
  Value low = emit.make<arith::AndIOp>(value, emit.integer(type, 0xfff));
  Value isExact = emit.compare(arith::CmpIPredicate::eq, low, emit.integer(type, 0));
  Value high = emit.make<arith::AndIOp>(value, emit.integer(type, ~int64_t(0xfff)));
  Value odd = emit.make<arith::OrIOp>(high, emit.integer(type, 0x800));
  return emit.select(isLarge, emit.select(isExact, high, odd), value);
}

static Value integerToReal(Emitter &emit, Value value, bool isSigned, Type to) {
  const unsigned width = value.getType().getIntOrFloatBitWidth();
  // A single instruction rounds to f32 or f64. Narrower types are reached through a type that
  // represents every integer of this width (for 64 bits, see stickyForDouble).
  Type through = to.isF32() || to.isF64() ? to
                 : width < 24             ? Type(emit.builder.getF32Type())
                                          : Type(emit.builder.getF64Type());
  if (width == 64 && through != to)
    value = stickyForDouble(emit, value, isSigned);
  Value real = isSigned ? emit.make<arith::SIToFPOp>(through, value)
                        : emit.make<arith::UIToFPOp>(through, value);
  return narrow(emit, real, to);
}

static Value realToInteger(Emitter &emit, Value value, bool isSigned, Type to) {
  using P = arith::CmpFPredicate;
  value = widen(emit, value);
  const unsigned width = to.getIntOrFloatBitWidth();
  Value above = emit.real(value, std::ldexp(1.0, static_cast<int>(isSigned ? width - 1 : width)));
  Value below = emit.real(value, isSigned ? -std::ldexp(1.0, static_cast<int>(width - 1)) : 0);
  Value isLow = emit.compare(P::OLE, value, below), isHigh = emit.compare(P::OGE, value, above);
  // Values out of range must not reach the conversion op, whose result would be poison.
  Value fits = emit.both(emit.compare(P::OGT, value, below), emit.compare(P::OLT, value, above));
  Value safe = emit.select(fits, value, emit.real(value, 0));
  Value inside =
      isSigned ? emit.make<arith::FPToSIOp>(to, safe) : emit.make<arith::FPToUIOp>(to, safe);
  Value lowest = emit.integer(to, isSigned ? llvm::APInt::getSignedMinValue(width)
                                           : llvm::APInt::getZero(width));
  Value highest = emit.integer(to, isSigned ? llvm::APInt::getSignedMaxValue(width)
                                            : llvm::APInt::getMaxValue(width));
  return emit.select(isHigh, highest, emit.select(isLow, lowest, inside));
}

Value emitConvert(Emitter &emit, Type from, Type to, Value value) {
  const Kind fromKind = kindOf(from), toKind = kindOf(to);
  Type scalar = scalarType(to);
  if (toKind == Kind::complex) {
    Type component = cast<ComplexType>(to).getElementType();
    if (fromKind == Kind::complex)
      return emit.join(realToReal(emit, emit.re(value), component),
                       realToReal(emit, emit.im(value), component));
    return emit.join(emitConvert(emit, from, component, value), emit.real(component, 0));
  }
  if (fromKind == Kind::complex)
    return emitConvert(emit, cast<ComplexType>(from).getElementType(), to, emit.re(value));

  const bool isSigned = fromKind == Kind::signedInteger;
  if (toKind == Kind::pred) {
    if (fromKind == Kind::pred)
      return value;
    if (fromKind != Kind::real)
      return emit.compare(arith::CmpIPredicate::ne, value, emit.integer(value, 0));
    value = widen(emit, value);
    return emit.compare(arith::CmpFPredicate::UNE, value, emit.real(value, 0));
  }
  if (toKind == Kind::real)
    return fromKind == Kind::real ? realToReal(emit, value, scalar)
                                  : integerToReal(emit, value, isSigned, scalar);
  if (fromKind == Kind::real)
    return realToInteger(emit, value, toKind == Kind::signedInteger, scalar);

  const unsigned fromWidth = value.getType().getIntOrFloatBitWidth(),
                 toWidth = scalar.getIntOrFloatBitWidth();
  if (fromWidth == toWidth)
    return value;
  if (fromWidth > toWidth)
    return emit.make<arith::TruncIOp>(scalar, value);
  return isSigned ? emit.make<arith::ExtSIOp>(scalar, value)
                  : emit.make<arith::ExtUIOp>(scalar, value);
}

} // namespace tilewright::elements
