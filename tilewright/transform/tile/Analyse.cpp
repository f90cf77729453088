// Facts that the host needs about a kernel: which inputs it may overwrite, and its cost.
#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/transform/ElementBytes.h"
#include "tilewright/transform/tile/EmitKernel.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::tile {

//===- Aliases ------------------------------------------------------------===//

/// Whether a load reads exactly the elements that a store writes.
static bool sameBox(LoadOp load, StoreOp store) {
  auto unitStrides = [](std::optional<ArrayRef<int64_t>> strides) {
    return !strides || llvm::all_of(*strides, [](int64_t stride) { return stride == 1; });
  };
  return load.getSource().getType() == store.getTarget().getType() &&
         load.getResult().getType() == store.getTile().getType() &&
         ValueRange(load.getOffsets()) == ValueRange(store.getOffsets()) &&
         unitStrides(load.getStrides()) && unitStrides(store.getStrides());
}

/// Whether every target materializes the result of `op`. A target may recompute any other op at
/// each use, so a load may be executed as late as its last use.
static bool isRoot(Operation *op) {
  return isa<StoreOp, ScatterOp, UpdateOp, ReduceOp, ScanOp, SortOp, CarryOp, BucketOp, TakeOp,
             DotOp>(op);
}

/// All ops that `op` transitively depends on.
static llvm::SetVector<Operation *> ancestorsOf(Operation *op) {
  llvm::SetVector<Operation *> found;
  auto add = [&](Operation *reader) {
    for (Value operand : reader->getOperands())
      if (Operation *source = operand.getDefiningOp())
        found.insert(source);
  };
  add(op);
  for (size_t i = 0; i < found.size(); ++i)
    add(found[i]);
  return found;
}

/// Whether a store depends only on elementwise ops and loads. Targets emit all such stores of the
/// same box in the same loop nest.
static bool isPointwise(const llvm::SetVector<Operation *> &ancestors) {
  return llvm::all_of(ancestors, [](Operation *op) {
    if (auto view = dyn_cast<ViewOp>(op))
      return isa_and_nonnull<LoadOp, IotaOp>(view.getSource().getDefiningOp());
    return !isRoot(op) && !isa<GatherOp>(op);
  });
}

/// Whether every target emits two stores of the same box in the same loop nest: both are pointwise,
/// and no op of another dialect between them has a region (a loop) or reads a tile (extracts an
/// element).
static bool standTogether(StoreOp a, StoreOp b) {
  if (a->getBlock() != b->getBlock() || a.getTile().getType() != b.getTile().getType())
    return false;
  if (b->isBeforeInBlock(a))
    std::swap(a, b);
  for (Operation *op = a->getNextNode(); op != b; op = op->getNextNode())
    if (op->getDialect() != a->getDialect() &&
        (op->getNumRegions() > 0 || llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>)))
      return false;
  return isPointwise(ancestorsOf(a)) && isPointwise(ancestorsOf(b));
}

/// Whether every use of a loaded tile happens before `store` writes, or in its loop nest at the
/// same element. `seen` contains the values already visited, because the number of paths to a value
/// may be exponential.
static bool usedInTime(Value tile, StoreOp store, const llvm::SetVector<Operation *> &ancestors,
                       llvm::DenseSet<Value> &seen) {
  if (!seen.insert(tile).second)
    return true;
  for (Operation *user : tile.getUsers()) {
    if (isRoot(user)) {
      auto other = dyn_cast<StoreOp>(user);
      if (user != store && !ancestors.contains(user) && !(other && standTogether(other, store)))
        return false;
      continue;
    }
    auto map = dyn_cast<MapOp>(user);
    if (!map || !llvm::all_of(map.getResults(), [&](Value result) {
          return usedInTime(result, store, ancestors, seen);
        }))
      return false;
  }
  return true;
}

SmallVector<std::pair<int64_t, int64_t>> findAliases(KernelOp kernel) {
  SmallVector<std::pair<int64_t, int64_t>> aliases;
  llvm::SmallDenseSet<int64_t> taken;
  for (auto [r, output] : llvm::enumerate(kernel.getOutputs())) {
    if (!output.hasOneUse())
      continue;
    auto store = dyn_cast<StoreOp>(*output.user_begin());
    if (!store)
      continue;
    const llvm::SetVector<Operation *> ancestors = ancestorsOf(store);
    for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
      if (taken.contains(static_cast<int64_t>(i)) || input.use_empty())
        continue;
      llvm::DenseSet<Value> seen;
      const bool fits = llvm::all_of(input.getUsers(), [&](Operation *user) {
        auto load = dyn_cast<LoadOp>(user);
        return load && sameBox(load, store) && usedInTime(load.getResult(), store, ancestors, seen);
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

/// The number of arithmetic operations in one execution of a region. A function such as exp counts
/// as ten.
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
  Cost total;
  auto elements = [](Value tile) {
    return cast<RankedTensorType>(tile.getType()).getNumElements();
  };
  auto bytes = [&](Value tile) {
    return elements(tile) * elementBytes(cast<RankedTensorType>(tile.getType()).getElementType());
  };
  auto add = [&](Operation &op, int64_t iterations) {
    Cost cost;
    if (auto load = dyn_cast<LoadOp>(op))
      cost.bytes += bytes(load.getResult());
    else if (auto gather = dyn_cast<GatherOp>(op))
      cost.bytes += bytes(gather.getResult());
    else if (auto store = dyn_cast<StoreOp>(op))
      cost.bytes += bytes(store.getTile());
    else if (auto scatter = dyn_cast<ScatterOp>(op))
      cost.bytes += bytes(scatter.getTile());
    else if (auto update = dyn_cast<UpdateOp>(op)) // reads and writes
      cost.bytes += 2 * bytes(update.getTile());
    else if (auto carry = dyn_cast<CarryOp>(op)) // a word is written twice, and a few are read
      cost.bytes += 4 * bytes(carry.getInput());
    else if (auto bucket = dyn_cast<BucketOp>(op))
      cost.flops += 16 * elements(bucket.getDigits());
    else if (auto map = dyn_cast<MapOp>(op))
      cost.flops += elements(map.getResult(0)) * flopsOf(map.getBody());
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      cost.flops += elements(reduce.getInputs().front()) * flopsOf(reduce.getCombiner());
    else if (auto scan = dyn_cast<ScanOp>(op))
      cost.flops += elements(scan.getInputs().front()) * flopsOf(scan.getCombiner());
    else if (auto sort = dyn_cast<SortOp>(op)) {
      // A bitonic network has about log2(n)^2 / 2 stages, a merge log2(n); each compares half as
      // many pairs as there are elements.
      const auto size = static_cast<uint64_t>(
          cast<RankedTensorType>(sort.getInputs().front().getType()).getShape()[sort.getDim()]);
      const int64_t levels = llvm::Log2_64_Ceil(std::max<uint64_t>(size, 1));
      cost.flops += elements(sort.getInputs().front()) * flopsOf(sort.getComparator()) *
                    (sort.getMerge() ? levels : levels * (levels + 1) / 2) / 2;
    } else if (auto dot = dyn_cast<DotOp>(op))
      cost.flops += 2 * elements(dot.getResult()) *
                    cast<RankedTensorType>(dot.getLhs().getType()).getShape().back();
    total.flops += iterations * cost.flops;
    total.bytes += iterations * cost.bytes;
  };
  auto walk = [&](auto &self, Block &block, int64_t iterations) -> void {
    for (Operation &op : block) {
      add(op, iterations);
      if (auto loop = dyn_cast<scf::ForOp>(op))
        self(self, *loop.getBody(),
             iterations *
                 static_cast<int64_t>(
                     loop.getStaticTripCount().value_or(llvm::APInt(64, 1)).getZExtValue()));
    }
  };
  walk(walk, kernel.getBlock(), 1);
  return total;
}

} // namespace tilewright::tile
