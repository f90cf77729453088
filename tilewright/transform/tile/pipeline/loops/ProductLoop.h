// ProductLoop: recognizes a kernel in which a loop has several products, with any ops between them:
// attention, for example.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_PRODUCTLOOP_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_PRODUCTLOOP_H

#include "tilewright/transform/tile/pipeline/FindProduct.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::pipeline {

/// A load whose tile a product reads from shared memory.
struct StagedLoad {
  Operand operand;
  /// The product that reads it, as its left or its right operand.
  tile::DotOp dot;
  bool isLhs = false;

  /// A slot: the swizzled lines that matrix instructions read. Planning does not need the dialect
  /// sm, so it uses the layout and its size.
  sm::Layout layout() const;
  int64_t bytes() const;
  sm::BufferType bufferType() const;
};

/// A product. Its right operand is staged; its left one is staged, or computed in registers.
struct LoopProduct {
  tile::DotOp dot;
  int64_t m = 0, n = 0, k = 0;
  std::string type; // a key of Machine::products
};

struct ProductLoop {
  tile::KernelOp kernel;
  /// The innermost loop, which contains all products. It may be inside of others.
  mlir::scf::ForOp loop;
  llvm::SmallVector<LoopProduct> products; // in the order of the program
  /// In the order of the program, by load.
  llvm::MapVector<mlir::Operation *, StagedLoad> loads;
  int64_t rows = 0; // of each product

  bool isInLoop(mlir::Operation *op) {
    return loop->isProperAncestor(op) && op->getBlock() == loop.getBody();
  }
};

/// The kernel as such a loop, for matrix instructions of warpgroups; nullopt if it is not one, with
/// the reason.
std::optional<ProductLoop> findProductLoop(tile::KernelOp kernel, std::string &reason);

/// Whether an op of the loop is not scheduled, because it is computed where it is used: a scalar, a
/// view, an iota, a splat, or a staged load.
bool isFree(mlir::Operation *op, const ProductLoop &products);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_PRODUCTLOOP_H
