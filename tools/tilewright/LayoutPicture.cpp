#include "tools/tilewright/LayoutPicture.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstdio>

namespace tilewright::tools {

using sm::Axis, sm::Coordinates, sm::Layout;

namespace {

/// Okabe and Ito's, lightened so that dark letters stay readable.
constexpr const char *colours[] = {"#9ecae8", "#f3cf80", "#80cfb9", "#e6bcd3",
                                   "#e4f0a8", "#eaaf80", "#cfc3ea", "#c8ccd2"};
constexpr int64_t cellWidth = 44, cellHeight = 22, border = 40;
/// More would be a picture that no viewer opens.
constexpr int64_t mostCells = 20000;

bool isOfMemory(const Layout &layout) {
  return layout.extent(Axis::offset) > 1 || layout.extent(Axis::tmemLane) > 1 ||
         layout.extent(Axis::tmemColumn) > 1;
}

/// Lane and register, or the place in memory.
std::string nameOfPlace(const Layout &layout, const Coordinates &at) {
  if (layout.extent(Axis::tmemLane) > 1 || layout.extent(Axis::tmemColumn) > 1)
    return concat(at[Axis::tmemLane], ":", at[Axis::tmemColumn]);
  if (isOfMemory(layout))
    return concat(at[Axis::offset]);
  return concat(at[Axis::lane], ":", at[Axis::reg]);
}

int64_t warpOf(const Layout &layout, const Coordinates &at) {
  return (at[Axis::cta] * layout.extent(Axis::group) + at[Axis::group]) *
             layout.extent(Axis::warp) +
         at[Axis::warp];
}

/// The index of a cell: rows and columns are the last two dimensions, the others are 0.
llvm::SmallVector<int64_t> indexOf(const Layout &layout, int64_t row, int64_t column) {
  llvm::SmallVector<int64_t> index(layout.rank(), 0);
  if (layout.rank() >= 1)
    index[layout.rank() - 1] = column;
  if (layout.rank() >= 2)
    index[layout.rank() - 2] = row;
  return index;
}

struct Size {
  int64_t rows = 1, columns = 1;
};

Size sizeOf(llvm::ArrayRef<int64_t> shape) {
  Size size;
  if (!shape.empty())
    size.columns = shape.back();
  if (shape.size() >= 2)
    size.rows = shape[shape.size() - 2];
  return size;
}

Size coverOf(const Layout &layout) {
  Size size;
  if (layout.rank() >= 1)
    size.columns = layout.cover(layout.rank() - 1);
  if (layout.rank() >= 2)
    size.rows = layout.cover(layout.rank() - 2);
  return size;
}

std::string copiesOf(const Layout &layout) {
  std::string text;
  for (const sm::Digit &digit : layout.getCopies())
    if (digit.size > 1)
      text += concat(text.empty() ? "" : " x ", digit.size, " ",
                     std::string_view(sm::nameOf(digit.axis)), "s");
  return text.empty() ? "none" : text;
}

} // namespace

std::string layoutTable(const Layout &layout, llvm::ArrayRef<int64_t> tile, int64_t mostRows,
                        int64_t mostColumns) {
  const Size size = sizeOf(tile);
  const int64_t rows = std::min(size.rows, mostRows), columns = std::min(size.columns, mostColumns);
  std::string out;
  size_t widest = 0;
  std::vector<std::vector<std::string>> cells;
  for (int64_t row = 0; row < rows; ++row) {
    cells.emplace_back();
    for (int64_t column = 0; column < columns; ++column) {
      const Coordinates at = layout.apply(indexOf(layout, row, column));
      std::string text = nameOfPlace(layout, at);
      if (warpOf(layout, at) != 0)
        text = concat("w", warpOf(layout, at), " ", text);
      widest = std::max(widest, text.size());
      cells.back().push_back(std::move(text));
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    char label[24];
    std::snprintf(label, sizeof label, "%5lld |", static_cast<long long>(row));
    out += label;
    for (const std::string &text : cells[row])
      out += concat(std::string(widest + 2 - text.size(), ' '), text);
    out += columns < size.columns ? "  …\n" : "\n";
  }
  if (rows < size.rows)
    out += "      …\n";
  out += concat("\nlayout     ", layout.canonical().str(), "\n");
  if (isOfMemory(layout)) {
    out += concat("elements   ", layout.extent(Axis::offset), " places in memory\n");
  } else {
    out +=
        concat("each cell  [warp] lane:register\nthreads    ", layout.extent(Axis::lane),
               " lanes x ", layout.extent(Axis::warp) * layout.extent(Axis::group), " warps",
               layout.extent(Axis::cta) > 1 ? concat(" x ", layout.extent(Axis::cta), " CTAs") : "",
               "\nregisters  ", layout.extent(Axis::reg), " a thread\ncopies     ",
               copiesOf(layout), "\n");
    for (int64_t dim = 0; dim < layout.rank(); ++dim)
      if (layout.vectorLength(dim) > 1)
        out += concat("vectors    ", layout.vectorLength(dim), " elements along dimension ", dim,
                      "\n");
  }
  for (int64_t dim = 0; dim < layout.rank(); ++dim)
    if (layout.cover(dim) > tile[dim])
      out += concat("beyond     dimension ", dim, " is held as ", layout.cover(dim), ", of which ",
                    tile[dim], " count\n");
  return out;
}

std::string layoutPicture(const Layout &layout, llvm::ArrayRef<int64_t> tile) {
  const Size size = sizeOf(tile), cover = coverOf(layout);
  int64_t rows = cover.rows, columns = cover.columns;
  // The left upper part, if all were too much.
  columns = std::min<int64_t>(columns, 512);
  rows = std::min(rows, std::max<int64_t>(mostCells / columns, 1));
  const int64_t width = border + columns * cellWidth + 12,
                height = border + 24 + rows * cellHeight + 12;
  std::string svg =
      concat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height,
             "\" font-family=\"monospace\" font-size=\"11\">\n",
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"", border,
             "\" y=\"18\" font-size=\"13\">", layout.canonical().str(), "</text>\n");
  auto text = [&](int64_t x, int64_t y, const std::string &content) {
    svg +=
        concat("<text x=\"", x, "\" y=\"", y, "\" text-anchor=\"middle\">", content, "</text>\n");
  };
  const int64_t top = border + 12;
  for (int64_t column = 0; column < columns; ++column)
    text(border + column * cellWidth + cellWidth / 2, top - 5, concat(column));
  for (int64_t row = 0; row < rows; ++row) {
    text(border / 2, top + row * cellHeight + 15, concat(row));
    for (int64_t column = 0; column < columns; ++column) {
      const Coordinates at = layout.apply(indexOf(layout, row, column));
      const bool inside = row < size.rows && column < size.columns;
      const int64_t warp = warpOf(layout, at), x = border + column * cellWidth,
                    y = top + row * cellHeight;
      svg += concat("<rect x=\"", x, "\" y=\"", y, "\" width=\"", cellWidth, "\" height=\"",
                    cellHeight, "\" stroke=\"#555\" stroke-width=\"0.5\" fill=\"",
                    inside ? colours[warp % std::size(colours)] : "#eeeeee", "\"><title>index ",
                    row, ", ", column, ": warp ", warp, " lane ", at[Axis::lane], " register ",
                    at[Axis::reg], inside ? "" : ", beyond the tile", "</title></rect>\n");
      text(x + cellWidth / 2, y + 15, nameOfPlace(layout, at));
    }
  }
  return svg + "</svg>\n";
}

} // namespace tilewright::tools
