#include "tilewright/runtime/testing/Backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::runtime {
namespace {

using ::testing::HasSubstr;

class ClientTest : public RuntimeFixture {};

TEST_F(ClientTest, DevicesAndMemoriesAreNumberedAndNamed) {
  RuntimeOptions options;
  options.devices = 3;
  makeClient(options);
  ASSERT_EQ(client->devices().size(), 3U);
  EXPECT_EQ(client->memories().size(), 9U);
  for (int i = 0; i < 3; ++i) {
    Device &one = device(static_cast<size_t>(i));
    EXPECT_EQ(one.id(), i);
    EXPECT_EQ(one.localId(), i);
    EXPECT_EQ(one.processIndex(), 0);
    EXPECT_TRUE(one.isAddressable());
    EXPECT_EQ(client->deviceWithId(i), &one);
    EXPECT_EQ(client->deviceWithLocalId(i), &one);
    EXPECT_EQ(one.defaultMemory().kind(), "device");
    EXPECT_EQ(one.memoryOfKind("pinned_host"), one.memories()[1]);
    EXPECT_EQ(one.memoryOfKind("unpinned_host"), one.memories()[2]);
    EXPECT_EQ(one.memoryOfKind("vmem"), nullptr);
    EXPECT_EQ(&one.memories()[1]->device(), &one);
    EXPECT_EQ(one.memories()[1]->kindId(), 1);
  }
  EXPECT_EQ(device(2).toString(), "test:2");
  EXPECT_EQ(client->deviceWithId(3), nullptr);
}

TEST_F(ClientTest, OptionsThatMakeNoSenseAreRefused) {
  ClientOptions options;
  options.runtime.devices = 0;
  Status status = Client::create(options, std::make_unique<TestBackend>(1, programs)).takeStatus();
  EXPECT_EQ(status.error(), Error::optionValue);
  EXPECT_THAT(status.message(), HasSubstr("runtime.devices must be 1 to 1024, got 0"));
  options = ClientOptions();
  options.runtime.betweenHosts = "pigeons";
  status = Client::create(options, std::make_unique<TestBackend>(1, programs)).takeStatus();
  EXPECT_EQ(status.error(), Error::optionValue);
  EXPECT_THAT(status.message(),
              HasSubstr("runtime.between-hosts must be best, tcp, ucx or mpi, got 'pigeons'"));
}

TEST_F(ClientTest, AnAssignmentMustFit) {
  makeClient();
  auto program = load("f", 0, 1, [](const ProgramRun &) { return Status(); });
  auto executable = program->sharedExecutable();

  Status status = client->load(executable, {1, 1, {7}}).takeStatus();
  EXPECT_EQ(status.error(), Error::deviceAssignment);
  EXPECT_THAT(status.message(), HasSubstr("device 7, which does not exist"));
  EXPECT_EQ(client->load(executable, {1, 2, {0, 0}}).takeStatus().error(), Error::deviceAssignment);
  EXPECT_EQ(client->load(executable, {1, 1, {}}).takeStatus().error(), Error::deviceAssignment);
  status = client->defaultAssignment(1, 2).takeStatus();
  EXPECT_EQ(status.error(), Error::deviceAssignment);
  EXPECT_THAT(status.message(), HasSubstr("raise runtime.devices"));

  auto elsewhere = std::make_shared<artifact::Executable>(*executable);
  elsewhere->results[0].memoryKind = "tape";
  status = client->load(elsewhere, {1, 1, {0}}).takeStatus();
  EXPECT_EQ(status.error(), Error::deviceAssignment);
  EXPECT_THAT(status.message(), HasSubstr("'tape'"));
}

TEST_F(ClientTest, BytesThatAreNoExecutableAreRefused) {
  makeClient();
  std::array<std::byte, 3> bytes = {};
  EXPECT_FALSE(client->load(bytes, {1, 1, {0}}).isOk());
}

} // namespace
} // namespace tilewright::runtime
