#include "tilewright/interpret/kernels/Dot.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"
#include "tilewright/numerics/Float.h"
#include "tilewright/support/testing/Slowness.h"

#include <chrono>
#include <cmath>
#include <limits>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

/// dot_general as the specification defines it: one loop per dimension, in doubles, which are exact
/// for small integers.
static std::vector<double> definition(const Tensor &lhs, const Tensor &rhs,
                                      const DotDimensions &dims) {
  const Dims lhsFree = remaining(lhs.rank(), joined({dims.lhsBatching, dims.lhsContracting}));
  const Dims rhsFree = remaining(rhs.rank(), joined({dims.rhsBatching, dims.rhsContracting}));
  const std::vector<double> lhsValues = valuesOf(lhs), rhsValues = valuesOf(rhs);
  const Dims lhsStrides = lhs.shape().strides(), rhsStrides = rhs.shape().strides();
  const Dims outer = joined({pick(lhs.shape().dims(), dims.lhsBatching),
                             pick(lhs.shape().dims(), lhsFree), pick(rhs.shape().dims(), rhsFree)});
  const Dims inner = pick(lhs.shape().dims(), dims.lhsContracting);
  const Dims zerosLhs(rhsFree.size(), 0), zerosRhs(lhsFree.size(), 0);
  const Dims outerLhs =
      joined({pick(lhsStrides, dims.lhsBatching), pick(lhsStrides, lhsFree), zerosLhs});
  const Dims outerRhs =
      joined({pick(rhsStrides, dims.rhsBatching), zerosRhs, pick(rhsStrides, rhsFree)});
  const Dims innerLhs = pick(lhsStrides, dims.lhsContracting);
  const Dims innerRhs = pick(rhsStrides, dims.rhsContracting);
  std::vector<double> result;
  for (StridedWalk<2> out(outer, {outerLhs, outerRhs}); !out.done(); out.next()) {
    double sum = 0;
    for (StridedWalk<2> in(inner, {innerLhs, innerRhs}); !in.done(); in.next())
      sum += lhsValues[static_cast<size_t>(out.offset(0) + in.offset(0))] *
             rhsValues[static_cast<size_t>(out.offset(1) + in.offset(1))];
    result.push_back(sum);
  }
  return result;
}

TEST(DotGeneral, AgreesWithItsDefinitionForAnyOrderOfDimensions) {
  // lhs[4, 2, 3, 5, 1], rhs[3, 2, 6, 4]: batching 2 and 3, contracting 4.
  const std::vector<DotDimensions> cases = {
      {{1, 2}, {1, 0}, {0}, {3}},     {{2, 1}, {0, 1}, {0}, {3}}, {{}, {}, {0, 1}, {3, 1}},
      {{}, {}, {1, 0, 2}, {1, 3, 0}}, {{0}, {3}, {}, {}},         {{}, {}, {}, {}},
  };
  Context context;
  for (ElementType type : {ElementType::f32, ElementType::f64, ElementType::i32, ElementType::bf16,
                           ElementType::i8, ElementType::c64, ElementType::c128}) {
    Tensor lhs = wholeNumbers(type, {4, 2, 3, 5, 1}, 1), rhs = wholeNumbers(type, {3, 2, 6, 4}, 2);
    for (const DotDimensions &dims : cases) {
      Result<Tensor> result = dotGeneral(lhs, rhs, dims, type, context);
      ASSERT_TRUE(result.isOk()) << std::move(result).takeStatus().toString();
      if (type != ElementType::bf16 && type != ElementType::i8)
        EXPECT_EQ(valuesOf(*result), definition(lhs, rhs, dims)) << spelling(type);
    }
  }
}

TEST(DotGeneral, LargerThanItsBlocksAgreesWithItsDefinition) {
  Context context;
  Tensor lhs = wholeNumbers(ElementType::f32, {3, 130}, 3);
  Tensor rhs = wholeNumbers(ElementType::f32, {300, 130}, 4);
  const DotDimensions dims{{}, {}, {1}, {1}};
  EXPECT_EQ(valuesOf(*dotGeneral(lhs, rhs, dims, ElementType::f32, context)),
            definition(lhs, rhs, dims));
}

TEST(DotGeneral, ShortSumsAreInTheTypeAndLongOnesKeepTheirDigits) {
  Context context;
  // 2^24 + 1 + 1: in f32, in sequence, both ones are lost.
  Tensor lhs = tensorOf(ElementType::f32, {3}, {16777216, 1, 1});
  Tensor ones = tensorOf(ElementType::f32, {3}, {1, 1, 1});
  EXPECT_EQ(valuesOf(*dot(lhs, ones, ElementType::f32, context))[0], 16777216);
  // In separate runs, both are kept.
  std::vector<double> values(66, 0);
  values[0] = 16777216;
  values[64] = values[65] = 1;
  Tensor longer = tensorOf(ElementType::f32, {66}, values);
  Tensor manyOnes = tensorOf(ElementType::f32, {66}, std::vector<double>(66, 1));
  EXPECT_EQ(valuesOf(*dot(longer, manyOnes, ElementType::f32, context))[0], 16777218);
  // A sum that temporarily exceeds the largest f16 is finite at the end.
  Tensor large = tensorOf(ElementType::f16, {3}, {60000, 60000, -60000});
  Tensor f16Ones = tensorOf(ElementType::f16, {3}, {1, 1, 1});
  EXPECT_EQ(valuesOf(*dot(large, f16Ones, ElementType::f16, context))[0], 60000);
}

TEST(DotGeneral, IntegersWrapAround) {
  Context context;
  Tensor lhs = tensorOf(ElementType::i8, {2}, {100, 100}),
         rhs = tensorOf(ElementType::i8, {2}, {2, 1});
  EXPECT_EQ(dot(lhs, rhs, ElementType::i8, context)->toString(), "44");
  EXPECT_EQ(dot(lhs, rhs, ElementType::i32, context)->toString(), "300");
  Tensor u4 = tensorOf(ElementType::ui4, {2}, {15, 15});
  EXPECT_EQ(dot(u4, u4, ElementType::ui4, context)->toString(), "2");
  Tensor u64 = tensorOf(ElementType::ui64, {1}, {9223372036854775808.0});
  EXPECT_EQ(dot(u64, tensorOf(ElementType::ui64, {1}, {2}), ElementType::ui64, context)->toString(),
            "0");
}

TEST(DotGeneral, PredicatesAreAndedAndOred) {
  Context context;
  Tensor lhs = tensorOf(ElementType::pred, {2, 2}, {1, 1, 0, 0});
  Tensor rhs = tensorOf(ElementType::pred, {2}, {1, 1});
  EXPECT_EQ(dot(lhs, rhs, ElementType::pred, context)->toString(), "[true, false]");
}

TEST(DotGeneral, MixedTypesMeetInTheResult) {
  Context context;
  Tensor f8 = tensorOf(ElementType::f8E4M3FN, {2}, {448, 0.001953125});
  Tensor f4 = tensorOf(ElementType::f4E2M1FN, {2}, {6, 6});
  EXPECT_EQ(valuesOf(*dot(f8, f4, ElementType::f32, context))[0], 2688.01171875);
  Tensor i8 = tensorOf(ElementType::i8, {2}, {3, -5});
  EXPECT_EQ(valuesOf(*dot(i8, i8, ElementType::f32, context))[0], 34);
}

TEST(DotGeneral, ComplexProductsByTheTextbook) {
  Context context;
  Tensor lhs = *Tensor::allocate(ElementType::c64, *Shape::create({1}), context);
  Tensor rhs = *Tensor::allocate(ElementType::c64, *Shape::create({1}), context);
  lhs.set(0, Scalar::ofComplex({1, 2}));
  rhs.set(0, Scalar::ofComplex({3, -4}));
  Scalar product = dot(lhs, rhs, ElementType::c64, context)->at(0);
  EXPECT_EQ(product.complex(), std::complex<double>(11, 2));
}

TEST(DotGeneral, EmptySumIsZeroAndEmptyResultIsEmpty) {
  Context context;
  Tensor lhs = tensorOf(ElementType::f32, {2, 0}, {}), rhs = tensorOf(ElementType::f32, {0, 1}, {});
  EXPECT_EQ(dot(lhs, rhs, ElementType::f32, context)->toString(), "[[0], [0]]");
  Tensor none = tensorOf(ElementType::f32, {0, 3}, {}),
         three = tensorOf(ElementType::f32, {3}, {1, 2, 3});
  EXPECT_EQ(dot(none, three, ElementType::f32, context)->elementCount(), 0);
}

TEST(DotGeneral, AlgorithmRoundsOperandsAndAccumulator) {
  Context context;
  Tensor lhs = tensorOf(ElementType::f32, {1}, {1 + 1.0 / 512}),
         one = tensorOf(ElementType::f32, {1}, {1});
  const DotDimensions dims{{}, {}, {0}, {0}};
  DotAlgorithm bf16{ElementType::bf16, ElementType::bf16, ElementType::f32, 1, 1, 1};
  EXPECT_EQ(valuesOf(*dotGeneral(lhs, one, dims, ElementType::f32, context, bf16))[0], 1);
  // Three components of bf16 represent all 24 bits of an f32.
  Tensor third = tensorOf(ElementType::f32, {1}, {1.0 / 3}),
         seventh = tensorOf(ElementType::f32, {1}, {1.0 / 7});
  DotAlgorithm bf16x9{ElementType::bf16, ElementType::bf16, ElementType::f32, 3, 3, 9};
  EXPECT_EQ(valuesOf(*dotGeneral(third, seventh, dims, ElementType::f32, context, bf16x9)),
            valuesOf(*dotGeneral(third, seventh, dims, ElementType::f32, context)));
  // Six products omit those below 2^-24 of the whole.
  DotAlgorithm bf16x6{ElementType::bf16, ElementType::bf16, ElementType::f32, 3, 3, 6};
  EXPECT_NEAR(valuesOf(*dotGeneral(third, seventh, dims, ElementType::f32, context, bf16x6))[0],
              1.0 / 21, 1e-8);
}

TEST(DotGeneral, AlgorithmsOfSeveralProductsMayLeaveTheComponentsAtOne) {
  Context context;
  const DotDimensions dims{{}, {}, {0}, {0}};
  Tensor third = tensorOf(ElementType::f32, {1}, {1.0 / 3}),
         seventh = tensorOf(ElementType::f32, {1}, {1.0 / 7});
  for (auto [products, components] : {std::pair(3, 2), {6, 3}, {9, 3}}) {
    DotAlgorithm spelled{ElementType::bf16, ElementType::bf16, ElementType::f32,
                         components,        components,        products};
    DotAlgorithm listed{ElementType::bf16, ElementType::bf16, ElementType::f32, 1, 1, products};
    EXPECT_EQ(valuesOf(*dotGeneral(third, seventh, dims, ElementType::f32, context, spelled)),
              valuesOf(*dotGeneral(third, seventh, dims, ElementType::f32, context, listed)));
  }
}

TEST(DotGeneral, ComponentsKeepInfinitiesNanAndTheLargestNumbers) {
  Context context;
  const DotDimensions dims{{}, {}, {0}, {0}};
  auto product = [&](double lhs, double rhs, int64_t products) {
    DotAlgorithm algorithm{ElementType::bf16, ElementType::bf16, ElementType::f32, 1, 1, products};
    return valuesOf(*dotGeneral(tensorOf(ElementType::f32, {1}, {lhs}),
                                tensorOf(ElementType::f32, {1}, {rhs}), dims, ElementType::f32,
                                context, algorithm))[0];
  };
  const double infinity = std::numeric_limits<double>::infinity(),
               largest = std::numeric_limits<float>::max();
  for (int64_t products : {3, 6, 9}) {
    EXPECT_EQ(product(infinity, 1, products), infinity);
    EXPECT_EQ(product(-infinity, infinity, products), -infinity);
    EXPECT_TRUE(std::isnan(product(infinity, 0, products)));
    EXPECT_TRUE(std::isnan(product(std::nan(""), 1, products)));
    // Closer to infinity than to the largest bf16.
    EXPECT_EQ(product(0x1.fffp127, 1, products), 0x1.fffp127);
  }
  EXPECT_EQ(product(largest, 1, 6), largest);
  // One and two components have fewer bits than an f32, and round the largest one up.
  EXPECT_EQ(product(largest, 1, 1), infinity);
  EXPECT_EQ(product(largest, 1, 3), infinity);
}

TEST(DotGeneral, UnknownAlgorithmsAreRefused) {
  Context context;
  Tensor one = tensorOf(ElementType::f32, {1}, {1});
  const DotDimensions dims{{}, {}, {0}, {0}};
  DotAlgorithm two{ElementType::bf16, ElementType::bf16, ElementType::f32, 2, 2, 2};
  Status status = dotGeneral(one, one, dims, ElementType::f32, context, two).takeStatus();
  EXPECT_EQ(status.error(), Error::dotAlgorithm);
  EXPECT_THAT(status.message(), HasSubstr("cannot be combined in 2 primitive operations"));
  Tensor whole = tensorOf(ElementType::i32, {1}, {1});
  EXPECT_EQ(dotGeneral(whole, whole, dims, ElementType::i32, context, DotAlgorithm())
                .takeStatus()
                .error(),
            Error::dotAlgorithm);
}

TEST(DotGeneral, MismatchesNameBothSizes) {
  Context context;
  Tensor lhs = wholeNumbers(ElementType::f32, {2, 3}, 1),
         rhs = wholeNumbers(ElementType::f32, {4, 5}, 1);
  Status status = dot(lhs, rhs, ElementType::f32, context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(
      status.message(),
      HasSubstr(
          "contracts lhs dimension 1 with rhs dimension 0, which must be equal, got 3 and 4"));
  status = dotGeneral(lhs, rhs, {{0}, {0}, {}, {}}, ElementType::f32, context).takeStatus();
  EXPECT_THAT(status.message(), HasSubstr("batches lhs dimension 0 with rhs dimension 0"));
  status = dotGeneral(lhs, rhs, {{0}, {0}, {0}, {1}}, ElementType::f32, context).takeStatus();
  EXPECT_THAT(status.message(), HasSubstr("dimensions of lhs must be distinct"));
  status = dotGeneral(lhs, rhs, {{}, {}, {0}, {}}, ElementType::f32, context).takeStatus();
  EXPECT_THAT(status.message(),
              HasSubstr("contracts 1 dimensions of lhs with 0 dimensions of rhs"));
  status =
      dot(lhs, wholeNumbers(ElementType::i64, {3, 1}, 1), ElementType::i64, context).takeStatus();
  EXPECT_EQ(status.error(), Error::operandType);
  EXPECT_THAT(status.message(), HasSubstr("products of f32 and i64 cannot be accumulated in i64"));
  status = dot(lhs, tensorOf(ElementType::f32, {}, {1}), ElementType::f32, context).takeStatus();
  EXPECT_THAT(status.message(), HasSubstr("dot: operands must be vectors or matrices"));
}

TEST(DotGeneral, AnotherKindOfResultIsConvertedToTheHigherKind) {
  Context context;
  auto product = [&](ElementType operand, std::initializer_list<double> left,
                     std::initializer_list<double> right, ElementType result) {
    Tensor lhs = tensorOf(operand, {1, 2}, left), rhs = tensorOf(operand, {2, 1}, right);
    return (*dot(lhs, rhs, result, context)).toString();
  };
  using enum ElementType;
  // Operands are converted first: the sum does not wrap, and i16 is rounded to bf16.
  EXPECT_EQ(product(i8, {-100, 100}, {127, 3}, f32), "[[-12400]]");
  EXPECT_EQ(product(ui8, {200, 100}, {200, 3}, f32), "[[40300]]");
  EXPECT_EQ(product(i16, {257, 1}, {1, -1}, bf16), "[[255]]");
  EXPECT_EQ(product(pred, {1, 1}, {1, 1}, i8), "[[2]]");
  // Sums are converted last, toward zero; those of bf16 are rounded to it.
  EXPECT_EQ(product(f32, {1.5, 1.5}, {1.5, 1.25}, i8), "[[4]]");
  EXPECT_EQ(product(bf16, {1, 256}, {1, 1}, i32), "[[256]]");
}

TEST(DotGeneral, TooMuchWorkEndsAtOnce) {
  Context context;
  // Views of one element's memory: data of this size is never read.
  const std::byte nothing{};
  Tensor huge =
      Tensor::view(ElementType::f32, *Shape::create({1000000, 1000000}), &nothing, nullptr);
  const auto start = std::chrono::steady_clock::now();
  Status status = dot(huge, huge, ElementType::f32, context).takeStatus();
  EXPECT_EQ(status.code(), Code::resourceExhausted);
  EXPECT_EQ(status.error(), Error::interpretSteps);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1) * slowness());
  EXPECT_EQ(context.peakBytes(), 0);
}
