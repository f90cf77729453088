// FLAT, GLOBAL, SCRATCH and MUBUF: computes the address of each lane and performs the access.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/execute/Memory.h"
#include "tilewright/vgpu/amdgcn/watch/Watch.h"

#include <cstring>
#include <optional>
#include <string>

namespace tilewright::vgpu::amdgcn {

/// Copies to LDS. The wave has one LDS address; lanes write consecutive elements from there.
static void loadToLds(Wave &wave, const Op &op, unsigned lane, const std::byte *memory) {
  const unsigned bytes = op.meaning.memory->bytes, step = bytes == 4 ? 4 : 16;
  const uint64_t offset = (wave.scalars[m0Slot] & 0x3ffff) +
                          static_cast<uint64_t>(op.instruction.memory.offset) + lane * step;
  if (std::byte *lds = locateLds(wave, op, lane, offset, bytes))
    std::memcpy(lds, memory, bytes);
}

/// Performs the access of a lane at `memory`. A load or an atomic operation puts its result into
/// `destination`.
static void access(Wave &wave, const Op &op, unsigned lane, std::byte *memory,
                   const Slot &destination) {
  const MemoryMeaning &meaning = *op.meaning.memory;
  const Slot &data = op.sources[1];
  switch (meaning.kind) {
  case MemoryKind::load:
    return loadLane(wave, meaning, destination, lane, memory);
  case MemoryKind::store:
    return storeLane(wave, meaning, data, lane, memory);
  case MemoryKind::loadToLds:
    return loadToLds(wave, op, lane, memory);
  case MemoryKind::atomic: {
    const unsigned dwords = meaning.bytes / 4;
    const u64 value = dwordsOf(wave, data.index, lane, meaning.bytes);
    const bool hasSecond = data.dwords == 2 * dwords;
    const u64 second = hasSecond ? dwordsOf(wave, data.index + dwords, lane, meaning.bytes) : 0;
    const u64 old = atomicLane(meaning, value, second, memory);
    if (destination.kind == SlotKind::vector)
      setDwords(wave, destination.index, lane, meaning.bytes, old);
    return;
  }
  }
}

static bool isAligned(const MemoryMeaning &meaning, uint64_t address) {
  return meaning.kind != MemoryKind::atomic || address % meaning.bytes == 0;
}

static void failAlignment(Wave &wave, const Op &op, uint64_t address) {
  wave.fail(Status(Error::vgpuAccess, concat(placeOf(op), ": the address ", address,
                                             " is not a multiple of ", op.meaning.memory->bytes)));
}

// -- FLAT

static std::byte *locateScratch(Wave &wave, const Op &op, unsigned lane, uint64_t offset,
                                unsigned bytes) {
  const uint64_t size = wave.dispatch().scratchBytesPerLane;
  if (offset <= size && size - offset >= bytes)
    return wave.scratch.data() + lane * size + offset;
  wave.fail(
      Status(Error::vgpuAccess, concat(placeOf(op), ": lane ", lane, " accesses ", bytes,
                                       " bytes of scratch at ", offset, ", but it has ", size)));
  return nullptr;
}

static uint64_t flatAddress(const Wave &wave, const Op &op, unsigned lane) {
  const Slot &vector = op.sources[0], &scalar = op.sources[2];
  uint64_t address = static_cast<uint64_t>(static_cast<int64_t>(op.instruction.memory.offset));
  if (vector.kind == SlotKind::vector)
    address += dwordsOf(wave, vector.index, lane, vector.dwords * 4u);
  if (scalar.kind == SlotKind::scalar)
    address += readScalar(wave, scalar);
  return op.instruction.memory.segment == 1 ? address & 0xffffffffu : address;
}

static std::byte *locate(Wave &wave, const Op &op, unsigned lane, uint64_t address,
                         unsigned bytes) {
  constexpr uint64_t upper = ~uint64_t(0) << 32;
  if (op.instruction.memory.segment == 1)
    return locateScratch(wave, op, lane, address, bytes);
  if (op.instruction.memory.segment == 0 && (address & upper) == ldsAperture)
    return locateLds(wave, op, lane, address & ~upper, bytes);
  if (op.instruction.memory.segment == 0 && (address & upper) == scratchAperture)
    return locateScratch(wave, op, lane, address & ~upper, bytes);
  return locateGlobal(wave, op, lane, address, bytes);
}

static void runFlat(Wave &wave, const Op &op) {
  const MemoryMeaning &meaning = *op.meaning.memory;
  // Addresses are computed first: a load may overwrite its own address register.
  std::array<uint64_t, laneCount> addresses;
  forLanes(wave.exec(), [&](unsigned lane) { addresses[lane] = flatAddress(wave, op, lane); });
  forLanes(wave.exec(), [&](unsigned lane) {
    if (wave.state == WaveState::failed)
      return;
    if (!isAligned(meaning, addresses[lane]))
      return failAlignment(wave, op, addresses[lane]);
    if (std::byte *memory = locate(wave, op, lane, addresses[lane], meaning.bytes))
      access(wave, op, lane, memory, op.destination);
  });
}

bool chooseFlat(Op &op) {
  op.meaning.memory = findMemoryMeaning(op.instruction.row->name);
  op.run = runFlat;
  // Direct loads to LDS add the offset to both addresses, which runFlat does not separate.
  return op.meaning.memory &&
         (op.meaning.memory->kind != MemoryKind::loadToLds || op.instruction.memory.offset == 0);
}

// -- MUBUF

namespace {
/// The 128 bits that describe a buffer.
struct Resource {
  uint64_t base;
  uint32_t stride, records, flags;
  bool isSwizzled() const { return (flags >> 31 & 1) != 0; }
};
} // namespace

static Resource resourceOf(const Wave &wave, const Slot &slot) {
  const uint32_t *words = &wave.scalars[slot.index];
  return {.base = words[0] | uint64_t(words[1] & 0xffff) << 32,
          .stride = words[1] >> 16 & 0x3fff,
          .records = words[2],
          .flags = words[1]};
}

/// The offset of a lane in the buffer; nullopt if it is out of bounds. The bounds of a raw buffer
/// are in bytes, and are checked for each dword, or for all bytes of an atomic operation, which
/// cannot be performed in part; those of a structured buffer are in records.
static std::optional<uint64_t> offsetOf(const Wave &wave, const Op &op, const Resource &resource,
                                        unsigned lane, unsigned dword, unsigned bytes) {
  const MemoryBits &bits = op.instruction.memory;
  unsigned slot = op.sources[0].index;
  uint64_t index = 0, offset = static_cast<uint64_t>(bits.offset) + 4u * dword;
  if (bits.idxen)
    index = wave.vectors[slot++].lanes[lane];
  if (bits.offen)
    offset += wave.vectors[slot].lanes[lane];
  if (resource.stride == 0) {
    if (offset + bytes > resource.records)
      return std::nullopt;
    return offset;
  }
  if (index >= resource.records || (bits.idxen && offset >= resource.stride))
    return std::nullopt;
  return index * resource.stride + offset;
}

static void runBuffer(Wave &wave, const Op &op) {
  const MemoryMeaning &meaning = *op.meaning.memory;
  const Resource resource = resourceOf(wave, op.sources[2]);
  if (resource.isSwizzled())
    return wave.fail(Status(Error::vgpuUnimplemented,
                            concat(placeOf(op), " uses a swizzled buffer, which the virtual "
                                                "GPU does not support")));
  const uint64_t base = resource.base + static_cast<uint32_t>(readScalar(wave, op.sources[3]));
  // Processes each dword separately, because a part of a wide access may be out of bounds.
  const bool isAtomic = meaning.kind == MemoryKind::atomic;
  const unsigned steps = isAtomic || meaning.bytes < 4 ? 1 : meaning.bytes / 4;
  MemoryMeaning part = meaning;
  part.bytes = static_cast<uint8_t>(steps == 1 ? meaning.bytes : 4);
  std::array<std::array<std::optional<uint64_t>, 4>, laneCount> offsets;
  forLanes(wave.exec(), [&](unsigned lane) {
    for (unsigned step = 0; step < steps; ++step)
      offsets[lane][step] = offsetOf(wave, op, resource, lane, step, part.bytes);
  });
  const Slot noDestination;
  forLanes(wave.exec(), [&](unsigned lane) {
    std::array<std::byte, 16> copied{}; // for LDS
    for (unsigned step = 0; step < steps && wave.state != WaveState::failed; ++step) {
      Slot data = op.sources[1];
      data.index = static_cast<uint16_t>(data.index + step);
      constexpr std::byte zeros[8] = {};
      std::byte *memory = nullptr;
      if (offsets[lane][step]) {
        memory = locateGlobal(wave, op, lane, base + *offsets[lane][step], part.bytes);
        if (!memory)
          return;
      }
      if (meaning.kind == MemoryKind::loadToLds)
        std::memcpy(copied.data() + 4u * step, memory ? memory : zeros, part.bytes);
      else if (meaning.kind == MemoryKind::load)
        loadLane(wave, part, data, lane, memory ? memory : zeros);
      else if (meaning.kind == MemoryKind::store && memory)
        storeLane(wave, part, data, lane, memory);
      else if (isAtomic && memory) {
        if (!isAligned(meaning, base + *offsets[lane][step]))
          return failAlignment(wave, op, base + *offsets[lane][step]);
        access(wave, op, lane, memory, op.instruction.memory.sc0 ? data : noDestination);
      } else if (isAtomic && op.instruction.memory.sc0)
        setDwords(wave, data.index, lane, meaning.bytes, 0);
    }
    if (meaning.kind == MemoryKind::loadToLds && wave.state != WaveState::failed)
      loadToLds(wave, op, lane, copied.data());
  });
}

/// Cache instructions. Our memory is always coherent, but on the chip it is coherent only after
/// these instructions. Write-backs complete when they are waited for.
static void invalidateCaches(Wave &wave, const Op &op) {
  if (wave.watch && op.counter == Counter::none)
    wave.watch->fence(op);
}

bool chooseBuffer(Op &op) {
  const Row &row = *op.instruction.row;
  if (row.has(flags::bare)) {
    op.run = invalidateCaches;
    return true;
  }
  std::string name(row.name.substr(std::string_view("buffer_").size()));
  if (op.instruction.memory.lds) // the meaning of global_load_lds_dword
    name.insert(std::string_view("load_").size(), "lds_");
  op.meaning.memory = findMemoryMeaning(name);
  op.run = runBuffer;
  return op.meaning.memory != nullptr;
}

} // namespace tilewright::vgpu::amdgcn
