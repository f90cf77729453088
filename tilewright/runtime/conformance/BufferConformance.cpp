// Copies of tensors: from and to the host, between memories and between devices.
#include "tilewright/numerics/PackedElements.h"
#include "tilewright/runtime/conformance/Kit.h"

#include <numeric>

namespace tilewright::runtime::conformance {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BufferConformance : public Fixture {
protected:
  void SetUp() override { makeClient(); }
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

TEST_F(BufferConformance, RoundTripsThroughTheDevice) {
  for (Memory *place : {&memory(), &pinned()}) {
    std::vector<int32_t> host = {1, 2, 3, 4, 5, 6};
    Event done;
    auto made = Buffer::fromHost({host.data(), matrix(), {}}, *place, &done);
    ASSERT_TRUE(made.isOk());
    EXPECT_TRUE(done.isReady()); // already read: the host may change it
    host.assign(6, 0);
    EXPECT_THAT(readInts(**made), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_EQ((*made)->byteCount(), 24U);
    EXPECT_EQ(&(*made)->memory(), place);
  }
}

/// Larger than a staging slot, and not a multiple of its size.
TEST_F(BufferConformance, LargeTensorsArriveWhole) {
  constexpr int64_t count = (11 << 20) / 4 + 13;
  std::vector<int32_t> host(count);
  std::iota(host.begin(), host.end(), 7);
  auto made = Buffer::fromHost({host.data(), {ElementType::i32, {count}}, {}}, memory());
  ASSERT_TRUE(made.isOk());
  EXPECT_EQ(readInts(**made), host);
  std::vector<int32_t> part(5);
  Result<Event> raw = (*made)->toHostRaw(part.data(), size_t(count - 5) * 4, 20);
  ASSERT_TRUE(raw.isOk() && raw->await().isOk());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), host.end() - 5));
}

TEST_F(BufferConformance, EveryElementTypeKeepsItsBits) {
  for (size_t i = 0; i < numerics::elementTypeCount; ++i) {
    const auto element = static_cast<ElementType>(i);
    const size_t bytes = numerics::storageBytes(element);
    std::vector<uint8_t> host(15 * bytes), back(host.size());
    std::iota(host.begin(), host.end(), uint8_t(i));
    if (numerics::isPacked(element))
      for (uint8_t &each : host)
        each &= (1u << numerics::bitWidth(element)) - 1;
    // The host transposes: element by element in fromHost, and back in toHost.
    const std::vector<int64_t> strides = {int64_t(bytes), int64_t(3 * bytes)}, columns = {0, 1};
    auto made = Buffer::fromHost({host.data(), {element, {3, 5}}, strides}, memory());
    ASSERT_TRUE(made.isOk()) << numerics::spelling(element);
    Result<Event> event = (*made)->toHost(back.data(), back.size(), columns);
    ASSERT_TRUE(event.isOk() && event->await().isOk());
    EXPECT_EQ(back, host) << numerics::spelling(element);
  }
}

TEST_F(BufferConformance, ElementsBelowAByteArePacked) {
  const std::vector<uint8_t> host = {1, 0xF2, 3, 4, 5};
  const std::vector<int64_t> backwards = {-1};
  for (bool reversed : {false, true}) {
    auto made = Buffer::fromHost({host.data() + (reversed ? 4 : 0),
                                  {ElementType::i4, {5}},
                                  reversed ? backwards : std::span<const int64_t>()},
                                 memory());
    ASSERT_TRUE(made.isOk());
    EXPECT_EQ((*made)->byteCount(), 3U);
    EXPECT_EQ((*made)->hostByteCount(), 5U);
    std::vector<uint8_t> raw(3), elements(5);
    Result<Event> event = (*made)->toHostRaw(raw.data(), 0, 3);
    ASSERT_TRUE(event.isOk() && event->await().isOk());
    event = (*made)->toHost(elements.data(), 5);
    ASSERT_TRUE(event.isOk() && event->await().isOk());
    if (reversed) {
      EXPECT_THAT(raw, ElementsAre(0x45, 0x23, 0x01));
      EXPECT_THAT(elements, ElementsAre(5, 4, 3, 2, 1));
    } else {
      EXPECT_THAT(raw, ElementsAre(0x21, 0x43, 0x05));
      EXPECT_THAT(elements, ElementsAre(1, 2, 3, 4, 5));
    }
    Status status = (*made)->toHost(elements.data(), 3).takeStatus();
    EXPECT_EQ(status.error(), Error::hostLayout);
    auto copied = (*made)->copyTo(pinned());
    ASSERT_TRUE(copied.isOk());
    std::vector<uint8_t> again(5);
    event = (*copied)->toHost(again.data(), 5);
    ASSERT_TRUE(event.isOk() && event->await().isOk());
    EXPECT_EQ(again, elements);
  }
}

TEST_F(BufferConformance, StridesOfTheHostAreHonoured) {
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

TEST_F(BufferConformance, TheLayoutOfTheHostIsHonoured) {
  const std::vector<int32_t> host = {1, 2, 3, 4, 5, 6};
  auto made = Buffer::fromHost({host.data(), matrix(), {}}, memory());
  std::vector<int64_t> columnMajor = {0, 1};
  EXPECT_THAT(readInts(**made, columnMajor), ElementsAre(1, 4, 2, 5, 3, 6));

  std::vector<int64_t> wrong = {0, 0};
  std::vector<int32_t> to(6);
  EXPECT_EQ((*made)->toHost(to.data(), 24, wrong).takeStatus().error(), Error::hostLayout);
  EXPECT_EQ((*made)->toHost(to.data(), 23).takeStatus().error(), Error::hostLayout);
  EXPECT_EQ((*made)->toHostRaw(to.data(), 20, 8).takeStatus().error(), Error::hostLayout);
  Result<Event> raw = (*made)->toHostRaw(to.data(), 20, 4);
  ASSERT_TRUE(raw.isOk() && raw->await().isOk());
  EXPECT_EQ(to[0], 6);
}

TEST_F(BufferConformance, StridesThatMakeNoSenseAreRefused) {
  std::vector<int32_t> host(6);
  std::vector<int64_t> few = {4};
  EXPECT_EQ(Buffer::fromHost({host.data(), matrix(), few}, memory()).takeStatus().error(),
            Error::hostLayout);
  std::vector<int64_t> far = {std::numeric_limits<int64_t>::max(),
                              std::numeric_limits<int64_t>::max()};
  Status status = Buffer::fromHost({host.data(), matrix(), far}, memory()).takeStatus();
  EXPECT_EQ(status.error(), Error::hostLayout);
  EXPECT_THAT(status.message(), HasSubstr("exceed the address space"));
}

TEST_F(BufferConformance, EmptyTensorsAndScalarsWork) {
  auto empty = Buffer::fromHost({nullptr, {ElementType::f32, {0, 4}}, {}}, memory());
  ASSERT_TRUE(empty.isOk());
  EXPECT_EQ((*empty)->byteCount(), 0U);
  EXPECT_TRUE((*empty)->toHost(nullptr, 0)->await().isOk());
  EXPECT_TRUE((*(*empty)->copyTo(pinned()))->definition().await().isOk());
  double value = 3;
  auto scalar = Buffer::fromHost({&value, {ElementType::f64, {}}, {}}, memory());
  double back = 0;
  EXPECT_TRUE((*scalar)->toHost(&back, 8)->await().isOk());
  EXPECT_EQ(back, 3);
}

TEST_F(BufferConformance, ADeletedBufferSaysSo) {
  auto one = buffer(1);
  one->release();
  one->release();
  EXPECT_TRUE(one->isDeleted());
  float to[length];
  EXPECT_EQ(one->toHost(to, sizeof to).takeStatus().error(), Error::bufferDeleted);
  EXPECT_EQ(one->copyTo(pinned()).takeStatus().error(), Error::bufferDeleted);
  EXPECT_EQ(one->data().takeStatus().error(), Error::bufferDeleted);
  EXPECT_EQ(one->addExternalReference().error(), Error::bufferDeleted);
  client->drain(); // a copy in flight keeps the bytes
  EXPECT_EQ(memory().statistics().liveCount, 0);
}

TEST_F(BufferConformance, CopiesGoToEveryMemoryAndBack) {
  auto one = buffer(5);
  for (Memory *place : client->memories()) {
    auto copy = one->copyTo(*place);
    ASSERT_TRUE(copy.isOk());
    EXPECT_EQ(&(*copy)->memory(), place);
    EXPECT_THAT(read(**copy), Each(5));
    auto back = (*copy)->copyTo(memory());
    copy->reset(); // a copy in flight keeps the bytes
    EXPECT_THAT(read(**back), Each(5));
  }
}

TEST_F(BufferConformance, ReadsWaitForTheDefinition) {
  Promise promise;
  auto made = Buffer::uninitialized(floats(), pinned(), &promise);
  ASSERT_TRUE(made.isOk());
  std::vector<float> host(length);
  Result<Event> read = (*made)->toHost(host.data(), (*made)->byteCount());
  auto copy = (*made)->copyTo(memory());
  EXPECT_FALSE(read->isReady());
  EXPECT_FALSE((*copy)->definition().isReady());

  float *data = static_cast<float *>(*(*made)->data()); // host memory
  std::fill(data, data + length, 7.0F);
  (*made)->release(); // reads in flight keep the bytes
  promise.complete();

  EXPECT_TRUE(read->await().isOk());
  EXPECT_THAT(host, Each(7.0F));
  EXPECT_THAT(Fixture::read(**copy), Each(7.0F));
}

TEST_F(BufferConformance, AFailureSpreadsToReadsAndCopies) {
  Promise promise;
  auto made = Buffer::uninitialized(floats(), memory(), &promise);
  std::vector<float> host(length);
  Result<Event> read = (*made)->toHost(host.data(), (*made)->byteCount());
  auto copy = (*made)->copyTo(pinned());
  promise.complete(Status(Code::internal, "the program failed"));
  EXPECT_EQ(read->await().message(), "the program failed");
  EXPECT_EQ((*copy)->definition().await().message(), "the program failed");
  EXPECT_EQ((*(*copy)->copyTo(memory()))->definition().await().message(), "the program failed");
}

TEST_F(BufferConformance, ExternalReferencesKeepTheBytesAfterDelete) {
  auto one = buffer(5);
  ASSERT_TRUE(one->definition().await().isOk());
  client->drain();
  ASSERT_TRUE(one->addExternalReference().isOk());
  void *data = *one->data();
  one->release();
  EXPECT_TRUE(one->isDeleted());
  EXPECT_EQ(*one->data(), data);
  EXPECT_EQ(memory().statistics().liveCount, 1);
  EXPECT_TRUE(one->dropExternalReference().isOk());
  EXPECT_EQ(memory().statistics().liveCount, 0);
  EXPECT_FALSE(one->dropExternalReference().isOk());
}

TEST_F(BufferConformance, AnImpossibleShapeIsRefused) {
  float value = 0;
  EXPECT_FALSE(Buffer::fromHost({&value, {ElementType::f32, {-1}}, {}}, memory()).isOk());
  EXPECT_FALSE(
      Buffer::fromHost({&value, {ElementType::f32, {int64_t(1) << 40, 1 << 30}}, {}}, memory())
          .isOk());
}

TEST_F(BufferConformance, StatisticsCountWhatIsAlive) {
  const AllocationStatistics before = memory().statistics();
  EXPECT_GT(before.bytesLimit, 0);
  EXPECT_EQ(before.bytesInUse, 0);
  {
    auto one = buffer(1, 0, 1000), two = buffer(2, 0, 1000);
    EXPECT_GE(memory().statistics().bytesInUse, 8000);
    EXPECT_EQ(memory().statistics().liveCount, 2);
  }
  client->drain();
  const AllocationStatistics after = memory().statistics();
  EXPECT_EQ(after.bytesInUse, 0);
  EXPECT_GE(after.peakBytesInUse, 8000);
  EXPECT_EQ(after.allocationCount, before.allocationCount + 2);
}

TEST_F(BufferConformance, MoreThanTheLimitIsRefusedWithTheUsersOfIt) {
  RuntimeOptions options;
  options.memoryLimit = 4 << 20;
  makeClient(options);
  auto first = buffer(1, 0, 3 << 18); // 3 MiB
  std::vector<float> host(3 << 18);
  Status status = Buffer::fromHost({host.data(), floats(3 << 18), {}}, memory()).takeStatus();
  EXPECT_EQ(status.error(), Error::outOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("host array"));
  first.reset();
  client->drain();
  EXPECT_NE(buffer(1, 0, 3 << 18), nullptr);
}

TEST_F(BufferConformance, OneMayOutliveItsClient) {
  auto one = buffer(1);
  client.reset();
}

} // namespace
} // namespace tilewright::runtime::conformance
