// Tests when a matmul is worth splitting along K, and into how many pieces.
#include "tilewright/transform/fuse/ProductCost.h"

#include "mlir/AsmParser/AsmParser.h"

#include <gtest/gtest.h>

namespace tilewright::fuse {
namespace {

exec::TargetAttr targetOf(const std::string &text) {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<exec::ExecDialect>();
  return mlir::cast<exec::TargetAttr>(mlir::parseAttribute("#exec.target<" + text + ">", &context));
}

exec::TargetAttr hopper(int64_t units = 132) {
  return targetOf(
      "chip = \"sm_90a\", units = " + std::to_string(units) +
      ", gpu = <>, matrix = <unit = wgmma, types = [bf16]>, rates = <f16 = 2048, copy_latency = "
      "1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, l2_bytes = 50000000, "
      "cluster = 2>");
}

exec::TargetAttr blackwell() {
  return targetOf(
      "chip = \"sm_100a\", units = 148, gpu = <>, matrix = <unit = tcgen05, types = [bf16]>, rates "
      "= "
      "<f16 = 4096, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 4300, "
      "l2_bytes = 126000000, cluster = 2>");
}

ProductSizes bf16(int64_t m, int64_t n, int64_t k, int64_t batch = 1) {
  return {.batch = batch, .m = m, .n = n, .k = k, .rate = 2048};
}

/// The number of pieces that the pass would choose.
int64_t piecesOf(const ProductSizes &sizes, exec::TargetAttr target, int64_t granule = 64) {
  const SplitCost whole = costOfPieces(sizes, target, 1), best = bestSplit(sizes, target, granule);
  return isWorthSplitting(whole, best) ? best.pieces : 1;
}

TEST(ProductCost, FewTilesAndALongContractionAreSplit) {
  for (ProductSizes sizes : {bf16(128, 128, 16384), bf16(64, 512, 8192), bf16(1, 128, 65536)}) {
    const int64_t pieces = piecesOf(sizes, hopper());
    EXPECT_GT(pieces, 1) << sizes.m;
    EXPECT_EQ(sizes.k % (pieces * 64), 0) << sizes.m;
    EXPECT_LE(costOfPieces(sizes, hopper(), pieces).tiles, 132) << "more than one wave";
  }
}

TEST(ProductCost, EnoughTilesAreNotSplit) {
  EXPECT_EQ(piecesOf(bf16(4096, 4096, 4096), hopper()), 1);
  EXPECT_EQ(piecesOf(bf16(1536, 1536, 16384), hopper()), 1) << "144 tiles of 128x128";
  EXPECT_EQ(piecesOf(bf16(128, 128, 16384, /*batch=*/64), hopper()), 1) << "a batch fills the chip";
  EXPECT_EQ(piecesOf(bf16(16, 16384, 16384), hopper()), 1) << "limited by memory";
  EXPECT_EQ(piecesOf(bf16(128, 128, 16384), hopper(/*units=*/1)), 1);
}

/// A second kernel costs its launch, so what a short contraction gains must be more.
TEST(ProductCost, ShortContractionsAreNotSplit) {
  int64_t first = 0;
  for (int64_t k = 256; k <= 16384 && !first; k += 256)
    if (piecesOf(bf16(128, 128, k), hopper()) > 1)
      first = k;
  EXPECT_EQ(first, 2816);
  for (int64_t k = 4096; k <= 65536; k *= 2)
    EXPECT_GT(piecesOf(bf16(128, 128, k), hopper()), 1) << k;
}

TEST(ProductCost, PiecesAreMultiplesOfTheGranule) {
  EXPECT_EQ(piecesOf(bf16(128, 128, 16381), hopper()), 1) << "a prime number";
  EXPECT_EQ(piecesOf(bf16(128, 128, 16384 + 32), hopper()), 1) << "not a multiple of 64";
  EXPECT_GT(piecesOf(bf16(128, 128, 16381), hopper(), /*granule=*/0), 1);
  EXPECT_EQ(piecesOf(bf16(128, 128, 64 * 243), hopper()), 27);
}

/// Partial sums are written and read again: large results have fewer pieces.
TEST(ProductCost, PartialSumsCost) {
  const ProductSizes small = bf16(64, 64, 32768), large = bf16(512, 256, 32768);
  EXPECT_GT(piecesOf(small, hopper()), piecesOf(large, hopper()));
  EXPECT_GE(piecesOf(large, hopper()), 2);
}

TEST(ProductCost, WarpsHaveSmallerTilesThanWarpgroups) {
  exec::TargetAttr ampere = targetOf("chip = \"sm_80\", units = 108, gpu = <>, matrix = <unit = "
                                     "mma, types = [bf16]>, rates = <f16 = 1024, "
                                     "copy_latency = 700, l2_bytes_per_cycle = 5120, "
                                     "memory_bytes_per_cycle = 1103, l2_bytes = 40000000>");
  ProductSizes sizes = bf16(16, 64, 16384);
  sizes.rate = 1024;
  EXPECT_EQ(costOfPieces(bf16(64, 64, 16384), ampere, 1).tiles, 16);
  EXPECT_EQ(costOfPieces(bf16(64, 64, 16384), hopper(), 1).tiles, 4) << "tiles of 64 rows";
  EXPECT_GT(piecesOf(sizes, ampere), 8);
}

TEST(ProductCost, TensorMemoryHasTilesOf64Or128Rows) {
  ProductSizes sizes = bf16(64, 64, 16384);
  sizes.rate = 4096;
  EXPECT_EQ(costOfPieces(sizes, blackwell(), 1).tiles, 4) << "not 16 rows as with mma.sync";
  sizes.m = 256;
  sizes.n = 16;
  EXPECT_GE(costOfPieces(sizes, blackwell(), 1).tiles, 2) << "not 256 rows";
  EXPECT_GT(piecesOf(sizes, blackwell()), 8);
}

/// An accumulator of 64 rows takes the tensor cores as long as one of 128.
TEST(ProductCost, HalfOfTheLanesOfTensorMemoryCostAsMuchAsAll) {
  // So many multiply-adds for each byte that loads do not limit them.
  ProductSizes half = bf16(64, 4096, 16384, /*batch=*/148), whole = bf16(128, 4096, 16384, 148);
  half.rate = whole.rate = 512;
  EXPECT_DOUBLE_EQ(costOfPieces(half, blackwell(), 1).cycles,
                   costOfPieces(whole, blackwell(), 1).cycles);
  EXPECT_LT(costOfPieces(half, hopper(), 1).cycles, costOfPieces(whole, hopper(), 1).cycles);
}

} // namespace
} // namespace tilewright::fuse
