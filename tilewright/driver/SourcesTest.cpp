#include "tilewright/driver/Sources.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

using namespace mlir;

namespace tilewright::driver {
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
  EXPECT_EQ(sourcesOf(all),
            "model.py:6 jit(f)/mul, jit(f)/add; model.py:11 jit(f)/sum; model.py:12");
}

TEST_F(Sources, TakesWhatIsKnown) {
  EXPECT_EQ(sourcesOf(UnknownLoc::get(&context)), "");
  EXPECT_EQ(sourcesOf(op("jit(f)/mul", UnknownLoc::get(&context))), "jit(f)/mul");
}

TEST_F(Sources, EndsForLocationsThatShareParts) {
  Location all = line(1);
  for (int i = 0; i < 64; ++i)
    all =
        FusedLoc::get({all, op("a", all)}, StringAttr::get(&context, std::to_string(i)), &context);
  EXPECT_NE(sourcesOf(all).find("model.py:1"), std::string::npos);
}

} // namespace
} // namespace tilewright::driver
