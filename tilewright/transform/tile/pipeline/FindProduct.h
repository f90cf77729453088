// FindProduct: a kernel that is a matrix product with something behind it.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_FINDPRODUCT_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_FINDPRODUCT_H

#include "tilewright/dialect/tile/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::pipeline {

/// One side of the product: a load of the loop, possibly transposed on its way to the product.
struct Operand {
  tile::LoadOp load;
  bool transposed = false;
  /// Bits of an element.
  int64_t bits = 0;
};

/// `for k { load; load; dot }` from zero, the one loop of a kernel.
struct Product {
  tile::KernelOp kernel;
  mlir::scf::ForOp loop;
  tile::DotOp dot;
  Operand lhs, rhs;
  int64_t m, n, k; // of the tile
  int64_t iterations;
  /// The element type's name in the tables of rates.
  std::string type;
};

/// The product that the kernel is, or nothing and why it is none.
std::optional<Product> findProduct(tile::KernelOp kernel, std::string &reason);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_FINDPRODUCT_H
