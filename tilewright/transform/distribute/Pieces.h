// Pieces: how tensors are cut over a mesh, and the ops that cut and join them.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_PIECES_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_PIECES_H

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/interpret/Mesh.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::distribute {

using Axes = std::vector<interpret::Mesh::AxisRef>; // outermost first

bool isSame(const Axes &one, const Axes &other);
/// Whether some rank's place along the one says something about its place along the other.
bool overlap(const Axes &one, const Axes &other);
int64_t countOf(const Axes &axes);

/// Which axes cut each dimension of a tensor, and along which each device has a summand of it. Axes
/// with one place are left out, parts of an axis that lie side by side are one, so that equal
/// cuts look equal.
struct Cut {
  std::shared_ptr<const interpret::Mesh> mesh; // nothing: whole
  std::vector<Axes> dims;                      // none: whole
  Axes unreduced;                              // the tensor is the sum of what is along these

  bool isWhole() const;
  /// Whether some dimension is cut.
  bool isDivided() const;
  int64_t count(size_t dim) const;
  /// The axes of a dimension; none of a whole tensor.
  const Axes &along(size_t dim) const;

  bool operator==(const Cut &other) const;
  /// The finest cut of which this one and `other` are both cuts.
  Cut commonWith(const Cut &other) const;
  /// What is left of this cut for a piece of `coarser`, which commonWith() gave.
  Cut within(const Cut &coarser) const;
  /// Whether a piece of `coarser` has all that a piece of this one needs.
  bool refines(const Cut &coarser) const { return commonWith(coarser) == coarser; }
};

class Pieces {
public:
  Pieces(mlir::ModuleOp module, int64_t partitions) : module(module), partitions(partitions) {}

  /// The axes of a sharding that are in `names`; all without names.
  ///  - planOp (E2101): the mesh is not there or has other devices than the program; what is
  ///    unreduced would be reduced otherwise than by a sum.
  Result<Cut> cutOf(sdy::TensorShardingAttr sharding,
                    std::optional<llvm::ArrayRef<mlir::StringAttr>> names);

  /// - planOp (E2101): a dimension cannot be divided by its pieces.
  Result<mlir::Type> pieceType(mlir::Type whole, const Cut &cut) const;
  /// This device's piece of a whole tensor. Of what is unreduced the first device along those axes
  /// has all, the others zero.
  Result<mlir::Value> take(mlir::OpBuilder &builder, mlir::Location location, mlir::Value whole,
                           const Cut &cut) const;
  /// The whole tensor, from the pieces and summands of all devices.
  Result<mlir::Value> join(mlir::OpBuilder &builder, mlir::Location location, mlir::Value piece,
                           const Cut &cut);

  /// The piece of `to`, from that of `from`: joined to what both have, and cut from there.
  Result<mlir::Value> convert(mlir::OpBuilder &builder, mlir::Location location, mlir::Value piece,
                              const Cut &from, const Cut &to);
  /// What the devices along `axes` have, combined by `op`: "stablehlo.add" and its like.
  mlir::Value allReduce(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                        const interpret::Mesh &mesh, const Axes &axes, mlir::StringRef op);
  /// Where this device's piece begins in a dimension, a scalar of i32.
  mlir::Value startOf(mlir::OpBuilder &builder, mlir::Location location, const Cut &cut, size_t dim,
                      int64_t pieceSize) const;

  /// xla.OpSharding, serialised.
  std::string opSharding(const Cut &cut) const;

  int64_t deviceCount() const { return partitions; }

private:
  /// `scale` times this device's place along `axes`, a scalar of i32.
  mlir::Value placeAlong(mlir::OpBuilder &builder, mlir::Location location,
                         const interpret::Mesh &mesh, const Axes &axes, int64_t scale) const;

  mlir::ModuleOp module;
  const int64_t partitions;
  llvm::DenseMap<mlir::Attribute, std::shared_ptr<const interpret::Mesh>> meshes;
  int64_t nextChannel = 1 << 20; // above those of the program
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_PIECES_H
