#include "tilewright/interpret/Tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

TEST(Scalar, SubByteIntegersKeepTheirHighBitsZero) {
  std::byte byte{0xFF};
  storeScalar(ElementType::i4, &byte, Scalar::ofSigned(-2));
  EXPECT_EQ(byte, std::byte{0x0E});
  EXPECT_EQ(loadScalar(ElementType::i4, &byte).i, -2);
  storeScalar(ElementType::i2, &byte, Scalar::ofSigned(-1));
  EXPECT_EQ(byte, std::byte{0x03});
  EXPECT_EQ(loadScalar(ElementType::i2, &byte).i, -1);
}

TEST(Tensor, CopiesShareTheirBytesAndAreThenImmutable) {
  Context context;
  Tensor tensor =
      *Tensor::filled(ElementType::i32, *Shape::create({2, 2}), Scalar::ofSigned(7), context);
  EXPECT_TRUE(tensor.isSoleOwner());
  Tensor copy = tensor;
  EXPECT_FALSE(tensor.isSoleOwner());
  EXPECT_EQ(copy.data(), tensor.data());

  Tensor own = *std::move(copy).intoSoleOwner(context);
  own.set(3, Scalar::ofSigned(-1));
  EXPECT_EQ(tensor.toString(), "[[7, 7], [7, 7]]");
  EXPECT_EQ(own.toString(), "[[7, 7], [7, -1]]");
}

TEST(Tensor, BytesAreGivenBackWithTheLastOwner) {
  Context context;
  {
    Tensor tensor = *Tensor::filled(ElementType::f64, *Shape::create({100}), Scalar(), context);
    Tensor copy = tensor.reshaped(*Shape::create({10, 10}));
    EXPECT_EQ(context.liveBytes(), 800);
  }
  EXPECT_EQ(context.liveBytes(), 0);
  EXPECT_EQ(context.peakBytes(), 800);
}

TEST(Tensor, ByteLimitNamesTheOptionToRaise) {
  InterpretOptions options;
  options.maxBytes = 100;
  Context context(options);
  Tensor held = *Tensor::filled(ElementType::i8, *Shape::create({60}), Scalar(), context);

  Status status = Tensor::allocate(ElementType::i8, *Shape::create({41}), context).takeStatus();

  EXPECT_EQ(status.error(), Error::interpretBytes);
  EXPECT_EQ(status.code(), Code::resourceExhausted);
  EXPECT_THAT(status.message(),
              HasSubstr("cannot allocate 41 bytes: 60 bytes are in use and the limit is 100"));
  EXPECT_THAT(status.message(), HasSubstr("interpret.max-bytes"));
  EXPECT_TRUE(Tensor::allocate(ElementType::i8, *Shape::create({40}), context).isOk());
}

TEST(Tensor, StepLimitNamesTheOptionToRaise) {
  InterpretOptions options;
  options.maxSteps = 10;
  Context context(options);
  EXPECT_TRUE(context.countSteps(10).isOk());
  Status status = Context(context).countSteps(1);
  EXPECT_EQ(status.error(), Error::interpretSteps);
  EXPECT_THAT(status.message(), HasSubstr("interpret.max-steps"));
}

TEST(Tensor, ViewReadsUnalignedForeignMemory) {
  auto owner = std::make_shared<std::vector<std::byte>>(9);
  const float values[] = {1.5f, -2.0f};
  std::memcpy(owner->data() + 1, values, sizeof values);
  Tensor view = Tensor::view(ElementType::f32, *Shape::create({2}), owner->data() + 1, owner);
  owner.reset();
  EXPECT_EQ(view.toString(), "[1.5, -2]");
  EXPECT_FALSE(view.isSoleOwner());
}

TEST(Tensor, EveryTypeStoresWhatItLoads) {
  for (size_t i = 0; i < numerics::elementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    std::byte bytes[16] = {};
    for (const Scalar &value : {oneOf(type), highestOf(type), lowestOf(type)}) {
      storeScalar(type, bytes, value);
      EXPECT_EQ(interpret::toString(type, loadScalar(type, bytes)),
                interpret::toString(type, value))
          << numerics::spelling(type);
    }
  }
}

TEST(Tensor, IndexSaturatesBeyondInt64) {
  Context context;
  Tensor tensor = *Tensor::scalar(ElementType::ui64, Scalar::ofUnsigned(~uint64_t(0)), context);
  EXPECT_EQ(tensor.indexAt(0), std::numeric_limits<int64_t>::max());
}

TEST(Tensor, LongTensorsPrintShortened) {
  Context context;
  Tensor tensor =
      *Tensor::filled(ElementType::pred, *Shape::create({5}), Scalar::ofUnsigned(1), context);
  EXPECT_EQ(tensor.toString(2), "[true, true, … 3 more");
  EXPECT_EQ(tensor.typeString(), "5xi1");
}
