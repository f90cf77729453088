// Tensors written as lists, for the tests of kernels.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_TESTING_TENSORS_H
#define TILEWRIGHT_INTERPRET_KERNELS_TESTING_TENSORS_H

#include "tilewright/interpret/ScalarFunction.h"
#include "tilewright/interpret/ScalarOperations.h"
#include "tilewright/interpret/Tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <vector>

namespace tilewright::interpret {

/// A tensor of the given values, converted from f64.
inline Tensor tensorOf(ElementType type, std::initializer_list<int64_t> dims,
                       const std::vector<double> &values) {
  Context context;
  Tensor tensor = *Tensor::allocate(type, *Shape::create(dims), context);
  EXPECT_EQ(tensor.elementCount(), static_cast<int64_t>(values.size()));
  const Operation convert = operationFor(ScalarOp::convert, ElementType::f64, type);
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set(static_cast<int64_t>(i), convert(Scalar::ofReal(values[i]), {}, {}));
  return tensor;
}

/// A tensor of small integers, exact in every type but the narrowest, the same in every run.
inline Tensor wholeNumbers(ElementType type, const std::vector<int64_t> &dims, uint32_t seed,
                           int64_t lowest = -4, int64_t highest = 4) {
  Context context;
  Tensor tensor = *Tensor::allocate(type, *Shape::create(dims), context);
  const Operation convert = operationFor(ScalarOp::convert, ElementType::i64, type);
  std::minstd_rand random(seed);
  const auto range = static_cast<uint64_t>(highest - lowest + 1);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const auto value = lowest + static_cast<int64_t>((random() >> 8) % range);
    tensor.set(i, convert(Scalar::ofSigned(value), {}, {}));
  }
  return tensor;
}

/// The elements converted to f64, in order; complex ones lose their imaginary part.
inline std::vector<double> valuesOf(const Tensor &tensor) {
  const Operation convert = operationFor(ScalarOp::convert, tensor.type(), ElementType::f64);
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.elementCount(); ++i)
    values.push_back(convert(tensor.at(i), {}, {}).r);
  return values;
}

/// The body of an argmax: of two pairs of a value and its index, the pair with the larger value,
/// the first of equals.
inline ScalarFunction argmax() {
  ScalarFunction::Builder builder(
      {ElementType::f32, ElementType::i32, ElementType::f32, ElementType::i32});
  auto first = builder.append(ScalarOp::compareGe, ElementType::f32, {0, 2});
  auto value = builder.append(ScalarOp::select, ElementType::f32, {*first, 0, 2});
  auto index = builder.append(ScalarOp::select, ElementType::i32, {*first, 1, 3});
  builder.addResult(*value, ElementType::f32);
  builder.addResult(*index, ElementType::i32);
  return std::move(builder).finish();
}

/// The initial values of an argmax: a value that is smaller than all others, and no index.
inline std::vector<Tensor> argmaxInits() {
  return {tensorOf(ElementType::f32, {}, {-1e30}), tensorOf(ElementType::i32, {}, {-1})};
}

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_TESTING_TENSORS_H
