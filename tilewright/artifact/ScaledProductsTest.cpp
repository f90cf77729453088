#include "tilewright/artifact/ScaledProducts.h"

#include "tilewright/artifact/Statistics.h"

#include <functional>
#include <gtest/gtest.h>

namespace tilewright::artifact {
namespace {

/// A product of MXFP8 with a factor, and the launch that it describes.
ScaledProduct sampleProduct() {
  ScaledProduct product;
  product.lhs = 0, product.rhs = 1, product.lhsScale = 2, product.rhsScale = 3, product.factor = 4;
  product.result = 5;
  product.block = 32;
  product.batch = 2, product.rows = 130, product.columns = 48, product.depth = 160;
  return product;
}
Executable sampleLaunch(const ScaledProduct &product) {
  Executable executable;
  executable.kernels.resize(1);
  LaunchStep launch;
  for (int64_t bytes :
       {product.lhsBytes(), product.rhsBytes(), product.lhsScaleBytes(), product.rhsScaleBytes()})
    launch.buffers.push_back({0, 0, product.batch * bytes});
  launch.buffers.push_back({0, 0, 4});
  launch.buffers.push_back({0, 0, product.batch * product.resultBytes()});
  executable.blocks.resize(1);
  executable.blocks[0].steps.push_back({launch, "product", "", ""});
  return executable;
}

TEST(ScaledProducts, KnowTheirBytes) {
  const ScaledProduct product = sampleProduct();
  EXPECT_EQ(product.lhsBytes(), 130 * 160);
  EXPECT_EQ(product.paddedBlocks(), 8); // 5 blocks, in lines of 128 elements
  EXPECT_EQ(product.lhsScaleBytes(), 256 * 8);
  EXPECT_EQ(product.rhsScaleBytes(), 128 * 8);
  EXPECT_EQ(product.resultBytes(), 130 * 48 * 4);
  ScaledProduct packed = product;
  packed.lhsType = packed.rhsType = ElementType::f4E2M1FN;
  packed.scaleType = ElementType::f8E4M3FN;
  packed.block = 16;
  EXPECT_EQ(packed.lhsBytes(), 130 * 80);
  EXPECT_EQ(packed.paddedBlocks(), 16); // in lines of 256 elements
}

TEST(ScaledProducts, AreWhatWasAdded) {
  const ScaledProduct product = sampleProduct();
  Executable executable = sampleLaunch(product);
  EXPECT_TRUE(scaledProductsOf(executable).empty());
  addScaledProducts(executable, {product});
  EXPECT_EQ(scaledProductsOf(executable), std::vector{product});
}

/// The runtime passes addresses and sizes to a library: whatever a file claims must fit.
TEST(ScaledProducts, OneThatDoesNotFitItsKernelIsNone) {
  const Executable launch = sampleLaunch(sampleProduct());
  auto isRefused = [&](const std::function<void(ScaledProduct &)> &change) {
    ScaledProduct product = sampleProduct();
    change(product);
    Executable executable = launch;
    addScaledProducts(executable, {product});
    return scaledProductsOf(executable).empty();
  };
  EXPECT_FALSE(isRefused([](ScaledProduct &) {}));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.kernel = 1; }));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.lhs = 9; }));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.rows = 131; }));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.depth = 192; }));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.batch = 0; }));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.batch = int64_t(1) << 62; }));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.columns = -48; }));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.block = 0; }));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.block = 16; }));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.scaleType = ElementType::f8E4M3FN; }));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.lhsType = ElementType::f4E2M1FN; }));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.resultType = ElementType::f64; }));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.resultType = ElementType::bf16; }));
  EXPECT_TRUE(isRefused([](ScaledProduct &p) { p.factor = 5; }));
}

TEST(ScaledProducts, AListOfAnotherLengthIsNone) {
  Executable executable = sampleLaunch(sampleProduct());
  const std::vector<int64_t> values(17, 1);
  addStatistic(executable, "scaled-products", values);
  EXPECT_TRUE(scaledProductsOf(executable).empty());
}

} // namespace
} // namespace tilewright::artifact
