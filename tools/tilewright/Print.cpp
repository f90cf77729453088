// `tilewright print` and `options`: commands that only print.
#include "tilewright/support/Concat.h"
#include "tilewright/support/OptionNames.h"
#include "tilewright/support/text/Number.h"
#include "tools/tilewright/Command.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <iostream>

namespace tilewright::tools {
namespace {

constexpr Flag printFlags[] = {
    {"generic", "", "print every op in MLIR's generic form"},
    {"locations", "", "show where in the user's source each op comes from"},
    {"elide", "N", "leave out constants of more than N elements (default 64)"},
};

Status print(const CommandLine &line) {
  TILEWRIGHT_ASSIGN(std::string path, onlyFile(line, "print"));
  int64_t elide = 64;
  if (std::string text = line.last("elide"); !text.empty()) {
    elide = numberIn<int64_t>(text).value_or(-1);
    if (elide < 0)
      return Status(Error::flagValue, concat("--elide expects an integer, got '", text, "'"));
  }
  mlir::MLIRContext context;
  TILEWRIGHT_ASSIGN(auto module, loadProgram(context, path, line.options()));
  mlir::OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(elide).elideLargeResourceString(elide);
  if (line.has("generic"))
    flags.printGenericOpForm();
  if (line.has("locations"))
    flags.enableDebugInfo(true, true);
  module->print(llvm::outs(), flags);
  llvm::outs() << "\n";
  return Status();
}

constexpr Flag optionsFlags[] = {
    {"python", "", "print python/tilewright/option_table.py instead"},
};

Status printOptions(const CommandLine &line) {
  if (line.files().empty()) {
    std::cout << (line.has("python") ? Options::pythonTable() : Options::reference());
    return Status();
  }
  for (const std::string &part : line.files()) {
    const std::string found = describeOptions(part);
    if (found.empty())
      return Status(Error::commandUsage, concat("no option name contains '", part,
                                                "'; `tilewright --help-all` lists all options"));
    std::cout << found;
  }
  return Status();
}

} // namespace

const Command printCommand{
    "print",
    "FILE [--generic] [--locations]",
    "shows the program in an artifact as text",
    "\nFILE is a StableHLO portable artifact (such as jax.export's mlir_module_serialized), or\n"
    "MLIR text. The artifact is checked in full before anything is printed.\n",
    printFlags,
    print};

const Command optionsCommand{"options",
                             "[PART-OF-A-NAME]…",
                             "prints the reference of all options, or of some",
                             "\n  tilewright options remarks\n",
                             optionsFlags,
                             printOptions};

} // namespace tilewright::tools
