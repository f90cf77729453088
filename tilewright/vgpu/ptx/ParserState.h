// The parser's class; its members are defined in the files Parse*.cpp.
#ifndef TILEWRIGHT_VGPU_PTX_PARSERSTATE_H
#define TILEWRIGHT_VGPU_PTX_PARSERSTATE_H

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/ptx/InstructionTable.h"
#include "tilewright/vgpu/ptx/Lexer.h"
#include "tilewright/vgpu/ptx/Names.h"

#include <unordered_map>

namespace tilewright::vgpu::ptx {

/// The value of a constant expression.
struct Constant {
  NumberKind kind = NumberKind::integer;
  uint64_t bits = 0;
};

/// The part of a declaration before the name: `.extern .global .align 16 .v4 .f32`.
struct Declaration {
  Linkage linkage = Linkage::internal;
  bool linkageWritten = false;
  Modifier space = Modifier::none;
  Modifier type = Modifier::none;
  uint8_t vector = 1;
  uint32_t alignment = 0;
  bool pointer = false;
  Modifier pointerSpace = Modifier::none;
  uint32_t pointerAlignment = 0;
  bool managed = false;
  std::optional<std::array<uint64_t, 2>> unified;
};

/// The resolved head of an instruction. Within a module, equal text resolves to the same head.
struct Head {
  const InstructionRow *row = nullptr;
  uint8_t modifierCount = 0;
  std::array<Modifier, Instruction::maxModifiers> modifiers{};
};

class ParserState {
public:
  explicit ParserState(std::string_view text) : lexer(text) {}

  Result<Module> run();

private:
  // Helpers for all parts of the parser.
  template <typename... Parts>
  Status fail(Error error, Position position, const Parts &...parts) const {
    return Status(error, concat(describe(position), parts...));
  }
  Status advance() { return lexer.next(token); }
  /// Consumes one punctuation character, or fails with a message that names it.
  Status expect(char punct, std::string_view after);
  Status expectIdentifier(std::string_view what, std::string_view &name);
  bool at(char punct) const { return token.is(punct); }
  /// Parses an integer constant that fits in 32 bits, for directives.
  Status parseNumber(std::string_view what, uint32_t &number);

  // ParseModule.cpp: directives outside functions.
  Status parseHeader();
  Status parseTarget();
  Status parseTopLevel();
  Status parseFile();
  Status parseSection();
  Status parseAlias();
  Status parsePragma(StringId &pragma);
  Status parseLocation(SourceLocation &location);
  void nameInlinedFunctions();

  // ParseFunction.cpp: signatures, bodies, their directives.
  Status parseFunction(const Declaration &declaration, bool entry);
  Status parseParameters(bool entry, bool returns, std::vector<uint32_t> &into);
  Status parsePerformance(Performance &performance, bool &found);
  Status parseBody();
  Status parseStatement();
  Status parseScopedDirective();
  Status parseRegisters();
  Status parseLabel(std::string_view name, Position position);
  Status parseTargetList(StringId name, Position position, bool calls);
  Status parsePrototype(StringId name, Position position);
  Status finishFunction();
  Status sameSignature(const Function &older, const Function &newer, Position position) const;

  // ParseVariable.cpp: declarations and initial values.
  Status parseDeclaration(Declaration &declaration);
  Status parseAttribute(Declaration &declaration);
  /// Parses the name, the dimensions and the initial value of one variable.
  Status parseVariable(const Declaration &declaration, Variable &variable);
  Status parseVariables(const Declaration &declaration);
  Status parseDimensions(Variable &variable);
  Status parseInitializer(Variable &variable);
  Status parseInitializerLevel(Variable &variable, size_t level, uint64_t &offset);
  Status parseInitializerValue(Variable &variable, uint64_t offset);
  Status declareVariable(Variable variable, uint32_t &index);

  // ParseInstruction.cpp: heads and guards.
  Status parseInstruction();
  Status resolveHead(std::string_view head, Position position, const Head *&resolved);
  Status explainHead(std::string_view opcode, std::span<const InstructionRow *const> rows,
                     std::span<const Modifier> words, std::span<const std::string_view> texts,
                     std::span<const Position> positions, Position position) const;
  Status checkRequirement(const InstructionRow &row, std::span<const Modifier> words,
                          Position position) const;

  // ParseOperand.cpp: operands and constant expressions.
  Status parseOperand(Operand &operand, unsigned depth = 0);
  uint32_t store(const Operand &operand);
  Status parseParenthesized(Operand &operand);
  Status parseBraced(Operand &operand, char close, OperandKind kind, unsigned depth);
  Status parseAddress(Operand &operand);
  Status parseName(Operand &operand);
  Status parseOffset(uint64_t &offset);
  bool findRegister(std::string_view name, uint32_t &reg) const;
  Status parseSpecial(std::string_view name, Operand &operand, bool &found);
  Status parseConstant(Constant &constant, unsigned depth = 0);
  Status parseBinary(Constant &constant, unsigned precedence, unsigned depth);
  Status parseUnary(Constant &constant, unsigned depth);
  Status combine(Constant &left, std::string_view op, const Constant &right,
                 Position position) const;
  bool atConstant() const;

  // Limits, because a short text could otherwise request any amount of memory.
  static constexpr uint32_t maxRegisters = 1 << 20; // per function
  static constexpr uint32_t maxModuleRegisters = 1 << 23;
  static constexpr uint64_t maxInitialBytes = 1 << 28; // of all variables together
  static constexpr uint32_t maxScopes = 1 << 16;
  static constexpr unsigned maxDepth = 128;

  /// A name to be resolved at the end of the function.
  struct PendingName {
    uint32_t operand;
    StringId name;
    uint32_t scope;
  };

  Lexer lexer;
  Token token;
  Module module;
  uint64_t registerTotal = 0, initialTotal = 0;
  Names names; // of the module and of the current function

  std::unordered_map<std::string_view, Head> heads;  // by text, which must outlive them
  std::unordered_map<std::string, Head> joinedHeads; // for heads with gaps

  // State of the current function.
  Function *function = nullptr;
  uint32_t functionIndex = noIndex;
  uint32_t scope = 0;
  bool inCall = false; // '(' begins a list in a call, a constant expression elsewhere
  uint32_t location = noIndex;
  std::vector<PendingName> pending;
  std::unordered_map<uint64_t, Binding> blockNames; // labels and lists by scope and name
  std::unordered_map<std::string, std::string> debugStrings;
};

/// Checks the operands of the last instruction of `function`, the current function, against its
/// row. Defined in CheckOperands.cpp.
Status checkOperands(const Module &module, const Function &function,
                     const Instruction &instruction);

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_PARSERSTATE_H
