// A layout over its tile, as text and as a picture.
#ifndef TOOLS_TILEWRIGHT_LAYOUTPICTURE_H
#define TOOLS_TILEWRIGHT_LAYOUTPICTURE_H

#include "tilewright/dialect/sm/Layout.h"

#include <string>

namespace tilewright::tools {

/// Each element as `lane:register` (and the offset, for layouts of memory), rows below each other,
/// then what the layout comes to: threads, registers, copies, vectors. A tile of more than two
/// dimensions is shown at 0 of the leading ones; `mostRows` and `mostColumns` bound the table.
std::string layoutTable(const sm::Layout &layout, llvm::ArrayRef<int64_t> tile,
                        int64_t mostRows = 64, int64_t mostColumns = 16);

/// An SVG: a cell for each element, with its lane and register in it and the colour of its warp.
/// What the layout covers beyond the tile is grey.
std::string layoutPicture(const sm::Layout &layout, llvm::ArrayRef<int64_t> tile);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_LAYOUTPICTURE_H
