#include "tilewright/transform/tile/collectives/CollectiveBuilder.h"

#include "tilewright/dialect/tile/WindowOps.h"
#include "tilewright/interpret/Types.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::tile {

using numerics::CollectiveKind;
using numerics::ElementType;
using numerics::ReductionKind;

/// The threads of a block: four warps, which the layout solver chooses for tiles of this size.
constexpr int64_t threads = 128;
/// Up to this number of ranks, tiles of all ranks are loaded one after the other without waiting in
/// between; for more ranks, too many registers would be needed.
constexpr int64_t maxUnrolled = 16;

/// Integers are signless in kernels.
static Type signless(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return IntegerType::get(type.getContext(), integer.getWidth());
  return type;
}

/// Collectives that only move data treat elements as integers, so that all types share a kernel.
static Type elementTypeOf(const CollectiveKernel &wanted, MLIRContext &context) {
  if (wanted.kind == CollectiveKind::allReduce || wanted.kind == CollectiveKind::reduceScatter)
    return signless(interpret::typeOf(wanted.element, context));
  const auto bits = static_cast<unsigned>(8 * numerics::storageBytes(wanted.element));
  if (bits == 128)
    return ComplexType::get(Float64Type::get(&context));
  return IntegerType::get(&context, bits);
}

CollectiveBuilder::CollectiveBuilder(ModuleOp module, const CollectiveKernel &wanted)
    : wanted(wanted), b(module.getBodyRegion()), loc(module.getLoc()) {
  b.setInsertionPointToEnd(module.getBody());
  kernel = KernelOp::create(b, loc, b.getStringAttr(wanted.name),
                            b.getDenseI64ArrayAttr({wanted.points}), b.getI64IntegerAttr(1),
                            DenseI64ArrayAttr());
  kernel->setDiscardableAttr("warps", b.getI64IntegerAttr(threads / 32));
  Block &block = kernel.getBody().emplaceBlock();
  block.addArgument(b.getIndexType(), loc);
  b.setInsertionPointToStart(&block);
  elementType = elementTypeOf(wanted, *module.getContext());
}

// --- Parameters ---

Value CollectiveBuilder::plain(ArrayRef<int64_t> shape, Type type) {
  return kernel.getBlock().addArgument(MemRefType::get(shape, type ? type : elementType), loc);
}

Value CollectiveBuilder::window(ArrayRef<int64_t> partShape, Type type) {
  SmallVector<int64_t> shape = {wanted.ranks};
  shape.append(partShape.begin(), partShape.end());
  return kernel.getBlock().addArgument(
      MemRefType::get(shape, type ? type : elementType, MemRefLayoutAttrInterface(),
                      isOnHeap ? heapSpace(b.getContext()) : windowSpace(b.getContext())),
      loc);
}

Value CollectiveBuilder::addSignals() {
  return window({wanted.points, 2 * wanted.ranks}, wordType());
}

void CollectiveBuilder::finishArguments() {
  YieldOp::create(b, loc);
  b.setInsertionPoint(kernel.getBlock().getTerminator());
}

// --- Sizes ---

int64_t CollectiveBuilder::elementBytes() const {
  return static_cast<int64_t>(numerics::storageBytes(wanted.element));
}

int64_t CollectiveBuilder::tileElements() const { return threads * 16 / elementBytes(); }

int64_t CollectiveBuilder::paddedCount() const {
  return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(wanted.count),
                                            static_cast<uint64_t>(16 / elementBytes())));
}

// --- Indices ---

Value CollectiveBuilder::constant(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value CollectiveBuilder::index(AffineExpr expr, ArrayRef<Value> dims) {
  return affine::AffineApplyOp::create(
      b, loc, AffineMap::get(static_cast<unsigned>(dims.size()), 0, expr), ValueRange(dims));
}

Value CollectiveBuilder::rankOf(Value window) { return RankOp::create(b, loc, window); }

Value CollectiveBuilder::workerOf(Value me) {
  AffineExpr p, m;
  bindDims(b.getContext(), p, m);
  return index(p * wanted.ranks + m, {point(), me});
}

Value CollectiveBuilder::onlyOn(Value me, int64_t rank, Value worker) {
  Value isHere =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, me, constant(rank)).getResult();
  return arith::SelectOp::create(b, loc, isHere, worker, constant(int64_t(1) << 40));
}

Value CollectiveBuilder::element(Value memory, ArrayRef<Value> offsets) {
  auto type = cast<MemRefType>(memory.getType());
  Value tile = load(memory, offsets, SmallVector<int64_t>(offsets.size(), 1));
  SmallVector<AffineExpr> first(offsets.size(), b.getAffineConstantExpr(0));
  Value scalar = ViewOp::create(b, loc, RankedTensorType::get({}, type.getElementType()), tile,
                                AffineMap::get(0, 0, first, b.getContext()));
  Value value = tensor::ExtractOp::create(b, loc, scalar, ValueRange());
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
}

Value CollectiveBuilder::smaller(Value left, Value right) {
  return arith::MinSIOp::create(b, loc, left, right);
}

Value CollectiveBuilder::largest(int64_t count, function_ref<Value(Value)> each) {
  auto loop = scf::ForOp::create(b, loc, constant(0), constant(count), constant(1),
                                 ValueRange(constant(0)));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value next =
      arith::MaxSIOp::create(b, loc, loop.getRegionIterArg(0), each(loop.getInductionVar()));
  scf::YieldOp::create(b, loc, next);
  return loop.getResult(0);
}

// --- Loops ---

void CollectiveBuilder::forEach(Value from, Value to, function_ref<void(Value)> body,
                                int64_t step) {
  auto loop = scf::ForOp::create(b, loc, from, to, constant(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

void CollectiveBuilder::forPeers(Value me, function_ref<void(Value)> body) {
  forEach(constant(0), constant(wanted.ranks), [&](Value distance) {
    AffineExpr m, d;
    bindDims(b.getContext(), m, d);
    body(index((m + d) % wanted.ranks, {me, distance}));
  });
}

void CollectiveBuilder::forTiles(Value worker, int64_t workers, int64_t count, int64_t tile,
                                 function_ref<void(Value, int64_t)> body) {
  const int64_t whole = count / tile, rest = count % tile;
  AffineExpr t = b.getAffineDimExpr(0);
  if (whole > 0)
    forEach(
        worker, constant(whole), [&](Value number) { body(index(t * tile, {number}), tile); },
        workers);
  if (rest == 0)
    return;
  Value isMine =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, worker, constant(whole % workers));
  Value from = arith::SelectOp::create(b, loc, isMine, constant(whole), constant(whole + 1));
  forEach(from, constant(whole + 1), [&](Value number) { body(index(t * tile, {number}), rest); });
}

// --- Tiles ---

Value CollectiveBuilder::load(Value from, ArrayRef<Value> offsets, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, cast<MemRefType>(from.getType()).getElementType());
  return LoadOp::create(b, loc, type, from, ValueRange(offsets), Value(), DenseI64ArrayAttr(),
                        DenseBoolArrayAttr());
}

void CollectiveBuilder::store(Value tile, Value to, ArrayRef<Value> offsets) {
  StoreOp::create(b, loc, tile, to, ValueRange(offsets), DenseI64ArrayAttr(), DenseBoolArrayAttr());
}

Value CollectiveBuilder::view(Value tile, ArrayRef<int64_t> shape) {
  auto from = cast<RankedTensorType>(tile.getType());
  if (from.getShape() == shape)
    return tile;
  // Only the last dimension may be larger than 1.
  SmallVector<AffineExpr> source(static_cast<size_t>(from.getRank()), b.getAffineConstantExpr(0));
  source.back() = b.getAffineDimExpr(static_cast<unsigned>(shape.size()) - 1);
  return ViewOp::create(
      b, loc, RankedTensorType::get(shape, from.getElementType()), tile,
      AffineMap::get(static_cast<unsigned>(shape.size()), 0, source, b.getContext()));
}

Value CollectiveBuilder::zeros(ArrayRef<int64_t> shape, Type type) {
  if (!type)
    type = elementType;
  auto map = MapOp::create(b, loc, RankedTensorType::get(shape, type), ValueRange());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&map.getBody().emplaceBlock());
  Value zero;
  if (auto complex = dyn_cast<ComplexType>(type)) {
    auto part = b.getFloatAttr(complex.getElementType(), 0.0);
    zero = complex::ConstantOp::create(b, loc, complex, b.getArrayAttr({part, part}));
  } else {
    zero = arith::ConstantOp::create(b, loc, cast<TypedAttr>(b.getZeroAttr(type)));
  }
  YieldOp::create(b, loc, zero);
  return map.getResult(0);
}

Value CollectiveBuilder::tileOf(Value index, ArrayRef<int64_t> shape, Type type) {
  return IotaOp::create(b, loc, RankedTensorType::get(shape, type), index, 0, 1);
}

Value CollectiveBuilder::combineParts(function_ref<Value(Value)> part) {
  if (wanted.ranks <= maxUnrolled) {
    SmallVector<Value> tiles;
    for (int64_t rank = 0; rank < wanted.ranks; ++rank)
      tiles.push_back(part(constant(rank)));
    Value sum = tiles[0];
    for (Value tile : ArrayRef(tiles).drop_front())
      sum = combine(sum, tile);
    return sum;
  }
  Value first = part(constant(0));
  auto loop = scf::ForOp::create(b, loc, constant(1), constant(wanted.ranks), constant(1),
                                 ValueRange(first));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value next = combine(loop.getRegionIterArg(0), part(loop.getInductionVar()));
  scf::YieldOp::create(b, loc, next);
  return loop.getResult(0);
}

Value CollectiveBuilder::combine(Value left, Value right) {
  auto map = MapOp::create(b, loc, left.getType(), ValueRange({left, right}));
  Block &body = map.getBody().emplaceBlock();
  Type type = cast<RankedTensorType>(left.getType()).getElementType();
  Value x = body.addArgument(type, loc), y = body.addArgument(type, loc);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&body);
  YieldOp::create(b, loc, combineScalars(x, y));
  return map.getResult(0);
}

bool CollectiveBuilder::combines(ElementType type, ReductionKind operation) {
  switch (operation) {
  case ReductionKind::add:
  case ReductionKind::multiply:
    return true;
  case ReductionKind::maximum:
  case ReductionKind::minimum:
    return !numerics::isComplex(type);
  case ReductionKind::bitAnd:
  case ReductionKind::bitOr:
  case ReductionKind::bitXor:
    return numerics::isInteger(type) || type == ElementType::pred;
  default:
    return false;
  }
}

Value CollectiveBuilder::combineScalars(Value x, Value y) {
  auto make = [&]<typename Op>(Op *) { return Op::create(b, loc, x, y).getResult(); };
#define TILEWRIGHT_MAKE(name) make(static_cast<name *>(nullptr))
  const bool isFloat = isa<FloatType>(elementType), isComplex = isa<ComplexType>(elementType);
  // Booleans: the sum is their or, the product their and.
  const bool isBoolean = wanted.element == ElementType::pred;
  const bool isUnsigned = numerics::isUnsigned(wanted.element);
  switch (wanted.operation) {
  case ReductionKind::add:
    return isComplex   ? TILEWRIGHT_MAKE(complex::AddOp)
           : isFloat   ? TILEWRIGHT_MAKE(arith::AddFOp)
           : isBoolean ? TILEWRIGHT_MAKE(arith::OrIOp)
                       : TILEWRIGHT_MAKE(arith::AddIOp);
  case ReductionKind::multiply:
    return isComplex   ? TILEWRIGHT_MAKE(complex::MulOp)
           : isFloat   ? TILEWRIGHT_MAKE(arith::MulFOp)
           : isBoolean ? TILEWRIGHT_MAKE(arith::AndIOp)
                       : TILEWRIGHT_MAKE(arith::MulIOp);
  case ReductionKind::maximum:
    return isFloat      ? TILEWRIGHT_MAKE(arith::MaximumFOp)
           : isBoolean  ? TILEWRIGHT_MAKE(arith::OrIOp)
           : isUnsigned ? TILEWRIGHT_MAKE(arith::MaxUIOp)
                        : TILEWRIGHT_MAKE(arith::MaxSIOp);
  case ReductionKind::minimum:
    return isFloat      ? TILEWRIGHT_MAKE(arith::MinimumFOp)
           : isBoolean  ? TILEWRIGHT_MAKE(arith::AndIOp)
           : isUnsigned ? TILEWRIGHT_MAKE(arith::MinUIOp)
                        : TILEWRIGHT_MAKE(arith::MinSIOp);
  case ReductionKind::bitAnd:
    return TILEWRIGHT_MAKE(arith::AndIOp);
  case ReductionKind::bitOr:
    return TILEWRIGHT_MAKE(arith::OrIOp);
  default:
    return TILEWRIGHT_MAKE(arith::XOrIOp);
  }
#undef TILEWRIGHT_MAKE
}

// --- The interconnect ---

/// The name of an operation of the interconnect; empty if it has none.
static StringRef interconnectName(ReductionKind operation) {
  switch (operation) {
  case ReductionKind::add:
    return "add";
  case ReductionKind::maximum:
    return "max";
  case ReductionKind::minimum:
    return "min";
  case ReductionKind::bitAnd:
    return "and";
  case ReductionKind::bitOr:
    return "or";
  case ReductionKind::bitXor:
    return "xor";
  default:
    return "";
  }
}

bool CollectiveBuilder::interconnectCombines(ElementType type, ReductionKind operation) {
  switch (type) {
  case ElementType::i32:
  case ElementType::ui32:
  case ElementType::i64:
  case ElementType::ui64:
    return !interconnectName(operation).empty();
  case ElementType::f16:
  case ElementType::bf16:
  case ElementType::f32:
  case ElementType::f64:
    // Excludes min and max of f16 and bf16: the instructions drop a NaN, which StableHLO keeps.
    return operation == ReductionKind::add;
  default:
    return false;
  }
}

Value CollectiveBuilder::reduceParts(Value window, ArrayRef<Value> offsets,
                                     ArrayRef<int64_t> shape) {
  return ReducePartsOp::create(b, loc, RankedTensorType::get(shape, elementType),
                               b.getStringAttr(interconnectName(wanted.operation)), window,
                               ValueRange(offsets),
                               numerics::isUnsigned(wanted.element) ? b.getUnitAttr() : UnitAttr());
}

void CollectiveBuilder::storeParts(Value tile, Value window, ArrayRef<Value> offsets) {
  StorePartsOp::create(b, loc, tile, window, ValueRange(offsets));
}

void CollectiveBuilder::sendToAll(Value tile, Value window, Value me, ArrayRef<Value> offsets) {
  if (wanted.form == CollectiveForm::multicast)
    return storeParts(tile, window, offsets);
  forPeers(me, [&](Value peer) {
    SmallVector<Value> at = {peer};
    at.append(offsets.begin(), offsets.end());
    store(tile, window, at);
  });
}

void CollectiveBuilder::barrier(Value signals) { BarrierOp::create(b, loc, signals); }

} // namespace tilewright::tile
