#include "tilewright/transform/distribute/Price.h"

#include "tilewright/transform/distribute/Reshard.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <random>

using namespace tilewright;
using namespace tilewright::distribute;
using numerics::AxisRef;
using numerics::MeshCoordinates;

namespace {

class Price : public testing::Test {
protected:
  Price()
      : mesh(std::make_shared<const MeshCoordinates>(
            *MeshCoordinates::create({{"x", 4}, {"y", 2}}, /*order=*/{}))) {}

  Sharding sharding(std::vector<Axes> dims, Axes open = {}) const {
    return {mesh, std::move(dims), std::move(open)};
  }
  int f32(std::vector<int64_t> shape) {
    return prices.typeOf(mlir::RankedTensorType::get(shape, mlir::Float32Type::get(&context)));
  }

  mlir::MLIRContext context;
  std::shared_ptr<const MeshCoordinates> mesh;
  const AxisRef x{0, 1, 4}, y{1, 1, 2};
  Prices prices;
};

TEST_F(Price, EqualShardingsHaveOneNumber) {
  const int one = prices.intern(sharding({{x}, {}}));
  EXPECT_EQ(prices.intern(sharding({{x}, {}})), one);
  EXPECT_NE(prices.intern(sharding({{}, {x}})), one);
  EXPECT_NE(prices.intern(sharding({{x}, {}}, {y})), one);
  EXPECT_EQ(prices.intern(Sharding()), prices.intern(sharding({{}, {}})));
}

TEST_F(Price, AShardHasItsPartOfTheBytes) {
  const int type = f32({8, 16});
  EXPECT_EQ(prices.bytesOf(type), 512);
  EXPECT_EQ(prices.shardBytes(type, prices.intern(sharding({{x}, {y}}))), 64);
  EXPECT_EQ(prices.bytesOf(prices.typeOf(mlir::NoneType::get(&context))), 0);
}

TEST_F(Price, AMessageCostsAPartOfTheLargestTensorInSmallPrograms) {
  const double alone = prices.ratios.message;
  prices.fitTo(1e9);
  EXPECT_EQ(prices.ratios.message, alone);
  prices.fitTo(6400);
  EXPECT_EQ(prices.ratios.message, 100);
}

TEST_F(Price, ASumThatSeveralUsesWantInShardsIsReducedOnce) {
  const int type = f32({64, 64}), open = prices.intern(sharding({{}, {}}, {x})),
            rows = prices.intern(sharding({{x}, {}})), columns = prices.intern(sharding({{}, {x}})),
            whole = prices.intern(Sharding());
  const Prices::Route route = prices.route(type, open, {rows, whole});
  EXPECT_EQ(route.home, whole);
  EXPECT_EQ(route.price, prices.reshard(type, open, whole));
  EXPECT_LT(prices.route(type, open, {rows, columns}).price,
            prices.reshard(type, open, rows) + prices.reshard(type, open, columns));
}

/// Prices of simple pairs are computed without the search, and must be the same.
TEST_F(Price, IsThatOfTheExchangesThatAreEmitted) {
  std::mt19937 random(5);
  const std::vector<int64_t> shape = {16, 16, 8};
  const int type = f32(shape);
  prices.ratios.message = 0;
  auto draw = [&] {
    Sharding drawn = sharding({{}, {}, {}});
    for (const AxisRef &axis : {x, y}) {
      const size_t place = random() % 5;
      if (place < 3)
        drawn.dims[place].insert(random() % 2 ? drawn.dims[place].begin() : drawn.dims[place].end(),
                                 axis);
      else if (place == 3)
        drawn.unreduced.push_back(axis);
    }
    return drawn;
  };
  for (int round = 0; round < 500; ++round) {
    const Sharding from = draw(), to = draw();
    const double planned = wireBytes(planReshard(from, to, shape, 4));
    EXPECT_DOUBLE_EQ(prices.reshard(type, prices.intern(from), prices.intern(to)), planned)
        << from.toString() << " to " << to.toString();
  }
}

} // namespace
