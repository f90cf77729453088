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

/// Whether exact operands give the same result in any order: the body has no op that rounds.
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

/// reduce, reduce_window and scatter. Operands: n tensors, then (scatter only) indices, then n
/// initial values or updates. A bound propagates to the same element as its value.
Status BoundsEvaluator::setReduction(Operation *op, const Operands &operands, Results &results) {
  const bool isScatter = isa<stablehlo::ScatterOp>(op);
  const size_t count = results.size(), second = count + (isScatter ? 1 : 0);
  auto setAll = [&](double bound) {
    for (Bounded &result : results)
      std::ranges::fill(result.bounds, bound);
  };
  const bool allExact = std::ranges::all_of(operands, [](const Bounded &b) { return b.isExact(); });
  const llvm::StringRef body = count == 1 ? onlyOpOf(op->getRegion(0)) : llvm::StringRef();
  if (isScatter && !operands[count].isExact())
    return setAll(unknown), Status();
  if (body.empty() || numerics::isComplex(results[0].tensor().type())) {
    // Several tensors or a body with several ops: results are known only if they are exact in any
    // order.
    if (!allExact || !roundsNothing(op->getRegion(0)))
      setAll(unknown);
    return {};
  }

  const Bounded &input = operands[0], &start = operands[second];
  const ElementType type = results[0].tensor().type();
  BoundList &bounds = results[0].bounds;
  // Runs the same reduction, with body `how`, on one number per element.
  auto fold = [&](const BoundList &of, const BoundList &initial,
                  llvm::StringRef how) -> Result<Tensor> {
    std::vector<Tensor> values;
    TILEWRIGHT_ASSIGN(Tensor elements, doubles(input.tensor(), of));
    values.push_back(elements);
    if (isScatter)
      values.push_back(operands[1].tensor());
    TILEWRIGHT_ASSIGN(Tensor starts, doubles(start.tensor(), initial));
    values.push_back(starts);
    TILEWRIGHT_ASSIGN(std::vector<Tensor> made, onDoubles(op, std::move(values), how));
    return made[0];
  };
  TILEWRIGHT_ASSIGN(Tensor worst, fold(input.bounds, start.bounds, "stablehlo.maximum"));
  auto setEach = [&](auto boundAt) {
    for (size_t i = 0; i < bounds.size(); ++i)
      bounds[i] = doublesOf(worst)[i] == unknown ? unknown : boundAt(i);
  };
  const bool isSum = body == "stablehlo.add", isProduct = body == "stablehlo.multiply";
  if (!numerics::isReal(type) || (!isSum && !isProduct)) {
    if (numerics::isReal(type) && body != "stablehlo.maximum" && body != "stablehlo.minimum")
      return setAll(allExact && roundsNothing(op->getRegion(0)) ? 0 : unknown), Status();
    setEach([&](size_t i) {
      return numerics::isReal(type) && std::isnan(results[0].tensor().at(static_cast<int64_t>(i)).r)
                 ? 1
                 : doublesOf(worst)[i];
    });
    return {};
  }

  const BoundList ones(input.bounds.size(), isScatter ? 0 : 1), startOnes(start.bounds.size(), 1);
  TILEWRIGHT_ASSIGN(Tensor terms, fold(ones, startOnes, "stablehlo.add"));
  auto valueAt = [&](size_t i) { return results[0].tensor().at(static_cast<int64_t>(i)).r; };
  if (isSum) {
    TILEWRIGHT_ASSIGN(Tensor sizes, fold(magnitudes(input), magnitudes(start), "stablehlo.add"));
    TILEWRIGHT_ASSIGN(Tensor inherited, fold(input.bounds, start.bounds, "stablehlo.add"));
    const double lattice = std::min(latticeOf(input.tensor()), latticeOf(start.tensor()));
    setEach([&](size_t i) {
      if (isScatter && doublesOf(terms)[i] == 0)
        return doublesOf(inherited)[i];
      return boundOfSum(type, valueAt(i),
                        {doublesOf(sizes)[i], doublesOf(inherited)[i], lattice,
                         static_cast<int64_t>(doublesOf(terms)[i])});
    });
    return {};
  }
  // In a product, relative errors add up if no partial product overflows or underflows.
  auto limited = [&](const Bounded &of, bool above) {
    BoundList sizes = magnitudes(of);
    for (double &size : sizes)
      size = size == 0 ? 1 : above ? std::max(size, 1.0) : std::min(size, 1.0);
    return sizes;
  };
  TILEWRIGHT_ASSIGN(Tensor most, fold(limited(input, true), limited(start, true), body));
  TILEWRIGHT_ASSIGN(Tensor least, fold(limited(input, false), limited(start, false), body));
  setEach([&](size_t i) {
    const double value = valueAt(i), roundings = doublesOf(terms)[i];
    if (isScatter && roundings == 0)
      return doublesOf(worst)[i];
    if (doublesOf(worst)[i] != 0 || doublesOf(most)[i] > largestFinite(type) / 2 ||
        doublesOf(least)[i] < 2 * smallestNormal(type))
      return unknown;
    if (!std::isfinite(value))
      return std::isnan(value) ? 1.0 : 0.0;
    return 2 * std::expm1(roundings * std::log1p(unitRoundoff(type))) * std::fabs(value) +
           smallestSubnormal(type);
  });
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

/// Adds the error of rounding the factors to tf32 to their bounds.
static void addRoundingToTf32(Bounded &factors) {
  if (factors.tensor().type() != ElementType::f32)
    return;
  for (size_t i = 0; i < factors.bounds.size(); ++i) {
    const double value = factors.tensor().at(static_cast<int64_t>(i)).r;
    const double rounded =
        numerics::decode(ElementType::tf32, numerics::encode(ElementType::tf32, value));
    if (std::isfinite(rounded))
      factors.bounds[i] += std::fabs(rounded - value) * (1 + 0x1p-20);
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

/// Matmuls and convolutions: dot_general, dot, einsum, convolution. Sums are computed in f32, or in
/// f64 for f64 operands.
Status BoundsEvaluator::setProduct(Operation *op, const Operands &operands, Results &results) {
  const ElementType type = results[0].tensor().type();
  const Tensor &lhs = operands[0].tensor(), &rhs = operands[1].tensor();
  BoundList &bounds = results[0].bounds;
  const bool allExact = operands[0].isExact() && operands[1].isExact();
  auto product = [&](const BoundList &x, const BoundList &y) -> Result<Tensor> {
    std::vector<Tensor> values;
    TILEWRIGHT_ASSIGN(Tensor a, doubles(lhs, x));
    TILEWRIGHT_ASSIGN(Tensor b, doubles(rhs, y));
    values = {a, b};
    for (size_t i = 2; i < operands.size(); ++i)
      values.push_back(operands[i].tensor());
    TILEWRIGHT_ASSIGN(std::vector<Tensor> made, onDoubles(op, std::move(values)));
    return made[0];
  };
  auto finite = [](BoundList list) {
    for (double &bound : list)
      bound = bound == unknown ? 0 : bound;
    return list;
  };
  auto marks = [](const Bounded &of) {
    BoundList list(of.bounds.size());
    for (size_t i = 0; i < list.size(); ++i)
      list[i] = of.bounds[i] == unknown;
    return list;
  };
  const BoundList leftOnes(operands[0].bounds.size(), 1), rightOnes(operands[1].bounds.size(), 1);
  if (!numerics::isReal(type) && !numerics::isComplex(type)) {
    if (allExact)
      return {};
    TILEWRIGHT_ASSIGN(Tensor left, product(marks(operands[0]), rightOnes));
    TILEWRIGHT_ASSIGN(Tensor right, product(leftOnes, marks(operands[1])));
    for (size_t i = 0; i < bounds.size(); ++i)
      bounds[i] = doublesOf(left)[i] + doublesOf(right)[i] > 0 ? unknown : 0;
    return {};
  }
  Bounded left = operands[0], right = operands[1];
  if (allowance.roundsToTf32) {
    addRoundingToTf32(left);
    addRoundingToTf32(right);
  }
  const BoundList a = magnitudes(left), b = magnitudes(right), ea = finite(left.bounds),
                  eb = finite(right.bounds);
  if (isOpenBetween(op, right, allowance.skipsPadding)) {
    bounds.assign(bounds.size(), unknown);
    return {};
  }
  TILEWRIGHT_ASSIGN(Tensor sizes, product(a, b));
  TILEWRIGHT_ASSIGN(Tensor fromLeft, product(ea, b));
  TILEWRIGHT_ASSIGN(Tensor fromRight, product(a, eb));
  TILEWRIGHT_ASSIGN(Tensor terms, product(leftOnes, rightOnes));
  TILEWRIGHT_ASSIGN(Tensor lost, product(marks(operands[0]), rightOnes));
  TILEWRIGHT_ASSIGN(Tensor lostRight, product(leftOnes, marks(operands[1])));
  // Factors, products and sums below the smallest normal number may each be flushed to zero.
  BoundList flushed(bounds.size(), 0);
  auto isSubnormal = [&](double size) {
    return size != 0 && size < smallestNormal(numerics::componentOf(type));
  };
  const bool hasSubnormals = llvm::any_of(a, isSubnormal) || llvm::any_of(b, isSubnormal);
  if (allowance.flushesSubnormals) {
    TILEWRIGHT_ASSIGN(Tensor ofLeft, product(a, rightOnes));
    TILEWRIGHT_ASSIGN(Tensor ofRight, product(leftOnes, b));
    const double least = smallestNormal(numerics::componentOf(type));
    for (size_t i = 0; i < flushed.size(); ++i)
      flushed[i] = least * (doublesOf(ofLeft)[i] + doublesOf(ofRight)[i] + 2 * doublesOf(terms)[i]);
  }
  const ElementType component = numerics::componentOf(type);
  const ElementType accumulated = component == ElementType::f64 ? component : ElementType::f32;
  const double lattice = latticeOf(lhs) * latticeOf(rhs),
               factor = numerics::isComplex(type) ? 4 : 1;
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (doublesOf(lost)[i] + doublesOf(lostRight)[i] > 0) {
      bounds[i] = unknown;
      continue;
    }
    const Scalar scalar = results[0].tensor().at(static_cast<int64_t>(i));
    double value = scalar.r;
    if (numerics::isComplex(type))
      value = std::isfinite(scalar.r) && std::isfinite(scalar.im) ? std::abs(scalar.complex())
                                                                  : unknown;
    if (numerics::isComplex(type) && value == unknown) {
      bounds[i] = unknown;
      continue;
    }
    const double inherited = doublesOf(fromLeft)[i] + doublesOf(fromRight)[i];
    double bound =
        boundOfSum(accumulated, value,
                   {factor * doublesOf(sizes)[i], inherited, std::isfinite(lattice) ? lattice : 0,
                    static_cast<int64_t>(doublesOf(terms)[i]) + 2});
    if (!std::isfinite(value)) {
      // An infinity times a flushed number is NaN.
      if (allowance.flushesSubnormals && hasSubnormals) {
        bounds[i] = unknown;
        continue;
      }
      // The result may overflow only in its own type. Then another order of summation may give a
      // finite result.
      bounds[i] = doublesOf(sizes)[i] > largestFinite(component) ? unknown : bound;
      continue;
    }
    bound += flushed[i];
    // The sum is rounded once more, to the result's type, unless it is exact.
    if (bound > 0 && component != accumulated)
      bound += ulpAt(component, std::fabs(value) + bound);
    bounds[i] = bound > 0 && std::fabs(value) + bound > largestFinite(component) ? unknown : bound;
  }
  return {};
}

} // namespace tilewright::interpret
