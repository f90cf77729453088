// ViewMap: a view of a tile as digits, and what it makes of layouts.
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

/// How the index into a view's source follows from the index into its result: transpose, reshape,
/// broadcast, slice, reverse and what is composed of them.
struct ViewMap {
  llvm::SmallVector<int64_t> resultShape;
  llvm::SmallVector<int64_t> sourceShape;
  llvm::SmallVector<ViewIndex> source;

  static ViewMap identity(llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<int64_t> apply(llvm::ArrayRef<int64_t> index) const;
};

/// The layout of the source with which each thread has what it needs for its part of the result:
/// digits follow the map, what the source does not have (a broadcast) becomes copies, what the
/// result leaves out (a slice) is in registers. Nothing where digits cannot follow.
std::optional<Layout> sourceLayout(const Layout &result, const ViewMap &map);

/// The layout of the result that the source's gives: the reverse of `sourceLayout`. A dimension
/// that the source does not have goes along its copies first, then into registers.
std::optional<Layout> resultLayout(const Layout &source, const ViewMap &map);

/// For each register of the result, the register of the source in the same thread that holds its
/// element: so a view (or, with the identity, a conversion) costs nothing. -1 where a register
/// holds nothing of account. Nothing if some thread has not what it needs, or not all threads have
/// it in the same register.
std::optional<llvm::SmallVector<int64_t>> registersOfView(const Layout &result,
                                                          const Layout &source, const ViewMap &map);

} // namespace tilewright::sm

#endif // TILEWRIGHT_DIALECT_SM_VIEWMAP_H
