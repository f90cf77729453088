// Times matrix products: ours, and the limits of the machine.
//
//   ninja -C build/release bench_matmul && build/release/bench/matmul/bench_matmul [threads]
//   [filter]
//
// Each row is the median over rounds in which all contenders alternate, so that noise on a shared
// machine affects all of them. Rates are in GFLOP/s (or GOP/s), for matrix-vector products also in
// GB/s.
#include "tilewright/runtime/cpu/matmul/Matmul.h"
#include "bench/matmul/Clock.h"
#include "tilewright/numerics/Convert.h"
#include "tilewright/runtime/cpu/matmul/OneDnn.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace tilewright;
using namespace tilewright::runtime::cpu;
using enum ElementType;

namespace {

struct Row {
  const char *name;
  ElementType operand, result;
  int64_t rows, summed, columns;
  int64_t batch = 1;
  bool isTransposed = false; // rhs is stored [columns][summed]
};

const Row rows[] = {
    {"f32_8x8x8", f32, f32, 8, 8, 8},
    {"f32_64x64x64", f32, f32, 64, 64, 64},
    {"f32_96x96x96", f32, f32, 96, 96, 96},
    {"f32_100x100x100", f32, f32, 100, 100, 100},
    {"f32_128x128x128", f32, f32, 128, 128, 128},
    {"f32_128x128x128_t", f32, f32, 128, 128, 128, 1, true},
    {"f32_200x200x200", f32, f32, 200, 200, 200},
    {"f32_256x256x256", f32, f32, 256, 256, 256},
    {"f32_512x512x512", f32, f32, 512, 512, 512},
    {"f32_512x512x512_t", f32, f32, 512, 512, 512, 1, true},
    {"f32_1024x1024x1024", f32, f32, 1024, 1024, 1024},
    {"f32_2048x2048x2048", f32, f32, 2048, 2048, 2048},
    {"f32_1x4096x4096", f32, f32, 1, 4096, 4096},
    {"f32_1x4096x4096_t", f32, f32, 1, 4096, 4096, 1, true},
    {"f32_4x4096x4096", f32, f32, 4, 4096, 4096},
    {"f32_8x4096x4096", f32, f32, 8, 4096, 4096},
    {"f32_8x4096x4096_t", f32, f32, 8, 4096, 4096, 1, true},
    {"bf16_8x4096x4096", bf16, bf16, 8, 4096, 4096},
    {"f32_128x4096x4096", f32, f32, 128, 4096, 4096},
    {"f32_b64_128x64x128", f32, f32, 128, 64, 128, 64},
    {"f32_b1000_16x16x16", f32, f32, 16, 16, 16, 1000},
    {"f64_512x512x512", f64, f64, 512, 512, 512},
    {"c64_256x256x256", c64, c64, 256, 256, 256},
    {"bf16_256x256x256", bf16, bf16, 256, 256, 256},
    {"bf16_512x512x512", bf16, bf16, 512, 512, 512},
    {"bf16_512x512x512_t", bf16, bf16, 512, 512, 512, 1, true},
    {"bf16_1024x1024x1024", bf16, bf16, 1024, 1024, 1024},
    {"bf16_2048x2048x2048", bf16, bf16, 2048, 2048, 2048},
    {"bf16_1x4096x4096", bf16, bf16, 1, 4096, 4096},
    {"bf16_128x4096x4096", bf16, bf16, 128, 4096, 4096},
    {"f16_512x512x512", f16, f16, 512, 512, 512},
    {"s8_512x512x512", i8, i32, 512, 512, 512},
    {"s8_1x4096x4096", i8, i32, 1, 4096, 4096},
    {"s8_128x4096x4096", i8, i32, 128, 4096, 4096},
    {"i32_512x512x512", i32, i32, 512, 512, 512},
};

double seconds(const std::function<void()> &work, int repeats, bool isAlone) {
  const double start = now(isAlone);
  for (int i = 0; i < repeats; ++i)
    work();
  return (now(isAlone) - start) / repeats;
}

struct Contender {
  std::string name;
  std::function<void()> work;
  std::vector<double> times;
};

/// Avoids subnormal numbers, which would be slow.
std::vector<std::byte> operandOf(ElementType type, int64_t count) {
  std::vector<std::byte> bytes(static_cast<size_t>(count) * numerics::storageBytes(type));
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = double(i * 7 % 61) - 30;
  numerics::convert(f64, reinterpret_cast<const std::byte *>(values.data()), type, bytes.data(),
                    values.size());
  return bytes;
}

/// Does as many multiplications as the row has, always on the same panels.
void runAlone(const PanelKernel &kernel, const Row &row, const std::vector<std::byte> &panels,
              ThreadPool &pool) {
  const int64_t summed = 256 / kernel.depth * kernel.depth;
  const int64_t calls =
      row.batch * row.rows * row.columns / (kernel.rows * kernel.columns) * row.summed / summed;
  pool.parallelFor(calls, 64, [&](int64_t begin, int64_t end) {
    if (kernel.enter)
      kernel.enter();
    alignas(64) static thread_local std::byte local[1 << 16];
    for (int64_t i = begin; i < end; ++i)
      kernel.multiply(summed, panels.data(), panels.data() + (1 << 16), local, kernel.columns,
                      kernel.rows, kernel.columns, false);
    if (kernel.leave)
      kernel.leave();
  });
}

void run(const Row &row, ThreadPool &pool) {
  MatmulProblem problem =
      MatmulProblem::dense(row.operand, row.operand, row.result, row.rows, row.columns, row.summed);
  problem.batch = {
      {row.batch, row.rows * row.summed, row.summed * row.columns, row.rows * row.columns}};
  if (row.isTransposed) {
    problem.rhsSummed.stride = 1;
    problem.rhsColumns.stride = row.summed;
  }
  const std::vector<std::byte> lhs = operandOf(row.operand, row.batch * row.rows * row.summed);
  const std::vector<std::byte> rhs = operandOf(row.operand, row.batch * row.summed * row.columns);
  std::vector<std::byte> result = operandOf(row.result, row.batch * row.rows * row.columns);
  const MatmulOperands operands{.lhs = lhs.data(), .rhs = rhs.data(), .result = result.data()};
  Matmul ours(problem);
  std::vector<Contender> contenders;
  contenders.push_back({"ours (" + ours.name() + ")", [&] { ours.run(operands, pool); }, {}});

  // TILEWRIGHT_BENCH_BLOCKS="266,256 128,512" adds contenders with other tiles: rows and columns,
  // and, as a third number, the size up to which products are not packed.
  std::vector<std::unique_ptr<Matmul>> variants;
  if (const char *blocks = std::getenv("TILEWRIGHT_BENCH_BLOCKS")) {
    std::istringstream list(blocks);
    for (std::string each; list >> each;) {
      Matmul::Choice choice;
      std::sscanf(each.c_str(), "%ld,%ld,%ld", &choice.maxRows, &choice.maxColumns,
                  &choice.maxDirect);
      variants.push_back(std::make_unique<Matmul>(problem, CpuFeatures::host(), choice));
      contenders.push_back(
          {each, [&, matmul = variants.back().get()] { matmul->run(operands, pool); }, {}});
    }
  }
  const std::unique_ptr<OneDnnMatmul> oneDnn = OneDnnMatmul::create(problem, pool.threadCount());
  if (oneDnn)
    contenders.push_back({OneDnnMatmul::name(), [&] { oneDnn->run(operands, pool); }, {}});
  // The innermost loop alone, on panels that stay in the L1 cache: an upper bound on what packing
  // and blocking can reach.
  const PanelKernel *kernel = ours.panelKernel();
  const std::vector<std::byte> panels(1 << 20);
  if (kernel && row.batch * row.rows * row.columns * row.summed > (1 << 24))
    contenders.push_back({"kernel alone", [&] { runAlone(*kernel, row, panels, pool); }, {}});

  // Reads memory at full speed: the upper bound for products that read one operand once.
  const std::vector<char> memory(row.rows <= 8 ? rhs.size() : 0);
  if (row.rows <= 8 && rhs.size() > (1 << 20))
    contenders.push_back(
        {"read",
         [&] {
           pool.parallelFor(int64_t(memory.size() >> 16), 1, [&](int64_t begin, int64_t end) {
             const void *found =
                 std::memchr(memory.data() + (begin << 16), 1, size_t(end - begin) << 16);
             if (found)
               std::abort();
           });
         },
         {}});

  const double work = 2.0 * double(row.batch * row.rows) * double(row.summed * row.columns);
  const int repeats = std::max(1, static_cast<int>(2e7 / work));
  for (int round = 0; round < 9; ++round)
    for (Contender &each : contenders)
      each.times.push_back(seconds(each.work, repeats, pool.threadCount() == 1));
  for (Contender &each : contenders) {
    std::sort(each.times.begin(), each.times.end());
    const double median = each.times[each.times.size() / 2];
    std::printf("%-24s %-44s %10.3f us %9.1f GFLOP/s (best %9.1f)", row.name, each.name.c_str(),
                median * 1e6, work / median * 1e-9, work / each.times[0] * 1e-9);
    if (row.rows <= 8)
      std::printf(" %6.1f GB/s", double(rhs.size()) / median * 1e-9);
    std::printf("\n");
  }
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  const unsigned threads = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
  ThreadPool pool(threads);
  std::printf("%s, %u threads\n", CpuFeatures::host().name().c_str(), threads);
  for (const Row &row : rows)
    if (argc < 3 || std::strstr(row.name, argv[2]))
      run(row, pool);
}
