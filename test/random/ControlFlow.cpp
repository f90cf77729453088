// Rules: regions, functions, and ops without arithmetic.
#include "test/random/Generator.h"

#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/Types.h"

using namespace mlir;

namespace tilewright::random {

void Generator::branch() {
  if (depth >= 2)
    return;
  Value condition = of(tensor({}, builder.getI1Type()));
  llvm::SmallVector<Type> types;
  for (int64_t i = draw.number(1, 2); i-- > 0;)
    if (Value x = any())
      types.push_back(x.getType());
  auto write = [&](Block &block) { nested(block, types, static_cast<int>(draw.below(4))); };
  keep(create("stablehlo.if", types, condition, {}, {write, write})->getResults());
}

void Generator::switchCase() {
  if (depth >= 2)
    return;
  auto type = tensor({}, builder.getI32Type());
  Value index = draw.oneIn(2) ? of(type) : fresh(type, Numbers::indices);
  llvm::SmallVector<Type> types;
  for (int64_t i = draw.number(1, 2); i-- > 0;)
    if (Value x = any())
      types.push_back(x.getType());
  auto write = [&](Block &block) { nested(block, types, static_cast<int>(draw.below(3))); };
  llvm::SmallVector<Build> branches(static_cast<size_t>(draw.number(1, 4)), write);
  keep(create("stablehlo.case", types, index, {}, branches)->getResults());
}

void Generator::countTo(Value limit, ValueRange state, const Build &write) {
  const llvm::SmallVector<Type> types(state.getTypes());
  const auto counter = typeOf(limit);
  auto test = [&](Block &block) {
    for (Type type : types)
      block.addArgument(type, loc);
    returns(block, create("stablehlo.compare", tensor({}, builder.getI1Type()),
                          {block.getArgument(0), limit}, comparison("LT"))
                       ->getResults());
  };
  auto turn = [&](Block &block) {
    for (Type type : types)
      block.addArgument(type, loc);
    Value one = create("stablehlo.constant", counter, {},
                       attribute("value",
                                 DenseElementsAttr::get(
                                     counter, builder.getIntegerAttr(counter.getElementType(), 1))))
                    ->getResult(0);
    Value next = create("stablehlo.add", counter, {block.getArgument(0), one})->getResult(0);
    write(block);
    block.getTerminator()->insertOperands(0, next);
  };
  keep(create("stablehlo.while", types, state, {}, {test, turn})->getResults());
}

/// A loop that counts up to at most five, with a few values carried along.
void Generator::loop() {
  if (depth >= 2)
    return;
  auto counter = tensor({}, named(draw.oneOf<const char *>({"i32", "i32", "i64", "ui32"})));
  Value start = constant(counter, Numbers::nothing);
  // The trip count is a constant, or known only at run time.
  Value limit =
      constant(counter, drawTensor(draw, *interpret::elementTypeOf(counter.getElementType()), {},
                                   Numbers::positive));
  if (draw.oneIn(2))
    limit = add("stablehlo.minimum", counter, {limit, of(counter)});
  llvm::SmallVector<Value> state = {start};
  for (int64_t i = draw.number(1, 3); i-- > 0;)
    if (Value x = any())
      state.push_back(x);
  const llvm::SmallVector<Type> others(ValueRange(state).drop_front().getTypes());
  countTo(limit, state,
          [&](Block &block) { nested(block, others, static_cast<int>(draw.number(1, 4))); });
}

mlir::Value Generator::integer(mlir::RankedTensorType type, int64_t value) {
  auto number = builder.getIntegerAttr(type.getElementType(), value);
  return create("stablehlo.constant", type, {},
                attribute("value", DenseElementsAttr::get(type, number)))
      ->getResult(0);
}

/// for i in [0, 5): x = x + i, with only constants: the first candidate for folding and peeling.
void Generator::constantLoop() {
  if (depth >= 2)
    return;
  auto counter = tensor({}, named(draw.oneOf<const char *>({"i32", "i64", "ui32", "i8"})));
  auto number = [&](int64_t value) { return integer(counter, value); };
  Value start = number(draw.below(3)), limit = number(draw.number(0, 8)),
        step = number(wishes.forJaxlib ? 1 : draw.number(1, 3));
  Value carried = draw.oneIn(2)
                      ? constant(counter, Numbers::small)
                      : constant(tensor(drawDims(1), counter.getElementType()), Numbers::small);
  auto type = typeOf(carried);
  const llvm::StringRef op =
      draw.oneOf<llvm::StringRef>({"stablehlo.add", "stablehlo.multiply", "stablehlo.xor",
                                   "stablehlo.subtract", "stablehlo.maximum"});
  const bool twice = draw.oneIn(2);
  llvm::SmallVector<Type> types = {counter, type};
  auto test = [&](Block &block) {
    Value i = block.addArgument(counter, loc);
    block.addArgument(type, loc);
    returns(block, create("stablehlo.compare", tensor({}, builder.getI1Type()), {i, limit},
                          comparison("LT"))
                       ->getResults());
  };
  auto write = [&](Block &block) {
    Value i = block.addArgument(counter, loc), x = block.addArgument(type, loc);
    Value spread = type == counter ? i
                                   : create("stablehlo.broadcast_in_dim", type, i,
                                            list("broadcast_dimensions", {}))
                                         ->getResult(0);
    x = create(op, type, {x, spread})->getResult(0);
    if (twice)
      x = create("stablehlo.add", type, {x, x})->getResult(0);
    returns(block, {create("stablehlo.add", counter, {i, step})->getResult(0), x});
  };
  keep(create("stablehlo.while", types, {start, carried}, {}, {test, write})->getResults());
}

/// Two inputs of the same type that are swapped in every iteration: donation must not confuse them.
void Generator::carryLoop() {
  if (depth >= 2)
    return;
  Value x = any();
  if (!x)
    return;
  Value y = like(x);
  auto counter = tensor({}, builder.getI32Type());
  Value start = constant(counter, Numbers::nothing);
  Value limit = draw.oneIn(2) ? constant(counter, Numbers::positive)
                              : add("stablehlo.minimum", counter,
                                    {of(counter), constant(counter, Numbers::positive)});
  const bool swaps = draw.oneIn(2), computes = draw.oneIn(2);
  countTo(limit, {start, x, y}, [&](Block &block) {
    Value a = block.getArgument(1), b = block.getArgument(2);
    if (computes)
      a = create(isPred(elementOf(x)) ? "stablehlo.xor" : "stablehlo.add", x.getType(), {a, b})
              ->getResult(0);
    if (swaps)
      std::swap(a, b);
    returns(block, {a, b});
  });
}

/// A private function of one or two values, called once or twice.
void Generator::callFunction() {
  Value x = any();
  if (!x || depth > 0 || isolated)
    return;
  Value y = like(x);
  const std::string name = "part" + std::to_string(functions++);
  func::FuncOp function;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(module->getBody());
    function = func::FuncOp::create(
        builder, loc, name, builder.getFunctionType({x.getType(), x.getType()}, {x.getType()}));
    function.setPrivate();
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    std::vector<Value> outside =
        std::exchange(values, {block->getArgument(0), block->getArgument(1)});
    isolated = true;
    for (int64_t i = draw.number(1, 3); i-- > 0;)
      randomOp();
    Value made = of(typeOf(x));
    isolated = false;
    values = std::move(outside);
    func::ReturnOp::create(builder, loc, made);
  }
  Value once = func::CallOp::create(builder, loc, function, ValueRange{x, y}).getResult(0);
  keep(once);
  if (draw.oneIn(2))
    keep(func::CallOp::create(builder, loc, function, ValueRange{once, x}).getResult(0));
}

void Generator::composite() {
  Value x = pick([](Value v) { return isInt(elementOf(v)) || isFloat(elementOf(v)); });
  if (!x || depth > 0 || isolated)
    return;
  const std::string name = "composite" + std::to_string(functions++);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(module->getBody());
    auto function = func::FuncOp::create(builder, loc, name,
                                         builder.getFunctionType({x.getType()}, {x.getType()}));
    function.setPrivate();
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    Value twice =
        create("stablehlo.add", x.getType(), {block->getArgument(0), block->getArgument(0)})
            ->getResult(0);
    func::ReturnOp::create(builder, loc, twice);
  }
  add("stablehlo.composite", x.getType(), x,
      {attribute("name", builder.getStringAttr("test.twice")),
       attribute("decomposition", FlatSymbolRefAttr::get(&context, name))});
}

void Generator::barrier() {
  llvm::SmallVector<Value> operands;
  for (int64_t i = draw.number(1, 3); i-- > 0;)
    if (Value x = any())
      operands.push_back(x);
  keep(create("stablehlo.optimization_barrier", ValueRange(operands).getTypes(), operands)
           ->getResults());
}

void Generator::tuple() {
  Value x = any();
  if (!x || depth > 0 || isolated)
    return;
  if (draw.oneIn(2)) { // tokens have no effect here, and must not cause a failure
    Type token = stablehlo::TokenType::get(&context);
    Value first = create("stablehlo.create_token", token, {})->getResult(0);
    create("stablehlo.after_all", token, {first, first});
    return;
  }
  Value y = any();
  Type type = TupleType::get(&context, {x.getType(), y.getType()});
  Value both = create("stablehlo.tuple", type, {x, y})->getResult(0);
  add("stablehlo.get_tuple_element", y.getType(), both, number("index", 1, 32));
}

void Generator::randomBits() {
  const auto algorithm =
      draw.oneOf({stablehlo::RngAlgorithm::THREE_FRY, stablehlo::RngAlgorithm::PHILOX,
                  stablehlo::RngAlgorithm::DEFAULT});
  const int64_t words = algorithm == stablehlo::RngAlgorithm::THREE_FRY ? 2 : draw.number(2, 3);
  auto state = tensor({words}, named("ui64"));
  Value key = fresh(state, Numbers::wide);
  auto bits = tensor(drawDims(2),
                     named(wishes.forJaxlib
                               ? "ui32"
                               : draw.oneOf<const char *>({"ui32", "ui64", "ui8", "i32", "ui16"})));
  Operation *made =
      create("stablehlo.rng_bit_generator", {state, bits}, key,
             attribute("rng_algorithm", stablehlo::RngAlgorithmAttr::get(&context, algorithm)));
  keep(made->getResults());
}

} // namespace tilewright::random
