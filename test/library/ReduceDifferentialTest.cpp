#include "test/library/Differential.h"

#include "tilewright/interpret/kernels/Reduce.h"
#include "tilewright/interpret/kernels/ReduceWindow.h"

#include <algorithm>
#include <cmath>

namespace tilewright::runtime::cpu {

using interpret::ScalarFunction;
using interpret::WindowDimension;
using numerics::ScalarOp;

static Context context;

namespace {
struct Operation {
  Combiner body;
  ScalarOp op;
};
} // namespace

static const Operation operations[] = {
    {Combiner::add, ScalarOp::add},         {Combiner::multiply, ScalarOp::multiply},
    {Combiner::maximum, ScalarOp::maximum}, {Combiner::minimum, ScalarOp::minimum},
    {Combiner::bitAnd, ScalarOp::bitAnd},   {Combiner::bitOr, ScalarOp::bitOr},
    {Combiner::bitXor, ScalarOp::bitXor}};

/// An operation that `type` supports and whose result does not depend on the order of evaluation.
static Operation operationOf(Random &random, ElementType type) {
  for (;;) {
    const Operation each = operations[random.number(0, 6)];
    const bool rounds = numerics::isReal(type) && numerics::bitWidth(type) < 16;
    const bool adds = each.op == ScalarOp::add || each.op == ScalarOp::multiply;
    // The signs of zeros in a complex product depend on the order, too.
    const bool multiplies = numerics::isComplex(type) && each.op == ScalarOp::multiply;
    if (numerics::operationFor(each.op, type) && !(rounds && adds) && !multiplies)
      return each;
  }
}

/// Values whose sums and products are exact in every type with at least 16 bits.
static TestBuffer exact(Random &random, ElementType type, const Dims &dims, ScalarOp op) {
  return op == ScalarOp::multiply ? random.buffer(type, dims, -1, 1)
                                  : random.buffer(type, dims, -2, 2);
}
/// A tensor and its init value as operands.
static void addExact(TestCall &call, Random &random, ElementType type, const Dims &dims,
                     ScalarOp op) {
  call.operand(exact(random, type, dims, op)).operand(exact(random, type, {}, op));
}

TEST(ReduceDifferential, KnownOperations) {
  Random random(11);
  for (int round = 0; round < 700; ++round) {
    const ElementType type = random.type();
    const Operation operation = operationOf(random, type);
    const int64_t rank = random.number(0, 4);
    const Dims dims = random.dims(rank, round % 8 != 0, rank < 2 ? 300 : rank < 3 ? 60 : 9);
    Dims reduced;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (random.number(0, 1) == 0)
        reduced.push_back(dim);
    TestCall call(ReduceCall{.dimensions = reduced, .body = operation.body});
    addExact(call, random, type, dims, operation.op);
    auto expected = interpret::reduce(std::vector{tensorOf(call.operands[0])},
                                      std::vector{tensorOf(call.operands[1])}, reduced,
                                      ScalarFunction::single(operation.op, type), context);
    ASSERT_TRUE(expected.isOk());
    expectSame(call, *expected,
               concat("reduce ", nameOf(operation.body), " ", numerics::spelling(type),
                      listed(dims), listed(reduced)));
  }
}

/// Sizes at which the work is split into blocks and over threads.
TEST(ReduceDifferential, LargeSums) {
  Random random(12);
  struct Case {
    Dims dims, reduced;
  };
  for (const Case &each :
       {Case{{300000}, {0}}, Case{{3, 100000}, {1}}, Case{{100000, 3}, {0}}, Case{{5000, 70}, {0}},
        Case{{2, 3000, 40}, {1}}, Case{{40, 7, 900}, {0, 2}}, Case{{20, 70000}, {1}},
        Case{{9, 4100}, {0}}, Case{{1000, 2, 100}, {0}}})
    for (ElementType type : {ElementType::i32, ElementType::f64, ElementType::i8}) {
      TestCall call(ReduceCall{.dimensions = each.reduced, .body = Combiner::add});
      call.operand(random.buffer(type, each.dims, -5, 5)).operand(random.buffer(type, {}, 3, 3));
      auto expected = interpret::reduce(std::vector{tensorOf(call.operands[0])},
                                        std::vector{tensorOf(call.operands[1])}, each.reduced,
                                        ScalarFunction::single(ScalarOp::add, type), context);
      ASSERT_TRUE(expected.isOk());
      expectSame(call, *expected, concat("large reduce ", listed(each.dims), listed(each.reduced)));
    }
}

TEST(ReduceDifferential, NansAndZerosOfBothSigns) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool isMaximum : {true, false})
    for (int64_t size : {2, 40, 300}) {
      TestBuffer values({ElementType::f32, {3, size}});
      for (int64_t i = 0; i < 3 * size; ++i)
        values.as<float>()[i] = i % 2 == 0 ? 0.0f : -0.0f;
      values.as<float>()[size + size / 2] = nan;
      values.as<float>()[2 * size + 1] = isMaximum ? 1.0f : -1.0f;
      TestCall call(
          ReduceCall{.dimensions = {1}, .body = isMaximum ? Combiner::maximum : Combiner::minimum});
      call.operand(std::move(values));
      call.operand(bufferOf(ElementType::f32, {}, {isMaximum ? -INFINITY : INFINITY}));
      call.result({ElementType::f32, {3}});
      ASSERT_TRUE(call.run().isOk());
      const float *out = call.results[0].as<float>();
      EXPECT_EQ(out[0], 0.0f);
      EXPECT_EQ(std::signbit(out[0]), !isMaximum);
      EXPECT_TRUE(std::isnan(out[1]));
      EXPECT_EQ(out[2], isMaximum ? 1.0f : -1.0f);
    }
}

/// Adds two tensors of `dims` and their init values as operands; returns both for the evaluator.
static std::pair<std::vector<Tensor>, std::vector<Tensor>> addPair(TestCall &call, Random &random,
                                                                   const Dims &dims) {
  for (const Dims &shape : {dims, Dims()})
    for (ElementType type : {ElementType::f32, ElementType::i32})
      call.operand(random.buffer(type, shape));
  auto tensor = [&](size_t i) { return tensorOf(call.operands[i]); };
  return {{tensor(0), tensor(1)}, {tensor(2), tensor(3)}};
}

TEST(ReduceDifferential, Functions) {
  Random random(13);
  for (int round = 0; round < 120; ++round) {
    const int64_t rank = random.number(0, 3);
    const Dims dims = round % 20 == 0 ? Dims{2, 20000} : random.dims(rank, 0, 30);
    Dims reduced;
    for (int64_t dim = 0; dim < static_cast<int64_t>(dims.size()); ++dim)
      if (random.number(0, 1) == 0)
        reduced.push_back(dim);
    TestCall call(ReduceCall{.dimensions = reduced, .body = Combiner::function}, {sumAndMaximum});
    const auto [operands, inits] = addPair(call, random, dims);
    auto expected = interpret::reduce(operands, inits, reduced, sumAndMaximumFunction(), context);
    ASSERT_TRUE(expected.isOk());
    expectSame(call, *expected, concat("reduce function ", listed(dims), listed(reduced)));
  }
}

TEST(ReduceDifferential, ArgMaxAndArgMin) {
  Random random(14);
  for (int round = 0; round < 300; ++round) {
    const bool isMaximum = round % 2 == 0;
    const int64_t rank = random.number(1, 3), dimension = random.number(0, rank - 1);
    const Dims dims = random.dims(rank, 1, rank == 1 ? 400 : 20);
    const ElementType type =
        random.oneOf({ElementType::f32, ElementType::f64, ElementType::bf16, ElementType::i8,
                      ElementType::ui32, ElementType::pred, ElementType::i64});
    TestBuffer values = random.buffer(type, dims, -6, 6);
    if (type == ElementType::f32 && round % 3 == 0)
      values.as<float>()[random.number(0, values.count() - 1)] = NAN;
    const Shape shape = *Shape::create(dims);
    const int64_t stride = shape.strides()[static_cast<size_t>(dimension)];
    const int64_t size = dims[static_cast<size_t>(dimension)];
    Dims kept = dims;
    kept.erase(kept.begin() + dimension);
    // The expected result is the first element that no other beats; a NaN beats all numbers.
    std::vector<int64_t> best;
    for (int64_t out = 0; out < shape.elementCount() / size; ++out) {
      const int64_t base = out / stride * stride * size + out % stride;
      int64_t at = 0;
      for (int64_t i = 1; i < size; ++i) {
        const double a = values.real(base + at * stride), b = values.real(base + i * stride);
        if (a == a && (b != b || (isMaximum ? b > a : b < a)))
          at = i;
      }
      best.push_back(at);
    }
    const bool asReduce = round % 4 < 2;
    const Combiner body = isMaximum ? Combiner::argmax : Combiner::argmin;
    TestCall call(asReduce    ? LibraryCall(ReduceCall{.dimensions = {dimension}, .body = body})
                  : isMaximum ? LibraryCall(ArgMaxCall{.dimension = dimension})
                              : LibraryCall(ArgMinCall{.dimension = dimension}));
    TestBuffer indices({ElementType::i32, dims});
    for (int64_t i = 0; i < indices.count(); ++i)
      indices.as<int32_t>()[i] = static_cast<int32_t>(i / stride % size);
    call.operand(std::move(values));
    if (asReduce) {
      TestBuffer init({type, {}});
      init.set(0, isMaximum ? numerics::lowestOf(type) : numerics::highestOf(type));
      call.operand(std::move(indices)).operand(std::move(init));
      call.operand(bufferOf(ElementType::i32, {}, {0}));
      call.result({type, kept});
    }
    call.result({ElementType::i32, kept});
    ASSERT_TRUE(call.run().isOk());
    for (size_t i = 0; i < best.size(); ++i)
      ASSERT_EQ(call.results.back().as<int32_t>()[i], best[i]) << listed(dims) << dimension;
  }
}

static std::vector<WindowDimension> randomWindow(Random &random, const Dims &dims, bool isLarge) {
  std::vector<WindowDimension> window;
  for (int64_t size : dims) {
    WindowDimension dim;
    if (random.number(0, 2) > 0) {
      dim.size = random.number(isLarge ? 0 : 1, 4);
      dim.stride = random.number(1, 3);
      dim.baseDilation = random.number(0, 3) == 0 ? random.number(1, 3) : 1;
      dim.windowDilation = random.number(0, 3) == 0 ? random.number(1, 4) : 1;
      dim.padLow = random.number(-2, 4);
      dim.padHigh = random.number(-2, 4);
    } else if (random.number(0, 3) == 0 && size > 0) {
      dim.size = size; // a running sum
      (random.number(0, 1) == 0 ? dim.padLow : dim.padHigh) = size - 1;
    }
    window.push_back(dim);
  }
  return window;
}

/// The results of the evaluator for operands that addExact() added.
static Result<std::vector<Tensor>>
windowsOf(const TestCall &call, const std::vector<WindowDimension> &window, ScalarOp op) {
  return interpret::reduceWindow(
      std::vector{tensorOf(call.operands[0])}, std::vector{tensorOf(call.operands[1])}, window,
      ScalarFunction::single(op, call.operands[0].type.element), context);
}
static ReduceWindowCall callOf(const std::vector<WindowDimension> &window, Combiner body) {
  ReduceWindowCall call{.body = body};
  for (const WindowDimension &dim : window) {
    call.windowDimensions.push_back(dim.size);
    call.windowStrides.push_back(dim.stride);
    call.baseDilations.push_back(dim.baseDilation);
    call.windowDilations.push_back(dim.windowDilation);
    call.padding.insert(call.padding.end(), {dim.padLow, dim.padHigh});
  }
  return call;
}

TEST(ReduceDifferential, Windows) {
  Random random(15);
  for (int round = 0; round < 800; ++round) {
    const ElementType type = random.type();
    const Operation operation = operationOf(random, type);
    const int64_t rank = random.number(0, 4);
    const Dims dims = random.dims(rank, round % 8 != 0, rank < 2 ? 60 : 8);
    const std::vector<WindowDimension> window = randomWindow(random, dims, true);
    TestCall call(callOf(window, operation.body));
    addExact(call, random, type, dims, operation.op);
    auto expected = windowsOf(call, window, operation.op);
    ASSERT_TRUE(expected.isOk());
    expectSame(call, *expected,
               concat("reduce_window ", round, nameOf(operation.body), numerics::spelling(type),
                      listed(dims)));
  }
}

TEST(ReduceDifferential, SmallWindowsAndShortRunsRoundAsTheBodySays) {
  // Elements of many magnitudes, so that every other order of summation gives another result.
  Random random(19);
  for (int round = 0; round < 200; ++round) {
    const bool isRun = round % 2 == 0;
    const ElementType type = isRun ? random.oneOf({ElementType::bf16, ElementType::f16})
                                   : random.oneOf({ElementType::f32, ElementType::f64});
    const int64_t rank = random.number(2, 4);
    const Dims dims = random.dims(rank, 2, 9);
    std::vector<WindowDimension> window(static_cast<size_t>(rank));
    if (isRun) {
      const auto along = static_cast<size_t>(random.number(0, rank - 1));
      window[along].size = dims[along];
      window[along].padLow = dims[along] - 1;
    } else {
      const auto first = static_cast<size_t>(random.number(0, rank - 2));
      for (size_t along :
           {first, static_cast<size_t>(random.number(int64_t(first) + 1, rank - 1))}) {
        window[along].size = random.number(1, 3);
        window[along].stride = random.number(1, 3);
        window[along].baseDilation = random.number(0, 3) == 0 ? 2 : 1;
        window[along].windowDilation = random.number(0, 3) == 0 ? 2 : 1;
        window[along].padLow = random.number(-1, 2);
        window[along].padHigh = random.number(-1, 2);
      }
    }
    TestBuffer values({type, dims});
    for (int64_t i = 0; i < values.count(); ++i)
      values.set(i, numerics::operationFor(numerics::ScalarOp::convert, ElementType::f64, type)(
                        Scalar::ofReal(std::ldexp(double(random.number(-999, 999)) / 999,
                                                  int(random.number(-6, 6)))),
                        {}, {}));
    TestCall call(callOf(window, Combiner::add));
    call.operand(std::move(values)).operand(random.buffer(type, {}, 0, 0));
    auto expected = interpret::reduceWindow(std::vector{tensorOf(call.operands[0])},
                                            std::vector{tensorOf(call.operands[1])}, window,
                                            ScalarFunction::single(ScalarOp::add, type), context);
    ASSERT_TRUE(expected.isOk());
    expectSame(call, *expected,
               concat("reduce_window ", round, numerics::spelling(type), listed(dims)));
  }
}

/// Large enough that the first sliding dimension is processed in slabs, with windows across slab
/// boundaries.
TEST(ReduceDifferential, WindowsInSlabs) {
  Random random(16);
  for (int round = 0; round < 24; ++round) {
    const ElementType type = round % 2 ? ElementType::bf16 : ElementType::f32;
    const Operation operation = operationOf(random, type);
    const Dims dims = {2, 300, 3, 70 + 20 * (round % 3)};
    std::vector<WindowDimension> window(4);
    for (size_t dim : {1, 2}) {
      window[dim].size = random.number(1, dim == 1 ? 9 : 3);
      window[dim].stride = random.number(1, 3);
      window[dim].windowDilation = random.number(1, 2);
      window[dim].padLow = random.number(-3, 12);
      window[dim].padHigh = random.number(-3, 12);
    }
    TestCall call(callOf(window, operation.body));
    addExact(call, random, type, dims, operation.op);
    auto expected = windowsOf(call, window, operation.op);
    ASSERT_TRUE(expected.isOk());
    expectSame(call, *expected, concat("reduce_window in slabs ", round, nameOf(operation.body)));
  }
}

TEST(ReduceDifferential, WindowFunctions) {
  Random random(16);
  for (int round = 0; round < 100; ++round) {
    const Dims dims = random.dims(random.number(0, 3), 0, 9);
    const std::vector<WindowDimension> window = randomWindow(random, dims, true);
    TestCall call(callOf(window, Combiner::function), {sumAndMaximum});
    const auto [operands, inits] = addPair(call, random, dims);
    auto expected =
        interpret::reduceWindow(operands, inits, window, sumAndMaximumFunction(), context);
    ASSERT_TRUE(expected.isOk());
    expectSame(call, *expected, concat("reduce_window function ", round));
  }
}

TEST(ReduceDifferential, RunningSumsOfLongRows) {
  Random random(17);
  for (ElementType type :
       {ElementType::i32, ElementType::f32, ElementType::f64, ElementType::i64, ElementType::i16})
    for (bool reversed : {false, true})
      for (const Dims &dims : {Dims{100001}, Dims{3, 40000}, Dims{70000, 2}, Dims{50, 1000}}) {
        const int64_t dimension = dims.size() == 2 && dims[0] < 100 ? 1 : 0;
        TestCall call(
            CumulativeCall{.dimension = dimension, .reverse = reversed, .body = Combiner::add});
        call.operand(random.buffer(type, dims, 0, 2)).result({type, dims});
        ASSERT_TRUE(call.run().isOk());
        const int64_t size = dims[static_cast<size_t>(dimension)];
        const int64_t inner = dimension == 0 && dims.size() == 2 ? dims[1] : 1;
        for (int64_t row = 0; row < call.results[0].count() / size; ++row) {
          int64_t sum = 0;
          for (int64_t i = 0; i < size; ++i) {
            const int64_t place = reversed ? size - 1 - i : i;
            const int64_t at = row / inner * inner * size + row % inner + place * inner;
            sum += static_cast<int64_t>(call.operands[0].real(at));
            const int64_t expected = type == ElementType::i16 ? static_cast<int16_t>(sum) : sum;
            ASSERT_EQ(static_cast<int64_t>(call.results[0].real(at)), expected) << at;
          }
        }
      }
}

TEST(ReduceDifferential, SelectAndScatter) {
  Random random(18);
  for (int round = 0; round < 200; ++round) {
    const ElementType type =
        random.oneOf({ElementType::f32, ElementType::bf16, ElementType::i32, ElementType::ui8});
    const Dims dims = random.dims(random.number(0, 4), 1, 8);
    std::vector<WindowDimension> window = randomWindow(random, dims, false);
    for (WindowDimension &dim : window)
      dim.baseDilation = dim.windowDilation = 1; // select_and_scatter has none
    TestBuffer operand = random.buffer(type, dims, 0, 9);
    TestBuffer init = random.buffer(type, {}, 0, 2);
    // The source has the shape of a reduce_window.
    auto positions =
        interpret::reduceWindow(std::vector{tensorOf(operand)}, std::vector{tensorOf(init)}, window,
                                ScalarFunction::single(ScalarOp::maximum, type), context);
    ASSERT_TRUE(positions.isOk());
    const Dims sourceDims = typeOf((*positions)[0]).dims;
    const bool isMaximum = round % 2 == 0;
    const ScalarOp compare = isMaximum ? ScalarOp::compareGe : ScalarOp::compareLt;
    const ReduceWindowCall windows = callOf(window, Combiner::maximum);
    TestCall call(
        SelectAndScatterCall{.windowDimensions = windows.windowDimensions,
                             .windowStrides = windows.windowStrides,
                             .padding = windows.padding,
                             .select = isMaximum ? Selector::greaterOrEqual : Selector::less,
                             .scatter = Combiner::add});
    call.operand(std::move(operand)).operand(random.buffer(type, sourceDims, 0, 3));
    call.operand(std::move(init));
    expectSame(call,
               interpret::selectAndScatter(tensorOf(call.operands[0]), tensorOf(call.operands[1]),
                                           tensorOf(call.operands[2]), window,
                                           ScalarFunction::single(compare, type),
                                           ScalarFunction::single(ScalarOp::add, type), context),
               concat("select_and_scatter ", round));
  }
}

} // namespace tilewright::runtime::cpu
