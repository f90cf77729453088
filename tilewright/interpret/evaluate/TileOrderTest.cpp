// The meaning of tile.carry, tile.bucket, tile.take and tile.update.
#include "tilewright/interpret/Evaluator.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/interpret/kernels/testing/Tensors.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

namespace {

class TileOrder : public testing::Test {
protected:
  TileOrder() {
    context.loadDialect<mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::memref::MemRefDialect,
                        stablehlo::StablehloDialect, exec::ExecDialect, tile::TileDialect>();
  }

  /// The first result of main, or the failure.
  std::string run(const std::string &text, const std::vector<Tensor> &inputs) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    RuntimeValues values;
    for (const Tensor &input : inputs)
      values.emplace_back(input);
    Result<RuntimeValues> results = evaluate(*module, "main", values);
    if (!results.isOk())
      return std::move(results).takeStatus().toString();
    return (*results)[0].tensor().toString();
  }

  /// Moves keys by their last digit below four, the first `limit` of them.
  std::string bucketed(std::string_view limit, const Tensor &keys) {
    return run(concat(R"(
      tile.kernel @f grid [1] inputs 1 {
      ^bb0(%p: index, %x: memref<1x5xi32>, %out: memref<1x5xi32>, %starts: memref<1x4xi32>):
        %0 = arith.constant 0 : index
        %3 = arith.constant 3 : index
        %6 = arith.constant 6 : index
        %t = tile.load %x[%0, %0] : memref<1x5xi32> -> tensor<1x5xi32>
        %d = tile.map(%t) : (tensor<1x5xi32>) -> tensor<1x5xi32> {
        ^bb0(%a: i32):
          %ten = arith.constant 10 : i32
          %r = arith.remsi %a, %ten : i32
          tile.yield %r : i32
        }
        %s:2 = tile.bucket %t by %d )",
                      limit, R"( : (tensor<1x5xi32>), tensor<1x5xi32>
            -> (tensor<1x5xi32>), tensor<1x4xi32>
        %i = tile.iota %0 dim 1 : tensor<1x5xi32>
        tile.store %s#0, %out[%0, %0] : tensor<1x5xi32>, memref<1x5xi32>
        tile.store %s#1, %starts[%0, %0] : tensor<1x4xi32>, memref<1x4xi32>
      }
      func.func @main(%x: tensor<1x5xi32>) -> (tensor<1x5xi32>, tensor<1x4xi32>) {
        %r:2 = exec.launch @f(%x) : (tensor<1x5xi32>) -> (tensor<1x5xi32>, tensor<1x4xi32>)
        return %r#0, %r#1 : tensor<1x5xi32>, tensor<1x4xi32>
      })"),
               {keys});
  }

  /// Adds 10, 20 and 30 to a table at the given places.
  std::string updated(std::string_view atomic, const Tensor &places) {
    return run(concat(R"(
      tile.kernel @f grid [1] inputs 2 updates [0, 1] {
      ^bb0(%p: index, %i: memref<3xi64>, %old: memref<4xi32>, %new: memref<4xi32>):
        %0 = arith.constant 0 : index
        %1 = arith.constant 1 : index
        %t = tile.load %i[%0] : memref<3xi64> -> tensor<3xi64>
        %at = tile.map(%t) : (tensor<3xi64>) -> tensor<3xindex> {
        ^bb0(%a: i64):
          %b = arith.index_cast %a : i64 to index
          tile.yield %b : index
        }
        %n = tile.iota %1 dim 0 : tensor<3xi32>
        %v = tile.map(%n) : (tensor<3xi32>) -> tensor<3xi32> {
        ^bb0(%a: i32):
          %ten = arith.constant 10 : i32
          %b = arith.muli %a, %ten : i32
          tile.yield %b : i32
        }
        tile.update %v, %new at (%at) )",
                      atomic, R"( : tensor<3xi32>, memref<4xi32>, tensor<3xindex> {
        ^bb0(%a: i32, %b: i32):
          %c = arith.addi %a, %b : i32
          tile.yield %c : i32
        }
      }
      func.func @main(%i: tensor<3xi64>, %x: tensor<4xi32>) -> tensor<4xi32> {
        %r = exec.launch @f(%i, %x) {aliases = array<i64: 0, 1>, in_place} : (tensor<3xi64>, tensor<4xi32>) -> tensor<4xi32>
        return %r : tensor<4xi32>
      })"),
               {places, tensorOf(ElementType::i32, {4}, {1, 2, 3, 4})});
  }

  const Tensor keys = tensorOf(ElementType::i32, {1, 5}, {13, 21, 11, 10, 42});
  mlir::MLIRContext context;
};

TEST_F(TileOrder, BucketsKeepTheOrderOfEqualDigits) {
  EXPECT_EQ(bucketed("", keys), "[[10, 21, 11, 42, 13]]");
  EXPECT_EQ(bucketed("count %3", keys), "[[21, 11, 13, 10, 42]]");
}

TEST_F(TileOrder, DigitsAndCountsOutsideAreErrors) {
  EXPECT_THAT(bucketed("count %6", keys), HasSubstr("have count 6"));
  EXPECT_THAT(bucketed("", tensorOf(ElementType::i32, {1, 5}, {13, 24, 11, 10, 42})),
              HasSubstr("digit 4 has none of the 4 buckets"));
}

TEST_F(TileOrder, UpdatesCombineAndDropWhatIsOutside) {
  EXPECT_EQ(updated("", tensorOf(ElementType::i64, {3}, {3, -1, 0})), "[31, 2, 3, 14]");
  EXPECT_EQ(updated("", tensorOf(ElementType::i64, {3}, {4, 1, 2})), "[1, 22, 33, 4]");
}

TEST_F(TileOrder, OnlyAtomicUpdatesMeet) {
  const Tensor places = tensorOf(ElementType::i64, {3}, {2, 1, 2});
  EXPECT_EQ(updated("atomic", places), "[1, 22, 43, 4]");
  EXPECT_THAT(updated("", places), HasSubstr("written twice"));
}

TEST_F(TileOrder, ACarryHasWhatCameBeforeInItsRow) {
  // Products, for which the initial value matters, in two rows of three points.
  EXPECT_EQ(run(R"(
      tile.kernel @f grid [2, 3] inputs 2 updates [1, 1] {
      ^bb0(%r: index, %p: index, %x: memref<2x3xi32>, %old: memref<38xi64>, %out: memref<2x3xi32>, %state: memref<38xi64>):
        %init = arith.constant 2 : i32
        %t = tile.load %x[%r, %p] : memref<2x3xi32> -> tensor<1x1xi32>
        %c = tile.carry %t, %state init %init : tensor<1x1xi32>, memref<38xi64>, i32 -> tensor<1x1xi32> {
        ^bb0(%a: i32, %b: i32):
          %d = arith.muli %a, %b : i32
          tile.yield %d : i32
        }
        tile.store %c, %out[%r, %p] : tensor<1x1xi32>, memref<2x3xi32>
      }
      func.func @main(%x: tensor<2x3xi32>, %s: tensor<38xi64>) -> tensor<2x3xi32> {
        %r:2 = exec.launch @f(%x, %s) {aliases = array<i64: 1, 1>, in_place} : (tensor<2x3xi32>, tensor<38xi64>) -> (tensor<2x3xi32>, tensor<38xi64>)
        return %r#0 : tensor<2x3xi32>
      })",
                {tensorOf(ElementType::i32, {2, 3}, {3, 5, 7, 11, 13, 17}),
                 tensorOf(ElementType::i64, {38}, std::vector<double>(38, 0))}),
            "[[2, 6, 30], [2, 22, 286]]");
}

} // namespace
