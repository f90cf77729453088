// The content of a PTX text in numeric form: the input of the machine and of the printer.
//
// All names are interned and numbered. Registers and labels are numbered within their function;
// variables, parameters and functions are symbols, numbered within the module. There are no
// pointers, so a Module can be moved.
#ifndef TILEWRIGHT_VGPU_PTX_MODULE_H
#define TILEWRIGHT_VGPU_PTX_MODULE_H

#include "tilewright/vgpu/ptx/Modifier.h"
#include "tilewright/vgpu/ptx/Strings.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright::vgpu::ptx {

inline constexpr uint32_t noIndex = 0xffffffffu;

/// A position in the text; both count from 1.
struct Position {
  uint32_t line = 0, column = 0;
};

/// `.target sm_90a`: architecture 90, suffix 'a' (0, 'a' or 'f').
struct Target {
  uint16_t architecture = 0;
  char suffix = 0;
  bool debug = false;
  std::vector<StringId> options; // texmode_unified and the like, as written
};

/// `.file 1 "kernel.py", 0, 0`.
struct SourceFile {
  uint32_t number = 0;
  StringId name = noString;
  std::optional<uint64_t> timestamp, size;
};

/// One `.loc`. `inlinedAt` is the position of the call at which the line was inlined, and
/// `function` the name of the inlined function, if the text gives them.
struct SourceLocation {
  uint32_t file = 0, line = 0, column = 0;
  StringId functionLabel = noString; // as written: $L__info_string0
  uint32_t functionOffset = 0;
  StringId function = noString; // the text in .debug_str at the label
  bool inlined = false;
  uint32_t inlinedFile = 0, inlinedLine = 0, inlinedColumn = 0;
};

enum class SpecialRegister : uint8_t {
#define PTX_SPECIAL(name, spelling, type, components, ptx, sm) name,
#include "tilewright/vgpu/ptx/SpecialRegisters.def"
};

Modifier typeOfSpecial(SpecialRegister special);
std::string_view spellingOf(SpecialRegister special);

enum class OperandKind : uint8_t {
  none,
  reg,       // index: register; component: .x … .w of a vector register
  special,   // index: SpecialRegister; component; value: the number of %pm3
  immediate, // value: bits, as `number` says
  symbol,    // index: symbol, value: offset in bytes; its address
  label,     // index: label of the function
  labels,    // index: label list of the function (.branchtargets)
  targets,   // index: call target list of the function (.calltargets)
  prototype, // index: call prototype of the function
  sink,      // _
  vector,    // elements
  pair,      // d|p: two elements; either may be a sink
  list,      // (a, b) of a call: elements
  address,   // [base + value]: base is one element (reg, symbol, immediate)
  tensor,    // [base + value, {coordinates}]: elements are base, then coordinates
};

enum class NumberKind : uint8_t { integer, unsignedInteger, f32, f64 };

/// One operand. The elements of a composite operand are other operands of the same function,
/// `first` to `first + count`.
struct Operand {
  OperandKind kind = OperandKind::none;
  NumberKind number = NumberKind::integer;
  uint8_t component = noComponent; // 0 to 3 for .x .y .z .w
  bool negated = false;            // !%p
  bool unified = false;            // [a].unified
  uint32_t index = noIndex;
  uint32_t first = 0, count = 0;
  uint64_t value = 0; // an offset is two's complement
  Position position;

  static constexpr uint8_t noComponent = 0xff;
};

/// A row of the instruction table; InstructionTable.h defines the enumerators.
enum class RowId : uint16_t;

/// One instruction with all information that the decoder needs. `modifiers` are in the order of the
/// row's grammar, regardless of their order in the text.
struct Instruction {
  static constexpr unsigned maxModifiers = 16;

  RowId row{};
  uint8_t modifierCount = 0;
  bool guarded = false;
  bool guardNegated = false; // @!%p
  uint32_t guard = noIndex;  // register
  uint32_t firstOperand = 0; // in Function::operands
  uint16_t operandCount = 0;
  uint32_t location = noIndex; // in Module::locations, noIndex before any .loc
  Position position;
  std::array<Modifier, maxModifiers> modifiers{};

  std::span<const Modifier> mods() const { return {modifiers.data(), modifierCount}; }
  bool has(Modifier modifier) const {
    for (Modifier m : mods())
      if (m == modifier)
        return true;
    return false;
  }
  /// The first modifier of a kind, or `none`.
  Modifier find(ModifierKind kind) const {
    for (Modifier m : mods())
      if (kindOf(m) == kind)
        return m;
    return Modifier::none;
  }
  /// The number of elements of an access: 2, 4 or 8 for .v2, .v4 or .v8, otherwise 1.
  unsigned vectorLength() const {
    switch (find(ModifierKind::vector)) {
    case Modifier::v2:
      return 2;
    case Modifier::v4:
      return 4;
    case Modifier::v8:
      return 8;
    default:
      return 1;
    }
  }
  /// The n-th type, or `none`.
  Modifier type(unsigned n = 0) const {
    for (Modifier m : mods())
      if (isType(m) && n-- == 0)
        return m;
    return Modifier::none;
  }
};

/// `.reg .b32 %r<100>` or `.reg .v4 .f32 %v`: one declaration and the numbers of its registers.
struct RegisterGroup {
  StringId name = noString;
  Modifier type = Modifier::none;
  uint8_t vector = 1;        // 2 or 4 for vector registers
  bool parametrised = false; // %r<100>
  uint32_t first = 0, count = 0;
  uint32_t scope = 0;
  Position position;
};

struct Register {
  Modifier type = Modifier::none;
  uint8_t vector = 1;
  uint32_t group = 0;
};

/// `{ … }` inside a function; scope 0 is the body. The innermost scope that declares a name
/// determines its meaning.
struct Scope {
  uint32_t parent = noIndex;
  Position position;
};

struct Label {
  StringId name = noString;
  uint32_t scope = 0;
  uint32_t instruction = noIndex; // the instruction after it; may be the count
  Position position;
};

/// A named list: `.branchtargets` (labels) or `.calltargets` (symbols).
struct TargetList {
  StringId name = noString;
  uint32_t scope = 0;
  std::vector<uint32_t> targets;
  Position position;
};

/// An address in an initialiser. `mask` selects bytes of the address; 0 selects all. `width` is in
/// bytes.
struct Relocation {
  uint64_t offset = 0;
  uint32_t symbol = noIndex;
  int64_t addend = 0;
  bool generic = false;
  uint8_t width = 8;
  uint64_t mask = 0;
};

enum class Linkage : uint8_t { internal, visible, external, weak, common };

/// A variable, a parameter or a `.param` of a call, in any space.
struct Variable {
  StringId name = noString;
  uint32_t symbol = noIndex;
  uint32_t function = noIndex; // noIndex: a variable of the module
  uint32_t scope = 0;
  Modifier space = Modifier::none;
  Modifier type = Modifier::none;
  Linkage linkage = Linkage::internal;
  uint8_t vector = 1;
  uint32_t alignment = 0; // as written, or the type's natural alignment
  bool alignmentWritten = false;
  std::vector<uint64_t> dimensions; // empty for scalars; the first is 0 for []
  bool isArray() const { return !dimensions.empty(); }
  // Attributes of kernel parameters: .ptr .global .align 16
  bool pointer = false;
  Modifier pointerSpace = Modifier::none;
  uint32_t pointerAlignment = 0;
  bool managed = false;
  std::optional<std::array<uint64_t, 2>> unified; // .attribute(.unified(a, b))
  // For parameters that are registers (`.func (.reg .b32 %r) f`): the number of the register in the
  // function.
  uint32_t reg = noIndex;
  bool initialised = false;
  std::vector<uint8_t> bytes; // only the bytes that were written; the rest is zero
  std::vector<Relocation> relocations;
  Position position;

  /// The size in bytes; 0 for an array of unknown size.
  uint64_t size() const;
  uint64_t elementSize() const { return uint64_t(bitsOf(type) + 7) / 8 * vector; }
};

/// The signature of an indirect call.
struct Prototype {
  StringId name = noString;
  uint32_t scope = 0;
  std::vector<Variable> returns, parameters;
  bool noreturn = false;
  Position position;
};

enum class SymbolKind : uint8_t { variable, function };

/// A name that is not a register or a label. `index` is the definition if there is one, otherwise
/// the last declaration.
struct Symbol {
  StringId name = noString;
  SymbolKind kind = SymbolKind::variable;
  uint32_t index = noIndex;
  uint32_t aliasOf = noIndex; // another symbol, for .alias
};

/// Performance directives: properties that a function guarantees or requires at launch; 0 if not
/// given.
struct Performance {
  std::array<uint32_t, 3> maxntid{}, reqntid{}, reqnctapercluster{};
  uint32_t minnctapersm = 0, maxnctapersm = 0, maxnreg = 0, maxclusterrank = 0;
  bool explicitcluster = false, blocksareclusters = false, noreturn = false;
  std::optional<uint32_t> abiPreserve, abiPreserveControl;
  std::vector<StringId> pragmas;
};

/// The items of a function in the order of the text, for the printer.
enum class ItemKind : uint8_t {
  instruction,
  label,
  registers,
  variable,
  scopeBegin,
  scopeEnd,
  location,
  pragma, // index: string
  branchTargets,
  callTargets,
  prototype,
};
struct Item {
  ItemKind kind;
  uint32_t index;
};

/// A kernel or a device function; one with a body is a definition.
struct Function {
  StringId name = noString;
  uint32_t symbol = noIndex;
  bool entry = false;
  bool defined = false;
  Linkage linkage = Linkage::internal;
  std::vector<uint32_t> returns, parameters; // in Module::variables
  std::vector<uint32_t> variables;           // declared in the body
  Performance performance;
  Position position, end;

  std::vector<RegisterGroup> groups;
  std::vector<Register> registers;
  std::vector<Scope> scopes;
  std::vector<Label> labels;
  std::vector<TargetList> branchTargets, callTargets;
  std::vector<Prototype> prototypes;
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  std::vector<Item> items;

  std::span<const Operand> operandsOf(const Instruction &instruction) const {
    return std::span(operands).subspan(instruction.firstOperand, instruction.operandCount);
  }
  std::span<const Operand> elementsOf(const Operand &operand) const {
    return std::span(operands).subspan(operand.first, operand.count);
  }
};

/// `.section .debug_info { … }`, kept as text.
struct Section {
  StringId name = noString;
  std::string text; // between the braces
  Position position, end;
};

enum class ModuleItemKind : uint8_t { variable, function, file, section, alias, pragma };
struct ModuleItem {
  ModuleItemKind kind;
  uint32_t index; // alias: the symbol; pragma: string
};

struct Module {
  unsigned version = 0; // 78 is 7.8
  Target target;
  unsigned addressSize = 32;

  Strings strings;
  std::vector<SourceFile> files;
  std::vector<SourceLocation> locations;
  std::vector<Symbol> symbols;
  std::vector<Variable> variables; // of the module, of functions, and parameters
  std::vector<Function> functions;
  std::vector<Section> sections;
  std::vector<ModuleItem> items;

  std::string_view name(StringId id) const { return strings[id]; }
  /// The kernel or function with this name that has a body, or null.
  const Function *findDefinition(std::string_view name) const;
  /// The target of an alias; any other symbol itself.
  uint32_t resolveAlias(uint32_t symbol) const {
    while (symbols[symbol].aliasOf != noIndex)
      symbol = symbols[symbol].aliasOf;
    return symbol;
  }
  /// The name of a register, without a component: "%r12" or "%v".
  std::string registerName(const Function &function, uint32_t reg) const;
};

/// Whether two modules are equal; positions are not compared.
bool equal(const Module &left, const Module &right, std::string *difference = nullptr);

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_MODULE_H
