// The mapping of a tile by a layout, as text and as a picture.
#ifndef TOOLS_TILEWRIGHT_PICTURES_LAYOUTPICTURE_H
#define TOOLS_TILEWRIGHT_PICTURES_LAYOUTPICTURE_H

#include "tilewright/dialect/sm/Layout.h"

#include <string>

namespace tilewright::tools {

/// Each element as `lane:register` (for memory layouts the offset), one line for each row, then a
/// summary of the layout: threads, registers, copies, vectors. A tile of more than two dimensions
/// is shown at index 0 of the leading ones; `maxRows` and `maxColumns` limit the table.
std::string layoutTable(const sm::Layout &layout, llvm::ArrayRef<int64_t> tile,
                        int64_t maxRows = 64, int64_t maxColumns = 16);

/// An SVG with a legend: each element is a cell with its lane and register, coloured by lane. If
/// there are several warps, the cell also shows the warp. Elements that the layout covers beyond
/// the tile are grey. If there are more cells than the maximum, only the upper left part is drawn.
std::string layoutPicture(const sm::Layout &layout, llvm::ArrayRef<int64_t> tile,
                          int64_t maxRows = 20000, int64_t maxColumns = 512);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_PICTURES_LAYOUTPICTURE_H
