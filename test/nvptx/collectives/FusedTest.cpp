// Products fused with a collective, on several virtual GPUs: right, bit by bit (all sums are
// exact), and without a report of any check.
#include "test/nvptx/collectives/Team.h"

#include "tilewright/transform/tile/collectives/BuildFused.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace tilewright::nvptx {
namespace {

class FusedTest : public ::testing::TestWithParam<int64_t> {
protected:
  static Team &team() {
    static std::map<int64_t, std::unique_ptr<Team>> teams;
    std::unique_ptr<Team> &team = teams[GetParam()];
    if (!team)
      team = *Team::make(GetParam());
    return *team;
  }
  void TearDown() override {
    const char *report = std::getenv("TILEWRIGHT_VGPU_REPORT");
    if (!report || !std::filesystem::exists(report))
      return;
    std::stringstream text;
    text << std::ifstream(report).rdbuf();
    std::filesystem::remove(report);
    ADD_FAILURE() << text.str().substr(0, 4000);
  }
};

TEST_P(FusedTest, AllGatherThenProduct) {
  for (int64_t points : {1, 2}) {
    const tile::FusedProduct wanted{
        .ranks = GetParam(), .points = points, .rows = 32, .depth = 64, .columns = 32};
    Result<GpuCode> code = compileFused(wanted, /*isGather=*/true);
    ASSERT_TRUE(code.isOk()) << std::move(code).takeStatus().toString();
    EXPECT_EQ(team().runFused(wanted, /*isGather=*/true, *code, 2), "");
  }
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
