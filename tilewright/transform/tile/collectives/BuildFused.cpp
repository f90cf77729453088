#include "tilewright/transform/tile/collectives/BuildFused.h"

#include "tilewright/dialect/tile/WindowOps.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/collectives/CollectiveBuilder.h"

using namespace mlir;

namespace tilewright::tile {

CollectiveKernel FusedProduct::asCollective() const {
  CollectiveKernel kernel;
  kernel.name = name;
  kernel.element = element;
  kernel.count = rows * depth;
  kernel.ranks = ranks;
  kernel.points = points;
  return kernel;
}

namespace {

struct Fused : CollectiveBuilder {
  const FusedProduct &fused;
  Fused(ModuleOp module, const FusedProduct &fused, const CollectiveKernel &kernel)
      : CollectiveBuilder(module, kernel), fused(fused) {
    isOnHeap = fused.isOnHeap;
  }

  Value flags(int64_t count) { return window({count, 1 + fused.points}, wordType()); }
  /// The first row of this block in a shard.
  Value rowOf(Value shard) {
    AffineExpr s, p;
    bindDims(b.getContext(), s, p);
    return index(s * fused.shardRows() + p * fused.rows, {shard, point()});
  }
  Value flagOf(Value rank) {
    AffineExpr r, p;
    bindDims(b.getContext(), r, p);
    return index(r * fused.points + p, {rank, point()});
  }
  /// The rank `distance` after this one.
  Value after(Value me, Value distance) {
    AffineExpr m, d;
    bindDims(b.getContext(), m, d);
    return index((m + d) % fused.ranks, {me, distance});
  }
  Value product(Value lhs, Value rhs) {
    Value zero = zeros({fused.rows, fused.columns}, b.getF32Type());
    return DotOp::create(b, loc, zero.getType(), lhs, rhs, zero, Value(), Value(), /*tf32=*/false);
  }
  void put(Value source, ArrayRef<Value> from, int64_t count, Value target, Value rank,
           ArrayRef<Value> to, Value arrived, Value flag) {
    PutOp::create(b, loc, source, ValueRange(from), b.getI64IntegerAttr(count), target, rank,
                  ValueRange(to), arrived, flag);
  }
  Value squeeze(Value tile, ArrayRef<int64_t> shape) {
    auto from = cast<RankedTensorType>(tile.getType());
    SmallVector<AffineExpr> source(static_cast<size_t>(from.getRank()), b.getAffineConstantExpr(0));
    for (unsigned i = 0; i < 2; ++i)
      source[source.size() - 2 + i] =
          b.getAffineDimExpr(static_cast<unsigned>(shape.size()) - 2 + i);
    return ViewOp::create(
        b, loc, RankedTensorType::get(shape, from.getElementType()), tile,
        AffineMap::get(static_cast<unsigned>(shape.size()), 0, source, b.getContext()));
  }

  void allGatherProduct() {
    const int64_t all = fused.ranks * fused.shardRows();
    Value lhs = isOnHeap ? window({fused.shardRows(), fused.depth})
                         : plain({fused.shardRows(), fused.depth});
    Value rhs = plain({fused.depth, fused.columns});
    Value out = plain({all, fused.columns}, b.getF32Type());
    Value gathered = window({all, fused.depth}), arrived = flags(fused.ranks * fused.points);
    Value signals = addSignals();
    finishArguments();
    Value me = rankOf(signals), none = constant(0);
    Value own, sent;
    if (isOnHeap) {
      sent = load(lhs, {me, rowOf(none), none}, {1, fused.rows, fused.depth});
      own = squeeze(sent, {fused.rows, fused.depth});
    } else {
      own = load(lhs, {rowOf(none), none}, {fused.rows, fused.depth});
      sent = squeeze(own, {1, fused.rows, fused.depth});
    }
    forEach(constant(1), constant(fused.ranks), [&](Value distance) {
      Value peer = after(me, distance);
      if (isOnHeap)
        return put(lhs, {rowOf(none), none}, fused.rows * fused.depth, gathered, peer,
                   {rowOf(me), none}, arrived, flagOf(me));
      store(sent, gathered, {peer, rowOf(me), none});
      SignalOp::create(b, loc, arrived, peer, flagOf(me));
    });
    Value right = load(rhs, {none, none}, {fused.depth, fused.columns});
    store(product(own, right), out, {rowOf(me), none});
    // Rows that are sent first arrive first: the preceding rank sends to this one first.
    forEach(constant(1), constant(fused.ranks), [&](Value distance) {
      AffineExpr m, d;
      bindDims(b.getContext(), m, d);
      Value shard = index((m + fused.ranks - d) % fused.ranks, {me, distance});
      WaitOp::create(b, loc, arrived, flagOf(shard), b.getI64IntegerAttr(1));
      Value left = load(gathered, {me, rowOf(shard), none}, {1, fused.rows, fused.depth});
      store(product(squeeze(left, {fused.rows, fused.depth}), right), out, {rowOf(shard), none});
    });
    // The next kernel may write the rows that other ranks have gathered.
    barrier(signals);
  }

  void productReduceScatter() {
    const int64_t all = fused.ranks * fused.shardRows();
    Value lhs = plain({all, fused.depth}), rhs = plain({fused.depth, fused.columns});
    Value out = plain({fused.shardRows(), fused.columns}, b.getF32Type());
    const int64_t products[] = {fused.ranks, fused.shardRows(), fused.columns};
    Value sent = isOnHeap ? window(products, b.getF32Type()) : Value();
    Value partial = window(products, b.getF32Type());
    Value arrived = flags(fused.points), signals = addSignals();
    finishArguments();
    Value me = rankOf(signals), none = constant(0);
    Value right = load(rhs, {none, none}, {fused.depth, fused.columns});
    forEach(constant(1), constant(fused.ranks + 1), [&](Value distance) {
      Value owner = after(me, distance);
      Value left = load(lhs, {rowOf(owner), none}, {fused.rows, fused.depth});
      Value tile = squeeze(product(left, right), {1, 1, fused.rows, fused.columns});
      if (isOnHeap) {
        // Each owner has its own buffer, so a tile can be computed while NVSHMEM sends another one.
        store(tile, sent, {me, owner, rowOf(none), none});
        return put(sent, {owner, rowOf(none), none}, fused.rows * fused.columns, partial, owner,
                   {me, rowOf(none), none}, arrived, point());
      }
      store(tile, partial, {owner, me, rowOf(none), none});
      SignalOp::create(b, loc, arrived, owner, point());
    });
    WaitOp::create(b, loc, arrived, point(), b.getI64IntegerAttr(fused.ranks));
    Value sum = combineParts([&](Value rank) {
      return load(partial, {me, rank, rowOf(none), none}, {1, 1, fused.rows, fused.columns});
    });
    store(squeeze(sum, {fused.rows, fused.columns}), out, {rowOf(none), none});
    barrier(signals);
  }
};

Status check(const FusedProduct &wanted) {
  if (wanted.element != numerics::ElementType::f16 && wanted.element != numerics::ElementType::bf16)
    return Status(Code::unimplemented, concat("expects operands of f16 or bf16, got ",
                                              numerics::spelling(wanted.element)));
  if (wanted.rows % 16 != 0 || wanted.depth % 16 != 0 || wanted.columns % 8 != 0)
    return Status(Code::unimplemented,
                  concat("expects rows and depth in multiples of 16 and columns in multiples of 8, "
                         "got ",
                         wanted.rows, ", ", wanted.depth, " and ", wanted.columns));
  return Status();
}

} // namespace

Result<KernelOp> buildAllGatherProduct(ModuleOp module, const FusedProduct &wanted) {
  TILEWRIGHT_TRY(check(wanted));
  const CollectiveKernel kernel = wanted.asCollective();
  Fused builder(module, wanted, kernel);
  builder.allGatherProduct();
  return builder.kernel;
}

Result<KernelOp> buildProductReduceScatter(ModuleOp module, const FusedProduct &wanted) {
  TILEWRIGHT_TRY(check(wanted));
  const CollectiveKernel kernel = wanted.asCollective();
  Fused builder(module, wanted, kernel);
  builder.productReduceScatter();
  return builder.kernel;
}

} // namespace tilewright::tile
