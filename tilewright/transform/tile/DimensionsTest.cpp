#include "tilewright/transform/tile/Dimensions.h"

#include "tilewright/transform/tile/LinearForm.h"

#include "mlir/IR/MLIRContext.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::tile {

using testing::ElementsAre;

static std::vector<int64_t> leafSizes(Dimensions &dimensions, Dimensions::Id id) {
  std::vector<int64_t> sizes;
  for (Dimensions::Id leaf : dimensions.leaves(id))
    sizes.push_back(dimensions.sizeOf(leaf));
  return sizes;
}

TEST(Dimensions, AReshapeOfNothingSaysNothingAboutSizes) {
  Dimensions dimensions;
  auto a = dimensions.add(0), b = dimensions.add(4), c = dimensions.add(3), d = dimensions.add(0);
  EXPECT_FALSE(dimensions.unifyLists({a, b}, {c, d}));
}

TEST(Dimensions, AReshapeSplitsBothSidesIntoCommonFactors) {
  Dimensions dimensions;
  auto a = dimensions.add(6), b = dimensions.add(4), c = dimensions.add(3), d = dimensions.add(8);
  EXPECT_TRUE(dimensions.unifyLists({a, b}, {c, d}));
  EXPECT_THAT(leafSizes(dimensions, a), ElementsAre(3, 2));
  EXPECT_THAT(leafSizes(dimensions, b), ElementsAre(4));
  EXPECT_THAT(leafSizes(dimensions, c), ElementsAre(3));
  EXPECT_THAT(leafSizes(dimensions, d), ElementsAre(2, 4));
}

TEST(Dimensions, EqualsAreSplitTogether) {
  Dimensions dimensions;
  auto a = dimensions.add(24), same = dimensions.add(24), b = dimensions.add(6),
       c = dimensions.add(4);
  EXPECT_TRUE(dimensions.unify(a, same));
  EXPECT_TRUE(dimensions.unifyLists({a}, {b, c}));
  EXPECT_THAT(leafSizes(dimensions, same), ElementsAre(6, 4));
}

TEST(Dimensions, NothingSplitsAPinnedDimension) {
  Dimensions dimensions;
  auto a = dimensions.add(24), b = dimensions.add(6), c = dimensions.add(4);
  dimensions.pin(a);
  EXPECT_FALSE(dimensions.unifyLists({a}, {b, c}));
  EXPECT_THAT(leafSizes(dimensions, a), ElementsAre(24));
}

TEST(Dimensions, FactorsThatDoNotDivideAreRefused) {
  Dimensions dimensions;
  auto a = dimensions.add(6), b = dimensions.add(4), c = dimensions.add(8), d = dimensions.add(3);
  EXPECT_FALSE(dimensions.unifyLists({a, b}, {c, d}));
}

TEST(Dimensions, OnesAreNowhere) {
  Dimensions dimensions;
  auto a = dimensions.add(1), b = dimensions.add(5), c = dimensions.add(5), d = dimensions.add(1);
  EXPECT_TRUE(dimensions.unifyLists({a, b}, {c, d}));
  EXPECT_TRUE(dimensions.leaves(a).empty());
  EXPECT_EQ(dimensions.leaves(b), dimensions.leaves(c));
}

TEST(LinearForm, DividesWhereTheRestStaysBelowTheDivisor) {
  mlir::MLIRContext context;
  auto d0 = mlir::getAffineDimExpr(0, &context), d1 = mlir::getAffineDimExpr(1, &context);
  const llvm::SmallVector<int64_t> sizes = {4, 8};
  const llvm::SmallVector<LinearForm> dims = {LinearForm::dim(2, 0), LinearForm::dim(2, 1)};
  auto quotient = linearForm((d0 * 8 + d1).floorDiv(8), dims, sizes);
  ASSERT_TRUE(quotient);
  EXPECT_EQ(quotient->toExpr(&context), d0);
  auto rest = linearForm((d0 * 8 + d1) % 8, dims, sizes);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->toExpr(&context), d1);
  EXPECT_FALSE(linearForm((d0 * 8 + d1 + 1).floorDiv(8), dims, sizes));
  EXPECT_FALSE(linearForm((d0 * 6 + d1) % 8, dims, sizes));
}

} // namespace tilewright::tile
