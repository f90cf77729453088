// Dimensions: one system of factors for all tensors of a fusion, in which most reshapes
// are nothing.
#ifndef TILEWRIGHT_TRANSFORM_TILE_DIMENSIONS_H
#define TILEWRIGHT_TRANSFORM_TILE_DIMENSIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace tilewright::tile {

/// Dimensions of tensors as variables, which are made equal or split until a reshape
/// relates whole factors to whole factors:
///
///   %r = reshape %x : tensor<6x4> -> tensor<24>     24 becomes 6 x 4
///
/// Splitting and equality are advice, not truth: they only say in which coordinates to look.
/// Whether an op is simple there is found out from its indexing relation.
class Dimensions {
public:
  using Id = unsigned;

  Id add(int64_t size);

  /// The two dimensions are to be split alike; their sizes are equal. Refused (false)
  /// where one of them cannot follow the other.
  bool unify(Id a, Id b);
  /// The same for lists whose sizes have equal products.
  bool unifyLists(llvm::ArrayRef<Id> a, llvm::ArrayRef<Id> b);
  /// The dimension must not be split: an op shifts, cuts or turns it around.
  void pin(Id id) { factors[find(id)].pinned = true; }

  /// The factors larger than 1 that the dimension consists of, from major to minor.
  llvm::SmallVector<Id> leaves(Id id);
  int64_t sizeOf(Id id) { return factors[find(id)].size; }
  bool isPinned(Id id) { return factors[find(id)].pinned; }

private:
  struct Factor {
    int64_t size;
    Id parent;
    bool pinned = false;
    llvm::SmallVector<Id, 2> parts; // from major to minor; empty for a leaf
  };

  Id find(Id id);
  void collect(Id id, llvm::SmallVectorImpl<Id> &leaves);

  std::vector<Factor> factors;
};

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_DIMENSIONS_H
