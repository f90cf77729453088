// Dimensions: a common factorization of the dimensions of all tensors of a fusion, under which most
// reshapes are no-ops.
#ifndef TILEWRIGHT_TRANSFORM_TILE_DIMENSIONS_H
#define TILEWRIGHT_TRANSFORM_TILE_DIMENSIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace tilewright::tile {

/// The dimensions of tensors as variables, which are unified or split into factors until a reshape
/// maps whole factors to whole factors:
///
///   %r = reshape %x : tensor<6x4> -> tensor<24>     24 becomes 6 x 4
///
/// The factorization is a heuristic that only chooses the coordinates. Whether an op is simple in
/// these coordinates follows from its indexing relation.
class Dimensions {
public:
  using Id = unsigned;

  Id add(int64_t size);

  /// Requires that two dimensions of equal size have the same factorization. Returns false if that
  /// is impossible.
  bool unify(Id a, Id b);
  /// Like unify(), for two lists of dimensions whose sizes have the same product.
  bool unifyLists(llvm::ArrayRef<Id> a, llvm::ArrayRef<Id> b);
  /// Forbids splitting the dimension, because an op shifts, slices or reverses it.
  void pin(Id id) { factors[find(id)].pinned = true; }

  /// Keeps the dimension even if its size is 1, because an op may read it out of bounds.
  void keep(Id id) { factors[find(id)].kept = true; }

  /// The factors larger than 1, or kept, that the dimension consists of, from major to minor.
  llvm::SmallVector<Id> leaves(Id id);
  int64_t sizeOf(Id id) { return factors[find(id)].size; }
  bool isPinned(Id id) { return factors[find(id)].pinned; }

private:
  struct Factor {
    int64_t size;
    Id parent;
    bool pinned = false;
    bool kept = false;
    llvm::SmallVector<Id, 2> parts; // from major to minor; empty for a leaf
  };

  Id find(Id id);
  void collect(Id id, llvm::SmallVectorImpl<Id> &leaves);

  std::vector<Factor> factors;
};

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_DIMENSIONS_H
