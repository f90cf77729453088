#include "tilewright/target/cpu/emit/KernelPlan.h"

#include "tilewright/target/cpu/emit/IndexForm.h"
#include "tilewright/target/lanes/RegionEmitter.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::cpu {

static ArrayRef<int64_t> shapeOf(Value tile) {
  return cast<RankedTensorType>(tile.getType()).getShape();
}

SmallVector<int64_t> loopsOf(const Root &root) {
  if (!root.op)
    return llvm::to_vector(shapeOf(root.kept));
  if (auto store = dyn_cast<tile::StoreOp>(root.op))
    return llvm::to_vector(shapeOf(store.getTile()));
  if (auto dot = dyn_cast<tile::DotOp>(root.op)) {
    // The loops are the result's dimensions, then k.
    SmallVector<int64_t> loops = llvm::to_vector(shapeOf(dot.getResult()));
    loops.push_back(shapeOf(dot.getLhs()).back());
    return loops;
  }
  return llvm::to_vector(shapeOf(root.op->getOperand(0)));
}

SmallVector<int64_t> reducedOf(const Root &root) {
  SmallVector<int64_t> dims;
  if (auto reduce = dyn_cast_or_null<tile::ReduceOp>(root.op))
    dims = llvm::to_vector(reduce.getDims());
  else if (auto scan = dyn_cast_or_null<tile::ScanOp>(root.op))
    dims = {static_cast<int64_t>(scan.getDim())};
  else if (isa_and_nonnull<tile::DotOp>(root.op))
    dims = {static_cast<int64_t>(loopsOf(root).size()) - 1};
  llvm::sort(dims);
  return dims;
}

SmallVector<std::pair<Value, AffineMap>> readsOf(const Root &root) {
  SmallVector<int64_t> sizes = loopsOf(root);
  unsigned rank = sizes.size();
  MLIRContext *context = root.op ? root.op->getContext() : root.kept.getContext();
  AffineMap identity = simplifyMap(AffineMap::getMultiDimIdentityMap(rank, context), sizes);
  SmallVector<std::pair<Value, AffineMap>> reads;
  if (!root.op) {
    if (auto map = root.kept.getDefiningOp<tile::MapOp>())
      for (Value operand : map.getInputs())
        reads.emplace_back(operand, identity);
    else
      reads.emplace_back(root.kept, identity);
  } else if (auto store = dyn_cast<tile::StoreOp>(root.op)) {
    reads.emplace_back(store.getTile(), identity);
  } else if (auto reduce = dyn_cast<tile::ReduceOp>(root.op)) {
    for (Value input : reduce.getInputs())
      reads.emplace_back(input, identity);
  } else if (auto scan = dyn_cast<tile::ScanOp>(root.op)) {
    AffineMap map = identity;
    if (scan.getReverse()) {
      SmallVector<AffineExpr> exprs = llvm::to_vector(identity.getResults());
      int64_t dim = scan.getDim();
      exprs[dim] = getAffineConstantExpr(sizes[dim] - 1, context) - exprs[dim];
      map = simplifyMap(AffineMap::get(rank, 0, exprs, context), sizes);
    }
    for (Value input : scan.getInputs())
      reads.emplace_back(input, map);
  } else if (auto dot = dyn_cast<tile::DotOp>(root.op)) {
    // The loops are b…, m, n, k.
    auto without = [&](std::initializer_list<unsigned> last, int64_t block = 1) {
      SmallVector<AffineExpr> exprs;
      for (unsigned dim = 0; dim + 3 < rank; ++dim)
        exprs.push_back(getAffineDimExpr(dim, context));
      for (unsigned dim : last) {
        AffineExpr expr = getAffineDimExpr(rank - 3 + dim, context);
        exprs.push_back(dim == 2 && block != 1 ? expr.floorDiv(block) : expr);
      }
      return simplifyMap(AffineMap::get(rank, 0, exprs, context), sizes);
    };
    reads.emplace_back(dot.getLhs(), without({0, 2}));
    reads.emplace_back(dot.getRhs(), without({2, 1}));
    reads.emplace_back(dot.getAcc(), without({0, 1}));
    if (Value scale = dot.getLhsScale())
      reads.emplace_back(scale, without({0, 2}, sizes.back() / shapeOf(scale).back()));
    if (Value scale = dot.getRhsScale())
      reads.emplace_back(scale, without({2, 1}, sizes.back() / shapeOf(scale).drop_back().back()));
  }
  return reads;
}

tile::LoadOp transposedLoad(Value tile) {
  constexpr int64_t maxBytes = 32 << 10; // L1
  auto view = tile.getDefiningOp<tile::ViewOp>();
  auto load = view ? view.getSource().getDefiningOp<tile::LoadOp>() : nullptr;
  if (!load || !view.getMap().isPermutation() ||
      llvm::is_contained(load.getInBounds().value_or(ArrayRef<bool>()), false))
    return nullptr;
  auto type = cast<RankedTensorType>(tile.getType());
  const unsigned last = view.getMap().getNumResults() - 1;
  const unsigned across = view.getMap().getDimPosition(last);
  const bool isTransposed = across != last && type.getDimSize(across) % transposedBlock == 0 &&
                            type.getShape().back() % transposedBlock == 0;
  return isTransposed && !isa<ComplexType>(type.getElementType()) &&
                 type.getNumElements() * lanes::storageBytes(type.getElementType()) <= maxBytes
             ? load
             : nullptr;
}

void TileWalk::visit(Value tile, AffineMap map, ArrayRef<int64_t> sizes) {
  if (!seen.insert({tile, map}).second)
    return;
  Operation *op = tile.getDefiningOp();
  if (!op || isKept(tile) || isa<tile::LoadOp, tile::IotaOp>(op)) {
    leaf(tile, map);
    return;
  }
  if (!inner(tile, map))
    return;
  if (auto view = dyn_cast<tile::ViewOp>(op)) {
    visit(view.getSource(), simplifyMap(view.getMap().compose(map), sizes), sizes);
    return;
  }
  if (isa<tile::MapOp>(op)) {
    for (Value operand : op->getOperands())
      visit(operand, map, sizes);
  } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
    for (Value index : gather.getIndices())
      visit(index, map, sizes);
  }
  // All other ops are roots of their own.
}

namespace {

/// Plans one segment of a kernel: roots that can be emitted together.
class Planner {
public:
  Planner(ArrayRef<Root> roots, llvm::function_ref<bool(Value)> isHome)
      : roots(roots), isHome(isHome) {}

  SmallVector<LoopGroup> plan() {
    SmallVector<LoopGroup> groups = group();
    if (choose(groups))
      groups = group();
    return groups;
  }

private:
  ArrayRef<Root> roots;
  llvm::function_ref<bool(Value)> isHome;
  llvm::SetVector<Value> keep; // results of maps to store
  DenseMap<Operation *, unsigned> rootLevels;
  DenseMap<Value, unsigned> keepLevels;
  DenseMap<std::pair<Value, AffineMap>, unsigned> depths; // cleared for each root

  /// The lowest level at which `tile` can be read at index `map`.
  unsigned depthOf(Value tile, AffineMap map, ArrayRef<int64_t> sizes) {
    if (isHome(tile))
      return 0;
    auto [entry, isNew] = depths.try_emplace({tile, map}, 0);
    if (!isNew)
      return entry->second;
    unsigned depth = 0;
    Operation *op = tile.getDefiningOp();
    if (keep.contains(tile)) {
      unsigned level = keepLevel(tile);
      // A reader in the same loops at the same index can share the tile's loop nest.
      depth = isa<tile::MapOp>(op) && isAtOwnIndex(tile, map, sizes) ? level : level + 1;
    } else if (auto view = dyn_cast<tile::ViewOp>(op)) {
      depth = depthOf(view.getSource(), simplifyMap(view.getMap().compose(map), sizes), sizes);
    } else if (isa<tile::MapOp>(op)) {
      for (Value operand : op->getOperands())
        depth = std::max(depth, depthOf(operand, map, sizes));
    } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
      for (Value index : gather.getIndices())
        depth = std::max(depth, depthOf(index, map, sizes));
    } else if (isa<tile::ReduceOp, tile::ScanOp, tile::DotOp>(op)) {
      auto found = rootLevels.find(op);
      depth = found == rootLevels.end() ? 0 : found->second + 1;
    }
    return depths[{tile, map}] = depth;
  }

  static bool isAtOwnIndex(Value tile, AffineMap map, ArrayRef<int64_t> sizes) {
    return shapeOf(tile) == sizes &&
           map == simplifyMap(AffineMap::getMultiDimIdentityMap(sizes.size(), map.getContext()),
                              sizes);
  }

  /// Whether the root has its own loop nest.
  static bool isAlone(const Root &root) {
    return isa_and_nonnull<tile::DotOp, tile::ScanOp>(root.op) ||
           (!root.op && transposedLoad(root.kept));
  }

  unsigned levelOf(const Root &root) {
    auto saved = std::move(depths);
    depths.clear();
    unsigned level = 0;
    SmallVector<int64_t> sizes = loopsOf(root);
    for (auto [tile, map] : readsOf(root))
      level = std::max(level, depthOf(tile, map, sizes));
    depths = std::move(saved);
    return level;
  }

  unsigned keepLevel(Value tile) {
    auto found = keepLevels.find(tile);
    if (found != keepLevels.end())
      return found->second;
    // The view of a load depends on no other tile.
    const bool isView = tile.getDefiningOp<tile::ViewOp>() != nullptr;
    return keepLevels[tile] = isView ? 0 : levelOf(Root{nullptr, tile});
  }

  SmallVector<LoopGroup> group() {
    rootLevels.clear();
    keepLevels.clear();
    SmallVector<LoopGroup> groups;
    auto place = [&](const Root &root, unsigned level) {
      SmallVector<int64_t> shape = loopsOf(root), reduced = reducedOf(root);
      for (LoopGroup &group : groups) {
        bool fits = group.level == level && group.shape == shape &&
                    (reduced.empty() || group.reduced.empty() || group.reduced == reduced) &&
                    llvm::none_of(group.roots, [&](const Root &other) {
                      return isAlone(root) || isAlone(other);
                    });
        if (fits) {
          if (!reduced.empty())
            group.reduced = reduced;
          group.roots.push_back(root);
          return;
        }
      }
      groups.push_back({level, shape, reduced, {root}});
    };
    for (const Root &root : roots) {
      unsigned level = levelOf(root);
      if (root.op)
        rootLevels[root.op] = level;
    }
    // Place stored values first, so that readers in the same loops read them from registers.
    for (Value tile : keep)
      place({nullptr, tile}, keepLevel(tile));
    for (const Root &root : roots)
      place(root, root.op ? rootLevels[root.op] : levelOf(root));
    llvm::stable_sort(groups,
                      [](const LoopGroup &a, const LoopGroup &b) { return a.level < b.level; });
    return groups;
  }

  /// Chooses results of maps to store because several loop nests, or several indices, would
  /// recompute them, and loads to transpose. Returns whether it chose any.
  bool choose(ArrayRef<LoopGroup> groups) {
    struct Uses {
      llvm::SmallDenseSet<unsigned> groups;
      unsigned indices = 0; // distinct indices, in the group with the most
    };
    llvm::MapVector<Operation *, Uses> uses;
    for (auto [number, group] : llvm::enumerate(groups)) {
      DenseMap<Operation *, unsigned> indices;
      TileWalk walk{isHome,
                    [](Value, AffineMap) {},
                    [&, n = unsigned(number), &sizes = group.shape](Value tile, AffineMap map) {
                      Operation *op = tile.getDefiningOp();
                      if (isAtOwnIndex(tile, map, sizes) && transposedLoad(tile)) {
                        keep.insert(tile);
                        return false;
                      }
                      if (!isa<tile::MapOp>(op))
                        return true;
                      Uses &found = uses[op];
                      found.groups.insert(n);
                      unsigned count = ++indices[op];
                      found.indices = std::max(found.indices, count);
                      return count <= 3; // tiles that are read at more indices are stored
                    },
                    {}};
      for (const Root &root : group.roots)
        for (auto [tile, map] : readsOf(root))
          walk.visit(tile, map, group.shape);
    }
    for (auto &[op, found] : uses) {
      auto map = cast<tile::MapOp>(op);
      if (map.getInputs().empty() || map->getNumResults() == 0)
        continue;
      int64_t cost = lanes::costOf(map.getBody().front());
      int64_t indices = (found.indices + map->getNumResults() - 1) / map->getNumResults();
      bool isDear = cost >= 12 && (found.groups.size() > 1 || indices > 1);
      if (!isDear && indices <= 3)
        continue;
      for (Value result : map.getResults())
        if (!result.use_empty())
          keep.insert(result);
    }
    return !keep.empty();
  }
};

} // namespace

SmallVector<LoopGroup> planGroups(ArrayRef<Root> roots, llvm::function_ref<bool(Value)> isHome) {
  return Planner(roots, isHome).plan();
}

} // namespace tilewright::cpu
