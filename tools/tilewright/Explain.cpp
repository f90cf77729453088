// `tilewright explain`: what an error means, why ops were fused or not, who holds the memory, where
// a layout puts the elements of a tile.
#include "tilewright/artifact/Format.h"
#include "tilewright/artifact/Reader.h"
#include "tilewright/import/ArtifactFile.h"
#include "tilewright/support/Concat.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/CompileFile.h"
#include "tools/tilewright/Files.h"
#include "tools/tilewright/LayoutPicture.h"
#include "tools/tilewright/MemoryPicture.h"

#include <iostream>

namespace tilewright::tools {
namespace {

constexpr Flag explainFlags[] = {
    {"output", "FILE.svg",
     "where the picture goes (memory: FILE with .memory.svg if not given; layout: none)"},
    {"tile", "64x16", "for layout: the tile's size (default: all that the layout covers)"},
    targetFlag,
    traceFlag,
};

Status explainError(const std::string &id) {
  for (Error error : allErrors())
    if (idOf(error) == id) {
      std::cout << id << " " << stageOf(error) << ": " << summaryOf(error) << "\n"
                << nameOf(codeOf(error)) << "\nmore: docs/errors/" << id << ".md\n";
      return Status();
    }
  return Status(Error::commandUsage,
                concat("no error is called '", id, "'; ids look like ", idOf(allErrors().front()),
                       ", and fusion, kernels and memory take a FILE"));
}

Status explainFusion(const std::string &path, const CommandLine &line) {
  driver::CompileReport report;
  TILEWRIGHT_TRY(compileFile(path, line.options(), report, /*wantsRemarks=*/true).takeStatus());
  printRemarks(report.remarks, "all");
  return Status();
}

/// An executable file, or a program, which is compiled.
Result<artifact::Executable> readOrCompile(const std::string &path, const CommandLine &line) {
  {
    TILEWRIGHT_ASSIGN(ArtifactFile file, ArtifactFile::open(path, line.options().import));
    std::span<const std::byte> bytes = file.bytes();
    std::string_view start(reinterpret_cast<const char *>(bytes.data()),
                           std::min(bytes.size(), artifact::magic.size()));
    if (start == artifact::magic)
      return artifact::readExecutable(bytes);
  }
  driver::CompileReport report;
  return compileFile(path, line.options(), report);
}

Status explainMemory(const std::string &path, const CommandLine &line) {
  TILEWRIGHT_ASSIGN(artifact::Executable executable, readOrCompile(path, line));
  std::optional<artifact::MemoryTimeline> memory = artifact::MemoryTimeline::of(executable);
  if (!memory)
    return Status(Error::commandUsage,
                  concat(path, " has no steps, or does not say how its memory is used; compile it "
                               "again with this version"));
  std::string output = line.last("output");
  if (output.empty())
    output = concat(path.substr(0, path.rfind('.')), ".memory.svg");
  const std::string picture = memoryPicture(executable, *memory);
  TILEWRIGHT_TRY(writeFile(output, {std::as_bytes(std::span(picture))}));
  std::cout << memoryTable(executable, *memory) << "\npicture      " << output << "\n";
  return Status();
}

/// Numbers with an x between them.
Result<llvm::SmallVector<int64_t>> parseTile(const std::string &text) {
  llvm::SmallVector<int64_t> tile;
  for (llvm::StringRef rest = text; !rest.empty();) {
    auto [first, others] = rest.split('x');
    int64_t size;
    if (first.getAsInteger(10, size) || size < 1 || size > (1 << 24))
      return Status(Error::commandUsage,
                    concat("--tile takes sizes with an x between them, as 64x16, got ", text));
    tile.push_back(size);
    rest = others;
  }
  return tile;
}

Status explainLayout(const std::string &text, const CommandLine &line) {
  std::string error;
  std::optional<sm::Layout> layout = sm::Layout::parse(text, &error);
  if (!layout)
    return Status(Error::commandUsage, concat("the layout ", error));
  TILEWRIGHT_ASSIGN(llvm::SmallVector<int64_t> tile, parseTile(line.last("tile")));
  if (!line.has("tile"))
    for (int64_t dim = 0; dim < layout->rank(); ++dim)
      tile.push_back(layout->cover(dim));
  if (static_cast<int64_t>(tile.size()) != layout->rank())
    return Status(Error::commandUsage, concat("the layout has ", layout->rank(),
                                              " dimensions and --tile ", tile.size()));
  for (int64_t dim = 0; dim < layout->rank(); ++dim)
    if (layout->cover(dim) < tile[dim])
      return Status(Error::commandUsage,
                    concat("the layout covers ", layout->cover(dim), " elements of dimension ", dim,
                           ", and the tile has ", tile[dim]));
  std::cout << layoutTable(*layout, tile);
  if (std::string output = line.last("output"); !output.empty()) {
    const std::string picture = layoutPicture(*layout, tile);
    TILEWRIGHT_TRY(writeFile(output, {std::as_bytes(std::span(picture))}));
    std::cout << "picture    " << output << "\n";
  }
  return Status();
}

/// What each kernel of a GPU is: why it has its tile, its layouts, its depth and its roles, and
/// what it takes of the chip.
Status explainKernels(const std::string &path, const CommandLine &line) {
  const Options options = optionsOf(line);
  driver::CompileReport report;
  TILEWRIGHT_ASSIGN(artifact::Executable executable,
                    compileFile(path, options, report, /*wantsRemarks=*/true));
  printRemarks(report.remarks, "tile");
  if (!report.assembler.empty())
    std::cout << "assembled by ptxas " << report.assembler << "\n";
  for (const artifact::Kernel &kernel : executable.kernels) {
    std::cout << kernel.symbol << ": ";
    if (!kernel.gpu) {
      std::cout << kernel.grid << " work items\n";
      continue;
    }
    const artifact::GpuLaunch &launch = *kernel.gpu;
    std::cout << launch.grid[0] << "x" << launch.grid[1] << "x" << launch.grid[2] << " blocks of "
              << launch.block[0] << " threads, clusters of "
              << launch.cluster[0] * launch.cluster[1] * launch.cluster[2] << ", "
              << humanBytes(launch.sharedBytes) << " of shared memory, " << launch.tensorMaps.size()
              << " tensor maps";
    for (const nvptx::KernelBudget &budget : report.budgets)
      if (budget.symbol == kernel.symbol)
        std::cout << "; " << budget.registers << " registers, " << budget.spillStoreBytes
                  << " bytes spilled";
    std::cout << "\n";
  }
  return Status();
}

Status explain(const CommandLine &line) {
  const std::vector<std::string> &words = line.files();
  if (words.size() == 2 && words[0] == "layout")
    return explainLayout(words[1], line);
  if (words.size() == 2 && words[0] == "memory")
    return explainMemory(words[1], line);
  if (words.size() == 2 && words[0] == "fusion")
    return explainFusion(words[1], line);
  if (words.size() == 2 && words[0] == "kernels")
    return explainKernels(words[1], line);
  TILEWRIGHT_ASSIGN(std::string id, onlyFile(line, "explain"));
  return explainError(id);
}

} // namespace

const Command explainCommand{
    "explain",
    "E1003 | fusion FILE | kernels FILE [--target=CHIP] | memory FILE [--output=FILE.svg] | layout "
    "TEXT "
    "[--tile=64x16]",
    "says what an error means, why ops were fused or not, why kernels are as they are, who holds "
    "the memory or an element",
    "\nFILE is a StableHLO portable artifact or text in our dialects, which is compiled; for "
    "memory "
    "also\n"
    "an executable. fusion lists each decision with the two ops, their source lines and the "
    "reason.\n"
    "kernels says why each has its tile, its layouts, its depth and its roles, and what it takes "
    "of "
    "the chip.\n"
    "memory prints who holds the temporaries at the peak, and draws bytes alive over the plan.\n"
    "layout shows which lane and register holds each element of a tile; TEXT is what stands in\n"
    "#sm.layout<…>.\n\n"
    "  tilewright explain memory step.mlirbc --output=step.svg\n"
    "  tilewright explain kernels docs/examples/softmax.mlir --target=sm_90a\n"
    "  tilewright explain layout '[2 reg:2, 8 lane:4] [4 lane, 2 reg]' --output=layout.svg\n",
    explainFlags,
    explain};

} // namespace tilewright::tools
