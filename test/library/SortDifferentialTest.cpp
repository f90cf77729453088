#include "test/library/Differential.h"

#include "tilewright/interpret/kernels/Sort.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilewright::runtime::cpu {

using interpret::ScalarFunction;
using numerics::ScalarOp;

static Context context;

/// `op` on arguments 2i and 2i + 1 of a comparator of these inputs.
static ScalarFunction comparatorOf(const std::vector<ElementType> &types, size_t input,
                                   ScalarOp op) {
  std::vector<ElementType> arguments;
  for (ElementType type : types)
    arguments.insert(arguments.end(), {type, type});
  ScalarFunction::Builder builder(arguments);
  const auto first = static_cast<ScalarFunction::Register>(2 * input);
  const auto result =
      builder.append(op, types[input], {first, static_cast<ScalarFunction::Register>(first + 1)});
  builder.addResult(*result, ElementType::pred);
  return std::move(builder).finish();
}

TEST(SortDifferential, KnownOrders) {
  Random random(21);
  for (int round = 0; round < 500; ++round) {
    const size_t width = static_cast<size_t>(random.number(1, 3));
    const size_t key = static_cast<size_t>(random.number(0, static_cast<int64_t>(width) - 1));
    const int64_t rank = random.number(0, 3);
    const Dims dims = random.dims(rank, 0, rank == 1 ? 900 : 30);
    const int64_t dimension = rank == 0 ? 0 : random.number(-rank, rank - 1);
    const bool total = round % 3 == 0, descending = round % 2 == 0;
    std::vector<ElementType> types;
    std::vector<Tensor> tensors;
    TestCall call(SortCall{.dimension = dimension,
                           .comparator = descending ? Comparator::greater : Comparator::less,
                           .comparatorOperand = static_cast<int64_t>(key),
                           .comparatorTotalOrder = total});
    for (size_t i = 0; i < width; ++i) {
      ElementType type = random.type();
      // In two formats negative or large numbers become NaN, which has no order by value.
      while (i == key && (numerics::isComplex(type) || type == ElementType::f8E8M0FNU ||
                          type == ElementType::f8E4M3B11FNUZ))
        type = random.type();
      TestBuffer buffer = random.buffer(type, dims, -40, 40);
      if (type == ElementType::f32)
        for (int64_t k = 0; k < buffer.count(); ++k) {
          const int64_t draw = random.number(0, 9);
          float &value = buffer.as<float>()[k];
          if (draw == 0)
            value = -0.0f;
          if (draw == 1 && total)
            value = k % 2 == 0 ? NAN : -NAN;
        }
      types.push_back(type);
      call.operand(std::move(buffer));
      tensors.push_back(tensorOf(call.operands.back()));
    }
    const bool isReal = numerics::isReal(types[key]);
    const ScalarOp op = total && isReal
                            ? (descending ? ScalarOp::totalOrderGt : ScalarOp::totalOrderLt)
                            : (descending ? ScalarOp::compareGt : ScalarOp::compareLt);
    auto expected = interpret::sort(tensors, dimension, comparatorOf(types, key, op), context);
    ASSERT_TRUE(expected.isOk());
    call.inPlace = width == 1 && random.number(0, 1) == 0; // as target/cpu asks for one operand
    expectSame(
        call, *expected,
        concat("sort ", round, " ", numerics::spelling(types[key]), listed(dims), dimension));
  }
}

TEST(SortDifferential, LongRowsInParallel) {
  Random random(22);
  for (ElementType type : {ElementType::f32, ElementType::i32, ElementType::f64, ElementType::bf16,
                           ElementType::ui64, ElementType::i8})
    for (bool withPlaces : {false, true}) {
      const int64_t count = 200000;
      TestBuffer keys({type, {count}});
      for (size_t i = 0; i < keys.size(); ++i)
        keys.as<uint8_t>()[i] = static_cast<uint8_t>(random.number(0, 255));
      std::vector<double> values;
      TestCall call(SortCall{.dimension = 0, .comparator = Comparator::less});
      call.operand(std::move(keys)).result({type, {count}});
      if (withPlaces) {
        TestBuffer places({ElementType::i32, {count}});
        std::iota(places.as<int32_t>(), places.as<int32_t>() + count, 0);
        call.operand(std::move(places)).result({ElementType::i32, {count}});
      }
      ASSERT_TRUE(call.run(3).isOk());
      const std::vector<double> before = call.operands[0].reals(), after = call.results[0].reals();
      std::vector<int32_t> order(static_cast<size_t>(count));
      std::iota(order.begin(), order.end(), 0);
      // Compare as integers: doubles would lose bits of 64-bit integers.
      auto goesBefore = [&](int32_t a, int32_t b) {
        if (type == ElementType::ui64)
          return call.operands[0].as<uint64_t>()[a] < call.operands[0].as<uint64_t>()[b];
        const double x = before[static_cast<size_t>(a)], y = before[static_cast<size_t>(b)];
        return x < y || (x == x && y != y);
      };
      std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        return goesBefore(a, b) || (!goesBefore(b, a) && a < b);
      });
      const size_t bytes = numerics::storageBytes(type);
      for (int64_t i = 0; i < count; ++i) {
        const auto from = static_cast<size_t>(order[static_cast<size_t>(i)]);
        ASSERT_EQ(0, std::memcmp(call.results[0].data() + static_cast<size_t>(i) * bytes,
                                 call.operands[0].data() + from * bytes, bytes))
            << numerics::spelling(type) << " at " << i;
        if (withPlaces)
          ASSERT_EQ(call.results[1].as<int32_t>()[i], order[static_cast<size_t>(i)]);
      }
    }
}

/// Compares by input 1, then by input 0.
static void lexicographic(const void *const *arguments, void *const *results) {
  const auto a = *static_cast<const int32_t *>(arguments[2]),
             b = *static_cast<const int32_t *>(arguments[3]);
  const auto x = *static_cast<const float *>(arguments[0]),
             y = *static_cast<const float *>(arguments[1]);
  *static_cast<uint8_t *>(results[0]) = a < b || (a == b && x < y);
}

TEST(SortDifferential, Functions) {
  using enum ElementType;
  ScalarFunction::Builder builder({f32, f32, i32, i32});
  const auto less = builder.append(ScalarOp::compareLt, i32, {2, 3});
  const auto equal = builder.append(ScalarOp::compareEq, i32, {2, 3});
  const auto then = builder.append(ScalarOp::compareLt, f32, {0, 1});
  const auto both = builder.append(ScalarOp::bitAnd, pred, {*equal, *then});
  builder.addResult(*builder.append(ScalarOp::bitOr, pred, {*less, *both}), pred);
  const ScalarFunction function = std::move(builder).finish();
  Random random(23);
  for (int round = 0; round < 100; ++round) {
    const Dims dims = round % 25 == 0 ? Dims{5000} : random.dims(2, 0, 40);
    const int64_t dimension = static_cast<int64_t>(dims.size()) - 1 - round % 2;
    TestCall call(
        SortCall{.dimension = std::max<int64_t>(dimension, 0), .comparator = Comparator::function},
        {lexicographic});
    call.operand(random.buffer(f32, dims)).operand(random.buffer(i32, dims));
    auto expected =
        interpret::sort(std::vector{tensorOf(call.operands[0]), tensorOf(call.operands[1])},
                        std::max<int64_t>(dimension, 0), function, context);
    ASSERT_TRUE(expected.isOk());
    expectSame(call, *expected, concat("sort function ", listed(dims)));
  }
}

TEST(SortDifferential, TopK) {
  Random random(24);
  for (int round = 0; round < 300; ++round) {
    ElementType type = random.type();
    while (numerics::isComplex(type))
      type = random.type();
    const int64_t rows = random.number(0, 3),
                  length = random.number(1, round % 4 == 0 ? 3000 : 200);
    const int64_t k = random.number(0, std::min<int64_t>(length, round % 2 == 0 ? 8 : 300));
    const bool largest = round % 5 != 0;
    TestCall call(TopKCall{.k = k, .largest = largest});
    call.operand(random.buffer(type, {rows, length}, -60, 60));
    TestBuffer &values = call.operands[0];
    if (type == ElementType::f32)
      for (int64_t i = 0; i < values.count(); i += 5)
        values.as<float>()[i] = i % 2 == 0 ? NAN : -0.0f;
    call.result({type, {rows, k}}).result({ElementType::i32, {rows, k}});
    ASSERT_TRUE(call.run().isOk());
    const numerics::Operation greater = numerics::operationFor(
        numerics::isReal(type) ? (largest ? ScalarOp::totalOrderGt : ScalarOp::totalOrderLt)
                               : (largest ? ScalarOp::compareGt : ScalarOp::compareLt),
        type);
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<int64_t> order(static_cast<size_t>(length));
      std::iota(order.begin(), order.end(), row * length);
      std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        const bool before = greater(values.at(a), values.at(b), {}).u != 0;
        return before || (greater(values.at(b), values.at(a), {}).u == 0 && a < b);
      });
      for (int64_t i = 0; i < k; ++i)
        ASSERT_EQ(call.results[1].as<int32_t>()[row * k + i],
                  order[static_cast<size_t>(i)] - row * length)
            << numerics::spelling(type) << " " << length << " " << k;
    }
    ASSERT_FALSE(call.results[0].overran() || call.results[1].overran());
  }
}

} // namespace tilewright::runtime::cpu
