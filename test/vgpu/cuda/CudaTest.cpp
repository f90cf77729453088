// Runs CUDA C++ kernels, compiled by nvcc, on the virtual GPU and compares the results with the
// host's. The PTX beside each file was made by nvcc 13.0; test_cuda.py makes it again if nvcc is
// installed.
#include "tilewright/numerics/Float.h"
#include "tilewright/vgpu/machine/Launch.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

namespace tilewright::vgpu::machine {
namespace {

using numerics::ElementType;
using ::testing::HasSubstr;

/// From TILEWRIGHT_CUDA_PTX, if that is set: the PTX that nvcc has just made.
std::unique_ptr<LoadedModule> loadFile(const std::string &name) {
  const char *fresh = std::getenv("TILEWRIGHT_CUDA_PTX");
  std::ifstream in(
      (fresh ? std::string(fresh) + "/" : std::string(TILEWRIGHT_SOURCE_DIR) + "/test/vgpu/cuda/") +
      name);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_TRUE(in.good()) << name;
  Result<std::unique_ptr<LoadedModule>> module = LoadedModule::create(text.str(), "sm_90a");
  if (!module.isOk()) {
    ADD_FAILURE() << std::move(module).takeStatus().toString();
    return nullptr;
  }
  return *std::move(module);
}
template <typename... Values>
Status run(LoadedModule &module, std::string_view name, const LaunchConfig &config,
           const Values &...values) {
  const void *arguments[] = {&values...};
  return launch(module, name, config, arguments);
}
#define EXPECT_OK(expression)                                                                      \
  if (Status status = (expression); !status.isOk())                                                \
  ADD_FAILURE() << status.toString()

TEST(System, PrintfFormatsEveryThread) {
  auto module = loadFile("system.ptx");
  ASSERT_TRUE(module);
  const int values[] = {7, -3, 100};
  const int *pointer = values;
  const char *name = "value";
  const double scale = 1.5;
  testing::internal::CaptureStdout();
  EXPECT_OK(run(*module, "print_values", {.block = {3, 1, 1}}, pointer, name, scale));
  char expected[512];
  int length = 0;
  for (int i = 0; i < 3; ++i)
    length += std::snprintf(expected + length, sizeof(expected) - static_cast<size_t>(length),
                            "%s[%d] = %5d 0x%x %-6.2f| %c %llu %g%%\n", name, i, values[i],
                            static_cast<unsigned>(values[i]), scale * values[i], 'a' + i,
                            1ull << (40 + i), static_cast<double>(float(values[i]) / 8));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), expected);
}

TEST(System, AFailedAssertionEndsTheLaunchAndNamesThePlace) {
  auto module = loadFile("system.ptx");
  ASSERT_TRUE(module);
  std::vector<int> values(64, 5);
  const int *pointer = values.data();
  EXPECT_OK(run(*module, "check_values", {.block = {64, 1, 1}}, pointer));
  values[37] = 100;
  testing::internal::CaptureStderr();
  Status status = run(*module, "check_values", {.block = {64, 1, 1}}, pointer);
  EXPECT_EQ(status.error(), Error::vgpuAssert);
  EXPECT_THAT(status.message(),
              HasSubstr("system.cu:12: void check_values(const int *): block [0,0,0], thread "
                        "[37,0,0]: assertion `values[threadIdx.x] < 100` failed"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("thread [37,0,0]"));
}

TEST(System, MallocGivesMemoryUntilItIsFreed) {
  auto module = loadFile("system.ptx");
  ASSERT_TRUE(module);
  std::vector<int64_t> sums(64, -1);
  int64_t *pointer = sums.data();
  EXPECT_OK(run(*module, "build_lists", {.block = {64, 1, 1}}, pointer));
  for (int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(sums[static_cast<size_t>(i)], 3 * i * (i + 1) / 2);
  Status status = run(*module, "free_twice", {.block = {1, 1, 1}}, pointer);
  EXPECT_EQ(status.error(), Error::vgpuAccess);
  EXPECT_THAT(status.message(), HasSubstr("was already freed"));
}

TEST(System, VirtualIndirectAndRecursiveCalls) {
  auto module = loadFile("system.ptx");
  ASSERT_TRUE(module);
  std::vector<int> out(64);
  int *pointer = out.data();
  EXPECT_OK(run(*module, "call_everything", {.block = {64, 1, 1}}, pointer));
  const int fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(out[static_cast<size_t>(i)], (i % 3 == 0 ? i * i : i * (i + 1) / 2) +
                                               (i % 2 ? -1000 * i : 2000 * i) + fibonacci[i % 12])
        << i;
}

/// c + a * b + c, with the kernel's layouts.
template <typename Stored, typename Sum>
void multiplies(const char *kernel, size_t m, size_t n, size_t k, bool aByRows, bool bByRows,
                Stored (*encode)(int)) {
  auto module = loadFile("warp_matrix.ptx");
  ASSERT_TRUE(module);
  std::mt19937 random(static_cast<uint32_t>(m * n + k));
  auto number = [&] { return static_cast<int>(random() % 9) - 4; };
  std::vector<int> a(m * k), b(k * n);
  std::vector<Stored> ma(m * k), mb(k * n);
  std::vector<Sum> c(m * n), d(m * n);
  for (size_t i = 0; i < m; ++i)
    for (size_t l = 0; l < k; ++l)
      ma[aByRows ? i * k + l : l * m + i] = encode(a[i * k + l] = number());
  for (size_t l = 0; l < k; ++l)
    for (size_t j = 0; j < n; ++j)
      mb[bByRows ? l * n + j : j * k + l] = encode(b[l * n + j] = number());
  for (Sum &one : c)
    one = static_cast<Sum>(number());
  const Stored *pa = ma.data(), *pb = mb.data();
  const Sum *pc = c.data();
  Sum *pd = d.data();
  EXPECT_OK(run(*module, kernel, {.block = {32, 1, 1}}, pa, pb, pc, pd));
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      int sum = 2 * static_cast<int>(c[i * n + j]);
      for (size_t l = 0; l < k; ++l)
        sum += a[i * k + l] * b[l * n + j];
      ASSERT_EQ(d[i * n + j], static_cast<Sum>(sum)) << kernel << ' ' << i << ' ' << j;
    }
}
template <ElementType type> uint16_t half(int value) {
  return static_cast<uint16_t>(numerics::encode(type, value));
}

TEST(WarpMatrix, EveryTypeMultiplies) {
  multiplies<uint16_t, float>("multiply_f16", 16, 16, 16, true, false, half<ElementType::f16>);
  multiplies<uint16_t, float>("multiply_f16_wide", 8, 32, 16, false, true, half<ElementType::f16>);
  multiplies<uint16_t, float>("multiply_bf16", 32, 8, 16, true, true, half<ElementType::bf16>);
  multiplies<float, float>("multiply_tf32", 16, 16, 8, true, false,
                           [](int value) { return static_cast<float>(value); });
  multiplies<double, double>("multiply_f64", 8, 8, 4, false, false,
                             [](int value) { return static_cast<double>(value); });
  multiplies<int8_t, int>("multiply_s8", 16, 16, 16, true, false,
                          [](int value) { return static_cast<int8_t>(value); });
}

TEST(Cluster, AHistogramInDistributedSharedMemory) {
  auto module = loadFile("cluster.ptx");
  ASSERT_TRUE(module);
  std::mt19937 random(3);
  std::vector<uint32_t> values(10000), bins(256), expected(256);
  for (uint32_t &value : values)
    ++expected[(value = random()) % 256];
  const uint32_t *pv = values.data();
  uint32_t *pb = bins.data();
  const int count = 10000;
  EXPECT_OK(run(*module, "histogram", {.grid = {8, 1, 1}, .block = {96, 1, 1}}, pv, count, pb));
  EXPECT_EQ(bins, expected);
}

TEST(Cluster, AGridThatWaitsForAllOfItsBlocks) {
  auto module = loadFile("cluster.ptx");
  ASSERT_TRUE(module);
  std::vector<int> values(5000), partial(12);
  std::iota(values.begin(), values.end(), -1000);
  int result = 0, *pr = &result, *pp = partial.data();
  const int *pv = values.data();
  const int count = 5000;
  LaunchConfig config{.grid = {12, 1, 1}, .block = {128, 1, 1}};
  config.cooperative = true;
  EXPECT_OK(run(*module, "sum_grid", config, pv, count, pp, pr));
  EXPECT_EQ(result, std::accumulate(values.begin(), values.end(), 0));
}

TEST(Groups, LanesWithEqualKeysFormGroups) {
  auto module = loadFile("groups.ptx");
  ASSERT_TRUE(module);
  std::vector<int> keys(32), values(32), places(32), sums(32);
  for (int i = 0; i < 32; ++i)
    keys[static_cast<size_t>(i)] = i * i % 5, values[static_cast<size_t>(i)] = 3 * i + 1;
  const int *pk = keys.data(), *pv = values.data();
  int *pp = places.data(), *ps = sums.data();
  EXPECT_OK(run(*module, "group_by_key", {.block = {32, 1, 1}}, pk, pv, pp, ps));
  for (size_t i = 0; i < 32; ++i) {
    int place = 0, sum = 0;
    for (size_t j = 0; j < 32; ++j)
      if (keys[j] == keys[i])
        place += j < i, sum += values[j];
    EXPECT_EQ(places[i], place) << i;
    EXPECT_EQ(sums[i], sum) << i;
  }
}

TEST(Groups, APipelineOfAsynchronousCopiesInEveryOrder) {
  auto module = loadFile("groups.ptx");
  ASSERT_TRUE(module);
  constexpr int rows = 32;
  std::vector<float> matrix(rows * 128), sums(128);
  for (size_t i = 0; i < matrix.size(); ++i)
    matrix[i] = static_cast<float>(i % 97);
  const float *pm = matrix.data();
  float *ps = sums.data();
  for (Completion order : {Completion::eager, Completion::latest, Completion::seeded}) {
    std::fill(sums.begin(), sums.end(), -1.0f);
    LaunchConfig config{.block = {128, 1, 1}};
    config.completion = order;
    config.seed = 5;
    EXPECT_OK(run(*module, "sum_columns", config, pm, rows, ps));
    for (size_t c = 0; c < 128; ++c) {
      float sum = 0;
      for (size_t r = 0; r < rows; ++r)
        sum += matrix[r * 128 + c];
      ASSERT_EQ(sums[c], sum) << c;
    }
  }
}

TEST(Numbers, IntegerIntrinsics) {
  auto module = loadFile("numbers.ptx");
  ASSERT_TRUE(module);
  std::mt19937 random(11);
  constexpr size_t count = 500;
  std::vector<uint32_t> a(count), b(count), out(count * 12);
  for (size_t i = 0; i < count; ++i)
    a[i] = i < 4 ? static_cast<uint32_t>(i) - 1 : static_cast<uint32_t>(random()),
    b[i] = static_cast<uint32_t>(random()) >> (i % 32);
  const uint32_t *pa = a.data(), *pb = b.data();
  uint32_t *po = out.data();
  const int n = count;
  EXPECT_OK(run(*module, "integers", {.grid = {4, 1, 1}, .block = {128, 1, 1}}, pa, pb, po, n));
  for (size_t i = 0; i < count; ++i) {
    const uint32_t x = a[i], y = b[i], *got = &out[i * 12];
    const auto sx = static_cast<int32_t>(x), sy = static_cast<int32_t>(y);
    uint32_t reversed = 0, permuted = 0;
    for (int bit = 0; bit < 32; ++bit)
      reversed |= (x >> bit & 1) << (31 - bit);
    const uint64_t both = uint64_t(y) << 32 | x;
    for (int byte = 0; byte < 4; ++byte)
      permuted |= static_cast<uint32_t>(both >> (8 * (0x3715 >> (4 * byte) & 7)) & 255)
                  << (8 * byte);
    int64_t dot4 = 7, dot2 = 7;
    for (int byte = 0; byte < 4; ++byte)
      dot4 += int8_t(x >> (8 * byte)) * int8_t(y >> (8 * byte));
    for (int word = 0; word < 2; ++word)
      dot2 += int16_t(x >> (16 * word)) * int8_t(y >> (8 * word));
    const auto ffs = x == 0 ? 0u : static_cast<uint32_t>(std::countr_zero(x)) + 1;
    EXPECT_EQ(got[0], static_cast<uint32_t>(std::popcount(x)) +
                          100 * static_cast<uint32_t>(std::countl_zero(x)) + 10000 * ffs);
    EXPECT_EQ(got[1], reversed);
    EXPECT_EQ(got[2], permuted);
    EXPECT_EQ(got[3], static_cast<uint32_t>((both << (y & 31)) >> 32));
    EXPECT_EQ(got[4], static_cast<uint32_t>(uint64_t(x) * y >> 32) ^
                          static_cast<uint32_t>(int64_t(sx) * sy >> 32));
    EXPECT_EQ(got[5], static_cast<uint32_t>(dot4));
    EXPECT_EQ(got[6], static_cast<uint32_t>(dot2));
    EXPECT_EQ(got[7], 3 + (x > y ? x - y : y - x) + 3 +
                          static_cast<uint32_t>(std::llabs(int64_t(sx) - sy)));
    EXPECT_EQ(got[8], (x & y) ^ (~x | y));
    EXPECT_EQ(got[9], x / (y | 1) + x % (y | 1));
    EXPECT_EQ(got[10], static_cast<uint32_t>(int64_t(sx) / static_cast<int32_t>(y | 1)));
    EXPECT_EQ(got[11], static_cast<uint32_t>(uint64_t(x) * y >> 17));
  }
}

TEST(Numbers, HalvesInPairs) {
  auto module = loadFile("numbers.ptx");
  ASSERT_TRUE(module);
  std::mt19937 random(12);
  constexpr size_t count = 512;
  std::vector<uint16_t> a(2 * count), b(2 * count), out(6 * count);
  for (size_t i = 0; i < 2 * count; ++i) {
    std::uniform_real_distribution<double> real(-8, 8);
    a[i] = half<ElementType::f16>(0), b[i] = a[i];
    a[i] = static_cast<uint16_t>(numerics::encode(ElementType::f16, real(random)));
    b[i] = static_cast<uint16_t>(numerics::encode(ElementType::f16, real(random)));
  }
  const uint16_t *pa = a.data(), *pb = b.data();
  uint16_t *po = out.data();
  const int n = count;
  EXPECT_OK(run(*module, "halves", {.grid = {4, 1, 1}, .block = {128, 1, 1}}, pa, pb, po, n));
  auto value = [](uint16_t bits) { return numerics::decode(ElementType::f16, bits); };
  auto bits = [](double exact) {
    return static_cast<uint16_t>(numerics::encode(ElementType::f16, exact));
  };
  for (size_t i = 0; i < 2 * count; ++i) {
    const double x = value(a[i]), y = value(b[i]);
    const size_t at = i / 2 * 6 + i % 2;
    EXPECT_EQ(out[at], bits(x * y + value(bits(x + y))));
    EXPECT_EQ(out[at + 2], bits(std::max(value(bits(x * y)), -x)));
    EXPECT_EQ(out[at + 4], bits(x < y ? 1 : 0));
  }
}

TEST(Numbers, SmallFloatsAreRoundedAndSaturated) {
  auto module = loadFile("numbers.ptx");
  ASSERT_TRUE(module);
  std::vector<float> a = {0,    -0.0f, 1,       -1,       448,   449,   464,  465,
                          1e9f, -1e9f, 0x1p-9f, 0x1p-10f, 57344, 61440, 65536};
  std::mt19937 random(13);
  std::uniform_real_distribution<float> real(-600, 600);
  while (a.size() < 600)
    a.push_back(real(random));
  std::vector<uint8_t> e4(a.size()), e5(a.size());
  std::vector<uint16_t> bf(a.size());
  std::vector<float> back(a.size());
  const float *pa = a.data();
  uint8_t *p4 = e4.data(), *p5 = e5.data();
  uint16_t *pb = bf.data();
  float *pf = back.data();
  const int n = static_cast<int>(a.size());
  EXPECT_OK(run(*module, "small_floats", {.grid = {5, 1, 1}, .block = {128, 1, 1}}, pa, p4, p5, pb,
                pf, n));
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(e4[i], numerics::encodeSaturating(ElementType::f8E4M3FN, a[i])) << a[i];
    EXPECT_EQ(e5[i], numerics::encodeSaturating(ElementType::f8E5M2, a[i])) << a[i];
    EXPECT_EQ(bf[i], numerics::encode(ElementType::bf16, a[i])) << a[i];
    EXPECT_EQ(back[i], numerics::decode(ElementType::f8E4M3FN, e4[i]));
  }
}

} // namespace
} // namespace tilewright::vgpu::machine
