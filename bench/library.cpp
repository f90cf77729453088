// Times library kernels on the cases of the CPU suite: name, threads, median of seven in
// milliseconds. Buffers are warm and reused. bench/library.py measures the other frameworks.
//
//   ninja -C build/dev library-bench && build/dev/bench/library-bench [part of a name] [threads]
#include "tilewright/runtime/cpu/library/testing/Calls.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <random>

using namespace tilewright;
using namespace tilewright::runtime::cpu;
using Dims = std::vector<int64_t>;

static TestBuffer normal(ElementType type, const Dims &dims, double scale = 1) {
  TestBuffer buffer({type, dims});
  std::mt19937 engine(7);
  std::normal_distribution<float> values;
  if (type == ElementType::f32)
    for (int64_t i = 0; i < buffer.count(); ++i)
      buffer.as<float>()[i] = static_cast<float>(scale * values(engine));
  else
    for (int64_t i = 0; i < buffer.count(); ++i)
      buffer.setReal(i, scale * values(engine));
  return buffer;
}
static TestBuffer below(int64_t limit, const Dims &dims) {
  TestBuffer buffer({ElementType::i32, dims});
  std::mt19937 engine(11);
  for (int64_t i = 0; i < buffer.count(); ++i)
    buffer.as<int32_t>()[i] = static_cast<int32_t>(engine() % static_cast<uint64_t>(limit));
  return buffer;
}

/// CPU time of this thread or wall time, in milliseconds.
static double now(bool ofProcessor) {
  timespec time{};
  clock_gettime(ofProcessor ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

static void measure(const char *name, TestCall call, unsigned threads) {
  Status status = call.prepare();
  if (!status.isOk()) {
    std::printf("%-24s %s\n", name, status.message().c_str());
    return;
  }
  ThreadPool pool(threads);
  std::vector<double> times;
  for (int round = 0; round < 8; ++round) {
    // With one thread, measure its CPU time, which other load on the machine disturbs less.
    const double begin = now(threads == 1);
    status = call.runPrepared(pool);
    if (round > 0)
      times.push_back(now(threads == 1) - begin);
  }
  std::sort(times.begin(), times.end());
  std::printf("%-24s threads %u  median %9.3f ms  best %9.3f%s\n", name, threads,
              times[times.size() / 2], times[0], status.isOk() ? "" : "  FAILED");
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  const auto threads = static_cast<unsigned>(argc > 2 ? std::atoi(argv[2]) : 1);
  using enum ElementType;
  auto add = [&](const char *name, const std::function<TestCall()> &make) {
    if (std::string(name).find(only) != std::string::npos)
      measure(name, make(), threads);
  };

  add("transpose", [] {
    TestCall call(TransposeCall{.permutation = {1, 0}});
    call.operand(normal(f32, {4096, 4096})).result({f32, {4096, 4096}});
    return call;
  });
  add("transpose_i8", [] {
    TestCall call(TransposeCall{.permutation = {1, 0}});
    call.operand(TestBuffer({i8, {4096, 4096}})).result({i8, {4096, 4096}});
    return call;
  });
  add("transpose_bf16", [] {
    TestCall call(TransposeCall{.permutation = {1, 0}});
    call.operand(TestBuffer({bf16, {4096, 4096}})).result({bf16, {4096, 4096}});
    return call;
  });
  add("permute0213", [] {
    TestCall call(TransposeCall{.permutation = {0, 2, 1, 3}});
    call.operand(normal(f32, {8, 512, 16, 64})).result({f32, {8, 16, 512, 64}});
    return call;
  });
  add("concat_last", [] {
    TestCall call(ConcatenateCall{.dimension = 1});
    call.operand(normal(f32, {4096, 2048})).operand(normal(f32, {4096, 2048}));
    call.result({f32, {4096, 4096}});
    return call;
  });
  add("pad_slice", [] {
    TestCall call(
        PadCall{.edgePaddingLow = {1, 1}, .edgePaddingHigh = {1, 1}, .interiorPadding = {0, 0}});
    call.operand(normal(f32, {4096, 4096})).operand(normal(f32, {})).result({f32, {4098, 4098}});
    return call;
  });
  add("embed_gather", [] {
    TestCall call(GatherCall{.offsetDims = {1},
                             .collapsedSliceDims = {0},
                             .startIndexMap = {0},
                             .indexVectorDim = 1,
                             .sliceSizes = {1, 768}});
    call.operand(normal(f32, {32000, 768})).operand(below(32000, {4096, 1}));
    call.result({f32, {4096, 768}});
    return call;
  });
  add("gather_elems_4m", [] {
    TestCall call(GatherCall{
        .collapsedSliceDims = {0}, .startIndexMap = {0}, .indexVectorDim = 1, .sliceSizes = {1}});
    call.operand(normal(f32, {4 << 20})).operand(below(4 << 20, {4 << 20, 1}));
    call.result({f32, {4 << 20}});
    return call;
  });

  auto reduction = [](Combiner body, Dims dims, Dims reduced, Dims kept) {
    TestCall call(ReduceCall{.dimensions = reduced, .body = body});
    call.operand(normal(f32, dims)).operand(bufferOf(f32, {}, {0})).result({f32, kept});
    return call;
  };
  add("sum_all", [&] { return reduction(Combiner::add, {4096, 4096}, {0, 1}, {}); });
  add("sum_rows", [&] { return reduction(Combiner::add, {4096, 4096}, {1}, {4096}); });
  add("sum_cols", [&] { return reduction(Combiner::add, {4096, 4096}, {0}, {4096}); });
  add("max_rows", [&] { return reduction(Combiner::maximum, {4096, 4096}, {1}, {4096}); });
  add("argmax_rows", [] {
    TestCall call(ArgMaxCall{.dimension = 1});
    call.operand(normal(f32, {4096, 4096})).result({i32, {4096}});
    return call;
  });
  auto running = [](Combiner body, Dims dims, int64_t dimension) {
    TestCall call(CumulativeCall{.dimension = dimension, .body = body});
    call.operand(normal(f32, dims)).result({f32, dims});
    return call;
  };
  add("cumsum_rows", [&] { return running(Combiner::add, {4096, 4096}, 1); });
  add("cumsum_cols", [&] { return running(Combiner::add, {4096, 4096}, 0); });
  add("cumsum_1d_4m", [&] { return running(Combiner::add, {4 << 20}, 0); });
  add("cummax_rows", [&] { return running(Combiner::maximum, {4096, 4096}, 1); });
  auto pool = [](Dims dims, Dims window, Dims strides, Dims out) {
    const Dims ones(dims.size(), 1);
    TestCall call(ReduceWindowCall{.windowDimensions = window,
                                   .windowStrides = strides,
                                   .baseDilations = ones,
                                   .windowDilations = ones,
                                   .padding = Dims(2 * dims.size(), 0),
                                   .body = Combiner::maximum});
    call.operand(normal(f32, dims)).operand(bufferOf(f32, {}, {-INFINITY})).result({f32, out});
    return call;
  };
  add("maxpool2d",
      [&] { return pool({32, 64, 64, 64}, {1, 2, 2, 1}, {1, 2, 2, 1}, {32, 32, 32, 64}); });
  add("maxpool2d_nchw",
      [&] { return pool({32, 64, 64, 64}, {1, 1, 2, 2}, {1, 1, 2, 2}, {32, 64, 32, 32}); });

  auto sorting = [](Dims dims, bool withPlaces) {
    TestCall call(SortCall{.dimension = static_cast<int64_t>(dims.size()) - 1,
                           .comparator = Comparator::less});
    call.operand(normal(f32, dims)).result({f32, dims});
    if (withPlaces)
      call.operand(below(1 << 20, dims)).result({i32, dims});
    return call;
  };
  add("sort_1m", [&] { return sorting({1 << 20}, false); });
  add("sort_rows_1kx1k", [&] { return sorting({1024, 1024}, false); });
  add("argsort_1m", [&] { return sorting({1 << 20}, true); });
  auto largest = [](Dims dims, int64_t k) {
    TestCall call(TopKCall{.k = k});
    call.operand(normal(f32, dims)).result({f32, {dims[0], k}}).result({i32, {dims[0], k}});
    return call;
  };
  add("topk50_64xV", [&] { return largest({64, 32000}, 50); });
  add("topk8_4096x128", [&] { return largest({4096, 128}, 8); });

  add("embed_scatter_add", [] {
    TestCall call(ScatterCall{.updateWindowDims = {1},
                              .insertedWindowDims = {0},
                              .scatterDimsToOperandDims = {0},
                              .indexVectorDim = 1,
                              .body = Combiner::add});
    call.operand(normal(f32, {32000, 768})).operand(below(32000, {4096, 1}));
    call.operand(normal(f32, {4096, 768})).result({f32, {32000, 768}});
    return call;
  });
  add("segment_sum_1m", [] {
    TestCall call(ScatterCall{.updateWindowDims = {},
                              .insertedWindowDims = {0},
                              .scatterDimsToOperandDims = {0},
                              .indexVectorDim = 1,
                              .body = Combiner::add});
    call.operand(normal(f32, {1024})).operand(below(1024, {1 << 20, 1}));
    call.operand(normal(f32, {1 << 20})).result({f32, {1024}});
    return call;
  });

  auto transform = [](Dims dims) {
    TestCall call(FftCall{.fftType = FftType::fft, .fftLength = {dims.back()}});
    TestBuffer values({c64, dims});
    std::memset(values.data(), 0, values.size());
    call.operand(std::move(values)).result({c64, dims});
    return call;
  };
  add("fft_1m", [&] { return transform({1 << 20}); });
  add("fft_rows_1kx1k", [&] { return transform({1024, 1024}); });
  add("random_bits_16m", [] {
    TestCall call(RngBitGeneratorCall{.rngAlgorithm = RngAlgorithm::threeFry});
    call.operand(bufferOf(ui64, {2}, {1, 2})).result({ui64, {2}}).result({ui32, {1 << 24}});
    return call;
  });
  return 0;
}
