#include "tilewright/interpret/PassLog.h"

#include "tilewright/interpret/PatternLog.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright::interpret;
using testing::HasSubstr;

namespace {

/// A module with a location, and the text that logs print about it.
class PassLogs : public testing::Test {
protected:
  PassLogs()
      : module(mlir::ModuleOp::create(
            mlir::FileLineColLoc::get(mlir::Builder(&context).getStringAttr("a.py"), 3, 7))) {}

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string text;
  llvm::raw_string_ostream out{text};
};

TEST_F(PassLogs, ALineHasThePassTheOpItsPlaceAndTheDecision) {
  PassLog log(&context, "fuse-group", out);
  TILEWRIGHT_LOG("fuse-group", *module, "has ", 2, " kernels");
  EXPECT_EQ(text, "fuse-group: 'builtin.module' at a.py:3:7: has 2 kernels\n");
}

TEST_F(PassLogs, AStageSelectsItsPassesAndAllSelectsEveryPass) {
  {
    PassLog log(&context, "tile, fuse", out);
    TILEWRIGHT_LOG("fuse-group", *module, "first");
    TILEWRIGHT_LOG("tile", *module, "second");
    TILEWRIGHT_LOG("fuses-group", *module, "not selected");
    TILEWRIGHT_LOG("simplify-inline", *module, "not selected");
  }
  PassLog log(&context, "all", out);
  TILEWRIGHT_LOG("simplify-inline", *module, "third");
  EXPECT_EQ(text, "fuse-group: 'builtin.module' at a.py:3:7: first\n"
                  "tile: 'builtin.module' at a.py:3:7: second\n"
                  "simplify-inline: 'builtin.module' at a.py:3:7: third\n");
}

TEST_F(PassLogs, WithoutALogNoTextIsBuilt) {
  int built = 0;
  auto build = [&] { return ++built; };
  TILEWRIGHT_LOG("fuse-group", *module, build());
  EXPECT_FALSE(PassLog::isOn());
  EXPECT_EQ(built, 0);
}

TEST_F(PassLogs, AnotherCompilationIsNotPrinted) {
  mlir::MLIRContext other;
  {
    PassLog log(&other, "fuse", out);
    TILEWRIGHT_LOG("fuse-group", *module, "not selected");
  }
  EXPECT_EQ(text, "compile.log-passes: no decision of 'fuse' was logged\n");
  text.clear();
  PassLog log(nullptr, "fuse", out);
  TILEWRIGHT_LOG("fuse-group", *module, "selected");
  EXPECT_THAT(text, HasSubstr(": selected\n"));
}

/// Matches any op; tests call its listener themselves.
struct NoPattern : mlir::RewritePattern {
  explicit NoPattern(mlir::MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {
    setDebugName("noPattern");
  }
  mlir::LogicalResult matchAndRewrite(mlir::Operation *, mlir::PatternRewriter &) const override {
    return mlir::failure();
  }
};

TEST_F(PassLogs, EachAttemptOfAPatternIsALineWithItsReason) {
  PassLog log(&context, "simplify", out);
  PatternLog patterns("simplify-canonicalize", /*next=*/nullptr);
  const NoPattern pattern(&context);
  patterns.notifyPatternBegin(pattern, *module);
  patterns.notifyMatchFailure(module->getLoc(),
                              [](mlir::Diagnostic &diag) { diag << "it has " << 2 << " uses"; });
  patterns.notifyPatternEnd(pattern, mlir::failure());
  patterns.notifyPatternBegin(pattern, *module);
  patterns.notifyPatternEnd(pattern, mlir::failure());
  patterns.notifyPatternBegin(pattern, *module);
  patterns.notifyPatternEnd(pattern, mlir::success());
  const std::string start = "simplify-canonicalize: 'builtin.module' at a.py:3:7: noPattern ";
  EXPECT_EQ(text, start + "does not apply: it has 2 uses\n" + start +
                      "does not apply: it gives no reason\n" + start + "applies\n");
}

} // namespace
