// Bounds of sums in any order, and of other ops that combine many elements.
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/bounds/BoundsEvaluator.h"
#include "tilewright/numerics/Float.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace tilewright::interpret {

double boundOfSum(ElementType type, double value, const SumTerms &terms) {
  if (terms.inherited == unknown)
    return unknown;
  if (terms.magnitude > largestFinite(type))
    return unknown; // a partial sum may overflow in one order but not in another
  if (!std::isfinite(value))
    return std::isnan(value) ? 1 : 0; // one of the terms was not finite, in any order
  const double u = unitRoundoff(type);
  // All partial sums are multiples of the lattice, which is representable, and small enough to be
  // exact; only the sign of a zero depends on the order.
  if (terms.inherited == 0 && terms.lattice >= smallestSubnormal(type) &&
      terms.magnitude * u <= terms.lattice / 2)
    return value == 0 ? smallestSubnormal(type) : 0;
  const double growth = std::expm1(static_cast<double>(terms.roundings) * std::log1p(u));
  // Count the rounding error twice: for the evaluator and for the implementation under test.
  const double bound = terms.inherited + 2 * growth * terms.magnitude + smallestSubnormal(type);
  return growth < 1 && terms.magnitude + bound <= largestFinite(type) ? bound : unknown;
}

static const double *doublesOf(const Tensor &tensor) {
  return reinterpret_cast<const double *>(tensor.data());
}

/// Whether exact operands give the same result in any order, because no op of the body rounds.
static bool roundsNothing(Region &region) {
  return !region
              .walk([](Operation *op) {
                const bool isFloat = llvm::any_of(op->getResultTypes(), [](Type type) {
                  auto tensor = dyn_cast<RankedTensorType>(type);
                  return tensor && isa<FloatType, ComplexType>(tensor.getElementType());
                });
                const llvm::StringRef name = op->getName().getStringRef();
                return isFloat && name != "stablehlo.maximum" && name != "stablehlo.minimum" &&
                               name != "stablehlo.select" && name != "stablehlo.constant"
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

Result<Tensor> BoundsEvaluator::reduceDoubles(Operation *op, const Operands &operands,
                                              const BoundList &elements, const BoundList &starts,
                                              llvm::StringRef body) {
  std::vector<Tensor> values;
  TILEWRIGHT_ASSIGN(Tensor input, doubles(operands.front().tensor(), elements));
  values.push_back(input);
  if (isa<stablehlo::ScatterOp>(op))
    values.push_back(operands[1].tensor());
  TILEWRIGHT_ASSIGN(Tensor start, doubles(operands.back().tensor(), starts));
  values.push_back(start);
  TILEWRIGHT_ASSIGN(std::vector<Tensor> made, onDoubles(op, std::move(values), body));
  return made[0];
}

Result<Tensor> BoundsEvaluator::countTerms(Operation *op, const Operands &operands) {
  const BoundList ones(operands.front().bounds.size(), isa<stablehlo::ScatterOp>(op) ? 0 : 1),
      startOnes(operands.back().bounds.size(), 1);
  return reduceDoubles(op, operands, ones, startOnes, "stablehlo.add");
}

static double realAt(const Bounded &result, size_t i) {
  return result.tensor().at(static_cast<int64_t>(i)).r;
}

Status BoundsEvaluator::setRealSum(Operation *op, const Operands &operands, Bounded &result) {
  const Bounded &input = operands.front(), &start = operands.back();
  TILEWRIGHT_ASSIGN(Tensor terms, countTerms(op, operands));
  TILEWRIGHT_ASSIGN(Tensor sizes, reduceDoubles(op, operands, magnitudes(input), magnitudes(start),
                                                "stablehlo.add"));
  TILEWRIGHT_ASSIGN(Tensor inherited,
                    reduceDoubles(op, operands, input.bounds, start.bounds, "stablehlo.add"));
  const double lattice = std::min(latticeOf(input.tensor()), latticeOf(start.tensor()));
  for (size_t i = 0; i < result.bounds.size(); ++i) {
    const SumTerms sum{doublesOf(sizes)[i], doublesOf(inherited)[i], lattice,
                       static_cast<int64_t>(doublesOf(terms)[i])};
    result.bounds[i] = isa<stablehlo::ScatterOp>(op) && sum.roundings == 0
                           ? sum.inherited
                           : boundOfSum(result.tensor().type(), realAt(result, i), sum);
  }
  return {};
}

Status BoundsEvaluator::setRealProduct(Operation *op, const Operands &operands, const Tensor &worst,
                                       Bounded &result) {
  const Bounded &input = operands.front(), &start = operands.back();
  const ElementType type = result.tensor().type();
  auto limited = [&](const Bounded &of, bool above) {
    BoundList sizes = magnitudes(of);
    for (double &size : sizes)
      size = size == 0 ? 1 : above ? std::max(size, 1.0) : std::min(size, 1.0);
    return sizes;
  };
  auto productOf = [&](bool above) {
    return reduceDoubles(op, operands, limited(input, above), limited(start, above),
                         "stablehlo.multiply");
  };
  TILEWRIGHT_ASSIGN(Tensor terms, countTerms(op, operands));
  TILEWRIGHT_ASSIGN(Tensor most, productOf(/*above=*/true));
  TILEWRIGHT_ASSIGN(Tensor least, productOf(/*above=*/false));
  auto boundAt = [&](size_t i) {
    const double value = realAt(result, i), roundings = doublesOf(terms)[i];
    if (isa<stablehlo::ScatterOp>(op) && roundings == 0)
      return doublesOf(worst)[i];
    if (doublesOf(worst)[i] != 0 || doublesOf(most)[i] > largestFinite(type) / 2 ||
        doublesOf(least)[i] < 2 * smallestNormal(type))
      return unknown;
    if (!std::isfinite(value))
      return std::isnan(value) ? 1.0 : 0.0;
    return 2 * std::expm1(roundings * std::log1p(unitRoundoff(type))) * std::fabs(value) +
           smallestSubnormal(type);
  };
  for (size_t i = 0; i < result.bounds.size(); ++i)
    result.bounds[i] = boundAt(i);
  return {};
}

/// reduce, reduce_window and scatter. Operands: n tensors, then (scatter only) indices, then n
/// initial values or updates. A bound propagates to the same element as its value.
Status BoundsEvaluator::setReduction(Operation *op, const Operands &operands, Results &results) {
  const size_t count = results.size();
  auto setAll = [&](double bound) {
    for (Bounded &result : results)
      std::ranges::fill(result.bounds, bound);
  };
  const bool allExact = std::ranges::all_of(operands, [](const Bounded &b) { return b.isExact(); });
  const llvm::StringRef body = count == 1 ? onlyOpOf(op->getRegion(0)) : llvm::StringRef();
  if (isa<stablehlo::ScatterOp>(op) && !operands[count].isExact())
    return setAll(unknown), Status();
  if (body.empty() || numerics::isComplex(results[0].tensor().type())) {
    // Several tensors or a body with several ops: results are known only if they are exact in any
    // order.
    if (!allExact || !roundsNothing(op->getRegion(0)))
      setAll(unknown);
    return {};
  }

  Bounded &result = results[0];
  const bool isReal = numerics::isReal(result.tensor().type());
  TILEWRIGHT_ASSIGN(Tensor worst, reduceDoubles(op, operands, operands.front().bounds,
                                                operands.back().bounds, "stablehlo.maximum"));
  if (isReal && body == "stablehlo.add") {
    TILEWRIGHT_TRY(setRealSum(op, operands, result));
  } else if (isReal && body == "stablehlo.multiply") {
    TILEWRIGHT_TRY(setRealProduct(op, operands, worst, result));
  } else if (isReal && body != "stablehlo.maximum" && body != "stablehlo.minimum") {
    return setAll(allExact && roundsNothing(op->getRegion(0)) ? 0 : unknown), Status();
  } else {
    for (size_t i = 0; i < result.bounds.size(); ++i)
      result.bounds[i] = isReal && std::isnan(realAt(result, i)) ? 1 : doublesOf(worst)[i];
  }
  for (size_t i = 0; i < result.bounds.size(); ++i)
    if (doublesOf(worst)[i] == unknown)
      result.bounds[i] = unknown;
  return {};
}

Status BoundsEvaluator::setSelectAndScatter(Operation *op, const Operands &operands,
                                            Results &results) {
  const ElementType type = results[0].tensor().type();
  BoundList &bounds = results[0].bounds;
  const llvm::StringRef body = onlyOpOf(op->getRegion(1));
  const bool hasNan = [&] {
    for (int64_t i = 0; numerics::isReal(type) && i < operands[0].tensor().elementCount(); ++i)
      if (std::isnan(operands[0].tensor().at(i).r))
        return true;
    return false;
  }();
  // The choice of a window's element must not depend on rounding errors or on the position of a
  // NaN.
  if (!operands[0].isExact() || hasNan)
    return std::ranges::fill(bounds, unknown), Status();
  if (!numerics::isReal(type) || body != "stablehlo.add") {
    const bool exact =
        operands[1].isExact() && operands[2].isExact() && roundsNothing(op->getRegion(1));
    return std::ranges::fill(bounds, exact ? 0 : unknown), Status();
  }
  BoundList selecting(operands[0].bounds.size());
  for (size_t i = 0; i < selecting.size(); ++i)
    selecting[i] = operands[0].tensor().at(static_cast<int64_t>(i)).r;
  auto fold = [&](const BoundList &source, const BoundList &initial) -> Result<Tensor> {
    TILEWRIGHT_ASSIGN(Tensor a, doubles(operands[0].tensor(), selecting));
    TILEWRIGHT_ASSIGN(Tensor b, doubles(operands[1].tensor(), source));
    TILEWRIGHT_ASSIGN(Tensor c, doubles(operands[2].tensor(), initial));
    TILEWRIGHT_ASSIGN(std::vector<Tensor> made, onDoubles(op, {a, b, c}));
    return made[0];
  };
  TILEWRIGHT_ASSIGN(Tensor sizes, fold(magnitudes(operands[1]), magnitudes(operands[2])));
  TILEWRIGHT_ASSIGN(Tensor inherited, fold(operands[1].bounds, operands[2].bounds));
  TILEWRIGHT_ASSIGN(Tensor terms, fold(BoundList(operands[1].bounds.size(), 1), BoundList(1, 1)));
  const double lattice = std::min(latticeOf(operands[1].tensor()), latticeOf(operands[2].tensor()));
  for (size_t i = 0; i < bounds.size(); ++i)
    bounds[i] = boundOfSum(type, results[0].tensor().at(static_cast<int64_t>(i)).r,
                           {doublesOf(sizes)[i], doublesOf(inherited)[i], lattice,
                            static_cast<int64_t>(doublesOf(terms)[i])});
  return {};
}

/// How a target with tensor cores may multiply f32.
struct SingleProducts {
  /// Factors are rounded to tf32.
  bool isTf32 = false;
  /// The program requests tf32 by this name, so the evaluator computes in it. Ties may be rounded
  /// differently, and targets without such instructions are more precise.
  bool isNamed = false;
  /// Factors are split into parts. The product omits this fraction of each term, and parts below
  /// the smallest number of their type.
  bool isSplit = false;
  double omitted = 0;
};

/// docs/design/split-products.md has the fractions.
static SingleProducts singleProductsOf(Operation *op) {
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
    if (stablehlo::DotAlgorithmAttr algorithm = dot.getAlgorithmAttr()) {
      const bool isTf32 = isa<FloatTF32Type>(algorithm.getLhsPrecisionType());
      switch (algorithm.getNumPrimitiveOperations()) {
      case 1:
        return {.isTf32 = isTf32, .isNamed = true};
      case 3:
        return {.isNamed = true, .isSplit = true, .omitted = isTf32 ? 3 * 0x1p-22 : 3 * 0x1p-16};
      case 6:
        return {.isNamed = true, .isSplit = true, .omitted = 0x1p-23};
      default:
        return {.isNamed = true, .isSplit = true};
      }
    }
  auto strictest = stablehlo::Precision::DEFAULT;
  if (auto config = op->getAttrOfType<ArrayAttr>("precision_config"))
    for (auto entry : config.getAsRange<stablehlo::PrecisionAttr>())
      strictest = std::max(strictest, entry.getValue());
  if (strictest == stablehlo::Precision::DEFAULT)
    return {.isTf32 = true};
  return {.isSplit = true,
          .omitted = strictest == stablehlo::Precision::HIGH ? 3 * 0x1p-16 : 0x1p-23};
}

/// Adds the error of rounding or splitting f32 factors to their bounds.
static void addSingleRounding(Bounded &factors, const SingleProducts &how) {
  if (factors.tensor().type() != ElementType::f32)
    return;
  for (size_t i = 0; i < factors.bounds.size(); ++i) {
    const double value = factors.tensor().at(static_cast<int64_t>(i)).r;
    if (!std::isfinite(value))
      continue;
    // Two parts are at least as precise as tf32, so a value that overflows in tf32 may overflow
    // there.
    const double rounded =
        numerics::decode(ElementType::tf32, numerics::encode(ElementType::tf32, value));
    if ((how.isTf32 || how.isSplit) && !std::isfinite(rounded))
      factors.bounds[i] = unknown;
    else if (how.isTf32)
      factors.bounds[i] += std::fabs(rounded - value) * (how.isNamed ? 2 : 1) * (1 + 0x1p-20);
    else if (how.isSplit && numerics::decode(ElementType::bf16,
                                             numerics::encode(ElementType::bf16, value)) != value)
      // Half for each factor: a factor that is its own first part causes no error. The parts of
      // small numbers are multiples of 2^-133, the smallest bf16.
      factors.bounds[i] +=
          how.omitted / 2 * std::fabs(value) + (std::fabs(value) < 0x1p-100 ? 0x1p-133 : 0.0);
  }
}

/// Whether infinities in the kernel make the result ambiguous. XLA either multiplies the kernel by
/// the zeros between the elements of a dilated input, which gives NaN, or skips these zeros; the
/// same holds for the padding.
static bool isOpenBetween(Operation *op, const Bounded &kernel, bool skipsPadding) {
  std::optional<ArrayRef<int64_t>> dilation;
  if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op))
    dilation = convolution.getLhsDilation();
  else if (auto dynamic = dyn_cast<stablehlo::DynamicConvOp>(op))
    dilation = dynamic.getLhsDilation();
  else
    return false;
  const bool isDense =
      !dilation || llvm::all_of(*dilation, [](int64_t distance) { return distance == 1; });
  if (isDense && !skipsPadding)
    return false;
  for (size_t i = 0; i < kernel.bounds.size(); ++i) {
    const Scalar value = kernel.tensor().at(static_cast<int64_t>(i));
    if (!std::isfinite(std::abs(value.complex())) || !std::isfinite(kernel.bounds[i]))
      return true;
  }
  return false;
}

/// Whether bf16 instructions can multiply numbers of this type.
static bool fitsBf16(ElementType type) {
  return type == ElementType::bf16 || (!numerics::isComplex(type) && numerics::bitWidth(type) <= 8);
}

/// The bound of a sum of products, which is computed in f32 or f64 and then rounded to `type`.
/// `flushed` bounds the error of flushing subnormal numbers; `flushesFactor` tells whether this
/// concerns a factor.
static double boundOfProducts(ElementType type, const Scalar &result, const SumTerms &terms,
                              double flushed, bool flushesFactor) {
  const ElementType component = numerics::componentOf(type);
  const ElementType accumulated = component == ElementType::f64 ? component : ElementType::f32;
  const double value = numerics::isComplex(type) ? std::abs(result.complex()) : result.r;
  if (numerics::isComplex(type) && !std::isfinite(value))
    return unknown;
  double bound = boundOfSum(accumulated, value, terms);
  if (!std::isfinite(value)) {
    // An infinity times a flushed number is NaN. The result may also overflow only in its own type;
    // then another order of summation may give a finite result.
    return flushesFactor || terms.magnitude > largestFinite(component) ? unknown : bound;
  }
  bound += flushed;
  // A sum of products may begin with zero or with the first product, which may be -0. boundOfSum()
  // allows both signs if the value is zero; of a complex number, one part may be zero.
  if (numerics::isComplex(type) && (result.r == 0 || result.im == 0))
    bound = std::max(bound, smallestSubnormal(component));
  // The sum is rounded again, to the result's type, unless it is exact.
  if (bound > 0 && component != accumulated)
    bound += ulpAt(component, std::fabs(value) + bound);
  return bound > 0 && std::fabs(value) + bound > largestFinite(component) ? unknown : bound;
}

Result<Tensor> BoundsEvaluator::multiplyDoubles(Operation *op, const Operands &operands,
                                                const BoundList &lhs, const BoundList &rhs) {
  TILEWRIGHT_ASSIGN(Tensor left, doubles(operands[0].tensor(), lhs));
  TILEWRIGHT_ASSIGN(Tensor right, doubles(operands[1].tensor(), rhs));
  std::vector<Tensor> values{left, right};
  for (const Bounded &operand : llvm::drop_begin(operands, 2))
    values.push_back(operand.tensor());
  TILEWRIGHT_ASSIGN(std::vector<Tensor> made, onDoubles(op, std::move(values)));
  return made[0];
}

/// A 1 for each element.
static BoundList onesLike(const Bounded &operand) { return BoundList(operand.bounds.size(), 1); }

Result<std::vector<bool>> BoundsEvaluator::findUnknownProducts(Operation *op,
                                                               const Operands &operands) {
  auto marks = [](const Bounded &of) {
    BoundList list(of.bounds.size());
    for (size_t i = 0; i < list.size(); ++i)
      list[i] = of.bounds[i] == unknown;
    return list;
  };
  TILEWRIGHT_ASSIGN(Tensor left,
                    multiplyDoubles(op, operands, marks(operands[0]), onesLike(operands[1])));
  TILEWRIGHT_ASSIGN(Tensor right,
                    multiplyDoubles(op, operands, onesLike(operands[0]), marks(operands[1])));
  std::vector<bool> found(static_cast<size_t>(left.elementCount()));
  for (size_t i = 0; i < found.size(); ++i)
    found[i] = doublesOf(left)[i] + doublesOf(right)[i] > 0;
  return found;
}

/// Matmuls and convolutions: dot_general, dot, einsum, convolution. Sums are computed in f32, or in
/// f64 for f64 operands.
Status BoundsEvaluator::setProduct(Operation *op, const Operands &operands, Results &results) {
  const ElementType type = results[0].tensor().type();
  BoundList &bounds = results[0].bounds;
  if (!numerics::isReal(type) && !numerics::isComplex(type)) {
    if (operands[0].isExact() && operands[1].isExact())
      return {};
    TILEWRIGHT_ASSIGN(std::vector<bool> isUnknown, findUnknownProducts(op, operands));
    for (size_t i = 0; i < bounds.size(); ++i)
      bounds[i] = isUnknown[i] ? unknown : 0;
    return {};
  }
  Bounded left = operands[0], right = operands[1];
  const SingleProducts how = singleProductsOf(op);
  if (allowance.roundsToTf32 || (how.isNamed && how.isSplit)) {
    addSingleRounding(left, how);
    addSingleRounding(right, how);
  }
  if (isOpenBetween(op, right, allowance.skipsPadding)) {
    bounds.assign(bounds.size(), unknown);
    return {};
  }
  auto finite = [](BoundList list) {
    std::ranges::replace(list, unknown, 0.0);
    return list;
  };
  auto product = [&](const BoundList &x, const BoundList &y) {
    return multiplyDoubles(op, operands, x, y);
  };
  const BoundList a = magnitudes(left), b = magnitudes(right), leftOnes = onesLike(left),
                  rightOnes = onesLike(right);
  TILEWRIGHT_ASSIGN(Tensor sizes, product(a, b));
  TILEWRIGHT_ASSIGN(Tensor fromLeft, product(finite(left.bounds), b));
  TILEWRIGHT_ASSIGN(Tensor fromRight, product(a, finite(right.bounds)));
  TILEWRIGHT_ASSIGN(Tensor terms, product(leftOnes, rightOnes));
  TILEWRIGHT_ASSIGN(std::vector<bool> isUnknown, findUnknownProducts(op, operands));
  // Factors, products and sums below the smallest normal number may each be flushed to zero.
  BoundList flushed(bounds.size(), 0);
  bool flushesFactor = false;
  const double ofLhs = latticeOf(operands[0].tensor()), ofRhs = latticeOf(operands[1].tensor()),
               lattice = ofLhs * ofRhs, normal = smallestNormal(ElementType::f32);
  // Multiples of a normal number are normal, or zero.
  const bool isForBf16 = fitsBf16(operands[0].tensor().type()) &&
                         fitsBf16(operands[1].tensor().type()) &&
                         std::min({ofLhs, ofRhs, lattice}) < normal;
  if (allowance.flushesSubnormals || (allowance.flushesBf16Products && isForBf16)) {
    const double least = smallestNormal(numerics::componentOf(type));
    auto isSubnormal = [&](double size) { return size != 0 && size < least; };
    flushesFactor = llvm::any_of(a, isSubnormal) || llvm::any_of(b, isSubnormal);
    TILEWRIGHT_ASSIGN(Tensor ofLeft, product(a, rightOnes));
    TILEWRIGHT_ASSIGN(Tensor ofRight, product(leftOnes, b));
    for (size_t i = 0; i < flushed.size(); ++i)
      flushed[i] = least * (doublesOf(ofLeft)[i] + doublesOf(ofRight)[i] + 2 * doublesOf(terms)[i]);
  }
  const double factor = numerics::isComplex(type) ? 4 : 1;
  for (size_t i = 0; i < bounds.size(); ++i) {
    const SumTerms sum{
        factor * doublesOf(sizes)[i], doublesOf(fromLeft)[i] + doublesOf(fromRight)[i],
        std::isfinite(lattice) ? lattice : 0, static_cast<int64_t>(doublesOf(terms)[i]) + 2};
    const Scalar result = results[0].tensor().at(static_cast<int64_t>(i));
    bounds[i] =
        isUnknown[i] ? unknown : boundOfProducts(type, result, sum, flushed[i], flushesFactor);
  }
  return {};
}

} // namespace tilewright::interpret
