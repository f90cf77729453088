#include "tilewright/support/Options.h"

#include "tilewright/support/OptionNames.h"

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

TEST(Options, ANameThatResemblesNoneIsSentToTheList) {
  EXPECT_THAT(Options().set("colour", "red").message(), HasSubstr("`tilewright options`"));
}

TEST(Options, MisspeltVariablesAreTold) {
  const char *const environment[] = {"TILEWRIGHT_RUNTIME_DEVICE=4",
                                     "TILEWRIGHT_TRAGET=vgpu:sm_80",
                                     "TILEWRIGHT_COMPILE_SPEED=9",
                                     "TILEWRIGHT_VGPU_CHEK=all",
                                     "TILEWRIGHT_RUNTIME_DEVICES=4",
                                     "TILEWRIGHT_MY_OWN=1",
                                     "HOME=/root",
                                     nullptr};
  EXPECT_THAT(misspeltVariables(environment),
              testing::ElementsAre(HasSubstr("did you mean TILEWRIGHT_RUNTIME_DEVICES?"),
                                   HasSubstr("did you mean TILEWRIGHT_TARGET?"),
                                   HasSubstr("TILEWRIGHT_COMPILE_SPEED is ignored: no option"),
                                   HasSubstr("did you mean TILEWRIGHT_VGPU_CHECK?")));
}

TEST(Options, SwitchesAreKnown) {
  EXPECT_TRUE(isSwitch("runtime.tune"));
  EXPECT_FALSE(isSwitch("import.max-rank"));
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

TEST(Options, OnlyWhatChangesCodeIsPartOfTheCompileCachesKey) {
  Options options;
  const std::string before = options.codeKey();
  ASSERT_TRUE(options.set("compile.max-seconds", "5").isOk());
  ASSERT_TRUE(options.set("runtime.tune", "true").isOk());
  EXPECT_EQ(options.codeKey(), before);
  ASSERT_TRUE(options.set("fuse.max-ops", "5").isOk());
  EXPECT_NE(options.codeKey(), before);
}

TEST(Options, ChangedOptionsAreListed) {
  Options options;
  EXPECT_THAT(options.changed(), testing::IsEmpty());
  ASSERT_TRUE(options.set("fuse.max-ops", "5").isOk());
  ASSERT_TRUE(options.set("runtime.tune", "true").isOk());
  EXPECT_THAT(options.changed(), testing::ElementsAre("fuse.max-ops=5", "runtime.tune=true"));
}

TEST(Options, ReferencePageIsUpToDate) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/docs/reference/options.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), Options::reference())
      << "run: tilewright options > docs/reference/options.md";
}

TEST(Options, PythonTableIsUpToDate) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/python/tilewright/option_table.py");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), Options::pythonTable())
      << "run: tilewright options --python > python/tilewright/option_table.py";
}
