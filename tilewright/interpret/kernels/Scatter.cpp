#include "tilewright/interpret/kernels/Scatter.h"

#include "tilewright/interpret/kernels/Reduce.h"
#include "tilewright/interpret/kernels/SliceIndices.h"
#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::interpret {

static Status checkOperands(std::span<const Tensor> inputs, std::span<const Tensor> updates,
                            const ScalarFunction &body) {
  const size_t count = inputs.size();
  if (count == 0 || updates.size() != count)
    return Status(
        Error::interpretShape,
        concat("scatter: must have at least one input, and one update tensor per input, got ",
               count, " inputs and ", updates.size(), " update tensors"));
  if (body.argumentTypes().size() != 2 * count || body.resultTypes().size() != count)
    return Status(Error::operandType,
                  concat("scatter: the body for ", count, " inputs must have ", 2 * count,
                         " arguments and ", count, " results, got ", body.argumentTypes().size(),
                         " and ", body.resultTypes().size()));
  for (size_t i = 0; i < count; ++i) {
    if (inputs[i].shape() != inputs[0].shape() || updates[i].shape() != updates[0].shape())
      return Status(Error::interpretShape,
                    concat("scatter: all inputs must have the same shape, and all updates must "
                           "have the same shape, got input ",
                           inputs[i].typeString(), " and update ", updates[i].typeString(),
                           " at index ", i, " after ", inputs[0].typeString(), " and ",
                           updates[0].typeString()));
    const ElementType type = body.resultTypes()[i];
    if (body.argumentTypes()[i] != type || body.argumentTypes()[count + i] != type)
      return Status(Error::operandType,
                    concat("scatter: arguments ", i, " and ", count + i, " of the body must be ",
                           numerics::spelling(type), ", the type of its result, got ",
                           numerics::spelling(body.argumentTypes()[i]), " and ",
                           numerics::spelling(body.argumentTypes()[count + i])));
  }
  return Status();
}

Result<std::vector<Tensor>> scatter(std::span<const Tensor> inputs, const Tensor &scatterIndices,
                                    std::span<const Tensor> updates,
                                    const ScatterDimensions &dimensions,
                                    const ScalarFunction &update, Context &context) {
  TILEWRIGHT_TRY(checkOperands(inputs, updates, update));
  const Shape &shape = inputs[0].shape(), &updateShape = updates[0].shape();
  const Dims inserted = joined({dimensions.insertedWindowDims, dimensions.inputBatchingDims});
  TILEWRIGHT_TRY(checkDims("scatter", "inserted and batching dimensions", inserted, shape.rank()));
  TILEWRIGHT_TRY(
      checkDims("scatter", "update_window_dims", dimensions.updateWindowDims, updateShape.rank()));
  TILEWRIGHT_ASSIGN(
      SliceIndices starts,
      SliceIndices::create("scatter", shape, scatterIndices,
                           {dimensions.scatterDimsToOperandDims, dimensions.inputBatchingDims,
                            dimensions.scatterIndicesBatchingDims, dimensions.indexVectorDim}));
  const Dims windowDims = remaining(shape.rank(), inserted);
  const Dims windowSizes = pick(updateShape.dims(), dimensions.updateWindowDims);
  if (windowDims.size() != windowSizes.size())
    return Status(Error::interpretShape,
                  concat("scatter: update_window_dims must have one entry for each of the ",
                         windowDims.size(), " window dimensions, got ", windowSizes.size()));
  for (size_t i = 0; i < windowDims.size(); ++i)
    if (windowSizes[i] > shape[windowDims[i]])
      return Status(Error::interpretShape,
                    concat("scatter: update window size ", windowSizes[i],
                           " exceeds the size of input dimension ", windowDims[i], ", which is ",
                           shape[windowDims[i]]));
  const Dims scatterDims = remaining(updateShape.rank(), dimensions.updateWindowDims);
  if (pick(updateShape.dims(), scatterDims) != starts.batchSizes())
    return Status(Error::interpretShape,
                  concat("scatter: updates must have one window for each of the ",
                         listed(starts.batchSizes()), " index vectors, got ",
                         listed(pick(updateShape.dims(), scatterDims))));
  TILEWRIGHT_TRY(context.countSteps(saturatingProduct(
      {updateShape.elementCount() + shape.elementCount(), update.stepsPerCall()})));

  const size_t width = inputs.size();
  std::vector<Tensor> results, values;
  for (size_t i = 0; i < width; ++i) {
    TILEWRIGHT_ASSIGN(Tensor value, converted(updates[i], update.resultTypes()[i], context));
    values.push_back(std::move(value));
    TILEWRIGHT_ASSIGN(Tensor start, converted(inputs[i], update.resultTypes()[i], context));
    TILEWRIGHT_ASSIGN(Tensor result, std::move(start).intoSoleOwner(context));
    results.push_back(std::move(result));
  }

  const Dims strides = shape.strides(), updateStrides = updateShape.strides();
  const Dims scatterStrides = pick(updateStrides, scatterDims);
  const Dims windowStrides = pick(updateStrides, dimensions.updateWindowDims);
  const size_t windowRank = windowDims.size();
  Dims place(windowRank, 0);                        // index within the window
  Dims sizes(static_cast<size_t>(shape.rank()), 1); // of the window, in each dimension of an input
  for (size_t i = 0; i < windowRank; ++i)
    sizes[static_cast<size_t>(windowDims[i])] = windowSizes[i];
  std::vector<Scalar> arguments(2 * width);
  ScalarCall call(update);
  for (; !starts.done() && updateShape.elementCount() > 0; starts.next()) {
    int64_t from = 0;
    for (size_t i = 0; i < scatterStrides.size(); ++i)
      from += starts.batchIndex()[i] * scatterStrides[i];
    // Apply or skip the window as a whole.
    int64_t to = 0;
    bool inside = true;
    for (int64_t dim = 0; dim < shape.rank() && inside; ++dim) {
      const int64_t at = starts.start()[static_cast<size_t>(dim)];
      // Subtract instead of add: `at` can be any int64, so a sum could overflow.
      inside = at >= 0 && at <= shape[dim] - sizes[static_cast<size_t>(dim)];
      if (inside)
        to += at * strides[static_cast<size_t>(dim)];
    }
    if (!inside)
      continue;
    std::fill(place.begin(), place.end(), 0);
    for (bool more = true; more;) {
      int64_t target = to, source = from;
      for (size_t i = 0; i < windowRank; ++i) {
        target += place[i] * strides[static_cast<size_t>(windowDims[i])];
        source += place[i] * windowStrides[i];
      }
      for (size_t i = 0; i < width; ++i) {
        arguments[i] = results[i].at(target);
        arguments[width + i] = values[i].at(source);
      }
      TILEWRIGHT_TRY(call(arguments.data(), arguments.data()));
      for (size_t i = 0; i < width; ++i)
        results[i].set(target, arguments[i]);
      more = false;
      for (size_t i = windowRank; i-- > 0 && !more;) {
        more = ++place[i] < windowSizes[i];
        if (!more)
          place[i] = 0;
      }
    }
  }
  return results;
}

} // namespace tilewright::interpret
