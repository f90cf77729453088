#include "tools/tilewright/pictures/PredictPicture.h"

#include "tilewright/support/Concat.h"
#include "tools/tilewright/pictures/Markup.h"

#include <algorithm>
#include <map>

namespace tilewright::tools {

using predict::Span;

namespace {

constexpr double width = 1180, left = 150, plotWidth = 1000, top = 84, rowHeight = 22,
                 barHeight = 16;
// Colours of Okabe and Ito's palette, which colour-blind readers can tell apart.
constexpr const char *kernelColour = "#0072B2", *exchangeColour = "#E69F00",
                     *waitColour = "#e5c4c4";

void addText(std::string &out, double x, double y, const char *anchor, std::string_view words,
             int size = 12) {
  out += concat("<text x=\"", x, "\" y=\"", y, "\" text-anchor=\"", anchor, "\" font-size=\"", size,
                "\" fill=\"#222\">", escaped(words), "</text>\n");
}

} // namespace

std::string predictPicture(const predict::Prediction &prediction, std::string_view title) {
  const predict::Program &program = prediction.program;
  double end = 1e-12;
  std::map<std::pair<uint32_t, uint32_t>, size_t> rows; // class, then 0 or lane + 1
  auto keyOf = [](const Span &span) {
    return std::pair(span.rankClass, span.what == Span::What::exchange ? span.lane + 1 : 0);
  };
  for (const Span &span : prediction.step.spans) {
    end = std::max(end, span.end);
    rows.try_emplace(keyOf(span), 0);
  }
  size_t next = 0;
  for (auto &[key, row] : rows)
    row = next++;
  const double height = top + rowHeight * static_cast<double>(rows.size()) + 56;
  std::string out = concat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", width, " ",
                           height, "\" width=\"", width, "\" height=\"", height,
                           "\" font-family=\"DejaVu Sans, Helvetica, sans-serif\">\n"
                           "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
  addText(out, 20, 28, "start", title, 17);
  addText(out, 20, 50, "start",
          concat("a step on ", prediction.cluster.name, ", ", prediction.ranks, " ranks: ",
                 predict::humanSeconds(prediction.step.seconds), "; exposed communication ",
                 predict::humanSeconds(prediction.smooth.classes[prediction.critical].exposed)));
  double legend = 20;
  for (auto [colour, name] : {std::pair(kernelColour, "kernels"),
                              {exchangeColour, "communication"},
                              {waitColour, "waiting"}}) {
    out += concat("<rect x=\"", legend, "\" y=\"60\" width=\"12\" height=\"12\" fill=\"", colour,
                  "\"/>\n");
    addText(out, legend + 18, 71, "start", name);
    legend += 140;
  }
  for (const auto &[key, row] : rows) {
    const double y = top + rowHeight * static_cast<double>(row) + 12;
    const std::string name =
        key.second == 0 ? program.classes[key.first].name : concat("lane ", key.second - 1);
    addText(out, left - 8, y, "end", name);
  }
  for (const Span &span : prediction.step.spans) {
    const double x = left + plotWidth * span.begin / end;
    const double wide = std::max(plotWidth * (span.end - span.begin) / end, 0.2);
    const double y = top + rowHeight * static_cast<double>(rows[keyOf(span)]);
    const bool isKernel = span.what == Span::What::compute;
    const std::string &name =
        isKernel ? program.names[span.index] : program.exchanges[span.index].name;
    out += concat("<rect x=\"", x, "\" y=\"", y, "\" width=\"", wide, "\" height=\"", barHeight,
                  "\" fill=\"",
                  isKernel                            ? kernelColour
                  : span.what == Span::What::exchange ? exchangeColour
                                                      : waitColour,
                  "\" stroke=\"white\" stroke-width=\"0.3\"><title>", escaped(name), ": ",
                  predict::humanSeconds(span.end - span.begin), " from ",
                  predict::humanSeconds(span.begin), "</title></rect>\n");
  }
  const double axis = top + rowHeight * static_cast<double>(rows.size()) + 14;
  for (int tick = 0; tick <= 4; ++tick)
    addText(out, left + plotWidth * tick / 4, axis, tick == 4 ? "end" : "middle",
            predict::humanSeconds(end * tick / 4));
  return out + "</svg>\n";
}

std::string predictPage(const predict::Prediction &prediction, std::string_view title) {
  return concat("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>",
                escaped(title), "</title></head>\n<body style=\"font-family: sans-serif\">\n",
                predictPicture(prediction, title), "<pre>", escaped(predict::describe(prediction)),
                "</pre>\n</body></html>\n");
}

} // namespace tilewright::tools
