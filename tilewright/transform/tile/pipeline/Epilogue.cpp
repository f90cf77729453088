#include "tilewright/transform/tile/pipeline/Epilogue.h"
#include "tilewright/transform/tile/pipeline/ViewMapOf.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tilewright::pipeline {

using sm::Layout;

/// A tile whose last dimension is the columns as a matrix: all other dimensions are the rows.
static AffineMap matrixOfTile(RankedTensorType type) {
  MLIRContext *context = type.getContext();
  SmallVector<AffineExpr> at;
  int64_t stride = type.getNumElements() / type.getShape().back(), rows = stride;
  for (int64_t size : type.getShape().drop_back()) {
    stride /= size;
    AffineExpr index = getAffineDimExpr(0, context).floorDiv(stride);
    if (size == 1)
      index = getAffineConstantExpr(0, context);
    else if (stride * size != rows)
      index = index % size;
    at.push_back(index);
  }
  at.push_back(getAffineDimExpr(1, context));
  return AffineMap::get(2, 0, at, context);
}

static std::optional<Layout> matrixLayout(Type tile, const Layout &layout) {
  auto type = cast<RankedTensorType>(tile);
  const int64_t columns = type.getShape().back();
  std::optional<sm::ViewMap> map = sm::viewMapOf(
      matrixOfTile(type), {type.getNumElements() / columns, columns}, type.getShape());
  return map ? sm::resultLayout(layout, *map) : std::nullopt;
}

Epilogue::Epilogue(const Product &product, const Layout &accumulator) : product(product) {
  scf::ForOp loop = product.loop;
  layouts[loop.getResult(0)] = accumulator;
  for (Operation &op : loop->getBlock()->without_terminator()) {
    auto store = dyn_cast<tile::StoreOp>(op);
    if (!store) {
      // Reject other ops: the epilogue is rebuilt from its stores, which would drop an op that has
      // an effect but no result.
      if (&op != loop && !isScalar(&op) &&
          !isa<tile::LoadOp, tile::ViewOp, tile::MapOp, tile::IotaOp, tile::ReduceOp>(op))
        fail(&op, "is not supported in an epilogue");
      continue;
    }
    std::optional<Layout> layout = natural(store.getTile());
    if (!layout) {
      fail(store, "stores a tile that does not come from the product");
      return;
    }
    assign(store.getTile(), *layout);
  }
  std::string reason;
  if (tile::StoreOp store = findStoreToStage(product, reason); store && !failure) {
    std::optional<Layout> matrix =
        matrixLayout(store.getTile().getType(), layouts.find(store.getTile())->second);
    if (matrix && matrix->sameAs(accumulator))
      stagedStore = store;
  }
}

tile::StoreOp findStoreToStage(const Product &product, std::string &reason) {
  tile::KernelOp kernel = product.kernel;
  auto stores = kernel.getBody().getOps<tile::StoreOp>();
  for (tile::StoreOp store : stores) {
    auto type = cast<RankedTensorType>(store.getTile().getType());
    auto memory = cast<MemRefType>(store.getTarget().getType());
    if (!isa<FloatType>(type.getElementType()) || type.getElementTypeBitWidth() != 16 ||
        type.getRank() < 2)
      continue;
    ArrayRef<int64_t> shape = type.getShape();
    const int64_t rowBytes = memory.getShape().back() * 2;
    if (std::next(stores.begin()) != stores.end())
      reason = "it is not the only result";
    else if (product.isSwapped)
      reason = "the product is computed transposed";
    else if (rowBytes % 16 != 0)
      reason = llvm::formatv(
                   "its rows are {0} bytes apart, but the copy engine requires multiples of 16",
                   rowBytes)
                   .str();
    else if (memory.getRank() > 5)
      reason = llvm::formatv("it has {0} dimensions, but the copy engine supports at most 5",
                             memory.getRank())
                   .str();
    else if (shape.back() != product.n || type.getNumElements() != product.m * product.n)
      reason = "its tile does not have the product's shape";
    else if (store.getStrides() &&
             llvm::any_of(*store.getStrides(), [](int64_t stride) { return stride != 1; }))
      reason = "it is stored with strides";
    else if (!isa<BlockArgument>(store.getTarget()))
      reason = "it is not stored to an argument of the kernel";
    else
      return store;
  }
  return {};
}

void Epilogue::fail(Operation *op, StringRef why) {
  if (!failure)
    failure = llvm::formatv("'{0}' {1}", op->getName().getStringRef(), why).str();
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
    std::optional<sm::ViewMap> map = viewMapOf(view);
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
        std::optional<sm::ViewMap> map = viewMapOf(view);
        std::optional<Layout> source = map ? sm::sourceLayout(wanted, *map) : std::nullopt;
        if (!source)
          return fail(op, "has an index map that is incompatible with the accumulator's layout");
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
          return fail(op, "reduces a value that does not come from the product");
        give(*result);
        for (Value operand : reduce.getInputs())
          assign(operand, *input);
      })
      .Case<tile::LoadOp, tile::IotaOp>([&](auto) { give(wanted); })
      .Default([&](Operation *other) { fail(other, "is not supported in an epilogue"); });
  for (Value operand : op->getOperands())
    if (!isa<RankedTensorType>(operand.getType()) && operand.getDefiningOp() &&
        !isScalar(operand.getDefiningOp()))
      fail(op, "uses a scalar that is computed from a tile");
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
  // Build the operands first, each in the layout that this op needs.
  IRMapping operands = scalars;
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    Layout wanted = layouts.find(op->getResult(0))->second;
    if (auto view = dyn_cast<tile::ViewOp>(op))
      wanted = *sm::sourceLayout(wanted, *viewMapOf(view));
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

Layout storeLayout(const Layout &layout, RankedTensorType type) {
  using sm::Axis, sm::Digit;
  if (type.getElementTypeBitWidth() != 16 || layout.rank() == 0)
    return layout;
  SmallVector<Layout::Digits> dims(layout.getDims());
  Layout::Digits &columns = dims.back();
  // In a transposed product, the columns are the rows of the instruction: eight lanes hold eight
  // adjacent columns, and another register of each lane holds one of the next eight.
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

/// Stores registers to a slot of the channel, and copies the slot to global memory. As a matrix,
/// the tile has the accumulator's layout.
static void buildStaged(OpBuilder &b, tile::StoreOp store, Value tile, Value channel,
                        const Layout &accumulator, IRMapping &scalars) {
  Location loc = store.getLoc();
  auto type = cast<RankedTensorType>(tile.getType());
  // The dimensions along which the tile has more than one row in memory.
  SmallVector<int64_t> dims, box;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (size != 1 || int64_t(dim) == type.getRank() - 1) {
      dims.push_back(int64_t(dim));
      box.push_back(size);
    }
  if (type.getRank() > 2) {
    const int64_t columns = type.getShape().back();
    auto flat =
        RankedTensorType::get({type.getNumElements() / columns, columns}, type.getElementType());
    tile =
        tile::ViewOp::create(b, loc, sm::withLayout(flat, accumulator), tile, matrixOfTile(type));
  }
  SmallVector<Value> offsets;
  for (Value offset : store.getOffsets())
    offsets.push_back(scalars.lookup(offset));
  auto empty = sm::AcquireOp::create(b, loc, channel);
  sm::CopyOp::create(b, loc, Type(), sm::Engine::stmatrix, tile, ValueRange(), empty.getResult(0),
                     ValueRange(), false, DenseI64ArrayAttr());
  sm::PublishOp::create(b, loc, channel);
  auto full = sm::TakeOp::create(b, loc, channel);
  const bool isBox = dims.size() > 2 || (dims.size() == 2 && dims.front() != type.getRank() - 2);
  sm::CopyOp::create(b, loc, Type(), sm::Engine::tma, full.getResult(0), ValueRange(),
                     scalars.lookup(store.getTarget()), offsets, false,
                     isBox ? b.getDenseI64ArrayAttr(dims) : DenseI64ArrayAttr(),
                     isBox ? b.getDenseI64ArrayAttr(box) : DenseI64ArrayAttr(), DenseI64ArrayAttr(),
                     /*tf32=*/false);
  sm::FreeOp::create(b, loc, channel);
}

void Epilogue::build(OpBuilder &b, Value accumulator, IRMapping &scalars, Value channel) {
  scf::ForOp loop = product.loop;
  built[loop.getResult(0)] = accumulator;
  for (Operation &op : loop->getBlock()->without_terminator())
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      IRMapping operands = scalars;
      Value tile = buildValue(b, store.getTile(), scalars);
      if (channel && store == stagedStore) {
        buildStaged(b, store, tile, channel, layouts.find(loop.getResult(0))->second, scalars);
        continue;
      }
      auto type = cast<RankedTensorType>(tile.getType());
      const Layout wanted = storeLayout(layouts.find(store.getTile())->second, type);
      if (!wanted.sameAs(layouts.find(store.getTile())->second))
        tile = sm::ConvertOp::create(b, store.getLoc(), sm::withLayout(type, wanted), tile);
      operands.map(store.getTile(), tile);
      b.clone(op, operands);
    }
}

} // namespace tilewright::pipeline
