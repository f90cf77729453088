// The parts of a memory access that do not fit into an Op; Op::extra points to them.
#ifndef TILEWRIGHT_VGPU_MACHINE_DECODE_MEMORYFORMS_H
#define TILEWRIGHT_VGPU_MACHINE_DECODE_MEMORYFORMS_H

#include "tilewright/vgpu/machine/Observer.h"
#include "tilewright/vgpu/machine/memory/Memory.h"

#include <cstdint>
#include <vector>

namespace tilewright::vgpu::machine {

/// The address operand of an instruction: a register and an offset.
struct AddressForm {
  Space space = Space::generic;
  uint8_t bytes = 8; // of the register: 4 or 8
  uint32_t slot = 0;
  int64_t offset = 0;
};

/// ld and st of any type, space and vector.
struct AccessForm {
  AddressForm address;
  uint8_t elementBytes = 4; // 1, 2, 4, 8 or 16
  uint8_t count = 1;        // .v2, .v4, .v8
  uint8_t registerBytes = 4;
  bool signExtended = false;
  bool isStrong = false; // may synchronise with another host thread: volatile, relaxed, acquire …
  uint32_t slots[8] = {};
};

/// If `address` is a multicast address, performs one lane's store in the memory of all members.
/// Returns whether it is one.
bool storeToTeam(const AccessForm &form, const std::byte *registers, uint32_t lane,
                 uint64_t address);

enum class AtomicOperation : uint8_t {
  add,
  min,
  max,
  inc,
  dec,
  bitAnd,
  bitOr,
  bitXor,
  exchange,
  cas
};
enum class AtomicType : uint8_t {
  u32,
  u64,
  s32,
  s64,
  f32,
  f64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  b16,
  b128,
};

/// atom and red. `d` and `b` have a register slot for each element: `d` for the results, `b` for
/// the operands. `c` is the slot of the compare value of cas.
struct AtomicForm {
  AddressForm address;
  AtomicOperation operation = AtomicOperation::add;
  AtomicType type = AtomicType::u32;
  uint8_t bytes = 4; // of an element
  uint8_t count = 1;
  bool returns = false;
  uint32_t d[8] = {}, b[8] = {}, c = 0;
};

/// The value that an atomic operation other than cas stores.
uint64_t combine(const AtomicForm &form, uint64_t old, uint64_t operand);
/// Performs one atomic operation on host memory and returns the old value. 128-bit operations use
/// atomicApply128.
uint64_t atomicApply(const AtomicForm &form, void *where, uint64_t operand, uint64_t comparand);
struct Wide128 {
  uint64_t low = 0, high = 0;
};
Wide128 atomicApply128(const AtomicForm &form, void *where, Wide128 operand, Wide128 comparand);

/// The access pattern of a register that holds shared memory addresses, stored in the frame. The
/// lanes of one host vector (eight or sixteen) access words within one vector length from `start`,
/// so a load reads these words as one vector and permutes them. This is valid for every offset
/// below `room`; a `room` of 0 means that the pattern is unknown.
struct alignas(64) SharedFact {
  uint32_t address[32]; // the register's value when the fact was computed
  uint32_t index[32];   // by lane: the index of its word
  uint32_t start[4];    // by host vector
  uint32_t room;
};
/// The number of readable bytes beyond the end of shared memory, so that these vector reads need no
/// bounds check for each word.
inline constexpr uint32_t sharedSlack = 64;

/// The access to report to the observer; Op::extra of the operation that precedes the access.
struct ObserveForm {
  AddressForm address;
  uint32_t bytes = 4;
  AccessKind kind = AccessKind::read;
  Proxy proxy = Proxy::generic;
  Order order = Order::weak;
  Scope scope = Scope::none;
  const AccessForm *stored = nullptr; // where the stored values are
};

/// The slots of the registers that an instruction shares with wgmma.
struct RegisterAccessForm {
  std::vector<uint32_t> slots;
};

/// fence and fence.proxy.
struct FenceForm {
  Order order = Order::acquireRelease;
  Scope scope = Scope::gpu;
  bool isProxy = false, isMbarrierInit = false, hasAddress = false;
  Proxy proxy = Proxy::generic;
  Space space = Space::generic;
  AddressForm address;
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_DECODE_MEMORYFORMS_H
