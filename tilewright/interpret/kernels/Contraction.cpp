#include "tilewright/interpret/kernels/Contraction.h"

#include "tilewright/interpret/kernels/Products.h"
#include "tilewright/numerics/Convert.h"
#include "tilewright/numerics/Float.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/WorkLimit.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tilewright::interpret {

using numerics::isReal;

/// The numbers of the components of lhs and rhs to multiply.
using ComponentPair = std::pair<int64_t, int64_t>;

/// The pairs of an algorithm, largest products first: component 0 has the leading bits, so products
/// get smaller as the sum of the component numbers grows.
///  - dotAlgorithm: `primitiveOperations` includes only some of the products of equal size.
static Result<std::vector<ComponentPair>> componentPairs(const DotAlgorithm &algorithm) {
  int64_t lhs = algorithm.lhsComponentCount, rhs = algorithm.rhsComponentCount;
  constexpr int64_t most = 8;
  // StableHLO's list of algorithms and JAX leave the counts of X3, X6 and X9 at 1.
  const int64_t products = algorithm.primitiveOperations;
  if (lhs == 1 && rhs == 1 && (products == 3 || products == 6 || products == 9))
    lhs = rhs = products == 3 ? 2 : 3;
  if (lhs < 1 || rhs < 1 || lhs > most || rhs > most)
    return Status(Error::dotAlgorithm, concat("dot_general: an algorithm must have 1 to ", most,
                                              " components per operand, got ", lhs, " and ", rhs));
  std::vector<ComponentPair> pairs;
  for (int64_t group = 0; group <= lhs + rhs - 2; ++group) {
    for (int64_t i = std::max<int64_t>(0, group - rhs + 1); i <= std::min(group, lhs - 1); ++i)
      pairs.emplace_back(i, group - i);
    if (static_cast<int64_t>(pairs.size()) >= algorithm.primitiveOperations)
      break;
  }
  if (static_cast<int64_t>(pairs.size()) != algorithm.primitiveOperations)
    return Status(Error::dotAlgorithm,
                  concat("dot_general: ", lhs, " and ", rhs, " components cannot be combined in ",
                         algorithm.primitiveOperations,
                         " primitive operations, which must include all products of the same "
                         "magnitude or none"));
  return pairs;
}

/// Component `number` of every element: the remainder after the earlier components, rounded to
/// `type`. A finite value of more than one component has finite components. A value that is not
/// finite takes part in the product of the first components only (`isFirstPair`), because an
/// infinity times a component that is zero would be NaN.
static void takeComponent(const double *values, int64_t count, ElementType type, int64_t number,
                          bool isOnlyPair, bool isFirstPair, double *component) {
  for (int64_t i = 0; i < count; ++i) {
    double rest = values[i], part = 0;
    const bool isWhole = isOnlyPair || !std::isfinite(rest);
    for (int64_t n = 0; n <= number; ++n) {
      part = numerics::decode(type, isWhole ? numerics::encode(type, rest)
                                            : numerics::encodeSaturating(type, rest));
      rest -= part;
    }
    component[i] = std::isfinite(values[i]) || isFirstPair ? part : 0;
  }
}

namespace {
/// Operands after packing: lhs[b][m][k], rhs[b][k][n].
struct Packed {
  Tensor lhs, rhs;
  int64_t batch, rows, summed, columns;
};
} // namespace

/// sums[b][m][n] += Σ lhs[b][m][k] * rhs[b][k][n], adding in ascending order of k. Blocks of k and
/// n keep the part of rhs that is in use within the cache.
template <typename Operand, typename Sum>
static void multiply(const Operand *lhs, const Operand *rhs, const Packed &packed, Sum *sums) {
  constexpr int64_t columnBlock = 256;
  Operand shortSums[columnBlock] = {};
  const auto [rows, summed, columns] = std::tuple(packed.rows, packed.summed, packed.columns);
  for (int64_t b = 0; b < packed.batch;
       ++b, lhs += rows * summed, rhs += summed * columns, sums += rows * columns)
    for (int64_t n = 0; n < columns; n += columnBlock)
      for (int64_t k = 0; k < summed; k += productsPerRun)
        for (int64_t m = 0; m < rows; ++m) {
          // The caller discards the sums once the work limit is reached.
          if (WorkLimit::mustStop())
            return;
          const int64_t count = std::min(columnBlock, columns - n);
          addProducts(lhs + m * summed + k, std::min(productsPerRun, summed - k),
                      rhs + k * columns + n, columns, count, shortSums);
          widenSums(shortSums, count, sums + m * columns + n);
        }
}

/// Computes the sums that an algorithm specifies, for real operands.
static Status multiplyComponents(const Packed &packed, const DotAlgorithm &algorithm, double *sums,
                                 Context &context) {
  TILEWRIGHT_ASSIGN(std::vector<ComponentPair> pairs, componentPairs(algorithm));
  const int64_t lhsCount = packed.lhs.elementCount(), rhsCount = packed.rhs.elementCount();
  TILEWRIGHT_ASSIGN(auto lhs, Scratch<double>::allocate(lhsCount, context));
  TILEWRIGHT_ASSIGN(auto rhs, Scratch<double>::allocate(rhsCount, context));
  const bool isOnly = pairs.size() == 1;
  for (auto [lhsNumber, rhsNumber] : pairs) {
    const bool isFirst = lhsNumber == 0 && rhsNumber == 0;
    takeComponent(elements<double>(packed.lhs), lhsCount, algorithm.lhsPrecisionType, lhsNumber,
                  isOnly, isFirst, lhs.data());
    takeComponent(elements<double>(packed.rhs), rhsCount, algorithm.rhsPrecisionType, rhsNumber,
                  isOnly, isFirst, rhs.data());
    multiply(lhs.data(), rhs.data(), packed, sums);
  }
  return Status();
}

Result<Tensor> contract(std::string_view op, const Tensor &lhs, const Tensor &rhs,
                        const Contraction &contraction, ElementType resultType,
                        const std::optional<DotAlgorithm> &algorithm, Context &context) {
  const ProductTypes types = productTypes(lhs.type(), rhs.type(), resultType);
  if (types.lhs != lhs.type() || types.rhs != rhs.type() || types.sum != resultType) {
    TILEWRIGHT_ASSIGN(Tensor left, converted(lhs, types.lhs, context));
    TILEWRIGHT_ASSIGN(Tensor right, converted(rhs, types.rhs, context));
    TILEWRIGHT_ASSIGN(Tensor sums,
                      contract(op, left, right, contraction, types.sum, algorithm, context));
    return converted(sums, resultType, context);
  }
  TILEWRIGHT_ASSIGN(Arithmetic arithmetic, arithmeticFor(op, lhs.type(), rhs.type(), resultType));
  // An algorithm specifies its own precision; its sums are computed in double.
  if (algorithm) {
    if (arithmetic != Arithmetic::real && arithmetic != Arithmetic::wideReal)
      return Status(Error::dotAlgorithm,
                    concat(op, ": an algorithm requires floating-point operands and results, got ",
                           lhs.typeString(), " and ", rhs.typeString()));
    if (!isReal(algorithm->lhsPrecisionType) || !isReal(algorithm->rhsPrecisionType) ||
        !isReal(algorithm->accumulationType))
      return Status(Error::dotAlgorithm, concat(op,
                                                ": the precision and accumulation types of an "
                                                "algorithm must be floating-point types, got ",
                                                spelling(algorithm->lhsPrecisionType), ", ",
                                                spelling(algorithm->rhsPrecisionType), " and ",
                                                spelling(algorithm->accumulationType)));
    arithmetic = Arithmetic::wideReal;
  }

  const Dims resultDims = joined({contraction.batch, contraction.lhsFree, contraction.rhsFree});
  TILEWRIGHT_ASSIGN(Shape resultShape, Shape::create(resultDims));
  // Check the budget before allocating or packing anything.
  const int64_t summed = saturatingProduct(contraction.summed);
  const int64_t passes = algorithm ? std::max<int64_t>(1, algorithm->primitiveOperations) : 1;
  TILEWRIGHT_TRY(
      context.countSteps(saturatingProduct({resultShape.elementCount(), summed, passes})));
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(resultType, resultShape, context));

  const ElementType operandType = operandTypeOf(arithmetic);
  TILEWRIGHT_ASSIGN(Tensor wideLhs, converted(lhs, operandType, context));
  TILEWRIGHT_ASSIGN(Tensor wideRhs, converted(rhs, operandType, context));
  Packed packed;
  TILEWRIGHT_ASSIGN(packed.lhs,
                    rearranged(wideLhs,
                               joined({contraction.batch, contraction.lhsFree, contraction.summed}),
                               contraction.lhsStrides, context));
  TILEWRIGHT_ASSIGN(packed.rhs,
                    rearranged(wideRhs,
                               joined({contraction.batch, contraction.summed, contraction.rhsFree}),
                               contraction.rhsStrides, context));
  packed.batch = saturatingProduct(contraction.batch);
  packed.rows = saturatingProduct(contraction.lhsFree);
  packed.summed = summed;
  packed.columns = saturatingProduct(contraction.rhsFree);

  const int64_t count = resultShape.elementCount();
  if (algorithm) {
    TILEWRIGHT_ASSIGN(auto sums, Scratch<double>::allocate(count, context));
    sums.fill(0);
    TILEWRIGHT_TRY(multiplyComponents(packed, *algorithm, sums.data(), context));
    for (int64_t i = 0; i < count; ++i)
      sums[i] = numerics::decode(algorithm->accumulationType,
                                 numerics::encode(algorithm->accumulationType, sums[i]));
    storeSums(sums.data(), count, result, 0);
    return result;
  }

  TILEWRIGHT_TRY(withArithmetic(arithmetic, [&]<typename Operand, typename Sum>() -> Status {
    TILEWRIGHT_ASSIGN(auto sums, Scratch<Sum>::allocate(count, context));
    sums.fill(Sum());
    multiply(elements<Operand>(packed.lhs), elements<Operand>(packed.rhs), packed, sums.data());
    storeSums(sums.data(), count, result, 0);
    return Status();
  }));
  return result;
}

} // namespace tilewright::interpret
