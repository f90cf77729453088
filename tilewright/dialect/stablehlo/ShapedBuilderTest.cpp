// Result types that are inferred, and movements that move nothing.
#include "tilewright/dialect/stablehlo/ShapedBuilder.h"

#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tilewright::stablehlo;
using testing::ElementsAre;

namespace {

class Shaped : public testing::Test {
protected:
  Shaped()
      : builder(&context), location(builder.getUnknownLoc()), module(ModuleOp::create(location)),
        b(builder, location) {
    context.loadDialect<StablehloDialect>();
    builder.setInsertionPointToEnd(module->getBody());
  }

  /// A tensor of whole numbers.
  Value numbers(ArrayRef<int64_t> shape) {
    return b.iota(RankedTensorType::get(shape, builder.getI32Type()), 0);
  }
  /// The shape of a value whose op has passed the verifier.
  static std::vector<int64_t> shapeOf(Value value) {
    EXPECT_TRUE(succeeded(verify(value.getDefiningOp())));
    return cast<RankedTensorType>(value.getType()).getShape().vec();
  }

  MLIRContext context;
  OpBuilder builder;
  Location location;
  OwningOpRef<ModuleOp> module;
  ShapedBuilder b;
};

TEST_F(Shaped, MovementsThatMoveNothingReturnTheirOperand) {
  Value x = numbers({4, 6}), zero = numbers({1});
  zero = b.reshape(zero, {});
  EXPECT_EQ(b.reshape(x, {4, 6}), x);
  EXPECT_EQ(b.broadcast(x, {4, 6}, {0, 1}), x);
  EXPECT_EQ(b.slice(x, {0, 0}, {4, 6}, {1, 1}), x);
  EXPECT_EQ(b.sliceAlong(x, 1, 0, 6), x);
  EXPECT_EQ(b.pad(x, zero, {0, 0}, {0, 0}, {0, 0}), x);
  EXPECT_EQ(b.concatenate({x}, 0), x);
  EXPECT_EQ(b.convert(x, builder.getI32Type()), x);
}

TEST_F(Shaped, ABroadcastThatExchangesDimensionsIsNotTheIdentity) {
  Value x = numbers({4, 4}), exchanged = b.broadcast(x, {4, 4}, {1, 0});
  EXPECT_NE(exchanged, x);
  EXPECT_THAT(shapeOf(exchanged), ElementsAre(4, 4));
}

TEST_F(Shaped, SlicesHaveTheLimitOfTheirLastElement) {
  Value x = numbers({10, 3});
  auto every = b.sliceAlong(x, 0, 1, 3, 4).getDefiningOp<SliceOp>(); // rows 1, 5 and 9
  EXPECT_THAT(shapeOf(every), ElementsAre(3, 3));
  EXPECT_THAT(every.getLimitIndices(), ElementsAre(10, 3));
  auto none = b.sliceAlong(x, 0, 7, 0).getDefiningOp<SliceOp>();
  EXPECT_THAT(shapeOf(none), ElementsAre(0, 3));
  EXPECT_THAT(none.getLimitIndices(), ElementsAre(7, 3));
}

TEST_F(Shaped, PaddingCountsGapsBetweenElementsOnly) {
  Value zero = b.reshape(numbers({1}), {});
  EXPECT_THAT(shapeOf(b.pad(numbers({3}), zero, {1}, {2}, {2})), ElementsAre(10));
  EXPECT_THAT(shapeOf(b.pad(numbers({0}), zero, {1}, {2}, {2})), ElementsAre(3));
  EXPECT_THAT(shapeOf(b.pad(numbers({5}), zero, {-1}, {-2}, {0})), ElementsAre(2));
  Value one = numbers({1}); // there is no gap in one element
  EXPECT_EQ(b.pad(one, zero, {0}, {0}, {7}), one);
}

TEST_F(Shaped, OtherResultsHaveTheirShapeAndType) {
  Value x = numbers({4, 6});
  EXPECT_THAT(shapeOf(b.concatenate({x, numbers({4, 0}), x}, 1)), ElementsAre(4, 12));
  Value start = b.reshape(numbers({1}), {});
  EXPECT_THAT(shapeOf(b.dynamicSlice(x, {start, start}, {2, 5})), ElementsAre(2, 5));
  Value mask = b.compare(x, ComparisonDirection::LT, b.add(x, x));
  EXPECT_TRUE(cast<RankedTensorType>(mask.getType()).getElementType().isInteger(1));
  EXPECT_THAT(shapeOf(b.select(mask, x, x)), ElementsAre(4, 6));
  EXPECT_TRUE(cast<RankedTensorType>(b.convert(x, builder.getF32Type()).getType())
                  .getElementType()
                  .isF32());
}

TEST_F(Shaped, AMaskThatIsAbsentIsTrueEverywhere) {
  Value x = numbers({4}), mask = b.compare(x, ComparisonDirection::EQ, x);
  EXPECT_EQ(b.both(mask, {}), mask);
  EXPECT_EQ(b.both({}, mask), mask);
  EXPECT_FALSE(b.both({}, {}));
  EXPECT_THAT(shapeOf(b.both(mask, mask)), ElementsAre(4));
}

} // namespace
