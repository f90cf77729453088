#include "tilewright/runtime/TestBackend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace tilewright::runtime {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BufferTest : public RuntimeFixture {
protected:
  void SetUp() override {
    RuntimeOptions options;
    options.devices = 2;
    makeClient(options);
  }
  static TensorType matrix() { return {ElementType::i32, {2, 3}}; }
  static std::vector<int32_t> readInts(const Buffer &buffer,
                                       std::span<const int64_t> minorToMajor = {}) {
    std::vector<int32_t> host(buffer.byteCount() / 4);
    Result<Event> event = buffer.toHost(host.data(), buffer.byteCount(), minorToMajor);
    EXPECT_TRUE(event.isOk());
    EXPECT_TRUE(event->await().isOk());
    return host;
  }
};

TEST_F(BufferTest, RoundTripsThroughTheDevice) {
  std::vector<int32_t> host = {1, 2, 3, 4, 5, 6};
  Event done;
  auto made = Buffer::fromHost({host.data(), matrix(), {}}, memory(), &done);
  ASSERT_TRUE(made.isOk());
  EXPECT_TRUE(done.isReady()); // copied: the host may change it
  host.assign(6, 0);
  EXPECT_THAT(readInts(**made), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ((*made)->byteCount(), 24U);
  EXPECT_EQ(&(*made)->device(), &device());
}

TEST_F(BufferTest, StridesOfTheHostAreHonoured) {
  const std::vector<int32_t> host = {1, 2, 3, 4, 5, 6};
  std::vector<int64_t> transposed = {4, 8}; // of a 3x2 array
  auto made = Buffer::fromHost({host.data(), matrix(), transposed}, memory());
  EXPECT_THAT(readInts(**made), ElementsAre(1, 3, 5, 2, 4, 6));

  std::vector<int64_t> reversed = {-12, -4};
  made = Buffer::fromHost({host.data() + 5, matrix(), reversed}, memory());
  EXPECT_THAT(readInts(**made), ElementsAre(6, 5, 4, 3, 2, 1));

  std::vector<int64_t> repeated = {0, 4};
  made = Buffer::fromHost({host.data(), matrix(), repeated}, memory());
  EXPECT_THAT(readInts(**made), ElementsAre(1, 2, 3, 1, 2, 3));
}

TEST_F(BufferTest, TheLayoutOfTheHostIsHonoured) {
  const std::vector<int32_t> host = {1, 2, 3, 4, 5, 6};
  auto made = Buffer::fromHost({host.data(), matrix(), {}}, memory());
  std::vector<int64_t> columnMajor = {0, 1};
  EXPECT_THAT(readInts(**made, columnMajor), ElementsAre(1, 4, 2, 5, 3, 6));

  std::vector<int64_t> wrong = {0, 0};
  std::vector<int32_t> to(6);
  EXPECT_EQ((*made)->toHost(to.data(), 24, wrong).takeStatus().error(), Error::hostLayout);
  EXPECT_EQ((*made)->toHost(to.data(), 23).takeStatus().error(), Error::hostLayout);
  EXPECT_EQ((*made)->toHostRaw(to.data(), 20, 8).takeStatus().error(), Error::hostLayout);
  EXPECT_TRUE((*made)->toHostRaw(to.data(), 20, 4).isOk());
  EXPECT_EQ(to[0], 6);
}

TEST_F(BufferTest, StridesThatMakeNoSenseAreRefused) {
  std::vector<int32_t> host(6);
  std::vector<int64_t> few = {4};
  EXPECT_EQ(Buffer::fromHost({host.data(), matrix(), few}, memory()).takeStatus().error(),
            Error::hostLayout);
  std::vector<int64_t> far = {std::numeric_limits<int64_t>::max(),
                              std::numeric_limits<int64_t>::max()};
  Status status = Buffer::fromHost({host.data(), matrix(), far}, memory()).takeStatus();
  EXPECT_EQ(status.error(), Error::hostLayout);
  EXPECT_THAT(status.message(), HasSubstr("beyond all memory"));
}

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

TEST_F(BufferTest, EmptyTensorsAndScalarsWork) {
  auto empty = Buffer::fromHost({nullptr, {ElementType::f32, {0, 4}}, {}}, memory());
  ASSERT_TRUE(empty.isOk());
  EXPECT_EQ((*empty)->byteCount(), 0U);
  EXPECT_TRUE((*empty)->toHost(nullptr, 0).isOk());
  double value = 3;
  auto scalar = Buffer::fromHost({&value, {ElementType::f64, {}}, {}}, memory());
  double back = 0;
  EXPECT_TRUE((*scalar)->toHost(&back, 8)->await().isOk());
  EXPECT_EQ(back, 3);
}

TEST_F(BufferTest, ADeletedBufferSaysSo) {
  auto one = buffer(1);
  one->release();
  one->release();
  EXPECT_TRUE(one->isDeleted());
  float to[length];
  EXPECT_EQ(one->toHost(to, sizeof to).takeStatus().error(), Error::bufferDeleted);
  EXPECT_EQ(one->copyTo(memory(1)).takeStatus().error(), Error::bufferDeleted);
  EXPECT_EQ(one->data().takeStatus().error(), Error::bufferDeleted);
  EXPECT_EQ(one->addExternalReference().error(), Error::bufferDeleted);
  EXPECT_EQ(memory().statistics().liveCount, 0);
}

TEST_F(BufferTest, ReadsWaitForTheDefinition) {
  Promise promise;
  auto made = Buffer::uninitialized(floats(), memory(), &promise);
  ASSERT_TRUE(made.isOk());
  std::vector<float> host(length);
  Result<Event> read = (*made)->toHost(host.data(), (*made)->byteCount());
  auto copy = (*made)->copyTo(memory(1));
  EXPECT_FALSE(read->isReady());
  EXPECT_FALSE((*copy)->definition().isReady());

  float *data = static_cast<float *>(*(*made)->data());
  std::fill(data, data + length, 7.0F);
  (*made)->release(); // reads in flight keep the bytes
  promise.complete();

  EXPECT_TRUE(read->await().isOk());
  EXPECT_THAT(host, Each(7.0F));
  EXPECT_THAT(RuntimeFixture::read(**copy), Each(7.0F));
  EXPECT_EQ(&(*copy)->device(), &device(1));
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

TEST_F(BufferTest, ExternalReferencesKeepTheBytesAfterDelete) {
  auto one = buffer(5);
  ASSERT_TRUE(one->addExternalReference().isOk());
  auto *data = static_cast<float *>(*one->data());
  one->release();
  EXPECT_TRUE(one->isDeleted());
  EXPECT_EQ(data[0], 5);
  EXPECT_EQ(*one->data(), static_cast<void *>(data));
  EXPECT_EQ(memory().statistics().liveCount, 1);
  EXPECT_TRUE(one->dropExternalReference().isOk());
  EXPECT_EQ(memory().statistics().liveCount, 0);
  EXPECT_FALSE(one->dropExternalReference().isOk());
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

TEST_F(BufferTest, AnImpossibleShapeIsRefused) {
  float value = 0;
  EXPECT_FALSE(Buffer::fromHost({&value, {ElementType::f32, {-1}}, {}}, memory()).isOk());
  EXPECT_FALSE(
      Buffer::fromHost({&value, {ElementType::f32, {int64_t(1) << 40, 1 << 30}}, {}}, memory())
          .isOk());
}

TEST_F(BufferTest, OneMayOutliveItsClient) {
  auto one = buffer(1);
  client.reset();
}

} // namespace
} // namespace tilewright::runtime
