#include "tilewright/interpret/kernels/Quantize.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

static QuantizedType perTensor(double scale, int64_t zeroPoint) {
  QuantizedType type;
  type.scales = {scale};
  type.zeroPoints = {zeroPoint};
  return type;
}

TEST(Quantize, TheSpecificationsExamples) {
  Context context;
  QuantizedType type;
  type.scales = {0.1, 0.5};
  type.zeroPoints = {-30, -20};
  type.axis = 0;
  Tensor stored = tensorOf(ElementType::i8, {2}, {10, 10});
  EXPECT_EQ(dequantize(stored, type, context)->toString(), "[4, 15]");
  EXPECT_EQ(quantize(tensorOf(ElementType::f32, {2}, {4, 15}), type, context)->toString(),
            "[10, 10]");
}

TEST(Quantize, EveryStorageValueComesBack) {
  Context context;
  for (int64_t zeroPoint : {-128, -5, 0, 127})
    for (double scale : {0.1, 1.0, 3.0, 1e-3}) {
      Tensor all = *Tensor::allocate(ElementType::i8, *Shape::create({256}), context);
      for (int64_t i = 0; i < 256; ++i)
        all.set(i, Scalar::ofSigned(i - 128));
      const QuantizedType type = perTensor(scale, zeroPoint);
      Tensor back = *quantize(*dequantize(all, type, context), type, context);
      EXPECT_EQ(valuesOf(back), valuesOf(all));
    }
}

TEST(Quantize, RoundsHalfToEvenClampsAndTakesNaNAsZero) {
  Context context;
  Tensor input = tensorOf(ElementType::f32, {7}, {0.5, 1.5, -2.5, 1000, -1000, INFINITY, NAN});
  EXPECT_EQ(quantize(input, perTensor(1, 0), context)->toString(), "[0, 2, -2, 127, -128, 127, 0]");
  QuantizedType narrow = perTensor(1, 0);
  narrow.storageMin = -7;
  narrow.storageMax = 7;
  EXPECT_EQ(quantize(input, narrow, context)->toString(), "[0, 2, -2, 7, -7, 7, 0]");
}

TEST(Quantize, StorageOfEveryWidth) {
  Context context;
  QuantizedType type = perTensor(1, 0);
  type.storage = ElementType::ui4;
  type.storageMin = 0;
  type.storageMax = 15;
  EXPECT_EQ(quantize(tensorOf(ElementType::f32, {3}, {-1, 7.4, 99}), type, context)->toString(),
            "[0, 7, 15]");
  type.storage = ElementType::i32;
  type.storageMin = INT32_MIN;
  type.storageMax = INT32_MAX;
  // f32 cannot represent 2^31 - 1: the bound rounds to 2^31, and the storage saturates.
  EXPECT_EQ(quantize(tensorOf(ElementType::f32, {2}, {1e20, -1e20}), type, context)->toString(),
            "[2147483647, -2147483648]");
}

TEST(Quantize, EachStepIsRoundedToTheExpressedType) {
  Context context;
  QuantizedType type = perTensor(0.1, 0);
  type.expressed = ElementType::bf16;
  // 0.1 in bf16 is 0.10009765625; 3 times that rounds to 0.30078125.
  EXPECT_EQ(valuesOf(*dequantize(tensorOf(ElementType::i8, {1}, {3}), type, context))[0],
            0.30078125);
}

TEST(Quantize, AxesInTheMiddle) {
  Context context;
  QuantizedType type;
  type.scales = {1, 10};
  type.zeroPoints = {0, 1};
  type.axis = 1;
  Tensor stored = tensorOf(ElementType::i8, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(dequantize(stored, type, context)->toString(),
            "[[[1, 2], [20, 30]], [[5, 6], [60, 70]]]");
}

TEST(Quantize, WhatDoesNotFitIsRefused) {
  Context context;
  QuantizedType type = perTensor(1, 0);
  Status status = dequantize(tensorOf(ElementType::i32, {1}, {1}), type, context).takeStatus();
  EXPECT_EQ(status.error(), Error::operandType);
  EXPECT_THAT(status.message(), HasSubstr("elements must be i8, got i32"));
  type.axis = 1;
  status = dequantize(tensorOf(ElementType::i8, {1}, {1}), type, context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  type.axis = 0;
  status = quantize(tensorOf(ElementType::f32, {3}, {1, 2, 3}), type, context).takeStatus();
  EXPECT_THAT(status.message(), HasSubstr("expects 3 scales and zero points, got 1 and 1"));
  type.expressed = ElementType::i8;
  EXPECT_EQ(quantize(tensorOf(ElementType::i8, {1}, {1}), type, context).takeStatus().error(),
            Error::operandType);
}
