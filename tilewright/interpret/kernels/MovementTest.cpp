#include "tilewright/interpret/kernels/Movement.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

static constexpr ElementType i32 = ElementType::i32;
using List = std::vector<int64_t>;

/// [[0, 1, 2], [3, 4, 5]]
static Tensor grid() { return tensorOf(i32, {2, 3}, {0, 1, 2, 3, 4, 5}); }

TEST(Movement, BroadcastStretchesAndRepeats) {
  Context context;
  EXPECT_EQ(broadcastInDim(tensorOf(i32, {2}, {1, 2}), List{0}, *Shape::create({2, 3}), context)
                ->toString(),
            "[[1, 1, 1], [2, 2, 2]]");
  EXPECT_EQ(
      broadcastInDim(tensorOf(i32, {1, 2}, {1, 2}), List{1, 0}, *Shape::create({2, 3}), context)
          ->toString(),
      "[[1, 1, 1], [2, 2, 2]]");
  Status status = broadcastInDim(tensorOf(i32, {2}, {1, 2}), List{0}, *Shape::create({3}), context)
                      .takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(), HasSubstr("got 2 and 3"));
}

TEST(Movement, TransposePermutes) {
  Context context;
  EXPECT_EQ(transpose(grid(), List{1, 0}, context)->toString(), "[[0, 3], [1, 4], [2, 5]]");
  Tensor cube = tensorOf(i32, {2, 1, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(transpose(cube, List{2, 0, 1}, context)->toString(),
            "[[[0], [3]], [[1], [4]], [[2], [5]]]");
}

TEST(Movement, SliceTakesEveryStride) {
  Context context;
  EXPECT_EQ(slice(grid(), List{0, 0}, List{2, 3}, List{1, 2}, context)->toString(),
            "[[0, 2], [3, 5]]");
  EXPECT_EQ(slice(grid(), List{1, 1}, List{1, 3}, List{1, 1}, context)->elementCount(), 0);
  EXPECT_EQ(slice(grid(), List{0, 1}, List{2, 2}, List{int64_t(1) << 62, 9}, context)->toString(),
            "[[1]]");
  EXPECT_EQ(slice(grid(), List{0, 0}, List{2, 4}, List{1, 1}, context).takeStatus().error(),
            Error::interpretShape);
}

TEST(Movement, DynamicSliceMovesInwards) {
  Context context;
  EXPECT_EQ(dynamicSlice(grid(), List{5, -9}, List{1, 2}, context)->toString(), "[[3, 4]]");
}

TEST(Movement, DynamicUpdateSliceLeavesSharedOperandsAlone) {
  Context context;
  Tensor operand = grid();
  Tensor update = tensorOf(i32, {1, 2}, {8, 9});
  EXPECT_EQ(dynamicUpdateSlice(operand, update, List{1, 7}, context)->toString(),
            "[[0, 1, 2], [3, 8, 9]]");
  EXPECT_EQ(operand.toString(), "[[0, 1, 2], [3, 4, 5]]");
  const std::byte *bytes = operand.data();
  Tensor inPlace = *dynamicUpdateSlice(std::move(operand), update, List{0, 0}, context);
  EXPECT_EQ(inPlace.data(), bytes);
  EXPECT_EQ(inPlace.toString(), "[[8, 9, 2], [3, 4, 5]]");
}

TEST(Movement, ConcatenateJoins) {
  Context context;
  Tensor column = tensorOf(i32, {2, 1}, {7, 8});
  EXPECT_EQ(concatenate(std::vector{grid(), column}, 1, context)->toString(),
            "[[0, 1, 2, 7], [3, 4, 5, 8]]");
  EXPECT_EQ(concatenate(std::vector{grid(), column}, 0, context).takeStatus().error(),
            Error::interpretShape);
}

TEST(Movement, PadAroundBetweenAndNegative) {
  Context context;
  Tensor zero = tensorOf(i32, {}, {9});
  Tensor line = tensorOf(i32, {3}, {1, 2, 3});
  auto padded = [&](int64_t low, int64_t high, int64_t interior) {
    return pad(line, zero, List{low}, List{high}, List{interior}, context)->toString();
  };
  EXPECT_EQ(padded(1, 2, 0), "[9, 1, 2, 3, 9, 9]");
  EXPECT_EQ(padded(0, 0, 1), "[1, 9, 2, 9, 3]");
  EXPECT_EQ(padded(-1, 0, 0), "[2, 3]");
  EXPECT_EQ(padded(-1, -1, 1), "[9, 2, 9]");
  EXPECT_EQ(padded(-2, 0, 1), "[2, 9, 3]");
  EXPECT_EQ(padded(-5, 3, 1), "[9, 9, 9]");
  EXPECT_EQ(padded(2, -5, 0), "[]");
  EXPECT_EQ(padded(3, -4, 0), "[9, 9]");
  EXPECT_EQ(pad(line, zero, List{-4}, List{0}, List{0}, context).takeStatus().error(),
            Error::interpretShape);
  Tensor empty = tensorOf(i32, {0}, {});
  EXPECT_EQ(pad(empty, zero, List{1}, List{1}, List{5}, context)->toString(), "[9, 9]");
}

TEST(Movement, ReverseTurnsAround) {
  Context context;
  EXPECT_EQ(reverse(grid(), List{1}, context)->toString(), "[[2, 1, 0], [5, 4, 3]]");
  EXPECT_EQ(reverse(grid(), List{0, 1}, context)->toString(), "[[5, 4, 3], [2, 1, 0]]");
}

TEST(Movement, IotaCountsAlongOneDimension) {
  Context context;
  EXPECT_EQ(iota(ElementType::bf16, *Shape::create({2, 3}), 1, context)->toString(),
            "[[0, 1, 2], [0, 1, 2]]");
  EXPECT_EQ(iota(ElementType::c64, *Shape::create({2}), 0, context)->toString(),
            "[(0, 0), (1, 0)]");
  EXPECT_EQ(iota(ElementType::i2, *Shape::create({5}), 0, context)->toString(),
            "[0, 1, -2, -1, 0]");
}

TEST(Movement, SetDimensionSizeKeepsTheFirst) {
  Context context;
  EXPECT_EQ(setDimensionSize(grid(), 1, 2, context)->toString(), "[[0, 1], [3, 4]]");
  EXPECT_EQ(setDimensionSize(grid(), 1, 4, context).takeStatus().error(), Error::interpretShape);
}

TEST(Movement, ReshapeKeepsTheNumberOfElements) {
  EXPECT_EQ(reshape(grid(), *Shape::create({3, 2}))->toString(), "[[0, 1], [2, 3], [4, 5]]");
  EXPECT_EQ(reshape(grid(), *Shape::create({3, 3})).takeStatus().error(), Error::interpretShape);
}
