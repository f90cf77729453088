// The rows of Instructions.def, compiled for use by the parser, the machine, the support page and
// the tests.
#ifndef TILEWRIGHT_VGPU_PTX_INSTRUCTIONTABLE_H
#define TILEWRIGHT_VGPU_PTX_INSTRUCTIONTABLE_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/ptx/Modifier.h"
#include "tilewright/vgpu/ptx/Module.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::vgpu::ptx {

enum class RowId : uint16_t {
#define PTX_INSTRUCTION(id, opcode, modifiers, operands, ptx, sm, klass, handler) id,
#include "tilewright/vgpu/ptx/Instructions.def"
};

/// The class under which an instruction is counted.
enum class InstructionClass : uint8_t {
  integer,
  logic,
  fp16,
  fp32,
  fp64,
  special, // approximations: rcp, sin, ex2 …
  conversion,
  compare,
  move,
  memory,
  atomic,
  asyncCopy,
  barrier,
  warp,
  matrix,
  control,
};
std::string_view nameOf(InstructionClass klass);

/// The machine's entry point for a row; rows with the same semantics share one.
enum class Handler : uint16_t {
#define PTX_HANDLER(name, decoder) name,
#include "tilewright/vgpu/ptx/Handlers.def"
};

/// Which targets have an instruction, as the column `sm` of Instructions.def says.
struct Requirement {
  /// The targets from `architecture` on: all of them; this one only, with suffix 'a'; those with a
  /// suffix ('a' or 'f'); those with a suffix that have tensor memory; and of the latter, those
  /// with 'a'.
  enum class Kind : char { all = 0, only = 'a', suffixed = 's', tensor = 't', exact = 'x' };
  uint16_t architecture = 0;
  Kind kind = Kind::all;

  bool isMetBy(const Target &target) const;
  /// The targets in words: "sm_90 or higher".
  std::string describe() const;
  /// A target that meets the requirement, without "sm_": "100a".
  std::string example() const;
};

/// One position in a row's grammar: the words that it accepts, and whether a word is required.
struct ModifierSlot {
  std::vector<Modifier> words;
  bool optional = false;
  bool accepts(Modifier modifier) const;
};

enum class OperandForm : uint8_t {
  typed,      // register, immediate or special register of `type` or a type modifier
  vectorized, // as many as .v2/.v4 gives, else one
  vector,     // {…} of `count`
  fragment,   // {…}, as many as the shape and type of a matrix need
  address,    // [a]
  tensor,     // [map, {coordinates}]
  offsets,    // {…} of im2col: two less than the dimensions; of im2col::w two
  source,     // a matrix descriptor in a register, or [a] of tensor memory
  lanes,      // {…} of masks, four for each CTA of the group
  immediate,  // integer immediate
  location,   // register, or a variable with an offset: an address as a value
  predicate,  // a predicate that may be written !%p
  label,
  labels,
  move, // operands of mov
  call, // operands of call
};

/// The syntax of one operand of a row; see the head of Instructions.def.
struct OperandRule {
  std::string name;
  OperandForm form = OperandForm::typed;
  bool written = false;
  bool optional = false;
  bool mayBeWider = false; // registers of ld, st and cvt
  bool doubled = false;    // twice the type's width
  bool second = false;     // d|p allowed: a predicate is the second
  bool secondNeeded = false;
  bool sink = false;              // may be _
  bool sinkNeeded = false;        // must be _
  Modifier type = Modifier::none; // fixed, or none: by `typeIndex`
  uint8_t typeIndex = 0;
  uint8_t count = 0;
  uint8_t architecture = 0;            // lowest sm that has the operand
  char matrix = 0;                     // 'A' to 'D' for fragments
  Modifier condition = Modifier::none; // the operand is present if and only if this modifier is
};

struct InstructionRow {
  RowId id;
  std::string_view name;      // "add_int", the id's own spelling
  std::string_view opcode;    // "cp.async.bulk"
  std::string_view grammar;   // as written in the table
  std::string_view signature; // as written in the table
  unsigned version;           // 78 is PTX 7.8
  Requirement requirement;
  InstructionClass klass;
  Handler handler;
  std::string_view handlerName;
  std::vector<ModifierSlot> slots;
  std::vector<OperandRule> operands;
};

std::span<const InstructionRow> instructionTable();
inline const InstructionRow &rowOf(RowId id) { return instructionTable()[static_cast<size_t>(id)]; }
inline const InstructionRow &rowOf(const Instruction &instruction) {
  return rowOf(instruction.row);
}

/// The rows of one opcode, in the order of the table; empty if the opcode is unknown.
std::span<const InstructionRow *const> rowsOf(std::string_view opcode);

/// The reason why the parser rejects a PTX instruction, by its first word; empty if the word is not
/// a PTX instruction.
std::string_view refusalOf(std::string_view word);

/// The opcode and reason of every row of Refused.def.
std::span<const std::pair<std::string_view, std::string_view>> refusedInstructions();

/// Errors in the table itself, one sentence each; a test expects that there are none.
const std::vector<std::string> &tableProblems();

/// How far the words of an instruction after its opcode matched. `reached` is the maximum number of
/// words that matched, `allowed` are the words that could have followed, and `complete` is whether
/// the instruction could have ended there.
struct MatchTrace {
  size_t reached = 0;
  std::vector<Modifier> allowed;
  bool complete = false;
};
/// Checks rules that involve several slots of a matching row: vectors have at most 128 bits, and L2
/// cache hints require global memory. Returns an empty string if there is no conflict.
std::string conflictOf(const InstructionRow &row, std::span<const Modifier> words);

/// Whether the words match a row's slots in order.
bool matches(const InstructionRow &row, std::span<const Modifier> words,
             MatchTrace *trace = nullptr);

/// Like matches(), but in any order, which ptxas accepts for most instructions and nvcc emits for
/// some (atom.shared.cta.add). Words of the same kind keep their order. Sorts the words into the
/// row's order.
bool matchesReordered(const InstructionRow &row, std::vector<Modifier> &words);

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_INSTRUCTIONTABLE_H
