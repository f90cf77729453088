// Runs the PTX reader for tests in Python:
//
//   PtxProbe --check FILE…     one line a file: ok with counts, or the error
//   PtxProbe --print FILE      the module, printed
//   PtxProbe --roundtrip FILE… parses, prints, parses again, compares
//   PtxProbe --blocks FILE     a file of modules separated by lines "//---": a line each
//   PtxProbe --forms N SEED    instructions made from the table, N a row, and our
//                              verdict on each: a line of tab-separated fields
//   PtxProbe --support         the text of docs/reference/ptx-support.md
//
// The exit status is 1 if any file failed.

#include "test/vgpu/ptx/Forms.h"
#include "tilewright/vgpu/ptx/InstructionTable.h"
#include "tilewright/vgpu/ptx/Parser.h"
#include "tilewright/vgpu/ptx/Printer.h"
#include "tilewright/vgpu/ptx/SupportPage.h"

#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace tilewright;
using namespace tilewright::vgpu::ptx;

static std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

static std::string oneLine(std::string text) {
  for (char &c : text)
    if (c == '\n')
      c = ' ';
  return text;
}

/// Parses; with `again`, prints and parses once more. Describes the result in `line`.
static bool check(std::string_view text, bool again, std::string &line) {
  // CPU time: the machine may be busy.
  std::clock_t begin = std::clock();
  Result<Module> module = parse(text);
  double milliseconds = double(std::clock() - begin) * 1000 / CLOCKS_PER_SEC;
  if (!module.isOk()) {
    line = oneLine(std::move(module).takeStatus().toString());
    return false;
  }
  size_t instructions = 0;
  for (const Function &function : module->functions)
    instructions += function.instructions.size();
  if (again) {
    std::string printed = print(*module);
    Result<Module> second = parse(printed);
    std::string difference;
    if (!second.isOk()) {
      line = "printed text: " + oneLine(std::move(second).takeStatus().toString());
      return false;
    }
    if (!equal(*module, *second, &difference) || print(*second) != printed) {
      line = "not equal after printing: " + difference;
      return false;
    }
  }
  std::ostringstream out;
  out << "ok " << module->functions.size() << " functions " << instructions << " instructions "
      << milliseconds << " ms";
  line = out.str();
  return true;
}

static int checkBlocks(const std::string &path) {
  std::string text = readFile(path);
  std::string_view rest = text;
  constexpr std::string_view cut = "//---\n";
  while (!rest.empty()) {
    size_t end = std::min(rest.find(cut), rest.size());
    std::string line;
    check(rest.substr(0, end), false, line);
    std::cout << line << '\n';
    rest.remove_prefix(std::min(end + cut.size(), rest.size()));
  }
  return 0;
}

/// Row, lowest version, lowest target, whether mutated, text, and our verdict
/// for sm_80 and sm_90a with PTX 9.0: "ok" or the error.
static int writeForms(unsigned perRow, uint64_t seed) {
  for (const Form &form : makeForms(perRow, seed)) {
    std::cout << form.row << '\t' << form.version << '\t' << form.target << '\t'
              << (form.mutated ? "mutant" : "form") << '\t' << form.text;
    for (const char *target : {"80", "90a"}) {
      std::string line;
      bool fine = check(formsProlog(90, target) + form.text + "\n" + formsEpilog(), false, line);
      std::cout << '\t' << (fine ? "ok" : line);
    }
    std::cout << '\n';
  }
  return 0;
}

int main(int argc, char **argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "--forms" && argc == 4)
    return writeForms(static_cast<unsigned>(std::stoul(argv[2])), std::stoull(argv[3]));
  if (mode == "--support") {
    std::cout << supportPage();
    return 0;
  }
  if (mode == "--blocks" && argc == 3)
    return checkBlocks(argv[2]);
  if (mode == "--print" && argc == 3) {
    Result<Module> module = parse(readFile(argv[2]));
    if (!module.isOk()) {
      std::cerr << std::move(module).takeStatus().toString() << '\n';
      return 1;
    }
    std::cout << print(*module);
    return 0;
  }
  if (mode != "--check" && mode != "--roundtrip") {
    std::cerr << "usage: PtxProbe --check|--roundtrip|--print|--blocks|--forms|--support FILE…\n";
    return 2;
  }
  bool allFine = true;
  for (int i = 2; i < argc; ++i) {
    std::string line;
    allFine &= check(readFile(argv[i]), mode == "--roundtrip", line);
    std::cout << argv[i] << ": " << line << '\n';
  }
  return allFine ? 0 : 1;
}
