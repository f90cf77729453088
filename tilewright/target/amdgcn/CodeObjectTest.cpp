#include "tilewright/target/amdgcn/CodeObject.h"
#include "tilewright/target/amdgcn/GenerateCode.h"

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::amdgcn {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char *copyKernel = R"(
#rows = #sm.layout<[64 lane, 4 reg]>
sm.kernel @copy grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<256xf32>, %out: memref<256xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] : memref<256xf32> -> tensor<256xf32, #rows>
  tile.store %t, %out[%c0] : tensor<256xf32, #rows>, memref<256xf32>
}
)";

Result<GpuCode> compiled(std::string_view text, const Chip &chip) {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<sm::SmDialect, tile::TileDialect, mlir::arith::ArithDialect,
                      mlir::affine::AffineDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(llvm::StringRef(text.data(), text.size()), &context);
  return generateCode(*module, chip);
}

TEST(AmdCodeObject, HasEachKernelWithItsBudget) {
  for (const Chip &chip : chips()) {
    auto code = compiled(copyKernel, chip);
    ASSERT_TRUE(code.isOk()) << std::move(code).takeStatus().message();
    EXPECT_THAT(code->object, StartsWith("\177ELF"));
    ASSERT_EQ(code->budgets.size(), 1U);
    EXPECT_EQ(code->budgets[0].symbol, "copy");
    EXPECT_GE(code->budgets[0].registers, 4);
    EXPECT_EQ(code->budgets[0].spillStoreBytes, 0);
    ASSERT_EQ(code->kernels.size(), 1U);
    EXPECT_EQ(code->kernels[0].threads, 64);
  }
}

TEST(AmdCodeObject, AModuleWithoutKernelsHasNone) {
  auto code = compiled("module {}", chips().front());
  ASSERT_TRUE(code.isOk());
  EXPECT_EQ(code->object, "");
}

TEST(AmdCodeObject, WhatTheLinkerSaysIsPassedOn) {
  Status status = linkObject("not an object").takeStatus();
  EXPECT_EQ(status.error(), Error::gpuCodegen);
  EXPECT_THAT(status.message(), HasSubstr("failed with exit code 1"));
  EXPECT_THAT(status.message(), HasSubstr("unknown directive"));
}

TEST(AmdCodeObject, AFileWithoutTheNoteIsRefused) {
  for (const char *text : {"", "\177ELF", "not an object"}) {
    Status status = budgetsOf(text).takeStatus();
    EXPECT_EQ(status.error(), Error::gpuCodegen);
    EXPECT_THAT(status.message(), HasSubstr("no note about its kernels"));
  }
}

} // namespace
} // namespace tilewright::amdgcn
