#include "test/vgpu/ptx/Forms.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/ptx/Fragment.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace tilewright::vgpu::ptx {

namespace {

/// A register of the type; `number` keeps operands apart.
std::string registerFor(Modifier type, unsigned number, bool mayBeWider = true) {
  if (type == Modifier::pred)
    return concat("%p", number);
  unsigned bits = bitsOf(type);
  if (bits == 8 && !mayBeWider)
    return concat("%b", number);
  return concat(bits <= 16 ? "%h" : bits == 32 ? "%r" : bits == 64 ? "%d" : "%q", number);
}

std::string braces(unsigned count, Modifier type, unsigned first) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += concat(i ? ", " : "", registerFor(type, first + i));
  return text + "}";
}

/// Constants that the instruction accepts, by the operand's name in the table.
std::string constantFor(const InstructionRow &row, const Instruction &instruction,
                        const std::string &name) {
  if (row.opcode == "cp.async")
    return instruction.has(Modifier::cg) ? "16" : "8";
  static const std::map<std::string, std::string> values = {
      {"lut", "0x96"}, {"size", "128"}, {"imma", "1"}, {"immb", "-1"}, {"align", "8"}, {"a", "1"}};
  if (row.opcode.starts_with("setmaxnreg"))
    return "40";
  auto found = values.find(name);
  return found == values.end() ? "0" : found->second;
}

std::string addressFor(const Instruction &instruction, const OperandRule &rule) {
  bool written = rule.written || rowOf(instruction).opcode.starts_with("st");
  for (Modifier word : instruction.mods()) {
    if (word == Modifier::paramFunc || (word == Modifier::param && written))
      return "[argument]";
    if (word == Modifier::param || word == Modifier::paramEntry)
      return rowOf(instruction).handler == Handler::prefetch ? "[%d20]" : "[parameter]";
  }
  // Tensor memory has addresses of 32 bits.
  if (rowOf(instruction).opcode.starts_with("tcgen05") && rule.name != "dst" &&
      rowOf(instruction).handler != Handler::tcgenCommit)
    return "[%r20]";
  return "[%d20]";
}

class Writer {
public:
  Writer(const InstructionRow &row, const Instruction &instruction)
      : row(row), instruction(instruction) {}

  std::string write(bool withOptional) {
    std::string text(row.opcode);
    for (Modifier word : instruction.mods())
      text += concat(".", spellingOf(word));
    std::string separator = " ";
    for (const OperandRule &rule : row.operands) {
      if (rule.condition != Modifier::none && !instruction.has(rule.condition))
        continue;
      if (rule.optional && (!withOptional || rule.architecture > 90))
        continue;
      text += separator + operand(rule);
      separator = ", ";
    }
    return text + ";";
  }

private:
  std::string operand(const OperandRule &rule) {
    if (rule.sinkNeeded)
      return "_";
    std::string text = plain(rule);
    if (rule.second)
      text += "|%p9";
    next += 4;
    return text;
  }

  std::string plain(const OperandRule &rule) {
    Modifier type = rule.type != Modifier::none ? rule.type : instruction.type(rule.typeIndex);
    if (rule.doubled)
      type = bitsOf(type) == 16 ? Modifier::b32 : Modifier::b64;
    switch (rule.form) {
    case OperandForm::typed:
      return rule.name == "fraction" ? "0f3F000000" : registerFor(type, next, rule.mayBeWider);
    case OperandForm::vectorized: {
      Modifier vector = instruction.find(ModifierKind::vector);
      if (vector == Modifier::none)
        return registerFor(type, next);
      return braces(vector == Modifier::v2 ? 2 : vector == Modifier::v4 ? 4 : 8, type, next);
    }
    case OperandForm::vector:
      return braces(rule.count, type, next);
    case OperandForm::fragment: {
      if (row.klass == InstructionClass::matrix && rule.matrix == 'A' &&
          row.opcode.starts_with("wgmma"))
        return "%d2";
      Fragment fragment = fragmentOf(instruction, rule.matrix);
      return braces(fragment.count, fragment.registers, next);
    }
    case OperandForm::address:
      return addressFor(instruction, rule);
    case OperandForm::tensor:
      return concat("[%d21, ", braces(coordinates(), Modifier::b32, 30), "]");
    case OperandForm::offsets:
      return braces(instruction.has(Modifier::im2col) ? dimensions() - 2 : 2, Modifier::b16, 30);
    case OperandForm::source:
      return row.name.find("shifted") != row.name.npos ? "[%r20]" : "%d2";
    case OperandForm::lanes:
      return braces(instruction.has(Modifier::ctaGroup2) ? 8 : 4, Modifier::b32, next + 20);
    case OperandForm::immediate:
      return constantFor(row, instruction, rule.name);
    case OperandForm::location:
    case OperandForm::move:
      return registerFor(instruction.type(), next);
    case OperandForm::predicate:
      return "!%p8";
    case OperandForm::label:
      return "L";
    case OperandForm::labels:
      return "targets";
    case OperandForm::call:
      return "device";
    }
    return "";
  }

  unsigned coordinates() const {
    const bool choosesRows =
        instruction.has(Modifier::tileGather4) || instruction.has(Modifier::tileScatter4);
    return choosesRows ? 5 : dimensions(); // a column and four rows
  }
  unsigned dimensions() const {
    return static_cast<unsigned>(instruction.find(ModifierKind::dimension)) -
           static_cast<unsigned>(Modifier::d1) + 1;
  }

  const InstructionRow &row;
  const Instruction &instruction;
  unsigned next = 1;
};

class Maker {
public:
  Maker(unsigned perRow, uint64_t seed) : perRow(perRow), random(seed) {}

  std::vector<Form> make() {
    for (const InstructionRow &row : instructionTable()) {
      size_t total = 1;
      for (const ModifierSlot &slot : row.slots)
        total *= slot.words.size() + slot.optional;
      // If there are more combinations, they are sampled: loads have tens of thousands.
      constexpr size_t most = 600;
      bool all = total <= most && (perRow == 0 || total <= perRow);
      size_t wanted = all ? total : perRow == 0 ? most : perRow;
      for (size_t i = 0; i < wanted; ++i)
        add(row, choose(row, all ? i : random()));
      for (size_t i = 0; i < perRow; ++i)
        mutate(row);
    }
    return std::move(forms);
  }

private:
  /// The combination with this number.
  static std::vector<Modifier> choose(const InstructionRow &row, uint64_t number) {
    std::vector<Modifier> words;
    for (const ModifierSlot &slot : row.slots) {
      size_t choices = slot.words.size() + slot.optional;
      size_t choice = number % choices;
      number /= choices;
      if (choice < slot.words.size())
        words.push_back(slot.words[choice]);
    }
    return words;
  }

  void add(const InstructionRow &row, const std::vector<Modifier> &words, bool mutated = false) {
    Instruction instruction;
    instruction.row = row.id;
    instruction.modifierCount = static_cast<uint8_t>(words.size());
    std::copy(words.begin(), words.end(), instruction.modifiers.begin());
    Form form;
    form.row = row.name;
    form.mutated = mutated;
    form.text =
        Writer(row, instruction).write(random() % 2 == 0 || row.opcode.starts_with("wgmma"));
    unsigned version = row.version, architecture = row.requirement.architecture;
    for (Modifier word : words) {
      version = std::max(version, versionOf(word));
      architecture = std::max(architecture, architectureOf(word));
    }
    form.version = version;
    form.target = concat(architecture, row.requirement.kind == Requirement::Kind::all ? "" : "a");
    // Skips combinations that the slots allow but no chip has; producers do not write them.
    if (!mutated && !conflictOf(row, words).empty())
      return;
    if (seen.insert(form.text).second)
      forms.push_back(std::move(form));
  }

  /// Replaces a modifier by another of its opcode's rows, adds one or removes one. Keeps modifiers
  /// that determine the number of operands.
  void mutate(const InstructionRow &row) {
    std::vector<Modifier> words = choose(row, random());
    std::vector<Modifier> others;
    for (const InstructionRow *sibling : rowsOf(row.opcode))
      for (const ModifierSlot &slot : sibling->slots)
        others.insert(others.end(), slot.words.begin(), slot.words.end());
    if (others.empty() || words.empty())
      return;
    auto keeps = [](Modifier word) {
      ModifierKind kind = kindOf(word);
      return isType(word) || kind == ModifierKind::shape || kind == ModifierKind::vector ||
             kind == ModifierKind::dimension || kind == ModifierKind::cacheHint ||
             kind == ModifierKind::multicast || kind == ModifierKind::count ||
             kind == ModifierKind::loadMode || kind == ModifierKind::matrix ||
             kind == ModifierKind::layout || kind == ModifierKind::sparsity;
    };
    size_t at = random() % words.size();
    Modifier other = others[random() % others.size()];
    switch (random() % 3) {
    case 0:
      if (isType(words[at]) && isType(other) && bitsOf(words[at]) == bitsOf(other))
        words[at] = other;
      else if (!keeps(words[at]) && !keeps(other))
        words[at] = other;
      break;
    case 1:
      if (!keeps(other) && words.size() < Instruction::maxModifiers &&
          std::find(words.begin(), words.end(), other) == words.end())
        words.insert(words.begin() + static_cast<ptrdiff_t>(at), other);
      break;
    default:
      if (!keeps(words[at]))
        words.erase(words.begin() + static_cast<ptrdiff_t>(at));
      break;
    }
    add(row, words, true);
  }

  unsigned perRow;
  std::mt19937_64 random;
  std::vector<Form> forms;
  std::set<std::string> seen;
};

} // namespace

std::vector<Form> makeForms(unsigned perRow, uint64_t seed) { return Maker(perRow, seed).make(); }

std::string formsProlog(unsigned version, const std::string &target) {
  return concat(".version ", version / 10, ".", version % 10, "\n.target sm_", target,
                "\n.address_size 64\n.func device() { ret; }\n"
                ".visible .entry forms(.param .align 16 .b8 parameter[64])\n{\n"
                ".reg .pred %p<40>; .reg .b8 %b<40>; .reg .b16 %h<300>; .reg .b32 %r<300>; .reg "
                ".b64 %d<300>;\n",
                version >= 83 ? ".reg .b128 %q<40>;\n" : "",
                ".param .align 16 .b8 argument[64];\n"
                "targets: .branchtargets L;\n");
}

std::string formsEpilog() { return "L:\nret;\n}\n"; }

} // namespace tilewright::vgpu::ptx
