// convolution as products of matrices: the rows are positions of the window, made while they
// are packed; the columns are output features.
#include "tilewright/runtime/cpu/convolution/Columns.h"
#include "tilewright/runtime/cpu/convolution/Depthwise.h"

#include <algorithm>
#include <optional>

namespace tilewright::runtime::cpu {

namespace {

int64_t bytesOf(ElementType type) { return static_cast<int64_t>(numerics::storageBytes(type)); }

/// A dimension along which positions of the window are counted.
struct LineDimension {
  int64_t size, outputStride;
  Columns::Side side;
};

/// The convolution of one phase of each axis.
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
  bool isPlain = false; // nothing but elements of the input under the window, one at each position
  int64_t lhsOffset = 0, rhsOffset = 0, resultOffset = 0; // in bytes
  std::unique_ptr<Matmul> matmul;
};

/// Positions in the order of the result. The innermost dimensions that continue each other are the
/// rows of a product, those around them count products; where that would leave short products,
/// all are rows and the result has an offset for each.
void PhaseProduct::placeLines(const ConvolutionShape &shape) {
  constexpr int64_t shortProduct = 256;
  std::vector<LineDimension> all = {{shape.images,
                                     shape.output.first,
                                     {shape.images, Columns::Side::notSpatial, shape.input.first}}};
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
                   {shape.groups, Columns::Side::notSpatial, shape.inputGroupStride}});
  for (const LineDimension &dim : batch)
    columns.batch.push_back(dim.side);
  for (const LineDimension &dim : lines)
    columns.lines.push_back(dim.side);
}

/// Elements under the window in the order that suits the input, or else the kernel.
void PhaseProduct::placeSummed(const ConvolutionShape &shape) {
  const Columns::Side features = {shape.groupInputs, Columns::Side::notSpatial, shape.input.second};
  for (size_t d = 0; d < columns.axes.size(); ++d)
    columns.summed.push_back({columns.axes[d].taps, static_cast<int64_t>(d), 0});
  columns.summed.push_back(features);
  columns.isFeatureInnermost = shape.input.second == 1;
  if (columns.isFeatureInnermost)
    return;
  auto kernelStride = [&](const Columns::Side &side) {
    return side.axis == Columns::Side::notSpatial
               ? shape.kernel.second
               : shape.kernel.spatial[static_cast<size_t>(side.axis)];
  };
  std::sort(columns.summed.begin(), columns.summed.end(),
            [&](const Columns::Side &a, const Columns::Side &b) {
              return kernelStride(a) > kernelStride(b);
            });
}

MatmulProblem PhaseProduct::problemOf(const ConvolutionShape &shape) {
  auto stepOf = [&](const Columns::Side &side) {
    if (side.axis == Columns::Side::notSpatial)
      return side.inputStride;
    const auto axis = static_cast<size_t>(side.axis);
    return columns.axes[axis].perOutput * columns.axisStrides[axis];
  };
  std::vector<Part> resultRows, lhsRows, rhsSummed;
  for (const LineDimension &dim : lines) {
    resultRows.push_back({dim.size, dim.outputStride});
    lhsRows.push_back({dim.size, stepOf(dim.side)});
  }
  int64_t summed = 1;
  for (const Columns::Side &side : columns.summed) {
    summed *= side.size;
    const auto axis = static_cast<size_t>(side.axis);
    rhsSummed.push_back({side.size, side.axis == Columns::Side::notSpatial
                                        ? shape.kernel.second
                                        : shape.kernel.spatial[axis] * columns.axes[axis].tapStep});
  }
  MatmulProblem problem = MatmulProblem::dense(shape.lhsType, shape.rhsType, shape.resultType,
                                               columns.lineCount(), shape.groupOutputs, summed);
  for (const LineDimension &dim : batch)
    problem.batch.push_back({dim.size, isPlain ? stepOf(dim.side) : 0, 0, dim.outputStride});
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

class ConvolutionKernel : public LibraryKernel {
public:
  ConvolutionKernel(ConvolutionShape shape, int64_t inputCount) : inputCount(inputCount) {
    // This type has no zero to pad with.
    if (shape.lhsType == ElementType::f8E8M0FNU) {
      shape.lhsType = ElementType::f32;
      widen.emplace(Machine::host(), ElementType::f8E8M0FNU, ElementType::f32);
    }
    // Every combination of phases.
    std::vector<std::vector<Axis>> combinations = {{}};
    for (const WindowDimension &dim : shape.window) {
      std::vector<std::vector<Axis>> longer;
      for (const std::vector<Axis> &axes : combinations)
        for (const Axis &axis : phasesOf(dim)) {
          longer.push_back(axes);
          longer.back().push_back(axis);
        }
      combinations = std::move(longer);
    }
    for (const std::vector<Axis> &axes : combinations)
      if (Depthwise::isSuited(shape))
        depthwise.push_back(std::make_unique<Depthwise>(shape, axes));
      else
        phases.push_back(std::make_unique<PhaseProduct>(shape, axes));
  }

  Status run(const LibraryRun &run) const override {
    const std::byte *lhs = run.operands[0];
    std::vector<float> wide;
    if (widen) {
      wide.resize(static_cast<size_t>(inputCount));
      widen->run(lhs, reinterpret_cast<std::byte *>(wide.data()), inputCount);
      lhs = reinterpret_cast<const std::byte *>(wide.data());
    }
    for (const std::unique_ptr<Depthwise> &phase : depthwise)
      phase->run(lhs, run.operands[1], run.results[0], run.pool);
    for (const std::unique_ptr<PhaseProduct> &phase : phases)
      phase->run(lhs, run.operands[1], run.results[0], run.pool);
    return Status();
  }

private:
  int64_t inputCount;
  std::optional<Conversion> widen;
  std::vector<std::unique_ptr<Depthwise>> depthwise;
  std::vector<std::unique_ptr<PhaseProduct>> phases;
};

} // namespace

/// Attributes: as StableHLO's `convolution`, dimension numbers by field.
KernelResult prepareConvolution(const LibraryCall &call) {
  TILEWRIGHT_ASSIGN(ConvolutionShape shape, readConvolution(call));
  TILEWRIGHT_ASSIGN(Shape input, Shape::create(call.operands[0].dims));
  return makeKernel<ConvolutionKernel>(std::move(shape), input.elementCount());
}

} // namespace tilewright::runtime::cpu
