// Rules: gathers and scatters of every form, loops that write slices, top_k.
#include "test/random/Generator.h"

#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/Types.h"

using namespace mlir;

namespace tilewright::random {

/// Draws which dimensions of `x` are batching dimensions, which ones are indexed, which ones the
/// window drops, and the order of the dimensions of the indices and of the result.
Generator::Windows Generator::drawWindows(Value x) {
  const Dims dims = dimsOf(x);
  const auto rank = static_cast<int64_t>(dims.size());
  Windows windows;
  const int64_t always = draw.below(rank); // this dimension is indexed
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = dims[static_cast<size_t>(i)];
    if (i != always && size > 0 && windows.batching.size() < 2 && draw.oneIn(3)) {
      windows.batching.push_back(i);
      windows.sizes.push_back(1);
      continue;
    }
    const bool isIndexed = i == always || draw.oneIn(2);
    if (isIndexed)
      windows.indexed.insert(windows.indexed.begin() +
                                 draw.below(static_cast<int64_t>(windows.indexed.size()) + 1),
                             i);
    if (isIndexed && size > 0 && draw.oneIn(2)) {
      windows.dropped.push_back(i);
      windows.sizes.push_back(1);
    } else {
      windows.kept.push_back(i);
      windows.sizes.push_back(draw.number(std::min<int64_t>(size, 1), size));
    }
  }
  // The dimensions of the indices: those of the batching dimensions, and others of any size.
  llvm::SmallVector<int64_t> batchOf; // batching dimension of the operand, or -1
  for (int64_t dim : windows.batching)
    batchOf.insert(batchOf.begin() + draw.below(static_cast<int64_t>(batchOf.size()) + 1), dim);
  for (int64_t n = draw.number(windows.batching.empty() ? 1 : 0, 2); n-- > 0;)
    batchOf.insert(batchOf.begin() + draw.below(static_cast<int64_t>(batchOf.size()) + 1), -1);
  const auto batchRank = static_cast<int64_t>(batchOf.size());
  const bool isImplicit = windows.indexed.size() == 1 && draw.oneIn(3);
  windows.vectorDim = isImplicit ? batchRank : draw.number(0, batchRank);
  Dims batchSizes;
  for (int64_t dim : batchOf)
    batchSizes.push_back(dim >= 0 ? dims[static_cast<size_t>(dim)]
                                  : draw.number(has(Flavour::emptyShapes) ? 0 : 1, 4));
  windows.indices = batchSizes;
  if (!isImplicit)
    windows.indices.insert(windows.indices.begin() + windows.vectorDim,
                           static_cast<int64_t>(windows.indexed.size()));
  for (int64_t dim : windows.batching) {
    const int64_t at = llvm::find(batchOf, dim) - batchOf.begin();
    windows.indexBatching.push_back(at + (!isImplicit && at >= windows.vectorDim ? 1 : 0));
  }
  // The result, or the updates: window dimensions among the others.
  size_t window = 0, batch = 0;
  while (window < windows.kept.size() || batch < batchSizes.size()) {
    if (batch == batchSizes.size() || (window < windows.kept.size() && draw.oneIn(2))) {
      windows.windowDims.push_back(static_cast<int64_t>(windows.result.size()));
      windows.result.push_back(windows.sizes[static_cast<size_t>(windows.kept[window++])]);
    } else {
      windows.result.push_back(batchSizes[batch++]);
    }
  }
  return windows;
}

Generator::Value Generator::drawIndices(const Windows &windows) {
  Type element = named(draw.oneOf<const char *>({"i32", "i64", "ui32", "i8", "i32"}));
  return fresh(tensor(windows.indices, element),
               has(Flavour::outOfBounds) || draw.oneIn(4) ? Numbers::indices : Numbers::small);
}

void Generator::gatherAny() {
  Value x = ranked();
  const Windows windows = x ? drawWindows(x) : Windows();
  if (!x || volume(windows.result) > 2000)
    return;
  auto numbers = stablehlo::GatherDimensionNumbersAttr::get(
      &context, windows.windowDims, windows.dropped, windows.batching, windows.indexBatching,
      windows.indexed, windows.vectorDim);
  add("stablehlo.gather", tensor(windows.result, elementOf(x)), {x, drawIndices(windows)},
      {attribute("dimension_numbers", numbers), list("slice_sizes", windows.sizes)});
}

/// A scatter of one or two tensors, whose body may have several ops.
void Generator::scatterAny() {
  Value x = ranked();
  const Windows windows = x ? drawWindows(x) : Windows();
  if (!x || volume(windows.result) > 2000)
    return;
  llvm::SmallVector<Value> inputs = {x}, updates;
  if (draw.oneIn(4))
    inputs.push_back(of(tensor(dimsOf(x), draw.pick(elements))));
  for (Value input : inputs)
    updates.push_back(of(tensor(windows.result, elementOf(input))));
  // The two flags are promises. With one window there is nothing to break.
  int64_t windowCount = volume(windows.result);
  for (int64_t dim : windows.windowDims)
    windowCount /= std::max<int64_t>(windows.result[static_cast<size_t>(dim)], 1);
  const bool isUnique = windowCount <= 1 && draw.oneIn(2);
  auto numbers = stablehlo::ScatterDimensionNumbersAttr::get(
      &context, windows.windowDims, windows.dropped, windows.batching, windows.indexBatching,
      windows.indexed, windows.vectorDim);
  llvm::SmallVector<Value> operands = inputs;
  operands.push_back(drawIndices(windows));
  llvm::append_range(operands, updates);
  auto write = [&](Block &block) {
    llvm::SmallVector<Value> old, added, made;
    for (Value input : inputs)
      old.push_back(block.addArgument(tensor({}, elementOf(input)), loc));
    for (Value input : inputs)
      added.push_back(block.addArgument(tensor({}, elementOf(input)), loc));
    for (auto [a, b] : llvm::zip_equal(old, added))
      made.push_back(combineUpdate(a, b, /*isAlone=*/inputs.size() == 1));
    returns(block, made);
  };
  keep(create("stablehlo.scatter", ValueRange(inputs).getTypes(), operands,
              {attribute("scatter_dimension_numbers", numbers),
               flag("indices_are_sorted", isUnique), flag("unique_indices", isUnique)},
              {write})
           ->getResults());
}

/// An element after an update: replaced, combined, or computed by two ops. The order of updates
/// matters only if they replace.
Generator::Value Generator::combineUpdate(Value old, Value update, bool isAlone) {
  Type element = elementOf(old), type = old.getType();
  if (draw.oneIn(3))
    return update;
  // Sums of floats have bounds only in a scatter of one tensor with one op.
  if (isComplex(element) && !isAlone)
    return update;
  if (isFloat(element) && !isAlone)
    return create(draw.oneOf<llvm::StringRef>({"stablehlo.maximum", "stablehlo.minimum"}), type,
                  {old, update})
        ->getResult(0);
  if (isInt(element) && draw.oneIn(3)) {
    Value square = create("stablehlo.multiply", type, {update, update})->getResult(0);
    return create(draw.oneOf<llvm::StringRef>({"stablehlo.add", "stablehlo.subtract"}), type,
                  {old, square})
        ->getResult(0);
  }
  return create(combiner(element), type, {old, update})->getResult(0);
}

/// A scan: iteration i reads row i of one array and writes row i of another, in place.
void Generator::updateLoop() {
  if (depth >= 2)
    return;
  Value rows = pick([](Value v) {
    return typeOf(v).getRank() > 0 && typeOf(v).getDimSize(0) <= 8 && volume(dimsOf(v)) > 0;
  });
  if (!rows)
    return;
  const Dims dims = dimsOf(rows);
  Dims row = dims;
  row[0] = 1;
  Type element = elementOf(rows);
  auto counter = tensor({}, draw.oneIn(2) ? builder.getI32Type() : builder.getI64Type());
  auto number = [&](int64_t value) { return integer(counter, value); };
  // One iteration more than there are rows: the last start index is clamped.
  const int64_t count = dims[0] + (draw.oneIn(4) ? 1 : 0);
  Value carried = of(tensor(row, element)), stack = like(rows), start = number(0),
        limit = number(count);
  const bool reversed = draw.oneIn(3), reads = draw.oneIn(2);
  const llvm::StringRef op =
      isPred(element)    ? "stablehlo.xor"
      : isFloat(element) ? draw.oneOf<llvm::StringRef>({"stablehlo.maximum", "stablehlo.add"})
                         : "stablehlo.add";
  countTo(limit, {start, carried, stack}, [&](Block &block) {
    Value at = block.getArgument(0), sum = block.getArgument(1), written = block.getArgument(2);
    if (reversed)
      at = create("stablehlo.subtract", counter, {number(count - 1), at})->getResult(0);
    llvm::SmallVector<Value> indices = {at};
    for (size_t i = 1; i < dims.size(); ++i)
      indices.push_back(number(0));
    auto rowOf = [&](Value array) {
      llvm::SmallVector<Value> operands = {array};
      llvm::append_range(operands, indices);
      return create("stablehlo.dynamic_slice", tensor(row, element), operands,
                    list("slice_sizes", row))
          ->getResult(0);
    };
    sum = create(op, sum.getType(), {sum, rowOf(rows)})->getResult(0);
    if (reads) // of the array that is written
      sum = create(op, sum.getType(), {sum, rowOf(written)})->getResult(0);
    llvm::SmallVector<Value> operands = {written, sum};
    llvm::append_range(operands, indices);
    Value next =
        create("stablehlo.dynamic_update_slice", written.getType(), operands)->getResult(0);
    returns(block, {sum, next});
  });
}

/// JAX's top_k: a composite whose decomposition sorts.
void Generator::topK() {
  Value x = pick([](Value v) {
    return typeOf(v).getRank() > 0 && !isComplex(elementOf(v)) && !isPred(elementOf(v)) &&
           widthOf(elementOf(v)) >= 8 && volume(dimsOf(v)) > 0;
  });
  if (!x || depth > 0 || isolated)
    return;
  const int64_t last = typeOf(x).getRank() - 1, k = draw.number(1, typeOf(x).getDimSize(last));
  Type element = elementOf(x), index = builder.getI32Type();
  const Dims dims = dimsOf(x);
  Dims shape = dims;
  shape.back() = k;
  const llvm::SmallVector<Type> types = {tensor(shape, element), tensor(shape, index)};
  const std::string name = "top_k" + std::to_string(functions++);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(module->getBody());
    auto function =
        func::FuncOp::create(builder, loc, name, builder.getFunctionType({x.getType()}, types));
    function.setPrivate();
    builder.setInsertionPointToEnd(function.addEntryBlock());
    Value places =
        create("stablehlo.iota", tensor(dims, index), {}, this->number("iota_dimension", last))
            ->getResult(0);
    auto before = [&](Block &block) {
      for (Type type : {element, element, index, index})
        block.addArgument(tensor({}, type), loc);
      returns(block, compareScalars(block.getArgument(0), block.getArgument(1), "GT", true));
    };
    Operation *sorted =
        create("stablehlo.sort", {x.getType(), places.getType()}, {function.getArgument(0), places},
               {this->number("dimension", last), flag("is_stable", true)}, {before});
    llvm::SmallVector<Value> made;
    for (auto [value, type] : llvm::zip_equal(sorted->getResults(), types))
      made.push_back(create("stablehlo.slice", type, value,
                            {list("start_indices", Dims(dims.size(), 0)),
                             list("limit_indices", shape), list("strides", Dims(dims.size(), 1))})
                         ->getResult(0));
    func::ReturnOp::create(builder, loc, made);
  }
  keep(create("stablehlo.composite", types, x,
              {attribute("name", builder.getStringAttr("chlo.top_k")),
               attribute("composite_attributes",
                         builder.getDictionaryAttr({this->number("k", k), flag("largest", true)})),
               attribute("decomposition", FlatSymbolRefAttr::get(&context, name))})
           ->getResults());
}

} // namespace tilewright::random
