// Tests that require host memory; the other tests of buffers are in conformance/.
#include "tilewright/runtime/testing/Backend.h"

#include <gtest/gtest.h>

namespace tilewright::runtime {
namespace {

class BufferTest : public RuntimeFixture {
protected:
  void SetUp() override {
    RuntimeOptions options;
    options.devices = 2;
    makeClient(options);
  }
};

TEST_F(BufferTest, AlignedHostMemoryIsUsedInPlaceUntilTheBufferIsGone) {
  alignas(64) std::array<float, length> host = {};
  Event done;
  auto made = Buffer::fromHost({host.data(), floats(), {}, HostBufferSemantics::immutableZeroCopy},
                               memory(), &done);
  ASSERT_TRUE(made.isOk());
  EXPECT_EQ(*(*made)->data(), static_cast<void *>(host.data()));
  EXPECT_FALSE(done.isReady());
  (*made)->release();
  EXPECT_TRUE(done.isReady());
}

TEST_F(BufferTest, UnalignedHostMemoryIsCopied) {
  alignas(64) std::array<float, length + 1> host = {};
  Event done;
  auto made = Buffer::fromHost(
      {host.data() + 1, floats(), {}, HostBufferSemantics::immutableZeroCopy}, memory(), &done);
  EXPECT_NE(*(*made)->data(), static_cast<void *>(host.data() + 1));
  EXPECT_TRUE(done.isReady());
}

TEST_F(BufferTest, AFailureSpreadsToReadsAndCopies) {
  Promise promise;
  auto made = Buffer::uninitialized(floats(), memory(), &promise);
  std::vector<float> host(length);
  Result<Event> read = (*made)->toHost(host.data(), (*made)->byteCount());
  auto copy = (*made)->copyTo(memory(1));
  promise.complete(Status(Code::internal, "the program failed"));
  EXPECT_EQ(read->await().message(), "the program failed");
  EXPECT_EQ((*copy)->definition().await().message(), "the program failed");
  EXPECT_EQ((*(*copy)->copyTo(memory(0)))->definition().await().message(), "the program failed");

  auto failed = Buffer::failed(floats(), memory(), Status(Code::aborted, "never"));
  EXPECT_EQ(failed->byteCount(), 64U);
  EXPECT_EQ(failed->toHost(host.data(), 64)->await().message(), "never");
}

TEST_F(BufferTest, AViewGivesItsBytesBack) {
  alignas(64) std::array<float, length> host = {};
  bool isBack = false;
  {
    auto view = Buffer::view(host.data(), floats(), memory(), [&] { isBack = true; });
    ASSERT_TRUE(view.isOk());
    EXPECT_FALSE(isBack);
  }
  EXPECT_TRUE(isBack);
  EXPECT_EQ(Buffer::view(host.data() + 1, floats(), memory(), {}).takeStatus().error(),
            Error::hostLayout);
}

} // namespace
} // namespace tilewright::runtime
