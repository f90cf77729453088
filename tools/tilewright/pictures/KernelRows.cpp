#include "tools/tilewright/pictures/KernelRows.h"

#include "tilewright/runtime/cuda/FindDriver.h"
#include "tilewright/runtime/cuda/libraries/Gates.h"
#include "tilewright/support/Concat.h"
#include "tools/tilewright/CompileFile.h"

#include <algorithm>

namespace tilewright::tools {

std::vector<KernelRow> kernelRows(const artifact::Executable &executable,
                                  const driver::CompileReport &report) {
  std::vector<KernelRow> rows;
  for (const artifact::Kernel &kernel : executable.kernels) {
    KernelRow &row = rows.emplace_back();
    row.name = row.symbol = kernel.symbol;
    if (kernel.gpu) {
      const artifact::GpuLaunch &launch = *kernel.gpu;
      row.shape = concat(launch.grid[0], "x", launch.grid[1], "x", launch.grid[2], " blocks of ",
                         launch.block[0], " threads");
      row.sharedBytes = launch.sharedBytes;
      row.clusterBlocks = int64_t(launch.cluster[0]) * launch.cluster[1] * launch.cluster[2];
      row.tensorMaps = static_cast<int64_t>(launch.tensorMaps.size());
    } else {
      row.shape = counted(kernel.grid, "work item");
    }
    for (const target::KernelBudget &budget : report.budgets)
      if (budget.symbol == kernel.symbol)
        row.budget = budget;
  }
  for (const artifact::Block &block : executable.blocks)
    for (const artifact::Step &step : block.steps)
      if (const auto *launch = std::get_if<artifact::LaunchStep>(&step.action)) {
        KernelRow &row = rows[launch->kernel];
        row.name = step.name;
        ++row.launches;
        if (!step.location.empty())
          row.places.insert(step.location);
      }
  for (const driver::Remark &remark : report.remarks)
    for (KernelRow &row : rows)
      if (!remark.kernel.empty() && remark.kernel == row.name)
        (remark.layout.empty() ? row.reasons : row.layouts).push_back(&remark);
  return rows;
}

static std::string padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

/// Which engines may compute the products of GPU kernels: one line per library, with the oldest
/// version that may compute it, or the reason why none may.
static std::string libraryLines(const artifact::Executable &executable,
                                const std::vector<KernelRow> &rows) {
  namespace libraries = runtime::cuda::libraries;
  const std::optional<runtime::cuda::ChipName> chip =
      runtime::cuda::parseChip(executable.target.cpu);
  if (!chip)
    return "";
  std::string out;
  for (const artifact::ScaledProduct &product : artifact::scaledProductsOf(executable)) {
    out += concat("\n", rows[product.kernel].name, " is the product ", product.text(),
                  "\n  its kernel computes it; with TILEWRIGHT_GPU_LIBRARIES=on the first of these "
                  "that is installed and accepts it\n");
    for (libraries::Library library : libraries::allLibraries) {
      const int first = libraries::firstVersionFor(library, chip->capability, product);
      out += concat("    ", libraries::nameOf(library), " ",
                    first ? concat("from version ", libraries::versionText(first), " on")
                          : concat("is refused: it ",
                                   libraries::whyNot(library, libraries::newestVersion(library),
                                                     chip->capability, product)),
                    "\n");
    }
  }
  return out;
}

std::string kernelTable(const artifact::Executable &executable,
                        const driver::CompileReport &report) {
  const std::vector<KernelRow> rows = kernelRows(executable, report);
  int64_t launches = 0;
  std::vector<std::vector<std::string>> cells = {
      {"kernel", "launches", "runs as", "shared", "registers", "spilled", "from"}};
  for (const KernelRow &row : rows) {
    launches += row.launches;
    cells.push_back({row.name, std::to_string(row.launches), row.shape,
                     row.sharedBytes ? humanBytes(row.sharedBytes) : "-",
                     row.budget ? std::to_string(row.budget->registers) : "-",
                     row.budget ? humanBytes(row.budget->spillStoreBytes) : "-",
                     row.places.empty() ? "-" : *row.places.begin()});
  }
  std::string out =
      concat(counted(static_cast<int64_t>(rows.size()), "kernel"), " for ", executable.target.cpu,
             ", ", counted(launches, "launch"),
             report.assembler.empty() ? std::string()
                                      : concat("; registers according to ", report.assembler),
             "\n\n");
  // Omit columns in which no row has a value.
  for (size_t line = 0; line < cells.size(); ++line) {
    std::string text;
    for (size_t column = 0; column < cells[line].size(); ++column) {
      size_t width = 0;
      bool isEmpty = rows.size() > 0;
      for (size_t other = 0; other < cells.size(); ++other) {
        width = std::max(width, cells[other][column].size());
        isEmpty &= other == 0 || cells[other][column] == "-";
      }
      if (!isEmpty)
        text += padded(cells[line][column], width + 2);
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  for (const KernelRow &row : rows) {
    if (row.reasons.empty())
      continue;
    out += concat("\n", row.name, "\n");
    for (const driver::Remark *remark : row.reasons) {
      // A remark begins with its kernel's name, which the line above already shows.
      std::string text = remark->text.empty() ? remark->reason : remark->text;
      if (text.starts_with(row.name))
        text = text.substr(std::min(text.size(), row.name.size() + 1));
      if (text.starts_with(" "))
        text = text.substr(1);
      out += concat("  ", text, "\n");
    }
  }
  return out + libraryLines(executable, rows);
}

std::string kernelResources(const std::vector<KernelRow> &rows) {
  std::string out;
  for (const KernelRow &row : rows) {
    out += concat(row.symbol, ": ", row.shape);
    if (row.clusterBlocks > 1 || row.sharedBytes || row.tensorMaps || row.budget)
      out += concat(", clusters of ", row.clusterBlocks, ", ", humanBytes(row.sharedBytes),
                    " of shared memory, ", counted(row.tensorMaps, "tensor map"));
    if (row.budget)
      out += concat("; ", row.budget->registers, " registers, ", row.budget->spillStoreBytes,
                    " bytes spilled");
    out += "\n";
  }
  return out;
}

} // namespace tilewright::tools
