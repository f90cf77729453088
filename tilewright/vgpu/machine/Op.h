// A decoded operation, and the functions that execute operations.
#ifndef TILEWRIGHT_VGPU_MACHINE_OP_H
#define TILEWRIGHT_VGPU_MACHINE_OP_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilewright::vgpu::machine {

struct Op;
struct Warp;

/// A handler. Executes one operation for the lanes in `mask` and continues with the next one by a
/// tail call, so that warp, program counter, registers and mask stay in host registers. Returns
/// when the warp stops; Warp::stop holds the reason.
using Run = void (*)(Warp &warp, const Op *op, std::byte *registers, uint32_t mask);

/// A decoded operation. Slots are byte offsets into the frame's registers. A 32-bit register is 32
/// lanes of 4 bytes, a predicate is a mask of 4 bytes, and an immediate is a constant slot of the
/// frame, so a handler need not distinguish kinds of operands.
struct alignas(64) Op {
  Run run = nullptr;
  uint32_t guard = 0; // slot of a predicate; slot 0 is always true
  uint32_t flip = 0;  // all ones for @!p
  uint32_t d = 0, a = 0, b = 0, c = 0, e = 0, f = 0;
  uint64_t imm = 0;            // an offset, a branch distance, a number
  const void *extra = nullptr; // further data; owned by the function
};
static_assert(sizeof(Op) == 64, "one operation is one cache line");

/// The slot whose bytes are all ones; the guard of unguarded operations.
inline constexpr uint32_t alwaysSlot = 0;
/// The slot of the carry flag (add.cc), a predicate.
inline constexpr uint32_t carrySlot = 64;
/// The first slot of the constants of a frame.
inline constexpr uint32_t firstSlot = 128;

/// All operations; each instruction set has a table of handlers in this order.
enum class Operation : uint16_t {
#define VGPU_OP(name, ...) name,
#include "tilewright/vgpu/machine/handlers/Handlers.def"
  count,
};

/// The handlers for the best instruction set of this host; null if handlers are not compiled for
/// any instruction set that the host supports.
const Run *handlersForHost();
/// The handlers for "v3" or "v4" (of x86-64) or "portable"; null if the host does not support them.
const Run *handlersFor(std::string_view instructionSet);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_OP_H
