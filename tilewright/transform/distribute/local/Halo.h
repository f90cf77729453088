// Halo: the rows that a device needs along a sharded dimension, from its own shard and from others.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_HALO_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_HALO_H

#include "tilewright/transform/distribute/FoldSlices.h"
#include "tilewright/transform/distribute/Sharding.h"
#include "tilewright/transform/distribute/local/RowExchange.h"

#include <optional>
#include <vector>

namespace tilewright::distribute {

/// Emits ops along one sharded dimension of tensors.
///
///   ShardedDim dim(builder, location, shards, mesh, axes, 0);
///   // Each device holds 16 rows and needs one more on each side, zeros at the edges:
///   Value rows = dim.window(shard, dim.affine(-1, 16), 18, zero);
///
/// emits two collective_permutes of one row each and a concatenate. Only rows that some device
/// needs travel, in as few permutes as possible.
class ShardedDim {
public:
  ShardedDim(mlir::OpBuilder &builder, mlir::Location location, ShardBuilder &shards,
             const numerics::MeshCoordinates &mesh, Axes axes, size_t dim)
      : builder(builder), location(location), shards(shards), mesh(mesh), axes(std::move(axes)),
        dim(dim) {}

  int64_t count() const { return countOf(axes); }
  /// `base + c * step` for each coordinate `c`.
  std::vector<int64_t> affine(int64_t base, int64_t step) const;

  /// Rows [starts[c], starts[c] + size) of the dimension on the device at coordinate `c`. Rows
  /// outside of the dimension are `fill`, a scalar; unspecified if `fill` is null.
  mlir::Value window(mlir::Value shard, llvm::ArrayRef<int64_t> starts, int64_t size,
                     mlir::Value fill);
  /// Like window(), but for a dimension in which `dilation - 1` rows of `fill`, which must not be
  /// null, lie between adjacent rows.
  mlir::Value dilatedWindow(mlir::Value shard, llvm::ArrayRef<int64_t> starts, int64_t size,
                            int64_t dilation, mlir::Value fill);

  /// This device's shard of the concatenation of `runs`.
  mlir::Value concatenate(mlir::ValueRange operands, llvm::ArrayRef<RowRun> runs);

  /// The value on the device at `coordinate`; on all other devices, an element that does not change
  /// a sum.
  mlir::Value onlyOn(int64_t coordinate, mlir::Value value);

  /// The entry at this device's coordinate, as an i32 scalar.
  mlir::Value lookUp(llvm::ArrayRef<int64_t> byCoordinate);
  /// Rows [starts[c], starts[c] + size) of a value on the device at coordinate `c`.
  mlir::Value slice(mlir::Value value, llvm::ArrayRef<int64_t> starts, int64_t size);
  /// Like slice(), but extends the value on each side by as many rows of `fill` as needed.
  mlir::Value paddedSlice(mlir::Value value, llvm::ArrayRef<int64_t> starts, int64_t size,
                          mlir::Value fill);

private:
  int64_t rowsOf(mlir::Value value) const;
  mlir::RankedTensorType withRows(mlir::Value value, int64_t rows) const;
  mlir::Value rowSlice(mlir::Value value, int64_t start, int64_t limit);
  mlir::Value padRows(mlir::Value value, mlir::Value fill, int64_t low, int64_t high,
                      int64_t interior);
  mlir::Value joinRows(llvm::ArrayRef<mlir::Value> values);
  /// Emits the permutes; then puts the pieces together.
  mlir::Value assemble(mlir::Value held, const RowExchange &exchange, int64_t size);
  /// The pieces as a concatenation, if all windows have pieces of the same sizes; null otherwise.
  mlir::Value assembleAlike(mlir::Value held, const RowExchange &exchange,
                            llvm::ArrayRef<mlir::Value> received);
  /// The rows at computed positions of the concatenation of everything that the device holds.
  mlir::Value assembleByIndex(mlir::Value held, const RowExchange &exchange,
                              llvm::ArrayRef<mlir::Value> received, int64_t size);
  /// A slice of the padded shard, for windows that need no other device's rows.
  mlir::Value windowOfOwn(mlir::Value shard, llvm::ArrayRef<int64_t> starts, int64_t size,
                          mlir::Value fill);
  /// Replaces rows of windows that lie outside of a dimension of `rows` rows by `fill`.
  mlir::Value mask(mlir::Value value, llvm::ArrayRef<int64_t> starts, int64_t rows,
                   mlir::Value fill);

  mlir::OpBuilder &builder;
  const mlir::Location location;
  ShardBuilder &shards;
  const numerics::MeshCoordinates &mesh;
  const Axes axes;
  const size_t dim;
};

/// The exchange of ShardedDim::concatenate(), if each of `shards` devices holds `rows` rows of each
/// operand, one operand after the other.
RowExchange planRuns(llvm::ArrayRef<int64_t> rows, llvm::ArrayRef<RowRun> runs, int64_t shards);

/// A window of a dilated dimension as rows of the undilated one: `low` rows of padding, then
/// `rows` rows with `dilation - 1` rows of padding between them, then `high`. On the device at
/// coordinate `c` the rows begin at starts[c].
struct UndilatedWindow {
  std::vector<int64_t> starts;
  int64_t rows, low, high;

  /// nullopt if the padding differs between devices.
  static std::optional<UndilatedWindow> of(llvm::ArrayRef<int64_t> starts, int64_t size,
                                           int64_t dilation);
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_HALO_H
