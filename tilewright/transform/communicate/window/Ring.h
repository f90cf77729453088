// Ring: the ranks of a group in a circle; each rank receives from its successor.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_RING_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_RING_H

#include "tilewright/interpret/ranks/RankGroups.h"

#include "mlir/IR/Builders.h"

#include <optional>

namespace tilewright::communicate {

/// The groups of a collective as rings. After n permutes, a rank has the value of the rank n
/// positions after it.
class Ring {
public:
  /// nullopt if the groups differ in size or do not contain every rank, or if the program has both
  /// replicas and partitions.
  static std::optional<Ring> of(mlir::Operation *collective);

  int64_t ranks() const { return static_cast<int64_t>(groups.front().size()); }
  /// The source and target ranks of a permute.
  mlir::DenseIntElementsAttr pairs() const { return messages; }

  mlir::Value permute(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value) const;

  /// Emits the offset (an i32 scalar) of the part that belongs to the rank `distance` positions
  /// after this one, in a dimension of which each rank has `length` elements.
  mlir::Value begin(mlir::OpBuilder &builder, mlir::Location location, int64_t distance,
                    int64_t length) const;

private:
  Ring(interpret::RankGroups groups, bool isOfPartitions, mlir::MLIRContext *context);

  interpret::RankGroups groups;
  bool isOfPartitions;
  mlir::DenseIntElementsAttr messages;
};

} // namespace tilewright::communicate

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_RING_H
