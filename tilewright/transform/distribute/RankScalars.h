// RankScalars: integers that depend only on the rank, evaluated for each rank.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKSCALARS_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKSCALARS_H

#include "tilewright/interpret/ranks/RankGroups.h"
#include "tilewright/transform/distribute/RankMesh.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace tilewright::distribute {

/// How the groups of a collective relate to the mesh.
struct GroupFacts {
  AxisSet varies = 0; // axes along which the group of a rank changes
  /// Whether each group consists of all ranks with the same coordinates along `varies`, and all
  /// groups list their members in the same order.
  bool isAligned = false;
};

/// The mesh coordinates of the ranks.
class RankCoordinates {
public:
  explicit RankCoordinates(const Mesh &mesh) : coordinates(mesh) {}
  /// The row-major index of a rank's coordinates along some axes.
  size_t along(AxisSet axes, int64_t rank) const {
    return static_cast<size_t>(coordinates.along(axes, rank));
  }
  size_t count(AxisSet axes) const;
  int64_t ranks() const { return coordinates.ranks(); }
  /// The axes along which a table indexed by rank varies.
  AxisSet variesOf(const std::vector<int64_t> &table) const;
  GroupFacts factsOf(const interpret::RankGroups &groups) const;

private:
  const numerics::MeshCoordinates coordinates;
};

/// A table for each integer or boolean scalar (or single-element tensor) that can be computed from
/// the rank and constants: one value if it is the same for all ranks, otherwise one value per rank.
class RankScalars {
public:
  RankScalars(const RankCoordinates &coordinates, const interpret::RankGrid &grid)
      : coordinates(coordinates), grid(grid) {}

  /// Evaluates the op; returns whether its result has a table now.
  bool visit(mlir::Operation *op);
  const std::vector<int64_t> *find(mlir::Value value) const;
  AxisSet varies(mlir::Value value) const;

private:
  using Table = std::vector<int64_t>;
  bool visitSlice(mlir::Operation *op, Table &into) const;
  bool visitElementwise(mlir::Operation *op, Table &into) const;

  const RankCoordinates &coordinates;
  const interpret::RankGrid grid;
  llvm::DenseMap<mlir::Value, Table> tables;
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKSCALARS_H
