// `tilewright print` and `options`: commands that only show.
#include "tilewright/support/Concat.h"
#include "tools/tilewright/Command.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <charconv>
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
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), elide);
    if (error != std::errc() || end != text.data() + text.size() || elide < 0)
      return Status(Error::flagValue, concat("--elide takes a whole number, got '", text, "'"));
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

Status printOptions(const CommandLine &line) {
  std::cout << Options::reference();
  return Status();
}

} // namespace

const Command printCommand{
    "print",
    "FILE [--generic] [--locations]",
    "shows the program in an artifact as text",
    "\nFILE is a StableHLO portable artifact (what jax.export's mlir_module_serialized is), or "
    "text\n"
    "in our dialects. The artifact is checked in full before anything is printed.\n",
    printFlags,
    print};

const Command optionsCommand{"options", "", "prints the reference of all options",
                             "",        {}, printOptions};

} // namespace tilewright::tools
