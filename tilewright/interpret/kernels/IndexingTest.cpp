#include "tilewright/interpret/kernels/Indexing.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"

#include <limits>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(StridedWalk, VisitsInRowMajorOrder) {
  const Dims sizes{2, 3}, transposed{1, 2};
  std::vector<int64_t> offsets;
  for (StridedWalk<1> walk(sizes, {std::span(transposed)}); !walk.done(); walk.next())
    offsets.push_back(walk.offset());
  EXPECT_THAT(offsets, ElementsAre(0, 2, 4, 1, 3, 5));
}

TEST(StridedWalk, ScalarHasOneIndexAndAnEmptyBoxNone) {
  int visits = 0;
  for (StridedWalk<1> walk({}, {std::span<const int64_t>()}); !walk.done(); walk.next())
    ++visits;
  EXPECT_EQ(visits, 1);
  const Dims sizes{3, 0}, strides{0, 1};
  EXPECT_TRUE(StridedWalk<1>(sizes, {std::span(strides)}).done());
}

TEST(SaturatingProduct, OverflowIsTheLargestNumberUnlessAFactorIsZero) {
  EXPECT_EQ(saturatingProduct({2, 3, 4}), 24);
  EXPECT_EQ(saturatingProduct({int64_t(1) << 40, int64_t(1) << 40}),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(saturatingProduct({int64_t(1) << 40, int64_t(1) << 40, 0}), 0);
}

TEST(CheckDims, SaysWhichNumberIsWrong) {
  Status outside = checkDims("reduce", "dimensions", Dims{0, 3}, 3);
  EXPECT_EQ(outside.error(), Error::interpretShape);
  EXPECT_THAT(outside.message(), HasSubstr("dimensions must be in [0, 3)"));
  EXPECT_THAT(checkDims("reduce", "dimensions", Dims{1, 1}, 3).message(), HasSubstr("1 twice"));
  EXPECT_TRUE(checkDims("reduce", "dimensions", Dims{2, 0}, 3).isOk());
}

TEST(Rearranged, TransposesTakesDiagonalsAndBroadcasts) {
  Context context;
  Tensor matrix = tensorOf(ElementType::i16, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(rearranged(matrix, Dims{2, 2}, Dims{1, 2}, context)->toString(), "[[1, 3], [2, 4]]");
  EXPECT_EQ(rearranged(matrix, Dims{2}, Dims{3}, context)->toString(), "[1, 4]");
  EXPECT_EQ(rearranged(matrix, Dims{2, 2}, Dims{0, 1}, context)->toString(), "[[1, 2], [1, 2]]");
  // No-ops share the elements.
  EXPECT_EQ(rearranged(matrix, Dims{1, 4}, Dims{99, 1}, context)->data(), matrix.data());
}
