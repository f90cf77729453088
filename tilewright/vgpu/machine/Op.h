// One decoded operation, and how operations follow each other.
#ifndef TILEWRIGHT_VGPU_MACHINE_OP_H
#define TILEWRIGHT_VGPU_MACHINE_OP_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilewright::vgpu::machine {

struct Op;
struct Warp;

/// Executes one operation for the lanes in `mask` and goes on with the next by a
/// tail call, so that warp, position, registers and mask stay in registers of
/// the host. It returns when the warp stops: Warp::stop says why.
using Run = void (*)(Warp &warp, const Op *op, std::byte *registers, uint32_t mask);

/// A decoded operation. Slots are offsets in bytes into the frame's registers.
/// A 32-bit register is 32 lanes of 4 bytes, a predicate is a mask of 4 bytes,
/// and an immediate is a constant slot of the frame, so a handler need not know
/// where an operand comes from.
struct alignas(64) Op {
  Run run = nullptr;
  uint32_t guard = 0; // slot of a predicate; slot 0 is always true
  uint32_t flip = 0;  // all ones for @!p
  uint32_t d = 0, a = 0, b = 0, c = 0, e = 0, f = 0;
  uint64_t imm = 0;            // an offset, a distance to jump, a number
  const void *extra = nullptr; // what does not fit; owned by the function
};
static_assert(sizeof(Op) == 64, "one operation is one cache line");

/// The slot whose bytes are all ones: the guard of what has none.
inline constexpr uint32_t alwaysSlot = 0;
/// The slot of the carry flag (add.cc), a predicate.
inline constexpr uint32_t carrySlot = 64;
/// Where the constants of a frame begin.
inline constexpr uint32_t firstSlot = 128;

/// Every operation by number; the handlers of each instruction set are a table
/// in this order.
enum class Operation : uint16_t {
#define VGPU_OP(name, ...) name,
#include "tilewright/vgpu/machine/handlers/Handlers.def"
  count,
};

/// The handlers for the best instruction set of this host, or null if it has
/// none of those that they were compiled for.
const Run *handlersForHost();
/// Those of "v3", "v4" (of x86-64) or "portable"; null if the host lacks it.
const Run *handlersFor(std::string_view instructionSet);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_OP_H
