#include "tilewright/runtime/cpu/convolution/Depthwise.h"

#include "tilewright/runtime/cpu/library/Isa.h"
#include "tilewright/runtime/cpu/matmul/Matmul.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tilewright::runtime::cpu {

constexpr size_t maxAxes = maxConvolutionRank - 2;
/// The maximum number of elements of a row that are summed at once.
constexpr int64_t maxInRow = 512;

static int64_t bytesOf(ElementType type) {
  return static_cast<int64_t>(numerics::storageBytes(type));
}

static ElementType sumsOf(const ConvolutionShape &shape) {
  return Matmul(MatmulProblem::dense(shape.lhsType, shape.rhsType, shape.resultType, 0, 0, 0))
      .sumsType();
}

bool Depthwise::isSuited(const ConvolutionShape &shape) {
  // With few features a matrix product is inefficient: its columns would not fill a vector.
  const bool isNarrow = shape.groups >= 4 || (shape.groups >= 2 && shape.groupInputs <= 4);
  return isNarrow && shape.groupOutputs <= 4 && !numerics::isComplex(shape.resultType);
}

Depthwise::Depthwise(const ConvolutionShape &shape, std::vector<Axis> phase)
    : shape(shape), axes(std::move(phase)), sums(sumsOf(shape)),
      lhsToSums(CpuFeatures::host(), shape.lhsType, sums),
      rhsToSums(CpuFeatures::host(), shape.rhsType, sums),
      sumsToResult(CpuFeatures::host(), sums, shape.resultType) {
  std::vector<Loop> loops = {
      {shape.images, shape.input.first, 0, shape.output.first},
      {shape.groupOutputs, 0, shape.kernel.first, shape.output.second},
      {shape.groups, shape.inputGroupStride, shape.kernelGroupStride, shape.outputGroupStride}};
  for (size_t d = 0; d < axes.size(); ++d) {
    const Axis &axis = axes[d];
    kernelOffset += axis.tapFirst * shape.kernel.spatial[d];
    outputOffset += axis.outputFirst * shape.output.spatial[d];
    loops.push_back({axis.outputs, axis.perOutput * shape.input.spatial[d], 0,
                     axis.outputStep * shape.output.spatial[d], static_cast<int64_t>(d)});
    tapCount *= axis.taps;
  }
  tapCount *= shape.groupInputs;
  // Rows run along the loop with the smallest stride in the input, except loops of a single
  // iteration and loops with stride 0.
  size_t best = 2;
  for (size_t i = 0; i < loops.size(); ++i) {
    const bool isLoop = loops[i].size > 1 && loops[i].input != 0;
    if (isLoop && (loops[best].size <= 1 || loops[i].input < loops[best].input))
      best = i;
  }
  row = loops[best];
  loops.erase(loops.begin() + static_cast<int64_t>(best));
  outer = std::move(loops);
  for (const Loop &loop : outer)
    rowCount *= loop.size;
}

/// A part of a row: its start in the three tensors, and its output index on each axis.
struct Depthwise::RowSegment {
  const std::byte *input, *kernel;
  std::byte *output;
  std::array<int64_t, maxAxes> at;
  int64_t first, count; // along the row
};

/// Loads `count` elements in the accumulation type: in place if possible, otherwise gathered and
/// converted into `to`.
template <typename T>
static const T *load(const Conversion &conversion, const std::byte *from, int64_t step,
                     int64_t count, T *to) {
  const int64_t bytes = bytesOf(conversion.from());
  if (step == 1 && conversion.isIdentity())
    return reinterpret_cast<const T *>(from);
  if (step == 1) {
    conversion.run(from, reinterpret_cast<std::byte *>(to), count);
    return to;
  }
  alignas(64) std::byte raw[maxInRow * 8];
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(raw + i * bytes, from + i * step * bytes, static_cast<size_t>(bytes));
  conversion.run(raw, reinterpret_cast<std::byte *>(to), count);
  return to;
}

template <typename T>
static void addProducts(T *to, const T *a, const T *b, bool isScalar, int64_t count) {
  withVectors([&](auto) TILEWRIGHT_LAMBDA {
    if (isScalar) {
      const T factor = b[0];
      for (int64_t i = 0; i < count; ++i)
        to[i] += a[i] * factor;
    } else {
      for (int64_t i = 0; i < count; ++i)
        to[i] += a[i] * b[i];
    }
  });
}

template <typename T> void Depthwise::runRow(const RowSegment &segment) const {
  alignas(64) T added[maxInRow], left[maxInRow], right[maxInRow];
  std::memset(added, 0, static_cast<size_t>(segment.count) * sizeof(T));
  const int64_t lhsBytes = bytesOf(shape.lhsType), rhsBytes = bytesOf(shape.rhsType);
  for (int64_t tap = 0; tap < tapCount; ++tap) {
    int64_t rest = tap / shape.groupInputs;
    const int64_t feature = tap % shape.groupInputs;
    int64_t input = feature * shape.input.second, kernel = feature * shape.kernel.second;
    int64_t low = 0, high = segment.count;
    bool isInside = true;
    for (size_t d = axes.size(); d-- > 0;) {
      const Axis &axis = axes[d];
      const int64_t at = rest % axis.taps;
      rest /= axis.taps;
      kernel += at * axis.tapStep * shape.kernel.spatial[d];
      if (row.axis == static_cast<int64_t>(d)) {
        const auto [first, last] = axis.outputsInside(at);
        low = std::clamp(first - segment.first, low, high);
        high = std::clamp(last - segment.first, low, high);
        if (low < high)
          input += axis.inputAt(segment.first + low, at) * shape.input.spatial[d];
      } else {
        const int64_t element = axis.inputAt(segment.at[d], at);
        isInside &= axis.isInside(element);
        input += isInside ? element * shape.input.spatial[d] : 0;
      }
    }
    if (!isInside || low >= high)
      continue;
    const T *a = load(lhsToSums, segment.input + input * lhsBytes, row.input, high - low, left);
    const T *b = load(rhsToSums, segment.kernel + (kernel + low * row.kernel) * rhsBytes,
                      row.kernel == 0 ? 1 : row.kernel, row.kernel == 0 ? 1 : high - low, right);
    addProducts(added + low, a, b, row.kernel == 0, high - low);
  }
  const int64_t bytes = bytesOf(shape.resultType);
  const auto *from = reinterpret_cast<const std::byte *>(added);
  if (row.output == 1)
    return sumsToResult.run(from, segment.output, segment.count);
  alignas(64) std::byte narrow[maxInRow * 8];
  sumsToResult.run(from, narrow, segment.count);
  for (int64_t i = 0; i < segment.count; ++i)
    std::memcpy(segment.output + i * row.output * bytes, narrow + i * bytes,
                static_cast<size_t>(bytes));
}

void Depthwise::run(const std::byte *lhs, const std::byte *rhs, std::byte *result,
                    ThreadPool &pool) const {
  if (rowCount == 0 || row.size == 0)
    return;
  const int64_t pieces = (row.size + maxInRow - 1) / maxInRow;
  const int64_t work = std::max<int64_t>(1, tapCount * std::min(row.size, maxInRow));
  pool.parallelFor(rowCount * pieces, std::max<int64_t>(1, 50'000 / work),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       RowSegment segment{};
                       segment.first = i % pieces * maxInRow;
                       segment.count = std::min(maxInRow, row.size - segment.first);
                       // If the row runs along an axis, that axis provides the step in the input.
                       int64_t input = row.axis == Loop::notSpatial ? segment.first * row.input : 0;
                       int64_t kernel = kernelOffset + segment.first * row.kernel;
                       int64_t output = outputOffset + segment.first * row.output;
                       int64_t rest = i / pieces;
                       for (const Loop &loop : outer) {
                         const int64_t at = rest % loop.size;
                         rest /= loop.size;
                         kernel += at * loop.kernel;
                         output += at * loop.output;
                         if (loop.axis == Loop::notSpatial)
                           input += at * loop.input;
                         else
                           segment.at[static_cast<size_t>(loop.axis)] = at;
                       }
                       segment.input = lhs + input * bytesOf(shape.lhsType);
                       segment.kernel = rhs + kernel * bytesOf(shape.rhsType);
                       segment.output = result + output * bytesOf(shape.resultType);
                       switch (sums) {
                       case ElementType::f64:
                         runRow<double>(segment);
                         break;
                       case ElementType::i32:
                         runRow<uint32_t>(segment);
                         break;
                       case ElementType::i64:
                         runRow<uint64_t>(segment);
                         break;
                       default:
                         runRow<float>(segment);
                       }
                     }
                   });
}

} // namespace tilewright::runtime::cpu
