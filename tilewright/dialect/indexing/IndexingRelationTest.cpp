#include "tilewright/dialect/indexing/IndexingRelation.h"

#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::indexing {

using testing::ElementsAre;
using testing::HasSubstr;

namespace {
/// Parses a function and looks at its last op before the return.
class IndexingRelationTest : public testing::Test {
protected:
  mlir::Operation *lastOp(const std::string &arguments, const std::string &body) {
    context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @main(" + arguments + ") {\n" + body + "\nreturn\n}", &context);
    EXPECT_TRUE(module);
    auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
    return main.getBody().front().getTerminator()->getPrevNode();
  }

  static std::string textOf(mlir::AffineMap map) {
    std::string text;
    llvm::raw_string_ostream(text) << map;
    return text;
  }
  std::vector<std::string> mapsOf(mlir::Operation *op) {
    std::vector<std::string> maps;
    const mlir::FailureOr<IndexingRelation> relation = indexingRelation(op);
    for (const OperandRelation &operand : relation->operands)
      maps.push_back(textOf(operand.map));
    return maps;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};
} // namespace

TEST_F(IndexingRelationTest, MovesFollowTheirAttributes) {
  EXPECT_THAT(
      mapsOf(lastOp("%x: tensor<2x3x4xf32>", "%r = stablehlo.transpose %x, dims = [2, 0, 1] "
                                             ": (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>")),
      ElementsAre("(d0, d1, d2) -> (d1, d2, d0)"));
  EXPECT_THAT(
      mapsOf(lastOp("%x: tensor<1x3xf32>", "%r = stablehlo.broadcast_in_dim %x, dims = [0, 2] "
                                           ": (tensor<1x3xf32>) -> tensor<5x2x3xf32>")),
      ElementsAre("(d0, d1, d2) -> (0, d2)"));
  EXPECT_THAT(mapsOf(lastOp("%x: tensor<10xf32>", "%r = stablehlo.slice %x [2:10:3] "
                                                  ": (tensor<10xf32>) -> tensor<3xf32>")),
              ElementsAre("(d0) -> (d0 * 3 + 2)"));
  EXPECT_THAT(mapsOf(lastOp("%x: tensor<10xf32>",
                            "%r = stablehlo.reverse %x, dims = [0] : tensor<10xf32>")),
              ElementsAre("(d0) -> (-d0 + 9)"));
  EXPECT_THAT(mapsOf(lastOp("%x: tensor<4x8xf32>",
                            "%r = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>")),
              ElementsAre("(d0) -> (d0 floordiv 8, d0 mod 8)"));
}

TEST_F(IndexingRelationTest, ReducedDimensionsComeLast) {
  mlir::Operation *op =
      lastOp("%x: tensor<2x3x4xf32>, %i: tensor<f32>",
             "%r = stablehlo.reduce(%x init: %i) applies stablehlo.add across "
             "dimensions = [1] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x4xf32>");
  EXPECT_THAT(mapsOf(op), ElementsAre("(d0, d1, d2) -> (d0, d2, d1)", "(d0, d1, d2) -> ()"));
  EXPECT_THAT(indexingRelation(op)->sizes, ElementsAre(2, 4, 3));
  EXPECT_EQ(indexingRelation(op)->resultRank, 2u);
}

TEST_F(IndexingRelationTest, DotsHaveBatchThenLhsThenRhs) {
  EXPECT_THAT(mapsOf(lastOp("%a: tensor<2x3x4xf32>, %b: tensor<5x4x2xf32>",
                            "%r = stablehlo.dot_general %a, %b, batching_dims = [0] x [2], "
                            "contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<5x4x2xf32>) "
                            "-> tensor<2x3x5xf32>")),
              ElementsAre("(d0, d1, d2, d3) -> (d0, d1, d3)", "(d0, d1, d2, d3) -> (d2, d3, d0)"));
}

TEST_F(IndexingRelationTest, ConvolutionsAddTheTapToThePosition) {
  auto convolution = [&](std::string_view types, std::string_view window, int groups) {
    return lastOp(concat("%x: tensor<2x9x6xf32>, %w: ", types.substr(0, types.find(' '))),
                  concat("%r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->"
                         "[b, 0, f], window = {",
                         window, "} {batch_group_count = 1 : i64, feature_group_count = ", groups,
                         " : i64} : (tensor<2x9x6xf32>, ", types.substr(0, types.find(' ')),
                         ") -> ", types.substr(types.find(' ') + 1)));
  };
  // The taps come before the features, which are tiled.
  mlir::Operation *op = convolution("tensor<3x6x4xf32> tensor<2x4x4xf32>",
                                    "stride = [2], pad = [[1, 1]], rhs_dilate = [2]", 1);
  EXPECT_THAT(mapsOf(op), ElementsAre("(d0, d1, d2, d3, d4) -> (d0, d1 * 2 + d3 * 2 - 1, d4)",
                                      "(d0, d1, d2, d3, d4) -> (d3, d4, d2)"));
  EXPECT_TRUE(indexingRelation(op)->operands[0].mayLeave);
  // A window with more taps than positions is tiled; it has more taps than there are features.
  op = convolution("tensor<8x6x4xf32> tensor<2x2x4xf32>", "reverse = [true]", 1);
  EXPECT_THAT(mapsOf(op), ElementsAre("(d0, d1, d2, d3, d4) -> (d0, d1 + d4, d3)",
                                      "(d0, d1, d2, d3, d4) -> (-d4 + 7, d3, d2)"));
  // Groups follow from the output feature.
  op = convolution("tensor<1x3x4xf32> tensor<2x9x4xf32>", "", 2);
  EXPECT_EQ(mapsOf(op)[0], "(d0, d1, d2, d3, d4) -> (d0, d1, (d2 floordiv 2) * 3 + d4)");
  std::string reason;
  EXPECT_FALSE(
      canTile(convolution("tensor<1x6x4xf32> tensor<2x17x4xf32>", "lhs_dilate = [2]", 1), &reason));
  EXPECT_THAT(reason, HasSubstr("dilates its input"));
}

TEST_F(IndexingRelationTest, WhatMayLeaveSaysSo) {
  mlir::Operation *op = lastOp("%x: tensor<4xf32>, %p: tensor<f32>",
                               "%r = stablehlo.pad %x, %p, low = [1], high = [2], interior = [1] "
                               ": (tensor<4xf32>, tensor<f32>) -> tensor<10xf32>");
  EXPECT_THAT(mapsOf(op), ElementsAre("(d0) -> ((d0 - 1) floordiv 2)", "(d0) -> ()"));
  EXPECT_TRUE(indexingRelation(op)->operands[0].mayLeave);
  EXPECT_FALSE(indexingRelation(op)->operands[1].mayLeave);
}

TEST_F(IndexingRelationTest, PositionsAreSymbolsWithLimits) {
  mlir::Operation *op = lastOp("%x: tensor<4x10xf32>, %i: tensor<i32>",
                               "%r = stablehlo.dynamic_slice %x, %i, %i, sizes = [4, 3] "
                               ": (tensor<4x10xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>");
  EXPECT_EQ(mapsOf(op)[0], "(d0, d1)[s0] -> (d0, d1 + s0)");
  ASSERT_EQ(indexingRelation(op)->positions.size(), 1u);
  EXPECT_EQ(indexingRelation(op)->positions[0].operand, 2u);
  EXPECT_EQ(indexingRelation(op)->positions[0].limit, 7);
}

TEST_F(IndexingRelationTest, GathersAddAStartForEachComponentOfAnIndexVector) {
  // Dimension 0 is a batch, 1 is sliced by component 1, 2 is whole, 3 is collapsed by component 2.
  // Component 0 would start a slice of the whole dimension 2, so it is not read.
  mlir::Operation *op =
      lastOp("%x: tensor<5x6x7x8xf32>, %i: tensor<4x3x5xi32>",
             "%r = \"stablehlo.gather\"(%x, %i) <{dimension_numbers = #stablehlo.gather<"
             "offset_dims = [0, 2], collapsed_slice_dims = [3], operand_batching_dims = [0], "
             "start_indices_batching_dims = [2], start_index_map = [2, 1, 3], "
             "index_vector_dim = 1>, slice_sizes = array<i64: 1, 2, 7, 1>, "
             "indices_are_sorted = false}> : (tensor<5x6x7x8xf32>, tensor<4x3x5xi32>) -> "
             "tensor<2x4x7x5xf32>");
  EXPECT_THAT(mapsOf(op),
              ElementsAre("(d0, d1, d2, d3) -> (d3, d0, d2, 0)", "(d0, d1, d2, d3) -> (d1, 1, d3)",
                          "(d0, d1, d2, d3) -> (d1, 2, d3)"));
  const IndexingRelation relation = *indexingRelation(op);
  ASSERT_EQ(relation.starts.size(), 2u);
  EXPECT_EQ(relation.starts[0].dim, 1u);
  EXPECT_EQ(relation.starts[0].relation, 1u);
  EXPECT_EQ(relation.starts[0].limit, 4);
  EXPECT_EQ(relation.starts[1].dim, 3u);
  EXPECT_EQ(relation.starts[1].limit, 7);
  EXPECT_EQ(relation.operands[2].operand, 1u);
}

TEST_F(IndexingRelationTest, RefusalsSayWhy) {
  std::string reason;
  EXPECT_FALSE(
      canTile(lastOp("", "%r = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>"), &reason));
  EXPECT_THAT(reason, HasSubstr("elements differ"));
  EXPECT_FALSE(
      canTile(lastOp("%x: tensor<?xf32>", "%r = stablehlo.negate %x : tensor<?xf32>"), &reason));
  EXPECT_THAT(reason, HasSubstr("static shape"));
}

} // namespace tilewright::indexing
