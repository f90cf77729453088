#include "tilewright/vgpu/machine/Launch.h"

#include "tilewright/vgpu/machine/testing/Kernels.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <random>

namespace tilewright::vgpu::machine {
namespace {

using ::testing::HasSubstr;

std::vector<float> randomFloats(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-2, 2);
  std::vector<float> result(count);
  for (float &value : result)
    value = values(random);
  return result;
}

TEST(Launch, AddsVectorsWithARaggedEnd) {
  auto module = loadText(kernelText("tiles.ptx"));
  const int n = 1000;
  std::vector<float> a = randomFloats(n, 1), b = randomFloats(n, 2), c(n + 24, -7.0f);
  const float *pa = a.data(), *pb = b.data();
  float *pc = c.data();
  Status status =
      run(*module, "vector_add", {.grid = {4, 1, 1}, .block = {256, 1, 1}}, pa, pb, pc, n);
  ASSERT_TRUE(status.isOk()) << status.toString();
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(c[i], a[i] + b[i]) << i;
  EXPECT_EQ(c[n], -7.0f) << "threads beyond the end wrote nothing";
}

TEST(Launch, MultipliesMatricesThroughSharedMemory) {
  auto module = loadText(kernelText("tiles.ptx"));
  const int n = 64;
  std::vector<float> a = randomFloats(n * n, 1), b = randomFloats(n * n, 2), c(n * n);
  const float *pa = a.data(), *pb = b.data();
  float *pc = c.data();
  ThreadPool pool(2);
  Status status =
      run(*module, "matmul", {.grid = {n / 16, n / 16, 1}, .block = {16, 16, 1}, .pool = &pool}, pa,
          pb, pc, n);
  ASSERT_TRUE(status.isOk()) << status.toString();
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column) {
      float sum = 0;
      for (int k = 0; k < n; ++k)
        sum = std::fma(a[row * n + k], b[k * n + column], sum);
      ASSERT_EQ(c[row * n + column], sum) << row << ' ' << column;
    }
}

/// Runs of loads and fma are fused unless an observer needs each access. Both ways give the same
/// bits, even for NaNs, whose payload an fma drops.
TEST(Launch, RunsOfLoadsAndFmaAreTheSingleOperations) {
  class Deaf final : public Observer {
    void access(const MemoryEvent &) override {}
    void synchronise(const SyncEvent &) override {}
  } deaf;
  const int n = 64;
  std::vector<float> a = randomFloats(n * n, 1), b = randomFloats(n * n, 2);
  a[5 * n + 7] = std::bit_cast<float>(0x7fa12345u);
  a[40 * n + 3] = INFINITY;
  b[3 * n + 9] = 0;
  const float *pa = a.data(), *pb = b.data();
  std::vector<float> first;
  for (const char *set : {"v4", "v3", "portable"}) {
    if (!handlersFor(set))
      continue;
    for (Observer *observer : {static_cast<Observer *>(nullptr), static_cast<Observer *>(&deaf)}) {
      auto module = loadText(kernelText("tiles.ptx"));
      std::vector<float> c(n * n);
      float *pc = c.data();
      Status status = run(*module, "matmul",
                          {.grid = {n / 16, n / 16, 1},
                           .block = {16, 16, 1},
                           .observer = observer,
                           .instructionSet = set},
                          pa, pb, pc, n);
      ASSERT_TRUE(status.isOk()) << status.toString();
      if (first.empty()) {
        first = c;
        EXPECT_EQ(std::bit_cast<uint32_t>(c[5 * n]), 0x7fffffffu);
        EXPECT_EQ(std::bit_cast<uint32_t>(c[40 * n + 9]), 0x7fffffffu);
        EXPECT_TRUE(std::isfinite(c[0]));
      }
      ASSERT_EQ(std::memcmp(first.data(), c.data(), 4 * c.size()), 0) << set;
    }
  }
}

/// Loads through one register whose lanes are in any order, far apart, or partly inactive.
TEST(Launch, LoadsThroughOneRegisterFindTheirWords) {
  const std::string text = R"(
.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 pout, .param .u32 pmul, .param .u32 pxor, .param .u32 plimit) {
  .reg .b64 %out, %w;
  .reg .b32 %t, %a, %m, %x, %l, %s, %v<8>;
  .reg .pred %p;
  .shared .align 16 .b8 memory[2048];
  ld.param.u64 %out, [pout];
  ld.param.u32 %m, [pmul];
  ld.param.u32 %x, [pxor];
  ld.param.u32 %l, [plimit];
  mov.u32 %t, %tid.x;
  mov.u32 %s, memory;
  mov.u32 %v7, 0;
FILL:
  mad.lo.u32 %a, %v7, 128, %s;
  mad.lo.u32 %a, %t, 4, %a;
  mad.lo.u32 %v6, %v7, 32, %t;
  st.shared.u32 [%a], %v6;
  add.u32 %v7, %v7, 1;
  setp.lt.u32 %p, %v7, 16;
  @%p bra FILL;
  bar.sync 0;
  xor.b32 %a, %t, %x;
  mul.lo.u32 %a, %a, %m;
  add.u32 %a, %a, %s;
  setp.lt.u32 %p, %t, %l;
  mov.u32 %v0, 1000; mov.u32 %v1, 1000; mov.u32 %v2, 1000;
  @%p ld.shared.u32 %v0, [%a];
  @%p ld.shared.u32 %v1, [%a+64];
  @%p ld.shared.u32 %v2, [%a+508];
  add.u32 %a, %a, 4;
  ld.shared.u32 %v3, [%a];
  ld.shared.u32 %a, [%a+4];
  mul.wide.u32 %w, %t, 20;
  add.u64 %out, %out, %w;
  st.global.u32 [%out], %v0;
  st.global.u32 [%out+4], %v1;
  st.global.u32 [%out+8], %v2;
  st.global.u32 [%out+12], %v3;
  st.global.u32 [%out+16], %a;
  ret;
}
)";
  auto module = loadText(text);
  ASSERT_TRUE(module);
  for (const char *set : {"v4", "v3", "portable"}) {
    if (!handlersFor(set))
      continue;
    for (uint32_t multiplier : {0u, 4u, 8u, 36u, 44u})
      for (uint32_t flip : {0u, 5u, 16u, 31u})
        for (uint32_t limit : {32u, 20u, 0u}) {
          std::vector<uint32_t> out(32 * 5);
          uint32_t *pointer = out.data();
          Status status = run(*module, "k", {.block = {32, 1, 1}, .instructionSet = set}, pointer,
                              multiplier, flip, limit);
          ASSERT_TRUE(status.isOk()) << status.toString();
          for (uint32_t lane = 0; lane < 32; ++lane) {
            const uint32_t at = (lane ^ flip) * multiplier / 4;
            const bool isLoaded = lane < limit;
            const uint32_t wanted[5] = {isLoaded ? at : 1000, isLoaded ? at + 16 : 1000,
                                        isLoaded ? at + 127 : 1000, at + 1, at + 2};
            for (int i = 0; i < 5; ++i)
              ASSERT_EQ(out[5 * lane + i], wanted[i])
                  << set << " " << multiplier << " " << flip << " " << limit << " lane " << lane;
          }
        }
  }
}

/// The cached access pattern of a register must not let a load read beyond the end.
TEST(Launch, LoadsThroughOneRegisterStayInside) {
  const std::string text = R"(
.version 8.4
.target sm_90a
.address_size 64
.visible .entry k() {
  .reg .b32 %t, %a, %v<4>;
  .shared .align 16 .b8 memory[128];
  mov.u32 %t, %tid.x;
  mov.u32 %a, memory;
  mad.lo.u32 %a, %t, 4, %a;
  ld.shared.u32 %v0, [%a];
  ld.shared.u32 %v1, [%a+4];
  ret;
}
)";
  auto module = loadText(text);
  for (const char *set : {"v4", "v3", "portable"}) {
    if (!handlersFor(set))
      continue;
    Status status = run(*module, "k", {.block = {32, 1, 1}, .instructionSet = set});
    ASSERT_FALSE(status.isOk()) << set;
    EXPECT_THAT(status.toString(), HasSubstr("line 12"));
  }
}

TEST(Launch, SoftmaxOfRows) {
  auto module = loadText(kernelText("tiles.ptx"));
  const int rows = 7, columns = 1024;
  std::vector<float> in = randomFloats(rows * columns, 3), out(rows * columns);
  const float *pin = in.data();
  float *pout = out.data();
  Status status =
      run(*module, "softmax", {.grid = {rows, 1, 1}, .block = {128, 1, 1}}, pin, pout, columns);
  ASSERT_TRUE(status.isOk()) << status.toString();
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int i = 0; i < columns; ++i)
      sum += std::exp(double(in[row * columns + i]));
    for (int i = 0; i < columns; ++i)
      ASSERT_NEAR(out[row * columns + i], std::exp(double(in[row * columns + i])) / sum, 1e-8);
  }
}

TEST(Launch, ReducesWithShufflesAndAtomics) {
  auto module = loadText(kernelText("threads.ptx"));
  std::vector<int> values(10007);
  std::iota(values.begin(), values.end(), -3000);
  int result = 5;
  const int *pvalues = values.data();
  int *presult = &result;
  ThreadPool pool(2);
  Status status = run(*module, "sum", {.grid = {9, 1, 1}, .block = {256, 1, 1}, .pool = &pool},
                      pvalues, presult, int(values.size()));
  ASSERT_TRUE(status.isOk()) << status.toString();
  EXPECT_EQ(result, 5 + std::accumulate(values.begin(), values.end(), 0));
}

TEST(Launch, CountsInDynamicSharedMemory) {
  auto module = loadText(kernelText("threads.ptx"));
  std::vector<unsigned char> values(5000);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<unsigned char>(i * i % 251);
  std::vector<unsigned> bins(256), expected(256);
  for (unsigned char value : values)
    ++expected[value];
  const unsigned char *pvalues = values.data();
  unsigned *pbins = bins.data();
  Status status = run(*module, "histogram",
                      {.grid = {3, 1, 1}, .block = {96, 1, 1}, .dynamicSharedBytes = 1024}, pvalues,
                      pbins, int(values.size()));
  ASSERT_TRUE(status.isOk()) << status.toString();
  EXPECT_EQ(bins, expected);
}

TEST(Launch, LanesThatTakeDifferentWaysMeetAgain) {
  auto module = loadText(kernelText("threads.ptx"));
  std::vector<unsigned> start(100), steps(100);
  std::iota(start.begin(), start.end(), 1u);
  const unsigned *pstart = start.data();
  unsigned *psteps = steps.data();
  Status status =
      run(*module, "collatz", {.grid = {2, 1, 1}, .block = {64, 1, 1}}, pstart, psteps, 100);
  ASSERT_TRUE(status.isOk()) << status.toString();
  for (unsigned i = 0; i < 100; ++i) {
    unsigned value = start[i], count = 0;
    for (; value != 1; ++count)
      value = value % 2 ? 3 * value + 1 : value / 2;
    ASSERT_EQ(steps[i], count) << start[i];
  }
}

TEST(Launch, FunctionsCallThemselves) {
  auto module = loadText(kernelText("threads.ptx"));
  std::vector<unsigned> result(64);
  unsigned *presult = result.data();
  Status status = run(*module, "recursion", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, presult);
  ASSERT_TRUE(status.isOk()) << status.toString();
  const unsigned expected[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (unsigned i = 0; i < 64; ++i)
    ASSERT_EQ(result[i], expected[i % 12]) << i;
}

TEST(Launch, CallsThroughATableWithALaneEach) {
  auto module = loadText(kernelText("threads.ptx"));
  std::vector<int> which(64), values(64), expected(64);
  for (int i = 0; i < 64; ++i) {
    which[i] = i * 7 % 3;
    values[i] = i - 20;
    expected[i] = which[i] == 0   ? 2 * values[i]
                  : which[i] == 1 ? values[i] * values[i]
                                  : -values[i];
  }
  const int *pwhich = which.data();
  int *pvalues = values.data();
  Status status =
      run(*module, "indirect", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, pwhich, pvalues);
  ASSERT_TRUE(status.isOk()) << status.toString();
  EXPECT_EQ(values, expected);
}

TEST(Launch, ArraysOfAThreadAreItsOwn) {
  auto module = loadText(kernelText("threads.ptx"));
  std::vector<int> order(16), result(48);
  for (int i = 0; i < 16; ++i)
    order[i] = 2 * i;
  const int *porder = order.data();
  int *presult = result.data();
  Status status =
      run(*module, "local_array", {.grid = {1, 1, 1}, .block = {48, 1, 1}}, porder, presult);
  ASSERT_TRUE(status.isOk()) << status.toString();
  for (int t = 0; t < 48; ++t) {
    unsigned values[16] = {}, sum = 0; // the sum wraps
    for (int i = 0; i < 16; ++i)
      values[(i + order[i]) % 16] = i * (t + 1);
    for (int i = 0; i < 16; ++i)
      sum = sum * 3 + values[order[(t % 16) ^ i] % 16];
    ASSERT_EQ(static_cast<unsigned>(result[t]), sum) << t;
  }
}

TEST(Launch, AddressesOfParametersMayHave32Bits) {
  // The code of LLVM for the address of a by-value argument with short pointers.
  auto module = loadText(R"(.version 9.0
.target sm_90a
.address_size 64
.entry read(.param .u64 out, .param .align 64 .b8 values[128])
{
  .reg .b32 %short, %i, %v;
  .reg .b64 %wide, %generic, %out, %at;
  mov.b32 %short, values;
  mov.u32 %i, %tid.x;
  shl.b32 %i, %i, 2;
  ld.param.b64 %out, [out];
  cvt.u64.u32 %at, %i;
  add.u64 %out, %out, %at;
  cvt.u64.u32 %wide, %short;
  cvta.param.u64 %generic, %wide;
  add.u64 %at, %generic, %at;
  ld.b32 %v, [%at];
  st.global.b32 [%out], %v;
  add.u32 %short, %short, %i;
  ld.param.b32 %v, [%short];
  st.global.b32 [%out+128], %v;
  ret;
})");
  std::array<uint32_t, 32> values;
  std::iota(values.begin(), values.end(), 100);
  std::array<uint32_t, 64> out{};
  uint32_t *pointer = out.data();
  Status status = run(*module, "read", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, pointer, values);
  ASSERT_TRUE(status.isOk()) << status.toString();
  for (uint32_t i = 0; i < 64; ++i)
    ASSERT_EQ(out[i], values[i % 32]) << i;
}

/// Lanes that spin must not starve the lane that holds the lock.
TEST(Launch, ALockIsTakenByEachLaneInTurn) {
  auto module = loadText(kernelText("threads.ptx"));
  int total = 0;
  int *ptotal = &total;
  Status status = run(*module, "spin_lock", {.grid = {2, 1, 1}, .block = {64, 1, 1}}, ptotal);
  ASSERT_TRUE(status.isOk()) << status.toString();
  EXPECT_EQ(total, 128);
}

/// Blocks that are resident together make progress together, with any number of host threads.
TEST(Launch, ABlockMayWaitForALaterOne) {
  auto module = loadText(R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry chain(.param .u64 flags)
{
  .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [flags];
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  mov.u32 %r2, %nctaid.x;
  sub.u32 %r2, %r2, 1;
  setp.eq.u32 %p1, %r1, %r2;
  @%p1 bra set;
wait:
  ld.acquire.gpu.global.u32 %r3, [%rd3+4];
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra wait;
set:
  st.release.gpu.global.u32 [%rd3], 1;
  ret;
})");
  ThreadPool pool(2);
  for (ThreadPool *threads : {static_cast<ThreadPool *>(nullptr), &pool}) {
    std::array<uint32_t, 6> flags{};
    uint32_t *pointer = flags.data();
    LaunchConfig config{.grid = {6, 1, 1}, .block = {1, 1, 1}, .pool = threads};
    config.timeLimit = std::chrono::seconds(20);
    Status status = run(*module, "chain", config, pointer);
    ASSERT_TRUE(status.isOk()) << status.toString();
    EXPECT_THAT(flags, ::testing::Each(1u));
  }
}

/// Counts the events.
class Counter : public Observer {
public:
  void access(const MemoryEvent &event) override {
    std::lock_guard lock(mutex);
    const auto lanes = static_cast<uint64_t>(std::popcount(event.mask));
    (event.kind == AccessKind::read    ? reads
     : event.kind == AccessKind::write ? writes
                                       : atomics) += lanes * event.bytes;
  }
  void synchronise(const SyncEvent &event) override {
    std::lock_guard lock(mutex);
    barriers += event.kind == SyncKind::barrierArrive;
  }
  std::mutex mutex;
  uint64_t reads = 0, writes = 0, atomics = 0, barriers = 0;
};

TEST(Launch, BlocksInterruptEachOtherInARandomOrder) {
  // A counter that is not atomic loses counts if another block counts between its two accesses.
  auto module = loadText(R"(.version 8.4
.target sm_90a
.address_size 64
.visible .entry count(.param .u64 pout) {
  .reg .b64 %out;
  .reg .b32 %r;
  ld.param.u64 %out, [pout];
  ld.relaxed.gpu.global.u32 %r, [%out];
  add.u32 %r, %r, 1;
  st.relaxed.gpu.global.u32 [%out], %r;
  ret;
}
)");
  ASSERT_NE(module, nullptr);
  // 21 blocks: the last group of blocks is smaller.
  auto counted = [&](LaunchConfig config) {
    uint32_t number = 0;
    uint32_t *out = &number;
    config.grid = {21, 1, 1};
    const Status status = run(*module, "count", config, out);
    EXPECT_TRUE(status.isOk()) << status.toString();
    return number;
  };
  EXPECT_EQ(counted({}), 21u);
  uint32_t fewest = 21;
  for (uint64_t seed = 1; seed <= 4; ++seed)
    fewest = std::min(fewest, counted({.completion = Completion::seeded, .seed = seed}));
  EXPECT_LT(fewest, 21u);
}

TEST(Launch, AnObserverIsToldAboutEveryAccess) {
  auto module = loadText(kernelText("tiles.ptx"));
  const int n = 64;
  std::vector<float> a = randomFloats(n * n, 1), b = randomFloats(n * n, 2), c(n * n);
  const float *pa = a.data(), *pb = b.data();
  float *pc = c.data();
  Counter counter;
  LaunchConfig config{.grid = {n / 16, n / 16, 1}, .block = {16, 16, 1}, .observer = &counter};
  Status status = run(*module, "matmul", config, pa, pb, pc, n);
  ASSERT_TRUE(status.isOk()) << status.toString();
  // A thread reads two words of global and 32 of shared memory for each tile.
  const uint64_t threads = n * n, tiles = n / 16;
  EXPECT_EQ(counter.reads, threads * tiles * (2 + 32) * 4);
  EXPECT_EQ(counter.writes, threads * (tiles * 2 + 1) * 4);
  EXPECT_EQ(counter.barriers, threads / 32 * tiles * 2);
}

const char *const head = ".version 8.0\n.target sm_80\n.address_size 64\n";

TEST(Launch, AKernelThatIsNotThereIsNamedWithThoseThatAre) {
  auto module = loadText(kernelText("tiles.ptx"));
  Status status = run(*module, "matmull", {});
  EXPECT_EQ(status.error(), Error::vgpuSymbol);
  EXPECT_THAT(status.message(), HasSubstr("no kernel 'matmull'"));
  EXPECT_THAT(status.message(), HasSubstr("vector_add"));
}

TEST(Launch, SizesAreHeldAgainstTheChip) {
  auto module = loadText(kernelText("tiles.ptx"));
  Status status = run(*module, "matmul", {.grid = {1, 1, 1}, .block = {64, 32, 1}});
  EXPECT_EQ(status.error(), Error::vgpuLaunch);
  EXPECT_THAT(status.message(), HasSubstr("[64, 32, 1]"));
  status = run(*module, "matmul",
               {.grid = {1, 1, 1}, .block = {16, 16, 1}, .dynamicSharedBytes = 300000});
  EXPECT_THAT(status.message(), HasSubstr("302048 bytes of shared memory (2048 static)"));
}

TEST(Launch, CodeOfAFamilyRunsOnItsLaterChips) {
  auto loads = [](const std::string &target, std::string_view chip) {
    return LoadedModule::create(".version 9.0\n.target " + target + "\n.address_size 64\n", chip)
        .isOk();
  };
  EXPECT_TRUE(loads("sm_100f", "sm_100a"));
  EXPECT_TRUE(loads("sm_100f", "sm_103a"));
  EXPECT_FALSE(loads("sm_103f", "sm_100a"));
  EXPECT_FALSE(loads("sm_100f", "sm_110a"));
  EXPECT_TRUE(loads("sm_101a", "sm_110a"));
  EXPECT_TRUE(loads("sm_120f", "sm_121a"));
  EXPECT_FALSE(loads("sm_100a", "sm_103a"));
  EXPECT_TRUE(loads("sm_90", "sm_120a"));
  EXPECT_FALSE(loads("sm_90a", "sm_100a"));
}

TEST(Launch, AModuleForALaterChipIsRefused) {
  Status status = LoadedModule::create(".version 8.0\n.target sm_90a\n.address_size 64\n", "sm_80")
                      .takeStatus();
  EXPECT_EQ(status.error(), Error::vgpuChip);
  EXPECT_THAT(status.message(), HasSubstr("is for sm_90a and cannot run on sm_80"));
  status = LoadedModule::create(head, "sm_70").takeStatus();
  EXPECT_EQ(status.error(), Error::vgpuChip);
  EXPECT_THAT(status.message(), HasSubstr("sm_89"));
}

TEST(Launch, AFormThatIsNotExecutedIsRefusedAtLoadByName) {
  Status status =
      LoadedModule::create(std::string(".version 8.6\n.target sm_100\n.address_size 64\n") +
                               ".visible .entry k(.param .u64 p) {\n.reg .b32 %r;\n"
                               "mov.u32 %r, 0;\nst.bulk.shared::cta [%r], 16, 1;\nret;\n}\n",
                           "sm_100a")
          .takeStatus();
  EXPECT_EQ(status.error(), Error::vgpuUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("line 7: st.bulk"));
}

TEST(Launch, ANegatedScalePredicateIsRefusedAndNotReadAsPlain) {
  for (const char *product :
       {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d, %d, !%p",
        "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d, %d, %r, "
        "0, !%p"}) {
    Status status =
        LoadedModule::create(std::string(".version 8.2\n.target sm_90a\n.address_size 64\n") +
                                 ".visible .entry k() {\n.reg .f32 %f<4>;\n.reg .b64 %d;\n"
                                 ".reg .b32 %r;\n.reg .pred %p;\n" +
                                 product + ", 1, 1, 0, 0;\nret;\n}\n",
                             "sm_90a")
            .takeStatus();
    EXPECT_EQ(status.error(), Error::vgpuUnimplemented) << product;
    EXPECT_THAT(status.message(), HasSubstr("a negated scale predicate")) << product;
  }
}

TEST(Launch, AProcessorWithoutVectorsIsRefused) {
  auto module = loadText(kernelText("tiles.ptx"));
  const ptx::Function *kernel = module->source().findDefinition("vector_add");
  Status status = decode(module->source(), *kernel, {}, {.handlers = nullptr}).takeStatus();
  EXPECT_EQ(status.error(), Error::vgpuHost);
  EXPECT_THAT(status.message(), HasSubstr("x86-64-v3"));
}

TEST(Launch, AWildSharedAddressNamesTheLaneAndTheLine) {
  auto module = loadText(std::string(head) + ".visible .entry k() {\n.reg .b32 %r;\n"
                                             ".shared .b32 s[4];\nmov.u32 %r, %tid.x;\n"
                                             "shl.b32 %r, %r, 2;\nst.shared.u32 [%r+80], %r;\n"
                                             "ret;\n}\n");
  Status status = run(*module, "k", {.grid = {1, 1, 1}, .block = {1, 1, 1}});
  EXPECT_EQ(status.error(), Error::vgpuAccess);
  EXPECT_THAT(status.message(), HasSubstr("k, line 9"));
}

TEST(Launch, AMisalignedAccessIsReported) {
  auto module = loadText(std::string(head) + ".visible .entry k(.param .u64 p) {\n.reg .b32 %r;\n"
                                             ".reg .b64 %a;\nld.param.u64 %a, [p];\n"
                                             "ld.global.u32 %r, [%a+2];\nret;\n}\n");
  uint64_t place = 0;
  uint64_t *p = &place;
  Status status = run(*module, "k", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, p);
  EXPECT_EQ(status.error(), Error::vgpuAccess);
  EXPECT_THAT(status.message(), HasSubstr("is not aligned, by lane 0"));
}

TEST(Launch, AWarpThatNeverComesIsADeadlockWithItsWaiters) {
  auto module =
      loadText(std::string(head) + ".visible .entry k() {\n.reg .b32 %r;\n.reg .pred %p;\n"
                                   "mov.u32 %r, %tid.x;\nsetp.lt.u32 %p, %r, 32;\n"
                                   "@%p bar.sync 1, 64;\nbar.sync 2;\nret;\n}\n");
  Status status = run(*module, "k", {.grid = {1, 1, 1}, .block = {64, 1, 1}});
  EXPECT_EQ(status.error(), Error::vgpuDeadlock);
  EXPECT_THAT(status.message(),
              HasSubstr("warp 0 lanes 0xffffffff wait for barrier 1, where 1 of 2"));
  EXPECT_THAT(status.message(), HasSubstr("warp 1 lanes 0xffffffff wait for barrier 2"));
}

TEST(Launch, BarriersThatDoNotExistAreReported) {
  auto module = loadText(std::string(head) + ".visible .entry k() {\nbar.sync 16;\nret;\n}\n");
  Status status = run(*module, "k", {.grid = {1, 1, 1}, .block = {64, 1, 1}});
  EXPECT_EQ(status.error(), Error::vgpuBarrier);
  EXPECT_THAT(status.message(), HasSubstr("barrier 16 does not exist"));
}

/// Unmapped host memory; the process survives, several times.
TEST(Launch, AWildGlobalAddressFailsTheLaunchAndNamesItsLine) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer's own state does not survive a jump out of a handler";
#endif
  auto module = loadText(std::string(head) +
                         ".visible .entry k(.param .u64 p) {\n.reg .b64 %a;\n.reg .b32 %r;\n"
                         "ld.param.u64 %a, [p];\nmov.u32 %r, 1;\n"
                         "st.global.u32 [%a+16], %r;\n"
                         "ld.global.u32 %r, [%a];\nst.global.v2.u32 [%a+8], {%r, %r};\nret;\n}\n");
  ThreadPool pool(2);
  for (std::string_view set : {"v3", "v4"}) {
    if (!handlersFor(set))
      continue;
    for (int i = 0; i < 3; ++i) {
      LaunchConfig config{.grid = {8, 1, 1}, .block = {64, 1, 1}};
      config.catchesFaults = true;
      config.pool = i == 2 ? &pool : nullptr;
      config.instructionSet = set;
      Status status = run(*module, "k", config, uint64_t(4096));
      EXPECT_EQ(status.error(), Error::vgpuAccess);
      EXPECT_THAT(status.message(), HasSubstr("accesses unmapped memory at 0x10"));
      EXPECT_THAT(status.message(), HasSubstr("at k, line 9"));
    }
  }
  uint32_t memory[16] = {};
  EXPECT_TRUE(run(*module, "k", {.block = {1, 1, 1}}, &memory[0]).isOk());
  EXPECT_EQ(memory[4], 1u);
}

TEST(Launch, ATrapEndsTheLaunch) {
  auto module = loadText(std::string(head) + ".visible .entry k() {\ntrap;\n}\n");
  Status status = run(*module, "k", {.grid = {100, 1, 1}, .block = {64, 1, 1}});
  EXPECT_EQ(status.error(), Error::vgpuFault);
  EXPECT_THAT(status.message(), HasSubstr("trap was executed, at k, line 5"));
}

TEST(LoadedModule, VariablesThatNoMemoryHoldsAreRefused) {
  for (const char *size : {"1099511627776", "1073741825", "0x7fffffffffffffff"}) {
    const std::string text = std::string(".version 7.8\n.target sm_80\n.address_size 64\n"
                                         ".global .align 4 .b8 huge[") +
                             size + "];\n.visible .entry k() { ret; }\n";
    Status status = LoadedModule::create(text, "sm_80").takeStatus();
    EXPECT_FALSE(status.isOk()) << size;
    EXPECT_TRUE(status.error().has_value()) << size;
  }
}

} // namespace
} // namespace tilewright::vgpu::machine
