// Rules: ops of the sizes at which compilers choose other algorithms: matrix instructions, tiles,
// loops over long rows, merges.
#include "test/random/Generator.h"

#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/Types.h"

using namespace mlir;

namespace tilewright::random {

/// A row of a table of algorithms: the type of the factors, and the number of products.
struct Algorithm {
  const char *type;
  int64_t products;
};

stablehlo::DotAlgorithmAttr Generator::drawAlgorithm() {
  static constexpr Algorithm all[] = {{"bf16", 1}, {"bf16", 3}, {"bf16", 6}, {"bf16", 9},
                                      {"tf32", 1}, {"tf32", 3}, {"f16", 1},  {"f32", 1}};
  const Algorithm &chosen = draw.pick(all);
  Type type = named(chosen.type);
  // Producers leave the number of parts at 1, or write it.
  const int64_t parts = chosen.products == 1 || draw.oneIn(2) ? 1 : chosen.products == 3 ? 2 : 3;
  return stablehlo::DotAlgorithmAttr::get(&context, type, type, builder.getF32Type(), parts, parts,
                                          chosen.products, false);
}

/// A product of two matrices that fills a tile or not, with what compilers fuse before and after:
/// operands converted and scaled, a bias, a maximum with zero, a sum of rows.
void Generator::wideProduct() {
  static constexpr int64_t extents[] = {1, 3, 8, 16, 17, 32, 40, 64, 65, 96, 130};
  static constexpr const char *types[] = {"f16", "bf16",     "f32",    "f32", "f32",
                                          "f64", "i8",       "ui8",    "i32", "complex<f32>",
                                          "i4",  "f8E4M3FN", "f8E5M2", "f16", "bf16"};
  const int64_t m = draw.pick(extents), n = draw.pick(extents), k = draw.pick(extents);
  if (m * n * k > 120000)
    return;
  Type element = named(draw.pick(types)), result = element;
  if (isFloat(element) && !element.isF64())
    result = draw.oneIn(3) && widthOf(element) == 16 ? element : builder.getF32Type();
  else if (isInt(element))
    result = isUnsigned(element) ? element : static_cast<Type>(builder.getI32Type());
  const bool batched = draw.oneIn(4), leftTurned = draw.oneIn(2), rightTurned = draw.oneIn(2);
  auto dims = [&](int64_t rows, int64_t columns, bool isTurned) {
    Dims shape = isTurned ? Dims{columns, rows} : Dims{rows, columns};
    if (batched)
      shape.insert(shape.begin(), 2);
    return shape;
  };
  auto operand = [&](const Dims &shape) {
    // Exact sums, or all bits of a number.
    const Numbers numbers = isFloat(element) && draw.oneIn(2) ? Numbers::wide : Numbers::small;
    if ((element.isF16() || element.isBF16()) && draw.oneIn(3)) {
      // Converted from a narrow type, and scaled.
      Type narrow = named(draw.oneOf<const char *>({"i8", "f8E4M3FN", "f8E5M2", "i4", "f32"}));
      Value x = add("stablehlo.convert", tensor(shape, element),
                    fresh(tensor(shape, narrow), Numbers::small));
      Value scale = fresh(tensor({shape.back()}, element), Numbers::positive);
      scale = add("stablehlo.broadcast_in_dim", tensor(shape, element), scale,
                  list("broadcast_dimensions", {static_cast<int64_t>(shape.size()) - 1}));
      return draw.oneIn(2) ? add("stablehlo.multiply", tensor(shape, element), {x, scale}) : x;
    }
    return fresh(tensor(shape, element), numbers);
  };
  const int64_t first = batched ? 1 : 0;
  const Dims batch = batched ? Dims{0} : Dims{};
  auto numbers = stablehlo::DotDimensionNumbersAttr::get(
      &context, batch, batch, {first + (leftTurned ? 0 : 1)}, {first + (rightTurned ? 1 : 0)});
  llvm::SmallVector<NamedAttribute> attributes = {attribute("dot_dimension_numbers", numbers)};
  if (element.isF32() && draw.oneIn(2)) {
    auto precision = stablehlo::PrecisionAttr::get(
        &context, draw.oneOf({stablehlo::Precision::DEFAULT, stablehlo::Precision::HIGH,
                              stablehlo::Precision::HIGHEST}));
    attributes.push_back(
        attribute("precision_config", builder.getArrayAttr({precision, precision})));
  } else if (element.isF32() && draw.oneIn(2)) {
    attributes.push_back(attribute("algorithm", drawAlgorithm()));
  }
  Value x = operand(dims(m, k, leftTurned)), y = operand(dims(k, n, rightTurned));
  auto type = tensor(dims(m, n, false), result);
  Value product = add("stablehlo.dot_general", type, {x, y}, attributes);
  if (draw.oneIn(2)) {
    Value bias = fresh(tensor({n}, result), Numbers::small);
    bias = add("stablehlo.broadcast_in_dim", type, bias, list("broadcast_dimensions", {first + 1}));
    product = add("stablehlo.add", type, {product, bias});
  }
  if (!isComplex(result) && draw.oneIn(3))
    add("stablehlo.maximum", type, {product, constant(type, Numbers::nothing)});
  if (draw.oneIn(4))
    sumOver(product, first + draw.below(2));
}

/// A sum or a maximum over one dimension.
void Generator::sumOver(Value x, int64_t dim) {
  Type element = elementOf(x);
  const llvm::StringRef op = combiner(element);
  Dims shape = dimsOf(x);
  shape.erase(shape.begin() + dim);
  add("stablehlo.reduce", tensor(shape, element), {x, startOf(op, element)},
      list("dimensions", {dim}), {[&](Block &block) { body(block, element, op); }});
}

/// Attention: two products with a softmax of the rows between them.
void Generator::attention() {
  static constexpr int64_t extents[] = {1, 7, 16, 33, 64, 100};
  const int64_t rows = draw.pick(extents), columns = draw.pick(extents),
                depths = draw.oneOf<int64_t>({4, 16, 20, 64});
  if (rows * columns * depths > 120000)
    return;
  Type element = named(draw.oneOf<const char *>({"f16", "bf16", "f32"})),
       single = builder.getF32Type();
  auto logits = tensor({rows, columns}, single), sums = tensor({rows}, single);
  auto product = [&](Value x, Value y, TensorType type, int64_t contracted) {
    auto numbers = stablehlo::DotDimensionNumbersAttr::get(&context, {}, {}, {1}, {contracted});
    return add("stablehlo.dot_general", type, {x, y}, attribute("dot_dimension_numbers", numbers));
  };
  auto spread = [&](Value row) {
    return add("stablehlo.broadcast_in_dim", logits, row, list("broadcast_dimensions", {0}));
  };
  auto reduced = [&](Value x, llvm::StringRef op) {
    const interpret::ElementType type = interpret::ElementType::f32;
    interpret::Context spending;
    Value start = constant(
        tensor({}, single),
        *interpret::Tensor::scalar(
            type, op == "stablehlo.add" ? numerics::zeroOf(type) : numerics::lowestOf(type),
            spending));
    return add("stablehlo.reduce", sums, {x, start}, list("dimensions", {1}),
               {[&](Block &block) { body(block, single, op); }});
  };
  Value scores = product(fresh(tensor({rows, depths}, element), Numbers::small),
                         fresh(tensor({columns, depths}, element), Numbers::small), logits, 1);
  if (draw.oneIn(2)) { // a mask
    Value allowed = fresh(tensor({rows, columns}, builder.getI1Type()));
    interpret::Context spending;
    Value low =
        constant(logits, *interpret::Tensor::filled(interpret::ElementType::f32,
                                                    *numerics::Shape::create(logits.getShape()),
                                                    numerics::Scalar::ofReal(-1e9), spending));
    scores = add("stablehlo.select", logits, {allowed, scores, low});
  }
  Value largest = spread(reduced(scores, "stablehlo.maximum"));
  Value powers =
      add("stablehlo.exponential", logits, add("stablehlo.subtract", logits, {scores, largest}));
  Value weights =
      add("stablehlo.divide", logits, {powers, spread(reduced(powers, "stablehlo.add"))});
  if (!element.isF32())
    weights = add("stablehlo.convert", tensor({rows, columns}, element), weights);
  product(weights, fresh(tensor({columns, depths}, element), Numbers::small),
          tensor({rows, depths}, single), 0);
}

/// JAX's ragged_dot: each group of rows is multiplied by its own matrix. The decomposition computes
/// all products and selects.
void Generator::raggedDot() {
  if (depth > 0 || isolated)
    return;
  const int64_t rows = draw.oneOf<int64_t>({1, 7, 20, 70}), depths = draw.number(1, 9),
                columns = draw.number(1, 9), groups = draw.number(1, 4);
  Type element = named(draw.oneOf<const char *>({"f32", "f32", "bf16", "i32", "f64"}));
  Type result = element.isBF16() ? static_cast<Type>(builder.getF32Type()) : element;
  auto i32 = builder.getI32Type();
  auto type = tensor({rows, columns}, result);
  const llvm::SmallVector<Type> types = {tensor({rows, depths}, element),
                                         tensor({groups, depths, columns}, element),
                                         tensor({groups}, i32)};
  interpret::Context spending;
  interpret::Tensor counts = *interpret::Tensor::allocate(
      interpret::ElementType::i32, *numerics::Shape::create({groups}), spending);
  for (int64_t g = 0, left = rows; g < groups; ++g) {
    const int64_t count = draw.oneIn(3) ? 0 : draw.number(0, left);
    counts.set(g, numerics::Scalar::ofSigned(count));
    left -= count;
  }
  const std::string name = "ragged_dot" + std::to_string(functions++);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(module->getBody());
    auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, type));
    function.setPrivate();
    builder.setInsertionPointToEnd(function.addEntryBlock());
    func::ReturnOp::create(builder, loc, selectedProducts(function.getArguments(), type));
  }
  auto dims = [&](ArrayRef<int64_t> values) -> Attribute {
    return DenseIntElementsAttr::get(
        RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getI64Type()), values);
  };
  const char *precision = draw.oneOf<const char *>({"DEFAULT", "HIGHEST"});
  auto lists =
      builder.getArrayAttr({dims({}), dims({}), dims({1}), dims({1}), dims({0}), dims({0})});
  auto attributes = builder.getDictionaryAttr(
      {attribute("precision_config", builder.getStrArrayAttr({precision, precision})),
       attribute("ragged_dot_dimension_numbers", lists)});
  Value x = fresh(cast<TensorType>(types[0]), Numbers::small),
        w = fresh(cast<TensorType>(types[1]), Numbers::small),
        sizes = fresh(cast<TensorType>(types[2]), counts);
  add("stablehlo.composite", type, {x, w, sizes},
      {attribute("name", builder.getStringAttr("chlo.ragged_dot")),
       attribute("composite_attributes", attributes),
       attribute("decomposition", FlatSymbolRefAttr::get(&context, name))});
}

/// For each group, the product of all rows by its matrix, of which its own rows are selected.
Generator::Value Generator::selectedProducts(ValueRange arguments, TensorType type) {
  Value x = arguments[0], w = arguments[1], sizes = arguments[2];
  const Dims all = dimsOf(w);
  auto scalar = tensor({}, builder.getI32Type()),
       places = tensor(type.getShape(), builder.getI32Type());
  auto made = [&](llvm::StringRef op, Type result, ValueRange operands,
                  ArrayRef<Named> attributes = {}) {
    return create(op, result, operands, attributes)->getResult(0);
  };
  auto zeros = [&](TensorType of) {
    return made("stablehlo.constant", of, {},
                attribute("value", DenseElementsAttr::get(of, cast<TypedAttr>(builder.getZeroAttr(
                                                                  of.getElementType())))));
  };
  auto part = [&](Value from, TensorType result, ArrayRef<int64_t> start, ArrayRef<int64_t> limit) {
    Dims shape;
    for (auto [low, high] : llvm::zip_equal(start, limit))
      shape.push_back(high - low);
    Value cut = made("stablehlo.slice", tensor(shape, elementOf(from)), from,
                     {list("start_indices", start), list("limit_indices", limit),
                      list("strides", Dims(start.size(), 1))});
    return made("stablehlo.reshape", result, cut);
  };
  Value row = made("stablehlo.iota", places, {}, number("iota_dimension", 0)), sum = zeros(type),
        begin = zeros(scalar);
  for (int64_t g = 0; g < all[0]; ++g) {
    Value matrix =
        part(w, tensor({all[1], all[2]}, elementOf(w)), {g, 0, 0}, {g + 1, all[1], all[2]});
    Value end = made("stablehlo.add", scalar, {begin, part(sizes, scalar, {g}, {g + 1})});
    auto numbers = stablehlo::DotDimensionNumbersAttr::get(&context, {}, {}, {1}, {0});
    Value product = made("stablehlo.dot_general", type, {x, matrix},
                         attribute("dot_dimension_numbers", numbers));
    auto compared = [&](Value limit, llvm::StringRef direction) {
      Value spread =
          made("stablehlo.broadcast_in_dim", places, limit, list("broadcast_dimensions", {}));
      return made("stablehlo.compare", tensor(type.getShape(), builder.getI1Type()), {row, spread},
                  comparison(direction));
    };
    Value inside = made("stablehlo.and", tensor(type.getShape(), builder.getI1Type()),
                        {compared(begin, "GE"), compared(end, "LT")});
    sum = made("stablehlo.select", type, {inside, product, sum});
    begin = end;
  }
  return sum;
}

/// A row that does not fit into one block: sorted, summed up to each element, reduced, or added up
/// at few places.
void Generator::longRow() {
  Type element = draw.pick(elements);
  if (widthOf(element) < 8)
    return;
  const int64_t rows = draw.number(1, 2);
  const int64_t n = draw.oneOf<int64_t>({700, 1025, 2048, 5000, 9000});
  auto type = tensor({rows, n}, element);
  switch (draw.below(4)) {
  case 0:
    if (!isComplex(element))
      sortBy(fresh(type), 1);
    break;
  case 1:
    if (n <= 1025) // the evaluator combines n elements for each of n
      prefix(fresh(type), 1);
    break;
  case 2:
    sumOver(fresh(type), draw.below(2));
    break;
  default: {
    Value x = fresh(tensor({draw.number(1, 50), 2}, element)),
          indices = fresh(tensor({n, 1}, builder.getI32Type()), Numbers::wide),
          updates = fresh(tensor({n, 2}, element));
    // Indices at random below 64, so that many collide and some are out of bounds.
    interpret::Context spending;
    auto places = typeOf(indices);
    indices = add("stablehlo.and", places,
                  {indices, constant(places, *interpret::Tensor::filled(
                                                 interpret::ElementType::i32,
                                                 *numerics::Shape::create(places.getShape()),
                                                 numerics::Scalar::ofSigned(63), spending))});
    auto numbers = stablehlo::ScatterDimensionNumbersAttr::get(&context, {1}, {0}, {}, {}, {0}, 1);
    const llvm::StringRef op = combiner(element);
    const bool replaces = draw.oneIn(3);
    addScatter({x, indices, updates}, numbers, replaces ? "" : op);
  }
  }
}

/// The combination of all elements up to each one, or from each one on: JAX's cumsum.
void Generator::prefixes() {
  Value x = pick([](Value v) {
    return typeOf(v).getRank() > 0 && volume(dimsOf(v)) > 0 && volume(dimsOf(v)) <= 2000;
  });
  if (x)
    prefix(x, draw.below(typeOf(x).getRank()));
}

void Generator::prefix(Value x, int64_t dim) {
  Type element = elementOf(x);
  const auto rank = static_cast<size_t>(typeOf(x).getRank());
  const int64_t size = typeOf(x).getDimSize(dim);
  Dims window(rank, 1), ones(rank, 1), edges(2 * rank, 0);
  window[static_cast<size_t>(dim)] = size;
  edges[2 * static_cast<size_t>(dim) + (draw.oneIn(3) ? 1 : 0)] = size - 1;
  const llvm::StringRef op = combiner(element);
  add("stablehlo.reduce_window", typeOf(x), {x, startOf(op, element)},
      {list("window_dimensions", window), list("window_strides", ones),
       list("base_dilations", ones), list("window_dilations", ones), padding("padding", edges)},
      {[&](Block &block) { body(block, element, op); }});
}

/// A sort by two keys, with a third tensor sorted along.
void Generator::sortByKeys() {
  Value x = pick([](Value v) { return typeOf(v).getRank() > 0 && !isComplex(elementOf(v)); });
  if (x)
    sortBy(x, draw.below(typeOf(x).getRank()));
}

void Generator::sortBy(Value x, int64_t dim) {
  llvm::SmallVector<Value> operands = {x};
  Type second = draw.pick(elements);
  if (!isComplex(second))
    operands.push_back(of(tensor(dimsOf(x), second)));
  operands.push_back(create("stablehlo.iota", tensor(dimsOf(x), builder.getI32Type()), {},
                            number("iota_dimension", dim))
                         ->getResult(0));
  const bool isDescending = draw.oneIn(2);
  auto truth = tensor({}, builder.getI1Type());
  auto before = [&](Block &block) {
    for (Value operand : operands)
      for (int i = 0; i < 2; ++i)
        block.addArgument(tensor({}, elementOf(operand)), loc);
    Value a = block.getArgument(0), b = block.getArgument(1), c = block.getArgument(2),
          d = block.getArgument(3);
    Value isFirst = compareScalars(a, b, isDescending ? "GT" : "LT", true);
    Value ties = compareScalars(a, b, "EQ", true), isNext = compareScalars(c, d, "LT", true);
    Value both = create("stablehlo.and", truth, {ties, isNext})->getResult(0);
    returns(block, create("stablehlo.or", truth, {isFirst, both})->getResults());
  };
  keep(create("stablehlo.sort", ValueRange(operands).getTypes(), operands,
              {number("dimension", dim), flag("is_stable", true)}, {before})
           ->getResults());
}

} // namespace tilewright::random
