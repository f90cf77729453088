// ProductLoop: recognizes a kernel with several products in one loop, and arbitrary ops between
// them, such as attention.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_PRODUCTLOOP_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_PRODUCTLOOP_H

#include "tilewright/transform/tile/pipeline/FindProduct.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace tilewright::pipeline {

/// A load whose tile a product reads from shared memory.
struct StagedLoad {
  Operand operand;
  /// The product that reads the tile; `isLhs` tells as which operand.
  tile::DotOp dot;
  bool isLhs = false;
  /// The buffers of a slot, which have equally many rows each: a left operand has one for each
  /// warpgroup whose accumulator is in tensor memory.
  int64_t parts = 1;

  /// The layout, size and type of a buffer, which has the swizzled lines that matrix instructions
  /// read. Planning uses only the layout and the size, so it does not need the dialect sm.
  sm::Layout layout() const;
  int64_t bytes() const; // of a slot
  sm::BufferType bufferType() const;
};

/// A product. Its right operand is staged; its left operand is staged or computed in registers.
struct LoopProduct {
  tile::DotOp dot;
  int64_t m = 0, n = 0, k = 0;
  std::string type; // a key of Machine::products
};

/// A product that adds to a tile which stays in tensor memory as long as loops carry it.
struct TensorSum {
  /// The map that multiplies the carried tile by a factor for each row before the product; null if
  /// none does.
  tile::MapOp scaling;
  mlir::Value factors;
  /// The outermost loop that carries the tile, and its number among the values of that loop.
  mlir::scf::ForOp loop;
  unsigned number = 0;
};

struct ProductLoop {
  tile::KernelOp kernel;
  /// The innermost loop, which contains all products; other loops may contain it.
  mlir::scf::ForOp loop;
  llvm::SmallVector<LoopProduct> products; // in the order of the program
  /// The staged loads, in program order.
  llvm::MapVector<mlir::Operation *, StagedLoad> loads;
  int64_t rows = 0; // of each product
  /// Whether accumulators, and left operands that are computed, are in tensor memory. Each product
  /// then either begins at zero, with a staged left operand, or is in `sums`.
  bool inTensorMemory = false;
  llvm::MapVector<mlir::Operation *, TensorSum> sums; // by product
  /// All tiles that stay in tensor memory.
  llvm::DenseSet<mlir::Value> inTensor;

  /// The rows of a warpgroup.
  int64_t groupRows() const { return inTensorMemory ? 128 : 64; }
  int64_t groups() const { return rows / groupRows(); }
  bool isInLoop(mlir::Operation *op) {
    return loop->isProperAncestor(op) && op->getBlock() == loop.getBody();
  }
};

/// Recognizes such a kernel, for matrix instructions of warpgroups or, with `inTensorMemory`, those
/// whose accumulators are there; nullopt with the reason otherwise.
std::optional<ProductLoop> findProductLoop(tile::KernelOp kernel, bool inTensorMemory,
                                           std::string &reason);

/// Whether an op of the loop is not scheduled, because it is computed where its result is used: a
/// scalar, a view, an iota, a splat, or a staged load.
bool isFree(mlir::Operation *op, const ProductLoop &products);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_PRODUCTLOOP_H
