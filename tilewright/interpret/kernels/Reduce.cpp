#include "tilewright/interpret/kernels/Reduce.h"

#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::interpret {

Status checkReduction(std::string_view op, std::span<const Tensor> inputs,
                      std::span<const Tensor> inits, const ScalarFunction &body) {
  const size_t count = inputs.size();
  if (count == 0 || inits.size() != count)
    return Status(Error::interpretShape,
                  concat(op, ": must have at least one input, and one init value per input, got ",
                         count, " inputs and ", inits.size(), " init values"));
  if (body.argumentTypes().size() != 2 * count || body.resultTypes().size() != count)
    return Status(Error::operandType,
                  concat(op, ": the body for ", count, " inputs must have ", 2 * count,
                         " arguments and ", count, " results, got ", body.argumentTypes().size(),
                         " and ", body.resultTypes().size()));
  for (size_t i = 0; i < count; ++i) {
    if (inputs[i].shape() != inputs[0].shape())
      return Status(Error::interpretShape,
                    concat(op, ": inputs must have the same shape, got ", inputs[0].typeString(),
                           " and ", inputs[i].typeString()));
    if (inits[i].elementCount() != 1)
      return Status(Error::interpretShape,
                    concat(op, ": init values must be scalars, got ", inits[i].typeString()));
    const ElementType type = body.resultTypes()[i];
    if (body.argumentTypes()[i] != type || body.argumentTypes()[count + i] != type)
      return Status(Error::operandType,
                    concat(op, ": arguments ", i, " and ", count + i, " of the body must be ",
                           spelling(type), ", the type of its result, got ",
                           spelling(body.argumentTypes()[i]), " and ",
                           spelling(body.argumentTypes()[count + i])));
  }
  return Status();
}

Result<std::vector<Scalar>> initScalars(std::span<const Tensor> inits, const ScalarFunction &body,
                                        Context &context) {
  std::vector<Scalar> scalars;
  for (size_t i = 0; i < inits.size(); ++i) {
    TILEWRIGHT_ASSIGN(Tensor init, converted(inits[i], body.resultTypes()[i], context));
    scalars.push_back(init.at(0));
  }
  return scalars;
}

Result<std::vector<Tensor>> reduce(std::span<const Tensor> inputs, std::span<const Tensor> inits,
                                   std::span<const int64_t> dimensions, const ScalarFunction &body,
                                   Context &context) {
  TILEWRIGHT_TRY(checkReduction("reduce", inputs, inits, body));
  const Shape &shape = inputs[0].shape();
  TILEWRIGHT_TRY(checkDims("reduce", "dimensions", dimensions, shape.rank()));
  TILEWRIGHT_TRY(
      context.countSteps(saturatingProduct({shape.elementCount() + 1, body.stepsPerCall()})));

  // Move the reduced dimensions last, so that each result reduces contiguous elements. They are
  // combined in ascending order of their index, whatever the order of the dimension list.
  const Dims kept = remaining(shape.rank(), dimensions);
  const Dims reduced = remaining(shape.rank(), kept);
  const Dims order = joined({kept, reduced});
  const Dims sizes = pick(shape.dims(), order), strides = pick(shape.strides(), order);
  TILEWRIGHT_ASSIGN(Shape resultShape, Shape::create(pick(shape.dims(), kept)));
  const int64_t run = saturatingProduct(pick(shape.dims(), reduced));

  const size_t width = inputs.size();
  TILEWRIGHT_ASSIGN(std::vector<Scalar> initValues, initScalars(inits, body, context));
  std::vector<Tensor> rows, results;
  for (size_t i = 0; i < width; ++i) {
    TILEWRIGHT_ASSIGN(Tensor input, converted(inputs[i], body.resultTypes()[i], context));
    TILEWRIGHT_ASSIGN(Tensor row, rearranged(input, sizes, strides, context));
    rows.push_back(std::move(row));
    TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(body.resultTypes()[i], resultShape, context));
    results.push_back(std::move(result));
  }

  // Read elements in chunks; piece[j * width + i] is element j of input i.
  constexpr int64_t pieceSize = 256;
  std::vector<Scalar> column(pieceSize), piece(pieceSize * width);
  TreeReduction tree(body);
  for (int64_t out = 0; out < resultShape.elementCount(); ++out) {
    tree.start(initValues.data());
    for (int64_t begin = 0; begin < run; begin += pieceSize) {
      const int64_t now = std::min(pieceSize, run - begin);
      for (size_t i = 0; i < width; ++i) {
        const size_t offset = static_cast<size_t>(out * run + begin) * rows[i].elementBytes();
        loadScalars(rows[i].type(), rows[i].data() + offset, now, column.data());
        for (int64_t j = 0; j < now; ++j)
          piece[static_cast<size_t>(j) * width + i] = column[static_cast<size_t>(j)];
      }
      for (int64_t j = 0; j < now; ++j)
        TILEWRIGHT_TRY(tree.add(&piece[static_cast<size_t>(j) * width]));
    }
    TILEWRIGHT_TRY(tree.finish());
    for (size_t i = 0; i < width; ++i)
      results[i].set(out, tree.result()[i]);
  }
  return results;
}

} // namespace tilewright::interpret
