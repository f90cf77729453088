#include "tilewright/interpret/kernels/Convolution.h"

#include "tilewright/interpret/kernels/Movement.h"
#include "tilewright/interpret/kernels/Products.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cmath>

namespace tilewright::interpret {

static Status checkLayout(std::string_view what, const ConvolutionLayout &layout, int64_t rank) {
  if (static_cast<int64_t>(layout.spatial.size()) != rank - 2)
    return Status(Error::interpretShape,
                  concat("convolution: ", what, " of rank ", rank, " must have ", rank - 2,
                         " spatial dimensions, got ", layout.spatial.size()));
  return checkDims("convolution", concat("dimensions of the ", what),
                   joined({Dims{layout.first, layout.second}, layout.spatial}), rank);
}

static Status checkDivides(std::string_view what, int64_t size, std::string_view groups,
                           int64_t count) {
  if (size % count != 0)
    return Status(Error::interpretShape, concat("convolution: ", what, " must be a multiple of ",
                                                groups, ", got ", size, " and ", count));
  return Status();
}

static Status check(const Tensor &lhs, const Tensor &rhs, const ConvolutionParameters &parameters) {
  if (lhs.rank() != rhs.rank() || lhs.rank() < 2)
    return Status(Error::interpretShape,
                  concat("convolution: operands must have the same rank of at least 2, got ",
                         lhs.typeString(), " and ", rhs.typeString()));
  TILEWRIGHT_TRY(checkLayout("input", parameters.input, lhs.rank()));
  TILEWRIGHT_TRY(checkLayout("kernel", parameters.kernel, lhs.rank()));
  TILEWRIGHT_TRY(checkLayout("output", parameters.output, lhs.rank()));
  if (static_cast<int64_t>(parameters.window.size()) != lhs.rank() - 2)
    return Status(Error::interpretShape,
                  concat("convolution: the window has ", parameters.window.size(),
                         " dimensions, but the operands have ", lhs.rank() - 2,
                         " spatial dimensions"));
  const int64_t featureGroups = parameters.featureGroupCount;
  const int64_t batchGroups = parameters.batchGroupCount;
  if (featureGroups < 1 || batchGroups < 1 || (featureGroups > 1 && batchGroups > 1))
    return Status(Error::interpretShape,
                  concat("convolution: group counts must be positive, and at least one must be 1, "
                         "got feature_group_count ",
                         featureGroups, " and batch_group_count ", batchGroups));
  const int64_t batch = lhs.shape()[parameters.input.first];
  const int64_t features = lhs.shape()[parameters.input.second];
  const int64_t kernelOutputs = rhs.shape()[parameters.kernel.first];
  const int64_t kernelInputs = rhs.shape()[parameters.kernel.second];
  TILEWRIGHT_TRY(checkDivides("the batch", batch, "batch_group_count", batchGroups));
  TILEWRIGHT_TRY(checkDivides("input features", features, "feature_group_count", featureGroups));
  TILEWRIGHT_TRY(checkDivides("output features", kernelOutputs, "the group count",
                              std::max(batchGroups, featureGroups)));
  if (features / featureGroups != kernelInputs)
    return Status(Error::interpretShape,
                  concat("convolution: the kernel must have as many input features as a group of "
                         "the input, got ",
                         kernelInputs, " and ", features / featureGroups));
  return Status();
}

/// Whether the zeros of the padding are elements of this dimension. In a dilated dimension they are
/// skipped like those between the elements, as in the compiled kernels.
static bool hasZeros(const WindowDimension &dim) {
  return dim.baseDilation == 1 && (dim.padLow > 0 || dim.padHigh > 0);
}

/// Whether multiplying the kernel by the zeros of the padding can give a result other than zero
/// (NaN).
static bool paddingIsSeen(const Tensor &rhs, const std::vector<WindowDimension> &window) {
  if (!isReal(rhs.type()) && !isComplex(rhs.type()))
    return false;
  if (std::none_of(window.begin(), window.end(), hasZeros))
    return false;
  for (int64_t i = 0; i < rhs.elementCount(); ++i)
    if (const Scalar value = rhs.at(i); !std::isfinite(value.r) || !std::isfinite(value.im))
      return true;
  return false;
}

/// The input with the zeros of its padding as elements; removes that padding from the window.
static Result<Tensor> padded(const Tensor &lhs, ConvolutionParameters &parameters,
                             Context &context) {
  const auto rank = static_cast<size_t>(lhs.rank());
  Dims low(rank, 0), high(rank, 0);
  for (size_t i = 0; i < parameters.window.size(); ++i) {
    const auto dim = static_cast<size_t>(parameters.input.spatial[i]);
    WindowDimension &window = parameters.window[i];
    if (!hasZeros(window))
      continue;
    low[dim] = std::exchange(window.padLow, 0);
    high[dim] = std::exchange(window.padHigh, 0);
  }
  TILEWRIGHT_ASSIGN(Tensor zero, Tensor::scalar(lhs.type(), Scalar::ofReal(0), context));
  return pad(lhs, zero, low, high, Dims(rank, 0), context);
}

Result<Tensor> convolution(const Tensor &lhs, const Tensor &rhs,
                           const ConvolutionParameters &parameters, ElementType resultType,
                           Context &context) {
  TILEWRIGHT_TRY(check(lhs, rhs, parameters));
  const ProductTypes types = productTypes(lhs.type(), rhs.type(), resultType);
  if (types.lhs != lhs.type() || types.rhs != rhs.type() || types.sum != resultType) {
    TILEWRIGHT_ASSIGN(Tensor left, converted(lhs, types.lhs, context));
    TILEWRIGHT_ASSIGN(Tensor right, converted(rhs, types.rhs, context));
    TILEWRIGHT_ASSIGN(Tensor sums, convolution(left, right, parameters, types.sum, context));
    return converted(sums, resultType, context);
  }
  if (paddingIsSeen(rhs, parameters.window)) {
    ConvolutionParameters inside = parameters;
    TILEWRIGHT_ASSIGN(Tensor zeros, padded(lhs, inside, context));
    return convolution(zeros, rhs, inside, resultType, context);
  }
  TILEWRIGHT_ASSIGN(Arithmetic arithmetic,
                    arithmeticFor("convolution", lhs.type(), rhs.type(), resultType));
  const auto &[input, kernel, output, givenWindow, featureGroups, batchGroups] = parameters;
  const int64_t batch = lhs.shape()[input.first] / batchGroups;
  const int64_t features = lhs.shape()[input.second];
  const int64_t outputs = rhs.shape()[kernel.first];
  const int64_t groupInputs = rhs.shape()[kernel.second];
  const int64_t groupOutputs = outputs / std::max(featureGroups, batchGroups);

  std::vector<WindowDimension> window = givenWindow;
  Dims positions;
  for (size_t i = 0; i < window.size(); ++i) {
    window[i].size = rhs.shape()[kernel.spatial[i]];
    TILEWRIGHT_ASSIGN(int64_t count,
                      windowPositions("convolution", lhs.shape()[input.spatial[i]], window[i]));
    positions.push_back(count);
  }
  // The result is computed as [batch, spatial…, features] and transposed at the end.
  const Dims resultSizes = joined({Dims{batch}, positions, Dims{outputs}});
  TILEWRIGHT_ASSIGN(Shape resultShape, Shape::create(resultSizes));
  Dims work = joined({resultSizes, pick(rhs.shape().dims(), kernel.spatial), Dims{groupInputs}});
  TILEWRIGHT_TRY(context.countSteps(saturatingProduct(work)));

  // lhs[batch][spatial…][feature], rhs[spatial…][input feature][output feature]:
  // the innermost loops run over features.
  const Dims lhsOrder = joined({Dims{input.first}, input.spatial, Dims{input.second}});
  const Dims rhsOrder = joined({kernel.spatial, Dims{kernel.second, kernel.first}});
  const ElementType operandType = operandTypeOf(arithmetic);
  TILEWRIGHT_ASSIGN(Tensor wideLhs, converted(lhs, operandType, context));
  TILEWRIGHT_ASSIGN(Tensor wideRhs, converted(rhs, operandType, context));
  TILEWRIGHT_ASSIGN(Tensor packedLhs, rearranged(wideLhs, pick(lhs.shape().dims(), lhsOrder),
                                                 pick(lhs.shape().strides(), lhsOrder), context));
  TILEWRIGHT_ASSIGN(Tensor packedRhs, rearranged(wideRhs, pick(rhs.shape().dims(), rhsOrder),
                                                 pick(rhs.shape().strides(), rhsOrder), context));
  TILEWRIGHT_ASSIGN(Shape spatial, Shape::create(pick(lhs.shape().dims(), input.spatial)));
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(resultType, resultShape, context));

  TILEWRIGHT_TRY(withArithmetic(arithmetic, [&]<typename Operand, typename Sum>() -> Status {
    TILEWRIGHT_ASSIGN(auto sums, Scratch<Sum>::allocate(outputs, context));
    TILEWRIGHT_ASSIGN(auto shortSums, Scratch<Operand>::allocate(outputs, context));
    shortSums.fill(Operand());
    const Operand *lhsData = elements<Operand>(packedLhs);
    const Operand *rhsData = elements<Operand>(packedRhs);
    int64_t first = 0;
    for (int64_t n = 0; n < batch; ++n)
      for (WindowWalk walk(window, spatial, positions); !walk.done(); walk.next()) {
        sums.fill(Sum());
        int64_t inRun = 0;
        TILEWRIGHT_TRY(walk.forEachTap([&](int64_t inputOffset, int64_t kernelOffset) {
          // Each group uses its own part of the features or of the batch.
          for (int64_t group = 0; group * groupOutputs < outputs; ++group) {
            const int64_t image = batchGroups > 1 ? group * batch + n : n;
            const int64_t feature = featureGroups > 1 ? group * groupInputs : 0;
            addProducts(
                lhsData + (image * spatial.elementCount() + inputOffset) * features + feature,
                groupInputs, rhsData + kernelOffset * groupInputs * outputs + group * groupOutputs,
                outputs, groupOutputs, shortSums.data() + group * groupOutputs);
          }
          inRun += groupInputs;
          if (inRun >= productsPerRun) {
            widenSums(shortSums.data(), outputs, sums.data());
            inRun = 0;
          }
          return Status();
        }));
        widenSums(shortSums.data(), outputs, sums.data());
        storeSums(sums.data(), outputs, result, first);
        first += outputs;
      }
    return Status();
  }));

  // Map the dimensions of the result to those computed.
  Dims from(static_cast<size_t>(lhs.rank()));
  from[static_cast<size_t>(output.first)] = 0;
  from[static_cast<size_t>(output.second)] = lhs.rank() - 1;
  for (size_t i = 0; i < output.spatial.size(); ++i)
    from[static_cast<size_t>(output.spatial[i])] = static_cast<int64_t>(i) + 1;
  return rearranged(result, pick(resultSizes, from), pick(resultShape.strides(), from), context);
}

} // namespace tilewright::interpret
