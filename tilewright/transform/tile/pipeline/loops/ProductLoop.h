// ProductLoop: recognizes a kernel with several products in one loop, and arbitrary ops between
// them, such as attention.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_PRODUCTLOOP_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_PRODUCTLOOP_H

#include "tilewright/transform/tile/pipeline/FindProduct.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::pipeline {

/// A load whose tile a product reads from shared memory.
struct StagedLoad {
  Operand operand;
  /// The product that reads the tile; `isLhs` tells as which operand.
  tile::DotOp dot;
  bool isLhs = false;

  /// The layout, size and type of a slot, which has the swizzled lines that matrix instructions
  /// read. Planning uses only the layout and the size, so it does not need the dialect sm.
  sm::Layout layout() const;
  int64_t bytes() const;
  sm::BufferType bufferType() const;
};

/// A product. Its right operand is staged; its left operand is staged or computed in registers.
struct LoopProduct {
  tile::DotOp dot;
  int64_t m = 0, n = 0, k = 0;
  std::string type; // a key of Machine::products
};

struct ProductLoop {
  tile::KernelOp kernel;
  /// The innermost loop, which contains all products; other loops may contain it.
  mlir::scf::ForOp loop;
  llvm::SmallVector<LoopProduct> products; // in the order of the program
  /// The staged loads, in program order.
  llvm::MapVector<mlir::Operation *, StagedLoad> loads;
  int64_t rows = 0; // of each product

  bool isInLoop(mlir::Operation *op) {
    return loop->isProperAncestor(op) && op->getBlock() == loop.getBody();
  }
};

/// Recognizes such a kernel, for matrix instructions of warpgroups; nullopt with the reason
/// otherwise.
std::optional<ProductLoop> findProductLoop(tile::KernelOp kernel, std::string &reason);

/// Whether an op of the loop is not scheduled, because it is computed where its result is used: a
/// scalar, a view, an iota, a splat, or a staged load.
bool isFree(mlir::Operation *op, const ProductLoop &products);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_PRODUCTLOOP_H
