// Kernels compiled for every chip that this machine can run, executed, and compared.
#include "tilewright/target/cpu/TestKernels.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace tilewright;
using namespace tilewright::cpu;

namespace {

/// A tensor whose memory is aligned as the runtime's, with guards behind it.
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

std::vector<std::string> runnableChips() {
  std::vector<std::string> names;
  for (const Chip &chip : chips()) {
    names.emplace_back(chip.name);
    if (chip.name == hostChip().name)
      break;
  }
  return names;
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

TEST(CpuTarget, AChipThatLlvmDoesNotKnowIsNamed) {
  Chip odd = hostChip();
  odd.cpu = "no-such-chip";
  Status status =
      compileText("func.func private @f(%a: f32) -> f32 { return %a : f32 }", odd).takeStatus();
  EXPECT_EQ(status.error(), Error::cpuCodegen) << status.toString();
  EXPECT_THAT(status.message(), testing::HasSubstr("no-such-chip"));
}

TEST(CpuTarget, AnOpThatIsNoTileOpIsNamed) {
  Status status = compileText(R"(
    tile.kernel @k grid [1] inputs 0 {
    ^bb0(%i: index, %out: memref<4xf32>):
      %zero = arith.constant 0 : index
      %t = tensor.empty() : tensor<4xf32>
      tile.store %t, %out[%zero] : tensor<4xf32>, memref<4xf32>
    })",
                              hostChip())
                      .takeStatus();
  EXPECT_EQ(status.error(), Error::cpuTileOp) << status.toString();
}

} // namespace
