#include "tools/tilewright/pictures/PlanPicture.h"

#include "tilewright/support/Concat.h"
#include "tools/tilewright/pictures/Markup.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace tilewright::tools {
namespace {

using namespace artifact;

constexpr double width = 1180, left = 110, plotWidth = width - left - 20, rowHeight = 30, top = 16;
/// The maximum number of steps; viewers cannot open larger pictures.
constexpr size_t maxSteps = 2000;

enum Row { kernels, calls, copies, collectives, control, rowCount };
constexpr const char *names[] = {"kernels", "library", "copies", "collectives", "control flow"};
constexpr const char *colours[] = {"#4c78a8", "#f58518", "#9aa5b1", "#54a24b", "#b279a2"};

struct Drawn {
  const Step *step;
  Row row;
  double estimate; // nanoseconds; 0 if unknown
};

Row rowOf(const StepAction &action) {
  if (std::holds_alternative<LaunchStep>(action))
    return kernels;
  if (std::holds_alternative<LibraryStep>(action) || std::holds_alternative<CustomCallStep>(action))
    return calls;
  if (std::holds_alternative<CopyStep>(action))
    return copies;
  if (std::holds_alternative<CollectiveStartStep>(action) ||
      std::holds_alternative<CollectiveDoneStep>(action))
    return collectives;
  return control;
}

std::vector<Drawn> drawnSteps(const Executable &executable) {
  std::vector<Drawn> drawn;
  std::vector<std::pair<Index, size_t>> open; // blocks that the traversal is inside of
  if (!executable.blocks.empty())
    open.push_back({0, 0});
  while (!open.empty() && drawn.size() < maxSteps) {
    auto [block, index] = open.back();
    if (index == executable.blocks[block].steps.size()) {
      open.pop_back();
      continue;
    }
    ++open.back().second;
    const Step &step = executable.blocks[block].steps[index];
    double estimate = 0;
    if (const auto *launch = std::get_if<LaunchStep>(&step.action)) {
      const Kernel &kernel = executable.kernels[launch->kernel];
      estimate = static_cast<double>(kernel.itemCost) * static_cast<double>(kernel.grid);
    }
    drawn.push_back({&step, rowOf(step.action), estimate});
    if (const auto *loop = std::get_if<WhileStep>(&step.action)) {
      open.push_back({loop->body, 0});
      open.push_back({loop->condition, 0});
    } else if (const auto *branch = std::get_if<BranchStep>(&step.action)) {
      for (auto next = branch->blocks.rbegin(); next != branch->blocks.rend(); ++next)
        open.push_back({*next, 0});
    }
  }
  return drawn;
}

std::string duration(double nanoseconds) {
  char text[32];
  if (nanoseconds >= 1e6)
    std::snprintf(text, sizeof text, "%.3g ms", nanoseconds / 1e6);
  else if (nanoseconds >= 1e3)
    std::snprintf(text, sizeof text, "%.3g us", nanoseconds / 1e3);
  else
    std::snprintf(text, sizeof text, "%.3g ns", nanoseconds);
  return text;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

} // namespace

bool hasEstimates(const Executable &executable) {
  return std::ranges::any_of(executable.kernels,
                             [](const Kernel &one) { return one.itemCost > 0; });
}

std::string planPicture(const Executable &executable) {
  const std::vector<Drawn> steps = drawnSteps(executable);
  double known = 0, unknown = 0;
  for (const Drawn &step : steps) {
    known += step.estimate;
    unknown += step.estimate == 0;
  }
  // A step without an estimate is as wide as a hundredth of the sum of all estimates. If no step
  // has one, all steps have the same width.
  const double unit = known > 0 ? known / 100 : 1, all = std::max(known + unknown * unit, 1.0);
  bool isUsed[rowCount] = {};
  for (const Drawn &step : steps)
    isUsed[step.row] = true;
  double rowTop[rowCount] = {}, height = top;
  for (int row = 0; row < rowCount; ++row)
    if (isUsed[row]) {
      rowTop[row] = height;
      height += rowHeight;
    }
  height += 34;
  std::string out =
      concat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", width, " ", height,
             "\" width=\"", width, "\" height=\"", height,
             "\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<rect width=\"100%\" "
             "height=\"100%\" fill=\"white\"/>\n");
  for (int row = 0; row < rowCount; ++row)
    if (isUsed[row])
      out += concat("<text x=\"", left - 10, "\" y=\"", rowTop[row] + 16,
                    "\" text-anchor=\"end\" fill=\"#444\">", names[row], "</text>\n<line x1=\"",
                    left, "\" x2=\"", left + plotWidth, "\" y1=\"", rowTop[row] + 24, "\" y2=\"",
                    rowTop[row] + 24, "\" stroke=\"#eee\"/>\n");
  double at = 0;
  for (const Drawn &step : steps) {
    const double takes = step.estimate > 0 ? step.estimate : unit, x = left + plotWidth * at / all,
                 wide = std::max(plotWidth * takes / all - 1, 0.7);
    at += takes;
    out += concat("<g><title>", escaped(step.step->name), step.step->location.empty() ? "" : " at ",
                  escaped(step.step->location),
                  step.estimate > 0 ? concat(": ", duration(step.estimate)) : std::string(),
                  "</title><rect class=\"step\" x=\"", number(x), "\" y=\"", rowTop[step.row],
                  "\" width=\"", number(wide), "\" height=\"22\" rx=\"2\" fill=\"",
                  colours[step.row], "\"/>");
    // Show a name only if it fits completely.
    if (static_cast<double>(step.step->name.size()) * 7 + 8 < wide)
      out += concat("<text x=\"", number(x + 4), "\" y=\"", rowTop[step.row] + 15,
                    "\" fill=\"white\">", escaped(step.step->name), "</text>");
    out += "</g>\n";
  }
  std::string note = known > 0 ? concat("estimated ", duration(known), " in kernels") : "";
  if (steps.size() == maxSteps)
    note += concat(note.empty() ? "" : "; ", "only the first ", maxSteps, " steps are drawn");
  out += concat("<text x=\"", left, "\" y=\"", height - 10, "\" fill=\"#666\">", note, "</text>\n");
  return out + "</svg>\n";
}

} // namespace tilewright::tools
