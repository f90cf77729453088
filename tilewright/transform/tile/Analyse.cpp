// What the host may know of a kernel: what it may overwrite, and what it costs.
#include "tilewright/transform/tile/EmitKernel.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::tile {

static int64_t bytesOf(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * bytesOf(complex.getElementType());
  if (type.isIndex())
    return 8;
  return std::max<int64_t>(1, type.getIntOrFloatBitWidth() / 8);
}

//===- Aliases ------------------------------------------------------------===//

/// Whether a load reads exactly what a store writes.
static bool sameBox(LoadOp load, StoreOp store) {
  auto unitStrides = [](std::optional<ArrayRef<int64_t>> strides) {
    return !strides || llvm::all_of(*strides, [](int64_t stride) { return stride == 1; });
  };
  return load.getSource().getType() == store.getTarget().getType() &&
         load.getResult().getType() == store.getTile().getType() &&
         ValueRange(load.getOffsets()) == ValueRange(store.getOffsets()) &&
         unitStrides(load.getStrides()) && unitStrides(store.getStrides());
}

/// Whether what is loaded is used at its own index only: by maps, by reductions (which end
/// before anything that needs them begins), and by stores.
static bool usedInPlace(Value tile, StoreOp store) {
  for (Operation *user : tile.getUsers()) {
    if (isa<ReduceOp>(user) || user == store)
      continue;
    if (auto other = dyn_cast<StoreOp>(user)) {
      if (!other->isBeforeInBlock(store))
        return false;
      continue;
    }
    auto map = dyn_cast<MapOp>(user);
    if (!map ||
        !llvm::all_of(map.getResults(), [&](Value result) { return usedInPlace(result, store); }))
      return false;
  }
  return true;
}

/// Whether a store after `store` needs the loaded tile.
static bool neededLater(LoadOp load, StoreOp store) {
  SmallVector<Operation *> work{load};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    for (Operation *user : op->getUsers()) {
      if (!seen.insert(user).second)
        continue;
      if (isa<StoreOp>(user) && user != store && !user->isBeforeInBlock(store))
        return true;
      work.push_back(user);
    }
  }
  return false;
}

SmallVector<std::pair<int64_t, int64_t>> findAliases(KernelOp kernel) {
  SmallVector<std::pair<int64_t, int64_t>> aliases;
  llvm::SmallDenseSet<int64_t> taken;
  for (auto [r, output] : llvm::enumerate(kernel.getOutputs())) {
    if (!output.hasOneUse())
      continue;
    auto store = dyn_cast<StoreOp>(*output.user_begin());
    if (!store || store.getTile() == Value())
      continue;
    for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
      if (taken.contains(static_cast<int64_t>(i)) || input.use_empty())
        continue;
      const bool fits = llvm::all_of(input.getUsers(), [&](Operation *user) {
        auto load = dyn_cast<LoadOp>(user);
        return load && sameBox(load, store) && usedInPlace(load.getResult(), store) &&
               !neededLater(load, store);
      });
      if (!fits)
        continue;
      aliases.push_back({static_cast<int64_t>(r), static_cast<int64_t>(i)});
      taken.insert(static_cast<int64_t>(i));
      break;
    }
  }
  return aliases;
}

//===- Cost ---------------------------------------------------------------===//

/// Operations of one pass through a region; a function such as exp counts for ten.
static int64_t flopsOf(Region &region) {
  int64_t flops = 0;
  region.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect == "math")
      flops +=
          isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::FmaOp>(op) ? 1 : 10;
    else if (dialect == "complex")
      flops += 4;
    else if (dialect == "arith" && !op->hasTrait<OpTrait::ConstantLike>())
      flops += 1;
  });
  return flops;
}

Cost costPerPoint(KernelOp kernel) {
  Cost cost;
  auto elements = [](Value tile) {
    return cast<RankedTensorType>(tile.getType()).getNumElements();
  };
  auto bytes = [&](Value tile) {
    return elements(tile) * bytesOf(cast<RankedTensorType>(tile.getType()).getElementType());
  };
  for (Operation &op : kernel.getBlock()) {
    if (auto load = dyn_cast<LoadOp>(op))
      cost.bytes += bytes(load.getResult());
    else if (auto gather = dyn_cast<GatherOp>(op))
      cost.bytes += bytes(gather.getResult());
    else if (auto store = dyn_cast<StoreOp>(op))
      cost.bytes += bytes(store.getTile());
    else if (auto map = dyn_cast<MapOp>(op))
      cost.flops += elements(map.getResult(0)) * flopsOf(map.getBody());
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      cost.flops += elements(reduce.getInputs().front()) * flopsOf(reduce.getCombiner());
    else if (auto scan = dyn_cast<ScanOp>(op))
      cost.flops += elements(scan.getInputs().front()) * flopsOf(scan.getCombiner());
    else if (auto dot = dyn_cast<DotOp>(op))
      cost.flops += 2 * elements(dot.getResult()) *
                    cast<RankedTensorType>(dot.getLhs().getType()).getShape().back();
  }
  return cost;
}

} // namespace tilewright::tile
