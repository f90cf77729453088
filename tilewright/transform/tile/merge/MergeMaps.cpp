// Merges maps whose results have no other users, so that a target sees all arithmetic of an element
// at once.
#include "tilewright/transform/tile/EmitKernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>
#include <optional>
#include <vector>

using namespace mlir;

namespace tilewright::tile {

namespace {

/// Maps to merge, in block order; only the last one has users outside the cluster.
using Cluster = SmallVector<MapOp>;

/// Finds the clusters of a block in one backward walk, which visits the users of a map before the
/// map.
std::vector<Cluster> findClusters(Block &block) {
  std::vector<Cluster> clusters;
  llvm::DenseMap<Operation *, size_t> clusterOf;
  for (Operation &op : llvm::reverse(block)) {
    auto map = dyn_cast<MapOp>(op);
    if (!map || map.getInputs().empty())
      continue;
    std::optional<size_t> joined;
    for (Operation *user : map->getUsers()) {
      auto found = clusterOf.find(user);
      if (found == clusterOf.end() || (joined && *joined != found->second)) {
        joined.reset();
        break;
      }
      joined = found->second;
    }
    if (!joined) {
      joined = clusters.size();
      clusters.emplace_back();
    }
    clusters[*joined].push_back(map);
    clusterOf[map] = *joined;
  }
  for (Cluster &cluster : clusters)
    std::reverse(cluster.begin(), cluster.end());
  return clusters;
}

/// Clones the ops of `body` at the insertion point, with `arguments` in place of the block
/// arguments. Returns the yielded values.
SmallVector<Value> inlineBody(OpBuilder &builder, Block &body, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookup(value); });
}

/// The map that defines `tile` if it has no inputs; such a splat is recomputed by each user.
/// Otherwise null.
MapOp splatOf(Value tile) {
  auto map = tile.getDefiningOp<MapOp>();
  return map && map.getInputs().empty() ? map : MapOp();
}

void merge(ArrayRef<MapOp> cluster) {
  MapOp last = cluster.back();
  llvm::SmallPtrSet<Operation *, 16> inside(cluster.begin(), cluster.end());
  llvm::SmallSetVector<Value, 8> tiles;
  bool hasSplat = false;
  for (MapOp map : cluster)
    for (Value input : map.getInputs()) {
      hasSplat |= bool(splatOf(input));
      if (!splatOf(input) && !inside.contains(input.getDefiningOp()))
        tiles.insert(input);
    }
  if (cluster.size() == 1 && !hasSplat)
    return;

  OpBuilder builder(last);
  auto merged = MapOp::create(builder, last.getLoc(), last.getResultTypes(), tiles.getArrayRef());
  Block *block = builder.createBlock(&merged.getBody());
  for (Value tile : tiles)
    block->addArgument(cast<RankedTensorType>(tile.getType()).getElementType(), tile.getLoc());
  IRMapping elements;
  elements.map(tiles.getArrayRef(), block->getArguments());
  SmallVector<Value> results;
  for (MapOp map : cluster) {
    SmallVector<Value> arguments;
    for (Value input : map.getInputs()) {
      if (MapOp splat = splatOf(input); splat && !elements.contains(input))
        elements.map(splat.getResults(), inlineBody(builder, splat.getBody().front(), {}));
      arguments.push_back(elements.lookup(input));
    }
    results = inlineBody(builder, map.getBody().front(), arguments);
    elements.map(map.getResults(), results);
  }
  YieldOp::create(builder, last.getLoc(), results);
  last.replaceAllUsesWith(merged.getResults());
  for (MapOp map : llvm::reverse(cluster))
    map.erase();
}

} // namespace

void mergeMaps(KernelOp kernel) {
  SmallVector<Block *> blocks = {&kernel.getBlock()};
  kernel.walk([&](scf::ForOp loop) { blocks.push_back(loop.getBody()); });
  for (Block *block : blocks)
    for (const Cluster &cluster : findClusters(*block))
      merge(cluster);
  // Visit inner blocks first: erasing their maps may leave maps of outer blocks without uses.
  for (Block *block : llvm::reverse(blocks))
    for (MapOp map : llvm::make_early_inc_range(block->getOps<MapOp>()))
      if (map->use_empty())
        map.erase();
}

} // namespace tilewright::tile
