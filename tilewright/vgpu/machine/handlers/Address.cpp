#include "tilewright/vgpu/machine/decode/MemoryForms.h"
#include "tilewright/vgpu/machine/handlers/Lanes.h"

namespace tilewright::vgpu::machine::VGPU_ISA {

/// The address of a kernel parameter; b is the width of d in bytes. A width of 4 (LLVM's short
/// pointers) gives the offset, which fromParameters turns into an address.
static void parameterAddress(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (op->b == 4)
    put<uint32_t>(registers, op->d, m, Lanes<uint32_t>(static_cast<uint32_t>(op->imm)));
  else
    put<uint64_t>(registers, op->d, m,
                  Lanes<uint64_t>(reinterpret_cast<uint64_t>(warp.parameters) + op->imm));
  VGPU_NEXT;
}
/// cvta.param: turns an offset into the parameter space into a host address; leaves a host address
/// unchanged. The two do not overlap: parameters have at most 32764 bytes, and a host maps no
/// memory below 64 KiB.
static void fromParameters(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint64_t> a = op->b == 8 ? get<uint64_t>(registers, op->a)
                                       : castLanes<uint64_t>(get<uint32_t>(registers, op->a));
  const Lanes<uint64_t> base(reinterpret_cast<uint64_t>(warp.parameters));
  put<uint64_t>(registers, op->d, m, a < uint64_t(0x10000) ? a + base : a);
  VGPU_NEXT;
}
/// The offset of a variable in local memory; b is the width of d in bytes.
static void localAddress(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const uint64_t offset = warp.frame->localBase + op->imm;
  if (op->b == 8)
    put<uint64_t>(registers, op->d, m, Lanes<uint64_t>(offset));
  else
    put<uint32_t>(registers, op->d, m, Lanes<uint32_t>(static_cast<uint32_t>(offset)));
  VGPU_NEXT;
}
/// cvta: adds the window in imm to an offset. b is the width of a in bytes.
static void fromWindow(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint64_t> a = op->b == 8 ? get<uint64_t>(registers, op->a)
                                       : castLanes<uint64_t>(get<uint32_t>(registers, op->a));
  put<uint64_t>(registers, op->d, m, a | op->imm);
  VGPU_NEXT;
}
/// cvta.to: removes the window.
static void toWindow(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<uint64_t>(registers, op->d, m, get<uint64_t>(registers, op->a) & ~windowMask);
  VGPU_NEXT;
}
/// isspacep: imm is the window; bit 0: only shared memory of this block; bit 1: global memory,
/// which has no window.
static void isSpace(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint64_t> a = get<uint64_t>(registers, op->a);
  uint32_t holds = maskOf((a & windowMask) == (op->imm & windowMask));
  if (op->imm & 1) {
    const uint64_t own = uint64_t(warp.block->rank + 1) << sharedOffsetBits;
    const Lanes<uint64_t> tag = a & uint64_t(0xff000000u);
    holds &= maskOf(tag == uint64_t(0)) | maskOf(tag == own);
  }
  putPredicate(registers, op->d, m, holds);
  VGPU_NEXT;
}
/// mapa: the address of the same variable in block b of the cluster. imm is the
/// width of a and d in bytes; bit 8: a is generic.
static void mapBlock(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint32_t> rank = get<uint32_t>(registers, op->b);
  if ((op->imm & 0xff) == 8) {
    const Lanes<uint64_t> a = get<uint64_t>(registers, op->a);
    put<uint64_t>(registers, op->d, m,
                  (a & ~uint64_t(0xff000000u)) |
                      castLanes<uint64_t>((rank + 1u) << sharedOffsetBits));
  } else {
    const Lanes<uint32_t> a = get<uint32_t>(registers, op->a);
    put<uint32_t>(registers, op->d, m, (a & sharedOffsetMask) | (rank + 1u) << sharedOffsetBits);
  }
  VGPU_NEXT;
}
/// getctarank; imm as for mapa.
static void blockRank(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint32_t> a = (op->imm & 0xff) == 8
                                ? castLanes<uint32_t>(get<uint64_t>(registers, op->a))
                                : get<uint32_t>(registers, op->a);
  const Lanes<uint32_t> tag = a >> sharedOffsetBits;
  put<uint32_t>(registers, op->d, m, tag == 0u ? Lanes<uint32_t>(warp.block->rank) : tag - 1u);
  VGPU_NEXT;
}
extern const Run addressHandlers[] = {
#define VGPU_OP(name, ...) __VA_ARGS__,
#include "tilewright/vgpu/machine/handlers/Address.def"
#undef VGPU_OP
};

} // namespace tilewright::vgpu::machine::VGPU_ISA
