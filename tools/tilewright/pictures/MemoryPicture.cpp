#include "tools/tilewright/pictures/MemoryPicture.h"

#include "tilewright/support/Concat.h"
#include "tools/tilewright/pictures/Markup.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace tilewright::tools {

using artifact::MemoryTimeline;

namespace {

constexpr double width = 1180, left = 84, plotWidth = 700, legendLeft = left + plotWidth + 28;
constexpr double curveTop = 78, curveHeight = 190, arenaTop = 326, arenaHeight = 300;
constexpr double height = arenaTop + arenaHeight + 62;
/// The maximum number of rectangles, because viewers cannot open larger pictures; the largest ones
/// are drawn.
constexpr size_t maxRectangles = 4000;
/// Okabe and Ito's palette, which colour-blind readers can tell apart.
constexpr const char *colours[] = {"#0072B2", "#E69F00", "#009E73", "#CC79A7",
                                   "#56B4E9", "#D55E00", "#F0E442", "#000000"};
constexpr const char *otherColour = "#c3c9d1";

std::string shortened(const std::string &text, size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 1) + "…";
}

std::string human(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit)
    bytes /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, bytes < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", bytes,
                units[unit]);
  return text;
}

/// Builds the picture, with the coordinates of both panels.
class Picture {
public:
  Picture(const artifact::Executable &executable, const MemoryTimeline &memory)
      : executable(executable), memory(memory),
        arena(std::max<int64_t>(executable.arenaBytes[0], 1)) {}

  std::string draw() {
    out = concat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", width, " ", height,
                 "\" width=\"", width, "\" height=\"", height,
                 "\" font-family=\"DejaVu Sans, Helvetica, sans-serif\" font-size=\"12\">\n"
                 "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    text(left, 26, "start", executable.name.empty() ? "memory" : executable.name, 17);
    text(left, 46, "start",
         concat("temporaries: ", human(static_cast<double>(memory.peakBytes)),
                " alive at the peak, arena ", human(static_cast<double>(executable.arenaBytes[0])),
                "; ", memory.steps.size(), " steps, ", memory.buffers.size(), " buffers"));
    std::vector<size_t> holders = memory.aliveAt(memory.peakTime);
    for (size_t i = 0; i < std::min(holders.size(), std::size(colours)); ++i)
      colourOf[holders[i]] = colours[i];
    drawCurve();
    drawArena();
    drawPeak();
    drawLegend(holders);
    return out + "</svg>\n";
  }

private:
  double x(int64_t time) const {
    return left + plotWidth * static_cast<double>(time) / static_cast<double>(memory.endTime + 1);
  }
  double y(int64_t bytes) const {
    return curveTop + curveHeight * (1 - static_cast<double>(bytes) / static_cast<double>(arena));
  }

  void text(double atX, double atY, const char *anchor, std::string_view words, int size = 12,
            const char *colour = "#222") {
    out +=
        concat("<text x=\"", number(atX), "\" y=\"", number(atY), "\" text-anchor=\"", anchor,
               "\" font-size=\"", size, "\" fill=\"", colour, "\">", escaped(words), "</text>\n");
  }

  static std::string number(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.1f", value);
    return digits;
  }

  void frame(double top, double tall, std::string_view title) {
    out += concat("<rect x=\"", left, "\" y=\"", top, "\" width=\"", plotWidth, "\" height=\"",
                  tall, "\" fill=\"none\" stroke=\"#888\"/>\n");
    text(left + 6, top - 6, "start", title, 12, "#555");
    for (int quarter = 0; quarter <= 4; ++quarter) {
      double atY = top + tall - tall * quarter / 4;
      out += concat("<line x1=\"", left - 4, "\" x2=\"", left, "\" y1=\"", number(atY), "\" y2=\"",
                    number(atY), "\" stroke=\"#888\"/>\n");
      text(left - 7, atY + 4, "end", human(static_cast<double>(arena) * quarter / 4), 11, "#555");
    }
  }

  /// Draws the number of live bytes. If several steps fall on the same pixel, draws their maximum.
  void drawCurve() {
    std::map<int, int64_t> most;
    int64_t before = 0;
    auto at = [&](int64_t time, int64_t bytes) {
      int64_t &kept = most.try_emplace(static_cast<int>(std::lround(x(time) * 2)), 0).first->second;
      kept = std::max(kept, bytes);
    };
    std::string path = concat("M", left, ",", number(y(0)));
    for (const MemoryTimeline::Change &change : memory.changes) {
      at(change.time, std::max(before, change.bytes) == change.bytes ? change.bytes : before);
      at(change.time, change.bytes);
      before = change.bytes;
    }
    int64_t level = 0;
    for (auto [pixel, bytes] : most) {
      double atX = pixel / 2.0;
      path += concat(" L", number(atX), ",", number(y(level)), " L", number(atX), ",",
                     number(y(bytes)));
      // Until the next pixel the curve keeps the last value of this one.
      auto time = static_cast<int64_t>(
          std::floor((atX + 0.25 - left) / plotWidth * static_cast<double>(memory.endTime + 1)));
      level = memory.bytesAt(time);
      path += concat(" L", number(atX), ",", number(y(level)));
    }
    path += concat(" L", left + plotWidth, ",", number(y(level)), " L", left + plotWidth, ",",
                   number(y(0)), " Z");
    out += concat("<path d=\"", path, "\" fill=\"#d9e6f2\" stroke=\"#35618f\"/>\n");
    frame(curveTop, curveHeight, "bytes alive");
  }

  /// The arena: time from left to right, addresses from bottom to top.
  void drawArena() {
    std::vector<size_t> order(memory.buffers.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    auto area = [&](size_t i) {
      const MemoryTimeline::Buffer &buffer = memory.buffers[i];
      return static_cast<double>(buffer.bytes) * static_cast<double>(buffer.end - buffer.begin + 1);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return area(a) > area(b); });
    const size_t shown = std::min(order.size(), maxRectangles);
    for (size_t i = 0; i < shown; ++i) {
      const MemoryTimeline::Buffer &buffer = memory.buffers[order[i]];
      const artifact::Step &maker = *memory.steps[buffer.maker];
      auto found = colourOf.find(order[i]);
      const double tall =
          arenaHeight * static_cast<double>(buffer.bytes) / static_cast<double>(arena);
      const double bottom =
          arenaTop + arenaHeight -
          arenaHeight * static_cast<double>(buffer.offset) / static_cast<double>(arena);
      out += concat(
          "<rect class=\"buffer\" x=\"", number(x(buffer.begin)), "\" y=\"", number(bottom - tall),
          "\" width=\"", number(std::max(x(buffer.end + 1) - x(buffer.begin), 0.5)), "\" height=\"",
          number(tall), "\" fill=\"", found == colourOf.end() ? otherColour : found->second,
          "\" fill-opacity=\"0.8\" stroke=\"white\" stroke-width=\"0.5\"><title>",
          escaped(maker.name), maker.location.empty() ? "" : " at ", escaped(maker.location), ": ",
          buffer.bytes, " bytes</title></rect>\n");
    }
    frame(arenaTop, arenaHeight, "the arena, by address");
    // Omit a label that would overlap the previous one.
    double free = 0;
    for (int tick = 0; tick <= 6; ++tick) {
      size_t step = (memory.steps.size() - 1) * static_cast<size_t>(tick) / 6;
      const std::string label = std::to_string(step);
      const double at = x(memory.times[step]), half = 3.5 * static_cast<double>(label.size());
      if (at - half < free)
        continue;
      free = at + half + 6;
      text(at, arenaTop + arenaHeight + 17, "middle", label, 11, "#555");
    }
    text(left + plotWidth / 2, arenaTop + arenaHeight + 36, "middle", "step of the plan", 12,
         "#555");
    if (shown < order.size())
      text(left + plotWidth, arenaTop + arenaHeight + 52, "end",
           concat(order.size() - shown, " small buffers are not drawn"), 11, "#a33");
  }

  void drawPeak() {
    const double atX = x(memory.peakTime);
    out += concat("<line x1=\"", number(atX), "\" x2=\"", number(atX), "\" y1=\"", curveTop,
                  "\" y2=\"", arenaTop + arenaHeight,
                  "\" stroke=\"#b00\" stroke-dasharray=\"4 3\"/>\n");
    // The label has its own row between the panels, on the side of the line that has room.
    const bool isLeft = atX < left + plotWidth / 2;
    text(atX + (isLeft ? 5 : -5), arenaTop - 24, isLeft ? "start" : "end",
         concat("peak: ", human(static_cast<double>(memory.peakBytes))), 12, "#b00");
  }

  void drawLegend(const std::vector<size_t> &holders) {
    double atY = curveTop + 6;
    text(legendLeft, atY, "start", "what is alive at the peak", 13);
    int64_t rest = 0;
    size_t others = 0;
    for (size_t holder : holders) {
      const MemoryTimeline::Buffer &buffer = memory.buffers[holder];
      auto found = colourOf.find(holder);
      if (found == colourOf.end()) {
        rest += buffer.bytes;
        ++others;
        continue;
      }
      const artifact::Step &maker = *memory.steps[buffer.maker];
      atY += 40;
      out += concat("<rect x=\"", legendLeft, "\" y=\"", atY - 11,
                    "\" width=\"13\" height=\"13\" fill=\"", found->second, "\"/>\n");
      text(legendLeft + 20, atY, "start",
           concat(human(static_cast<double>(buffer.bytes)), "  ", shortened(maker.name, 36)));
      // Shorten a long path at its beginning, because its end is more informative.
      std::string place = maker.location;
      if (place.size() > 48)
        place = "…" + place.substr(place.size() - 47);
      text(legendLeft + 20, atY + 15, "start", place.empty() ? "(no source line)" : place, 11,
           "#666");
    }
    if (others > 0)
      text(legendLeft + 20, atY + 40, "start",
           concat(human(static_cast<double>(rest)), " in ", others, " smaller buffers"));
  }

  const artifact::Executable &executable;
  const MemoryTimeline &memory;
  const int64_t arena;
  std::map<size_t, const char *> colourOf; // of buffers that are alive at the peak
  std::string out;
};

} // namespace

std::string memoryPicture(const artifact::Executable &executable, const MemoryTimeline &memory) {
  return Picture(executable, memory).draw();
}

} // namespace tilewright::tools
