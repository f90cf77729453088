// Rules: data movement and indexing.
#include "test/random/Generator.h"

#include "tilewright/dialect/stablehlo/StablehloOps.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace tilewright::random {

void Generator::reshape() {
  Value x = any();
  if (!x)
    return;
  Dims shape;
  int64_t rest = volume(dimsOf(x));
  if (rest == 0) {
    shape = dimsOf(x);
    std::rotate(shape.begin(), shape.begin() + draw.below(static_cast<int64_t>(shape.size())),
                shape.end());
    if (draw.oneIn(2))
      shape.push_back(draw.number(0, 3));
  }
  while (rest > 1 && shape.size() < 5) {
    llvm::SmallVector<int64_t> divisors;
    for (int64_t d = 2; d <= rest; ++d)
      if (rest % d == 0)
        divisors.push_back(d);
    const int64_t d = shape.size() == 4 ? rest : draw.pick(divisors);
    shape.push_back(d);
    rest /= d;
    if (draw.oneIn(5) && shape.size() < 4)
      shape.push_back(1);
  }
  add("stablehlo.reshape", tensor(shape, elementOf(x)), x);
}

void Generator::transpose() {
  Value x = ranked(2);
  if (!x)
    return;
  Dims order, shape;
  for (int64_t i = 0; i < typeOf(x).getRank(); ++i)
    order.insert(order.begin() + draw.below(i + 1), i);
  for (int64_t dim : order)
    shape.push_back(typeOf(x).getDimSize(dim));
  add("stablehlo.transpose", tensor(shape, elementOf(x)), x, list("permutation", order));
}

void Generator::broadcast() {
  Value x = pick([](Value v) { return volume(dimsOf(v)) <= 100 && typeOf(v).getRank() <= 3; });
  if (!x)
    return;
  if (draw.oneIn(4)) {
    Dims sizes = {draw.number(has(Flavour::emptyShapes) ? 0 : 1, 3)}, shape = sizes;
    shape.append(dimsOf(x));
    add("stablehlo.broadcast", tensor(shape, elementOf(x)), x, list("broadcast_sizes", sizes));
    return;
  }
  Dims shape, places;
  for (int64_t size : dimsOf(x)) {
    if (draw.oneIn(3))
      shape.push_back(draw.number(1, 4));
    places.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(size == 1 && draw.oneIn(2) ? draw.pick(sizes) : size);
  }
  if (draw.oneIn(3))
    shape.push_back(draw.number(1, 4));
  if (volume(shape) <= 2000)
    add("stablehlo.broadcast_in_dim", tensor(shape, elementOf(x)), x,
        list("broadcast_dimensions", places));
}

void Generator::slice() {
  Value x = ranked();
  if (!x)
    return;
  Dims starts, limits, strides, shape;
  for (int64_t size : dimsOf(x)) {
    const int64_t start = draw.oneIn(2) ? 0 : draw.number(0, size);
    const int64_t limit = draw.oneIn(2) ? size : draw.number(start, size);
    const int64_t stride = draw.oneIn(3) ? draw.number(2, 4) : 1;
    // Empty results occur now and then, and more often if the flavour asks for them.
    if (limit == start && !has(Flavour::emptyShapes) && !draw.oneIn(8) && size > 0) {
      starts.push_back(0), limits.push_back(size), strides.push_back(1), shape.push_back(size);
      continue;
    }
    starts.push_back(start);
    limits.push_back(limit);
    strides.push_back(stride);
    shape.push_back((limit - start + stride - 1) / stride);
  }
  add("stablehlo.slice", tensor(shape, elementOf(x)), x,
      {list("start_indices", starts), list("limit_indices", limits), list("strides", strides)});
}

void Generator::reverse() {
  Value x = ranked();
  if (!x)
    return;
  Dims dims;
  for (int64_t i = 0; i < typeOf(x).getRank(); ++i)
    if (draw.oneIn(2))
      dims.push_back(i);
  add("stablehlo.reverse", typeOf(x), x, list("dimensions", dims));
}

void Generator::pad() {
  Value x = any();
  if (!x)
    return;
  Dims low, high, interior, shape;
  for (int64_t size : dimsOf(x)) {
    int64_t inner = draw.oneIn(3) ? draw.number(1, 2) : 0;
    const int64_t spread = size == 0 ? 0 : size + (size - 1) * inner;
    int64_t before = draw.number(-2, 3), after = draw.number(-2, 3);
    if (spread + before + after < 0)
      before = 0, after = 0;
    low.push_back(before), high.push_back(after), interior.push_back(inner);
    shape.push_back(spread + before + after);
  }
  if (volume(shape) > 2000)
    return;
  Value filler = of(tensor({}, elementOf(x)));
  add("stablehlo.pad", tensor(shape, elementOf(x)), {x, filler},
      {list("edge_padding_low", low), list("edge_padding_high", high),
       list("interior_padding", interior)});
}

void Generator::concatenate() {
  Value x = ranked();
  if (!x)
    return;
  const int64_t dim = draw.below(typeOf(x).getRank());
  llvm::SmallVector<Value> parts = {x};
  Dims shape = dimsOf(x);
  for (int64_t i = draw.number(0, 2); i-- > 0;) {
    Dims other = dimsOf(x);
    if (draw.oneIn(3))
      other[static_cast<size_t>(dim)] = draw.number(has(Flavour::emptyShapes) ? 0 : 1, 3);
    Value part = of(tensor(other, elementOf(x)));
    shape[static_cast<size_t>(dim)] += other[static_cast<size_t>(dim)];
    parts.insert(parts.begin() + draw.below(static_cast<int64_t>(parts.size()) + 1), part);
  }
  if (volume(shape) <= 2000)
    add("stablehlo.concatenate", tensor(shape, elementOf(x)), parts, number("dimension", dim));
}

void Generator::iota() {
  Dims shape = drawDims();
  Type element = draw.pick(elements);
  if (shape.empty() || isPred(element))
    return;
  // Small types cannot count far, and the value after an overflow is undefined.
  const int64_t dim = draw.below(static_cast<int64_t>(shape.size()));
  const int64_t most = widthOf(element) < 8 ? 2 : 100;
  if (shape[static_cast<size_t>(dim)] > most || (isFloat(element) && widthOf(element) <= 8))
    return;
  add("stablehlo.iota", tensor(shape, element), {}, number("iota_dimension", dim));
}

Type Generator::drawIndexType() {
  Type index = named(draw.oneOf<const char *>({"i32", "i64", "ui32", "ui8", "i32"}));
  // jaxlib treats narrow unsigned indices as signed.
  return wishes.forJaxlib && widthOf(index) < 32 ? builder.getI32Type() : index;
}

void Generator::dynamicSlice() {
  Value x = ranked();
  if (!x)
    return;
  // jaxlib merges two slices wrongly (README.md).
  if (Operation *from = x.getDefiningOp();
      wishes.forJaxlib && from && from->getName().getStringRef() == "stablehlo.dynamic_slice")
    return;
  Type index = drawIndexType();
  llvm::SmallVector<Value> operands = {x};
  Dims sizes;
  for (int64_t size : dimsOf(x)) {
    operands.push_back(scalarIndex(index, size));
    sizes.push_back(draw.number(has(Flavour::emptyShapes) ? 0 : std::min<int64_t>(size, 1), size));
  }
  add("stablehlo.dynamic_slice", tensor(sizes, elementOf(x)), operands, list("slice_sizes", sizes));
}

void Generator::dynamicUpdateSlice() {
  Value x = ranked();
  if (!x)
    return;
  Type index = drawIndexType();
  Dims sizes;
  for (int64_t size : dimsOf(x))
    sizes.push_back(draw.number(has(Flavour::emptyShapes) ? 0 : std::min<int64_t>(size, 1), size));
  Value update = of(tensor(sizes, elementOf(x)));
  llvm::SmallVector<Value> operands = {x, update};
  for (int64_t size : dimsOf(x))
    operands.push_back(scalarIndex(index, size));
  add("stablehlo.dynamic_update_slice", typeOf(x), operands);
}

/// Gathers windows of `x`: chooses which dimensions are indexed and which ones the window drops.
void Generator::gather() {
  Value x = ranked();
  if (!x)
    return;
  const Dims dims = dimsOf(x);
  const auto rank = static_cast<int64_t>(dims.size());
  Dims indexed, collapsed, sizes, offsets, shape;
  for (int64_t i = 0; i < rank; ++i)
    if (draw.oneIn(2) || (i + 1 == rank && indexed.empty()))
      indexed.insert(indexed.begin() + draw.below(static_cast<int64_t>(indexed.size()) + 1), i);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = dims[static_cast<size_t>(i)];
    if (llvm::is_contained(indexed, i) && draw.oneIn(2) && size > 0) {
      collapsed.push_back(i);
      sizes.push_back(1);
    } else {
      sizes.push_back(draw.number(std::min<int64_t>(size, 1), size));
    }
  }
  const int64_t count = draw.number(has(Flavour::emptyShapes) ? 0 : 1, 5);
  Type element = named(draw.oneOf<const char *>({"i32", "i64", "ui32", "i8"}));
  Value indices = fresh(tensor({count, static_cast<int64_t>(indexed.size())}, element),
                        has(Flavour::outOfBounds) ? Numbers::indices : Numbers::small);
  // The batch first or last, the window in the other dimensions.
  const bool batchFirst = draw.oneIn(2);
  if (batchFirst)
    shape.push_back(count);
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(collapsed, i)) {
      offsets.push_back(static_cast<int64_t>(shape.size()));
      shape.push_back(sizes[static_cast<size_t>(i)]);
    }
  if (!batchFirst)
    shape.push_back(count);
  auto numbers = stablehlo::GatherDimensionNumbersAttr::get(&context, offsets, collapsed, {}, {},
                                                            indexed, /*index_vector_dim=*/1);
  const bool dynamic = !wishes.forJaxlib && draw.oneIn(8);
  if (dynamic)
    add("stablehlo.dynamic_gather", tensor(shape, elementOf(x)),
        {x, indices, integers(sizes, builder.getI64Type())},
        attribute("dimension_numbers", numbers));
  else
    add("stablehlo.gather", tensor(shape, elementOf(x)), {x, indices},
        {attribute("dimension_numbers", numbers), list("slice_sizes", sizes)});
}

void Generator::scatter() {
  Value x = ranked();
  if (!x)
    return;
  const Dims dims = dimsOf(x);
  const auto rank = static_cast<int64_t>(dims.size());
  Dims indexed, inserted, window, shape;
  for (int64_t i = 0; i < rank; ++i)
    if (draw.oneIn(2) || (i + 1 == rank && indexed.empty()))
      indexed.push_back(i);
  const int64_t count = draw.number(has(Flavour::emptyShapes) ? 0 : 1, 5);
  shape.push_back(count);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = dims[static_cast<size_t>(i)];
    if (llvm::is_contained(indexed, i) && draw.oneIn(2) && size > 0) {
      inserted.push_back(i);
    } else {
      window.push_back(static_cast<int64_t>(shape.size()));
      shape.push_back(draw.number(std::min<int64_t>(size, 1), size));
    }
  }
  Type element = elementOf(x);
  Type index = named(draw.oneOf<const char *>({"i32", "i64", "ui32"}));
  Value indices = fresh(tensor({count, static_cast<int64_t>(indexed.size())}, index),
                        has(Flavour::outOfBounds) ? Numbers::indices : Numbers::small);
  Value updates = of(tensor(shape, element));
  auto numbers = stablehlo::ScatterDimensionNumbersAttr::get(&context, window, inserted, {}, {},
                                                             indexed, /*index_vector_dim=*/1);
  // A scatter that replaces values depends on the order of colliding updates. jaxlib may choose
  // another order, so it gets at most one window.
  const bool replaces = draw.oneIn(3) && (count <= 1 || !wishes.forJaxlib);
  const llvm::StringRef op = combiner(element);
  addScatter({x, indices, updates}, numbers, replaces ? "" : op);
}

void Generator::addScatter(mlir::ValueRange operands, mlir::Attribute numbers, llvm::StringRef op) {
  Type element = elementOf(operands[0]);
  add("stablehlo.scatter", operands[0].getType(), operands,
      {attribute("scatter_dimension_numbers", numbers), flag("indices_are_sorted", false),
       flag("unique_indices", false)},
      {[&](Block &block) {
        if (!op.empty())
          return body(block, element, op);
        block.addArgument(tensor({}, element), loc);
        returns(block, block.addArgument(tensor({}, element), loc));
      }});
}

void Generator::indexSelect() {
  Value x = ranked();
  if (!x || volume(dimsOf(x)) == 0)
    return;
  const int64_t dim = draw.below(typeOf(x).getRank()), count = draw.number(1, 5);
  // The result for an index out of bounds is undefined in this legacy op.
  interpret::Context spending;
  interpret::Tensor places = *interpret::Tensor::allocate(
      interpret::ElementType::i32, *numerics::Shape::create({count}), spending);
  for (int64_t i = 0; i < count; ++i)
    places.set(i, numerics::Scalar::ofSigned(draw.below(typeOf(x).getDimSize(dim))));
  Value index = fresh(tensor({count}, builder.getI32Type()), places);
  Dims shape = dimsOf(x);
  shape[static_cast<size_t>(dim)] = count;
  add("stablehlo.torch_index_select", tensor(shape, elementOf(x)), {x, index},
      {number("dim", dim), number("batch_dims", 0)});
}

/// Ops that take a shape as an operand; here it is a constant and equals the shape of the result
/// type.
void Generator::shapeByValue() {
  Value x = any();
  if (!x || wishes.forJaxlib)
    return;
  Type i64 = builder.getI64Type();
  const Dims dims = dimsOf(x);
  const auto rank = static_cast<int64_t>(dims.size());
  switch (draw.below(7)) {
  case 0:
    add("stablehlo.dynamic_reshape", tensor({volume(dims)}, elementOf(x)),
        {x, integers({volume(dims)}, i64)});
    break;
  case 1: {
    Dims shape = dims, places(dims.size());
    std::iota(places.begin(), places.end(), 1);
    shape.insert(shape.begin(), draw.number(1, 3));
    if (volume(shape) <= 2000)
      add("stablehlo.dynamic_broadcast_in_dim", tensor(shape, elementOf(x)),
          {x, integers(shape, i64)}, list("broadcast_dimensions", places));
    break;
  }
  case 2:
    if (rank > 0 && !isPred(elementOf(x)) && widthOf(elementOf(x)) >= 16 && dims[0] < 100)
      add("stablehlo.dynamic_iota", typeOf(x), integers(dims, i64), number("iota_dimension", 0));
    break;
  case 3: {
    Dims low(dims.size(), 1), high(dims.size(), draw.number(0, 2)),
        inner(dims.size(), draw.below(2)), shape;
    for (size_t i = 0; i < dims.size(); ++i)
      shape.push_back(dims[i] + std::max<int64_t>(dims[i] - 1, 0) * inner[i] + low[i] + high[i]);
    if (volume(shape) <= 2000)
      add("stablehlo.dynamic_pad", tensor(shape, elementOf(x)),
          {x, of(tensor({}, elementOf(x))), integers(low, i64), integers(high, i64),
           integers(inner, i64)});
    break;
  }
  case 4: {
    Dims starts(dims.size(), 0), strides(dims.size(), draw.number(1, 2)), shape;
    for (size_t i = 0; i < dims.size(); ++i)
      shape.push_back((dims[i] + strides[i] - 1) / strides[i]);
    if (rank > 0)
      add("stablehlo.real_dynamic_slice", tensor(shape, elementOf(x)),
          {x, integers(starts, i64), integers(dims, i64), integers(strides, i64)});
    break;
  }
  case 5:
    if (rank > 0)
      add("stablehlo.get_dimension_size", tensor({}, builder.getI32Type()), x,
          number("dimension", draw.below(rank)));
    break;
  default:
    if (rank > 0) {
      const int64_t dim = draw.below(rank);
      Value size = create("stablehlo.get_dimension_size", tensor({}, builder.getI32Type()), x,
                          number("dimension", dim))
                       ->getResult(0);
      add("stablehlo.set_dimension_size", typeOf(x), {x, size}, number("dimension", dim));
    }
  }
}

} // namespace tilewright::random
