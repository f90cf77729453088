// A kernel, decoded: all functions it can reach, as flat arrays of operations.
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

/// Where a value of a call lies: in a register of the frame or in its local memory.
struct CallValue {
  bool isRegister = false;
  uint32_t slot = 0;  // register: its slot; else: offset in the frame's local memory
  uint32_t bytes = 0; // of a register: 2, 4 or 8, or 1 for a predicate
};

/// A function with a body, or a kernel. Immutable once decoded.
struct DecodedFunction {
  std::string name;
  uint32_t index = 0; // in Program::functions
  const ptx::Function *source = nullptr;
  std::vector<Op> code;
  std::vector<uint32_t> instructions; // for each op, the instruction it comes from
  uint32_t firstInstruction = 0;      // number of its first one in the program
  std::vector<std::byte> constants;   // the first bytes of every frame
  uint32_t frameBytes = 0;
  uint32_t localBytes = 0;
  std::vector<CallValue> parameters, returns;
  std::vector<std::unique_ptr<uint32_t[]>> lists; // what Op::extra points to
  std::vector<std::shared_ptr<const void>> owned; // likewise
};

/// What a call passes; Op::extra of a call. `target` is null for an indirect
/// call, whose address is in a register.
struct CallSite {
  const DecodedFunction *target = nullptr;
  std::vector<CallValue> arguments, results;
};

/// One kernel with everything it can call. `module` outlives it.
struct Program {
  const ptx::Module *module = nullptr;
  std::vector<std::unique_ptr<DecodedFunction>> functions; // the kernel is the first
  std::unordered_map<uint32_t, DecodedFunction *> bySymbol;
  uint32_t instructionCount = 0; // of all functions
  uint32_t staticSharedBytes = 0;
  uint32_t parameterBytes = 0;
  std::vector<uint32_t> parameterOffsets, parameterSizes;

  const DecodedFunction &entry() const { return *functions.front(); }
};

/// How often an instruction was executed: by warps, and by threads whose guard held.
struct InstructionCount {
  uint64_t warps = 0, threads = 0;
};

/// The number in the program of the instruction an operation comes from; past the last
/// one if it comes from none.
uint32_t instructionNumber(const Program &program, const Op *op);
/// The instruction of that number.
const ptx::Instruction &instructionAt(const Program &program, uint32_t number);

/// The line of the text an operation comes from; zero if it is of no function of `program`.
ptx::Position positionOf(const Program &program, const Op *op);
/// "softmax, line 41 (softmax.py:12)".
std::string describePosition(const Program &program, const Op *op);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_PROGRAM_H
