#include "tilewright/support/text/Suggest.h"

#include <gtest/gtest.h>
#include <vector>

using namespace tilewright;

TEST(Suggest, CountsLettersAddedRemovedReplacedAndSwapped) {
  EXPECT_EQ(editDistance("compile", "compile"), 0u);
  EXPECT_EQ(editDistance("complie", "compile"), 1u);
  EXPECT_EQ(editDistance("", "run"), 3u);
  EXPECT_EQ(editDistance("run", "rum"), 1u);
  EXPECT_EQ(editDistance("input", "inputs"), 1u);
}

TEST(Suggest, ASlipOfTheFingerIsUnderstood) {
  const std::vector<std::string> commands = {"compile", "run", "print", "explain", "comm"};
  EXPECT_EQ(suggestionFor("complie", commands), "compile");
  EXPECT_EQ(suggestionFor("explian", commands), "explain");
  EXPECT_EQ(suggestionFor("rnu", commands), "run");
  EXPECT_EQ(didYouMean("prnit", commands), "; did you mean 'print'?");
}

TEST(Suggest, AnotherWordIsNotGuessedAt) {
  const std::vector<std::string> commands = {"compile", "run", "print"};
  EXPECT_EQ(suggestionFor("benchmark", commands), std::nullopt);
  EXPECT_EQ(suggestionFor("x", commands), std::nullopt);
  EXPECT_EQ(didYouMean("benchmark", commands), "");
}
