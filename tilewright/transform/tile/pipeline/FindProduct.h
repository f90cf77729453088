// FindProduct: a kernel that is a matrix product with something behind it, and possibly something
// on the way to one operand.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_FINDPRODUCT_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_FINDPRODUCT_H

#include "tilewright/dialect/tile/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::pipeline {

/// One side of the product: a load of the loop, possibly transposed on its way to the product.
struct Operand {
  tile::LoadOp load;
  /// Memory is [k, m] on the left side, [n, k] on the right.
  bool transposed = false;
  /// The dimensions of memory that the tile goes along, the contiguous one last; it has one index
  /// in each of the others.
  int64_t outerDim = 0, innerDim = 0;
  /// Bits that an element takes in memory.
  int64_t bits = 0;
  /// What the product takes: the load or a view of it, or with a prologue what maps make of it.
  mlir::Value tile;
  bool hasPrologue = false;
};

/// `for k { load; load; dot }` from zero, the one loop of a kernel.
struct Product {
  tile::KernelOp kernel;
  mlir::scf::ForOp loop;
  tile::DotOp dot;
  /// Only the left one has a prologue. Where the right one had it, the product is computed
  /// transposed: `lhs` is the dot's rhs, and `m` are its columns.
  Operand lhs, rhs;
  bool isSwapped = false;
  int64_t m, n, k; // of the tile
  int64_t iterations;
  /// The element type's name in the tables of rates.
  std::string type;
};

/// The product that the kernel is, or nothing and why it is none.
std::optional<Product> findProduct(tile::KernelOp kernel, std::string &reason);

/// Maps the loop's induction variable to the iteration's number, and clones the scalars of its
/// body.
void enterIteration(mlir::OpBuilder &b, const Product &product, mlir::Value number,
                    mlir::IRMapping &scalars);

/// Whether an op computes scalars from scalars.
bool isScalar(mlir::Operation *op);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_FINDPRODUCT_H
