#include "tilewright/interpret/kernels/ReduceWindow.h"

#include "tilewright/interpret/kernels/Reduce.h"
#include "tilewright/support/Concat.h"

namespace tilewright::interpret {

/// The number of positions of a window in each dimension of `shape`.
static Result<Dims> allPositions(std::string_view op, const Shape &shape,
                                 std::span<const WindowDimension> window) {
  if (static_cast<int64_t>(window.size()) != shape.rank())
    return Status(Error::interpretShape, concat(op, ": the window has ", window.size(),
                                                " dimensions, but the operand has ", shape.rank()));
  Dims counts;
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    TILEWRIGHT_ASSIGN(int64_t count,
                      windowPositions(op, shape[dim], window[static_cast<size_t>(dim)]));
    counts.push_back(count);
  }
  return counts;
}

/// The number of elements visited: positions times the size of the window.
static int64_t visits(std::span<const int64_t> counts, std::span<const WindowDimension> window) {
  Dims factors(counts.begin(), counts.end());
  for (const WindowDimension &dimension : window)
    factors.push_back(dimension.size);
  return saturatingProduct(factors);
}

Result<std::vector<Tensor>> reduceWindow(std::span<const Tensor> inputs,
                                         std::span<const Tensor> inits,
                                         std::span<const WindowDimension> window,
                                         const ScalarFunction &body, Context &context) {
  TILEWRIGHT_TRY(checkReduction("reduce_window", inputs, inits, body));
  const Shape &shape = inputs[0].shape();
  TILEWRIGHT_ASSIGN(Dims counts, allPositions("reduce_window", shape, window));
  TILEWRIGHT_ASSIGN(Shape resultShape, Shape::create(counts));
  TILEWRIGHT_TRY(
      context.countSteps(saturatingProduct({visits(counts, window), body.stepsPerCall()})));

  const size_t width = inputs.size();
  TILEWRIGHT_ASSIGN(std::vector<Scalar> initValues, initScalars(inits, body, context));
  std::vector<Tensor> values, results;
  for (size_t i = 0; i < width; ++i) {
    TILEWRIGHT_ASSIGN(Tensor input, converted(inputs[i], body.resultTypes()[i], context));
    values.push_back(std::move(input));
    TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(body.resultTypes()[i], resultShape, context));
    results.push_back(std::move(result));
  }

  TreeReduction tree(body);
  std::vector<Scalar> element(width);
  int64_t out = 0;
  for (WindowWalk walk(window, shape, counts); !walk.done(); walk.next(), ++out) {
    tree.start(initValues.data());
    TILEWRIGHT_TRY(walk.forEachTap([&](int64_t offset, int64_t) {
      for (size_t i = 0; i < width; ++i)
        element[i] = values[i].at(offset);
      return tree.add(element.data());
    }));
    TILEWRIGHT_TRY(tree.finish());
    for (size_t i = 0; i < width; ++i)
      results[i].set(out, tree.result()[i]);
  }
  return results;
}

Result<Tensor> selectAndScatter(const Tensor &operand, const Tensor &source, const Tensor &init,
                                std::span<const WindowDimension> window,
                                const ScalarFunction &select, const ScalarFunction &scatter,
                                Context &context) {
  TILEWRIGHT_TRY(checkReduction("select_and_scatter", {&operand, 1}, {&init, 1}, scatter));
  if (select.argumentTypes().size() != 2 || select.resultTypes().size() != 1 ||
      select.resultTypes()[0] != ElementType::pred || select.argumentTypes()[0] != operand.type() ||
      select.argumentTypes()[1] != operand.type())
    return Status(Error::operandType,
                  concat("select_and_scatter: select must take two arguments of ",
                         spelling(operand.type()), ", the type of the operand, and return i1"));
  TILEWRIGHT_ASSIGN(Dims counts, allPositions("select_and_scatter", operand.shape(), window));
  TILEWRIGHT_ASSIGN(Shape expected, Shape::create(counts));
  if (source.shape() != expected)
    return Status(
        Error::interpretShape,
        concat("select_and_scatter: source must have one element per window position, shape ",
               expected.toString(), ", got ", source.shape().toString()));
  TILEWRIGHT_TRY(
      context.countSteps(saturatingProduct({visits(counts, window), select.stepsPerCall() + 1})));

  const ElementType type = scatter.resultTypes()[0];
  TILEWRIGHT_ASSIGN(Tensor updates, converted(source, type, context));
  TILEWRIGHT_ASSIGN(Tensor start, converted(init, type, context));
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::copies(type, operand.shape(), start.data(), context));
  ScalarCall callSelect(select), callScatter(scatter);
  int64_t from = 0;
  for (WindowWalk walk(window, operand.shape(), counts); !walk.done(); walk.next(), ++from) {
    int64_t selected = -1;
    Scalar pair[2];
    TILEWRIGHT_TRY(walk.forEachTap([&](int64_t offset, int64_t) -> Status {
      pair[1] = operand.at(offset);
      Scalar keep = Scalar::ofUnsigned(0);
      if (selected >= 0)
        TILEWRIGHT_TRY(callSelect(pair, &keep));
      if (keep.u == 0) {
        selected = offset;
        pair[0] = pair[1];
      }
      return Status();
    }));
    if (selected < 0)
      continue;
    Scalar arguments[2] = {result.at(selected), updates.at(from)};
    TILEWRIGHT_TRY(callScatter(arguments, arguments));
    result.set(selected, arguments[0]);
  }
  return result;
}

} // namespace tilewright::interpret
