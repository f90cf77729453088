// The rows of Instructions.def, compiled for the parser and readable for the
// machine, the support page and the tests.
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

/// What an instruction is counted as.
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

/// The machine's entry point for a row; rows of one meaning share it.
enum class Handler : uint16_t {
#define PTX_HANDLER(name) name,
#include "tilewright/vgpu/ptx/Handlers.def"
};

/// The lowest target: `architecture` 90; `specific` for features of sm_90a that
/// later chips do not have.
struct Requirement {
  uint16_t architecture = 0;
  bool specific = false;
};

/// One place in a row's grammar: which words may stand there, and whether one
/// must.
struct ModifierSlot {
  std::vector<Modifier> words;
  bool optional = false;
  bool accepts(Modifier modifier) const;
};

enum class OperandForm : uint8_t {
  typed,      // register, immediate or special register of `type` or a type modifier
  vectorized, // as many as .v2/.v4 says, else one
  vector,     // {…} of `count`
  fragment,   // {…}, as many as shape and type of a matrix ask for
  address,    // [a]
  tensor,     // [map, {coordinates}]
  offsets,    // {…} of im2col: two less than the dimensions
  immediate,  // integer immediate
  location,   // register, or a variable with an offset: an address as a value
  predicate,  // a predicate that may be written !%p
  label,
  labels,
  move, // what mov takes
  call, // what call takes
};

/// How one operand of a row is written; see the head of Instructions.def.
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
  char matrix = 0;                     // 'A' to 'D' of fragments
  Modifier condition = Modifier::none; // present exactly if this modifier is
};

struct Row {
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

std::span<const Row> instructionTable();
inline const Row &rowOf(RowId id) { return instructionTable()[static_cast<size_t>(id)]; }
inline const Row &rowOf(const Instruction &instruction) { return rowOf(instruction.row); }

/// The rows of one opcode, in the table's order; empty if there are none.
std::span<const Row *const> rowsOf(std::string_view opcode);

/// Why an instruction that PTX has is not taken, by its first word; empty if it
/// is not of PTX.
std::string_view refusalOf(std::string_view word);

/// Opcode and reason of every row of Refused.def.
std::span<const std::pair<std::string_view, std::string_view>> refusedInstructions();

/// Why the machine does not execute a row, by Unexecuted.def; empty if it does.
std::string_view unexecutedReason(RowId row);

/// What is wrong with the table itself, a sentence each; a test wants none.
const std::vector<std::string> &tableProblems();

/// How far the words of an instruction after its opcode fitted. `reached` is how
/// many did at best, and `allowed` what could have stood there; `complete` is
/// whether the instruction could have ended there.
struct MatchTrace {
  size_t reached = 0;
  std::vector<Modifier> allowed;
  bool complete = false;
};
/// What single slots cannot say of a form that fits a row: vectors have at most
/// 128 bits, hints to the L2 cache go with global memory. Empty if all is well.
std::string conflictOf(const Row &row, std::span<const Modifier> words);

/// Whether the words are in a row's slots, one after the other.
bool matches(const Row &row, std::span<const Modifier> words, MatchTrace *trace = nullptr);

/// The same in any order, as ptxas takes most instructions and nvcc writes some
/// (atom.shared.cta.add); words of one kind keep theirs. Puts the words into the row's order.
bool matchesReordered(const Row &row, std::vector<Modifier> &words);

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_INSTRUCTIONTABLE_H
