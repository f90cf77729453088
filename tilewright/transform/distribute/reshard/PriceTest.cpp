#include "tilewright/transform/distribute/reshard/Price.h"

#include "tilewright/transform/distribute/reshard/Reshard.h"

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

/// Prices of simple pairs are computed without the search, others by a search in a smaller problem;
/// they must be the same.
TEST_F(Price, IsThatOfTheExchangesThatAreEmitted) {
  std::mt19937 random(5);
  prices.ratios.message = 0;
  auto draw = [&](size_t rank) {
    Sharding drawn = sharding(std::vector<Axes>(rank));
    for (const AxisRef &axis : {x, y}) {
      const size_t place = random() % (rank + 2);
      if (place < rank)
        drawn.dims[place].insert(random() % 2 ? drawn.dims[place].begin() : drawn.dims[place].end(),
                                 axis);
      else if (place == rank)
        drawn.unreduced.push_back(axis);
    }
    return drawn;
  };
  // Dimensions that all, some and no factors of the mesh divide, and an empty one; the first and
  // the last have prices in common.
  for (const std::vector<int64_t> &shape : {std::vector<int64_t>{16, 16, 8},
                                            {8},
                                            {4, 16},
                                            {3, 16, 1, 8},
                                            {2, 12, 8},
                                            {0, 16},
                                            {48, 8, 32}}) {
    const int type = f32(shape);
    auto divides = [&](const Sharding &drawn) {
      for (size_t dim = 0; dim < shape.size(); ++dim)
        if (shape[dim] % countOf(drawn.dims[dim]) != 0)
          return false;
      return true;
    };
    for (int round = 0; round < 400; ++round) {
      const Sharding from = draw(shape.size()), to = draw(shape.size());
      if (!divides(from) || !divides(to))
        continue;
      const double planned = wireBytes(planReshard(from, to, shape, 4));
      EXPECT_DOUBLE_EQ(prices.reshard(type, prices.intern(from), prices.intern(to)), planned)
          << from.toString() << " to " << to.toString() << ", rank " << shape.size();
    }
  }
}

TEST_F(Price, TermsOfDifferentReductionsAreNotTakenForEqual) {
  Sharding sum = sharding({{}}, {x}), most = sum;
  sum.combine = "stablehlo.add";
  most.combine = "stablehlo.maximum";
  EXPECT_GT(prices.reshard(f32({64}), prices.intern(sum), prices.intern(most)), 0);
}

TEST(KnownReshards, NeedOneSearchForTensorsThatDifferInSizeAndOrder) {
  const Placement rows{{{0, 1}, {}}, {}}, columns{{{}, {0, 1}}, {}};
  const std::vector<int64_t> factors = {2, 2};
  KnownReshards known;
  const ReshardTraffic first = known.find({rows, columns, {{16}, {8}}, factors});
  EXPECT_DOUBLE_EQ(first.amount, 16.0 * 8 / 4 * 3 / 4);
  EXPECT_EQ(first.exchanges, 1);
  EXPECT_DOUBLE_EQ(known.find({columns, rows, {{4}, {64}}, factors}).amount, 2 * first.amount);
  // 3 is divided by no factor, and the other dimension can hold no more than the first two can.
  const Placement more{{{0, 1}, {}, {}, {}}, {}}, moved{{{}, {0, 1}, {}, {}}, {}};
  EXPECT_DOUBLE_EQ(known.find({more, moved, {{4}, {8}, {3}, {4}}, factors}).amount,
                   3 * first.amount);
  EXPECT_LE(known.searches(), 2U);
  EXPECT_EQ(known.find({rows, columns, {{0}, {8}}, factors}).exchanges, 0);
}

} // namespace
