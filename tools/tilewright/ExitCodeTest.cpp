#include "tools/tilewright/ExitCode.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::tools;

static ExitCode exitCode(Error error) { return exitCodeOf(Status(error, "…")); }

/// Every component that opens files: an artifact, a folder of recordings, a timeline.
TEST(ExitCode, AFileThatIsMissingIsThree) {
  for (Error error : {Error::fileUnreadable, Error::fileUnwritable, Error::artifactUnreadable,
                      Error::recordingsMissing, Error::textMalformed})
    EXPECT_EQ(exitCode(error), badFile) << idOf(error);
}

TEST(ExitCode, OtherFailuresGoByTheFirstDigit) {
  EXPECT_EQ(exitCodeOf(Status()), done);
  EXPECT_EQ(exitCode(Error::optionUnknown), wrongUse);
  EXPECT_EQ(exitCode(Error::artifactTruncated), badArtifact);
  EXPECT_EQ(exitCode(Error::compileStage), badProgram);
  EXPECT_EQ(exitCode(Error::gpuOp), badProgram);
  EXPECT_EQ(exitCode(Error::interpretCheck), badRun);
  EXPECT_EQ(exitCode(Error::cudaLibrary), badRun);
  EXPECT_EQ(exitCode(Error::jobStandsStill), badOrder);
  EXPECT_EQ(exitCodeOf(Status(Code::internal, "…")), otherFailure);
}
