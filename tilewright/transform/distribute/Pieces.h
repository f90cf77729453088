// Pieces: how tensors are cut over a mesh, and the ops that cut and join them.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_PIECES_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_PIECES_H

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/interpret/Mesh.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::distribute {

/// For each dimension, the axes that cut it, outermost first.
struct Cut {
  std::optional<interpret::Mesh> mesh; // nothing: whole
  std::vector<std::vector<interpret::Mesh::AxisRef>> dims;
  bool isWhole() const;
  int64_t count(size_t dim) const;
};

class Pieces {
public:
  Pieces(mlir::ModuleOp module, int64_t partitions) : module(module), partitions(partitions) {}

  /// The axes of a sharding that are in `names`; all without names.
  ///  - planOp (E2101): the mesh is not there or has other devices than the program.
  Result<Cut> cutOf(sdy::TensorShardingAttr sharding,
                    std::optional<llvm::ArrayRef<mlir::StringAttr>> names) const;

  /// - planOp (E2101): a dimension cannot be divided by its pieces.
  Result<mlir::Type> pieceType(mlir::Type whole, const Cut &cut) const;
  /// This device's piece of a whole tensor.
  Result<mlir::Value> take(mlir::OpBuilder &builder, mlir::Location location, mlir::Value whole,
                           const Cut &cut) const;
  /// The whole tensor, from the pieces of all devices.
  Result<mlir::Value> join(mlir::OpBuilder &builder, mlir::Location location, mlir::Value piece,
                           const Cut &cut);

  /// xla.OpSharding, serialised.
  std::string opSharding(const Cut &cut) const;

private:
  mlir::ModuleOp module;
  const int64_t partitions;
  int64_t nextChannel = 1 << 20; // above those of the program
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_PIECES_H
