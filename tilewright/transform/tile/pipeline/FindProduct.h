// FindProduct: recognizes a kernel that is a matmul with an epilogue, and possibly a prologue on
// one operand.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_FINDPRODUCT_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_FINDPRODUCT_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::pipeline {

/// One operand of the matmul: a load in the loop, which may be transposed before the instruction
/// reads it.
struct Operand {
  tile::LoadOp load;
  /// Whether memory is [k, m] for the left operand, or [n, k] for the right one.
  bool transposed = false;
  /// The dimensions of memory that the tile spans; `innerDim` is contiguous, and `outerDims` are
  /// the digits of the other index of the matrix, the outermost first: more than one for positions
  /// of images. The tile has size 1 in all other dimensions.
  llvm::SmallVector<int64_t> outerDims;
  int64_t innerDim = 0;
  /// The size of the tile along each of `outerDims`, and its stride in memory.
  llvm::SmallVector<int64_t> outerSizes, outerStrides;
  /// The width of an element in memory, in bits.
  int64_t bits = 0;
  /// The elements of the matrix in one element of memory along `innerDim`: more than one if the
  /// load reads packed bytes, which the prologue unpacks.
  int64_t packing = 1;
  /// The operand of the dot: the load or a view of it or, with a prologue, the result of the maps.
  mlir::Value tile;
  bool hasPrologue = false;
};

/// A kernel whose only loop is `for k { load; load; dot }`, accumulating from zero.
struct Product {
  tile::KernelOp kernel;
  mlir::scf::ForOp loop;
  tile::DotOp dot;
  /// If only the dot's rhs has a prologue, the product is computed transposed: `lhs` is the dot's
  /// rhs, and `m` is the dot's number of columns. So `rhs` has a prologue only if both have one.
  Operand lhs, rhs;
  bool isSwapped = false;
  /// The ordered scales of both operands; without a load if the product has none.
  Operand lhsScale, rhsScale;
  bool isScaled() const { return lhsScale.load != nullptr; }
  int64_t m, n, k; // of the tile
  int64_t iterations;
  /// The name of the element type, a key of Machine::products.
  std::string type;
};

/// Finds an operand of a product that is loaded as one tile, possibly transposed, possibly with
/// maps as a prologue. Only loads for which `isOfOperand` are taken for the operand's; others on
/// the path are inputs of the prologue.
std::optional<Operand> findOperand(mlir::Value tile,
                                   llvm::function_ref<bool(tile::LoadOp)> isOfOperand,
                                   llvm::StringRef side, std::string &reason);

/// Whether a tile is a splat of zero.
bool isZero(mlir::Value tile);

/// The name of a product's element type, a key of Machine::products; empty if no matrix instruction
/// multiplies it.
std::string typeName(mlir::Type type, bool tf32);

/// The kernel as a matmul; nullopt if it is not one, with the reason.
std::optional<Product> findProduct(tile::KernelOp kernel, std::string &reason);

/// Maps the loop's induction variable to the iteration's number, and clones the scalar ops of the
/// loop's body.
void enterIteration(mlir::OpBuilder &b, const Product &product, mlir::Value number,
                    mlir::IRMapping &scalars);

/// Copies the operand's tile to `buffer`, or the part of it that begins at `firstRow` of an operand
/// with rows along a single dimension. `at` maps the scalars of the load.
void copyOperand(mlir::OpBuilder &b, sm::Engine engine, Operand operand, mlir::Value buffer,
                 const mlir::IRMapping &at, bool tf32 = false, int64_t firstRow = 0);

/// The buffer of ordered scales: lines of 128 bytes, as in memory.
sm::BufferType scaleBuffer(const Operand &scale);

/// Gives a product the scales, which are buffers or tiles, and the types of `dot`.
void multiplyWithScales(sm::MmaOp mma, tile::DotOp dot, mlir::Value lhsScale, mlir::Value rhsScale);

/// Whether an op computes scalars from scalars.
bool isScalar(mlir::Operation *op);

/// Begins the body of a kernel that replaces `old`: its arguments and its ops on scalars, mapped by
/// `scalars`. `builder` goes on behind them.
void beginBody(mlir::OpBuilder &builder, tile::KernelOp old, sm::KernelOp made,
               mlir::IRMapping &scalars);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_FINDPRODUCT_H
