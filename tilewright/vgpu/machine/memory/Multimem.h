// multimem.ld_reduce, multimem.st and multimem.red: accesses to all members of a multicast address.
#ifndef TILEWRIGHT_VGPU_MACHINE_MEMORY_MULTIMEM_H
#define TILEWRIGHT_VGPU_MACHINE_MEMORY_MULTIMEM_H

#include "tilewright/vgpu/machine/External.h"
#include "tilewright/vgpu/machine/decode/MemoryForms.h"

namespace tilewright::vgpu::machine {

struct MultimemForm {
  ExternalForm head;
  /// The address, the type and number of the elements and how they are combined. ld_reduce writes
  /// the registers `d`, st and red read `b`.
  AtomicForm form;
  AccessKind kind = AccessKind::read; // ld_reduce, st or red
  bool accumulatesInFloat = false;    // .acc::f32: rounded once, at the end
  Order order = Order::weak;
  Scope scope = Scope::none;
};
After runMultimem(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MEMORY_MULTIMEM_H
