// How fast the virtual GPU runs kernels, beside a plain loop of the host that does
// the same work, in one run. Thread time for one thread, wall time for two.
//
//   cmake --build build/dev --target bench_vgpu && build/dev/bench/vgpu/bench_vgpu
#include "tilewright/vgpu/machine/Launch.h"
#include "tilewright/vgpu/machine/TensorMap.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

using namespace tilewright;
using namespace tilewright::vgpu::machine;

static double threadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}
static double wallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
/// The best of several runs, by either clock.
static double best(double (*clock)(), const std::function<void()> &body, int runs = 9) {
  double least = 1e9;
  for (int i = 0; i < runs; ++i) {
    const double begin = clock();
    body();
    least = std::min(least, clock() - begin);
  }
  return least;
}

static std::unique_ptr<LoadedModule> load(const std::string &file) {
  std::ifstream in(TILEWRIGHT_SOURCE_DIR "/tilewright/vgpu/machine/kernels/" + file);
  std::stringstream text;
  text << in.rdbuf();
  auto module = LoadedModule::create(text.str(), "sm_90a");
  if (!module.isOk()) {
    std::puts(std::move(module).takeStatus().toString().c_str());
    std::exit(1);
  }
  return *std::move(module);
}

template <typename... Values>
static void run(LoadedModule &module, const char *name, const LaunchConfig &config,
                const Values &...values) {
  const void *arguments[] = {&values...};
  if (Status status = launch(module, name, config, arguments); !status.isOk())
    std::puts(status.toString().c_str());
}

static void report(const char *name, const std::function<void(ThreadPool *)> &kernel,
                   const std::function<void()> &host) {
  const double one = best(threadSeconds, [&] { kernel(nullptr); });
  const double plain = best(threadSeconds, host);
  const double wallOne = best(wallSeconds, [&] { kernel(nullptr); });
  ThreadPool pool(2);
  const double wallTwo = best(wallSeconds, [&] { kernel(&pool); });
  std::printf("%-24s %8.2f ms, plain loop %8.2f ms, ratio %5.2f, two threads %4.2f times\n", name,
              1e3 * one, 1e3 * plain, one / plain, wallOne / wallTwo);
}

int main() {
  auto module = load("tiles.ptx");
  {
    const int n = 512;
    std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f), c(n * n);
    const float *pa = a.data(), *pb = b.data();
    float *pc = c.data();
    report(
        "fp32 matmul 512^3",
        [&](ThreadPool *pool) {
          run(*module, "matmul", {.grid = {n / 16, n / 16, 1}, .block = {16, 16, 1}, .pool = pool},
              pa, pb, pc, n);
        },
        [&] {
          for (int i = 0; i < n; ++i) {
            std::fill_n(pc + i * n, n, 0.0f);
            for (int k = 0; k < n; ++k)
              for (int j = 0; j < n; ++j)
                pc[i * n + j] += pa[i * n + k] * pb[k * n + j];
          }
        });
  }
  {
    const int rows = 4096, columns = 1024;
    std::vector<float> in(rows * columns, 0.5f), out(rows * columns);
    const float *pin = in.data();
    float *pout = out.data();
    report(
        "softmax 4096x1024",
        [&](ThreadPool *pool) {
          run(*module, "softmax", {.grid = {rows, 1, 1}, .block = {128, 1, 1}, .pool = pool}, pin,
              pout, columns);
        },
        [&] {
          for (int row = 0; row < rows; ++row) {
            const float *x = pin + row * columns;
            float *y = pout + row * columns;
            float most = x[0], sum = 0;
            for (int i = 1; i < columns; ++i)
              most = std::max(most, x[i]);
            for (int i = 0; i < columns; ++i)
              sum += y[i] = std::exp2((x[i] - most) * 1.44269504f);
            for (int i = 0; i < columns; ++i)
              y[i] /= sum;
          }
        });
  }
  {
    // The plain loop is that of the first line: fp32, since hosts have no fp16 loops.
    const int n = 512;
    auto hopper = load("hopper.ptx");
    std::vector<uint16_t> a(n * n + 64, 0x3800), b(n * n + 64, 0x3400);
    std::vector<float> c(n * n), x(n * n, 0.5f), y(n * n, 0.25f);
    auto mapOf = [&](std::vector<uint16_t> &data, uint32_t rows) {
      TensorMap map;
      map.address = (reinterpret_cast<uint64_t>(data.data()) + 63) & ~uint64_t(63);
      map.rank = 2;
      map.element = TensorElement::f16;
      map.swizzle = TensorSwizzle::bytes128;
      map.size = {n, n, 1, 1, 1};
      map.stride = {2, 2 * n, 0, 0, 0};
      map.box = {64, rows, 1, 1, 1};
      std::array<std::byte, 128> encoded;
      map.encode(encoded.data());
      return encoded;
    };
    const auto mapA = mapOf(a, 64), mapB = mapOf(b, 128);
    float *pc = c.data();
    report(
        "fp16 wgmma 512^3",
        [&](ThreadPool *pool) {
          run(*hopper, "gemm",
              {.grid = {n / 128, n / 64, 1},
               .block = {128, 1, 1},
               .dynamicSharedBytes = 2 * (8192 + 16384),
               .pool = pool},
              mapA, mapB, pc, n, n);
        },
        [&] {
          for (int i = 0; i < n; ++i) {
            std::fill_n(pc + i * n, n, 0.0f);
            for (int k = 0; k < n; ++k)
              for (int j = 0; j < n; ++j)
                pc[i * n + j] += x[i * n + k] * y[k * n + j];
          }
        });
  }
}
