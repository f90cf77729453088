// A decoded kernel: all functions that it can call, as flat arrays of operations.
#ifndef TILEWRIGHT_VGPU_MACHINE_PROGRAM_H
#define TILEWRIGHT_VGPU_MACHINE_PROGRAM_H

#include "tilewright/vgpu/machine/Op.h"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright::vgpu::ptx {
struct Function;
struct Instruction;
struct Module;
struct Position;
} // namespace tilewright::vgpu::ptx

namespace tilewright::vgpu::machine {

/// The location of an argument or result of a call: a register of the frame, or the frame's local
/// memory.
struct CallValue {
  bool isRegister = false;
  uint32_t slot = 0;  // register: its slot; else: offset in the frame's local memory
  uint32_t bytes = 0; // of a register: 2, 4 or 8, or 1 for a predicate
};

/// A function with a body, or a kernel. Immutable after decoding.
struct DecodedFunction {
  std::string name;
  uint32_t index = 0; // in Program::functions
  const ptx::Function *source = nullptr;
  std::vector<Op> code;
  std::vector<uint32_t> instructions; // for each op, the instruction it comes from
  uint32_t firstInstruction = 0;      // number of the first one in the program
  std::vector<std::byte> constants;   // initial bytes of every frame
  uint32_t frameBytes = 0;
  uint32_t localBytes = 0;
  std::vector<CallValue> parameters, returns;
  std::vector<std::unique_ptr<uint32_t[]>> lists; // owned data of Op::extra
  std::vector<std::shared_ptr<const void>> owned; // likewise
};

/// The arguments and results of a call; Op::extra of the call. `target` is null for an indirect
/// call, whose target address is in a register.
struct CallSite {
  const DecodedFunction *target = nullptr;
  std::vector<CallValue> arguments, results;
};

/// The source line of an operation; `file` is empty if it is not known.
struct SourceLine {
  std::string_view file;
  uint32_t line = 0;
};

/// A location in the program: the line of the PTX or the address in the machine code, and the line
/// of the source if the producer gave one.
struct Place {
  std::string function;
  uint32_t line = 0; // of the PTX; 0: machine code
  std::string file;  // empty: not known
  uint32_t fileLine = 0;
  std::string instruction; // as text
  uint64_t address = 0;    // of machine code

  auto operator<=>(const Place &) const = default;
};

/// For example "softmax, line 41 (softmax.py:12)".
std::string describe(const Place &place);

/// The terms of the program's language, for reports.
struct Terms {
  std::string_view block = "block", warp = "warp", shared = "shared memory";
};

/// A kernel with all functions that it can call. `module` must outlive it. A kernel that is not PTX
/// has no module and supplies its own locations.
struct Program {
  virtual ~Program() = default;
  /// The location of operation `index` of a function.
  virtual SourceLine sourceLineOf(const DecodedFunction &function, size_t index) const;
  virtual Place placeOf(const DecodedFunction &function, size_t index) const;

  Terms terms;
  const ptx::Module *module = nullptr;
  std::vector<std::unique_ptr<DecodedFunction>> functions; // the kernel is the first
  std::unordered_map<uint32_t, DecodedFunction *> bySymbol;
  uint32_t instructionCount = 0; // of all functions
  uint32_t staticSharedBytes = 0;
  bool mayPoll = false; // it reads what other blocks may be writing
  uint32_t parameterBytes = 0;
  std::vector<uint32_t> parameterOffsets, parameterSizes;

  const DecodedFunction &entry() const { return *functions.front(); }
};

/// The number of times that an instruction was executed: by warps, and by threads whose guard was
/// true.
struct InstructionCount {
  uint64_t warps = 0, threads = 0;
};

/// The function that an operation belongs to; null if it is not part of the program.
const DecodedFunction *functionOf(const Program &program, const Op *op);
/// The number of the instruction that an operation was decoded from; Program::instructionCount if
/// there is no such instruction.
uint32_t instructionNumber(const Program &program, const Op *op);
/// The instruction with that number.
const ptx::Instruction &instructionAt(const Program &program, uint32_t number);

/// The line in the PTX text that an operation was decoded from; zero if the operation is not in
/// `program`.
ptx::Position positionOf(const Program &program, const Op *op);
/// The location of an operation as text.
std::string describePosition(const Program &program, const Op *op);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_PROGRAM_H
