// The meaning of tile.sort.
#include "tilewright/interpret/Evaluator.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/interpret/kernels/testing/Tensors.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

namespace {

class TileSort : public testing::Test {
protected:
  TileSort() {
    context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::memref::MemRefDialect, stablehlo::StablehloDialect, exec::ExecDialect,
                        tile::TileDialect>();
  }

  /// Sorts 2x4 keys with their indices along `dim`, by the last digit of each key. Returns keys and
  /// indices as text, or the failure.
  std::string sorted(int dim, std::string_view limits, const Tensor &keys) {
    const std::string text = concat(R"(
      tile.kernel @f grid [1] inputs 1 {
      ^bb0(%p: index, %x: memref<2x4xi32>, %keys: memref<2x4xi32>, %order: memref<2x4xi32>):
        %0 = arith.constant 0 : index
        %2 = arith.constant 2 : index
        %3 = arith.constant 3 : index
        %5 = arith.constant 5 : index
        %t = tile.load %x[%0, %0] : memref<2x4xi32> -> tensor<2x4xi32>
        %i = tile.iota %0 dim )",
                                    dim, R"( : tensor<2x4xi32>
        %s:2 = tile.sort %t, %i )",
                                    limits, " dim ", dim, R"(
            : tensor<2x4xi32>, tensor<2x4xi32> -> tensor<2x4xi32>, tensor<2x4xi32> {
        ^bb0(%a: i32, %b: i32, %j: i32, %k: i32):
          %ten = arith.constant 10 : i32
          %c = arith.remsi %a, %ten : i32
          %d = arith.remsi %b, %ten : i32
          %less = arith.cmpi slt, %c, %d : i32
          tile.yield %less : i1
        }
        tile.store %s#0, %keys[%0, %0] : tensor<2x4xi32>, memref<2x4xi32>
        tile.store %s#1, %order[%0, %0] : tensor<2x4xi32>, memref<2x4xi32>
      }
      func.func @main(%x: tensor<2x4xi32>) -> (tensor<2x4xi32>, tensor<2x4xi32>) {
        %r:2 = exec.launch @f(%x) : (tensor<2x4xi32>) -> (tensor<2x4xi32>, tensor<2x4xi32>)
        return %r#0, %r#1 : tensor<2x4xi32>, tensor<2x4xi32>
      })");
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    Result<RuntimeValues> results = evaluate(*module, "main", {keys});
    if (!results.isOk())
      return std::move(results).takeStatus().toString();
    return concat((*results)[0].tensor().toString(), " ", (*results)[1].tensor().toString());
  }

  const Tensor keys = tensorOf(ElementType::i32, {2, 4}, {13, 21, 11, 10, 42, 34, 14, 51});
  mlir::MLIRContext context;
};

TEST_F(TileSort, EqualElementsKeepTheirOrder) {
  EXPECT_EQ(sorted(1, "", keys), "[[10, 21, 11, 13], [51, 42, 34, 14]] "
                                 "[[3, 1, 2, 0], [3, 0, 1, 2]]");
}

TEST_F(TileSort, AnyDimensionIsSorted) {
  EXPECT_EQ(sorted(0, "", keys), "[[42, 21, 11, 10], [13, 34, 14, 51]] "
                                 "[[1, 0, 0, 0], [0, 1, 1, 1]]");
}

TEST_F(TileSort, ElementsBehindTheCountKeepTheirPlaces) {
  EXPECT_EQ(sorted(1, "count %3", keys), "[[21, 11, 13, 10], [42, 34, 14, 51]] "
                                         "[[1, 2, 0, 3], [0, 1, 2, 3]]");
  EXPECT_EQ(sorted(1, "count %0", keys), "[[13, 21, 11, 10], [42, 34, 14, 51]] "
                                         "[[0, 1, 2, 3], [0, 1, 2, 3]]");
}

TEST_F(TileSort, MergesTwoSortedParts) {
  const Tensor parts = tensorOf(ElementType::i32, {2, 4}, {1, 3, 11, 2, 5, 6, 1, 9});
  EXPECT_EQ(sorted(1, "count %3 merge %2", parts), "[[1, 11, 3, 2], [1, 5, 6, 9]] "
                                                   "[[0, 2, 1, 3], [2, 0, 1, 3]]");
}

TEST_F(TileSort, LimitsOutsideOfTheTileAreErrors) {
  EXPECT_THAT(sorted(1, "count %5", keys), HasSubstr("has count 5"));
  EXPECT_THAT(sorted(1, "count %2 merge %3", keys), HasSubstr("merge 3"));
}

} // namespace
