// What does not fit into an Op about an access to memory; Op::extra of it.
#ifndef TILEWRIGHT_VGPU_MACHINE_MEMORYFORMS_H
#define TILEWRIGHT_VGPU_MACHINE_MEMORYFORMS_H

#include "tilewright/vgpu/machine/Memory.h"
#include "tilewright/vgpu/machine/Observer.h"

#include <cstdint>
#include <vector>

namespace tilewright::vgpu::machine {

/// An address as an instruction has it: a register and a distance.
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
  bool isStrong = false; // other threads of the host may wait for it: volatile, relaxed, acquire …
  uint32_t slots[8] = {};
};

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

/// atom and red. Slots are those of the elements; b is the operand, c that of cas.
struct AtomicForm {
  AddressForm address;
  AtomicOperation operation = AtomicOperation::add;
  AtomicType type = AtomicType::u32;
  uint8_t bytes = 4; // of an element
  uint8_t count = 1;
  bool returns = false;
  uint32_t d[8] = {}, b[8] = {}, c = 0;
};

/// Does one atomic operation on host memory and gives what was there. 128 bits
/// go through `wide`: in the operand and the comparand, out what was there.
uint64_t atomicApply(const AtomicForm &form, void *where, uint64_t operand, uint64_t comparand);
struct Wide128 {
  uint64_t low = 0, high = 0;
};
Wide128 atomicApply128(const AtomicForm &form, void *where, Wide128 operand, Wide128 comparand);

/// What is known of a register with addresses of shared memory, kept in the frame:
/// its lanes, eight or sixteen at a time, lie within as many words from `start` on.
/// A load reads those words and brings them into order, whatever its offset is, if
/// that is below `room`. Nothing is known if that is zero.
struct alignas(64) SharedFact {
  uint32_t address[32]; // which it was learnt from
  uint32_t index[32];   // by lane, which word
  uint32_t start[4];    // by vector of the host
  uint32_t room;
};
/// What may be read behind the end of shared memory, so that the words above need
/// not be looked at one by one.
inline constexpr uint32_t sharedSlack = 64;

/// What an access tells an observer; Op::extra of the operation before it.
struct ObserveForm {
  AddressForm address;
  uint32_t bytes = 4;
  AccessKind kind = AccessKind::read;
  Proxy proxy = Proxy::generic;
  Order order = Order::weak;
  Scope scope = Scope::none;
  const AccessForm *stored = nullptr; // has the values of a store
};

/// Slots of registers that an instruction shares with wgmma.
struct TouchForm {
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

#endif // TILEWRIGHT_VGPU_MACHINE_MEMORYFORMS_H
