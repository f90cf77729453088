// Layouts: examples that can be checked by hand.
#include "tilewright/dialect/sm/BankConflicts.h"
#include "tilewright/dialect/sm/SmDialect.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/MLIRContext.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright::sm;
using testing::ElementsAre, testing::HasSubstr;

namespace {

Layout parsed(llvm::StringRef text) {
  std::string error;
  std::optional<Layout> layout = Layout::parse(text, &error);
  EXPECT_TRUE(layout) << error;
  return layout.value_or(Layout());
}

TEST(Layout, TheInverseIsCodeThatAThreadCanRun) {
  llvm::SmallVector<IndexForm> forms =
      parsed("[2 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]").indexForms();
  EXPECT_THAT(forms[0].registers, ElementsAre(0, 0, 8, 8));
  EXPECT_THAT(forms[0].terms,
              ElementsAre(IndexTerm{Axis::lane, 4, 8, 1}, IndexTerm{Axis::warp, 1, 2, 16}));
  EXPECT_THAT(forms[1].registers, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(forms[1].terms, ElementsAre(IndexTerm{Axis::lane, 1, 4, 2}));
}

TEST(Layout, BlockedGivesEachThreadAVectorAndCoversMoreThanTheTile) {
  EXPECT_EQ(Layout::blocked({16, 128}, {1, 0}, 4, 32, 4).str(),
            "[4 reg:4, 4 warp] [32 lane, 4 reg]");
  EXPECT_EQ(Layout::blocked({1000}, {0}, 4, 32, 4).str(), "[2 reg:4, 4 warp, 32 lane, 4 reg]");
  EXPECT_EQ(Layout::blocked({8}, {0}, 1, 32, 4).str(), "[8 lane] copies [4 lane:8, 4 warp]");
  EXPECT_EQ(Layout::blocked({}, {}, 1, 32, 2).str(), "copies [32 lane, 2 warp]");
  // 96 = 3 * 32 columns: no lane is idle.
  EXPECT_EQ(Layout::blocked({64, 96}, {1, 0}, 4, 32, 4).cover(1), 96);
  // A row in one warp.
  EXPECT_EQ(Layout::blocked({4, 1024}, {1, 0}, 4, 32, 4, {0, 1}).str(),
            "[4 warp] [8 reg:4, 32 lane, 4 reg]");
}

TEST(Layout, VectorsEndWhereAFlipOrAPadBegins) {
  EXPECT_EQ(parsed("[32 lane, 4 reg]").vectorLength(0), 4);
  EXPECT_EQ(parsed("[4 reg, 32 lane]").vectorLength(0), 1);
  EXPECT_EQ(parsed("[64 offset] xor [offset 4 to offset 1]").vectorLength(0, Axis::offset), 2);
  EXPECT_EQ(parsed("[64 offset] pad [12, 1]").vectorLength(0, Axis::offset), 4);
}

TEST(Layout, AReductionNumbersTheRegistersThatAreLeft) {
  std::optional<Layout> row = parsed("[4 reg:4, 4 warp] [32 lane, 4 reg]").reduce({1});
  ASSERT_TRUE(row);
  EXPECT_EQ(row->str(), "[4 reg, 4 warp] copies [32 lane]");
  EXPECT_FALSE(parsed("[8 lane:8] [8 lane] xor [lane 0 to lane 3]").reduce({1}))
      << "a bit that goes flips one that stays";
}

TEST(Layout, WhatIsWrongIsSaid) {
  for (auto [text, message] : std::initializer_list<std::pair<const char *, const char *>>{
           {"[2 lane:2] [4 lane]", "maps two indices to the same position"},
           {"[4 bank]", "expects an axis"},
           {"[0 lane]", "expects a digit's size from 1 to 2^40, got 0"},
           {"[4 lane] pad [4]", "expects ','"},
           {"[4 lane] xor [lane 0 lane 1]", "expects 'to'"},
           {"[4 lane] xor [lane 1 to lane 5]", "bit 5 of axis lane, which is not a bit"},
           {"[4 lane] pad [4, 1] copies [2 warp]", "in this order, got 'copies'"},
           {"[4 offset:8] [8 offset] pad [7, 1]",
            "neither a divisor nor a multiple of the stride 8"},
           {"[4 lane] )", "before ')'"}}) {
    std::string error;
    EXPECT_FALSE(Layout::parse(text, &error)) << text;
    EXPECT_THAT(error, HasSubstr(message)) << text;
  }
}

TEST(ViewMap, ViewsOfTileAreDigits) {
  mlir::MLIRContext context;
  mlir::AffineExpr i = mlir::getAffineDimExpr(0, &context), j = mlir::getAffineDimExpr(1, &context);
  auto map = [&](unsigned dims, llvm::ArrayRef<mlir::AffineExpr> results,
                 llvm::ArrayRef<int64_t> result, llvm::ArrayRef<int64_t> source) {
    return viewMapOf(mlir::AffineMap::get(dims, 0, results, &context), result, source);
  };
  const Layout rows = parsed("[8 lane:4] [4 lane, 2 reg]"); // 8x8
  // Transpose.
  EXPECT_EQ(resultLayout(rows, *map(2, {j, i}, {8, 8}, {8, 8}))->str(),
            "[4 lane, 2 reg] [8 lane:4]");
  // To a vector, and back.
  std::optional<ViewMap> flat = map(1, {i.floorDiv(8), i % 8}, {64}, {8, 8});
  EXPECT_EQ(resultLayout(rows, *flat)->str(), "[32 lane, 2 reg]");
  EXPECT_EQ(sourceLayout(parsed("[32 lane, 2 reg]"), *flat)->str(), rows.str());
  // 8x8 to 4x16, which divides a sum.
  std::optional<ViewMap> reshape =
      map(2, {(i * 16 + j).floorDiv(8), (i * 16 + j) % 8}, {4, 16}, {8, 8});
  ASSERT_TRUE(reshape);
  EXPECT_EQ(resultLayout(rows, *reshape)->str(), "[4 lane:8] [8 lane, 2 reg]");
  // A broadcast's source is copied along the dimension that it lacks.
  EXPECT_EQ(sourceLayout(rows, *map(2, {i}, {8, 8}, {8}))->str(), "[8 lane:4] copies [4 lane]");
  // A slice of the second half reads other registers.
  std::optional<ViewMap> half = map(1, {i + 4}, {4}, {8});
  EXPECT_EQ(sourceLayout(parsed("[4 lane] copies [8 lane:4]"), *half)->str(),
            "[2 reg, 4 lane] copies [8 lane:4]");
  EXPECT_THAT(*registersOfView(parsed("[4 lane] copies [8 lane:4]"),
                               parsed("[2 reg, 4 lane] copies [8 lane:4]"), *half),
              ElementsAre(1));
  // Not expressible as digits: 24 elements as 6x4 and as 8x3.
  EXPECT_FALSE(map(2, {(i * 3 + j).floorDiv(4), (i * 3 + j) % 4}, {8, 3}, {6, 4}));
}

TEST(BankConflicts, ColumnsOfAMatrixConflictUntilTheyAreSwizzled) {
  // 32x32 f32, written by rows and read by columns.
  const Layout memory = Layout::packed({32, 32}, {1, 0});
  const SharedAccess rows{parsed("[32 reg] [32 lane]"), 1},
      columns{parsed("[32 lane] [32 reg]"), 1};
  EXPECT_EQ(conflictDegree(rows, memory, 4), 1);
  EXPECT_EQ(conflictDegree(columns, memory, 4), 32);
  std::optional<Layout> swizzled = swizzleFor(memory, {rows, columns}, 4);
  ASSERT_TRUE(swizzled);
  EXPECT_EQ(swizzled->str(), "[32 offset:32] [32 offset] xor [offset 5:5 to offset 0]");
  EXPECT_EQ(conflictDegree(rows, *swizzled, 4), 1);
  EXPECT_EQ(conflictDegree(columns, *swizzled, 4), 1);
  // Padding also avoids conflicts; this case is counted.
  const Layout padded(memory.getDims(), {}, {}, Pad{32, 1});
  EXPECT_EQ(conflictDegree(columns, padded, 4), 1);
  EXPECT_EQ(conflictDegree(rows, padded, 4), 1);
}

} // namespace
