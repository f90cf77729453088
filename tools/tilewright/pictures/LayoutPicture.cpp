#include "tools/tilewright/pictures/LayoutPicture.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstdio>

namespace tilewright::tools {

using sm::Axis, sm::Coordinates, sm::Layout;

namespace {

constexpr int64_t cellHeight = 22, border = 40, shades = 32, swatchWidth = 26;
/// The maximum number of cells; viewers cannot open larger pictures.
constexpr int64_t maxCells = 20000;

bool isOfMemory(const Layout &layout) {
  return layout.extent(Axis::offset) > 1 || layout.extent(Axis::tmemLane) > 1 ||
         layout.extent(Axis::tmemColumn) > 1;
}

/// Lane and register, or the offset in memory.
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

/// One of 32 hues, light enough for dark text. Neighbours also differ in lightness, for
/// colour-blind readers.
std::string colourOf(int64_t number) {
  const int64_t shade = number % shades;
  return concat("hsl(", shade * 360 / shades, ",70%,", shade % 2 ? 86 : 76, "%)");
}

/// The number that determines a cell's colour: its lane, or in a memory layout its offset modulo
/// 32.
int64_t shadeOf(const Layout &layout, const Coordinates &at) {
  if (layout.extent(Axis::tmemLane) > 1)
    return at[Axis::tmemLane];
  return isOfMemory(layout) ? at[Axis::offset] : at[Axis::lane];
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

std::string layoutTable(const Layout &layout, llvm::ArrayRef<int64_t> tile, int64_t maxRows,
                        int64_t maxColumns) {
  const Size size = sizeOf(tile);
  const int64_t rows = std::min(size.rows, maxRows), columns = std::min(size.columns, maxColumns);
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
    out += concat("elements   ", layout.extent(Axis::offset), " memory locations\n");
  } else {
    out +=
        concat("each cell  [warp] lane:register\nthreads    ", layout.extent(Axis::lane),
               " lanes x ", layout.extent(Axis::warp) * layout.extent(Axis::group), " warps",
               layout.extent(Axis::cta) > 1 ? concat(" x ", layout.extent(Axis::cta), " CTAs") : "",
               "\nregisters  ", layout.extent(Axis::reg), " per thread\ncopies     ",
               copiesOf(layout), "\n");
    for (int64_t dim = 0; dim < layout.rank(); ++dim)
      if (layout.vectorLength(dim) > 1)
        out += concat("vectors    ", layout.vectorLength(dim), " elements along dimension ", dim,
                      "\n");
  }
  for (int64_t dim = 0; dim < layout.rank(); ++dim)
    if (layout.cover(dim) > tile[dim])
      out += concat("padding    dimension ", dim, " has ", layout.cover(dim),
                    " elements, of which ", tile[dim], " are in the tile\n");
  return out;
}

std::string layoutPicture(const Layout &layout, llvm::ArrayRef<int64_t> tile, int64_t maxRows,
                          int64_t maxColumns) {
  const Size size = sizeOf(tile), cover = coverOf(layout);
  const int64_t columns = std::min(cover.columns, maxColumns),
                rows = std::min({cover.rows, maxRows, std::max<int64_t>(maxCells / columns, 1)});
  const int64_t warps =
      layout.extent(Axis::cta) * layout.extent(Axis::group) * layout.extent(Axis::warp);
  const bool namesWarps = warps > 1 && !isOfMemory(layout);
  const int64_t cellWidth = namesWarps ? 62 : 44, legendTop = 34,
                top = legendTop + 2 * cellHeight + 40;
  const std::string title = layout.canonical().str();
  const int64_t width = std::max({border + columns * cellWidth + 12,
                                  border + shades / 2 * swatchWidth + 200,
                                  border + static_cast<int64_t>(title.size()) * 8 + 12}),
                height = top + rows * cellHeight + 12;
  std::string svg =
      concat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height,
             "\" font-family=\"monospace\" font-size=\"11\">\n",
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"", border,
             "\" y=\"18\" font-size=\"13\">", title, "</text>\n");
  auto text = [&](int64_t x, int64_t y, const std::string &content, const char *anchor = "middle") {
    svg += concat("<text x=\"", x, "\" y=\"", y, "\" text-anchor=\"", anchor, "\">", content,
                  "</text>\n");
  };
  auto box = [&](const char *kind, int64_t x, int64_t y, int64_t wide, const std::string &fill,
                 const std::string &says) {
    svg +=
        concat("<rect class=\"", kind, "\" x=\"", x, "\" y=\"", y, "\" width=\"", wide,
               "\" height=\"", cellHeight, "\" stroke=\"#555\" stroke-width=\"0.5\" fill=\"", fill,
               "\">", says.empty() ? "" : concat("<title>", says, "</title>"), "</rect>\n");
  };
  const bool ofMemory = isOfMemory(layout);
  for (int64_t shade = 0; shade < shades; ++shade) {
    const int64_t x = border + shade % (shades / 2) * swatchWidth,
                  y = legendTop + shade / (shades / 2) * cellHeight;
    box("legend", x, y, swatchWidth, colourOf(shade), "");
    text(x + swatchWidth / 2, y + 15, concat(shade));
  }
  const int64_t beside = border + shades / 2 * swatchWidth + 10;
  text(beside, legendTop + 15, ofMemory ? "colour: offset mod 32" : "colour: lane", "start");
  text(beside, legendTop + 15 + cellHeight,
       ofMemory     ? "cell: offset in memory"
       : namesWarps ? "cell: warp lane:register"
                    : "cell: lane:register",
       "start");
  for (int64_t column = 0; column < columns; ++column)
    text(border + column * cellWidth + cellWidth / 2, top - 5, concat(column));
  for (int64_t row = 0; row < rows; ++row) {
    text(border / 2, top + row * cellHeight + 15, concat(row));
    for (int64_t column = 0; column < columns; ++column) {
      const Coordinates at = layout.apply(indexOf(layout, row, column));
      const bool inside = row < size.rows && column < size.columns;
      const int64_t warp = warpOf(layout, at), x = border + column * cellWidth,
                    y = top + row * cellHeight;
      box("cell", x, y, cellWidth, inside ? colourOf(shadeOf(layout, at)) : "#eeeeee",
          concat("index ", row, ", ", column, ": warp ", warp, " lane ", at[Axis::lane],
                 " register ", at[Axis::reg], inside ? "" : ", beyond the tile"));
      text(x + cellWidth / 2, y + 15,
           concat(namesWarps ? concat("w", warp, " ") : "", nameOfPlace(layout, at)));
    }
  }
  return svg + "</svg>\n";
}

} // namespace tilewright::tools
