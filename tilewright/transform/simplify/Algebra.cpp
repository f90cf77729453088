// Identities of elementwise ops. All are exact: no bit of a result may change, except NaN payloads
// and the rounding of x^3 and x^4.
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

LogicalResult replaceBy(Operation *op, Value value, PatternRewriter &rewriter) {
  if (value.getType() != op->getResult(0).getType())
    return rewriter.notifyMatchFailure(op, "the replacement has another type");
  rewriter.replaceOp(op, value);
  return success();
}

LogicalResult replaceByNumber(Operation *op, double number, PatternRewriter &rewriter) {
  RankedTensorType type = typeOf(op->getResult(0));
  if (!type || !type.hasStaticShape() || !isa<IntegerType, FloatType>(type.getElementType()))
    return rewriter.notifyMatchFailure(op,
                                       "the result is not a static tensor of integers or floats");
  rewriter.replaceOp(op, makeNumber(rewriter, op->getLoc(), type, number));
  return success();
}

/// Moves constants to the right, so that other patterns need to check only one side.
template <typename Op> LogicalResult constantToTheRight(Op op, PatternRewriter &rewriter) {
  if (!splatOf(op.getLhs()) || splatOf(op.getRhs()))
    return rewriter.notifyMatchFailure(
        op, "the left operand is not a splat, or the right one is a splat too");
  rewriter.modifyOpInPlace(op, [&] {
    Value lhs = op.getLhs();
    op->setOperand(0, op.getRhs());
    op->setOperand(1, lhs);
  });
  return success();
}

LogicalResult simplifyAdd(stablehlo::AddOp op, PatternRewriter &rewriter) {
  // For floats, x + 0.0 turns -0.0 into 0.0, but x + -0.0 is always x.
  if ((isInteger(op) && isPositiveZero(op.getRhs())) || isNegativeZero(op.getRhs()))
    return replaceBy(op, op.getLhs(), rewriter);
  // (x + c) + d = x + (c + d) for integers. Fold c + d here: if FoldConstants did it later, other
  // patterns could move the constants first and recreate this form, without end.
  auto inner = op.getLhs().getDefiningOp<stablehlo::AddOp>();
  if (!inner || !isStatic(op) || inner.getType() != op.getType())
    return rewriter.notifyMatchFailure(
        op, "the right operand is not zero, and the left one is not a static sum of the same type");
  auto c = dyn_cast_if_present<IntegerAttr>(splatOf(inner.getRhs()));
  auto d = dyn_cast_if_present<IntegerAttr>(splatOf(op.getRhs()));
  if (c && d) {
    // The sum of booleans is `or` in StableHLO.
    const bool isBoolean = c.getType().isInteger(1);
    APInt number = isBoolean ? c.getValue() | d.getValue() : c.getValue() + d.getValue();
    Value sum =
        makeSplat(rewriter, op.getLoc(), op.getType(), IntegerAttr::get(c.getType(), number));
    rewriter.replaceOpWithNewOp<stablehlo::AddOp>(op, op.getType(), inner.getLhs(), sum);
    return success();
  }
  return rewriter.notifyMatchFailure(op,
                                     "neither x + 0 nor (x + c) + d with integer splats c and d");
}

LogicalResult simplifySubtract(stablehlo::SubtractOp op, PatternRewriter &rewriter) {
  if (isPositiveZero(op.getRhs()))
    return replaceBy(op, op.getLhs(), rewriter);
  if (op.getLhs() == op.getRhs() && isInteger(op))
    return replaceByNumber(op, 0, rewriter);
  return rewriter.notifyMatchFailure(op, "neither x - 0 nor x - x of integers");
}

LogicalResult simplifyMultiply(stablehlo::MultiplyOp op, PatternRewriter &rewriter) {
  if (isOne(op.getRhs()))
    return replaceBy(op, op.getLhs(), rewriter);
  if (isInteger(op) && isPositiveZero(op.getRhs()))
    return replaceBy(op, op.getRhs(), rewriter);
  return rewriter.notifyMatchFailure(op, "neither x * 1 nor x * 0 of integers");
}

LogicalResult simplifyDivide(stablehlo::DivideOp op, PatternRewriter &rewriter) {
  if (isOne(op.getRhs()))
    return replaceBy(op, op.getLhs(), rewriter);
  auto divisor = dyn_cast_if_present<FloatAttr>(splatOf(op.getRhs()));
  if (!divisor || !isStatic(op.getRhs()))
    return rewriter.notifyMatchFailure(op,
                                       "the divisor is not a floating-point splat of static shape");
  // The inverse of a power of two is exact. If it is subnormal, hardware may flush it to zero.
  APFloat inverse(divisor.getValue().getSemantics());
  if (!divisor.getValue().getExactInverse(&inverse) || inverse.isDenormal())
    return rewriter.notifyMatchFailure(op, [&](Diagnostic &diag) {
      diag << "the inverse of " << divisor << " is not exact or is subnormal";
    });
  Value factor = makeSplat(rewriter, op.getLoc(), typeOf(op.getRhs()),
                           FloatAttr::get(divisor.getType(), inverse));
  rewriter.replaceOpWithNewOp<stablehlo::MultiplyOp>(op, op.getType(), op.getLhs(), factor);
  return success();
}

LogicalResult simplifyPower(stablehlo::PowerOp op, PatternRewriter &rewriter) {
  if (!isFloat(op) && !isInteger(op))
    return rewriter.notifyMatchFailure(op, "the elements are neither integers nor floats");
  if (isOne(op.getRhs()))
    return replaceBy(op, op.getLhs(), rewriter);
  std::optional<double> exponent;
  if (auto number = dyn_cast_if_present<FloatAttr>(splatOf(op.getRhs()))) {
    APFloat value = number.getValue();
    bool lost = false;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    exponent = value.convertToDouble();
  } else if (std::optional<int64_t> integer = integerOf(op.getRhs())) {
    exponent = static_cast<double>(*integer);
  }
  Value x = op.getLhs();
  auto product = [&](Value a, Value b) -> Value {
    return stablehlo::MultiplyOp::create(rewriter, op.getLoc(), op.getType(), a, b);
  };
  if (exponent == 0.0)
    return replaceByNumber(op, 1, rewriter);
  if (exponent == 2.0) {
    rewriter.replaceOp(op, product(x, x));
    return success();
  }
  // The second multiplication rounds again, so the result may differ by one more ulp from x^n.
  if (exponent == 3.0) {
    rewriter.replaceOp(op, product(product(x, x), x));
    return success();
  }
  if (exponent == 4.0) {
    Value square = product(x, x);
    rewriter.replaceOp(op, product(square, square));
    return success();
  }
  if (exponent == -1.0 && isFloat(op) && isStatic(op)) {
    Value one = makeNumber(rewriter, op.getLoc(), op.getType(), 1);
    rewriter.replaceOpWithNewOp<stablehlo::DivideOp>(op, op.getType(), one, x);
    return success();
  }
  return rewriter.notifyMatchFailure(
      op, "the exponent is not a splat of 0 to 4 or, for static floats, of -1");
}

/// x op x = x, for ops that return one of their operands if both are equal.
template <typename Op> LogicalResult sameOperands(Op op, PatternRewriter &rewriter) {
  if (op.getLhs() != op.getRhs())
    return rewriter.notifyMatchFailure(op, "the operands are different values");
  return replaceBy(op, op.getLhs(), rewriter);
}

LogicalResult simplifyAnd(stablehlo::AndOp op, PatternRewriter &rewriter) {
  if (isAllOnes(op.getRhs()))
    return replaceBy(op, op.getLhs(), rewriter);
  if (isPositiveZero(op.getRhs()))
    return replaceBy(op, op.getRhs(), rewriter);
  return sameOperands(op, rewriter);
}

LogicalResult simplifyOr(stablehlo::OrOp op, PatternRewriter &rewriter) {
  if (isPositiveZero(op.getRhs()))
    return replaceBy(op, op.getLhs(), rewriter);
  if (isAllOnes(op.getRhs()))
    return replaceBy(op, op.getRhs(), rewriter);
  return sameOperands(op, rewriter);
}

LogicalResult simplifyXor(stablehlo::XorOp op, PatternRewriter &rewriter) {
  if (isPositiveZero(op.getRhs()))
    return replaceBy(op, op.getLhs(), rewriter);
  if (op.getLhs() == op.getRhs())
    return replaceByNumber(op, 0, rewriter);
  return rewriter.notifyMatchFailure(op, "neither x ^ 0 nor x ^ x");
}

template <typename Op> LogicalResult shiftByZero(Op op, PatternRewriter &rewriter) {
  if (!isPositiveZero(op.getRhs()))
    return rewriter.notifyMatchFailure(op, "the shift amount is not zero");
  return replaceBy(op, op.getLhs(), rewriter);
}

/// Whether the type has negative numbers. f8E8M0FNU is the only float type without them; there,
/// negation returns NaN.
bool hasNegatives(Value value) { return !isa<Float8E8M0FNUType>(typeOf(value).getElementType()); }

/// f(f(x)) = x.
template <typename Op> LogicalResult selfInverse(Op op, PatternRewriter &rewriter) {
  auto inner = op.getOperand().template getDefiningOp<Op>();
  if (!inner)
    return rewriter.notifyMatchFailure(op, "the operand is not the result of the same kind of op");
  if (!hasNegatives(op))
    return rewriter.notifyMatchFailure(op, "the element type has no negative numbers");
  return replaceBy(op, inner.getOperand(), rewriter);
}

/// f(f(x)) = f(x).
template <typename Op> LogicalResult idempotent(Op op, PatternRewriter &rewriter) {
  auto inner = op.getOperand().template getDefiningOp<Op>();
  if (!inner)
    return rewriter.notifyMatchFailure(op, "the operand is not the result of the same kind of op");
  return replaceBy(op, inner, rewriter);
}

LogicalResult simplifyAbs(stablehlo::AbsOp op, PatternRewriter &rewriter) {
  if (auto negate = op.getOperand().getDefiningOp<stablehlo::NegateOp>();
      negate && isFloat(op) && hasNegatives(op)) {
    rewriter.replaceOpWithNewOp<stablehlo::AbsOp>(op, op.getType(), negate.getOperand());
    return success();
  }
  return idempotent(op, rewriter);
}

/// Whether `to` represents every value of `from`, so that a conversion to `to` and back is the
/// identity.
bool holdsAll(Type from, Type to) {
  if (auto source = dyn_cast<IntegerType>(from)) {
    const unsigned width = source.getWidth();
    if (auto target = dyn_cast<IntegerType>(to)) {
      if (width == 1)
        return true;
      // i1 has only two values, and unsigned types have no negative values.
      if (target.getWidth() == 1 || (!source.isUnsigned() && target.isUnsigned()))
        return false;
      return source.isUnsigned() == target.isUnsigned() ? target.getWidth() >= width
                                                        : target.getWidth() > width;
    }
    if (isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(to))
      return cast<FloatType>(to).getFPMantissaWidth() >= width;
    return false;
  }
  auto source = dyn_cast<FloatType>(from), target = dyn_cast<FloatType>(to);
  if (!source || !target)
    return false;
  // Only f16, bf16, f32 and f64: smaller formats differ in their infinities and NaNs.
  auto rank = [](FloatType type) { return type.isF64() ? 3 : type.isF32() ? 2 : 1; };
  if (!isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(source) ||
      !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(target))
    return false;
  return source == target || rank(target) > rank(source);
}

LogicalResult simplifyConvert(stablehlo::ConvertOp op, PatternRewriter &rewriter) {
  if (op.getOperand().getType() == op.getType())
    return replaceBy(op, op.getOperand(), rewriter);
  auto inner = op.getOperand().getDefiningOp<stablehlo::ConvertOp>();
  if (!inner)
    return rewriter.notifyMatchFailure(op, "the operand is not another conversion");
  Type from = typeOf(inner.getOperand()).getElementType();
  Type middle = typeOf(inner).getElementType();
  // An intermediate type that represents every source value has no effect.
  if (!holdsAll(from, middle))
    return rewriter.notifyMatchFailure(op, [&](Diagnostic &diag) {
      diag << middle << " does not represent every value of " << from;
    });
  // Integer to integer wraps around, but float to integer saturates.
  Type to = typeOf(op).getElementType();
  if (isa<IntegerType>(from) && isa<FloatType>(middle) && isa<IntegerType>(to) &&
      !to.isInteger(1) && !holdsAll(from, to))
    return rewriter.notifyMatchFailure(op, [&](Diagnostic &diag) {
      diag << "a conversion from " << middle << " to " << to << " saturates, one from " << from
           << " wraps around";
    });
  // A conversion to boolean computes `x != 0`, which is the same for the source and the
  // intermediate value.
  rewriter.replaceOpWithNewOp<stablehlo::ConvertOp>(op, op.getType(), inner.getOperand());
  return success();
}

LogicalResult simplifyBitcast(stablehlo::BitcastConvertOp op, PatternRewriter &rewriter) {
  if (op.getOperand().getType() == op.getType())
    return replaceBy(op, op.getOperand(), rewriter);
  auto inner = op.getOperand().getDefiningOp<stablehlo::BitcastConvertOp>();
  if (!inner || inner.getOperand().getType() != op.getType())
    return rewriter.notifyMatchFailure(op, "the operand is not a bitcast from the result's type");
  return replaceBy(op, inner.getOperand(), rewriter);
}

LogicalResult simplifySelect(stablehlo::SelectOp op, PatternRewriter &rewriter) {
  if (op.getOnTrue() == op.getOnFalse())
    return replaceBy(op, op.getOnTrue(), rewriter);
  if (std::optional<int64_t> pred = integerOf(op.getPred()))
    return replaceBy(op, *pred ? op.getOnTrue() : op.getOnFalse(), rewriter);
  // select(!p, a, b) = select(p, b, a).
  if (auto inverted = op.getPred().getDefiningOp<stablehlo::NotOp>()) {
    rewriter.replaceOpWithNewOp<stablehlo::SelectOp>(op, op.getType(), inverted.getOperand(),
                                                     op.getOnFalse(), op.getOnTrue());
    return success();
  }
  // On booleans: select(p, true, false) = p.
  if (op.getPred().getType() == op.getType() && isAllOnes(op.getOnTrue()) &&
      isPositiveZero(op.getOnFalse()))
    return replaceBy(op, op.getPred(), rewriter);
  return rewriter.notifyMatchFailure(
      op, "the condition is neither constant nor negated, and the two values differ");
}

LogicalResult simplifyCompare(stablehlo::CompareOp op, PatternRewriter &rewriter) {
  using stablehlo::ComparisonDirection;
  const ComparisonDirection direction = op.getComparisonDirection();
  if (op.getLhs() == op.getRhs() && isInteger(op.getLhs()))
    return replaceByNumber(op,
                           direction == ComparisonDirection::EQ ||
                               direction == ComparisonDirection::GE ||
                               direction == ComparisonDirection::LE,
                           rewriter);
  // For booleans, x != false and x == true are x; x == false and x != true are !x.
  RankedTensorType type = typeOf(op.getLhs());
  if (type && type.getElementType().isInteger(1) && op.getLhs().getType() == op.getType()) {
    std::optional<int64_t> rhs = integerOf(op.getRhs());
    if (rhs &&
        (direction == ComparisonDirection::NE ? *rhs == 0
                                              : direction == ComparisonDirection::EQ && *rhs))
      return replaceBy(op, op.getLhs(), rewriter);
    if (rhs &&
        (direction == ComparisonDirection::EQ ? *rhs == 0
                                              : direction == ComparisonDirection::NE && *rhs)) {
      rewriter.replaceOpWithNewOp<stablehlo::NotOp>(op, op.getType(), op.getLhs());
      return success();
    }
  }
  return rewriter.notifyMatchFailure(
      op, "neither an integer compared with itself nor a boolean compared with a constant");
}

template <typename Op> LogicalResult partOfComplex(Op op, PatternRewriter &rewriter) {
  auto made = op.getOperand().template getDefiningOp<stablehlo::ComplexOp>();
  if (made)
    return replaceBy(op, std::is_same_v<Op, stablehlo::RealOp> ? made.getLhs() : made.getRhs(),
                     rewriter);
  if (isFloat(op.getOperand())) {
    if constexpr (std::is_same_v<Op, stablehlo::RealOp>)
      return replaceBy(op, op.getOperand(), rewriter);
    else
      return replaceByNumber(op, 0, rewriter);
  }
  return rewriter.notifyMatchFailure(
      op, "the operand is complex and not the result of stablehlo.complex");
}

LogicalResult simplifyComplex(stablehlo::ComplexOp op, PatternRewriter &rewriter) {
  auto real = op.getLhs().getDefiningOp<stablehlo::RealOp>();
  auto imag = op.getRhs().getDefiningOp<stablehlo::ImagOp>();
  if (!real || !imag || real.getOperand() != imag.getOperand())
    return rewriter.notifyMatchFailure(
        op, "the operands are not the real and the imaginary part of the same value");
  return replaceBy(op, real.getOperand(), rewriter);
}

} // namespace

void addAlgebraPatterns(RewritePatternSet &patterns) {
  using namespace stablehlo;
  addPattern<AddOp>(patterns, "constantToTheRight", constantToTheRight);
  addPattern<MultiplyOp>(patterns, "constantToTheRight", constantToTheRight);
  addPattern<AndOp>(patterns, "constantToTheRight", constantToTheRight);
  addPattern<OrOp>(patterns, "constantToTheRight", constantToTheRight);
  addPattern<XorOp>(patterns, "constantToTheRight", constantToTheRight);
  addPattern<MaximumOp>(patterns, "constantToTheRight", constantToTheRight);
  addPattern<MinimumOp>(patterns, "constantToTheRight", constantToTheRight);
  addPattern<AddOp>(patterns, "simplifyAdd", simplifyAdd);
  addPattern<SubtractOp>(patterns, "simplifySubtract", simplifySubtract);
  addPattern<MultiplyOp>(patterns, "simplifyMultiply", simplifyMultiply);
  addPattern<DivideOp>(patterns, "simplifyDivide", simplifyDivide);
  addPattern<PowerOp>(patterns, "simplifyPower", simplifyPower);
  addPattern<MaximumOp>(patterns, "sameOperands", sameOperands);
  addPattern<MinimumOp>(patterns, "sameOperands", sameOperands);
  addPattern<AndOp>(patterns, "simplifyAnd", simplifyAnd);
  addPattern<OrOp>(patterns, "simplifyOr", simplifyOr);
  addPattern<XorOp>(patterns, "simplifyXor", simplifyXor);
  addPattern<ShiftLeftOp>(patterns, "shiftByZero", shiftByZero);
  addPattern<ShiftRightLogicalOp>(patterns, "shiftByZero", shiftByZero);
  addPattern<ShiftRightArithmeticOp>(patterns, "shiftByZero", shiftByZero);
  addPattern<NegateOp>(patterns, "selfInverse", selfInverse);
  addPattern<NotOp>(patterns, "selfInverse", selfInverse);
  addPattern<AbsOp>(patterns, "simplifyAbs", simplifyAbs);
  addPattern<FloorOp>(patterns, "idempotent", idempotent);
  addPattern<CeilOp>(patterns, "idempotent", idempotent);
  addPattern<RoundNearestEvenOp>(patterns, "idempotent", idempotent);
  addPattern<RoundNearestAfzOp>(patterns, "idempotent", idempotent);
  addPattern<ConvertOp>(patterns, "simplifyConvert", simplifyConvert);
  addPattern<BitcastConvertOp>(patterns, "simplifyBitcast", simplifyBitcast);
  addPattern<SelectOp>(patterns, "simplifySelect", simplifySelect);
  addPattern<CompareOp>(patterns, "simplifyCompare", simplifyCompare);
  addPattern<RealOp>(patterns, "partOfComplex", partOfComplex);
  addPattern<ImagOp>(patterns, "partOfComplex", partOfComplex);
  addPattern<ComplexOp>(patterns, "simplifyComplex", simplifyComplex);
}

} // namespace tilewright::simplify
