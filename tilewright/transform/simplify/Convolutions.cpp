// simplify-convolutions: convolutions of dilated inputs, without the zeros between the elements.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>
#include <tuple>

using namespace mlir;

namespace tilewright::simplify {
#define GEN_PASS_DEF_CONVOLUTIONSPASS
#include "tilewright/transform/simplify/Passes.h.inc"

namespace {

/// Each phase is a kernel. With more phases than this, one convolution of the padded input is
/// better, although most of its products are zero.
constexpr int64_t maxPhases = 64;

int64_t modulo(int64_t value, int64_t divisor) { return ((value % divisor) + divisor) % divisor; }

/// One spatial dimension. Position p and tap w read the dilated input at
/// p * stride + w * windowDilation - low, where only multiples of `inputDilation` are not zero.
struct Axis {
  int64_t stride = 1, inputDilation = 1, windowDilation = 1, low = 0;
  bool isReversed = false;
  int64_t input = 0, window = 0, positions = 0; // sizes

  /// Positions p = q * phases() + r with the same r read the input with the same taps.
  int64_t phases() const { return inputDilation / std::gcd(stride, inputDilation); }
  /// The number of positions in a phase: q is from 0 to count() - 1.
  int64_t count() const { return llvm::divideCeil(positions, phases()); }
};

/// One phase of an axis, as a convolution of the input without dilation.
struct Phase {
  int64_t taps = 0;                // 0: the phase reads only zeros
  int64_t first = 0, distance = 1; // the slice of the kernel
  int64_t stride = 1, dilation = 1, low = 0, high = 0;
};

/// Positions in the dilated input beyond this number are not computed with: their products with
/// the number of a phase would overflow.
constexpr int64_t maxPosition = int64_t(1) << 40;

/// Whether all positions of an axis, in the dilated input and in the dilated window, are within the
/// limit.
bool isInRange(const Axis &axis) {
  auto isSmall = [](int64_t count, int64_t distance) {
    return static_cast<__int128>(std::max<int64_t>(count, 1)) * distance <= maxPosition;
  };
  return isSmall(axis.positions, axis.stride) && isSmall(axis.input, axis.inputDilation) &&
         isSmall(axis.window, axis.windowDilation) && axis.low <= maxPosition &&
         axis.low >= -maxPosition;
}

/// The smallest x >= 0 with a * x = b modulo m; nullopt if there is none. Limits as for positions.
std::optional<int64_t> solveModulo(int64_t a, int64_t b, int64_t m) {
  // Euclid's algorithm: old = a * factor modulo m in every step, and in the end the common divisor.
  int64_t old = modulo(a, m), rest = m, factor = 1, next = 0;
  while (rest != 0) {
    const int64_t times = old / rest;
    std::tie(old, rest) = std::pair(rest, old - times * rest);
    std::tie(factor, next) = std::pair(next, factor - times * next);
  }
  if (b % old != 0)
    return std::nullopt;
  const int64_t period = m / old;
  const __int128 product = static_cast<__int128>(modulo(b / old, period)) * modulo(factor, period);
  return static_cast<int64_t>(product % period);
}

Phase phaseOf(const Axis &axis, int64_t number) {
  Phase phase;
  const int64_t input = axis.inputDilation;
  // The first tap that hits a multiple of the dilation. Later ones follow at `distance`.
  phase.distance = input / std::gcd(axis.windowDilation, input);
  const int64_t start = number * axis.stride - axis.low;
  const std::optional<int64_t> first = solveModulo(axis.windowDilation, -start, input);
  if (!first || *first >= axis.window)
    return phase;
  const int64_t tap = *first;
  phase.taps = llvm::divideCeil(axis.window - tap, phase.distance);
  // A reversed window reads tap w at index window - 1 - w of the kernel.
  phase.first = axis.isReversed ? axis.window - 1 - tap - (phase.taps - 1) * phase.distance : tap;
  phase.stride = axis.stride * axis.phases() / input;
  phase.dilation = phase.distance * axis.windowDilation / input;
  phase.low = -(start + tap * axis.windowDilation) / input;
  phase.high = (axis.count() - 1) * phase.stride + (phase.taps - 1) * phase.dilation + 1 -
               axis.input - phase.low;
  return phase;
}

SmallVector<Axis> axesOf(stablehlo::ConvolutionOp op) {
  auto numbers = op.getDimensionNumbers();
  SmallVector<Axis> axes(numbers.getInputSpatialDimensions().size());
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (op.getWindowStrides())
      axis.stride = (*op.getWindowStrides())[i];
    if (op.getRhsDilation())
      axis.windowDilation = (*op.getRhsDilation())[i];
    if (op.getPadding())
      axis.low = op.getPadding()->getValues<int64_t>()[2 * i];
    if (op.getWindowReversal())
      axis.isReversed = (*op.getWindowReversal())[i];
    axis.input = typeOf(op.getLhs()).getDimSize(numbers.getInputSpatialDimensions()[i]);
    axis.window = typeOf(op.getRhs()).getDimSize(numbers.getKernelSpatialDimensions()[i]);
    axis.positions = typeOf(op).getDimSize(numbers.getOutputSpatialDimensions()[i]);
    // The dilation of a single element has no effect.
    if (op.getLhsDilation() && axis.input > 1)
      axis.inputDilation = (*op.getLhsDilation())[i];
  }
  return axes;
}

class PhaseBuilder {
public:
  PhaseBuilder(stablehlo::ConvolutionOp op, ArrayRef<Axis> axes)
      : op(op), axes(axes), builder(op), numbers(op.getDimensionNumbers()) {}

  Value build() {
    SmallVector<Value> parts;
    int64_t total = 1;
    for (const Axis &axis : axes)
      total *= axis.phases();
    for (int64_t part = 0; part < total; ++part) {
      SmallVector<Phase> phases(axes.size());
      int64_t rest = part;
      for (size_t i = axes.size(); i-- > 0; rest /= axes[i].phases())
        phases[i] = phaseOf(axes[i], rest % axes[i].phases());
      parts.push_back(spread(convolve(phases)));
    }
    return interleave(std::move(parts));
  }

private:
  Location loc() { return op.getLoc(); }
  size_t outputDim(size_t i) const {
    return static_cast<size_t>(numbers.getOutputSpatialDimensions()[i]);
  }

  /// The positions of one phase along each axis.
  Value convolve(ArrayRef<Phase> phases) {
    SmallVector<int64_t> shape(typeOf(op).getShape());
    for (auto [i, axis] : llvm::enumerate(axes))
      shape[outputDim(i)] = axis.count();
    auto type = typeOf(op).clone(shape);
    if (llvm::any_of(phases, [](const Phase &phase) { return phase.taps == 0; }))
      return makeNumber(builder, loc(), type, 0);
    RankedTensorType kernelType = typeOf(op.getRhs());
    SmallVector<int64_t> starts(shape.size(), 0), limits(kernelType.getShape()),
        steps(shape.size(), 1), strides, dilations, padding, taps(kernelType.getShape());
    for (auto [i, phase] : llvm::enumerate(phases)) {
      const auto dim = static_cast<size_t>(numbers.getKernelSpatialDimensions()[i]);
      starts[dim] = phase.first;
      steps[dim] = phase.distance;
      limits[dim] = phase.first + (phase.taps - 1) * phase.distance + 1;
      taps[dim] = phase.taps;
      strides.push_back(phase.stride);
      dilations.push_back(phase.dilation);
      padding.append({phase.low, phase.high});
    }
    Value kernel = stablehlo::SliceOp::create(builder, loc(), kernelType.clone(taps), op.getRhs(),
                                              starts, limits, steps);
    auto part = cast<stablehlo::ConvolutionOp>(builder.clone(*op));
    part.getRhsMutable().assign(kernel);
    part.setWindowStrides(strides);
    part.setRhsDilation(dilations);
    part.setLhsDilation(std::nullopt);
    part.setPaddingAttr(DenseIntElementsAttr::get(
        RankedTensorType::get({static_cast<int64_t>(axes.size()), 2}, builder.getI64Type()),
        ArrayRef<int64_t>(padding)));
    part.getResult().setType(type);
    return part;
  }

  /// The dimension of the phases of axis i, in a part whose positions are each followed by a phase
  /// dimension.
  int64_t phaseDim(size_t i) const {
    int64_t dim = static_cast<int64_t>(outputDim(i)) + 1;
    for (int64_t other : numbers.getOutputSpatialDimensions())
      dim += other < static_cast<int64_t>(outputDim(i));
    return dim;
  }

  /// Adds a dimension of size one, for phases, after each spatial dimension.
  Value spread(Value part) {
    SmallVector<int64_t> shape;
    for (auto [dim, size] : llvm::enumerate(typeOf(part).getShape())) {
      shape.push_back(size);
      if (llvm::is_contained(numbers.getOutputSpatialDimensions(), static_cast<int64_t>(dim)))
        shape.push_back(1);
    }
    return reshapeTo(builder, loc(), part, typeOf(part).clone(shape));
  }

  Value interleave(SmallVector<Value> parts) {
    for (size_t i = axes.size(); i-- > 0;) {
      const int64_t phases = axes[i].phases();
      SmallVector<Value> joined;
      for (size_t first = 0; first < parts.size(); first += static_cast<size_t>(phases)) {
        ArrayRef<Value> same = ArrayRef(parts).slice(first, static_cast<size_t>(phases));
        SmallVector<int64_t> shape(typeOf(same[0]).getShape());
        shape[static_cast<size_t>(phaseDim(i))] = phases;
        if (phases == 1)
          joined.push_back(same[0]);
        else
          joined.push_back(stablehlo::ConcatenateOp::create(builder, loc(),
                                                            typeOf(same[0]).clone(shape), same,
                                                            static_cast<uint64_t>(phaseDim(i))));
      }
      parts = std::move(joined);
    }
    SmallVector<int64_t> shape(typeOf(op).getShape());
    for (auto [i, axis] : llvm::enumerate(axes))
      shape[outputDim(i)] = axis.count() * axis.phases();
    Value all = reshapeTo(builder, loc(), parts[0], typeOf(op).clone(shape));
    if (all.getType() == op.getType())
      return all;
    const SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
    return stablehlo::SliceOp::create(builder, loc(), typeOf(op), all, starts,
                                      typeOf(op).getShape(), steps);
  }

  stablehlo::ConvolutionOp op;
  ArrayRef<Axis> axes;
  OpBuilder builder;
  stablehlo::ConvDimensionNumbersAttr numbers;
};

/// Writes the input to memory with the zeros between its elements.
void padInput(stablehlo::ConvolutionOp op, ArrayRef<Axis> axes) {
  OpBuilder builder(op);
  RankedTensorType type = typeOf(op.getLhs());
  SmallVector<int64_t> none(static_cast<size_t>(type.getRank()), 0), interior = none,
                                                                     shape(type.getShape());
  for (auto [i, axis] : llvm::enumerate(axes)) {
    const auto dim = static_cast<size_t>(op.getDimensionNumbers().getInputSpatialDimensions()[i]);
    interior[dim] = axis.inputDilation - 1;
    shape[dim] += interior[dim] * std::max<int64_t>(axis.input - 1, 0);
  }
  Value padding =
      makeNumber(builder, op.getLoc(), RankedTensorType::get({}, type.getElementType()), 0);
  op.getLhsMutable().assign(stablehlo::PadOp::create(builder, op.getLoc(), type.clone(shape),
                                                     op.getLhs(), padding, none, none, interior));
  op.setLhsDilation(std::nullopt);
}

struct Convolutions : impl::ConvolutionsPassBase<Convolutions> {
  void runOnOperation() override {
    // The CPU library's convolutions skip the zeros themselves.
    if (!exec::targetOf(getOperation()).isGpu())
      return;
    SmallVector<stablehlo::ConvolutionOp> found;
    getOperation().walk([&](stablehlo::ConvolutionOp op) {
      if (op.getLhsDilation() && isStatic(op.getLhs()) && isStatic(op.getRhs()) && isStatic(op) &&
          isa<IntegerType, FloatType, ComplexType>(typeOf(op).getElementType()))
        found.push_back(op);
    });
    for (stablehlo::ConvolutionOp op : found) {
      const SmallVector<Axis> axes = axesOf(op);
      if (!llvm::all_of(axes, isInRange)) {
        remark::missed(op.getLoc(), remark::RemarkOpts::name("convolutions").category("simplify"))
            << remark::reason("{0}", "its strides, dilations or padding are longer than 2^40");
        continue;
      }
      int64_t phases = 1;
      for (const Axis &axis : axes)
        phases = std::min(phases * axis.phases(), maxPhases + 1);
      if (llvm::all_of(axes, [](const Axis &axis) { return axis.inputDilation == 1; })) {
        op.setLhsDilation(std::nullopt);
      } else if (phases > maxPhases) {
        padInput(op, axes);
      } else {
        op.getResult().replaceAllUsesWith(PhaseBuilder(op, axes).build());
        op.erase();
      }
    }
  }
};

} // namespace
} // namespace tilewright::simplify
