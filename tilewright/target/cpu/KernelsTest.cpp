// Compiles kernels for every chip that this machine can run, executes them, and compares results.
#include "tilewright/target/cpu/testing/Kernels.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

using namespace tilewright;
using namespace tilewright::cpu;

namespace {

/// A tensor with the runtime's alignment and guard bytes behind it.
template <typename T> class Buffer {
public:
  explicit Buffer(size_t count, T fill = T())
      : count(count),
        data(static_cast<T *>(std::aligned_alloc(64, (count * sizeof(T) + 127) / 64 * 64))) {
    std::memset(data, 0x5A, (count * sizeof(T) + 127) / 64 * 64);
    std::fill(begin(), end(), fill);
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() {
    auto *bytes = reinterpret_cast<unsigned char *>(data);
    for (size_t at = count * sizeof(T); at < (count * sizeof(T) + 127) / 64 * 64; ++at)
      EXPECT_EQ(bytes[at], 0x5A) << "written behind the end";
    std::free(data);
  }
  T *begin() { return data; }
  T *end() { return data + count; }
  T &operator[](size_t i) { return data[i]; }
  operator void *() { return data; }
  size_t size() const { return count; }

private:
  size_t count;
  T *data;
};

void fillRandom(Buffer<float> &buffer, float low = -2, float high = 2) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> draw(low, high);
  for (float &value : buffer)
    value = draw(random);
}

class Kernels : public testing::TestWithParam<std::string> {
protected:
  LoadedKernels compile(std::string_view text) {
    return LoadedKernels::compile(text, *chipNamed(GetParam()));
  }
};
INSTANTIATE_TEST_SUITE_P(Chips, Kernels, testing::ValuesIn(runnableChips()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// The plan says that the outputs are large, so vectors at aligned addresses are stored past the
/// caches; all others are not.
TEST_P(Kernels, StreamsLargeOutputs) {
  for (const char *element : {"f32", "bf16", "i8"})
    for (int64_t columns : {64, 128, 200, 257, 1}) {
      const std::string tensor = "tensor<12x" + std::to_string(columns) + "x" + element + ">",
                        memory = "memref" + tensor.substr(6),
                        tile = "tensor<4x" + std::to_string(columns) + "x" + element + ">";
      LoadedKernels kernels = compile(
          "func.func @main(%x: " + tensor + ") -> " + tensor +
          " attributes {exec.allocations = [#exec.allocation<storage = \"parameter\", index = 0, "
          "bytes = 64, space = 0>, #exec.allocation<storage = \"result\", index = 0, bytes = 64, "
          "space = 0>], exec.argument_slices = [[#exec.slice<allocation = 0, offset = 0, bytes = "
          "64>]]} {\n%r = exec.launch @copy(%x) {exec.slices = [#exec.slice<allocation = 1, "
          "offset = 0, bytes = 100000000>]} : (" +
          tensor + ") -> " + tensor + "\nreturn %r : " + tensor +
          "\n}\ntile.kernel @copy grid [3] inputs 1 {\n^bb0(%i: index, %x: " + memory +
          ", %out: " + memory +
          "):\n%c0 = arith.constant 0 : index\n%o = affine.apply affine_map<(i) -> (i * 4)>(%i)\n"
          "%t = tile.load %x[%o, %c0] : " +
          memory + " -> " + tile + "\ntile.store %t, %out[%o, %c0] : " + tile + ", " + memory +
          "\n}");
      const size_t bytes = static_cast<size_t>(12 * columns) * (element[0] == 'f'   ? 4
                                                                : element[0] == 'b' ? 2
                                                                                    : 1);
      Buffer<unsigned char> x(bytes), out(bytes);
      for (size_t i = 0; i < bytes; ++i)
        x[i] = static_cast<unsigned char>(i % 113);
      kernels.run("copy", {x, out});
      EXPECT_EQ(std::memcmp(x, out, bytes), 0) << columns << " of " << element;
    }
}

TEST_P(Kernels, AddsElements) {
  LoadedKernels kernels = compile(R"(
    tile.kernel @add grid [5] inputs 2 {
    ^bb0(%i: index, %x: memref<1000xf32>, %y: memref<1000xf32>, %out: memref<1000xf32>):
      %o = affine.apply affine_map<(i) -> (i * 200)>(%i)
      %a = tile.load %x[%o] : memref<1000xf32> -> tensor<200xf32>
      %b = tile.load %y[%o] : memref<1000xf32> -> tensor<200xf32>
      %s = tile.map(%a, %b) : (tensor<200xf32>, tensor<200xf32>) -> tensor<200xf32> {
      ^bb0(%p: f32, %q: f32):
        %r = arith.addf %p, %q : f32
        tile.yield %r : f32
      }
      tile.store %s, %out[%o] : tensor<200xf32>, memref<1000xf32>
    })");
  Buffer<float> x(1000), y(1000, 1.5f), out(1000);
  fillRandom(x);
  kernels.run("add", {x, y, out});
  for (size_t i = 0; i < 1000; ++i)
    EXPECT_EQ(out[i], x[i] + 1.5f);
}

TEST_P(Kernels, RoundsToOneFormatAfterTheOther) {
  // A value rounded to f16 must not be taken as rounded to f8.
  LoadedKernels kernels = compile(R"(
    tile.kernel @round grid [1] inputs 1 {
    ^bb0(%p: index, %x: memref<20xf32>, %r: memref<20xf32>):
      %o = arith.constant 0 : index
      %a = tile.load %x[%o] : memref<20xf32> -> tensor<20xf32>
      %s = tile.map(%a) : (tensor<20xf32>) -> tensor<20xf32> {
      ^bb0(%e: f32):
        %h = arith.truncf %e : f32 to f16
        %f = arith.extf %h : f16 to f32
        %q = arith.truncf %f : f32 to f8E5M2
        %g = arith.extf %q : f8E5M2 to f32
        tile.yield %g : f32
      }
      tile.store %s, %r[%o] : tensor<20xf32>, memref<20xf32>
    })");
  Buffer<float> x(20), r(20);
  for (size_t i = 0; i < 20; ++i)
    x[i] = float(i) - 10;
  kernels.run("round", {x, r});
  for (size_t i = 0; i < 20; ++i) {
    // Two mantissa bits: integers up to 8 are exact, 9 lies between 8 and 10.
    const float expected = std::fabs(x[i]) == 9 ? std::copysign(8.0f, x[i]) : x[i];
    EXPECT_EQ(r[i], expected);
  }
}

TEST_P(Kernels, DropsWhatIsOutside) {
  LoadedKernels kernels = compile(R"(
    tile.kernel @scale grid [4] inputs 1 {
    ^bb0(%i: index, %x: memref<777xf32>, %out: memref<777xf32>):
      %o = affine.apply affine_map<(i) -> (i * 200)>(%i)
      %a = tile.load %x[%o] in_bounds [false] : memref<777xf32> -> tensor<200xf32>
      %s = tile.map(%a) : (tensor<200xf32>) -> tensor<200xf32> {
      ^bb0(%p: f32):
        %r = arith.mulf %p, %p : f32
        tile.yield %r : f32
      }
      tile.store %s, %out[%o] in_bounds [false] : tensor<200xf32>, memref<777xf32>
    })");
  Buffer<float> x(777), out(777);
  fillRandom(x);
  kernels.run("scale", {x, out});
  for (size_t i = 0; i < 777; ++i)
    EXPECT_EQ(out[i], x[i] * x[i]);
}

TEST_P(Kernels, ReducesRows) {
  LoadedKernels kernels = compile(R"(
    tile.kernel @row_max grid [12] inputs 1 {
    ^bb0(%i: index, %x: memref<12x500xf32>, %out: memref<12xf32>):
      %zero = arith.constant 0 : index
      %row = tile.load %x[%i, %zero] : memref<12x500xf32> -> tensor<1x500xf32>
      %low = arith.constant 0xFF800000 : f32
      %max = tile.reduce %row init %low : f32 dims [1] : tensor<1x500xf32> -> tensor<1xf32> {
      ^bb0(%a: f32, %b: f32):
        %m = arith.maximumf %a, %b : f32
        tile.yield %m : f32
      }
      tile.store %max, %out[%i] : tensor<1xf32>, memref<12xf32>
    })");
  Buffer<float> x(6000), out(12);
  fillRandom(x);
  x[5 * 500 + 17] = NAN;
  kernels.run("row_max", {x, out});
  for (size_t i = 0; i < 12; ++i) {
    if (i == 5)
      EXPECT_TRUE(std::isnan(out[i]));
    else
      EXPECT_EQ(out[i], *std::max_element(&x[i * 500], &x[i * 500] + 500));
  }
}

/// The columns of 100 rows, with accumulators in memory: whole blocks of rows, and half a one;
/// whole vectors, and a part of one.
TEST_P(Kernels, ReducesColumnsInOrder) {
  LoadedKernels kernels = compile(R"(
    tile.kernel @columns grid [1] inputs 1 {
    ^bb0(%i: index, %x: memref<100x333xf32>, %sum: memref<333xf32>, %max: memref<333xf32>, %at: memref<333xi32>):
      %c0 = arith.constant 0 : index
      %start = arith.constant 7.0 : f32
      %low = arith.constant 0xFF800000 : f32
      %none = arith.constant -1 : i32
      %t = tile.load %x[%c0, %c0] : memref<100x333xf32> -> tensor<100x333xf32>
      %n = tile.iota %c0 dim 0 : tensor<100x333xi32>
      %s = tile.reduce %t init %start : f32 dims [0] : tensor<100x333xf32> -> tensor<333xf32> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.addf %a, %b : f32
        tile.yield %r : f32
      }
      %m, %k = tile.reduce %t, %n init %low, %none : f32, i32 dims [0]
          : tensor<100x333xf32>, tensor<100x333xi32> -> tensor<333xf32>, tensor<333xi32> {
      ^bb0(%a: f32, %p: i32, %b: f32, %q: i32):
        %g = arith.cmpf oge, %a, %b : f32
        %v = arith.select %g, %a, %b : f32
        %r = arith.select %g, %p, %q : i32
        tile.yield %v, %r : f32, i32
      }
      tile.store %s, %sum[%c0] : tensor<333xf32>, memref<333xf32>
      tile.store %m, %max[%c0] : tensor<333xf32>, memref<333xf32>
      tile.store %k, %at[%c0] : tensor<333xi32>, memref<333xi32>
    })");
  Buffer<float> x(33300), sum(333), max(333);
  Buffer<int32_t> at(333);
  fillRandom(x);
  kernels.run("columns", {x, sum, max, at});
  for (size_t column = 0; column < 333; ++column) {
    float total = 7, largest = -std::numeric_limits<float>::infinity();
    int32_t place = -1;
    for (size_t row = 0; row < 100; ++row) {
      const float value = x[row * 333 + column];
      total += value;
      if (!(largest >= value))
        largest = value, place = static_cast<int32_t>(row);
    }
    EXPECT_EQ(sum[column], total) << column; // the same order, so the same bits
    EXPECT_EQ(max[column], largest);
    EXPECT_EQ(at[column], place);
  }
}

template <typename T> void expectTransposed(LoadedKernels kernels) {
  constexpr size_t planes = 2, rows = 96, columns = 64;
  Buffer<T> x(planes * rows * columns), y(planes * rows * columns), out(x.size(), T(1));
  std::iota(x.begin(), x.end(), T(0));
  std::iota(y.begin(), y.end(), T(100));
  kernels.run("transpose", {x, y, out});
  for (size_t plane = 0; plane < planes; ++plane)
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column) {
        const size_t from = (plane * rows + row) * columns + column,
                     to = (plane * columns + column) * rows + row;
        ASSERT_EQ(out[to], T(x[from] ^ y[from])) << plane << " " << row << " " << column;
      }
}

TEST_P(Kernels, TransposesInRegisters) {
  auto program = [](const char *type) {
    std::string text = R"(
    tile.kernel @transpose grid [2, 2, 3] inputs 2 {
    ^bb0(%p: index, %i: index, %j: index, %x: memref<2x96x64xT>, %y: memref<2x96x64xT>, %out: memref<2x64x96xT>):
      %c = affine.apply affine_map<(d) -> (d * 32)>(%i)
      %r = affine.apply affine_map<(d) -> (d * 32)>(%j)
      %a = tile.load %x[%p, %r, %c] : memref<2x96x64xT> -> tensor<1x32x32xT>
      %b = tile.load %y[%p, %r, %c] : memref<2x96x64xT> -> tensor<1x32x32xT>
      %t = tile.view %a affine_map<(d0, d1, d2) -> (d0, d2, d1)> : tensor<1x32x32xT> -> tensor<1x32x32xT>
      %u = tile.view %b affine_map<(d0, d1, d2) -> (d0, d2, d1)> : tensor<1x32x32xT> -> tensor<1x32x32xT>
      %s = tile.map(%t, %u) : (tensor<1x32x32xT>, tensor<1x32x32xT>) -> tensor<1x32x32xT> {
      ^bb0(%e: T, %f: T):
        %g = arith.xori %e, %f : T
        tile.yield %g : T
      }
      tile.store %s, %out[%p, %c, %r] : tensor<1x32x32xT>, memref<2x64x96xT>
    })";
    for (size_t at = 0; (at = text.find('T', at)) != std::string::npos; at += 3)
      text.replace(at, 1, type);
    return text;
  };
  expectTransposed<int16_t>(compile(program("i16")));
  expectTransposed<int32_t>(compile(program("i32")));
  expectTransposed<int64_t>(compile(program("i64")));
}

TEST_P(Kernels, SoftmaxOfSeveralRows) {
  LoadedKernels kernels = compile(R"(
    tile.kernel @softmax grid [3] inputs 1 {
    ^bb0(%i: index, %x: memref<12x100xf32>, %out: memref<12x100xf32>):
      %zero = arith.constant 0 : index
      %o = affine.apply affine_map<(i) -> (i * 4)>(%i)
      %row = tile.load %x[%o, %zero] : memref<12x100xf32> -> tensor<4x100xf32>
      %low = arith.constant 0xFF800000 : f32
      %max = tile.reduce %row init %low : f32 dims [1] : tensor<4x100xf32> -> tensor<4xf32> {
      ^bb0(%a: f32, %b: f32):
        %m = arith.maximumf %a, %b : f32
        tile.yield %m : f32
      }
      %maxes = tile.view %max affine_map<(i, j) -> (i)> : tensor<4xf32> -> tensor<4x100xf32>
      %e = tile.map(%row, %maxes) : (tensor<4x100xf32>, tensor<4x100xf32>) -> tensor<4x100xf32> {
      ^bb0(%a: f32, %b: f32):
        %d = arith.subf %a, %b : f32
        %p = math.exp %d : f32
        tile.yield %p : f32
      }
      %f0 = arith.constant 0.0 : f32
      %sum = tile.reduce %e init %f0 : f32 dims [1] : tensor<4x100xf32> -> tensor<4xf32> {
      ^bb0(%a: f32, %b: f32):
        %m = arith.addf %a, %b : f32
        tile.yield %m : f32
      }
      %sums = tile.view %sum affine_map<(i, j) -> (i)> : tensor<4xf32> -> tensor<4x100xf32>
      %r = tile.map(%e, %sums) : (tensor<4x100xf32>, tensor<4x100xf32>) -> tensor<4x100xf32> {
      ^bb0(%a: f32, %b: f32):
        %d = arith.divf %a, %b : f32
        tile.yield %d : f32
      }
      tile.store %r, %out[%o, %zero] : tensor<4x100xf32>, memref<12x100xf32>
    })");
  Buffer<float> x(1200), out(1200);
  fillRandom(x, -10, 10);
  kernels.run("softmax", {x, out});
  for (size_t i = 0; i < 12; ++i) {
    double max = *std::max_element(&x[i * 100], &x[i * 100] + 100), sum = 0;
    for (size_t j = 0; j < 100; ++j)
      sum += std::exp(x[i * 100 + j] - max);
    for (size_t j = 0; j < 100; ++j)
      EXPECT_NEAR(out[i * 100 + j], std::exp(x[i * 100 + j] - max) / sum, 2e-7);
  }
}

TEST_P(Kernels, CarriesTilesThroughLoops) {
  LoadedKernels kernels = compile(R"(
    tile.kernel @sum grid [2] inputs 1 {
    ^bb0(%i: index, %x: memref<2x96x40xf32>, %out: memref<2x40xf32>):
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %c96 = arith.constant 96 : index
      %f0 = arith.constant 0.0 : f32
      %zero = tile.map() : () -> tensor<40xf32> {
        %z = arith.constant 0.0 : f32
        tile.yield %z : f32
      }
      %r = scf.for %j = %c0 to %c96 step %c8 iter_args(%acc = %zero) -> tensor<40xf32> {
        %t = tile.load %x[%i, %j, %c0] : memref<2x96x40xf32> -> tensor<1x8x40xf32>
        %p = tile.reduce %t init %f0 : f32 dims [0, 1] : tensor<1x8x40xf32> -> tensor<40xf32> {
        ^bb0(%a: f32, %b: f32):
          %m = arith.addf %a, %b : f32
          tile.yield %m : f32
        }
        %n = tile.map(%acc, %p) : (tensor<40xf32>, tensor<40xf32>) -> tensor<40xf32> {
        ^bb0(%a: f32, %b: f32):
          %m = arith.addf %a, %b : f32
          tile.yield %m : f32
        }
        scf.yield %n : tensor<40xf32>
      }
      %row = tile.view %r affine_map<(i, j) -> (j)> : tensor<40xf32> -> tensor<1x40xf32>
      tile.store %row, %out[%i, %c0] : tensor<1x40xf32>, memref<2x40xf32>
    })");
  Buffer<float> x(2 * 96 * 40), out(80);
  fillRandom(x);
  kernels.run("sum", {x, out});
  for (size_t i = 0; i < 2; ++i)
    for (size_t k = 0; k < 40; ++k) {
      double sum = 0;
      for (size_t j = 0; j < 96; ++j)
        sum += x[(i * 96 + j) * 40 + k];
      EXPECT_NEAR(out[i * 40 + k], sum, 1e-4);
    }
}

TEST_P(Kernels, ScansForwardAndBack) {
  LoadedKernels kernels = compile(R"(
    tile.kernel @scan grid [1] inputs 1 {
    ^bb0(%i: index, %x: memref<7x33xi32>, %rows: memref<7x33xi32>, %cols: memref<7x33xi32>):
      %zero = arith.constant 0 : i32
      %t = tile.load %x[%i, %i] : memref<7x33xi32> -> tensor<7x33xi32>
      %a = tile.scan %t init %zero : i32 dim 1 : tensor<7x33xi32> -> tensor<7x33xi32> {
      ^bb0(%p: i32, %q: i32):
        %m = arith.addi %p, %q : i32
        tile.yield %m : i32
      }
      %b = tile.scan %t init %zero : i32 dim 0 reverse : tensor<7x33xi32> -> tensor<7x33xi32> {
      ^bb0(%p: i32, %q: i32):
        %m = arith.addi %p, %q : i32
        tile.yield %m : i32
      }
      tile.store %a, %rows[%i, %i] : tensor<7x33xi32>, memref<7x33xi32>
      tile.store %b, %cols[%i, %i] : tensor<7x33xi32>, memref<7x33xi32>
    })");
  Buffer<int32_t> x(231), rows(231), cols(231);
  for (size_t i = 0; i < 231; ++i)
    x[i] = int32_t(i * i % 17);
  kernels.run("scan", {x, rows, cols});
  for (size_t i = 0; i < 7; ++i)
    for (size_t j = 0; j < 33; ++j) {
      int32_t before = 0, below = 0;
      for (size_t k = 0; k <= j; ++k)
        before += x[i * 33 + k];
      for (size_t k = i; k < 7; ++k)
        below += x[k * 33 + j];
      EXPECT_EQ(rows[i * 33 + j], before);
      EXPECT_EQ(cols[i * 33 + j], below);
    }
}

TEST_P(Kernels, MultipliesTiles) {
  LoadedKernels kernels = compile(R"(
    tile.kernel @dot grid [2] inputs 2 {
    ^bb0(%i: index, %x: memref<10x20xbf16>, %y: memref<20x35xbf16>, %out: memref<10x35xf32>):
      %c0 = arith.constant 0 : index
      %o = affine.apply affine_map<(i) -> (i * 5)>(%i)
      %a = tile.load %x[%o, %c0] : memref<10x20xbf16> -> tensor<5x20xbf16>
      %b = tile.load %y[%c0, %c0] : memref<20x35xbf16> -> tensor<20x35xbf16>
      %zero = tile.map() : () -> tensor<5x35xf32> {
        %z = arith.constant 1.0 : f32
        tile.yield %z : f32
      }
      %d = tile.dot %a, %b, %zero : tensor<5x20xbf16>, tensor<20x35xbf16> -> tensor<5x35xf32>
      %e = tile.map(%d) : (tensor<5x35xf32>) -> tensor<5x35xf32> {
      ^bb0(%p: f32):
        %m = arith.negf %p : f32
        tile.yield %m : f32
      }
      tile.store %e, %out[%o, %c0] : tensor<5x35xf32>, memref<10x35xf32>
    })");
  Buffer<uint16_t> x(200), y(700);
  Buffer<float> out(350);
  auto real = [](uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); };
  auto bits = [](float value) { return uint16_t(std::bit_cast<uint32_t>(value) >> 16); };
  for (size_t i = 0; i < 200; ++i)
    x[i] = bits(float(i % 7) - 3);
  for (size_t i = 0; i < 700; ++i)
    y[i] = bits(float(i % 11) - 5);
  kernels.run("dot", {x, y, out});
  for (size_t m = 0; m < 10; ++m)
    for (size_t n = 0; n < 35; ++n) {
      float sum = 1;
      for (size_t k = 0; k < 20; ++k)
        sum += real(x[m * 20 + k]) * real(y[k * 35 + n]);
      EXPECT_EQ(out[m * 35 + n], -sum);
    }
}

TEST_P(Kernels, GathersAndCounts) {
  LoadedKernels kernels = compile(R"(
    tile.kernel @take grid [1] inputs 2 {
    ^bb0(%i: index, %x: memref<9x5xi16>, %at: memref<50xi32>, %out: memref<50xi16>):
      %c3 = arith.constant 3 : index
      %t = tile.load %at[%i] : memref<50xi32> -> tensor<50xi32>
      %row = tile.map(%t) : (tensor<50xi32>) -> tensor<50xindex> {
      ^bb0(%p: i32):
        %m = arith.index_cast %p : i32 to index
        tile.yield %m : index
      }
      %n = tile.iota %c3 dim 0 stride 2 : tensor<50xindex>
      %col = tile.map(%n) : (tensor<50xindex>) -> tensor<50xindex> {
      ^bb0(%p: index):
        %five = arith.constant 5 : index
        %m = arith.remui %p, %five : index
        tile.yield %m : index
      }
      %g = tile.gather %x at (%row, %col) : memref<9x5xi16>, tensor<50xindex>, tensor<50xindex> -> tensor<50xi16>
      tile.store %g, %out[%i] : tensor<50xi16>, memref<50xi16>
    })");
  Buffer<int16_t> x(45), out(50);
  Buffer<int32_t> at(50);
  for (size_t i = 0; i < 45; ++i)
    x[i] = int16_t(100 * i);
  for (size_t i = 0; i < 50; ++i)
    at[i] = int32_t(i * 7 % 9);
  kernels.run("take", {x, at, out});
  for (size_t i = 0; i < 50; ++i)
    EXPECT_EQ(out[i], x[size_t(at[i]) * 5 + (3 + 2 * i) % 5]);
}

TEST_P(Kernels, FindsTheLargestAndWhereItIs) {
  LoadedKernels kernels = compile(R"(
    tile.kernel @argmax grid [3] inputs 1 {
    ^bb0(%i: index, %x: memref<3x200xf32>, %max: memref<3xf32>, %at: memref<3xi32>):
      %c0 = arith.constant 0 : index
      %low = arith.constant 0xFF800000 : f32
      %none = arith.constant 0 : i32
      %t = tile.load %x[%i, %c0] : memref<3x200xf32> -> tensor<1x200xf32>
      %n = tile.iota %c0 dim 1 : tensor<1x200xi32>
      %m, %k = tile.reduce %t, %n init %low, %none : f32, i32 dims [1]
          : tensor<1x200xf32>, tensor<1x200xi32> -> tensor<1xf32>, tensor<1xi32> {
      ^bb0(%a: f32, %p: i32, %b: f32, %q: i32):
        %g = arith.cmpf ogt, %a, %b : f32
        %e = arith.cmpf oeq, %a, %b : f32
        %l = arith.cmpi slt, %p, %q : i32
        %el = arith.andi %e, %l : i1
        %w = arith.ori %g, %el : i1
        %v = arith.select %g, %a, %b : f32
        %r = arith.select %w, %p, %q : i32
        tile.yield %v, %r : f32, i32
      }
      tile.store %m, %max[%i] : tensor<1xf32>, memref<3xf32>
      tile.store %k, %at[%i] : tensor<1xi32>, memref<3xi32>
    })");
  Buffer<float> x(600), max(3);
  Buffer<int32_t> at(3);
  fillRandom(x);
  x[131] = x[177] = 5; // the first of equals
  kernels.run("argmax", {x, max, at});
  for (size_t i = 0; i < 3; ++i) {
    float *found = std::max_element(&x[i * 200], &x[i * 200] + 200);
    EXPECT_EQ(max[i], *found);
    EXPECT_EQ(at[i], found - &x[i * 200]);
  }
}

TEST_P(Kernels, RunsBodies) {
  LoadedKernels kernels = compile(R"(
    func.func private @body(%a: bf16, %b: complex<f32>, %c: i1) -> (complex<f32>, bf16) {
      %x = complex.exp %b : complex<f32>
      %y = arith.addf %a, %a : bf16
      %z = arith.select %c, %y, %a : bf16
      return %x, %z : complex<f32>, bf16
    })");
  uint16_t a = 0x3FC0 /* 1.5 */, z = 0;
  float b[2] = {1.0f, 2.0f}, x[2];
  uint8_t c = 1;
  kernels.runBody("body", {&a, b, &c}, {x, &z});
  EXPECT_NEAR(x[0], std::exp(1.0) * std::cos(2.0), 1e-6);
  EXPECT_NEAR(x[1], std::exp(1.0) * std::sin(2.0), 1e-6);
  EXPECT_EQ(z, 0x4040); // 3
}

TEST(Kernels, EqualKernelsAreCompiledOnce) {
  auto kernel = [](std::string name) {
    return "tile.kernel @" + name + R"( grid [1] inputs 1 {
    ^bb0(%i: index, %x: memref<8xf32>, %out: memref<8xf32>):
      %t = tile.load %x[%i] : memref<8xf32> -> tensor<8xf32>
      tile.store %t, %out[%i] : tensor<8xf32>, memref<8xf32>
    })";
  };
  LoadedKernels kernels = LoadedKernels::compile(kernel("one") + kernel("two"));
  EXPECT_EQ(kernels.symbol("one"), kernels.symbol("two"));
  EXPECT_EQ(kernels.object.kernels.size(), 2u);

  std::string many;
  for (int i = 0; i < 20; ++i)
    many += kernel("k" + std::to_string(i));
  CodegenOptions options;
  options.threads = 3;
  EXPECT_EQ(LoadedKernels::compile(many, hostChip(), options).object.objects.size(), 1u)
      << "two threads have nothing to compile";
}

TEST(Kernels, EachThreadMakesAnObject) {
  // Constants, calls of the C library and kernels that share code, compiled on several threads.
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "tile.kernel @k" + std::to_string(i) + R"( grid [1] inputs 1 {
    ^bb0(%i: index, %x: memref<24xf64>, %out: memref<24xf64>):
      %t = tile.load %x[%i] : memref<24xf64> -> tensor<24xf64>
      %r = tile.map(%t) : (tensor<24xf64>) -> tensor<24xf64> {
      ^bb0(%a: f64):
        %c = arith.constant )" +
            std::to_string(i / 2) + R"(.25 : f64
        %s = arith.addf %a, %c : f64
        %e = math.tanh %s : f64
        tile.yield %e : f64
      }
      tile.store %r, %out[%i] : tensor<24xf64>, memref<24xf64>
    })";
  CodegenOptions options;
  options.threads = 3;
  LoadedKernels kernels = LoadedKernels::compile(text, hostChip(), options);
  EXPECT_EQ(kernels.object.objects.size(), 3u);
  Buffer<double> x(24), out(24);
  for (size_t i = 0; i < 24; ++i)
    x[i] = double(i) / 8 - 2;
  for (int k = 0; k < 40; ++k) {
    kernels.run("k" + std::to_string(k), {x, out});
    for (size_t i = 0; i < 24; ++i)
      EXPECT_EQ(out[i], std::tanh(x[i] + k / 2 + 0.25));
  }
}

TEST(Kernels, OpsWithoutInstructionsAreNamed) {
  Status status = compileText(R"(
    func.func private @body(%a: f32) -> f32 {
      %x = func.call @other(%a) : (f32) -> f32
      return %x : f32
    }
    func.func private @other(f32) -> f32)",
                              hostChip())
                      .takeStatus();
  EXPECT_EQ(status.error(), Error::cpuScalarOp);
  EXPECT_THAT(status.message(), testing::HasSubstr("'func.call'"));
}

TEST(Kernels, NamesOfTheCLibraryAreTaken) {
  Status status = compileText(R"(
    func.func private @tanh(%a: f64) -> f64 {
      %x = math.tanh %a : f64
      return %x : f64
    })",
                              hostChip())
                      .takeStatus();
  EXPECT_EQ(status.error(), Error::cpuCodegen);
  EXPECT_THAT(status.message(), testing::HasSubstr("'tanh' of the C library"));
}

TEST(Kernels, ControlFlowInKernelsIsRefused) {
  Status status = compileText(R"(
    tile.kernel @f grid [1] inputs 1 {
    ^bb0(%i: index, %x: memref<8xf32>, %out: memref<8xf32>):
      %c = arith.constant true
      %t = scf.if %c -> tensor<8xf32> {
        %l = tile.load %x[%i] : memref<8xf32> -> tensor<8xf32>
        scf.yield %l : tensor<8xf32>
      } else {
        %l = tile.load %x[%i] : memref<8xf32> -> tensor<8xf32>
        scf.yield %l : tensor<8xf32>
      }
      tile.store %t, %out[%i] : tensor<8xf32>, memref<8xf32>
    })",
                              hostChip())
                      .takeStatus();
  EXPECT_EQ(status.error(), Error::cpuTileOp);
  EXPECT_THAT(status.message(), testing::HasSubstr("kernel f"));
}

TEST(Chips, HaveNamesAndKnowThisMachine) {
  EXPECT_EQ(chipNamed("x86-64-v4")->vectorBytes, 64u);
  EXPECT_EQ(chipNamed("pentium"), nullptr); // E4005 if a pass is given such a name
  EXPECT_FALSE(chipNamed("x86-64-v2")->machine().hasFma);
  EXPECT_TRUE(hostChip().has("sse4.2"));
}

TEST(Kernels, AChipThatLlvmDoesNotKnowIsNamed) {
  Chip odd = hostChip();
  odd.cpu = "no-such-chip";
  Status status =
      compileText("func.func private @f(%a: f32) -> f32 { return %a : f32 }", odd).takeStatus();
  EXPECT_EQ(status.error(), Error::cpuCodegen) << status.toString();
  EXPECT_THAT(status.message(), testing::HasSubstr("no-such-chip"));
}

} // namespace
