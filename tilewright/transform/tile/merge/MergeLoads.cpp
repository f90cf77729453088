// tile-merge-loads: kernels of products load adjacent dimensions of memory as one.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sm/IndexFacts.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/transform/tile/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;

namespace tilewright::tile {
#define GEN_PASS_DEF_MERGELOADSPASS
#include "tilewright/transform/tile/Passes.h.inc"

namespace {

int64_t strideOf(LoadOp load, size_t dim) {
  return load.getStrides() ? (*load.getStrides())[dim] : 1;
}

/// Whether the tile of a load has all of dimension `dim` + 1 and more than one index of `dim`, so
/// that it is contiguous in both.
bool isContiguous(LoadOp load, size_t dim) {
  const ArrayRef<int64_t> memory = cast<MemRefType>(load.getSource().getType()).getShape(),
                          tile = cast<RankedTensorType>(load.getType()).getShape();
  return tile[dim] > 1 && tile[dim + 1] == memory[dim + 1] && memory[dim + 1] > 1 &&
         sm::divisorOf(load.getOffsets()[dim + 1]) == 0 && strideOf(load, dim) == 1 &&
         strideOf(load, dim + 1) == 1;
}

/// Whether dimensions `dim` and `dim` + 1 of a tile are the digits of one index wherever the tile,
/// or what maps compute from it, is viewed: those of a matrix, and not rows and columns.
bool isOneIndex(Value tile, unsigned dim, int64_t inner) {
  return !tile.use_empty() && llvm::all_of(tile.getUsers(), [&](Operation *user) {
    if (isa<MapOp>(user))
      return llvm::all_of(user->getResults(),
                          [&](Value result) { return isOneIndex(result, dim, inner); });
    auto view = dyn_cast<ViewOp>(user);
    if (!view)
      return false;
    auto rest = dyn_cast<AffineBinaryOpExpr>(view.getMap().getResult(dim + 1));
    return rest && rest.getKind() == AffineExprKind::Mod &&
           rest.getRHS() == getAffineConstantExpr(inner, tile.getContext()) &&
           view.getMap().getResult(dim) == rest.getLHS().floorDiv(inner);
  });
}

SmallVector<int64_t> merged(ArrayRef<int64_t> shape, size_t dim) {
  SmallVector<int64_t> result(shape);
  result[dim] *= result[dim + 1];
  result.erase(result.begin() + static_cast<int64_t>(dim) + 1);
  return result;
}

/// Replaces a load by one of memory in which `dim` and the next dimension are one, and views its
/// tile as before.
void mergeLoad(LoadOp load, size_t dim, int64_t inner) {
  OpBuilder b(load);
  Location loc = load.getLoc();
  auto type = cast<RankedTensorType>(load.getType());
  auto without = [&](auto list) {
    list.erase(list.begin() + static_cast<int64_t>(dim) + 1);
    return list;
  };
  SmallVector<Value> offsets(load.getOffsets());
  offsets[dim] =
      affine::makeComposedAffineApply(b, loc, b.getAffineDimExpr(0) * inner, {offsets[dim]});
  DenseI64ArrayAttr strides;
  if (load.getStrides())
    strides = b.getDenseI64ArrayAttr(without(SmallVector<int64_t>(*load.getStrides())));
  DenseBoolArrayAttr inBounds;
  if (load.getInBounds())
    inBounds = b.getDenseBoolArrayAttr(without(SmallVector<bool>(*load.getInBounds())));
  auto flat = RankedTensorType::get(merged(type.getShape(), dim), type.getElementType());
  Value tile = LoadOp::create(b, loc, flat, load.getSource(), without(offsets), load.getPadding(),
                              strides, inBounds);
  SmallVector<AffineExpr> index;
  for (unsigned at = 0; at < type.getRank(); ++at)
    if (at == dim)
      index.push_back(b.getAffineDimExpr(at) * inner + b.getAffineDimExpr(at + 1));
    else if (at != dim + 1)
      index.push_back(b.getAffineDimExpr(at));
  Value view = ViewOp::create(
      b, loc, type, tile,
      AffineMap::get(static_cast<unsigned>(type.getRank()), 0, index, b.getContext()));
  load.replaceAllUsesWith(view);
  load.erase();
}

/// Merges dimensions of a kernel's input as long as all of its loads allow it.
void mergeDims(BlockArgument argument) {
  auto memory = dyn_cast<MemRefType>(argument.getType());
  for (size_t dim = 0; memory && dim + 1 < static_cast<size_t>(memory.getRank());) {
    auto isMergeable = [&](Operation *user) {
      auto load = dyn_cast<LoadOp>(user);
      return load && isContiguous(load, dim) &&
             isOneIndex(load.getResult(), static_cast<unsigned>(dim), memory.getShape()[dim + 1]);
    };
    if (argument.use_empty() || !llvm::all_of(argument.getUsers(), isMergeable)) {
      ++dim;
      continue;
    }
    const int64_t inner = memory.getShape()[dim + 1];
    SmallVector<LoadOp> loads;
    for (Operation *user : argument.getUsers())
      loads.push_back(cast<LoadOp>(user));
    memory = MemRefType::get(merged(memory.getShape(), dim), memory.getElementType());
    argument.setType(memory);
    for (LoadOp load : loads)
      mergeLoad(load, dim, inner);
  }
}

struct MergeLoads : impl::MergeLoadsPassBase<MergeLoads> {
  void runOnOperation() override {
    if (!exec::targetOf(getOperation()).isGpu())
      return;
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      if (kernel.getBody().walk([](DotOp) { return WalkResult::interrupt(); }).wasInterrupted())
        for (BlockArgument input : kernel.getInputs())
          mergeDims(input);
  }
};

} // namespace
} // namespace tilewright::tile
