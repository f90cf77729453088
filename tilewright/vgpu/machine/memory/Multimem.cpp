#include "tilewright/vgpu/machine/memory/Multimem.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Hex.h"
#include "tilewright/vgpu/machine/Conversion.h"
#include "tilewright/vgpu/machine/memory/Multicast.h"
#include "tilewright/vgpu/machine/memory/ValidMemory.h"

#include <bit>

namespace tilewright::vgpu::machine {

using ptx::Modifier;

/// The members of the multicast address of one lane. Returns false after failing the launch.
static bool findMembers(Warp &warp, const Op *op, unsigned lane, uint64_t address, uint64_t bytes,
                        std::vector<uint64_t> &members) {
  auto refuse = [&](const std::string &why) {
    fault(warp, op, Error::vgpuAccess,
          concat("multimem access of ", bytes, " bytes at ", hexNumber(address), ' ', why,
                 ", by lane ", lane));
    return false;
  };
  if (address % bytes != 0)
    return refuse("is not aligned");
  if (const std::optional<Multicasts::Place> place = multicasts().find(address)) {
    const std::string why = place->memory->find(place->offset, bytes, members);
    return why.empty() || refuse(why);
  }
  // Without a driver there are no multicast objects, so the address itself is the only member.
  if (warp.block->group->grid->validMemory)
    return refuse("is not in the mapping of a multicast object; map one with cuMulticastCreate, "
                  "cuMulticastBindMem and cuMemMap");
  members.assign(1, address);
  return true;
}

static uint64_t readElement(const std::byte *registers, uint32_t slot, unsigned bytes,
                            unsigned lane) {
  uint64_t value = 0;
  std::memcpy(&value, registers + slot + size_t(lane) * bytes, bytes);
  return value;
}

static uint64_t loadFrom(uint64_t address, unsigned bytes) {
  switch (bytes) {
  case 2:
    return __atomic_load_n(reinterpret_cast<const uint16_t *>(address), __ATOMIC_SEQ_CST);
  case 4:
    return __atomic_load_n(reinterpret_cast<const uint32_t *>(address), __ATOMIC_SEQ_CST);
  default:
    return __atomic_load_n(reinterpret_cast<const uint64_t *>(address), __ATOMIC_SEQ_CST);
  }
}

static void storeTo(uint64_t address, uint64_t value, unsigned bytes) {
  switch (bytes) {
  case 1:
    return __atomic_store_n(reinterpret_cast<uint8_t *>(address), static_cast<uint8_t>(value),
                            __ATOMIC_SEQ_CST);
  case 2:
    return __atomic_store_n(reinterpret_cast<uint16_t *>(address), static_cast<uint16_t>(value),
                            __ATOMIC_SEQ_CST);
  case 4:
    return __atomic_store_n(reinterpret_cast<uint32_t *>(address), static_cast<uint32_t>(value),
                            __ATOMIC_SEQ_CST);
  default:
    return __atomic_store_n(reinterpret_cast<uint64_t *>(address), value, __ATOMIC_SEQ_CST);
  }
}

bool storeToTeam(const AccessForm &form, const std::byte *registers, uint32_t lane,
                 uint64_t address) {
  if (multicasts().isEmpty() || form.elementBytes > 8)
    return false;
  const std::vector<uint64_t> members =
      multicastMembers(address, uint64_t(form.elementBytes) * form.count);
  std::byte staged[64];
  for (unsigned k = 0; k < form.count; ++k)
    std::memcpy(staged + size_t(k) * form.elementBytes,
                registers + form.slots[k] + size_t(lane) * form.registerBytes, form.elementBytes);
  // Words of 8 bytes are stored whole, as by the handlers of other stores.
  const unsigned all = unsigned(form.elementBytes) * form.count;
  const unsigned word = all < 8 ? form.elementBytes : 8;
  for (uint64_t member : members)
    for (unsigned at = 0; at < all; at += word) {
      uint64_t value = 0;
      std::memcpy(&value, staged + at, word);
      storeTo(member + at, value, word);
    }
  return !members.empty();
}

/// The sum of f16 or bf16 numbers at `addresses`, or of pairs of them, rounded once from f32.
static uint64_t sumInFloat(AtomicType type, std::span<const uint64_t> addresses, unsigned bytes) {
  const bool isHalf = type == AtomicType::f16 || type == AtomicType::f16x2;
  const Modifier element = isHalf ? Modifier::f16 : Modifier::bf16;
  ConversionForm round;
  round.from = Modifier::f32;
  round.to = element;
  uint64_t result = 0;
  for (unsigned shift = 0; shift < bytes * 8; shift += 16) {
    float sum = 0;
    for (size_t i = 0; i < addresses.size(); ++i) {
      const uint64_t bits = loadFrom(addresses[i], bytes) >> shift & 0xffff;
      const auto value = static_cast<float>(valueOf(element, bits));
      sum = i == 0 ? value : sum + value;
    }
    result |= (convert(round, std::bit_cast<uint32_t>(sum)) & 0xffff) << shift;
  }
  return result;
}

/// The elements at `addresses` combined in the order of the members. Hardware leaves the order
/// open.
static uint64_t reduce(const MultimemForm &multimem, std::span<const uint64_t> addresses) {
  const AtomicForm &form = multimem.form;
  if (multimem.accumulatesInFloat)
    return sumInFloat(form.type, addresses, form.bytes);
  uint64_t result = loadFrom(addresses[0], form.bytes);
  for (uint64_t address : addresses.subspan(1))
    result = combine(form, result, loadFrom(address, form.bytes));
  return result;
}

static void access(const MultimemForm &multimem, std::byte *registers, unsigned lane,
                   std::span<const uint64_t> members) {
  const AtomicForm &form = multimem.form;
  std::vector<uint64_t> at(members.size());
  for (unsigned k = 0; k < form.count; ++k) {
    for (size_t i = 0; i < members.size(); ++i)
      at[i] = members[i] + uint64_t(k) * form.bytes;
    if (multimem.kind == AccessKind::read) {
      const uint64_t result = reduce(multimem, at);
      std::memcpy(registers + form.d[k] + size_t(lane) * form.bytes, &result, form.bytes);
      continue;
    }
    const uint64_t value = readElement(registers, form.b[k], form.bytes, lane);
    for (uint64_t address : at)
      if (multimem.kind == AccessKind::write)
        storeTo(address, value, form.bytes);
      else
        atomicApply(form, reinterpret_cast<void *>(address), value, 0);
  }
}

After runMultimem(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &multimem = *static_cast<const MultimemForm *>(op->extra);
  const AtomicForm &form = multimem.form;
  const uint32_t bytes = uint32_t(form.bytes) * form.count;
  std::vector<uint64_t> members[32];
  size_t most = 0;
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t address =
        longWord(registers, form.address.slot, lane) + static_cast<uint64_t>(form.address.offset);
    if (!findMembers(warp, op, lane, address, bytes, members[lane]))
      return After::stop;
    most = std::max(most, members[lane].size());
  }
  // For an observer, the instruction is one access to each member.
  Observer *observer = warp.block->group->grid->observer;
  auto tell = [&](void (Observer::*what)(const MemoryEvent &)) {
    for (size_t i = 0; i < most; ++i) {
      uint64_t addresses[32] = {};
      uint32_t mask = 0;
      for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        if (i >= members[lane].size())
          continue;
        addresses[lane] = members[lane][i];
        mask |= 1u << lane;
      }
      MemoryEvent event{
          warp,          op, mask, addresses, bytes, multimem.kind, Proxy::generic, multimem.order,
          multimem.scope};
      StoredValues values{registers, form.b, form.bytes, form.bytes};
      if (multimem.kind == AccessKind::write)
        event.values = &values;
      (observer->*what)(event);
    }
  };
  if (observer)
    tell(&Observer::access);
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    access(multimem, registers, lane, members[lane]);
  }
  if (observer && multimem.order != Order::weak && multimem.kind != AccessKind::write)
    tell(&Observer::valueRead);
  return After::next;
}

} // namespace tilewright::vgpu::machine
