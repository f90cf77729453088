#include "tilewright/runtime/cpu/convolution/Window.h"

#include "tilewright/runtime/cpu/matmul/Matmul.h"

#include <algorithm>
#include <numeric>

namespace tilewright::runtime::cpu {

static int64_t floorDivide(int64_t value, int64_t by) {
  const int64_t quotient = value / by;
  return quotient * by > value ? quotient - 1 : quotient;
}
static int64_t ceilDivide(int64_t value, int64_t by) { return -floorDivide(-value, by); }

/// The range of n in [0, count) for which first + n * step is in [0, size).
static std::pair<int64_t, int64_t> inside(int64_t first, int64_t step, int64_t size,
                                          int64_t count) {
  if (step < 0) { // count from the other end
    const auto [low, high] = inside(first + (count - 1) * step, -step, size, count);
    return {count - high, count - low};
  }
  const int64_t low = std::clamp<int64_t>(ceilDivide(-first, step), 0, count);
  const int64_t high = std::clamp<int64_t>(ceilDivide(size - first, step), low, count);
  return {low, high};
}

std::pair<int64_t, int64_t> Axis::outputsInside(int64_t tap) const {
  return inside(base + tap * perTap, perOutput, inputSize, outputs);
}
std::pair<int64_t, int64_t> Axis::tapsInside(int64_t output) const {
  return inside(base + output * perOutput, perTap, inputSize, taps);
}
bool Axis::isAlwaysInside() const {
  if (outputs == 0 || taps == 0)
    return true;
  return isInside(inputAt(0, 0)) && isInside(inputAt(outputs - 1, 0)) &&
         isInside(inputAt(0, taps - 1)) && isInside(inputAt(outputs - 1, taps - 1));
}

int64_t phaseCount(const WindowDimension &dim) {
  return std::min(dim.inputDilation / std::gcd(dim.inputDilation, dim.stride),
                  std::max<int64_t>(1, dim.outputSize));
}

std::vector<Axis> phasesOf(const WindowDimension &dim) {
  const int64_t dilation = dim.inputDilation;
  const int64_t phases = phaseCount(dim);
  std::vector<Axis> result;
  for (int64_t phase = 0; phase < phases; ++phase) {
    Axis axis;
    axis.inputSize = dim.inputSize;
    axis.outputFirst = phase;
    axis.outputStep = dilation / std::gcd(dilation, dim.stride);
    axis.outputs = dim.outputSize <= phase ? 0 : (dim.outputSize - 1 - phase) / axis.outputStep + 1;
    axis.perOutput = dim.stride / std::gcd(dilation, dim.stride);
    // Element w of the window is at `first + w * kernelDilation` in the dilated input, where only
    // multiples of the dilation are input elements.
    const int64_t first = phase * dim.stride - dim.padLow;
    const int64_t step = dilation / std::gcd(dilation, dim.kernelDilation);
    int64_t w = 0;
    while (w < std::min(step, dim.kernelSize) && (first + w * dim.kernelDilation) % dilation != 0)
      ++w;
    const bool hasTaps = w < std::min(step, dim.kernelSize);
    axis.taps = hasTaps ? (dim.kernelSize - 1 - w) / step + 1 : 0;
    axis.tapStep = step;
    axis.perTap = dim.kernelDilation / std::gcd(dilation, dim.kernelDilation);
    axis.tapFirst = w;
    axis.base = hasTaps ? (first + w * dim.kernelDilation) / dilation : 0;
    if (dim.isReversed && hasTaps) {
      // Element t of the kernel is element kernelSize - 1 - t of the window.
      axis.base += (axis.taps - 1) * axis.perTap;
      axis.tapFirst = dim.kernelSize - 1 - (w + (axis.taps - 1) * step);
      axis.perTap = -axis.perTap;
    }
    // A step that is never taken may be so large that multiplying it overflows.
    if (axis.outputs <= 1)
      axis.outputStep = axis.perOutput = 1;
    if (axis.taps <= 1)
      axis.tapStep = axis.perTap = 1;
    result.push_back(axis);
  }
  return result;
}

namespace {
/// The role of each dimension of a tensor.
struct Layout {
  int64_t first, second;
  Dims spatial;
};
} // namespace

/// - libraryCall: the layout of the tensor `prefix` does not name each dimension once.
static Status checkLayout(const CallReader &reader, std::string_view prefix, const Layout &layout,
                          int64_t rank) {
  const Dims all = joined({Dims{layout.first, layout.second}, layout.spatial});
  TILEWRIGHT_TRY(reader.checkDims(concat(prefix, " dimensions"), all, rank));
  if (static_cast<int64_t>(all.size()) != rank)
    return reader.failure(prefix, " dimensions must name all ", rank, " dimensions, got ",
                          all.size());
  return Status();
}

static TensorStrides stridesOf(const Layout &layout, const Shape &shape) {
  const Dims strides = shape.strides();
  return {strides[static_cast<size_t>(layout.first)], strides[static_cast<size_t>(layout.second)],
          pick(strides, layout.spatial)};
}

/// The extent of `size` elements at a distance of `dilation`.
///  - libraryCall: the extent overflows.
static Result<int64_t> dilatedSize(const CallReader &reader, int64_t size, int64_t dilation) {
  int64_t result = 0;
  if (size == 0)
    return int64_t(0);
  if (__builtin_mul_overflow(size - 1, dilation, &result) ||
      __builtin_add_overflow(result, 1, &result))
    return reader.failure("a dilated size overflows: ", size, " elements at a distance of ",
                          dilation);
  return result;
}

static Status readWindow(const CallReader &reader, const artifact::ConvolutionCall &call,
                         ConvolutionShape &shape) {
  const size_t rank = shape.window.size();
  auto check = [&](std::string_view name, const Dims &values, size_t count) {
    return values.size() == count
               ? Status()
               : reader.failure(name, " must have ", count, " elements, got ", values.size());
  };
  TILEWRIGHT_TRY(check("window_strides", call.windowStrides, rank));
  TILEWRIGHT_TRY(check("padding", call.padding, 2 * rank));
  TILEWRIGHT_TRY(check("lhs_dilation", call.lhsDilation, rank));
  TILEWRIGHT_TRY(check("rhs_dilation", call.rhsDilation, rank));
  TILEWRIGHT_TRY(check("window_reversal", call.windowReversal, rank));
  for (size_t i = 0; i < rank; ++i) {
    WindowDimension &dim = shape.window[i];
    dim.stride = call.windowStrides[i];
    dim.padLow = call.padding[2 * i];
    dim.padHigh = call.padding[2 * i + 1];
    dim.inputDilation = call.lhsDilation[i];
    dim.kernelDilation = call.rhsDilation[i];
    dim.isReversed = call.windowReversal[i] != 0;
    if (dim.stride < 1 || dim.inputDilation < 1 || dim.kernelDilation < 1)
      return reader.failure("strides and dilations must be positive, got ", dim.stride, ", ",
                            dim.inputDilation, " and ", dim.kernelDilation);
    TILEWRIGHT_ASSIGN(int64_t input, dilatedSize(reader, dim.inputSize, dim.inputDilation));
    TILEWRIGHT_ASSIGN(int64_t window, dilatedSize(reader, dim.kernelSize, dim.kernelDilation));
    int64_t padded = 0;
    if (__builtin_add_overflow(input, dim.padLow, &padded) ||
        __builtin_add_overflow(padded, dim.padHigh, &padded))
      return reader.failure("a padded size overflows: ", input, " with padding ", dim.padLow,
                            " and ", dim.padHigh);
    const int64_t outputs = padded <= 0 || window > padded ? 0 : (padded - window) / dim.stride + 1;
    if (outputs != dim.outputSize)
      return reader.failure("the window has ", outputs, " positions in spatial dimension ", i,
                            ", but the result has size ", dim.outputSize);
  }
  return Status();
}

Result<ConvolutionShape> readConvolution(const artifact::ConvolutionCall &call,
                                         const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(2, 1));
  TILEWRIGHT_ASSIGN(Shape lhs, reader.operandShape(0));
  TILEWRIGHT_ASSIGN(Shape rhs, reader.operandShape(1));
  TILEWRIGHT_ASSIGN(Shape result, reader.resultShape(0));
  const int64_t rank = lhs.rank();
  if (rank < 2 || rhs.rank() != rank || result.rank() != rank)
    return reader.failure("operands and result must have the same rank of at least 2, got ",
                          lhs.toString(), ", ", rhs.toString(), " and ", result.toString());
  // Kernels keep an index for each spatial dimension on the stack.
  if (rank > maxConvolutionRank)
    return reader.failure("ranks up to ", maxConvolutionRank, " are supported, got ", rank);
  const Layout input{call.inputBatchDimension, call.inputFeatureDimension,
                     call.inputSpatialDimensions},
      kernel{call.kernelOutputFeatureDimension, call.kernelInputFeatureDimension,
             call.kernelSpatialDimensions},
      output{call.outputBatchDimension, call.outputFeatureDimension, call.outputSpatialDimensions};
  TILEWRIGHT_TRY(checkLayout(reader, "input", input, rank));
  TILEWRIGHT_TRY(checkLayout(reader, "kernel", kernel, rank));
  TILEWRIGHT_TRY(checkLayout(reader, "output", output, rank));
  const int64_t featureGroups = call.featureGroupCount, batchGroups = call.batchGroupCount;
  if (featureGroups < 1 || batchGroups < 1 || (featureGroups > 1 && batchGroups > 1))
    return reader.failure("group counts must be positive, and at least one of them must be 1, got ",
                          featureGroups, " and ", batchGroups);

  ConvolutionShape shape{.lhsType = types.operands[0].element,
                         .rhsType = types.operands[1].element,
                         .resultType = types.results[0].element,
                         .window = {},
                         .input = stridesOf(input, lhs),
                         .kernel = stridesOf(kernel, rhs),
                         .output = stridesOf(output, result)};
  if (!Matmul::supports(shape.lhsType, shape.rhsType, shape.resultType))
    return reader.failure("products of ", numerics::spelling(shape.lhsType), " and ",
                          numerics::spelling(shape.rhsType), " cannot be accumulated in ",
                          numerics::spelling(shape.resultType));
  shape.groups = std::max(featureGroups, batchGroups);
  shape.groupsBatch = batchGroups > 1;
  const int64_t batch = lhs[input.first], features = lhs[input.second];
  const int64_t outputs = rhs[kernel.first];
  shape.groupInputs = rhs[kernel.second];
  shape.groupOutputs = outputs / shape.groups;
  shape.images = batch / batchGroups;
  if (batch % batchGroups != 0 || features % featureGroups != 0 || outputs % shape.groups != 0)
    return reader.failure("group counts must divide the batch size, ", batch,
                          ", the input features, ", features, ", and the output features, ",
                          outputs, "; got feature_group_count ", featureGroups,
                          " and batch_group_count ", batchGroups);
  if (features / featureGroups != shape.groupInputs)
    return reader.failure(
        "the kernel must have as many input features as a group of the input, got ",
        shape.groupInputs, " and ", features / featureGroups);
  if (result[output.first] != shape.images || result[output.second] != outputs)
    return reader.failure("the result must have a batch size of ", shape.images, " and ", outputs,
                          " features, got ", result[output.first], " and ", result[output.second]);
  shape.inputGroupStride =
      shape.groupsBatch ? shape.images * shape.input.first : shape.groupInputs * shape.input.second;
  shape.kernelGroupStride = shape.groupOutputs * shape.kernel.first;
  shape.outputGroupStride = shape.groupOutputs * shape.output.second;

  for (size_t i = 0; i < input.spatial.size(); ++i)
    shape.window.push_back({.inputSize = lhs[input.spatial[i]],
                            .kernelSize = rhs[kernel.spatial[i]],
                            .outputSize = result[output.spatial[i]]});
  TILEWRIGHT_TRY(readWindow(reader, call, shape));
  // Every phase prepares its own product; no real program has so many phases.
  constexpr int64_t maxPhases = 1 << 14;
  int64_t phases = 1;
  for (const WindowDimension &dim : shape.window)
    phases = std::min(maxPhases + 1, phases * std::min(maxPhases + 1, phaseCount(dim)));
  if (phases > maxPhases)
    return reader.failure("lhs_dilation splits the convolution into more than ", maxPhases,
                          " phases, the limit");
  return shape;
}

} // namespace tilewright::runtime::cpu
