// Times convolutions, forward and as gradients, in the layouts that JAX uses.
//
//   ninja -C build/release bench_convolution && build/release/bench/matmul/bench_convolution
//   [threads]
#include "bench/matmul/Clock.h"
#include "tilewright/runtime/cpu/library/Library.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

using namespace tilewright;
using namespace tilewright::runtime::cpu;

namespace {

struct Row {
  const char *name;
  /// Dimension letters as JAX writes them: "NHWC,HWIO->NHWC".
  const char *layout;
  std::vector<int64_t> lhs, rhs, result;
  std::vector<int64_t> strides = {1, 1}, padding = {1, 1, 1, 1}, lhsDilation = {1, 1},
                       rhsDilation = {1, 1};
  int64_t featureGroups = 1, batchGroups = 1;
  ElementType type = ElementType::f32;
};

const std::vector<Row> rows = {
    {"conv3x3_56_64", "NHWC,HWIO->NHWC", {8, 56, 56, 64}, {3, 3, 64, 64}, {8, 56, 56, 64}},
    {"conv3x3_28_128", "NHWC,HWIO->NHWC", {8, 28, 28, 128}, {3, 3, 128, 128}, {8, 28, 28, 128}},
    {"conv3x3_7_512", "NHWC,HWIO->NHWC", {8, 7, 7, 512}, {3, 3, 512, 512}, {8, 7, 7, 512}},
    {"conv1x1_56_64_256",
     "NHWC,HWIO->NHWC",
     {8, 56, 56, 64},
     {1, 1, 64, 256},
     {8, 56, 56, 256},
     {1, 1},
     {0, 0, 0, 0},
     {1, 1},
     {1, 1}},
    {"conv1x1s2_56_256_512",
     "NHWC,HWIO->NHWC",
     {8, 56, 56, 256},
     {1, 1, 256, 512},
     {8, 28, 28, 512},
     {2, 2},
     {0, 0, 0, 0},
     {1, 1},
     {1, 1}},
    {"conv7x7s2_224_3",
     "NHWC,HWIO->NHWC",
     {8, 224, 224, 3},
     {7, 7, 3, 64},
     {8, 112, 112, 64},
     {2, 2},
     {2, 3, 2, 3},
     {1, 1},
     {1, 1}},
    {"nchw3x3_56_64", "NCHW,OIHW->NCHW", {8, 64, 56, 56}, {64, 64, 3, 3}, {8, 64, 56, 56}},
    {"nchw3x3_7_512", "NCHW,OIHW->NCHW", {8, 512, 7, 7}, {512, 512, 3, 3}, {8, 512, 7, 7}},
    {"depthwise3x3_56_144",
     "NHWC,HWIO->NHWC",
     {8, 56, 56, 144},
     {3, 3, 1, 144},
     {8, 56, 56, 144},
     {1, 1},
     {1, 1, 1, 1},
     {1, 1},
     {1, 1},
     144},
    {"nchw_depthwise3x3_56_144",
     "NCHW,OIHW->NCHW",
     {8, 144, 56, 56},
     {144, 1, 3, 3},
     {8, 144, 56, 56},
     {1, 1},
     {1, 1, 1, 1},
     {1, 1},
     {1, 1},
     144},
    {"grad_input_s2_56_64",
     "NHWC,HWOI->NHWC",
     {8, 28, 28, 64},
     {3, 3, 64, 64},
     {8, 56, 56, 64},
     {1, 1},
     {2, 1, 2, 1},
     {2, 2},
     {1, 1}},
    {"grad_kernel_56_64", "CHWN,IHWO->HWNC", {8, 56, 56, 64}, {8, 56, 56, 64}, {3, 3, 64, 64}},
    {"bf16_conv3x3_56_64",
     "NHWC,HWIO->NHWC",
     {8, 56, 56, 64},
     {3, 3, 64, 64},
     {8, 56, 56, 64},
     {1, 1},
     {1, 1, 1, 1},
     {1, 1},
     {1, 1},
     1,
     1,
     ElementType::bf16},
};

std::byte *buffer(const TensorType &type) {
  const auto bytes = static_cast<size_t>((*Shape::create(type.dims)).byteCount(type.element));
  auto *data = static_cast<std::byte *>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  const uint32_t one = type.element == ElementType::bf16 ? 0x3f803f80 : 0x3f800000;
  for (size_t at = 0; at + 4 <= bytes; at += 4)
    std::memcpy(data + at, &one, 4);
  return data;
}

void run(const Row &row, ThreadPool &pool) {
  const std::string layout = row.layout;
  const std::string parts[] = {layout.substr(0, 4), layout.substr(5, 4), layout.substr(11, 4)};
  auto at = [&](int part, char letter) { return static_cast<int64_t>(parts[part].find(letter)); };
  auto spatial = [&](int part) { return std::vector<int64_t>{at(part, 'H'), at(part, 'W')}; };
  const artifact::ConvolutionCall call{.inputBatchDimension = at(0, 'N'),
                                       .inputFeatureDimension = at(0, 'C'),
                                       .inputSpatialDimensions = spatial(0),
                                       .kernelInputFeatureDimension = at(1, 'I'),
                                       .kernelOutputFeatureDimension = at(1, 'O'),
                                       .kernelSpatialDimensions = spatial(1),
                                       .outputBatchDimension = at(2, 'N'),
                                       .outputFeatureDimension = at(2, 'C'),
                                       .outputSpatialDimensions = spatial(2),
                                       .windowStrides = row.strides,
                                       .padding = row.padding,
                                       .lhsDilation = row.lhsDilation,
                                       .rhsDilation = row.rhsDilation,
                                       .windowReversal = {0, 0},
                                       .featureGroupCount = row.featureGroups,
                                       .batchGroupCount = row.batchGroups};
  const TensorType operands[] = {{row.type, row.lhs}, {row.type, row.rhs}};
  const TensorType results[] = {{row.type, row.result}};
  auto kernel = prepareLibraryKernel(call, {{}, operands, results});
  if (!kernel.isOk()) {
    std::printf("%s: %s\n", row.name, std::move(kernel).takeStatus().message().c_str());
    return;
  }
  const std::byte *from[] = {buffer(operands[0]), buffer(operands[1])};
  std::byte *to[] = {buffer(results[0])};
  std::vector<double> times;
  for (int round = 0; round < 8; ++round) {
    const double start = now(pool.threadCount() == 1);
    if (!(*kernel)->run({from, to, pool}).isOk())
      std::abort();
    times.push_back(now(pool.threadCount() == 1) - start);
  }
  std::sort(times.begin(), times.end());
  std::printf("%-28s %10.3f ms (best %10.3f)\n", row.name, times[4] * 1e3, times[0] * 1e3);
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  ThreadPool pool(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1);
  for (const Row &row : rows)
    if (argc < 3 || std::strstr(row.name, argv[2]))
      run(row, pool);
}
