#include "tilewright/dialect/source/Source.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

using namespace mlir;

namespace tilewright::source {
namespace {

class Sources : public testing::Test {
protected:
  Location line(int number) {
    return FileLineColLoc::get(&context, "model.py", static_cast<unsigned>(number), 1);
  }
  Location op(StringRef name, Location where) {
    return NameLoc::get(StringAttr::get(&context, name), where);
  }
  MLIRContext context;
};

TEST_F(Sources, NamesEachLineAndOpOnce) {
  Location mul = op("jit(f)/mul", CallSiteLoc::get(line(6), line(20)));
  Location all = FusedLoc::get(
      &context, {mul, op("jit(f)/add", line(6)), op("jit(f)/sum", line(11)),
                 FusedLoc::get({op("jit(f)/mul", line(6)), line(12)}, StringAttr(), &context)});
  EXPECT_EQ(opsOf(all), "model.py:6 jit(f)/mul, jit(f)/add; model.py:11 jit(f)/sum; model.py:12");
}

TEST_F(Sources, TakesWhatIsKnown) {
  EXPECT_EQ(opsOf(UnknownLoc::get(&context)), "");
  EXPECT_EQ(opsOf(op("jit(f)/mul", UnknownLoc::get(&context))), "jit(f)/mul");
}

TEST_F(Sources, EndsForLocationsThatShareParts) {
  Location all = line(1);
  for (int i = 0; i < 64; ++i)
    all =
        FusedLoc::get({all, op("a", all)}, StringAttr::get(&context, std::to_string(i)), &context);
  EXPECT_NE(opsOf(all).find("model.py:1"), std::string::npos);
}

TEST_F(Sources, TakesTheInnermostLineAndItsName) {
  Location mul = op("jit(f)/mul", CallSiteLoc::get(op("layer", line(6)), line(20)));
  EXPECT_EQ(placeOf(mul), "model.py:6:1");
  EXPECT_EQ(placeAndNameOf(mul), "model.py:6:1 (jit(f)/mul)");
  EXPECT_EQ(placeAndNameOf(line(3)), "model.py:3:1");
  EXPECT_EQ(placeAndNameOf(op("x", UnknownLoc::get(&context))), "x");
  EXPECT_FALSE(lineOf(UnknownLoc::get(&context)));
}

/// A walk that recursed would overflow the stack.
TEST_F(Sources, TakesLocationsOfAnyDepth) {
  Location deep = line(1);
  for (int i = 0; i < 200'000; ++i)
    deep = CallSiteLoc::get(deep, line(2));
  EXPECT_EQ(placeOf(deep), "") << "given up after 10,000 frames";
}

} // namespace
} // namespace tilewright::source
