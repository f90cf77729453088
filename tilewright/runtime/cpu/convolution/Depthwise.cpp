#include "tilewright/runtime/cpu/convolution/Depthwise.h"

#include "tilewright/runtime/cpu/library/Isa.h"
#include "tilewright/runtime/cpu/matmul/Matmul.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tilewright::runtime::cpu {

constexpr size_t mostAxes = mostConvolutionRank - 2;
/// Elements of a row that are summed up at a time.
constexpr int64_t mostInRow = 512;

static int64_t bytesOf(ElementType type) {
  return static_cast<int64_t>(numerics::storageBytes(type));
}

static ElementType sumsOf(const ConvolutionShape &shape) {
  return Matmul(MatmulProblem::dense(shape.lhsType, shape.rhsType, shape.resultType, 0, 0, 0))
      .sumsType();
}

bool Depthwise::isSuited(const ConvolutionShape &shape) {
  // Of few features there is no product to speak of: its columns would not fill a vector.
  const bool isNarrow = shape.groups >= 4 || (shape.groups >= 2 && shape.groupInputs <= 4);
  return isNarrow && shape.groupOutputs <= 4 && !numerics::isComplex(shape.resultType);
}

Depthwise::Depthwise(const ConvolutionShape &shape, std::vector<Axis> phase)
    : shape(shape), axes(std::move(phase)), sums(sumsOf(shape)),
      lhsToSums(Machine::host(), shape.lhsType, sums),
      rhsToSums(Machine::host(), shape.rhsType, sums),
      sumsToResult(Machine::host(), sums, shape.resultType) {
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
  // Rows run along the loop whose elements are closest in the input, but not along one that
  // is no loop at all or leaves the input where it is.
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

/// A part of a row: where it begins in the three tensors, and which output it is on each axis.
struct Depthwise::Row {
  const std::byte *input, *kernel;
  std::byte *output;
  std::array<int64_t, mostAxes> at;
  int64_t first, count; // along the row
};

/// `count` elements as sums: where they are, or gathered and converted into `to`.
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
  alignas(64) std::byte raw[mostInRow * 8];
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

template <typename T> void Depthwise::runRow(const Row &here) const {
  alignas(64) T added[mostInRow], left[mostInRow], right[mostInRow];
  std::memset(added, 0, static_cast<size_t>(here.count) * sizeof(T));
  const int64_t lhsBytes = bytesOf(shape.lhsType), rhsBytes = bytesOf(shape.rhsType);
  for (int64_t tap = 0; tap < tapCount; ++tap) {
    int64_t rest = tap / shape.groupInputs;
    const int64_t feature = tap % shape.groupInputs;
    int64_t input = feature * shape.input.second, kernel = feature * shape.kernel.second;
    int64_t low = 0, high = here.count;
    bool isInside = true;
    for (size_t d = axes.size(); d-- > 0;) {
      const Axis &axis = axes[d];
      const int64_t at = rest % axis.taps;
      rest /= axis.taps;
      kernel += at * axis.tapStep * shape.kernel.spatial[d];
      if (row.axis == static_cast<int64_t>(d)) {
        const auto [first, last] = axis.outputsInside(at);
        low = std::clamp(first - here.first, low, high);
        high = std::clamp(last - here.first, low, high);
        if (low < high)
          input += axis.inputAt(here.first + low, at) * shape.input.spatial[d];
      } else {
        const int64_t element = axis.inputAt(here.at[d], at);
        isInside &= axis.isInside(element);
        input += isInside ? element * shape.input.spatial[d] : 0;
      }
    }
    if (!isInside || low >= high)
      continue;
    const T *a = load(lhsToSums, here.input + input * lhsBytes, row.input, high - low, left);
    const T *b = load(rhsToSums, here.kernel + (kernel + low * row.kernel) * rhsBytes,
                      row.kernel == 0 ? 1 : row.kernel, row.kernel == 0 ? 1 : high - low, right);
    addProducts(added + low, a, b, row.kernel == 0, high - low);
  }
  const int64_t bytes = bytesOf(shape.resultType);
  const auto *from = reinterpret_cast<const std::byte *>(added);
  if (row.output == 1)
    return sumsToResult.run(from, here.output, here.count);
  alignas(64) std::byte narrow[mostInRow * 8];
  sumsToResult.run(from, narrow, here.count);
  for (int64_t i = 0; i < here.count; ++i)
    std::memcpy(here.output + i * row.output * bytes, narrow + i * bytes,
                static_cast<size_t>(bytes));
}

void Depthwise::run(const std::byte *lhs, const std::byte *rhs, std::byte *result,
                    ThreadPool &pool) const {
  if (rowCount == 0 || row.size == 0)
    return;
  const int64_t pieces = (row.size + mostInRow - 1) / mostInRow;
  const int64_t work = std::max<int64_t>(1, tapCount * std::min(row.size, mostInRow));
  pool.parallelFor(rowCount * pieces, std::max<int64_t>(1, 50'000 / work),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       Row here{};
                       here.first = i % pieces * mostInRow;
                       here.count = std::min(mostInRow, row.size - here.first);
                       // The row's own step of the input is taken by its axis, if it has one.
                       int64_t input = row.axis == Loop::notSpatial ? here.first * row.input : 0;
                       int64_t kernel = kernelOffset + here.first * row.kernel;
                       int64_t output = outputOffset + here.first * row.output;
                       int64_t rest = i / pieces;
                       for (const Loop &loop : outer) {
                         const int64_t at = rest % loop.size;
                         rest /= loop.size;
                         kernel += at * loop.kernel;
                         output += at * loop.output;
                         if (loop.axis == Loop::notSpatial)
                           input += at * loop.input;
                         else
                           here.at[static_cast<size_t>(loop.axis)] = at;
                       }
                       here.input = lhs + input * bytesOf(shape.lhsType);
                       here.kernel = rhs + kernel * bytesOf(shape.rhsType);
                       here.output = result + output * bytesOf(shape.resultType);
                       switch (sums) {
                       case ElementType::f64:
                         runRow<double>(here);
                         break;
                       case ElementType::i32:
                         runRow<uint32_t>(here);
                         break;
                       case ElementType::i64:
                         runRow<uint64_t>(here);
                         break;
                       default:
                         runRow<float>(here);
                       }
                     }
                   });
}

} // namespace tilewright::runtime::cpu
