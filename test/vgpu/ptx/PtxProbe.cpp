// What tests in Python ask of the PTX reader:
//
//   PtxProbe --check FILE…     one line a file: ok with counts, or the error
//   PtxProbe --print FILE      the module, printed
//   PtxProbe --roundtrip FILE… parses, prints, parses again, compares
//   PtxProbe --blocks FILE     a file of modules cut by lines "//---": a line each
//   PtxProbe --table           the instruction table, tab-separated
//   PtxProbe --support         the text of docs/reference/ptx-support.md
//
// The exit status is 1 if any file failed.

#include "tilewright/vgpu/ptx/InstructionTable.h"
#include "tilewright/vgpu/ptx/Parser.h"
#include "tilewright/vgpu/ptx/Printer.h"
#include "tilewright/vgpu/ptx/SupportPage.h"

#include <chrono>
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

/// Parses; with `again`, prints and parses once more. Says what came out.
static bool check(std::string_view text, bool again, std::string &line) {
  auto begin = std::chrono::steady_clock::now();
  Result<Module> module = parse(text);
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
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
      << time.count() << " ms";
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

static int writeTable() {
  for (const Row &row : instructionTable()) {
    std::cout << row.name << '\t' << row.opcode << '\t';
    for (const ModifierSlot &slot : row.slots) {
      std::string separator;
      for (Modifier word : slot.words) {
        std::cout << separator << spellingOf(word);
        separator = "|";
      }
      std::cout << (slot.optional ? "? " : " ");
    }
    std::cout << '\t' << row.signature << '\t' << row.version << '\t'
              << row.requirement.architecture << (row.requirement.specific ? "a" : "") << '\n';
  }
  return 0;
}

int main(int argc, char **argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "--table")
    return writeTable();
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
    std::cerr << "usage: PtxProbe --check|--roundtrip|--print|--blocks|--table|--support FILE…\n";
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
