// Random calls of library kernels, and the same values as tensors of the evaluator.
#ifndef TEST_LIBRARY_DIFFERENTIAL_H
#define TEST_LIBRARY_DIFFERENTIAL_H

#include "tilewright/interpret/ScalarFunction.h"
#include "tilewright/interpret/Tensor.h"
#include "tilewright/runtime/cpu/library/testing/Calls.h"
#include "tilewright/support/Concat.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace tilewright::runtime::cpu {

using Dims = std::vector<int64_t>;
using interpret::Context;
using interpret::Tensor;
using numerics::Scalar;

inline ElementType elementTypeNumber(size_t i) { return static_cast<ElementType>(i); }

/// Random numbers that are the same in every run.
class Random {
public:
  explicit Random(uint32_t seed) : engine(seed) {}
  /// A number in [low, high].
  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>((engine() >> 4) % static_cast<uint64_t>(high - low + 1));
  }
  Dims dims(int64_t rank, int64_t low, int64_t high) {
    Dims sizes;
    for (int64_t i = 0; i < rank; ++i)
      sizes.push_back(number(low, high));
    return sizes;
  }
  Dims permutation(int64_t rank) {
    Dims order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = rank - 1; i > 0; --i)
      std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(number(0, i))]);
    return order;
  }
  ElementType type() {
    return elementTypeNumber(static_cast<size_t>(number(0, numerics::elementTypeCount - 1)));
  }
  /// A random type of a list.
  ElementType oneOf(std::initializer_list<ElementType> types) {
    return types.begin()[number(0, static_cast<int64_t>(types.size()) - 1)];
  }
  /// Integers in [low, high], converted to `type`.
  TestBuffer buffer(ElementType type, const Dims &dims, int64_t low = -9, int64_t high = 9) {
    TestBuffer result({type, dims});
    const numerics::Operation convert =
        numerics::operationFor(numerics::ScalarOp::convert, ElementType::i64, type);
    for (int64_t i = 0; i < result.count(); ++i) {
      Scalar value = convert(Scalar::ofSigned(number(low, high)), {}, {});
      if (numerics::isComplex(type))
        value.im = static_cast<double>(number(low, high));
      result.set(i, value);
    }
    return result;
  }

private:
  std::minstd_rand engine;
};

inline Tensor tensorOf(const TestBuffer &buffer) {
  Context context;
  Tensor tensor = *Tensor::allocate(buffer.type.element, *Shape::create(buffer.type.dims), context);
  if (buffer.size() > 0)
    std::memcpy(tensor.mutableData(), buffer.data(), buffer.size());
  return tensor;
}

inline TensorType typeOf(const Tensor &tensor) {
  return {tensor.type(), Dims(tensor.shape().dims().begin(), tensor.shape().dims().end())};
}

/// Runs `call` with result buffers like `expected` and requires the same bytes.
inline void expectSame(TestCall &call, const std::vector<Tensor> &expected, const std::string &what,
                       unsigned threads = 2) {
  for (const Tensor &tensor : expected)
    call.result(typeOf(tensor));
  const Status status = call.run(threads);
  ASSERT_TRUE(status.isOk()) << status.message() << " in " << what;
  for (size_t r = 0; r < expected.size(); ++r) {
    const TestBuffer &got = call.inPlace ? call.operands[r] : call.results[r];
    ASSERT_FALSE(got.overran()) << what;
    const size_t step = numerics::storageBytes(got.type.element);
    for (int64_t i = 0; i < got.count(); ++i)
      ASSERT_EQ(0, std::memcmp(got.data() + static_cast<size_t>(i) * step,
                               expected[r].data() + static_cast<size_t>(i) * step, step))
          << what << ": result " << r << " differs at " << i << " of " << expected[r].typeString()
          << ": got " << got.real(i) << ", expected " << expected[r].toString();
  }
}
inline void expectSame(TestCall &call, Result<Tensor> expected, const std::string &what) {
  ASSERT_TRUE(expected.isOk()) << std::move(expected).takeStatus().message() << " in " << what;
  expectSame(call, std::vector<Tensor>{*expected}, what);
}

/// (a + b, max) of an f32 and an i32.
inline void sumAndMaximum(const void *const *arguments, void *const *results) {
  *static_cast<float *>(results[0]) =
      *static_cast<const float *>(arguments[0]) + *static_cast<const float *>(arguments[2]);
  *static_cast<int32_t *>(results[1]) = std::max(*static_cast<const int32_t *>(arguments[1]),
                                                 *static_cast<const int32_t *>(arguments[3]));
}
inline interpret::ScalarFunction sumAndMaximumFunction() {
  using enum ElementType;
  using numerics::ScalarOp;
  interpret::ScalarFunction::Builder builder({f32, i32, f32, i32});
  const auto sum = builder.append(ScalarOp::add, f32, {0, 2});
  const auto larger = builder.append(ScalarOp::maximum, i32, {1, 3});
  builder.addResult(*sum, f32);
  builder.addResult(*larger, i32);
  return std::move(builder).finish();
}

} // namespace tilewright::runtime::cpu

#endif // TEST_LIBRARY_DIFFERENTIAL_H
