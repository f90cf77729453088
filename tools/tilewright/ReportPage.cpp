#include "tools/tilewright/ReportPage.h"

#include "tilewright/artifact/MemoryTimeline.h"
#include "tilewright/artifact/Statistics.h"
#include "tilewright/plan/PlanBytes.h"
#include "tilewright/plan/Verify.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Version.h"
#include "tools/tilewright/CompileFile.h"
#include "tools/tilewright/pictures/CommPicture.h"
#include "tools/tilewright/pictures/KernelRows.h"
#include "tools/tilewright/pictures/LayoutPicture.h"
#include "tools/tilewright/pictures/Markup.h"
#include "tools/tilewright/pictures/MemoryPicture.h"
#include "tools/tilewright/pictures/PlanPicture.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace tilewright::tools {
namespace {

using artifact::Executable;
using driver::Remark;

constexpr const char *style = R"css(
body { font: 15px/1.5 system-ui, sans-serif; color: #1d2329; background: #f6f7f9; margin: 0 }
main { max-width: 1220px; margin: 0 auto; padding: 24px }
h1 { font-size: 26px; margin: 0 } h2 { font-size: 19px; margin: 0 0 10px }
header p, .quiet { color: #5b6570 }
nav a { margin-right: 16px } a { color: #1f5fa8 }
section { background: white; border: 1px solid #e1e5ea; border-radius: 8px; padding: 18px 20px; margin: 16px 0 }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 16px 0 }
.tiles div { background: white; border: 1px solid #e1e5ea; border-radius: 8px; padding: 10px 16px }
.tiles b { display: block; font-size: 20px }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-size: 14px }
th { text-align: left; color: #5b6570; font-weight: 600 }
td, th { padding: 4px 14px 4px 0; border-bottom: 1px solid #eef0f3; vertical-align: top }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
code, pre { font: 13px/1.45 ui-monospace, monospace } pre { overflow-x: auto; margin: 8px 0 }
details { margin: 8px 0 } summary { cursor: pointer }
.bad { color: #b3261e } .good { color: #1a7f37 }
svg { max-width: 100%; height: auto }
)css";

std::string code(std::string_view text) { return concat("<code>", escaped(text), "</code>"); }

std::string number(double value, const char *format = "%.3g") {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// "1.5 M"
std::string large(double value) {
  const char *units[] = {"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  for (; value >= 1000 && unit < 5; ++unit)
    value /= 1000;
  return concat(number(value), units[unit]);
}

std::string largeBytes(double value) { return concat(large(value), value < 1000 ? " B" : "B"); }

struct Steps {
  int64_t launches = 0, libraries = 0, copies = 0, collectives = 0;
};

Steps stepsOf(const Executable &executable) {
  Steps steps;
  for (const artifact::Block &block : executable.blocks)
    for (const artifact::Step &step : block.steps) {
      steps.launches += std::holds_alternative<artifact::LaunchStep>(step.action);
      steps.libraries += std::holds_alternative<artifact::LibraryStep>(step.action);
      steps.copies += std::holds_alternative<artifact::CopyStep>(step.action);
      steps.collectives += std::holds_alternative<artifact::CollectiveStartStep>(step.action);
    }
  return steps;
}

double numberOf(const Executable &executable, std::string_view name) {
  return static_cast<double>(artifact::statistic(executable, name).value_or(0));
}

class Page {
public:
  explicit Page(const ReportInput &input) : input(input), executable(input.executable) {}

  Result<std::string> write() {
    begin();
    writeKernels();
    writeFusions();
    writeMemory();
    TILEWRIGHT_TRY(writeCommunication());
    writePlan();
    writeStages();
    out += concat("<p class=\"quiet\">tilewright ", version(), "</p>\n</main>\n</html>\n");
    return out;
  }

private:
  void begin() {
    const Steps steps = stepsOf(executable);
    out = concat("<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>",
                 escaped(input.title), " · tilewright report</title>\n<style>", style,
                 "</style></head>\n<body><main>\n<header><h1>", escaped(input.title),
                 "</h1>\n<p>compiled for ", code(executable.target.cpu), ", ",
                 counted(executable.replicas * executable.partitions, "rank"), "</p></header>\n");
    out += "<nav>";
    for (const char *section :
         {"kernels", "fusions", "memory", "communication", "plan", "compile time"})
      out += concat("<a href=\"#", section, "\">", section, "</a>");
    out += "</nav>\n<div class=\"tiles\">";
    auto tile = [&](const std::string &value, std::string_view what) {
      out += concat("<div><b>", value, "</b>", what, "</div>");
    };
    tile(concat(executable.kernels.size()), executable.kernels.size() == 1 ? "kernel" : "kernels");
    tile(concat(steps.launches), steps.launches == 1 ? "launch" : "launches");
    tile(concat(steps.libraries), steps.libraries == 1 ? "library call" : "library calls");
    tile(humanBytes(executable.arenaBytes[0]), "temporaries");
    tile(large(numberOf(executable, "flops")), "flops");
    tile(largeBytes(numberOf(executable, "bytes accessed")), "read and written");
    if (steps.collectives)
      tile(concat(steps.collectives), steps.collectives == 1 ? "collective" : "collectives");
    out += "</div>\n";
  }

  void section(std::string_view name, std::string_view title) {
    out += concat("<section id=\"", name, "\"><h2>", title, "</h2>\n");
  }

  void writeKernels() {
    section("kernels", "Kernels");
    const std::vector<KernelRow> rows = kernelRows(executable, input.report);
    const bool hasGpu = executable.target.isGpu();
    if (rows.empty())
      out += "<p>No code was generated: the program is made of library calls and copies.</p>\n";
    else
      out += concat("<div class=\"scroll\"><table><tr><th>kernel</th><th "
                    "class=\"number\">launches</th><th>runs as</th>",
                    hasGpu ? "<th class=\"number\">shared memory</th><th "
                             "class=\"number\">registers</th><th class=\"number\">spilled</th>"
                           : "",
                    "<th>from</th></tr>\n");
    for (const KernelRow &row : rows) {
      out += concat("<tr><td>", code(row.name), "</td><td class=\"number\">", row.launches,
                    "</td><td>", row.shape, "</td>");
      if (hasGpu)
        out += concat(
            "<td class=\"number\">", humanBytes(row.sharedBytes), "</td><td class=\"number\">",
            row.budget ? concat(row.budget->registers) : "–", "</td><td class=\"number\">",
            row.budget ? humanBytes(row.budget->spillStoreBytes) : "–", "</td>");
      out += concat("<td>", code(row.places.empty() ? "" : *row.places.begin()), "</td></tr>\n");
    }
    if (!rows.empty())
      out += "</table></div>\n";
    for (const KernelRow &row : rows)
      writeReasons(row);
    out += "</section>\n";
  }

  void writeReasons(const KernelRow &row) {
    if (row.reasons.empty() && row.layouts.empty())
      return;
    out += concat("<details><summary>Decisions about ", code(row.name), "</summary>\n<ul>");
    for (const Remark *remark : row.reasons)
      out += concat("<li>", escaped(remark->text.empty() ? remark->reason : remark->text), "</li>");
    out += "</ul>\n";
    // List each layout once, even if many tiles use it.
    std::map<std::pair<std::string, std::string>, std::vector<const Remark *>> byLayout;
    for (const Remark *remark : row.layouts)
      byLayout[{remark->layout, remark->tile}].push_back(remark);
    for (const auto &[key, remarks] : byLayout) {
      std::optional<sm::Layout> layout = sm::Layout::parse(key.first);
      llvm::SmallVector<int64_t> tile;
      for (llvm::StringRef rest = key.second; !rest.empty();) {
        auto [first, others] = rest.split('x');
        tile.push_back(std::atoll(first.str().c_str()));
        rest = others;
      }
      if (!layout || layout->rank() != static_cast<int64_t>(tile.size()))
        continue;
      out +=
          concat("<h3>", escaped(key.second), " tile, ",
                 counted(static_cast<int64_t>(remarks.size()), "value"),
                 "</h3><div class=\"scroll\">", layoutPicture(*layout, tile, 16, 16), "</div><ul>");
      for (const Remark *remark : remarks)
        out += concat("<li>", escaped(remark->text), "</li>");
      out += "</ul>\n";
    }
    out += "</details>\n";
  }

  void writeFusions() {
    section("fusions", "Fusions");
    std::vector<const Remark *> joined, apart;
    for (const Remark &remark : input.report.remarks)
      if (remark.stage == "fuse")
        (remark.isMissed ? apart : joined).push_back(&remark);
    if (joined.empty() && apart.empty()) {
      out += "<p>There were no fusion decisions, or the file is an executable, which does not "
             "record them.</p></section>\n";
      return;
    }
    out += concat("<p>", counted(static_cast<int64_t>(joined.size()), "op"),
                  " fused into the kernel of another op, ", apart.size(),
                  " not fused. Each row is an op and the producer of its operand.</p>\n");
    writeDecisions("Not fused, by reason", apart, /*isOpen=*/true);
    writeDecisions("Fused", joined, /*isOpen=*/false);
    out += "</section>\n";
  }

  void writeDecisions(std::string_view title, const std::vector<const Remark *> &decisions,
                      bool isOpen) {
    if (decisions.empty())
      return;
    constexpr size_t maxRows = 500;
    std::map<std::string, std::vector<const Remark *>> byReason;
    for (const Remark *remark : decisions)
      byReason[remark->reason].push_back(remark);
    out += concat("<details", isOpen ? " open" : "", "><summary>", title, " (", decisions.size(),
                  ")</summary>\n<div class=\"scroll\"><table><tr><th>op</th><th>producer</th>"
                  "<th>reason</th></tr>\n");
    size_t shown = 0;
    auto place = [](const std::string &text) {
      return text.empty() ? std::string()
                          : concat("<br><span class=\"quiet\">", escaped(text), "</span>");
    };
    for (const auto &[reason, remarks] : byReason)
      for (const Remark *remark : remarks) {
        if (++shown > maxRows)
          break;
        out += concat("<tr><td>", code(remark->consumer.empty() ? remark->text : remark->consumer),
                      place(remark->place), "</td><td>", code(remark->producer),
                      place(remark->producerPlace), "</td><td>", escaped(reason), "</td></tr>\n");
      }
    out += "</table></div>";
    if (shown > maxRows)
      out += concat("<p class=\"quiet\">`tilewright explain fusion` lists ",
                    decisions.size() - maxRows, " more.</p>");
    out += "</details>\n";
  }

  void writeMemory() {
    section("memory", "Memory");
    std::optional<artifact::MemoryTimeline> memory = artifact::MemoryTimeline::of(executable);
    if (!memory || memory->peakBytes == 0)
      out += "<p>The program needs no temporaries: everything is a parameter, a result or a "
             "constant.</p>\n";
    else
      out += concat("<div class=\"scroll\">", memoryPicture(executable, *memory),
                    "</div><details><summary>As a table</summary><pre>",
                    escaped(memoryTable(executable, *memory)), "</pre></details>\n");
    out += "</section>\n";
  }

  Status writeCommunication() {
    section("communication", "Communication");
    if (executable.communication.empty()) {
      out += "<p>No collectives: no rank waits for another.</p></section>\n";
      return Status();
    }
    TILEWRIGHT_ASSIGN(collective::CommPlan plan, collective::readPlan(executable.communication));
    TILEWRIGHT_ASSIGN(auto verdict, collective::verify(plan, {}));
    if (const auto *found = std::get_if<collective::Counterexample>(&verdict))
      out += concat("<p class=\"bad\">", escaped(collective::toStatus(plan, *found).message()),
                    "</p>\n");
    else
      out += concat("<p class=\"good\">Proven: the collectives cannot deadlock.</p><pre>",
                    escaped(describe(plan, std::get<collective::Proof>(verdict))), "</pre>\n");
    out +=
        concat("<div class=\"scroll\">", communicationPicture(plan, verdict), "</div></section>\n");
    return Status();
  }

  void writePlan() {
    section("plan", "The plan");
    out += concat("<p class=\"quiet\">The steps in execution order. ",
                  hasEstimates(executable)
                      ? "Widths of kernels are the compiler's estimates for one thread, not "
                        "measurements; `tilewright run --trace=FILE` measures."
                      : "Not to scale: no times are known; `tilewright run --trace=FILE` measures.",
                  "</p>\n<div class=\"scroll\">", planPicture(executable), "</div></section>\n");
  }

  void writeStages() {
    section("compile time", "Compile time");
    double total = 0, longest = 0;
    for (const driver::StageReport &stage : input.report.stages) {
      total += stage.seconds;
      longest = std::max(longest, stage.seconds);
    }
    if (input.report.stages.empty()) {
      out += "<p>The file was compiled elsewhere.</p></section>\n";
      return;
    }
    out += concat("<p>", number(total * 1e3),
                  " ms in total.</p>\n<table><tr><th>stage</th><th "
                  "class=\"number\">ms</th><th class=\"number\">ops after it</th><th></th></tr>\n");
    for (const driver::StageReport &stage : input.report.stages)
      out += concat("<tr><td>", escaped(stage.name), "</td><td class=\"number\">",
                    number(stage.seconds * 1e3), "</td><td class=\"number\">", stage.ops,
                    "</td><td style=\"width: 50%\"><div style=\"background: #4c78a8; height: 12px; "
                    "margin-top: 5px; width: ",
                    number(100 * stage.seconds / std::max(longest, 1e-9), "%.1f"),
                    "%\"></div></td></tr>\n");
    out += "</table></section>\n";
  }

  const ReportInput &input;
  const Executable &executable;
  std::string out;
};

} // namespace

Result<std::string> reportPage(const ReportInput &input) { return Page(input).write(); }

std::string reportSummary(const ReportInput &input) {
  const Executable &executable = input.executable;
  const Steps steps = stepsOf(executable);
  int64_t joined = 0, apart = 0;
  for (const Remark &remark : input.report.remarks)
    if (remark.stage == "fuse")
      ++(remark.isMissed ? apart : joined);
  return concat(input.title, " for ", executable.target.cpu, "\n  kernels        ",
                executable.kernels.size(), ", ", counted(steps.launches, "launch"), ", ",
                counted(steps.libraries, "library call"), "\n  fusions        ", joined,
                " ops fused, ", apart, " not fused\n  temporaries    ",
                humanBytes(executable.arenaBytes[0]), "\n  communication  ",
                steps.collectives ? counted(steps.collectives, "collective") : std::string("none"),
                "\n  arithmetic     ", large(numberOf(executable, "flops")), " flops, ",
                largeBytes(numberOf(executable, "bytes accessed")), " read and written\n");
}

} // namespace tilewright::tools
