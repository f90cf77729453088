// Ring: the ranks of a group, each of which receives from the next one.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_RING_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_RING_H

#include "tilewright/interpret/ranks/RankGroups.h"

#include "mlir/IR/Builders.h"

#include <optional>

namespace tilewright::communicate {

/// The groups of a collective as rings. After `distance` permutes a rank has the value of the rank
/// `distance` positions further.
class Ring {
public:
  /// nullopt if the groups differ in size or do not contain every rank, or if the program has both
  /// replicas and partitions.
  static std::optional<Ring> of(mlir::Operation *collective);

  int64_t ranks() const { return static_cast<int64_t>(groups.front().size()); }
  /// The messages of a permute, as rank numbers.
  mlir::DenseIntElementsAttr pairs() const { return messages; }

  mlir::Value permute(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value) const;

  /// Where the part of the rank `distance` positions further begins, in a dimension of which every
  /// rank has `length` elements, as an i32 scalar.
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
