#include "tilewright/transform/tile/pipeline/Prologue.h"

#include "tilewright/dialect/sm/InstructionLayouts.h"
#include "tilewright/transform/tile/pipeline/ViewMapOf.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tilewright::pipeline {

using sm::Axis;
using sm::Layout;

/// The element width of the matrix instruction's operand, in bits.
static int64_t multiplyBits(const Product &product) {
  return cast<RankedTensorType>(product.lhs.tile.getType()).getElementTypeBitWidth();
}

RegisterRoute routeOf(const Product &product) {
  const bool kInner = !product.lhs.transposed;
  const int64_t bits = product.lhs.bits, wanted = multiplyBits(product);
  // ldmatrix reads rows of 16 bytes: eight 16-bit elements along K or, transposed, along M. Bytes
  // along M form pairs of rows. Bytes along K are loaded in pairs instead, because each of the four
  // threads of a row holds every fourth pair.
  if (bits == 16 && wanted == 16)
    return {sm::Engine::ldmatrix, false};
  if (bits == 8 && wanted == 16 && !kInner && product.lhs.packing == 1)
    return {sm::Engine::ldmatrix, true};
  return {};
}

std::optional<Layout> tensorLhsLayout(const Product &product, const GemmChoice &choice) {
  std::optional<Layout> layout =
      sm::instruction::tensorOperand(choice.m * choice.clusterM, choice.k, choice.clusterM);
  return layout && routeOf(product).pairsRows ? sm::instruction::withPairedRows(*layout) : layout;
}

Layout fragmentLayout(const Product &product, const GemmChoice &choice) {
  const int64_t bits = multiplyBits(product);
  if (choice.plan.roles.size() > tensorCompute)
    return sm::instruction::tensorRegisters(*tensorLhsLayout(product, choice),
                                            choice.plan.roles[tensorCompute].groups, bits);
  const int64_t packed = 32 / bits, groups = choice.plan.roles[1].groups;
  const int64_t steps = choice.k * bits / 256, blocks = choice.m / groups / 64;
  Layout::Digits rows, depth;
  if (choice.clusterM > 1)
    rows.push_back({choice.clusterM, Axis::cta, 1});
  if (groups > 1)
    rows.push_back({groups, Axis::group, 1});
  if (blocks > 1)
    rows.push_back({blocks, Axis::reg, 4 * packed * steps});
  rows.push_back({4, Axis::warp, 1});
  const sm::Digit half{2, Axis::reg, packed}, lanes{8, Axis::lane, 4};
  if (routeOf(product).pairsRows)
    rows.append({lanes, half});
  else
    rows.append({half, lanes});
  if (steps > 1)
    depth.push_back({steps, Axis::reg, 4 * packed});
  depth.append({{2, Axis::reg, 2 * packed}, {4, Axis::lane, 1}, {packed, Axis::reg, 1}});
  SmallVector<sm::Digit> copies;
  if (choice.clusterN > 1)
    copies.push_back({choice.clusterN, Axis::cta, 1});
  return Layout(ArrayRef<Layout::Digits>({rows, depth}), copies);
}

Layout computedRhsLayout(const Product &product, const GemmChoice &choice) {
  // A line of swizzled shared memory has 128 bytes along K or along N. A thread has a part of a
  // line, as long as possible, because its elements share scales and addresses; so the 32 lanes of
  // a warp have several lines, and the four warps four times as many.
  const int64_t line = 128 * 8 / multiplyBits(product), least = 16 * 8 / multiplyBits(product);
  const bool kInner = product.rhs.transposed;
  const int64_t lines = kInner ? choice.n : choice.k, along = kInner ? choice.k : choice.n;
  int64_t part = 4 * least;
  while (part > least && lines % (4 * 32 * part / line) != 0)
    part /= 2;
  const int64_t perPass = 32 * part / line; // the lines of a warp
  const int64_t passes = lines / (4 * perPass);
  Layout::Digits across, inner;
  if (passes > 1)
    across.push_back({passes, Axis::reg, part});
  across.append({{4, Axis::warp, 1}, {perPass, Axis::lane, line / part}});
  if (along > line)
    inner.push_back({along / line, Axis::reg, part * passes});
  inner.append({{line / part, Axis::lane, 1}, {part, Axis::reg, 1}});
  Layout::Digits &columns = kInner ? across : inner;
  if (choice.clusterN > 1)
    columns.insert(columns.begin(), {choice.clusterN, Axis::cta, 1});
  SmallVector<sm::Digit> copies;
  if (choice.clusterM > 1)
    copies.push_back({choice.clusterM, Axis::cta, 1});
  if (kInner)
    return Layout(ArrayRef<Layout::Digits>({inner, across}), copies);
  return Layout(ArrayRef<Layout::Digits>({across, inner}), copies);
}

static unsigned rankOf(Product product) {
  return static_cast<unsigned>(product.dot.getType().getRank());
}

Layout layoutInDot(const Product &product, const Layout &matrix) {
  SmallVector<Layout::Digits> dims(rankOf(product) - 2);
  llvm::append_range(dims, matrix.getDims());
  if (product.isSwapped)
    std::swap(dims.back(), dims[dims.size() - 2]);
  return Layout(dims, matrix.getCopies(), matrix.getFlips());
}

AffineMap matrixOfDot(const Product &product) {
  MLIRContext *context = product.lhs.tile.getContext();
  const unsigned rank = rankOf(product);
  SmallVector<AffineExpr> index{getAffineDimExpr(rank - 2, context),
                                getAffineDimExpr(rank - 1, context)};
  if (product.isSwapped)
    std::swap(index[0], index[1]);
  return AffineMap::get(rank, 0, index, context);
}

AffineMap dotOfMatrix(const Product &product) {
  MLIRContext *context = product.lhs.tile.getContext();
  SmallVector<AffineExpr> index(rankOf(product) - 2, getAffineConstantExpr(0, context));
  const unsigned first = product.isSwapped ? 1 : 0;
  index.append({getAffineDimExpr(first, context), getAffineDimExpr(1 - first, context)});
  return AffineMap::get(2, 0, index, context);
}

/// The order in which an instruction's positions along K, `position`, go through the depth of a
/// tile. The order of a sum is free, so if both operands are computed, it is the one in which a
/// thread's elements are contiguous in the slot of the left operand: in each step of 16 positions,
/// four threads have 2 of the first 8 and 2 of the last 8; of a depth of 64, each has a quarter.
/// nullopt if the order stays as it is in memory.
static std::optional<AffineExpr> depthOrder(const Product &product, AffineExpr position) {
  if (!product.rhs.hasPrologue || product.lhs.transposed ||
      routeOf(product).engine != sm::Engine::ld || product.k != 64 || multiplyBits(product) != 16)
    return std::nullopt;
  AffineExpr thread = position.floorDiv(2) % 4, second = position % 2,
             half = position.floorDiv(8) % 2;
  // Two elements in a word of the instruction are adjacent bytes; or, of elements of 4 bits, those
  // whose bits are 16 apart, as in the word.
  if (product.lhs.packing == 1 && product.rhs.packing == 1)
    return thread * 16 + position.floorDiv(16) * 4 + half * 2 + second;
  return thread * 16 + position.floorDiv(32) * 8 + second * 4 + position.floorDiv(16) % 2 * 2 +
         half;
}

Prologue::Prologue(const Product &product, const GemmChoice &choice, bool isLhs)
    : product(product), operand(isLhs ? product.lhs : product.rhs),
      route(isLhs ? routeOf(product) : RegisterRoute()),
      fragments(isLhs ? fragmentLayout(product, choice) : computedRhsLayout(product, choice)),
      multiplied(fragments) {
  MLIRContext *context = operand.tile.getContext();
  AffineExpr first = getAffineDimExpr(0, context), second = getAffineDimExpr(1, context);
  if (std::optional<AffineExpr> depth = depthOrder(product, isLhs ? second : first)) {
    order = AffineMap::get(2, 0, {isLhs ? first : *depth, isLhs ? *depth : second}, context);
    const SmallVector<int64_t> shape{fragments.cover(0), fragments.cover(1)};
    std::optional<sm::ViewMap> map = sm::viewMapOf(*order, shape, shape);
    // The instruction decides the layout of the left operand; that of the right one is free.
    std::optional<Layout> other;
    if (map)
      other = isLhs ? sm::sourceLayout(fragments, *map) : sm::resultLayout(fragments, *map);
    if (other)
      (isLhs ? fragments : multiplied) = *other;
    else
      fail(operand.load, "has a layout that the order of the sum does not allow");
  }
  assign(operand.tile, layoutInDot(product, fragments));
}

void Prologue::fail(Operation *op, StringRef why) {
  if (!failure)
    failure = llvm::formatv("'{0}' {1}", op->getName().getStringRef(), why).str();
}

void Prologue::assign(Value value, const Layout &wanted) {
  if (failure)
    return;
  Operation *op = value.getDefiningOp();
  if (auto known = layouts.find(value); known != layouts.end()) {
    if (!known->second.sameAs(wanted))
      fail(op, "needs two different layouts in the prologue");
    return;
  }
  for (Value result : op->getResults())
    layouts[result] = wanted;
  TypeSwitch<Operation *>(op)
      .Case([&](tile::MapOp map) {
        for (Value input : map.getInputs())
          assign(input, wanted);
      })
      .Case([&](tile::ViewOp view) {
        std::optional<sm::ViewMap> map = viewMapOf(view);
        std::optional<Layout> source = map ? sm::sourceLayout(wanted, *map) : std::nullopt;
        if (!source)
          return fail(op, "has an index map that is incompatible with the register layout of the "
                          "matrix instruction");
        assign(view.getSource(), *source);
      })
      .Case<tile::LoadOp, tile::IotaOp>([](auto) {})
      .Default([&](Operation *other) { fail(other, "is not supported in a prologue"); });
  for (Value operand : op->getOperands())
    if (!isa<RankedTensorType>(operand.getType()) && operand.getDefiningOp() &&
        !isScalar(operand.getDefiningOp()))
      fail(op, "uses a scalar that is computed from a tile");
}

bool Prologue::isBefore(Value value) {
  return !product.loop->isProperAncestor(value.getDefiningOp());
}

Value Prologue::buildValue(OpBuilder &b, Value value, const IRMapping &scalars) {
  for (auto *known : {&before, &built})
    if (Value found = known->lookup(value))
      return found;
  Operation *op = value.getDefiningOp();
  IRMapping operands = scalars;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      operands.map(operand, buildValue(b, operand, scalars));
  Operation *clone = b.clone(*op, operands);
  auto &made = isBefore(value) ? before : built;
  for (auto [old, result] : llvm::zip(op->getResults(), clone->getResults())) {
    result.setType(sm::withLayout(old.getType(), layouts.find(old)->second));
    made[old] = result;
  }
  return made.lookup(value);
}

void Prologue::buildBefore(OpBuilder &b, const IRMapping &scalars) {
  // Build in block order, so that definitions precede uses.
  for (Operation &op : product.loop->getBlock()->without_terminator())
    if (&op != product.loop && op.getNumResults() > 0 && layouts.contains(op.getResult(0)))
      buildValue(b, op.getResult(0), scalars);
}

SmallVector<Value> Prologue::loadsPastSlot() {
  SmallVector<Value> loads;
  for (Operation &op : product.loop.getBody()->without_terminator())
    if (auto load = dyn_cast<tile::LoadOp>(op);
        load && load != operand.load && layouts.contains(load.getResult()))
      loads.push_back(load.getResult());
  return loads;
}

SmallVector<Value> Prologue::buildLoads(OpBuilder &b, const IRMapping &scalars) {
  built.clear();
  return llvm::map_to_vector(loadsPastSlot(),
                             [&](Value load) { return buildValue(b, load, scalars); });
}

/// The dimensions of the raw tile that are the rows and the columns of its slot.
static std::pair<unsigned, unsigned> slotDims(const Operand &operand) {
  auto first = static_cast<unsigned>(operand.outerDims.front()),
       second = static_cast<unsigned>(operand.innerDim);
  if (operand.transposed)
    std::swap(first, second);
  return {first, second};
}

Value Prologue::read(OpBuilder &b, Value buffer) {
  tile::LoadOp load = operand.load;
  auto type = cast<sm::BufferType>(buffer.getType());
  Type element = cast<RankedTensorType>(load.getType()).getElementType();
  // The buffer has the two dimensions of the matrix; the load has all dimensions of memory.
  auto [first, second] = slotDims(operand);
  // A byte of a packed operand is in the registers of all threads that need one of its elements.
  const Layout &wanted = layouts.find(load.getResult())->second;
  const Layout held =
      operand.packing == 1
          ? fragments
          : Layout(ArrayRef<Layout::Digits>({wanted.getDims()[first], wanted.getDims()[second]}),
                   wanted.getCopies(), wanted.getFlips());
  return sm::CopyOp::create(b, load.getLoc(),
                            sm::withLayout(RankedTensorType::get(type.getShape(), element), held),
                            route.engine, buffer, ValueRange(), Value(), ValueRange(), false,
                            DenseI64ArrayAttr())
      .getResult();
}

Value Prologue::build(OpBuilder &b, Value raw, ValueRange loaded, const IRMapping &scalars) {
  built.clear();
  for (auto [load, value] : llvm::zip_equal(loadsPastSlot(), loaded))
    built[load] = value;
  tile::LoadOp load = operand.load;
  Location loc = load.getLoc();
  auto [first, second] = slotDims(operand);
  const auto rank = static_cast<unsigned>(cast<RankedTensorType>(load.getType()).getRank());
  AffineMap map = AffineMap::get(rank, 0, {b.getAffineDimExpr(first), b.getAffineDimExpr(second)},
                                 b.getContext());
  if (map.isIdentity())
    built[load.getResult()] = raw;
  else
    built[load.getResult()] = tile::ViewOp::create(
        b, loc, sm::withLayout(load.getType(), layouts.find(load.getResult())->second), raw, map);
  Value side = buildValue(b, operand.tile, scalars);
  auto sideType = cast<RankedTensorType>(side.getType());
  SmallVector<int64_t> shape{product.m, product.k};
  if (operand.load == product.rhs.load)
    shape = {product.k, product.n};
  auto matrix = RankedTensorType::get(shape, sideType.getElementType());
  if (AffineMap transpose = dotOfMatrix(product); !transpose.isIdentity())
    side = tile::ViewOp::create(b, loc, sm::withLayout(matrix, fragments), side, transpose);
  if (order)
    side = tile::ViewOp::create(b, loc, sm::withLayout(matrix, multiplied), side, *order);
  return side;
}

} // namespace tilewright::pipeline
