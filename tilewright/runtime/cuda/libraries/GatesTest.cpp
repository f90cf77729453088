#include "tilewright/runtime/cuda/libraries/Gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::runtime::cuda::libraries {
namespace {

using artifact::ScaledProduct;
using numerics::ElementType;
using testing::HasSubstr;

ScaledProduct mxfp8(int64_t rows = 256, int64_t columns = 128, int64_t depth = 512) {
  ScaledProduct product;
  product.block = 32;
  product.batch = 1, product.rows = rows, product.columns = columns, product.depth = depth;
  return product;
}
ScaledProduct nvfp4(int64_t rows = 256, int64_t columns = 128, int64_t depth = 512) {
  ScaledProduct product = mxfp8(rows, columns, depth);
  product.lhsType = product.rhsType = ElementType::f4E2M1FN;
  product.scaleType = ElementType::f8E4M3FN;
  product.block = 16;
  return product;
}

TEST(Gates, AdmitBothFormatsOnBlackwell) {
  for (Library library : allLibraries)
    for (const ScaledProduct &product : {mxfp8(), nvfp4()})
      EXPECT_EQ(whyNot(library, library == Library::cudnn ? 91900 : 130100, 100, product), "");
}

TEST(Gates, AVersionWithoutBlockScalingIsRefused) {
  EXPECT_THAT(whyNot(Library::cublasLt, 120601, 100, mxfp8()),
              HasSubstr("needs version 12.8.0 for block-scaled products, got 12.6.1"));
  EXPECT_THAT(whyNot(Library::cudnn, 90900, 100, mxfp8()), HasSubstr("needs version 9.10.0"));
  EXPECT_THAT(whyNot(Library::cudnn, 100000, 100, mxfp8()),
              HasSubstr("is known up to 9.99.99, got 10.0.0"));
}

TEST(Gates, AGlobalScaleNeedsCudnn9_13) {
  ScaledProduct product = nvfp4();
  EXPECT_EQ(whyNot(Library::cudnn, 91200, 100, product), "");
  product.factor = 4;
  EXPECT_THAT(whyNot(Library::cudnn, 91200, 100, product),
              HasSubstr("needs version 9.13.0 for a global scale, got 9.12.0"));
  EXPECT_EQ(whyNot(Library::cudnn, 91300, 100, product), "");
  EXPECT_EQ(whyNot(Library::cublasLt, 120800, 100, product), "");
}

TEST(Gates, ChipsComeWithTheirRelease) {
  EXPECT_THAT(whyNot(Library::cublasLt, 130100, 90, mxfp8()),
              HasSubstr("has no block-scaled products for sm_90"));
  EXPECT_THAT(whyNot(Library::cublasLt, 120900, 110, mxfp8()),
              HasSubstr("needs version 13.0.0 for sm_110, got 12.9.0"));
  EXPECT_EQ(whyNot(Library::cublasLt, 130000, 110, mxfp8()), "");
}

TEST(Gates, FormatsThatLibrariesLackAreRefused) {
  ScaledProduct mxfp4 = nvfp4();
  mxfp4.scaleType = ElementType::f8E8M0FNU;
  mxfp4.block = 32;
  ScaledProduct wide = mxfp8();
  wide.lhsType = wide.rhsType = ElementType::f8E5M2;
  for (Library library : allLibraries) {
    EXPECT_THAT(whyNot(library, library == Library::cudnn ? 91900 : 130100, 100, mxfp4),
                HasSubstr("has no product of f4E2M1FN and f4E2M1FN with scales of f8E8M0FNU"));
    EXPECT_THAT(whyNot(library, library == Library::cudnn ? 91900 : 130100, 100, wide),
                HasSubstr("has no product of f8E5M2 and f8E5M2"));
  }
  wide.lhsType = ElementType::f8E4M3FN;
  EXPECT_EQ(whyNot(Library::cublasLt, 130100, 100, wide), "");
}

TEST(Gates, RowsMustBeAligned) {
  EXPECT_THAT(whyNot(Library::cublasLt, 130100, 100, mxfp8(64, 64, 36)),
              HasSubstr("a multiple of the block of 32, got 36"));
  EXPECT_THAT(whyNot(Library::cublasLt, 130100, 100, nvfp4(64, 64, 48)),
              HasSubstr("rows of operands of a multiple of 16 bytes, got 24"));
  EXPECT_THAT(whyNot(Library::cublasLt, 130100, 100, mxfp8(64, 30, 64)),
              HasSubstr("rows of the result of a multiple of 16 bytes, got 120"));
  EXPECT_EQ(whyNot(Library::cublasLt, 130100, 100, mxfp8(63, 32, 64)), "");
}

/// The program has room for scales of a line of 256 elements, a library for those of 64.
TEST(Gates, ScalesMustBeWhereTheLibraryLooksForThem) {
  EXPECT_EQ(whyNot(Library::cublasLt, 130100, 100, nvfp4(128, 128, 64)), "");
  EXPECT_THAT(whyNot(Library::cublasLt, 130100, 100, nvfp4(129, 128, 64)),
              HasSubstr("needs scales for 4 blocks in a row, got room for 16"));
  EXPECT_EQ(whyNot(Library::cublasLt, 130100, 100, nvfp4(129, 128, 224)), "");
  ScaledProduct batched = nvfp4(128, 128, 64);
  batched.batch = 2;
  EXPECT_EQ(whyNot(Library::cublasLt, 130100, 100, batched), "");
  EXPECT_THAT(whyNot(Library::cudnn, 91900, 100, batched), HasSubstr("got room for 16"));
}

TEST(Gates, NameTheFirstVersionThatWouldDo) {
  ScaledProduct product = nvfp4();
  product.factor = 4;
  EXPECT_EQ(firstVersionFor(Library::cudnn, 100, product), 91300);
  EXPECT_EQ(firstVersionFor(Library::cublasLt, 103, product), 120900);
  EXPECT_EQ(firstVersionFor(Library::cublasLt, 90, product), 0);
}

} // namespace
} // namespace tilewright::runtime::cuda::libraries
