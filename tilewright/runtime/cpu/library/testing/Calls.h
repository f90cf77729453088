// Library calls in compact form, for tests and benchmarks.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_TESTING_CALLS_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_TESTING_CALLS_H

#include "tilewright/numerics/scalar/Operations.h"
#include "tilewright/runtime/cpu/library/Library.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace tilewright::runtime::cpu {

using namespace artifact; // for the structs of LibraryCalls.def

/// The memory of a tensor, aligned as kernels require, followed by guard bytes that must not
/// change.
class TestBuffer {
public:
  explicit TestBuffer(const TensorType &type) : type(type) {
    bytes = static_cast<size_t>((*Shape::create(type.dims)).byteCount(type.element));
    const size_t whole = (bytes + 63) / 64 * 64 + 64;
    memory.reset(static_cast<std::byte *>(std::aligned_alloc(64, whole)));
    std::memset(memory.get(), 0xa5, whole);
  }

  std::byte *data() const { return memory.get(); }
  size_t size() const { return bytes; }
  template <typename T> T *as() const { return reinterpret_cast<T *>(memory.get()); }
  int64_t count() const { return (*Shape::create(type.dims)).elementCount(); }
  bool overran() const {
    for (size_t i = bytes; i < (bytes + 63) / 64 * 64 + 64; ++i)
      if (memory.get()[i] != std::byte(0xa5))
        return true;
    return false;
  }

  numerics::Scalar at(int64_t i) const {
    return numerics::loadScalar(type.element, data() + static_cast<size_t>(i) * step());
  }
  void set(int64_t i, const numerics::Scalar &value) {
    numerics::storeScalar(type.element, data() + static_cast<size_t>(i) * step(), value);
  }
  /// Stores `value`, converted to the type.
  void setReal(int64_t i, double value) {
    const numerics::Operation convert =
        numerics::operationFor(numerics::ScalarOp::convert, ElementType::f64, type.element);
    set(i, convert(numerics::Scalar::ofReal(value), {}, {}));
  }
  double real(int64_t i) const {
    const numerics::Operation convert =
        numerics::operationFor(numerics::ScalarOp::convert, type.element, ElementType::f64);
    return convert(at(i), {}, {}).r;
  }
  std::vector<double> reals() const {
    std::vector<double> values;
    for (int64_t i = 0; i < count(); ++i)
      values.push_back(real(i));
    return values;
  }

  TensorType type;

private:
  struct Free {
    void operator()(std::byte *memory) const { std::free(memory); }
  };
  size_t step() const { return numerics::storageBytes(type.element); }
  size_t bytes;
  std::unique_ptr<std::byte, Free> memory;
};

/// A buffer of these values, converted from f64.
inline TestBuffer bufferOf(ElementType type, std::vector<int64_t> dims,
                           const std::vector<double> &values) {
  TestBuffer buffer({type, std::move(dims)});
  for (size_t i = 0; i < values.size(); ++i)
    buffer.setReal(static_cast<int64_t>(i), values[i]);
  return buffer;
}

/// One call with its buffers.
///
///   TestCall call(ReverseCall{.dimensions = {0}});
///   call.operand(bufferOf(ElementType::f32, {3}, {1, 2, 3}));
///   call.result({ElementType::f32, {3}});
///   ASSERT_TRUE(call.run().isOk());
///   call.results[0].reals();   // 3, 2, 1
class TestCall {
public:
  explicit TestCall(artifact::LibraryCall call, std::vector<Body> bodies = {})
      : call(std::move(call)), bodies(std::move(bodies)) {}

  TestCall &operand(TestBuffer buffer) {
    operands.push_back(std::move(buffer));
    return *this;
  }
  TestCall &result(TensorType type) {
    results.emplace_back(std::move(type));
    return *this;
  }
  /// Whether result `index` uses the memory of the operand with the same index.
  bool inPlace = false;

  Status prepare() {
    operandTypes.clear(), resultTypes.clear();
    for (const TestBuffer &each : operands)
      operandTypes.push_back(each.type);
    for (const TestBuffer &each : results)
      resultTypes.push_back(each.type);
    TILEWRIGHT_ASSIGN(kernel, prepareLibraryKernel(call, {bodies, operandTypes, resultTypes}));
    return Status();
  }
  Status runPrepared(ThreadPool &pool) {
    std::vector<const std::byte *> from;
    std::vector<std::byte *> to;
    for (const TestBuffer &each : operands)
      from.push_back(each.data());
    for (size_t i = 0; i < results.size(); ++i)
      to.push_back(inPlace ? operands[i].data() : results[i].data());
    return kernel->run({from, to, pool});
  }
  Status run(unsigned threads = 2) {
    TILEWRIGHT_TRY(prepare());
    ThreadPool pool(threads);
    return runPrepared(pool);
  }

  artifact::LibraryCall call;
  std::vector<Body> bodies;
  std::vector<TestBuffer> operands, results;

private:
  std::vector<TensorType> operandTypes, resultTypes;
  std::unique_ptr<LibraryKernel> kernel;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_TESTING_CALLS_H
