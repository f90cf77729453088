// Chains of tile.map become one, so that a target sees the arithmetic of an element together.
#include "tilewright/transform/tile/EmitKernel.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::tile {

/// Whether `producer` may be computed inside `user`: nobody else needs it, or it takes nothing.
static bool canMerge(MapOp producer, MapOp user) {
  if (producer->getBlock() != user->getBlock())
    return false;
  if (producer.getInputs().empty())
    return true;
  return llvm::all_of(producer->getUsers(), [&](Operation *other) { return other == user; });
}

/// Copies the ops of `body`, whose arguments are `arguments`, to the builder's place; gives
/// what it yields.
static SmallVector<Value> inlineBody(OpBuilder &builder, Block &body, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookup(value); });
}

/// Replaces `user` by a map that computes `producers` as well.
static MapOp mergeInto(MapOp user, ArrayRef<MapOp> producers) {
  SmallVector<Value> tiles;
  auto addTiles = [&](ValueRange inputs) {
    for (Value input : inputs) {
      auto producer = input.getDefiningOp<MapOp>();
      if (!(producer && llvm::is_contained(producers, producer)) &&
          !llvm::is_contained(tiles, input))
        tiles.push_back(input);
    }
  };
  for (MapOp producer : producers)
    for (Value input : producer.getInputs())
      if (!llvm::is_contained(tiles, input))
        tiles.push_back(input);
  addTiles(user.getInputs());

  OpBuilder builder(user);
  auto merged = MapOp::create(builder, user.getLoc(), user.getResultTypes(), tiles);
  Block *block = builder.createBlock(&merged.getBody());
  for (Value tile : tiles)
    block->addArgument(cast<RankedTensorType>(tile.getType()).getElementType(), tile.getLoc());
  IRMapping elements;
  elements.map(tiles, block->getArguments());
  auto elementsOf = [&](ValueRange inputs) {
    return llvm::map_to_vector(inputs, [&](Value input) { return elements.lookup(input); });
  };
  for (MapOp producer : producers)
    elements.map(producer.getResults(),
                 inlineBody(builder, producer.getBody().front(), elementsOf(producer.getInputs())));
  SmallVector<Value> results =
      inlineBody(builder, user.getBody().front(), elementsOf(user.getInputs()));
  YieldOp::create(builder, user.getLoc(), results);
  user.replaceAllUsesWith(merged.getResults());
  user.erase();
  for (MapOp producer : producers)
    if (producer->use_empty())
      producer.erase();
  return merged;
}

void mergeMaps(KernelOp kernel) {
  SmallVector<MapOp> maps(kernel.getBlock().getOps<MapOp>());
  // From the last to the first: a map that was merged away is not met again, because its
  // users come after it.
  llvm::SmallPtrSet<Operation *, 16> gone;
  for (MapOp map : llvm::reverse(maps)) {
    if (gone.contains(map))
      continue;
    for (;;) {
      SmallVector<MapOp> producers;
      for (Value input : map.getInputs())
        if (auto producer = input.getDefiningOp<MapOp>();
            producer && !llvm::is_contained(producers, producer) && canMerge(producer, map))
          producers.push_back(producer);
      if (producers.empty())
        break;
      for (MapOp producer : producers)
        if (llvm::all_of(producer->getUsers(), [&](Operation *user) { return user == map; }))
          gone.insert(producer);
      map = mergeInto(map, producers);
    }
  }
}

} // namespace tilewright::tile
