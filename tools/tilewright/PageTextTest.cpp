#include "tools/tilewright/PageText.h"

#include "tilewright/support/Errors.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::tools;
using testing::HasSubstr;
using testing::Not;

TEST(PageText, EveryErrorHasItsPageInside) {
  for (Error error : allErrors()) {
    auto page = errorPage(idOf(error));
    ASSERT_TRUE(page) << idOf(error);
    EXPECT_THAT(std::string(*page), HasSubstr(std::string(summaryOf(error))));
  }
  EXPECT_FALSE(errorPage("E9999"));
}

TEST(PageText, MarksBecomeTextAndParagraphsAreFilled) {
  EXPECT_EQ(pageText("# E1: a `title`\n\n**What to do.** Read\n[the page](x.md), or not.\n\n"
                     "    E1 import:   as it is\n",
                     /*isTerminal=*/false, 24),
            "E1: a title\n===========\n\nWhat to do. Read the\npage, or not.\n\n"
            "    E1 import:   as it is\n");
}

TEST(PageText, ATerminalShowsTitlesBold) {
  const std::string text = pageText("# Title\n\n**What to do.** This.\n", /*isTerminal=*/true);
  EXPECT_THAT(text, HasSubstr("\033[1mTitle\033[0m"));
  EXPECT_THAT(text, HasSubstr("\033[1mWhat to do.\033[0m This."));
  EXPECT_THAT(text, Not(HasSubstr("**")));
}
