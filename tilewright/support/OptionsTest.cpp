#include "tilewright/support/Options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace tilewright;
using testing::HasSubstr;

TEST(Options, AreSetByDottedName) {
  Options options;
  ASSERT_TRUE(options.set("import.max-rank", "7").isOk());
  EXPECT_EQ(options.import.maxRank, 7);
}

/// E0001
TEST(Options, UnknownNameSuggestsTheNearest) {
  Status status = Options().set("import.max-ranks", "7");
  EXPECT_EQ(status.error(), Error::optionUnknown);
  EXPECT_THAT(status.message(), HasSubstr("'import.max-rank'"));
}

/// E0002
TEST(Options, WrongValueNamesWhatIsTaken) {
  Status status = Options().set("import.max-rank", "7x");
  EXPECT_EQ(status.error(), Error::optionValue);
  EXPECT_THAT(status.message(), HasSubstr("takes a whole number, got '7x'"));
}

TEST(Options, EnvironmentIsReadWhenAsked) {
  setenv("TILEWRIGHT_INTERPRET_MAX_STEPS", "5", 1);
  Options options;
  ASSERT_TRUE(options.setFromEnvironment().isOk());
  unsetenv("TILEWRIGHT_INTERPRET_MAX_STEPS");
  EXPECT_EQ(options.interpret.maxSteps, 5);
}

TEST(Options, EveryValueIsPartOfTheFingerprint) {
  Options options;
  std::string before = options.fingerprint();
  ASSERT_TRUE(options.set("interpret.max-steps", "5").isOk());
  EXPECT_NE(options.fingerprint(), before);
}

TEST(Options, ReferencePageIsUpToDate) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/docs/reference/options.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), Options::reference())
      << "run: tilewright options > docs/reference/options.md";
}
