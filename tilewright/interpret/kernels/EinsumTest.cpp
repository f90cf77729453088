#include "tilewright/interpret/kernels/Einsum.h"

#include "tilewright/interpret/kernels/Dot.h"
#include "tilewright/interpret/kernels/testing/Tensors.h"

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

TEST(Einsum, MatrixProductsAreDots) {
  Context context;
  Tensor lhs = wholeNumbers(ElementType::f32, {2, 3, 4}, 1),
         rhs = wholeNumbers(ElementType::f32, {2, 4, 5}, 2);
  EXPECT_EQ(valuesOf(*einsum(lhs, rhs, "bij,bjk->bik", ElementType::f32, context)),
            valuesOf(*dotGeneral(lhs, rhs, {{0}, {0}, {2}, {1}}, ElementType::f32, context)));
  EXPECT_EQ(valuesOf(*einsum(lhs, rhs, "...ij, ...jk -> ...ik", ElementType::f32, context)),
            valuesOf(*dotGeneral(lhs, rhs, {{0}, {0}, {2}, {1}}, ElementType::f32, context)));
}

TEST(Einsum, ResultInAnyOrder) {
  Context context;
  Tensor lhs = tensorOf(ElementType::i32, {2}, {1, 2}),
         rhs = tensorOf(ElementType::i32, {3}, {3, 4, 5});
  EXPECT_EQ(einsum(lhs, rhs, "i,j->ji", ElementType::i32, context)->toString(),
            "[[3, 6], [4, 8], [5, 10]]");
}

TEST(Einsum, LettersOfOneOperandAreSummed) {
  Context context;
  Tensor lhs = tensorOf(ElementType::i32, {2, 2}, {1, 2, 3, 4}),
         rhs = tensorOf(ElementType::i32, {2}, {10, 1});
  EXPECT_EQ(einsum(lhs, rhs, "ij,k->i", ElementType::i32, context)->toString(), "[33, 77]");
  EXPECT_EQ(einsum(lhs, rhs, "ij,i->", ElementType::i32, context)->toString(), "37");
}

TEST(Einsum, EllipsesBroadcastAtTheirLastDimensions) {
  Context context;
  Tensor lhs = tensorOf(ElementType::i32, {2, 1, 2}, {1, 2, 3, 4}),
         rhs = tensorOf(ElementType::i32, {3, 2}, {1, 0, 0, 1, 1, 1});
  EXPECT_EQ(einsum(lhs, rhs, "...i,...i->...", ElementType::i32, context)->toString(),
            "[[1, 2, 3], [3, 4, 7]]");
}

TEST(UnaryEinsum, TransposesSumsAndTakesDiagonals) {
  Context context;
  Tensor matrix = tensorOf(ElementType::f32, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(unaryEinsum(matrix, "ij->ji", ElementType::f32, context)->toString(),
            "[[1, 3], [2, 4]]");
  EXPECT_EQ(unaryEinsum(matrix, "ij->", ElementType::f32, context)->toString(), "10");
  EXPECT_EQ(unaryEinsum(matrix, "ii->i", ElementType::f32, context)->toString(), "[1, 4]");
  EXPECT_EQ(unaryEinsum(matrix, "ii->", ElementType::f32, context)->toString(), "5");
  EXPECT_EQ(unaryEinsum(matrix, "...j->...", ElementType::f32, context)->toString(), "[3, 7]");
}

TEST(Einsum, MalformedConfigsSayWhatIsWrong) {
  Context context;
  Tensor matrix = wholeNumbers(ElementType::f32, {2, 2}, 1);
  auto failure = [&](std::string_view config) {
    Status status = einsum(matrix, matrix, config, ElementType::f32, context).takeStatus();
    EXPECT_EQ(status.error(), Error::einsumConfig) << config;
    return status.message();
  };
  EXPECT_THAT(failure("ij,jk"), HasSubstr("has no '->'"));
  EXPECT_THAT(failure("ij->ij"), HasSubstr("has 1 operands, but the op has 2"));
  EXPECT_THAT(failure("ij,jk,kl->il"), HasSubstr("has 3 operands"));
  EXPECT_THAT(failure("ij,jk->iz"), HasSubstr("has 'z' in the result but in no operand"));
  EXPECT_THAT(failure("ij,jk->ii"), HasSubstr("has 'i' twice in the result"));
  EXPECT_THAT(failure("i1,1k->ik"), HasSubstr("has '1', expected a letter"));
  EXPECT_THAT(failure("i..,jk->ik"), HasSubstr("has '.', expected a letter"));
  EXPECT_THAT(failure("......,jk->jk"), HasSubstr("has two ellipses in one term"));
  EXPECT_THAT(failure("ijk,kl->il"), HasSubstr("has 3 labels for operand 0"));
  EXPECT_THAT(failure("...ijk,kl->il"), HasSubstr("has 3 labels for operand 0"));
  EXPECT_THAT(failure(""), HasSubstr("has no '->'"));
  EXPECT_THAT(failure("->"), HasSubstr("has 1 operands"));
}

TEST(Einsum, DimensionsOfOneLetterMustAgree) {
  Context context;
  Tensor lhs = wholeNumbers(ElementType::f32, {2, 3}, 1);
  Status status = einsum(lhs, lhs, "ij,jk->ik", ElementType::f32, context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(), HasSubstr("got 3 and 2 for 'j'"));
}
