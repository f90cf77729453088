// Certificate: the layouts of a kernel's tiles, and the proof that they fit.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_CERTIFICATE_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_CERTIFICATE_H

#include "tilewright/dialect/sm/Layout.h"
#include "tilewright/dialect/tile/TileDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tilewright::solve {

/// A layout for each tile where it is made and for each tile where it is used. Where the two
/// differ, a conversion stands between. A value that is in no map is computed again for each use.
struct Certificate {
  int64_t lanes = 32, warps = 4;
  llvm::DenseMap<mlir::Value, sm::Layout> values;
  llvm::DenseMap<mlir::OpOperand *, sm::Layout> uses;
  /// Views whose elements move between threads; their source has the layout in which it was made.
  llvm::DenseSet<mlir::Operation *> moved;
  /// What the solver thinks it costs, in cycles for each point of the grid.
  double cycles = 0;
};

/// Checks every op of the kernel by itself, element by element where layouts meet. Shares nothing
/// with the search. The first thing that is wrong, in words, or "".
std::string checkCertificate(tile::KernelOp kernel, const Certificate &certificate);

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_CERTIFICATE_H
