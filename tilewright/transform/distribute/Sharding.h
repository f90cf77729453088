// Sharding: how tensors are sharded over a mesh, and the ops that shard and gather them.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDING_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDING_H

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloAttrs.h"
#include "tilewright/numerics/Mesh.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseMap.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::distribute {

using Axes = std::vector<numerics::AxisRef>; // outermost first

/// Whether the two have a part of a mesh axis in common.
bool overlap(const Axes &one, const Axes &other);
int64_t countOf(const Axes &axes);
/// Adds an axis inside the others. Adjacent sub-axes of an axis are merged.
void append(Axes &axes, const numerics::AxisRef &axis);
/// The same axes, with adjacent sub-axes merged and axes of size 1 omitted.
Axes merged(const Axes &axes);
/// Like merged(), but in the order of the mesh's axes, for axes whose order has no meaning.
Axes ordered(Axes axes);
/// "{data, model:(2)4}", as sdy writes them.
std::string toString(const Axes &axes, const numerics::MeshCoordinates &mesh);

/// A sharding: the axes that divide each dimension of a tensor, and the axes along which each
/// device holds a partial term. Axes of size 1 are omitted and adjacent sub-axes are merged, so
/// that equal shardings compare equal.
struct Sharding {
  std::shared_ptr<const numerics::MeshCoordinates> mesh; // null: replicated
  std::vector<Axes> dims;                                // empty: replicated
  Axes unreduced;                            // the devices along these hold terms of the tensor
  llvm::StringRef combine = "stablehlo.add"; // the op that combines the terms

  bool isReplicated() const;
  /// Whether any dimension is sharded.
  bool isSharded() const;
  int64_t count(size_t dim) const;
  /// `size` rounded up, with padding at its end, so that all shards of the dimension are equal.
  int64_t padded(size_t dim, int64_t size) const;
  /// The axes of a dimension; none if the tensor is replicated.
  const Axes &along(size_t dim) const;

  bool operator==(const Sharding &other) const;
  /// The finest sharding of which both this sharding and `other` are refinements.
  Sharding commonWith(const Sharding &other) const;
  /// The sharding of this tensor's shard within a shard of `coarser`, which must come from
  /// commonWith().
  Sharding within(const Sharding &coarser) const;
  /// "[{data}, {}]", "[{}] unreduced {model}", or "replicated".
  std::string toString() const;
  /// Whether a shard of `coarser` contains the corresponding shard of this one.
  bool refines(const Sharding &coarser) const { return commonWith(coarser) == coarser; }
};

/// Zeros of a type, also of a complex one.
mlir::DenseElementsAttr zeroOf(mlir::RankedTensorType type);
/// The neutral elements of `combine` (for example "stablehlo.add"): combining them with others
/// changes nothing.
mlir::DenseElementsAttr neutralOf(mlir::RankedTensorType type, llvm::StringRef combine);

/// The width of an integer that can count `rows` rows: 32 bits, or 64.
inline unsigned positionWidth(int64_t rows) {
  return rows <= std::numeric_limits<int32_t>::max() ? 32 : 64;
}

class ShardBuilder {
public:
  ShardBuilder(mlir::ModuleOp module, int64_t partitions)
      : module(module), partitions(partitions) {}

  /// The sharding along the axes in `names`, or along all axes if `names` is nullopt.
  ///  - planOp (E2101): the mesh does not exist, or its number of devices differs from the
  ///    program's.
  Result<Sharding> shardingOf(sdy::TensorShardingAttr attr,
                              std::optional<llvm::ArrayRef<mlir::StringAttr>> names);

  /// - planOp (E2101): a dimension is not divisible by its number of shards.
  Result<mlir::Type> shardType(mlir::Type global, const Sharding &sharding) const;
  /// The global tensor, gathered and summed from the shards and partial terms of all devices.
  Result<mlir::Value> gather(mlir::OpBuilder &builder, mlir::Location location, mlir::Value shard,
                             const Sharding &sharding);

  /// Reshards `shard` from `from` to `to` by the exchanges of planReshard(). `shape` is the global
  /// shape; it may be omitted if all dimensions are divisible by their numbers of shards.
  Result<mlir::Value> reshard(mlir::OpBuilder &builder, mlir::Location location, mlir::Value shard,
                              const Sharding &from, const Sharding &to,
                              llvm::ArrayRef<int64_t> shape = {});
  /// Reduces the values of the devices along `axes` with `op`, for example "stablehlo.add".
  mlir::Value allReduce(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                        const numerics::MeshCoordinates &mesh, const Axes &axes,
                        mlir::StringRef op);
  /// Sends `value` from the first to the second device of each pair. A device that receives nothing
  /// gets zeros.
  mlir::Value permute(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                      llvm::ArrayRef<std::pair<int64_t, int64_t>> pairs);
  /// The device of an op whose results all have a maximal sharding on the same device; otherwise
  /// nullopt. JAX assigns callbacks to device 0 this way.
  std::optional<int64_t> onlyDeviceOf(mlir::Operation *op) const;
  /// Runs `op` on `device` alone and broadcasts its results to the other devices.
  void runOnOneDevice(mlir::Operation *op, int64_t device);

  /// This device's entry of a table of i32 or i64, as a scalar.
  mlir::Value lookUp(mlir::OpBuilder &builder, mlir::Location location,
                     llvm::ArrayRef<int32_t> byDevice) const;
  mlir::Value lookUp(mlir::OpBuilder &builder, mlir::Location location,
                     mlir::DenseElementsAttr byDevice) const;

  /// The offset of this device's shard in a dimension, as a scalar integer of `width` bits, 32 or
  /// 64. An offset of more bits wraps.
  mlir::Value shardOffset(mlir::OpBuilder &builder, mlir::Location location,
                          const Sharding &sharding, size_t dim, int64_t shardSize,
                          unsigned width = 32) const;

  /// The sharding as a serialized xla.OpSharding.
  std::string opSharding(const Sharding &sharding) const;

private:
  friend class ExchangeEmitter;

  /// The replica groups of a collective along `axes`, one group per row.
  static mlir::DenseIntElementsAttr
  groupsAlong(mlir::Builder &builder, const numerics::MeshCoordinates &mesh, const Axes &axes);
  /// Fills the region of a reduction with `op`.
  static void setCombination(mlir::OpBuilder &builder, mlir::Region &region, mlir::StringRef op,
                             mlir::Type elementType);
  stablehlo::ChannelHandleAttr newChannel(mlir::Builder &builder);
  /// The mesh that a sharding names or contains; null if no mesh has that name.
  sdy::MeshAttr meshOf(sdy::TensorShardingAttr sharding) const;
  /// This device's id, as an i32 scalar.
  mlir::Value deviceId(mlir::OpBuilder &builder, mlir::Location location) const;
  mutable mlir::ModuleOp module; // symbol lookups are not const in MLIR
  const int64_t partitions;
  llvm::DenseMap<mlir::Attribute, std::shared_ptr<const numerics::MeshCoordinates>> meshes;
  int64_t nextChannel = 1 << 20; // above the program's own channels
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDING_H
