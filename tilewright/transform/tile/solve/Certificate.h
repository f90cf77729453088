// Certificate: the layouts of a kernel's tiles, and the check that they are consistent.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_CERTIFICATE_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_CERTIFICATE_H

#include "tilewright/dialect/sm/Layout.h"
#include "tilewright/dialect/tile/TileDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tilewright::solve {

/// The layout of each tile at its definition and at each use. If the two differ, a conversion is
/// inserted. A value without an entry is rematerialized at each use.
struct Certificate {
  int64_t lanes = 32, warps = 4;
  llvm::DenseMap<mlir::Value, sm::Layout> values;
  llvm::DenseMap<mlir::OpOperand *, sm::Layout> uses;
  /// Views that move elements between threads; their source is read in the layout of its
  /// definition.
  llvm::DenseSet<mlir::Operation *> moved;
  /// The solver's cost estimate, in cycles per point of the grid.
  double cycles = 0;
};

/// Checks every op of the kernel independently, and compares layouts that must agree element by
/// element. Shares no code with the search. Returns the first error, or "".
std::string checkCertificate(tile::KernelOp kernel, const Certificate &certificate);

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_CERTIFICATE_H
