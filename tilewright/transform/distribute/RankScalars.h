// RankScalars: integers that depend on nothing but the rank, followed rank by rank.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKSCALARS_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKSCALARS_H

#include "tilewright/interpret/RankGroups.h"
#include "tilewright/transform/distribute/RankMesh.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace tilewright::distribute {

/// How groups of ranks lie in a mesh.
struct GroupFacts {
  AxisBits varies = 0; // along which a rank comes to another group
  /// The groups are what is left when those axes are fixed, with members in one order.
  bool isAligned = false;
};

/// Where ranks are.
class RankPlaces {
public:
  explicit RankPlaces(const RankMesh &mesh);
  /// The place of a rank among those of some axes, row-major.
  size_t along(AxisBits axes, int64_t rank) const;
  size_t count(AxisBits axes) const;
  int64_t ranks() const { return total; }
  /// The axes along which a table by rank changes.
  AxisBits variesOf(const std::vector<int64_t> &table) const;
  GroupFacts factsOf(const interpret::RankGroups &groups) const;

private:
  const RankMesh &mesh;
  int64_t total;
  std::vector<int64_t> strides, placeOf, rankAt;
};

/// A table for each scalar (or tensor of one element) of integers or booleans that can be computed
/// from the rank and constants: one value if it is the same for all, else one for each rank.
class RankScalars {
public:
  RankScalars(const RankPlaces &places, const interpret::RankGrid &grid)
      : places(places), grid(grid) {}

  /// Whether the op's one result is such a scalar now.
  bool visit(mlir::Operation *op);
  const std::vector<int64_t> *find(mlir::Value value) const;
  AxisBits varies(mlir::Value value) const;

private:
  using Table = std::vector<int64_t>;
  bool visitSlice(mlir::Operation *op, Table &into) const;
  bool visitElementwise(mlir::Operation *op, Table &into) const;

  const RankPlaces &places;
  const interpret::RankGrid grid;
  llvm::DenseMap<mlir::Value, Table> tables;
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKSCALARS_H
