// `tilewright report`: shows the results of all compiler stages on one page.
#include "tilewright/support/Concat.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/CompileFile.h"
#include "tools/tilewright/ReportPage.h"
#include "tools/tilewright/input/Files.h"

#include <filesystem>
#include <iostream>

namespace tilewright::tools {
namespace {

constexpr Flag reportFlags[] = {
    {"output", "FILE.html", "the page to write (default: the program's name with .html)"},
    {"title", "TEXT", "title of the page (default: the file's name)"},
    targetFlag,
    traceFlag,
};

Status report(const CommandLine &line) {
  TILEWRIGHT_ASSIGN(std::string path, onlyFile(line, "report"));
  std::string output = line.last("output");
  if (output.empty())
    output = concat(path.substr(0, path.rfind('.')), ".html");
  driver::CompileReport compiled;
  TILEWRIGHT_ASSIGN(std::optional<artifact::Executable> executable,
                    readIfExecutable(path, line.options()));
  if (!executable) {
    TILEWRIGHT_ASSIGN(executable,
                      compileFile(path, optionsOf(line), compiled, /*wantsRemarks=*/true));
  }
  const ReportInput input{line.last("title", std::filesystem::path(path).filename().string()),
                          *executable, compiled};
  TILEWRIGHT_ASSIGN(std::string page, reportPage(input));
  TILEWRIGHT_TRY(writeFile(output, {std::as_bytes(std::span(page))}));
  std::cout << reportSummary(input) << "wrote " << output << " ("
            << humanBytes(static_cast<int64_t>(page.size())) << ")\n";
  return Status();
}

} // namespace

const Command reportCommand{
    "report",
    "FILE [--output=FILE.html] [--target=CHIP]",
    "writes one page: fusions with reasons, kernels, memory, communication, the plan",
    "\nFILE is a StableHLO portable artifact or MLIR text, which is compiled and not run, or "
    "an\nexecutable (.twx), which does not keep the reasons. The page needs no other file and "
    "no "
    "network.\nIn a notebook, `tilewright.explain(f, *args)` shows the same.\n\n"
    "  tilewright report step.mlirbc\n"
    "  tilewright report step.mlirbc --target=sm_90a --output=hopper.html\n",
    reportFlags,
    report};

} // namespace tilewright::tools
