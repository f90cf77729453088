// The suite of engines between processes, and tests of this engine alone.
#include "tilewright/collective/conformance/EngineProcesses.h"
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

const tilewright::collective::test::ProcessKit &tilewright::collective::test::processKit() {
  static const ProcessKit kit = {.connect = ucx::connect,
                                 .died = "rank 2 died: the connection to process 2",
                                 .missing = "waiting for rank 1 to connect",
                                 .connects = 200};
  return kit;
}
