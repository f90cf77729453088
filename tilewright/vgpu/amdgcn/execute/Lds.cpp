// DS: accesses to a workgroup's memory, and the permutations of lanes that use its hardware.
#include "tilewright/vgpu/amdgcn/execute/Memory.h"

#include <cstring>
#include <string>

namespace tilewright::vgpu::amdgcn {

// The sum of an address and an offset wraps at 32 bits: compilers turn `values[127 - i]` into a
// negative address and a positive offset.
static uint32_t ldsAddress(const Wave &wave, const Op &op, unsigned lane) {
  return wave.vectors[op.sources[0].index].lanes[lane];
}
static uint32_t offsetOf(const Op &op) {
  return static_cast<uint32_t>(op.instruction.memory.offset);
}

/// Calls `function(lane, address)` for the active lanes until one fails. Addresses are read first,
/// because a load may overwrite its own address register.
template <typename Function> static void forAddresses(Wave &wave, const Op &op, Function function) {
  std::array<uint32_t, laneCount> addresses;
  forLanes(wave.exec(), [&](unsigned lane) { addresses[lane] = ldsAddress(wave, op, lane); });
  forLanes(wave.exec(), [&](unsigned lane) {
    if (wave.state != WaveState::failed)
      function(lane, addresses[lane]);
  });
}

static void readOrWrite(Wave &wave, const Op &op) {
  const MemoryMeaning &meaning = *op.meaning.memory;
  forAddresses(wave, op, [&](unsigned lane, uint32_t address) {
    std::byte *memory = locateLds(wave, op, lane, address + offsetOf(op), meaning.bytes);
    if (!memory)
      return;
    if (meaning.kind == MemoryKind::load)
      loadLane(wave, meaning, op.destination, lane, memory);
    else
      storeLane(wave, meaning, op.sources[1], lane, memory);
  });
}

/// ds_read2 and ds_write2: two elements, at offsets in units of one element or of 64.
static void readOrWriteTwo(Wave &wave, const Op &op) {
  const MemoryMeaning &meaning = *op.meaning.memory;
  const bool isFar = op.instruction.row->name.find("st64") != std::string_view::npos;
  const uint32_t step = meaning.bytes * (isFar ? 64u : 1u);
  const uint32_t offsets[] = {offsetOf(op) * step, op.instruction.memory.offset1 * step};
  forAddresses(wave, op, [&](unsigned lane, uint32_t address) {
    for (unsigned i = 0; i < 2; ++i) {
      std::byte *memory = locateLds(wave, op, lane, address + offsets[i], meaning.bytes);
      if (!memory)
        return;
      if (meaning.kind == MemoryKind::store) {
        storeLane(wave, meaning, op.sources[1 + i], lane, memory);
      } else {
        Slot part = op.destination;
        part.index = static_cast<uint16_t>(part.index + i * meaning.bytes / 4u);
        loadLane(wave, meaning, part, lane, memory);
      }
    }
  });
}

static void atomic(Wave &wave, const Op &op) {
  const MemoryMeaning &meaning = *op.meaning.memory;
  forAddresses(wave, op, [&](unsigned lane, uint32_t address) {
    // The hardware ignores the lowest bits of the address.
    const uint32_t aligned = (address + offsetOf(op)) & ~(meaning.bytes - 1u);
    std::byte *memory = locateLds(wave, op, lane, aligned, meaning.bytes);
    if (!memory)
      return;
    const Slot &second = op.sources[2];
    const u64 old = atomicLane(
        meaning, dwordsOf(wave, op.sources[1].index, lane, meaning.bytes),
        second.kind == SlotKind::vector ? dwordsOf(wave, second.index, lane, meaning.bytes) : 0,
        memory);
    if (op.destination.kind == SlotKind::vector)
      setDwords(wave, op.destination.index, lane, meaning.bytes, old);
  });
}

// -- Transposing reads of gfx950

/// The position, in the wave's data, of element `element` of lane `lane`'s result: the lane that
/// read it, and the element's number in that lane.
struct TransposePlace {
  unsigned lane, element;
};
static TransposePlace transposed(unsigned bits, unsigned lane, unsigned element) {
  switch (bits) {
  case 16:
    return {(lane & 48) + 4 * element + (lane >> 2 & 3), lane & 3};
  case 8:
    return {(lane & 48) + 2 * element + (lane >> 3 & 1), lane & 7};
  default:
    return {(lane & 48) + element, lane & 15};
  }
}

template <unsigned bits> static void readTransposed(Wave &wave, const Op &op) {
  std::array<u64, laneCount> loaded{};
  forAddresses(wave, op, [&](unsigned lane, uint32_t address) {
    if (const std::byte *memory = locateLds(wave, op, lane, address + offsetOf(op), 8))
      std::memcpy(&loaded[lane], memory, 8);
  });
  if (wave.state == WaveState::failed)
    return;
  constexpr u64 ones = (u64(1) << bits) - 1;
  forLanes(wave.exec(), [&](unsigned lane) {
    u64 result = 0;
    for (unsigned element = 0; element < 64 / bits; ++element) {
      const TransposePlace from = transposed(bits, lane, element);
      result |= (loaded[from.lane] >> (bits * from.element) & ones) << (bits * element);
    }
    setDwords(wave, op.destination.index, lane, 8, result);
  });
}

// -- Permutations

/// Each lane reads the data of the lane that its address selects; inactive lanes supply 0.
static void bpermute(Wave &wave, const Op &op) {
  const LaneMask exec = wave.exec();
  const auto data = wave.vectors[op.sources[1].index].lanes;
  forAddresses(wave, op, [&](unsigned lane, uint32_t address) {
    const unsigned from = static_cast<unsigned>((address + offsetOf(op)) / 4 % laneCount);
    wave.vectors[op.destination.index].lanes[lane] = (exec >> from & 1) != 0 ? data[from] : 0;
  });
}

/// Each lane sends its data to the lane that its address selects; the highest sender wins.
static void permute(Wave &wave, const Op &op) {
  std::array<u32, laneCount> received{};
  const auto data = wave.vectors[op.sources[1].index].lanes;
  forAddresses(wave, op, [&](unsigned lane, uint32_t address) {
    received[(address + offsetOf(op)) / 4 % laneCount] = data[lane];
  });
  forLanes(wave.exec(),
           [&](unsigned lane) { wave.vectors[op.destination.index].lanes[lane] = received[lane]; });
}

/// The lane that ds_swizzle reads: within groups of 32 by a mask, within groups of 4 by a
/// permutation.
static unsigned swizzleSource(unsigned pattern, unsigned lane) {
  if ((pattern & 0x8000) != 0)
    return (lane & ~3u) + (pattern >> (2 * (lane & 3)) & 3);
  const unsigned andMask = pattern & 31, orMask = pattern >> 5 & 31, xorMask = pattern >> 10 & 31;
  return (lane & 32) + (((lane & 31 & andMask) | orMask) ^ xorMask);
}

static void swizzle(Wave &wave, const Op &op) {
  const LaneMask exec = wave.exec();
  const auto data = wave.vectors[op.sources[0].index].lanes;
  forLanes(exec, [&](unsigned lane) {
    const unsigned from = swizzleSource(static_cast<unsigned>(offsetOf(op)), lane);
    wave.vectors[op.destination.index].lanes[lane] = (exec >> from & 1) != 0 ? data[from] : 0;
  });
}

// -- The table

struct LdsForm {
  std::string_view name;
  Handler run;
  MemoryMeaning meaning;
};

static constexpr LdsForm forms[] = {
    {"ds_read_b32", readOrWrite, {"", MemoryKind::load, 4}},
    {"ds_read_b64", readOrWrite, {"", MemoryKind::load, 8}},
    {"ds_read_b96", readOrWrite, {"", MemoryKind::load, 12}},
    {"ds_read_b128", readOrWrite, {"", MemoryKind::load, 16}},
    {"ds_read_i8", readOrWrite, {"", MemoryKind::load, 1, true}},
    {"ds_read_u8", readOrWrite, {"", MemoryKind::load, 1}},
    {"ds_read_i16", readOrWrite, {"", MemoryKind::load, 2, true}},
    {"ds_read_u16", readOrWrite, {"", MemoryKind::load, 2}},
    {"ds_read_u8_d16", readOrWrite, {"", MemoryKind::load, 1, false, Half::low}},
    {"ds_read_u8_d16_hi", readOrWrite, {"", MemoryKind::load, 1, false, Half::high}},
    {"ds_read_i8_d16", readOrWrite, {"", MemoryKind::load, 1, true, Half::low}},
    {"ds_read_i8_d16_hi", readOrWrite, {"", MemoryKind::load, 1, true, Half::high}},
    {"ds_read_u16_d16", readOrWrite, {"", MemoryKind::load, 2, false, Half::low}},
    {"ds_read_u16_d16_hi", readOrWrite, {"", MemoryKind::load, 2, false, Half::high}},
    {"ds_write_b8", readOrWrite, {"", MemoryKind::store, 1}},
    {"ds_write_b16", readOrWrite, {"", MemoryKind::store, 2}},
    {"ds_write_b8_d16_hi", readOrWrite, {"", MemoryKind::store, 1, false, Half::high}},
    {"ds_write_b16_d16_hi", readOrWrite, {"", MemoryKind::store, 2, false, Half::high}},
    {"ds_write_b32", readOrWrite, {"", MemoryKind::store, 4}},
    {"ds_write_b64", readOrWrite, {"", MemoryKind::store, 8}},
    {"ds_write_b96", readOrWrite, {"", MemoryKind::store, 12}},
    {"ds_write_b128", readOrWrite, {"", MemoryKind::store, 16}},
    {"ds_read2_b32", readOrWriteTwo, {"", MemoryKind::load, 4}},
    {"ds_read2st64_b32", readOrWriteTwo, {"", MemoryKind::load, 4}},
    {"ds_read2_b64", readOrWriteTwo, {"", MemoryKind::load, 8}},
    {"ds_read2st64_b64", readOrWriteTwo, {"", MemoryKind::load, 8}},
    {"ds_write2_b32", readOrWriteTwo, {"", MemoryKind::store, 4}},
    {"ds_write2st64_b32", readOrWriteTwo, {"", MemoryKind::store, 4}},
    {"ds_write2_b64", readOrWriteTwo, {"", MemoryKind::store, 8}},
    {"ds_write2st64_b64", readOrWriteTwo, {"", MemoryKind::store, 8}},
    {"ds_read_b64_tr_b4", readTransposed<4>, {"", MemoryKind::load, 8}},
    {"ds_read_b64_tr_b8", readTransposed<8>, {"", MemoryKind::load, 8}},
    {"ds_read_b64_tr_b16", readTransposed<16>, {"", MemoryKind::load, 8}},
    {"ds_bpermute_b32", bpermute, {"", MemoryKind::load, 4}},
    {"ds_permute_b32", permute, {"", MemoryKind::load, 4}},
    {"ds_swizzle_b32", swizzle, {"", MemoryKind::load, 4}},
};

bool chooseLds(Op &op) {
  const std::string_view name = op.instruction.row->name;
  for (const LdsForm &form : forms)
    if (form.name == name) {
      op.run = form.run;
      op.meaning.memory = &form.meaning;
      return true;
    }
  // ds_add_rtn_u32 and ds_add_u32 differ only in the destination.
  std::string base(name.substr(std::string_view("ds_").size()));
  if (const size_t at = base.find("_rtn"); at != std::string::npos)
    base.erase(at, 4);
  op.meaning.memory = findLdsAtomic(base);
  op.run = atomic;
  return op.meaning.memory != nullptr;
}

} // namespace tilewright::vgpu::amdgcn
