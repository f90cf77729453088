// `tilewright explain`: explains errors, kernels, fusion decisions, the memory peak, layouts, how
// collectives are done and what tuning measured.
#include "tilewright/predict/Forms.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Suggest.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/CompileFile.h"
#include "tools/tilewright/PageText.h"
#include "tools/tilewright/Tune.h"
#include "tools/tilewright/input/Files.h"
#include "tools/tilewright/pictures/KernelRows.h"
#include "tools/tilewright/pictures/LayoutPicture.h"
#include "tools/tilewright/pictures/MemoryPicture.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iostream>
#include <unistd.h>

namespace tilewright::tools {
namespace {

constexpr Flag explainFlags[] = {
    {"output", "FILE.svg",
     "the picture to write (default for memory: FILE with .memory.svg; for layout: none)"},
    {"details", "", "for kernels: also the layout of each tile, with its cost"},
    {"tile", "64x16", "for layout: the tile's size (default: all that the layout covers)"},
    targetFlag,
    traceFlag,
};

/// The topics that take a second argument, and a name for it.
constexpr std::pair<std::string_view, std::string_view> topics[] = {
    {"fusion", "FILE"}, {"kernels", "FILE"},          {"memory", "FILE"},
    {"layout", "TEXT"}, {"communication", "CLUSTER"}, {"tuning", "FILE"}};

/// The error for words that are neither a topic with its argument nor an error number.
Status unknownTopic(const std::string &word) {
  std::vector<std::string> words;
  for (auto [topic, argument] : topics) {
    if (word == topic)
      return Status(Error::commandUsage, concat("explain ", topic, " takes one ", argument,
                                                "; see tilewright explain --help"));
    words.emplace_back(topic);
  }
  for (Error error : allErrors())
    words.push_back(idOf(error));
  return Status(Error::commandUsage,
                concat("unknown topic '", word, "'", didYouMean(word, words), " (errors look like ",
                       idOf(allErrors().front()), "; fusion, kernels and memory take a FILE)"));
}

Status explainError(const std::string &id) {
  // Also accept e2010 and 2010.
  std::string wanted = id;
  if (!wanted.empty() && (wanted[0] == 'e' || std::isdigit(static_cast<unsigned char>(wanted[0]))))
    wanted = concat("E", wanted[0] == 'e' ? wanted.substr(1) : wanted);
  if (const std::optional<std::string_view> page = errorPage(wanted)) {
    std::cout << pageText(*page, isatty(STDOUT_FILENO));
    return Status();
  }
  return unknownTopic(id);
}

Status explainFusion(const std::string &path, const CommandLine &line) {
  driver::CompileReport report;
  TILEWRIGHT_TRY(compileFile(path, optionsOf(line), report, /*wantsRemarks=*/true).takeStatus());
  printRemarks(report.remarks, "all");
  return Status();
}

Status explainMemory(const std::string &path, const CommandLine &line) {
  TILEWRIGHT_ASSIGN(artifact::Executable executable, readOrCompile(path, optionsOf(line)));
  std::optional<artifact::MemoryTimeline> memory = artifact::MemoryTimeline::of(executable);
  if (!memory)
    return Status(Error::commandUsage, concat(path, " has no steps or no information about its "
                                                    "memory; compile it again with this version"));
  std::string output = line.last("output");
  if (output.empty())
    output = concat(path.substr(0, path.rfind('.')), ".memory.svg");
  const std::string picture = memoryPicture(executable, *memory);
  TILEWRIGHT_TRY(writeFile(output, {std::as_bytes(std::span(picture))}));
  std::cout << memoryTable(executable, *memory) << "\npicture      " << output << "\n";
  return Status();
}

/// Sizes separated by an x.
Result<llvm::SmallVector<int64_t>> parseTile(const std::string &text) {
  llvm::SmallVector<int64_t> tile;
  for (llvm::StringRef rest = text; !rest.empty();) {
    auto [first, others] = rest.split('x');
    int64_t size;
    if (first.getAsInteger(10, size) || size < 1 || size > (1 << 24))
      return Status(Error::commandUsage,
                    concat("--tile expects sizes separated by x, such as 64x16, got ", text));
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
                                              " dimensions, but --tile has ", tile.size()));
  for (int64_t dim = 0; dim < layout->rank(); ++dim)
    if (layout->cover(dim) < tile[dim])
      return Status(Error::commandUsage,
                    concat("the layout covers ", layout->cover(dim), " elements of dimension ", dim,
                           ", but the tile has ", tile[dim]));
  std::cout << layoutTable(*layout, tile);
  if (std::string output = line.last("output"); !output.empty()) {
    const std::string picture = layoutPicture(*layout, tile);
    TILEWRIGHT_TRY(writeFile(output, {std::as_bytes(std::span(picture))}));
    std::cout << "picture    " << output << "\n";
  }
  return Status();
}

/// Prints each kernel, its resources and the reasons for its decisions; with --details also the
/// layouts of its tiles and their costs.
Status explainKernels(const std::string &path, const CommandLine &line) {
  driver::CompileReport report;
  TILEWRIGHT_ASSIGN(artifact::Executable executable,
                    compileFile(path, optionsOf(line), report, /*wantsRemarks=*/true));
  std::cout << kernelTable(executable, report);
  if (!line.has("details")) {
    std::cout << "\n--details lists the layout of each tile with its cycles; `tilewright report` "
                 "draws them\n";
    return Status();
  }
  std::cout << "\n";
  printRemarks(report.remarks, "tile");
  if (!report.assembler.empty())
    std::cout << "assembled by " << report.assembler << "\n";
  std::cout << kernelResources(kernelRows(executable, report));
  return Status();
}

std::string sizeText(double bytes) {
  return bytes < 1 << 20 ? concat(static_cast<int64_t>(bytes) >> 10, " KiB")
                         : concat(static_cast<int64_t>(bytes) >> 20, " MiB");
}

/// Prints the time of each collective among all chips of a cluster, for sizes from 4 KiB to 256
/// MiB, by NCCL and by each form of our kernels, and marks the fastest.
Status explainCommunication(const std::string &name) {
  TILEWRIGHT_ASSIGN(predict::Cluster cluster, findCluster(name));
  const predict::GroupShape shape = predict::shapeAlong(cluster, cluster.ranks, 1);
  std::cout << "collectives among " << cluster.ranks << " chips of " << cluster.name
            << ", in microseconds; * is the fastest\n";
  using numerics::CollectiveKind;
  for (CollectiveKind kind : {CollectiveKind::allReduce, CollectiveKind::allGather,
                              CollectiveKind::reduceScatter, CollectiveKind::allToAll}) {
    std::cout << "\n" << nameOf(kind) << "\n";
    for (double bytes = 4 << 10; bytes <= 256 << 20; bytes *= 8) {
      char text[64];
      std::snprintf(text, sizeof text, "  %8s", sizeText(bytes).c_str());
      std::cout << text;
      std::vector<predict::FormPrice> prices =
          predict::pricesOf(cluster, kind, bytes, shape, /*hasMulticast=*/true);
      const std::string_view best = predict::nameOf(prices.front());
      std::sort(prices.begin(), prices.end(),
                [](const auto &a, const auto &b) { return a.form < b.form; });
      for (const predict::FormPrice &price : prices) {
        const bool isBest = predict::nameOf(price) == best;
        std::snprintf(text, sizeof text, "  %s%s %.1f", isBest ? "*" : " ",
                      std::string(predict::nameOf(price)).c_str(), price.seconds * 1e6);
        std::cout << text;
      }
      std::cout << "\n";
    }
  }
  return Status();
}

Status explain(const CommandLine &line) {
  const std::vector<std::string> &words = line.files();
  if (words.size() == 2 && words[0] == "layout")
    return explainLayout(words[1], line);
  if (words.size() == 2 && words[0] == "communication")
    return explainCommunication(words[1]);
  if (words.size() == 2 && words[0] == "memory")
    return explainMemory(words[1], line);
  if (words.size() == 2 && words[0] == "fusion")
    return explainFusion(words[1], line);
  if (words.size() == 2 && words[0] == "kernels")
    return explainKernels(words[1], line);
  if (words.size() == 2 && words[0] == "tuning")
    return explainTuning(words[1], line.options());
  if (words.size() > 1)
    return unknownTopic(words[0]);
  TILEWRIGHT_ASSIGN(std::string id, onlyFile(line, "explain"));
  return explainError(id);
}

} // namespace

const Command explainCommand{
    "explain",
    "E2104 | fusion FILE | kernels FILE [--target=CHIP] | memory FILE | layout TEXT | "
    "communication CLUSTER | tuning FILE",
    "explains an error, why ops were fused or not, what each kernel uses, and what is in memory",
    "\nFILE is a StableHLO portable artifact or MLIR text, which is compiled; for memory\n"
    "also an executable.\n\n"
    "  E2104    the page of an error: what happened, and what to do\n"
    "  fusion   each decision with the two ops, their source lines and the reason\n"
    "  kernels  one line per kernel: the resources it uses, and the reasons for its shape\n"
    "  memory   which ops hold temporaries at the peak, and a picture of the live bytes\n"
    "  layout   which lane and register holds each element of a tile; TEXT is the content of\n"
    "           #sm.layout<…>\n"
    "  communication  how long collectives take on a cluster (h100x8, or a file) by NCCL and by "
    "each\n"
    "           form of our kernels, and which is the fastest\n"
    "  tuning   the measurements in a file of `tilewright tune`: what was tried, what won, and "
    "why\n"
    "           the others lost\n\n"
    "  tilewright explain memory step.mlirbc --output=step.svg\n"
    "  tilewright explain kernels step.mlirbc --target=sm_90a\n"
    "  tilewright explain layout '[2 reg:2, 8 lane:4] [4 lane, 2 reg]' --output=layout.svg\n",
    explainFlags,
    explain};

} // namespace tilewright::tools
