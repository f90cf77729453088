// Tests that need real processes: they are killed, stopped or late, and must leave nothing behind.
#include "tilewright/collective/testing/EngineProcesses.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/collective/ucx/UcxEngine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::collective::ucx {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

UcxEngine::Options optionsHere() {
  UcxEngine::Options options;
  if (const char *library = std::getenv("TILEWRIGHT_TEST_UCX"))
    options.library = library;
  return options;
}

const test::Connect connect = test::connectWith<UcxEngine>(optionsHere());

class UcxProcesses : public ::testing::TestWithParam<size_t> {};

TEST_P(UcxProcesses, AKilledRankIsNamedWithinFiftyMillisecondsAndTheOthersGoOn) {
  test::expectKilledRankIsNamed(connect, GetParam(), 20,
                                "rank 2 died: the connection to process 2");
}
INSTANTIATE_TEST_SUITE_P(Of, UcxProcesses, ::testing::Values(size_t(1), size_t(200'000)));

TEST(UcxEngine, AStoppedRankRunsIntoTheDeadlineOfTheOthersAndIsFencedAfterwards) {
  test::expectStoppedRankIsFenced(connect, 20);
}

TEST(UcxEngine, ARankThatDoesNotComeIsNamed) {
  test::expectMissingRanksAreNamed(connect, "waiting for rank 1 to connect");
}

TEST(UcxEngine, ALateRankOfAnotherEpochIsFenced) { test::expectStaleEpochIsFenced(connect); }

TEST(UcxEngine, NothingIsLeftBehind) {
  test::expectNothingIsLeftBehind(connect, /*countsMappings=*/false, 200);
}

TEST(UcxEngine, ALibraryThatIsNotThereIsNamed) {
  MemoryKeyValueStore store;
  UcxEngine::Options options;
  options.library = "libucp-of-nobody.so";
  const Status status = UcxEngine::connect(test::membershipOf(0, 2), store, options).takeStatus();
  EXPECT_EQ(status.error(), Error::carrierUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("libucp-of-nobody.so"));
}

TEST(UcxEngine, AnAddressThatIsNoneIsAnError) {
  MemoryKeyValueStore store;
  ASSERT_TRUE(store.put("tilewright/ucx/0/0", "somewhere").isOk());
  const Status status = connect(test::membershipOf(1, 2), store, 1s, 1s).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("key 'tilewright/ucx/0/0' has value 'somewhere'"));
}

} // namespace
} // namespace tilewright::collective::ucx
