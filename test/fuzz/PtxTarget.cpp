#include "test/fuzz/PtxTarget.h"

#include "tilewright/vgpu/machine/LoadedModule.h"
#include "tilewright/vgpu/ptx/InstructionTable.h"
#include "tilewright/vgpu/ptx/Parser.h"
#include "tilewright/vgpu/ptx/Printer.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace tilewright::fuzz {

using namespace vgpu::ptx;

static void require(bool holds, const char *what, const std::string &detail = {}) {
  if (holds)
    return;
  std::fprintf(stderr, "the PTX reader broke its word: %s %s\n", what, detail.c_str());
  std::abort();
}

static void checkOperand(const Module &module, const Function &function, const Operand &operand) {
  auto below = [&](size_t size) { return operand.index < size; };
  switch (operand.kind) {
  case OperandKind::reg:
    require(below(function.registers.size()), "a register has no number");
    break;
  case OperandKind::symbol:
    require(below(module.symbols.size()), "a symbol has no number");
    break;
  case OperandKind::label:
    require(below(function.labels.size()), "a label has no number");
    break;
  case OperandKind::labels:
    require(below(function.branchTargets.size()), "a list of labels has no number");
    break;
  case OperandKind::targets:
    require(below(function.callTargets.size()), "a list of functions has no number");
    break;
  case OperandKind::prototype:
    require(below(function.prototypes.size()), "a prototype has no number");
    break;
  default:
    break;
  }
  require(size_t(operand.first) + operand.count <= function.operands.size(),
          "elements are outside");
}

static void checkModule(const Module &module) {
  for (const Function &function : module.functions) {
    for (const Operand &operand : function.operands)
      checkOperand(module, function, operand);
    for (const Instruction &instruction : function.instructions) {
      require(size_t(instruction.firstOperand) + instruction.operandCount <=
                  function.operands.size(),
              "operands are outside");
      require(size_t(instruction.row) < instructionTable().size(), "an instruction has no row");
      require(matches(rowOf(instruction), instruction.mods()), "modifiers are not in order");
      require(!instruction.guarded || instruction.guard < function.registers.size(),
              "a guard has no number");
      require(instruction.location == noIndex || instruction.location < module.locations.size(),
              "a location has no number");
    }
    for (const Label &label : function.labels)
      require(label.instruction <= function.instructions.size(), "a label points outside");
  }
  for (const Symbol &symbol : module.symbols)
    require(symbol.index < (symbol.kind == SymbolKind::function ? module.functions.size()
                                                                : module.variables.size()),
            "a symbol stands for nothing");
}

/// Loads the module: every kernel must be decoded, with and without an observer, or rejected with
/// an error id.
static void checkLoading(std::string_view text, const Module &module) {
  using vgpu::machine::LoadedModule;
  auto checkRefusal = [](Status status) {
    require(status.error().has_value() && status.toString().starts_with("E7"),
            "a refusal without an id:", status.message());
  };
  const std::clock_t start = std::clock();
  auto loaded = LoadedModule::create(text, "sm_90a");
  require(std::clock() - start < 2 * CLOCKS_PER_SEC, "loading took over two seconds");
  if (!loaded.isOk())
    return checkRefusal(std::move(loaded).takeStatus());
  for (const Function &function : module.functions) {
    if (!function.entry || !function.defined)
      continue;
    auto program =
        (*loaded)->kernel(module.name(function.name), {.observed = true, .handlers = std::nullopt});
    if (!program.isOk())
      checkRefusal(std::move(program).takeStatus());
  }
}

bool checkPtx(std::string_view text) {
  // CPU time, so that a busy machine does not look like a slow reader.
  const std::clock_t start = std::clock();
  Result<Module> module = parse(text);
  require(std::clock() - start < CLOCKS_PER_SEC, "reading took over a second");
  if (!module.isOk()) {
    Status status = std::move(module).takeStatus();
    require(status.error().has_value() && status.toString().starts_with("E70"),
            "a failure without an id:", status.message());
    require(status.message().starts_with("line "), "a failure without a place:", status.message());
    return false;
  }
  checkModule(*module);
  std::string printed = print(*module);
  Result<Module> again = parse(printed);
  if (!again.isOk())
    require(false, "what was printed cannot be read:",
            std::move(again).takeStatus().toString() + "\n" + printed);
  std::string difference;
  require(equal(*module, *again, &difference),
          "what was printed reads differently:", difference + "\n" + printed);
  checkLoading(text, *module);
  return true;
}

/// Splits text into words, numbers and single characters; white space belongs to the token before
/// it.
static std::vector<std::string> wordsOf(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    if (isWord(text[at]))
      while (end < text.size() && isWord(text[end]))
        ++end;
    while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])))
      ++end;
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string mutatePtx(std::string_view text, Random &random) {
  static const std::vector<std::string> dictionary = [] {
    std::vector<std::string> words = {"{",
                                      "}",
                                      "[",
                                      "]",
                                      "(",
                                      ")",
                                      ",",
                                      ";",
                                      ":",
                                      "|",
                                      "!",
                                      "@",
                                      "_",
                                      "<",
                                      ">",
                                      "=",
                                      "-",
                                      "+",
                                      "%tid.x",
                                      "0x7fffffffffffffff",
                                      "-1",
                                      "0f7F800000",
                                      ".reg .b32 %z<9>;\n",
                                      ".param ",
                                      ".align 8 ",
                                      "generic(",
                                      ".branchtargets ",
                                      ".callprototype ",
                                      "WARP_SZ"};
    for (const InstructionRow &row : instructionTable()) {
      words.push_back("\n" + std::string(row.opcode));
      for (const ModifierSlot &slot : row.slots)
        words.push_back("." + spellingOf(slot.words[0]));
    }
    return words;
  }();
  std::vector<std::string> words = wordsOf(text);
  for (uint64_t change = 0, changes = 1 + random.below(4); change < changes; ++change) {
    if (words.empty())
      words.push_back(".version 8.0\n.target sm_90a\n");
    auto at = words.begin() + static_cast<ptrdiff_t>(random.below(words.size()));
    auto other = words.begin() + static_cast<ptrdiff_t>(random.below(words.size()));
    switch (random.below(6)) {
    case 0:
      words.erase(at);
      break;
    case 1: {
      std::string copy = *other;
      words.insert(at, std::move(copy));
      break;
    }
    case 2:
      std::swap(*at, *other);
      break;
    case 3:
      *at = *other;
      break;
    case 4:
      *at = dictionary[random.below(dictionary.size())];
      break;
    default: {
      // Duplicates or removes a statement.
      auto from = std::min(at, other), to = std::max(at, other);
      if (to - from < 60) {
        std::vector<std::string> part(from, to);
        if (random.below(2))
          words.insert(to, part.begin(), part.end());
        else
          words.erase(from, to);
      }
    }
    }
  }
  std::string result;
  for (const std::string &word : words)
    result += word;
  return result;
}

} // namespace tilewright::fuzz
