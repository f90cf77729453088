// Products fused with a collective: the devices exchange shards inside the kernel that multiplies.
#ifndef TILEWRIGHT_TRANSFORM_TILE_COLLECTIVES_BUILDFUSED_H
#define TILEWRIGHT_TRANSFORM_TILE_COLLECTIVES_BUILDFUSED_H

#include "tilewright/transform/tile/collectives/BuildCollective.h"

namespace tilewright::tile {

/// A product of f16 (`element`) with sums in f32, by `ranks` devices with `points` blocks each. A
/// shard has `points * rows` rows, and a block handles the same `rows` of every shard.
///
/// Transfers are stores to windows, or NVSHMEM calls (isOnHeap), by which ranks on several nodes
/// exchange shards. In the latter case, the lhs of the all_gather is a window on the heap too, as
/// the source of what is sent, and the reduce_scatter has one more parameter, W sent [ranks, shard
/// rows, columns] of f32, before W partial.
struct FusedProduct {
  std::string name = "fused";
  numerics::ElementType element = numerics::ElementType::f16; // or bf16
  int64_t ranks = 2, points = 1, rows = 64, depth = 64, columns = 64;
  bool isOnHeap = false;

  int64_t shardRows() const { return points * rows; }
  CollectiveKernel asCollective() const;
};

/// all_gather, then a product: out = concatenation of all ranks' `lhs`, times `rhs`.
///
/// Parameters: lhs [shard rows, depth], rhs [depth, columns], out [all rows, columns] of f32,
/// W gathered [all rows, depth], W flags, W signals. A block sends its rows to all ranks,
/// multiplies its own, then multiplies the rows of each other rank when they arrive: it waits for
/// the rows that it needs, never for a whole shard, and reads them once.
Result<KernelOp> buildAllGatherProduct(mlir::ModuleOp module, const FusedProduct &wanted);

/// A product, then reduce_scatter: `lhs` and `rhs` have a part of the depth on each rank, and out
/// has this rank's rows of the sum of all products.
///
/// Parameters: lhs [all rows, depth], rhs [depth, columns], out [shard rows, columns] of f32,
/// W partial [ranks, shard rows, columns] of f32, W flags, W signals. A block sends the product of
/// its rows of each shard to the rank that owns the shard, its own last, and then adds the products
/// of all ranks, in their order.
Result<KernelOp> buildProductReduceScatter(mlir::ModuleOp module, const FusedProduct &wanted);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_COLLECTIVES_BUILDFUSED_H
