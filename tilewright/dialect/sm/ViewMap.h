// ViewMap: a view of a tile as digits, and its effect on layouts.
#ifndef TILEWRIGHT_DIALECT_SM_VIEWMAP_H
#define TILEWRIGHT_DIALECT_SM_VIEWMAP_H

#include "tilewright/dialect/sm/Layout.h"

namespace tilewright::sm {

/// `((index[dim] / stride) mod size) * weight`.
struct ViewPiece {
  int64_t dim;
  int64_t stride;
  int64_t size;
  int64_t weight;
  bool operator==(const ViewPiece &) const = default;
};

/// The index into one dimension of the source: a constant and pieces of the result's index.
struct ViewIndex {
  int64_t constant = 0;
  llvm::SmallVector<ViewPiece> pieces;
};

/// How the index into a view's source depends on the index into its result: transpose, reshape,
/// broadcast, slice, reverse and their compositions.
struct ViewMap {
  llvm::SmallVector<int64_t> resultShape;
  llvm::SmallVector<int64_t> sourceShape;
  llvm::SmallVector<ViewIndex> source;

  static ViewMap identity(llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<int64_t> apply(llvm::ArrayRef<int64_t> index) const;
};

/// The layout of the source for which each thread holds the elements that its part of the result
/// needs. Digits follow the map, dimensions that the source lacks (a broadcast) become copies, and
/// parts that the result omits (a slice) are in registers. nullopt if digits cannot follow the map.
std::optional<Layout> sourceLayout(const Layout &result, const ViewMap &map);

/// The layout of the result that follows from the layout of the source: the inverse of
/// `sourceLayout`. A dimension that the source lacks uses the source's copies first, then
/// registers.
std::optional<Layout> resultLayout(const Layout &source, const ViewMap &map);

/// For each register of the result, the source register of the same thread that holds its element,
/// or -1 for registers outside of the tile. With such a mapping the view only renames registers and
/// is free; so is a conversion between two layouts, for which `map` is the identity. nullopt if a
/// thread lacks an element, or if threads hold it in different registers.
std::optional<llvm::SmallVector<int64_t>> registersOfView(const Layout &result,
                                                          const Layout &source, const ViewMap &map);

} // namespace tilewright::sm

#endif // TILEWRIGHT_DIALECT_SM_VIEWMAP_H
