#include "tilewright/vgpu/ptx/InstructionTable.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace tilewright::vgpu::ptx {

namespace {

struct WrittenRow {
  std::string_view name, opcode, modifiers, operands;
  unsigned version;
  std::string_view architecture;
  InstructionClass klass;
  Handler handler;
  std::string_view handlerName;
};

constexpr WrittenRow writtenRows[] = {
#define PTX_INSTRUCTION(id, opcode, modifiers, operands, ptx, sm, klass, handler)                  \
  {#id, opcode, modifiers, operands, ptx, #sm, InstructionClass::klass, Handler::handler, #handler},
#include "tilewright/vgpu/ptx/Instructions.def"
};

constexpr std::pair<std::string_view, std::string_view> modifierSets[] = {
#define PTX_MODIFIER_SET(name, words) {#name, words},
#include "tilewright/vgpu/ptx/Instructions.def"
};

constexpr std::pair<std::string_view, std::string_view> refusals[] = {
#define PTX_REFUSED(word, reason) {word, reason},
#include "tilewright/vgpu/ptx/Refused.def"
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find(separator), text.size());
    if (end > 0)
      parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool takeSuffix(std::string_view &text, std::string_view suffix) {
  if (!text.ends_with(suffix))
    return false;
  text.remove_suffix(suffix.size());
  return true;
}

bool takePrefix(std::string_view &text, std::string_view prefix) {
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// The instruction table, compiled once.
class Table {
public:
  Table() {
    rows.reserve(std::size(writtenRows));
    for (const WrittenRow &written : writtenRows)
      compile(written);
    for (const InstructionRow &row : rows)
      byOpcode[row.opcode].push_back(&row);
  }

  std::vector<InstructionRow> rows;
  std::unordered_map<std::string_view, std::vector<const InstructionRow *>> byOpcode;
  std::vector<std::string> problems;

private:
  void complain(const InstructionRow &row, std::string_view what, std::string_view where) {
    problems.push_back(concat("row ", row.name, ": ", what, " '", where, "'"));
  }

  void compile(const WrittenRow &written) {
    InstructionRow row;
    row.id = static_cast<RowId>(rows.size());
    row.name = written.name;
    row.opcode = written.opcode;
    row.grammar = written.modifiers;
    row.signature = written.operands;
    row.version = written.version;
    row.klass = written.klass;
    row.handler = written.handler;
    row.handlerName = written.handlerName;
    std::string_view architecture = written.architecture;
    if (const char last = architecture.back(); last > '9') {
      row.requirement.kind = static_cast<Requirement::Kind>(last);
      architecture.remove_suffix(1);
    }
    std::from_chars(architecture.data(), architecture.data() + architecture.size(),
                    row.requirement.architecture);
    for (std::string_view slot : split(written.modifiers, ' '))
      compileSlot(row, slot);
    for (std::string_view operand : split(written.operands, ' '))
      compileOperand(row, operand);
    if (row.slots.size() > Instruction::maxModifiers)
      complain(row, "has more slots than an instruction has modifiers:", row.grammar);
    rows.push_back(std::move(row));
  }

  void compileSlot(InstructionRow &row, std::string_view text) {
    ModifierSlot slot;
    slot.optional = takeSuffix(text, "?");
    for (std::string_view word : split(text, '|'))
      addWord(row, slot, word);
    row.slots.push_back(std::move(slot));
  }

  void addWord(InstructionRow &row, ModifierSlot &slot, std::string_view word) {
    if (takePrefix(word, "$")) {
      for (auto [name, words] : modifierSets) {
        if (name == word) {
          for (std::string_view member : split(words, '|'))
            addWord(row, slot, member);
          return;
        }
      }
      complain(row, "uses the unknown set", word);
    } else if (size_t dots = word.find(".."); dots != word.npos) {
      addShapes(row, slot, word);
    } else if (std::optional<Modifier> modifier = findModifier(word)) {
      slot.words.push_back(*modifier);
    } else {
      complain(row, "uses the unknown modifier", word);
    }
  }

  /// "m64n8..256k16": every n in steps of 8, or of the number after a '/'.
  void addShapes(InstructionRow &row, ModifierSlot &slot, std::string_view word) {
    unsigned m = 0, low = 0, high = 0, k = 0;
    const char *at = word.data(), *end = word.data() + word.size();
    at = std::from_chars(at + 1, end, m).ptr;
    at = std::from_chars(at + 1, end, low).ptr;
    at = std::from_chars(at + 2, end, high).ptr;
    unsigned step = 8;
    if (at < end && *at == '/')
      at = std::from_chars(at + 1, end, step).ptr;
    at = std::from_chars(at + 1, end, k).ptr;
    if (at != end || low == 0 || step == 0)
      return complain(row, "has an unreadable shape", word);
    for (unsigned n = low; n <= high; n += step)
      slot.words.push_back(shapeModifier(m, n, k));
  }

  void compileOperand(InstructionRow &row, std::string_view text) {
    OperandRule rule;
    size_t mark = text.find_first_of("=:");
    if (mark == text.npos)
      return complain(row, "has an operand without a form", text);
    rule.name = text.substr(0, mark);
    rule.written = text[mark] == '=';
    std::string_view form = text.substr(mark + 1);
    if (size_t at = form.find('@'); at != form.npos) {
      std::optional<Modifier> condition = findModifier(form.substr(at + 1));
      if (!condition)
        return complain(row, "has a condition on an unknown modifier", text);
      rule.condition = *condition;
      form = form.substr(0, at);
    }
    if (takeSuffix(form, "?90"))
      rule.architecture = 90;
    else if (takeSuffix(form, "?100"))
      rule.architecture = 100;
    rule.optional = takeSuffix(form, "?") || rule.architecture != 0;
    if (takeSuffix(form, "||pred"))
      rule.second = rule.secondNeeded = true;
    else
      rule.second = takeSuffix(form, "|pred");
    rule.sinkNeeded = form == "__";
    rule.sink = rule.sinkNeeded || takeSuffix(form, "_");
    rule.mayBeWider = takeSuffix(form, "+");
    if (!rule.sinkNeeded && !compileForm(rule, form))
      complain(row, "has an operand of an unknown form", text);
    row.operands.push_back(std::move(rule));
  }

  static bool compileForm(OperandRule &rule, std::string_view form) {
    static constexpr std::pair<std::string_view, OperandForm> plain[] = {
        {"[m]", OperandForm::address},  {"[t]", OperandForm::tensor},
        {"offs", OperandForm::offsets}, {"imm", OperandForm::immediate},
        {"src", OperandForm::source},   {"lanes", OperandForm::lanes},
        {"var", OperandForm::location}, {"!pred", OperandForm::predicate},
        {"label", OperandForm::label},  {"labels", OperandForm::labels},
        {"mov", OperandForm::move},     {"call", OperandForm::call},
    };
    for (auto [name, value] : plain) {
      if (form == name) {
        rule.form = value;
        return true;
      }
    }
    if (form == "V") {
      rule.form = OperandForm::vectorized;
      return true;
    }
    if (form.size() == 1 && form[0] >= 'A' && form[0] <= 'D') {
      rule.form = OperandForm::fragment;
      rule.matrix = form[0];
      return true;
    }
    if (form == "W") {
      rule.doubled = true;
      return true;
    }
    if (form.starts_with('T')) {
      if (form.size() > 1)
        rule.typeIndex = static_cast<uint8_t>(form[1] - '0');
      return form.size() == 1 || (form.size() == 2 && rule.typeIndex < 4);
    }
    if (form.starts_with('{')) {
      rule.form = OperandForm::vector;
      rule.count = static_cast<uint8_t>(form[1] - '0');
      form.remove_prefix(3);
    }
    std::optional<Modifier> type = findModifier(form);
    rule.type = type.value_or(Modifier::none);
    return type && isType(*type);
  }
};

const Table &table() {
  static const Table *const instance = new Table();
  return *instance;
}

bool matchFrom(const InstructionRow &row, size_t slot, std::span<const Modifier> words, size_t word,
               MatchTrace *trace) {
  if (slot == row.slots.size()) {
    if (word == words.size())
      return true;
    if (trace && word >= trace->reached) {
      if (word > trace->reached)
        trace->allowed.clear();
      trace->reached = word;
      trace->complete = true;
    }
    return false;
  }
  const ModifierSlot &here = row.slots[slot];
  if (word < words.size() && here.accepts(words[word]) &&
      matchFrom(row, slot + 1, words, word + 1, trace))
    return true;
  if (trace && word >= trace->reached && (word == words.size() || !here.accepts(words[word]))) {
    if (word > trace->reached) {
      trace->allowed.clear();
      trace->complete = false;
    }
    trace->reached = word;
    for (Modifier modifier : here.words)
      if (std::find(trace->allowed.begin(), trace->allowed.end(), modifier) == trace->allowed.end())
        trace->allowed.push_back(modifier);
  }
  return here.optional && matchFrom(row, slot + 1, words, word, trace);
}

bool reorderFrom(const InstructionRow &row, size_t slot, std::vector<Modifier> &left,
                 std::vector<Modifier> &ordered) {
  if (slot == row.slots.size())
    return left.empty();
  if (left.size() > row.slots.size() - slot)
    return false;
  const ModifierSlot &here = row.slots[slot];
  for (size_t i = 0; i < left.size(); ++i) {
    Modifier word = left[i];
    // Words of the same kind keep their order, because it distinguishes the source space from the
    // destination space.
    bool first = std::none_of(left.begin(), left.begin() + static_cast<ptrdiff_t>(i),
                              [word](Modifier before) { return kindOf(before) == kindOf(word); });
    if (!first || !here.accepts(word))
      continue;
    left.erase(left.begin() + static_cast<ptrdiff_t>(i));
    ordered.push_back(word);
    if (reorderFrom(row, slot + 1, left, ordered))
      return true;
    ordered.pop_back();
    left.insert(left.begin() + static_cast<ptrdiff_t>(i), word);
  }
  return here.optional && reorderFrom(row, slot + 1, left, ordered);
}

} // namespace

/// sm_101 is the earlier name of sm_110.
static bool hasTensorMemory(unsigned architecture) {
  return architecture >= 100 && architecture < 120;
}

bool Requirement::isMetBy(const Target &target) const {
  if (target.architecture < architecture)
    return false;
  switch (kind) {
  case Kind::all:
    return true;
  case Kind::only:
    return target.architecture == architecture && target.suffix == 'a';
  case Kind::suffixed:
    return target.suffix != 0;
  case Kind::tensor:
    return target.suffix != 0 && hasTensorMemory(target.architecture);
  case Kind::exact:
    return target.suffix == 'a' && hasTensorMemory(target.architecture);
  }
  return false;
}

std::string Requirement::describe() const {
  switch (kind) {
  case Kind::all:
    return concat("sm_", architecture, " or higher");
  case Kind::only:
    return concat("sm_", architecture, "a");
  case Kind::suffixed:
    return concat("sm_", architecture, "a or a later one with a suffix");
  case Kind::tensor:
    return concat("sm_", architecture, "a or another one with tensor memory and a suffix");
  case Kind::exact:
    return concat("sm_", architecture, "a or another one with tensor memory and the suffix 'a'");
  }
  return {};
}

std::string Requirement::example() const {
  return concat(architecture, kind == Kind::all ? "" : "a");
}

bool ModifierSlot::accepts(Modifier modifier) const {
  return std::find(words.begin(), words.end(), modifier) != words.end();
}

std::string_view nameOf(InstructionClass klass) {
  static constexpr std::string_view names[] = {
      "integer", "logic",  "fp16",   "fp32",       "fp64",    "special", "conversion", "compare",
      "move",    "memory", "atomic", "async copy", "barrier", "warp",    "matrix",     "control"};
  return names[static_cast<size_t>(klass)];
}

std::span<const InstructionRow> instructionTable() { return table().rows; }

std::span<const InstructionRow *const> rowsOf(std::string_view opcode) {
  auto found = table().byOpcode.find(opcode);
  if (found == table().byOpcode.end())
    return {};
  return found->second;
}

std::string_view refusalOf(std::string_view word) {
  for (auto [refused, reason] : refusals)
    if (word == refused)
      return reason;
  return {};
}

std::span<const std::pair<std::string_view, std::string_view>> refusedInstructions() {
  return refusals;
}

const std::vector<std::string> &tableProblems() { return table().problems; }

bool matches(const InstructionRow &row, std::span<const Modifier> words, MatchTrace *trace) {
  return matchFrom(row, 0, words, 0, trace);
}

std::string conflictOf(const InstructionRow &row, std::span<const Modifier> words) {
  unsigned length = 1, bits = 0;
  Modifier space = Modifier::none, hint = Modifier::none;
  for (Modifier word : words) {
    switch (kindOf(word)) {
    case ModifierKind::vector:
      length = word == Modifier::v2 ? 2 : word == Modifier::v4 ? 4 : 8;
      break;
    case ModifierKind::type:
      bits = bits == 0 ? bitsOf(word) : bits; // of the elements
      break;
    case ModifierKind::space:
      space = word;
      break;
    case ModifierKind::eviction:
    case ModifierKind::cacheHint:
    case ModifierKind::prefetchSize:
      hint = word;
      break;
    default:
      break;
    }
  }
  // Rows of sm_100 have vectors of 256 bits; narrower ones are in the rows before them.
  const bool isWide = row.klass == InstructionClass::memory && row.requirement.architecture >= 100;
  if (isWide && length > 1 && length * bits != 256)
    return concat("this form needs 8 elements of 32 bits or 4 of 64 bits, got ", length, " of ",
                  bits, " bits");
  if (length * bits > 128 && length > 1 && !isWide)
    return concat("a vector can have at most 128 bits below sm_100, got ", length, " elements of ",
                  bits, " bits");
  bool accesses = row.klass == InstructionClass::memory || row.klass == InstructionClass::atomic;
  if (accesses && hint != Modifier::none && space != Modifier::none && space != Modifier::global)
    return concat("'.", spellingOf(hint), "' requires .global or no state space, got .",
                  spellingOf(space));
  return {};
}

bool matchesReordered(const InstructionRow &row, std::vector<Modifier> &words) {
  // For ptxas, mul.lo and wmma.load.a are opcodes, so these words must come first.
  ModifierKind kind = row.slots.empty() ? ModifierKind::type : kindOf(row.slots[0].words[0]);
  if ((kind == ModifierKind::part || kind == ModifierKind::matrix) &&
      (words.empty() || !row.slots[0].accepts(words[0])))
    return false;
  std::vector<Modifier> left = words, ordered;
  if (!reorderFrom(row, 0, left, ordered))
    return false;
  words = std::move(ordered);
  return true;
}

} // namespace tilewright::vgpu::ptx
