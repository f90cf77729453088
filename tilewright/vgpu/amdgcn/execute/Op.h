// An instruction that is ready to be executed: its handler is chosen, its operands are slots of
// registers or values.
#ifndef TILEWRIGHT_VGPU_AMDGCN_EXECUTE_OP_H
#define TILEWRIGHT_VGPU_AMDGCN_EXECUTE_OP_H

#include "tilewright/numerics/ElementType.h"
#include "tilewright/vgpu/amdgcn/Instruction.h"
#include "tilewright/vgpu/amdgcn/execute/Wave.h"

#include <span>
#include <string_view>

namespace tilewright::vgpu::amdgcn {

struct Op;
struct VectorMeaning;
struct MemoryMeaning;
using Handler = void (*)(Wave &, const Op &);

/// The counters in which a memory operation is counted: FLAT in both, because its address may be in
/// LDS. Scalar loads are counted as LDS operations are, but may complete in any order.
enum class Counter : uint8_t { none, vector, local, scalar, flat };

enum class SlotKind : uint8_t { none, value, scalar, vector, special };

/// An operand. `special` is a value that is computed when it is read: SCC, VCCZ, EXECZ.
struct Slot {
  SlotKind kind = SlotKind::none;
  uint8_t dwords = 1, bits = 32;
  bool isNumber = false; // a float with the modifiers neg and abs
  bool flushes = false;  // denormals become 0 if the kernel's mode says so
  bool negated = false, absolute = false, extended = false;
  uint16_t index = 0; // of the first register; the code of a special value
  uint64_t value = 0;
};

/// A matrix instruction: `blocks` products of size x depth and depth x size.
struct MatrixShape {
  uint8_t size = 0, depth = 0, blocks = 1;
  std::array<numerics::ElementType, 2> factors{};
  numerics::ElementType result{};
};

struct Op {
  Handler run = nullptr;
  union {
    const VectorMeaning *vector = nullptr;
    const MemoryMeaning *memory;
  } meaning;
  uint32_t target = 0; // of a branch: the number of an operation
  uint32_t next = 0;   // the operation after this one
  uint64_t address = 0;
  Slot destination, scalarDestination;
  /// All other operands, in the order of the table row. Operands of memory instructions have fixed
  /// positions: the address, the data, the resource or scalar address or second data, the scalar
  /// offset.
  std::array<Slot, 5> sources;
  uint8_t sourceCount = 0;
  bool writesExec = false;     // v_cmpx
  bool hasMaskOperand = false; // the last source is a mask, such as a carry
  Counter counter = Counter::none;
  bool writesRegisters = false; // a memory operation with a result
  Chip chip{};
  MatrixShape matrix;
  Instruction instruction;
};

/// For messages: "'s_nop 0' at 256 of the code object".
std::string placeOf(const Op &op);

/// Reads a scalar operand of up to 64 bits.
uint64_t readScalar(const Wave &wave, const Slot &slot);
/// Writes a scalar operand of 32 or 64 bits.
inline void writeScalar(Wave &wave, const Slot &slot, uint64_t value) {
  wave.scalars[slot.index] = static_cast<uint32_t>(value);
  if (slot.dwords == 2)
    wave.scalars[slot.index + 1] = static_cast<uint32_t>(value >> 32);
}

/// Prepares the operation of an instruction.
///  - vgpuUnimplemented: the machine cannot execute it.
Result<Op> makeOp(const Instruction &instruction, uint64_t address, Chip chip);

// Each file that executes a group of encodings has a function that chooses the handler of an
// operation whose operands are already set. It returns false if it cannot execute the instruction.
bool chooseScalar(Op &op);
bool chooseControl(Op &op);
bool chooseScalarMemory(Op &op);
bool chooseVector(Op &op);
bool choosePacked(Op &op);
bool chooseCrossLane(Op &op);
bool chooseMatrix(Op &op);
bool chooseFlat(Op &op);
bool chooseBuffer(Op &op);
bool chooseLds(Op &op);

/// Sets the handler that a table has for the instruction's name; false if it has none.
struct NamedHandler {
  std::string_view name;
  Handler run;
};
inline bool chooseNamed(Op &op, std::span<const NamedHandler> handlers) {
  for (const NamedHandler &handler : handlers)
    if (handler.name == op.instruction.row->name) {
      op.run = handler.run;
      return true;
    }
  return false;
}

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_EXECUTE_OP_H
