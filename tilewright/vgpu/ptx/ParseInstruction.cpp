// Guards and heads of instructions. The head determines the instruction's row in the table.
#include "tilewright/vgpu/ptx/ParserState.h"

#include <algorithm>

namespace tilewright::vgpu::ptx {

namespace {

/// The maximum number of words in an opcode: mbarrier.arrive_drop.expect_tx,
/// cp.async.bulk.prefetch.tensor.
constexpr size_t maxOpcodeWords = 5;

std::string listWords(std::span<const Modifier> words, bool complete) {
  // Abbreviate the list: all shapes of a range would fill a page.
  std::string text;
  size_t shown = 0;
  for (Modifier word : words) {
    if (shown++ == 24) {
      text += concat(" and ", words.size() - 24, " more");
      break;
    }
    text += concat(shown > 1 ? ", " : "", ".", spellingOf(word));
  }
  if (complete)
    text += text.empty() ? "its operands" : ", or its operands";
  return text;
}

std::string spell(unsigned version) { return concat(version / 10, ".", version % 10); }

} // namespace

Status ParserState::parseInstruction() {
  Instruction instruction;
  if (at('@')) {
    TILEWRIGHT_TRY(advance());
    if (at('!')) {
      instruction.guardNegated = true;
      TILEWRIGHT_TRY(advance());
    }
    Position position = token.position;
    std::string_view name;
    if (token.kind != TokenKind::identifier)
      return fail(Error::ptxSyntax, position, "expected a predicate after '@', got ",
                  describe(token));
    name = token.text;
    TILEWRIGHT_TRY(advance());
    if (!findRegister(name, instruction.guard))
      return fail(Error::ptxUndefined, position, "the register '", name, "' is not declared");
    if (function->registers[instruction.guard].type != Modifier::pred)
      return fail(Error::ptxOperandType, position, "a guard must be a .pred register, but '", name,
                  "' is .", spellingOf(function->registers[instruction.guard].type));
    instruction.guarded = true;
  }
  if (token.kind != TokenKind::identifier)
    return fail(Error::ptxSyntax, token.position, "expected an instruction, got ", describe(token));
  Position position = token.position;
  std::string_view text = lexer.takeHead(token.text);
  if (text.size() == token.text.size() && !instruction.guarded && lexer.peek() == ':') {
    TILEWRIGHT_TRY(advance());
    TILEWRIGHT_TRY(advance());
    return parseLabel(text, position);
  }
  TILEWRIGHT_TRY(advance());
  const Head *head = nullptr;
  if (token.kind != TokenKind::dotted) {
    TILEWRIGHT_TRY(resolveHead(text, position, head));
  } else {
    // Inline assembly may have spaces or line breaks between the words.
    std::string joined(text);
    while (token.kind == TokenKind::dotted) {
      joined += concat(".", token.text);
      TILEWRIGHT_TRY(advance());
    }
    auto [entry, isNew] = joinedHeads.try_emplace(std::move(joined));
    if (isNew) {
      TILEWRIGHT_TRY(resolveHead(entry->first, position, head));
      entry->second = *head;
      heads.erase(entry->first);
    }
    head = &entry->second;
  }
  instruction.row = head->row->id;
  instruction.modifierCount = head->modifierCount;
  instruction.modifiers = head->modifiers;
  instruction.position = position;
  instruction.location = location;

  // The elements of composite operands are stored as they are read; the instruction's own operands
  // follow them, contiguously.
  std::vector<Operand> operands;
  inCall = head->row->handler == Handler::call;
  if (!at(';')) {
    while (true) {
      if (operands.size() == 0xffff)
        return fail(Error::ptxLimit, token.position, "an instruction has too many operands");
      TILEWRIGHT_TRY(parseOperand(operands.emplace_back()));
      if (!at(','))
        break;
      TILEWRIGHT_TRY(advance());
    }
  }
  if (!at(';'))
    return fail(Error::ptxSyntax, token.position, "expected ',' or ';' after an operand of '",
                head->row->opcode, "', got ", describe(token));
  instruction.firstOperand = static_cast<uint32_t>(function->operands.size());
  instruction.operandCount = static_cast<uint16_t>(operands.size());
  for (const Operand &operand : operands)
    store(operand);
  if (head->row->klass != InstructionClass::control)
    TILEWRIGHT_TRY(checkOperands(module, *function, instruction));
  function->items.push_back(
      {ItemKind::instruction, static_cast<uint32_t>(function->instructions.size())});
  function->instructions.push_back(instruction);
  return advance();
}

Status ParserState::resolveHead(std::string_view text, Position position, const Head *&resolved) {
  if (auto found = heads.find(text); found != heads.end()) {
    resolved = &found->second;
    return Status();
  }
  std::vector<std::string_view> words;
  std::vector<Position> positions;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('.', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    positions.push_back(
        {position.line, position.column + static_cast<uint32_t>(begin) - (begin ? 1u : 0u)});
    begin = end + 1;
  }

  // Find the longest matching opcode, supported or rejected.
  size_t opcodeWords = 0;
  std::string_view opcode;
  std::span<const InstructionRow *const> rows;
  for (size_t count = std::min(words.size(), maxOpcodeWords); count > 0; --count) {
    opcode = text.substr(0, static_cast<size_t>(words[count - 1].end() - text.begin()));
    rows = rowsOf(opcode);
    if (!rows.empty()) {
      opcodeWords = count;
      break;
    }
    if (std::string_view reason = refusalOf(opcode); !reason.empty())
      return fail(Error::ptxUnsupportedInstruction, position, "'", text.substr(0, 80),
                  "' is not supported: ", reason);
  }
  if (opcodeWords == 0) {
    std::string known;
    for (const InstructionRow &row : instructionTable())
      if (row.opcode.starts_with(concat(words[0], ".")) && known.find(row.opcode) == known.npos)
        known += concat(known.empty() ? "" : ", ", row.opcode);
    return fail(Error::ptxUnknownInstruction, position, "'", text.substr(0, 80),
                "' is not a PTX instruction",
                known.empty() ? std::string()
                              : concat("; instructions with this prefix are ", known));
  }

  std::vector<Modifier> modifiers;
  for (size_t i = opcodeWords; i < words.size(); ++i)
    modifiers.push_back(findModifier(words[i]).value_or(Modifier::none));
  const InstructionRow *refused = nullptr;
  std::vector<Modifier> refusedWords;
  std::string conflict;
  for (bool reorder : {false, true}) {
    for (const InstructionRow *row : rows) {
      std::vector<Modifier> ordered = modifiers;
      if (!(reorder ? matchesReordered(*row, ordered) : matches(*row, ordered)))
        continue;
      if (std::string found = conflictOf(*row, ordered); !found.empty()) {
        conflict = conflict.empty() ? std::move(found) : conflict;
        continue;
      }
      if (!checkRequirement(*row, ordered, position).isOk()) {
        if (!refused)
          refusedWords = ordered;
        refused = refused ? refused : row;
        continue;
      }
      Head head;
      head.row = row;
      head.modifierCount = static_cast<uint8_t>(ordered.size());
      std::copy(ordered.begin(), ordered.end(), head.modifiers.begin());
      resolved = &heads.emplace(text, head).first->second;
      return Status();
    }
  }
  if (refused)
    return checkRequirement(*refused, refusedWords, position);
  if (!conflict.empty())
    return fail(Error::ptxModifier, position, "'", text.substr(0, 80),
                "' is not valid: ", conflict);
  return explainHead(opcode, rows, modifiers, std::span(words).subspan(opcodeWords),
                     std::span(positions).subspan(opcodeWords), position);
}

Status ParserState::checkRequirement(const InstructionRow &row, std::span<const Modifier> words,
                                     Position position) const {
  unsigned version = row.version;
  unsigned architecture = row.requirement.architecture;
  Modifier versionWord = Modifier::none, architectureWord = Modifier::none;
  for (Modifier word : words) {
    if (versionOf(word) > version) {
      version = versionOf(word);
      versionWord = word;
    }
    if (architectureOf(word) > architecture) {
      architecture = architectureOf(word);
      architectureWord = word;
    }
  }
  auto subject = [&](Modifier word) {
    return word == Modifier::none ? concat("'", row.opcode, "' in this form")
                                  : concat("'.", spellingOf(word), "' of '", row.opcode, "'");
  };
  const Target &target = module.target;
  std::string written = concat("sm_", target.architecture);
  if (target.suffix)
    written += target.suffix;
  if (row.requirement.kind != Requirement::Kind::all && !row.requirement.isMetBy(target))
    return fail(Error::ptxRequirement, position, subject(Modifier::none), " requires target ",
                row.requirement.describe(), ", but the module is for ", written);
  if (target.architecture < architecture)
    return fail(Error::ptxRequirement, position, subject(architectureWord), " requires target sm_",
                architecture, " or higher, but the module is for ", written);
  if (module.version < version)
    return fail(Error::ptxRequirement, position, subject(versionWord), " requires PTX ",
                spell(version), " or higher, but the module has version ", spell(module.version));
  return Status();
}

Status ParserState::explainHead(std::string_view opcode,
                                std::span<const InstructionRow *const> rows,
                                std::span<const Modifier> words,
                                std::span<const std::string_view> texts,
                                std::span<const Position> positions, Position position) const {
  MatchTrace best;
  for (const InstructionRow *row : rows) {
    MatchTrace trace;
    matches(*row, words, &trace);
    if (trace.reached < best.reached)
      continue;
    if (trace.reached > best.reached)
      best = {trace.reached, {}, false};
    best.complete |= trace.complete;
    for (Modifier word : trace.allowed)
      if (std::find(best.allowed.begin(), best.allowed.end(), word) == best.allowed.end())
        best.allowed.push_back(word);
  }
  std::string before(opcode);
  for (size_t i = 0; i < best.reached; ++i)
    before += concat(".", texts[i]);
  if (best.reached >= words.size())
    return fail(Error::ptxModifier, position, "'", before, "' is incomplete; expected ",
                listWords(best.allowed, best.complete));
  return fail(Error::ptxModifier, positions[best.reached], "'.", texts[best.reached].substr(0, 60),
              "' is not allowed after '", before, "'; expected ",
              listWords(best.allowed, best.complete));
}

} // namespace tilewright::vgpu::ptx
