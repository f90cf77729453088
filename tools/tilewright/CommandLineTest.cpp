#include "tools/tilewright/CommandLine.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::tools;
using testing::ElementsAre;
using testing::HasSubstr;

static constexpr Flag flags[] = {{"input", "FILE", "an input"}, {"quiet", "", "say nothing"}};

static Result<CommandLine> parse(std::initializer_list<std::string_view> arguments) {
  return CommandLine::parse(std::span(arguments.begin(), arguments.size()), flags);
}

TEST(CommandLine, SplitsFilesFlagsAndOptions) {
  CommandLine line =
      *parse({"a.mlirbc", "--input=x", "--import.max-rank=3", "--input=y", "--quiet"});
  EXPECT_THAT(line.files(), ElementsAre("a.mlirbc"));
  EXPECT_THAT(line.all("input"), ElementsAre("x", "y"));
  EXPECT_EQ(line.last("input"), "y");
  EXPECT_TRUE(line.has("quiet"));
  EXPECT_EQ(line.options().import.maxRank, 3);
}

TEST(CommandLine, AValueMayBeTheNextWord) {
  CommandLine line = *parse({"--input", "x", "a.mlirbc", "--import.max-rank", "3", "--quiet", "b"});
  EXPECT_THAT(line.files(), ElementsAre("a.mlirbc", "b"));
  EXPECT_THAT(line.all("input"), ElementsAre("x"));
  EXPECT_EQ(line.options().import.maxRank, 3);
}

TEST(CommandLine, ASwitchAloneIsOn) {
  CommandLine line = *parse({"--runtime.tune", "a.mlirbc"});
  EXPECT_TRUE(line.options().runtime.tune);
  EXPECT_THAT(line.files(), ElementsAre("a.mlirbc"));
}

TEST(CommandLine, UnknownFlagSuggestsOneAndListsAll) {
  Status status = parse({"--inputs=x"}).takeStatus();
  EXPECT_EQ(status.error(), Error::flagUnknown);
  EXPECT_THAT(status.message(), HasSubstr("did you mean '--input'?"));
  EXPECT_THAT(status.message(), HasSubstr("--input, --quiet"));
}

TEST(CommandLine, MissingAndSurplusValuesAreNamed) {
  EXPECT_EQ(parse({"--input"}).takeStatus().error(), Error::flagValue);
  EXPECT_EQ(parse({"--input", "--quiet"}).takeStatus().error(), Error::flagValue);
  EXPECT_EQ(parse({"--quiet=yes"}).takeStatus().error(), Error::flagValue);
}

TEST(CommandLine, OptionsAreCheckedToo) {
  EXPECT_EQ(parse({"--import.max-bank=3"}).takeStatus().error(), Error::optionUnknown);
}
