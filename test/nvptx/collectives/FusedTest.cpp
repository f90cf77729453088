// Products fused with a collective, on several virtual GPUs: right, bit by bit (all sums are
// exact), and without a report of any check.
#include "test/nvptx/collectives/TeamTest.h"

#include "tilewright/transform/tile/collectives/BuildFused.h"

namespace tilewright::nvptx {
namespace {

class FusedTest : public TeamTest {};

TEST_P(FusedTest, AllGatherThenProduct) {
  for (int64_t points : {1, 2}) {
    const tile::FusedProduct wanted{
        .ranks = GetParam(), .points = points, .rows = 32, .depth = 64, .columns = 32};
    Result<GpuCode> code = compileFused(wanted, /*isGather=*/true);
    ASSERT_TRUE(code.isOk()) << std::move(code).takeStatus().toString();
    EXPECT_EQ(team().runFused(wanted, /*isGather=*/true, *code, 2), "");
  }
}

/// Rows are multiplied as their shard arrives: those that a rank takes before the shard of a late
/// rank are done before the late rank has begun.
TEST_P(FusedTest, AllGatherThenProductWaitsForNoWhole) {
  const tile::FusedProduct wanted{
      .ranks = GetParam(), .points = 2, .rows = 32, .depth = 64, .columns = 32};
  Result<GpuCode> code = compileFused(wanted, /*isGather=*/true);
  ASSERT_TRUE(code.isOk()) << std::move(code).takeStatus().toString();
  for (int64_t late : {int64_t(0), GetParam() - 1})
    EXPECT_EQ(team().runFusedWithLateRank(wanted, *code, late), "");
}

TEST_P(FusedTest, ProductThenReduceScatter) {
  for (int64_t points : {1, 2}) {
    const tile::FusedProduct wanted{
        .ranks = GetParam(), .points = points, .rows = 32, .depth = 64, .columns = 32};
    Result<GpuCode> code = compileFused(wanted, /*isGather=*/false);
    ASSERT_TRUE(code.isOk()) << std::move(code).takeStatus().toString();
    EXPECT_EQ(team().runFused(wanted, /*isGather=*/false, *code, 2), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Of, FusedTest, ::testing::Values(2, 4, 8));

} // namespace
} // namespace tilewright::nvptx
