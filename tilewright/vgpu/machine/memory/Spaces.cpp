#include "tilewright/vgpu/machine/memory/Spaces.h"

#include <bit>

namespace tilewright::vgpu::machine {

After runIsSpace(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const SpaceForm *>(op->extra);
  const auto parameters = reinterpret_cast<uint64_t>(warp.parameters);
  const uint64_t end = parameters + warp.block->group->grid->parameters.size();
  uint32_t holds = 0;
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t address = longWord(registers, form.a, lane);
    bool isConstant = false;
    for (auto [first, last] : form.constants)
      isConstant = isConstant || (address >= first && address < last);
    bool isThere = false;
    switch (form.space) {
    case Space::constant:
      isThere = isConstant;
      break;
    case Space::param:
      isThere = address >= parameters && address < end;
      break;
    default:
      // Kernel parameters are part of global memory.
      isThere = (address & windowMask) == 0 && !isConstant;
      break;
    }
    holds |= isThere ? 1u << lane : 0;
  }
  const uint32_t old = predicateOf(registers, form.d);
  setWord(registers, form.d, 0, (old & ~active) | holds);
  return After::next;
}

} // namespace tilewright::vgpu::machine
