// convolution as matrix products (implicit im2col): the rows are positions of the window, formed
// during packing; the columns are output features.
#include "tilewright/runtime/cpu/convolution/Columns.h"
#include "tilewright/runtime/cpu/convolution/Depthwise.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

namespace tilewright::runtime::cpu {

namespace {

int64_t bytesOf(ElementType type) { return static_cast<int64_t>(numerics::storageBytes(type)); }

/// One dimension along which the window moves: its size, and its strides in output and input.
struct LineDimension {
  int64_t size, outputStride;
  Columns::Dimension input;
};

/// The convolution of one combination of phases (see phasesOf), one phase per axis.
class PhaseProduct {
public:
  PhaseProduct(const ConvolutionShape &shape, const std::vector<Axis> &axes);

  void run(const std::byte *lhs, const std::byte *rhs, std::byte *result, ThreadPool &pool) const;

private:
  void placeLines(const ConvolutionShape &shape);
  void placeSummed(const ConvolutionShape &shape);
  MatmulProblem problemOf(const ConvolutionShape &shape);

  Columns columns;
  std::vector<LineDimension> batch, lines;
  bool isPlain = false; // whether the window has one element, always inside the input
  int64_t lhsOffset = 0, rhsOffset = 0, resultOffset = 0; // in bytes
  std::unique_ptr<Matmul> matmul;
};

/// Orders the positions as in the result. The innermost dimensions that are contiguous in the
/// result are the rows of a product, and the outer ones are its batch. If that makes products
/// short, all dimensions are rows, and each row has its own offset in the result.
void PhaseProduct::placeLines(const ConvolutionShape &shape) {
  constexpr int64_t shortProduct = 256;
  std::vector<LineDimension> all = {
      {shape.images,
       shape.output.first,
       {shape.images, Columns::Dimension::notSpatial, shape.input.first}}};
  for (size_t d = 0; d < columns.axes.size(); ++d) {
    const Axis &axis = columns.axes[d];
    all.push_back({axis.outputs,
                   shape.output.spatial[d] * axis.outputStep,
                   {axis.outputs, static_cast<int64_t>(d), 0}});
  }
  std::erase_if(all, [](const LineDimension &dim) { return dim.size == 1; });
  std::sort(all.begin(), all.end(), [](const LineDimension &a, const LineDimension &b) {
    return a.outputStride > b.outputStride;
  });
  size_t first = all.size();
  int64_t count = 1;
  while (first > 0 && (first == all.size() ||
                       all[first - 1].outputStride == all[first].outputStride * all[first].size))
    count *= all[--first].size;
  if (count < shortProduct)
    first = 0;
  batch.assign(all.begin(), all.begin() + static_cast<int64_t>(first));
  lines.assign(all.begin() + static_cast<int64_t>(first), all.end());
  batch.push_back({shape.groups,
                   shape.outputGroupStride,
                   {shape.groups, Columns::Dimension::notSpatial, shape.inputGroupStride}});
  for (const LineDimension &dim : batch)
    columns.batch.push_back(dim.input);
  for (const LineDimension &dim : lines)
    columns.lines.push_back(dim.input);
}

/// Orders the elements under the window as in the input if its features are contiguous, otherwise
/// as in the kernel.
void PhaseProduct::placeSummed(const ConvolutionShape &shape) {
  const Columns::Dimension features = {shape.groupInputs, Columns::Dimension::notSpatial,
                                       shape.input.second};
  for (size_t d = 0; d < columns.axes.size(); ++d)
    columns.summed.push_back({columns.axes[d].taps, static_cast<int64_t>(d), 0});
  columns.summed.push_back(features);
  columns.isFeatureInnermost = shape.input.second == 1;
  if (columns.isFeatureInnermost)
    return;
  auto kernelStride = [&](const Columns::Dimension &dimension) {
    return dimension.axis == Columns::Dimension::notSpatial
               ? shape.kernel.second
               : shape.kernel.spatial[static_cast<size_t>(dimension.axis)];
  };
  std::sort(columns.summed.begin(), columns.summed.end(),
            [&](const Columns::Dimension &a, const Columns::Dimension &b) {
              return kernelStride(a) > kernelStride(b);
            });
}

MatmulProblem PhaseProduct::problemOf(const ConvolutionShape &shape) {
  auto stepOf = [&](const Columns::Dimension &dimension) {
    if (dimension.axis == Columns::Dimension::notSpatial)
      return dimension.inputStride;
    const auto axis = static_cast<size_t>(dimension.axis);
    return columns.axes[axis].perOutput * columns.axisStrides[axis];
  };
  std::vector<StridedDimension> resultRows, lhsRows, rhsSummed;
  for (const LineDimension &dim : lines) {
    resultRows.push_back({dim.size, dim.outputStride});
    lhsRows.push_back({dim.size, stepOf(dim.input)});
  }
  int64_t summed = 1;
  for (const Columns::Dimension &dimension : columns.summed) {
    summed *= dimension.size;
    const auto axis = static_cast<size_t>(dimension.axis);
    rhsSummed.push_back(
        {dimension.size, dimension.axis == Columns::Dimension::notSpatial
                             ? shape.kernel.second
                             : shape.kernel.spatial[axis] * columns.axes[axis].tapStep});
  }
  MatmulProblem problem = MatmulProblem::dense(shape.lhsType, shape.rhsType, shape.resultType,
                                               columns.lineCount(), shape.groupOutputs, summed);
  for (const LineDimension &dim : batch)
    problem.batch.push_back({dim.size, isPlain ? stepOf(dim.input) : 0, 0, dim.outputStride});
  problem.batch.back().rhsStride = shape.kernelGroupStride;
  if (problem.rows == 0 || problem.columns == 0)
    return problem;
  problem.resultRows = placementOf(resultRows);
  problem.resultColumns.stride = shape.output.second;
  if (problem.summed == 0)
    return problem;
  problem.rhsSummed = placementOf(rhsSummed);
  problem.rhsColumns.stride = shape.kernel.first;
  if (isPlain) {
    problem.lhsRows = placementOf(lhsRows);
    problem.lhsSummed.stride = shape.input.second;
  }
  return problem;
}

PhaseProduct::PhaseProduct(const ConvolutionShape &shape, const std::vector<Axis> &axes) {
  columns.axes = axes;
  columns.axisStrides = shape.input.spatial;
  columns.elementBytes = bytesOf(shape.lhsType);
  placeLines(shape);
  placeSummed(shape);
  isPlain = std::all_of(axes.begin(), axes.end(),
                        [](const Axis &axis) { return axis.taps == 1 && axis.isAlwaysInside(); });
  for (size_t d = 0; d < axes.size(); ++d) {
    rhsOffset += axes[d].tapFirst * shape.kernel.spatial[d] * bytesOf(shape.rhsType);
    resultOffset += axes[d].outputFirst * shape.output.spatial[d] * bytesOf(shape.resultType);
    if (isPlain)
      lhsOffset += axes[d].base * columns.axisStrides[d] * bytesOf(shape.lhsType);
  }
  matmul = std::make_unique<Matmul>(problemOf(shape));
}

void PhaseProduct::run(const std::byte *lhs, const std::byte *rhs, std::byte *result,
                       ThreadPool &pool) const {
  if (matmul->problem().rows == 0 || matmul->problem().columns == 0)
    return;
  MatmulOperands operands{.rhs = rhs, .result = result + resultOffset};
  void *buffers[] = {const_cast<std::byte *>(lhs),
                     const_cast<void *>(static_cast<const void *>(&columns))};
  if (matmul->path() != Matmul::Path::empty) {
    operands.rhs = rhs + rhsOffset;
    if (isPlain)
      operands.lhs = lhs + lhsOffset;
    else
      operands.lhsPrologue = columns.prologue(buffers);
  }
  matmul->run(operands, pool);
}

/// Whether any element has an exponent of all ones, as infinities and NaNs have.
template <typename Word> bool anyWithAll(Word exponent, const std::byte *data, int64_t count) {
  bool any = false;
  for (int64_t i = 0; i < count; ++i) {
    Word bits;
    std::memcpy(&bits, data + i * static_cast<int64_t>(sizeof(Word)), sizeof(Word));
    any |= (bits & exponent) == exponent;
  }
  return any;
}

/// Whether zero times an element may be NaN. Conservative for small formats, which encode NaN
/// differently.
bool mayMakeNan(ElementType type, const std::byte *data, int64_t count) {
  switch (type) {
  case ElementType::f64:
    return anyWithAll<uint64_t>(uint64_t(0x7FF) << 52, data, count);
  case ElementType::f32:
    return anyWithAll<uint32_t>(uint32_t(0xFF) << 23, data, count);
  case ElementType::bf16:
    return anyWithAll<uint16_t>(0x7F80, data, count);
  case ElementType::f16:
    return anyWithAll<uint16_t>(0x7C00, data, count);
  default:
    return numerics::isReal(type);
  }
}

class ConvolutionKernel : public LibraryKernel {
public:
  ConvolutionKernel(ConvolutionShape given, int64_t inputCount, int64_t kernelCount)
      : shape(std::move(given)), inputCount(inputCount), kernelCount(kernelCount) {
    // Widen f8E8M0FNU, which has no zero for the padding.
    if (shape.lhsType == ElementType::f8E8M0FNU) {
      shape.lhsType = ElementType::f32;
      widen.emplace(CpuFeatures::host(), ElementType::f8E8M0FNU, ElementType::f32);
    }
    combinations = {{}};
    for (const WindowDimension &dim : shape.window) {
      std::vector<std::vector<Axis>> longer;
      for (const std::vector<Axis> &axes : combinations)
        for (const Axis &axis : phasesOf(dim)) {
          longer.push_back(axes);
          longer.back().push_back(axis);
        }
      combinations = std::move(longer);
    }
    if (Depthwise::isSuited(shape))
      for (const std::vector<Axis> &axes : combinations)
        depthwise.push_back(std::make_unique<Depthwise>(shape, axes));
    else
      products();
    for (const WindowDimension &dim : shape.window)
      isPadded |= dim.padLow > 0 || dim.padHigh > 0;
  }

  Status run(const LibraryRun &run) const override {
    const std::byte *lhs = run.operands[0];
    std::vector<float> wide;
    if (widen) {
      wide.resize(static_cast<size_t>(inputCount));
      widen->run(lhs, reinterpret_cast<std::byte *>(wide.data()), inputCount);
      lhs = reinterpret_cast<const std::byte *>(wide.data());
    }
    // Depthwise skips the padding. That is wrong if the kernel has infinities or NaNs, because zero
    // times infinity is NaN; matrix products multiply the padding too.
    if (!depthwise.empty() &&
        !(isPadded && mayMakeNan(shape.rhsType, run.operands[1], kernelCount))) {
      for (const std::unique_ptr<Depthwise> &phase : depthwise)
        phase->run(lhs, run.operands[1], run.results[0], run.pool);
      return Status();
    }
    for (const std::unique_ptr<PhaseProduct> &phase : products())
      phase->run(lhs, run.operands[1], run.results[0], run.pool);
    return Status();
  }

private:
  /// Created on first use; rarely needed if Depthwise is suitable.
  const std::vector<std::unique_ptr<PhaseProduct>> &products() const {
    std::call_once(phasesOnce, [&] {
      for (const std::vector<Axis> &axes : combinations)
        phases.push_back(std::make_unique<PhaseProduct>(shape, axes));
    });
    return phases;
  }

  ConvolutionShape shape;
  int64_t inputCount, kernelCount;
  bool isPadded = false;
  std::vector<std::vector<Axis>> combinations; // of phases
  std::optional<Conversion> widen;
  std::vector<std::unique_ptr<Depthwise>> depthwise;
  mutable std::once_flag phasesOnce;
  mutable std::vector<std::unique_ptr<PhaseProduct>> phases;
};

} // namespace

KernelResult prepareConvolution(const artifact::ConvolutionCall &call,
                                const LibrarySignature &types) {
  TILEWRIGHT_ASSIGN(ConvolutionShape shape, readConvolution(call, types));
  TILEWRIGHT_ASSIGN(Shape input, Shape::create(types.operands[0].dims));
  TILEWRIGHT_ASSIGN(Shape kernel, Shape::create(types.operands[1].dims));
  return makeKernel<ConvolutionKernel>(std::move(shape), input.elementCount(),
                                       kernel.elementCount());
}

} // namespace tilewright::runtime::cpu
