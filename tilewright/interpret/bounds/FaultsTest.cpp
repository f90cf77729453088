// Tests that bounds hold for every order of a sum, and that faulty kernels exceed them.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/interpret/bounds/Bounds.h"
#include "tilewright/numerics/Float.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tilewright::interpret {
namespace {

Bounded boundsOf(const std::string &text, const std::vector<Tensor> &inputs,
                 const Allowance &allowance = {}) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, exec::ExecDialect, stablehlo::StablehloDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  auto results =
      evaluateWithBounds(*module, "main", RuntimeValues(inputs.begin(), inputs.end()), allowance);
  EXPECT_TRUE(results.isOk()) << std::move(results).takeStatus().toString();
  return results->front();
}

Tensor tensor(ElementType type, std::vector<int64_t> dims, const std::vector<double> &values) {
  Context context;
  Tensor made = *Tensor::allocate(type, *Shape::create(dims), context);
  for (size_t i = 0; i < values.size(); ++i)
    made.set(static_cast<int64_t>(i), Scalar::ofReal(values[i]));
  return made;
}

double roundedTo(ElementType type, double value) {
  return numerics::decode(type, numerics::encode(type, value));
}

/// Random numbers of a type, with full mantissas.
std::vector<double> numbers(ElementType type, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<double> values(count);
  for (double &value : values)
    value = roundedTo(type, real(random));
  return values;
}

bool contains(const Bounded &bounded, size_t i, double value) {
  return std::fabs(bounded.tensor().at(static_cast<int64_t>(i)).r - value) <= bounded.bounds[i];
}

struct Named {
  const char *name;
  ElementType type;
  bool isTf32 = false;
};

TEST(FaultBounds, HaveTheSumsOfEveryOrder) {
  std::mt19937_64 random(3);
  for (const Named &named : {Named{"f32", ElementType::f32}, Named{"bf16", ElementType::bf16},
                             Named{"f16", ElementType::f16}})
    for (size_t count : {2u, 7u, 30u}) {
      const std::string many = concat("tensor<", count, "x", named.name, ">"),
                        one = concat("tensor<", named.name, ">");
      std::vector<double> terms = numbers(named.type, count, count);
      const Bounded sum = boundsOf(
          concat("func.func @main(%x: ", many, ", %i: ", one, ") -> ", one,
                 " {\n  %r = stablehlo.reduce(%x init: %i) applies stablehlo.add across ",
                 "dimensions = [0] : (", many, ", ", one, ") -> ", one, "\n  return %r : ", one,
                 "\n}\n"),
          {tensor(named.type, {static_cast<int64_t>(count)}, terms), tensor(named.type, {}, {0})});
      ASSERT_TRUE(std::isfinite(sum.bounds[0]));
      for (int order = 0; order < 50; ++order) {
        // Smallest first, largest first, and random.
        if (order < 2)
          std::sort(terms.begin(), terms.end(),
                    [&](double a, double b) { return order ? a < b : a > b; });
        else
          std::shuffle(terms.begin(), terms.end(), random);
        double total = 0;
        for (double term : terms)
          total = roundedTo(named.type, total + term);
        EXPECT_TRUE(contains(sum, 0, total)) << named.name << " " << count;
      }
    }
}

std::string productText(const std::string &name, const std::string &precision = "") {
  return concat("func.func @main(%a: tensor<4x200x", name, ">, %b: tensor<200x3x", name,
                ">) -> tensor<4x3xf32> {\n  %r = stablehlo.dot_general %a, %b, ",
                "contracting_dims = [1] x [0]", precision, " : (tensor<4x200x", name,
                ">, tensor<200x3x", name,
                ">) -> tensor<4x3xf32>\n  return %r : tensor<4x3xf32>\n}\n");
}

TEST(FaultBounds, ADroppedTermAZeroAndAWrongElementAreOutside) {
  for (const Named &named :
       {Named{"f16", ElementType::f16}, Named{"bf16", ElementType::bf16},
        Named{"f32", ElementType::f32}, Named{"f32", ElementType::f32, true}}) {
    const int64_t k = 200;
    const std::vector<double> a = numbers(named.type, 4 * k, 1), b = numbers(named.type, k * 3, 2);
    Allowance allowance;
    allowance.roundsToTf32 = named.isTf32;
    const Bounded product =
        boundsOf(productText(named.name),
                 {tensor(named.type, {4, k}, a), tensor(named.type, {k, 3}, b)}, allowance);
    int64_t missed = 0;
    for (int64_t m = 0; m < 4; ++m)
      for (int64_t n = 0; n < 3; ++n) {
        const auto at = static_cast<size_t>(m * 3 + n);
        const double right = product.tensor().at(m * 3 + n).r;
        EXPECT_FALSE(contains(product, at, 0)) << named.name << " is " << right;
        EXPECT_FALSE(contains(product, at, right * 1.1)) << named.name << " is " << right;
        EXPECT_FALSE(contains(product, at, product.tensor().at((m + 1) % 4 * 3 + n).r));
        double rounded = 0;
        for (int64_t i = 0; i < k; ++i) {
          const double x = a[static_cast<size_t>(m * k + i)], y = b[static_cast<size_t>(i * 3 + n)];
          missed += contains(product, at, right - x * y);
          rounded += roundedTo(ElementType::tf32, x) * roundedTo(ElementType::tf32, y);
        }
        if (named.isTf32)
          EXPECT_TRUE(contains(product, at, rounded));
      }
    // The 200 terms average a quarter; dropping one that is nearly zero may go unnoticed.
    EXPECT_LE(missed, 12 * k * (named.isTf32 ? 15 : 2) / 100)
        << named.name << (named.isTf32 ? " as tf32" : "");
    std::printf("%s%s: %lld of %lld dropped terms are not seen\n", named.name,
                named.isTf32 ? " as tf32" : "", static_cast<long long>(missed),
                static_cast<long long>(12 * k));
  }
}

/// The sum of products of factors rounded to `type`, at [0, 0].
double firstProduct(const std::vector<double> &a, const std::vector<double> &b, ElementType type) {
  double sum = 0;
  for (size_t i = 0; i < 200; ++i)
    sum += roundedTo(type, a[i]) * roundedTo(type, b[3 * i]);
  return sum;
}

TEST(FaultBounds, FactorsAtAHigherPrecisionAreNotRounded) {
  const std::vector<double> a = numbers(ElementType::f32, 4 * 200, 1),
                            b = numbers(ElementType::f32, 200 * 3, 2);
  auto product = [&](const std::string &precision) {
    return boundsOf(productText("f32", precision),
                    {tensor(ElementType::f32, {4, 200}, a), tensor(ElementType::f32, {200, 3}, b)},
                    Allowance::tensorCores());
  };
  const double exact = firstProduct(a, b, ElementType::f64),
               tf32 = firstProduct(a, b, ElementType::tf32),
               bf16 = firstProduct(a, b, ElementType::bf16);
  const Bounded usual = product(""), high = product(", precision = [HIGH, HIGH]"),
                highest = product(", precision = [HIGHEST, HIGHEST]");
  for (const Bounded *each : {&usual, &high, &highest}) {
    EXPECT_TRUE(contains(*each, 0, exact));
    EXPECT_FALSE(contains(*each, 0, bf16));
  }
  EXPECT_TRUE(contains(usual, 0, tf32));
  EXPECT_LT(highest.bounds[0], high.bounds[0] / 2);
  EXPECT_LT(high.bounds[0], usual.bounds[0] / 4);
}

TEST(FaultBounds, AnAlgorithmOfSeveralProductsMayBeMorePrecise) {
  const std::vector<double> a = numbers(ElementType::f32, 4 * 200, 1),
                            b = numbers(ElementType::f32, 200 * 3, 2);
  const Bounded three = boundsOf(
      productText("f32", ", algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, "
                         "accumulation_type = f32, lhs_component_count = 2, rhs_component_count = "
                         "2, num_primitive_operations = 3, allow_imprecise_accumulation = false>"),
      {tensor(ElementType::f32, {4, 200}, a), tensor(ElementType::f32, {200, 3}, b)});
  EXPECT_TRUE(contains(three, 0, firstProduct(a, b, ElementType::f64)));
  EXPECT_FALSE(contains(three, 0, firstProduct(a, b, ElementType::bf16)));
}

TEST(FaultBounds, FactorsThatTf32HoldsLoseNothing) {
  std::vector<double> a(4 * 200), b(200 * 3);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = double(int(i * 7 % 41) - 20) / 64;
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = double(int(i * 5 % 37) - 11) / 64;
  Allowance allowance;
  allowance.roundsToTf32 = true;
  const Bounded product = boundsOf(
      productText("f32"),
      {tensor(ElementType::f32, {4, 200}, a), tensor(ElementType::f32, {200, 3}, b)}, allowance);
  EXPECT_TRUE(product.isExact());
}

TEST(FaultBounds, ProductsBelowTheSmallestNumberAreRounded) {
  const std::vector<double> halves(4 * 200, 0.5), least(200 * 3, 0x1p-149),
      twice(200 * 3, 0x1p-148);
  auto product = [&](const std::vector<double> &b) {
    return boundsOf(productText("f32"), {tensor(ElementType::f32, {4, 200}, halves),
                                         tensor(ElementType::f32, {200, 3}, b)});
  };
  EXPECT_FALSE(product(least).isExact());
  EXPECT_TRUE(product(twice).isExact());
}

TEST(FaultBounds, AChoiceThatIsTooCloseToCallMayBeTheOther) {
  // The sum is 0 or 2^-25, depending on the order.
  const std::string text = R"(
    func.func @main(%x: tensor<3xf32>, %y: tensor<f32>) -> tensor<f32> {
      %r = exec.fusion "f" (%x, %y) : (tensor<3xf32>, tensor<f32>) -> tensor<f32> {
      ^bb0(%a: tensor<3xf32>, %b: tensor<f32>):
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]
            : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
        %p = stablehlo.compare GT, %s, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %c = stablehlo.constant dense<7.0> : tensor<f32>
        %v = stablehlo.select %p, %c, %b : tensor<i1>, tensor<f32>
        exec.yield %v : tensor<f32>
      }
      return %r : tensor<f32>
    })";
  const Bounded close = boundsOf(
      text, {tensor(ElementType::f32, {3}, {1, 0x1p-25, -1}), tensor(ElementType::f32, {}, {5})});
  EXPECT_EQ(close.bounds[0], 2);
  const Bounded clear =
      boundsOf(text, {tensor(ElementType::f32, {3}, {1, 1, 1}), tensor(ElementType::f32, {}, {5})});
  EXPECT_EQ(clear.bounds[0], 0);
}

} // namespace
} // namespace tilewright::interpret
