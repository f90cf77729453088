#include "tilewright/interpret/kernels/Sort.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace tilewright::interpret {

static Status checkOperands(std::span<const Tensor> inputs, const ScalarFunction &comparator) {
  if (inputs.empty())
    return Status(Error::interpretShape, "sort: must have at least one input");
  if (comparator.argumentTypes().size() != 2 * inputs.size() ||
      comparator.resultTypes().size() != 1 || comparator.resultTypes()[0] != ElementType::pred)
    return Status(Error::operandType,
                  concat("sort: the comparator for ", inputs.size(), " inputs must take ",
                         2 * inputs.size(), " arguments and return an i1"));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].shape() != inputs[0].shape())
      return Status(Error::interpretShape,
                    concat("sort: inputs must have the same shape, got ", inputs[0].typeString(),
                           " and ", inputs[i].typeString()));
    if (comparator.argumentTypes()[2 * i] != inputs[i].type() ||
        comparator.argumentTypes()[2 * i + 1] != inputs[i].type())
      return Status(Error::operandType,
                    concat("sort: arguments ", 2 * i, " and ", 2 * i + 1,
                           " of the comparator must be ", spelling(inputs[i].type()),
                           ", the type of input ", i, ", got ",
                           spelling(comparator.argumentTypes()[2 * i]), " and ",
                           spelling(comparator.argumentTypes()[2 * i + 1])));
  }
  return Status();
}

namespace {
/// Sorts the element numbers of a slice. Implements merge sort itself, because std::sort may read
/// out of bounds if the comparator is inconsistent, and because the comparator can fail.
class SliceSorter {
public:
  SliceSorter(const ScalarFunction &comparator, size_t width, int64_t length)
      : call(comparator), width(width), values(width * static_cast<size_t>(length)),
        arguments(2 * width), order(static_cast<size_t>(length)), other(order.size()) {
    if (std::optional<ScalarOp> op = comparator.singleBinaryOp())
      single = operationFor(*op, comparator.argumentTypes()[0]);
  }

  /// Element `position` of input `input`.
  Scalar &value(int64_t position, size_t input) {
    return values[static_cast<size_t>(position) * width + input];
  }

  /// After this call, order()[i] is the number of the i-th element in sorted order.
  Status sort() {
    std::iota(order.begin(), order.end(), 0);
    const auto length = static_cast<int64_t>(order.size());
    for (int64_t run = 1; run < length; run *= 2) {
      for (int64_t begin = 0; begin < length; begin += 2 * run)
        TILEWRIGHT_TRY(
            merge(begin, std::min(begin + run, length), std::min(begin + 2 * run, length)));
      order.swap(other);
    }
    return Status();
  }
  std::span<const int64_t> sorted() const { return order; }

private:
  Status merge(int64_t begin, int64_t middle, int64_t end) {
    int64_t left = begin, right = middle;
    for (int64_t to = begin; to < end; ++to) {
      bool takeRight = left == middle;
      // Take the right element only if it is strictly less, so that the sort is stable.
      if (left < middle && right < end)
        TILEWRIGHT_TRY(
            less(order[static_cast<size_t>(right)], order[static_cast<size_t>(left)], takeRight));
      other[static_cast<size_t>(to)] = order[static_cast<size_t>(takeRight ? right++ : left++)];
    }
    return Status();
  }

  Status less(int64_t lhs, int64_t rhs, bool &result) {
    if (single) {
      result = single(value(lhs, 0), value(rhs, 0), Scalar()).u != 0;
      return Status();
    }
    for (size_t i = 0; i < width; ++i) {
      arguments[2 * i] = value(lhs, i);
      arguments[2 * i + 1] = value(rhs, i);
    }
    Scalar isLess;
    TILEWRIGHT_TRY(call(arguments.data(), &isLess));
    result = isLess.u != 0;
    return Status();
  }

  ScalarCall call;
  Operation single = nullptr; // the comparator, if it is a single operation
  size_t width;
  std::vector<Scalar> values, arguments;
  std::vector<int64_t> order, other;
};
} // namespace

Result<std::vector<Tensor>> sort(std::span<const Tensor> inputs, int64_t dimension,
                                 const ScalarFunction &comparator, Context &context,
                                 std::optional<int64_t> count) {
  TILEWRIGHT_TRY(checkOperands(inputs, comparator));
  const Shape &shape = inputs[0].shape();
  const int64_t dim = dimension < 0 ? dimension + shape.rank() : dimension;
  // A scalar has no dimension to sort along, so this is a no-op.
  if (shape.rank() == 0 && (dimension == 0 || dimension == -1))
    return std::vector<Tensor>(inputs.begin(), inputs.end());
  TILEWRIGHT_TRY(checkDims("sort", "dimension", Dims{dim}, shape.rank()));
  const int64_t whole = shape[dim], length = std::clamp<int64_t>(count.value_or(whole), 0, whole);
  if (length == 0 || shape.elementCount() == 0 || length == 1)
    return std::vector<Tensor>(inputs.begin(), inputs.end());
  const int64_t levels = std::bit_width(static_cast<uint64_t>(length - 1));
  TILEWRIGHT_TRY(context.countSteps(
      saturatingProduct({shape.elementCount(), levels, comparator.stepsPerCall()})));
  const size_t width = inputs.size();
  // Counts the sorter's memory for one slice against the budget.
  TILEWRIGHT_ASSIGN(auto reserved,
                    context.allocate(saturatingProduct(
                        {length, static_cast<int64_t>(width * sizeof(Scalar) + 16)})));

  std::vector<Tensor> results;
  for (const Tensor &input : inputs) {
    TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(input.type(), shape, context));
    results.push_back(std::move(result));
  }
  const Dims strides = shape.strides();
  const int64_t stride = strides[static_cast<size_t>(dim)];
  const Dims outer = remaining(shape.rank(), Dims{dim});
  const Dims outerSizes = pick(shape.dims(), outer), outerStrides = pick(strides, outer);
  SliceSorter sorter(comparator, width, length);
  for (StridedWalk<1> walk(outerSizes, {outerStrides}); !walk.done(); walk.next()) {
    for (size_t i = 0; i < width; ++i)
      for (int64_t j = 0; j < length; ++j)
        sorter.value(j, i) = inputs[i].at(walk.offset() + j * stride);
    TILEWRIGHT_TRY(sorter.sort());
    // Move bytes instead of values to preserve NaN payloads.
    for (size_t i = 0; i < width; ++i) {
      const auto bytes = static_cast<int64_t>(inputs[i].elementBytes());
      std::byte *to = results[i].mutableData() + walk.offset() * bytes;
      const std::byte *from = inputs[i].data() + walk.offset() * bytes;
      for (int64_t j = 0; j < length; ++j)
        std::memcpy(to + j * stride * bytes,
                    from + sorter.sorted()[static_cast<size_t>(j)] * stride * bytes,
                    static_cast<size_t>(bytes));
      for (int64_t j = length; j < whole; ++j)
        std::memcpy(to + j * stride * bytes, from + j * stride * bytes, static_cast<size_t>(bytes));
    }
  }
  return results;
}

} // namespace tilewright::interpret
