#include "tilewright/transform/tile/pipeline/Epilogue.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tilewright::pipeline {

using sm::Layout;

Epilogue::Epilogue(const Product &product, const Layout &accumulator) : product(product) {
  scf::ForOp loop = product.loop;
  layouts[loop.getResult(0)] = accumulator;
  for (Operation &op : loop->getBlock()->without_terminator()) {
    auto store = dyn_cast<tile::StoreOp>(op);
    if (!store) {
      // What acts without a result would be lost.
      if (&op != loop && !isScalar(&op) &&
          !isa<tile::LoadOp, tile::ViewOp, tile::MapOp, tile::IotaOp, tile::ReduceOp>(op))
        fail(&op, "is no op that roles know");
      continue;
    }
    std::optional<Layout> layout = natural(store.getTile());
    if (!layout) {
      fail(store, "stores a tile that does not come from the product");
      return;
    }
    assign(store.getTile(), *layout);
  }
}

void Epilogue::fail(Operation *op, StringRef why) {
  if (!failure)
    failure = llvm::formatv("'{0}' {1}", op->getName().getStringRef(), why).str();
}

static std::optional<sm::ViewMap> mapOf(tile::ViewOp view) {
  return sm::viewMapOf(view.getMap(), view.getType().getShape(),
                       cast<RankedTensorType>(view.getSource().getType()).getShape());
}

std::optional<Layout> Epilogue::natural(Value value) {
  if (auto found = layouts.find(value); found != layouts.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto map = dyn_cast<tile::MapOp>(op)) {
    for (Value input : map.getInputs())
      if (std::optional<Layout> layout = natural(input))
        return layout;
  } else if (auto view = dyn_cast<tile::ViewOp>(op)) {
    std::optional<Layout> source = natural(view.getSource());
    std::optional<sm::ViewMap> map = mapOf(view);
    if (source && map)
      return sm::resultLayout(*source, *map);
  } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    for (Value input : reduce.getInputs())
      if (std::optional<Layout> layout = natural(input))
        return layout->reduce(reduce.getDims());
  }
  return std::nullopt;
}

void Epilogue::assign(Value value, const Layout &wanted) {
  if (failure || layouts.contains(value))
    return;
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  auto give = [&](const Layout &layout) {
    for (Value result : op->getResults())
      layouts[result] = layout;
  };
  TypeSwitch<Operation *>(op)
      .Case([&](tile::MapOp map) {
        give(wanted);
        for (Value input : map.getInputs())
          assign(input, wanted);
      })
      .Case([&](tile::ViewOp view) {
        std::optional<sm::ViewMap> map = mapOf(view);
        std::optional<Layout> source = map ? sm::sourceLayout(wanted, *map) : std::nullopt;
        if (!source)
          return fail(op, "has a map that the accumulator's layout cannot follow");
        give(wanted);
        assign(view.getSource(), *source);
      })
      .Case([&](tile::ReduceOp reduce) {
        std::optional<Layout> input;
        for (Value operand : reduce.getInputs())
          if (!input)
            input = natural(operand);
        std::optional<Layout> result = input ? input->reduce(reduce.getDims()) : std::nullopt;
        if (!result)
          return fail(op, "reduces what does not come from the product");
        give(*result);
        for (Value operand : reduce.getInputs())
          assign(operand, *input);
      })
      .Case<tile::LoadOp, tile::IotaOp>([&](auto) { give(wanted); })
      .Default([&](Operation *other) { fail(other, "is no op that roles know"); });
  for (Value operand : op->getOperands())
    if (!isa<RankedTensorType>(operand.getType()) && operand.getDefiningOp() &&
        !isScalar(operand.getDefiningOp()))
      fail(op, "takes a scalar that comes from a tile");
}

Value Epilogue::use(OpBuilder &b, Value value, const Layout &wanted, IRMapping &scalars) {
  Value found = buildValue(b, value, scalars);
  if (layouts.find(value)->second.sameAs(wanted))
    return found;
  return sm::ConvertOp::create(b, value.getLoc(), sm::withLayout(found.getType(), wanted), found);
}

Value Epilogue::buildValue(OpBuilder &b, Value value, IRMapping &scalars) {
  if (Value found = built.lookup(value))
    return found;
  Operation *op = value.getDefiningOp();
  // Operands first, each in the layout that this op needs of it.
  IRMapping operands = scalars;
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    Layout wanted = layouts.find(op->getResult(0))->second;
    if (auto view = dyn_cast<tile::ViewOp>(op))
      wanted = *sm::sourceLayout(wanted, *mapOf(view));
    else if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      wanted = layouts.find(reduce.getInputs()[0])->second;
    operands.map(operand, use(b, operand, wanted, scalars));
  }
  Operation *clone = b.clone(*op, operands);
  for (auto [old, result] : llvm::zip(op->getResults(), clone->getResults())) {
    result.setType(sm::withLayout(old.getType(), layouts.find(old)->second));
    built[old] = result;
  }
  return built.lookup(value);
}

/// The layout in which to store. An accumulator's row is in four lanes with two columns each, which
/// for 16 bits is half a sector; with the columns of two instructions exchanged among the four,
/// each has four, and the row a sector.
static Layout storeLayout(const Layout &layout, RankedTensorType type) {
  using sm::Axis, sm::Digit;
  if (type.getElementTypeBitWidth() != 16 || layout.rank() == 0)
    return layout;
  SmallVector<Layout::Digits> dims(layout.getDims());
  Layout::Digits &columns = dims.back();
  // Of a product that was computed transposed, columns are the instruction's rows: eight lanes, and
  // the eight that follow in another register.
  if (columns.size() >= 2 && columns.back() == Digit{8, Axis::lane, 4} &&
      columns[columns.size() - 2] == Digit{2, Axis::reg, 2}) {
    std::swap(columns.back(), columns[columns.size() - 2]);
    return Layout(dims, layout.getCopies(), layout.getFlips()).canonical();
  }
  if (columns.size() < 3)
    return layout;
  const Digit pair = columns[columns.size() - 1], lanes = columns[columns.size() - 2],
              blocks = columns[columns.size() - 3];
  if (pair != Digit{2, Axis::reg, 1} || lanes != Digit{4, Axis::lane, 1} ||
      blocks.axis != Axis::reg || blocks.size % 2 != 0)
    return layout;
  columns.pop_back_n(3);
  columns.append({{blocks.size / 2, Axis::reg, 2 * blocks.stride},
                  lanes,
                  {2, Axis::reg, blocks.stride},
                  pair});
  return Layout(dims, layout.getCopies(), layout.getFlips()).canonical();
}

void Epilogue::build(OpBuilder &b, Value accumulator, IRMapping &scalars) {
  scf::ForOp loop = product.loop;
  built[loop.getResult(0)] = accumulator;
  for (Operation &op : loop->getBlock()->without_terminator())
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      IRMapping operands = scalars;
      Value tile = buildValue(b, store.getTile(), scalars);
      auto type = cast<RankedTensorType>(tile.getType());
      const Layout wanted = storeLayout(layouts.find(store.getTile())->second, type);
      if (!wanted.sameAs(layouts.find(store.getTile())->second))
        tile = sm::ConvertOp::create(b, store.getLoc(), sm::withLayout(type, wanted), tile);
      operands.map(store.getTile(), tile);
      b.clone(op, operands);
    }
}

} // namespace tilewright::pipeline
