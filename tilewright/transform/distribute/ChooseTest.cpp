// The choice compared with the cheapest of all combinations, on programs that are small enough.
#include "tilewright/transform/distribute/Choose.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/transform/distribute/Modes.h"
#include "tilewright/transform/distribute/Propagate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <limits>

using namespace tilewright;
using namespace tilewright::distribute;

namespace {

class Choose : public testing::Test {
protected:
  Choose() {
    context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect, sdy::SdyDialect>();
  }

  /// Reads the body of a module with a mesh of four devices along "x".
  void read(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(
        "module attributes {mhlo.num_partitions = 4 : i32} {\nsdy.mesh @mesh = <[\"x\"=4]>\n" +
            text + "\n}",
        &context);
    ASSERT_TRUE(module);
    shards = std::make_unique<ShardBuilder>(*module, 4);
    Result<ShardingGraph> made =
        ShardingGraph::make(module->lookupSymbol<mlir::func::FuncOp>("main"), *shards);
    ASSERT_TRUE(made.isOk());
    graph = std::make_unique<ShardingGraph>(std::move(*made));
    fixResults(*graph);
  }

  double priceOf(const std::vector<const Mode *> &plan) {
    double sum = 0;
    for (const Mode *mode : plan)
      sum += mode->work;
    for (const GraphValue &value : graph->values) {
      const int computed =
          plan[static_cast<size_t>(value.maker)]->gives[static_cast<size_t>(value.makerOut)];
      const int type = prices.typeOf(value.value.getType());
      llvm::SmallVector<int, 4> wanted;
      for (const GraphValue::Use &use : value.uses)
        if (const int want = plan[static_cast<size_t>(use.node)]->wants[use.in];
            want != computed && !llvm::is_contained(wanted, want))
          wanted.push_back(want);
      sum += prices.route(type, computed, wanted).price * value.repeats;
      for (int want : wanted)
        if (value.isHeld)
          sum += prices.shardBytes(type, want) * prices.ratios.held * value.repeats;
    }
    return sum;
  }

  /// The least price of all combinations of modes.
  double best() {
    const MeshAxisRef axis{graph->meshes[0], 0};
    Modes modes(*graph, prices);
    modes.activate(axis);
    std::vector<const std::vector<Mode> *> options;
    for (size_t node = 0; node < graph->nodes.size(); ++node) {
      Choice nothing;
      nothing.loops.resize(graph->nodes[node].rule.loops.size());
      const int number = static_cast<int>(node);
      options.push_back(&modes.placing(number, modes.makeOne(number, nothing), axis));
    }
    std::vector<size_t> at(options.size());
    double least = std::numeric_limits<double>::infinity();
    while (true) {
      std::vector<const Mode *> plan;
      for (size_t node = 0; node < at.size(); ++node)
        plan.push_back(&(*options[node])[at[node]]);
      least = std::min(least, priceOf(plan));
      size_t node = 0;
      while (node < at.size() && ++at[node] == options[node]->size())
        at[node++] = 0;
      if (node == at.size())
        return least;
    }
  }

  void expectBest(const std::string &text) {
    read(text);
    ASSERT_TRUE(graph);
    const double chosen = choose(*graph, prices).price;
    EXPECT_NEAR(chosen, best(), 1e-6 * chosen);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<ShardBuilder> shards;
  std::unique_ptr<ShardingGraph> graph;
  Prices prices;
};

TEST_F(Choose, GathersTheSmallerOfTwoFactors) {
  expectBest(R"mlir(
    func.func public @main(%a: tensor<256x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                           %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<256x8xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<256x8xf32>, tensor<8x8xf32>) -> tensor<256x8xf32>
      %1 = stablehlo.tanh %0 : tensor<256x8xf32>
      return %1 : tensor<256x8xf32>
    })mlir");
}

TEST_F(Choose, ReducesTheSumOfTwoProductsOnce) {
  expectBest(R"mlir(
    func.func public @main(%a: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                           %b: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
      %1 = stablehlo.negate %0 : tensor<8x8xf32>
      %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
      return %2 : tensor<8x8xf32>
    })mlir");
}

/// Values that meet again and again: what they share must not count several times.
TEST_F(Choose, DoesNotShardOpsOnlyToGatherThem) {
  expectBest(R"mlir(
    func.func public @main(%a: tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
      %0 = stablehlo.add %a, %a : tensor<8xi32>
      %1 = stablehlo.xor %a, %0 : tensor<8xi32>
      %2 = stablehlo.add %0, %1 : tensor<8xi32>
      %3 = stablehlo.xor %1, %2 : tensor<8xi32>
      %4 = stablehlo.add %2, %3 : tensor<8xi32>
      return %4, %3 : tensor<8xi32>, tensor<8xi32>
    })mlir");
}

/// Neither of the two can be changed alone.
TEST_F(Choose, KeepsValuesThatALoopSwapsWhole) {
  expectBest(R"mlir(
    func.func public @main(%x: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xi32> {
      %n = stablehlo.constant dense<0> : tensor<i32>
      %a = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
      %0:3 = stablehlo.while(%i = %n, %p = %a, %q = %a) : tensor<i32>, tensor<4xi32>, tensor<4xi32>
      cond {
        %1 = stablehlo.reverse %p, dims = [0] : tensor<4xi32>
        %2 = stablehlo.slice %1 [0:1] : (tensor<4xi32>) -> tensor<1xi32>
        %3 = stablehlo.reshape %2 : (tensor<1xi32>) -> tensor<i32>
        %4 = stablehlo.compare LT, %i, %3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %4 : tensor<i1>
      } do {
        stablehlo.return %i, %q, %p : tensor<i32>, tensor<4xi32>, tensor<4xi32>
      }
      return %x : tensor<8xi32>
    })mlir");
  for (const GraphNode &node : graph->nodes)
    ASSERT_FALSE(node.isFreeResult && !node.isFixed);
}

/// A loop reads weights that the program shards: they are gathered inside of it, a layer at a time.
TEST_F(Choose, PricesACopyThatALoopHolds) {
  read(R"mlir(
    func.func public @main(%w: tensor<4x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %n: tensor<i32>) -> tensor<i32> {
      %0 = stablehlo.while(%i = %n) : tensor<i32>
      cond {
        %z = stablehlo.constant dense<0> : tensor<i32>
        %1 = stablehlo.dynamic_slice %w, %i, %z, %z, sizes = [1, 8, 8] : (tensor<4x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
        %2 = stablehlo.compare LT, %i, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        stablehlo.return %i : tensor<i32>
      }
      return %0 : tensor<i32>
    })mlir");
  ASSERT_TRUE(graph);
  size_t held = 0;
  for (const GraphValue &value : graph->values)
    held += value.isHeld ? 1 : 0;
  EXPECT_EQ(held, 1u); // the weights
}

TEST(Wants, StateDoesNotDependOnTheOrderOfChanges) {
  Wants one, other;
  for (int sharding : {1, 3, 3, 7})
    one.add(sharding, 1);
  other.add(2, 1);
  for (int sharding : {7, 3, 1})
    other.add(sharding, 1);
  EXPECT_NE(one.state(), other.state());
  other.add(2, -1);
  other.add(3, 1);

  EXPECT_EQ(one.state(), other.state());
  EXPECT_FALSE(other.contain(2));
  EXPECT_EQ(other.list().size(), 3u);
}

} // namespace
