#include "tilewright/vgpu/amdgcn/watch/Initialised.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/execute/Memory.h"
#include "tilewright/vgpu/amdgcn/watch/Watch.h"

namespace tilewright::vgpu::amdgcn {

static constexpr LaneMask allLanes = ~LaneMask(0);

void Initialised::start(unsigned scalarCount) {
  vectors[0] = allLanes;
  constexpr unsigned firstSpecial = 102; // FLAT_SCRATCH and others that the hardware sets
  for (unsigned slot = 0; slot < scalarSlots; ++slot)
    scalars[slot] = slot < scalarCount || (slot >= firstSpecial && slot < vccSlot) ||
                    slot == execSlot || slot == execSlot + 1;
}

/// The subset of `lanes` in which an operand has no value.
LaneMask Initialised::missing(const Slot &slot, LaneMask lanes) const {
  LaneMask none = 0;
  for (unsigned i = 0; i < slot.dwords; ++i) {
    if (slot.kind == SlotKind::vector)
      none |= ~vectors[slot.index + i];
    else if (slot.kind == SlotKind::scalar && !scalars[slot.index + i])
      none = allLanes;
  }
  return none & lanes;
}

void Initialised::set(const Slot &slot, LaneMask lanes, LaneMask missingLanes) {
  for (unsigned i = 0; i < slot.dwords; ++i) {
    if (slot.kind == SlotKind::vector)
      vectors[slot.index + i] = (vectors[slot.index + i] | lanes) & ~missingLanes;
    else if (slot.kind == SlotKind::scalar)
      scalars[slot.index + i] = missingLanes == 0;
  }
}

void Initialised::check(WaveWatch &watch, const Op &op, const Slot &slot, LaneMask lanes,
                        std::string_view use) const {
  const LaneMask none = missing(slot, lanes);
  if (none == 0)
    return;
  const std::string lane =
      slot.kind == SlotKind::vector
          ? concat(" in lane ", static_cast<unsigned>(__builtin_ctzll(none)), " and perhaps others")
          : std::string();
  watch.reportHazard(op, machine::HazardKind::uninitialised, nullptr,
                     concat("'", toText(op.instruction), "' uses as ", use,
                            " a register that was never written", lane),
                     "write the register before it is used, in all lanes of EXEC");
}

/// Whether the result has no value as soon as one of the sources has none. False for 64-bit
/// instructions, because often only the lower half of the result is used.
static bool passesOn(const Op &op) {
  const std::string_view name = op.instruction.row->name;
  if (op.instruction.form == Form::sdwa || op.instruction.form == Form::dpp)
    return false;
  for (const std::string_view prefix :
       {"v_mov_b32", "v_add_u32", "v_sub_u32", "v_subrev_u32", "v_lshlrev_b32", "v_lshl_add_u32",
        "v_add_lshl_u32", "v_add3_u32", "v_mul_lo_u32", "v_mul_u32_u24", "v_accvgpr_", "s_mov_b32",
        "s_add_", "s_sub_", "s_lshl_b32", "s_mul_i32"})
    if (name.starts_with(prefix))
      return true;
  return false;
}

void Initialised::execute(WaveWatch &watch, const Wave &wave, const Op &op) {
  const LaneMask exec = wave.exec();
  if (op.counter == Counter::none) {
    LaneMask none = 0;
    if (passesOn(op))
      for (unsigned i = 0; i < op.sourceCount; ++i)
        none |= missing(op.sources[i], exec);
    const bool isWhole = op.instruction.form == Form::dpp || !passesOn(op);
    set(op.destination, isWhole ? allLanes : exec, none);
    set(op.scalarDestination, exec, 0);
    if (op.instruction.row->name.starts_with("s_cbranch_vcc"))
      check(watch, op, {.kind = SlotKind::scalar, .dwords = 2, .index = vccSlot}, allLanes,
            "a condition");
    return;
  }
  const bool isScalar = op.counter == Counter::scalar;
  check(watch, op, op.sources[0], isScalar ? allLanes : exec, "an address");
  for (const unsigned place : {1u, 2u, 3u})
    if (op.sources[place].kind == SlotKind::scalar)
      check(watch, op, op.sources[place], allLanes, "an address");
  const bool isBuffer = op.instruction.row->encoding == Encoding::mubuf;
  if (!isScalar && op.meaning.memory && op.meaning.memory->kind == MemoryKind::loadToLds)
    check(watch, op, {.kind = SlotKind::scalar, .index = m0Slot}, allLanes, "an address of LDS");
  if (op.writesRegisters)
    set(isBuffer ? op.sources[1] : op.destination, exec, 0);
}

} // namespace tilewright::vgpu::amdgcn
