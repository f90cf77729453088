#include "tilewright/vgpu/amdgcn/execute/Memory.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/execute/Arithmetic.h"
#include "tilewright/vgpu/amdgcn/watch/Watch.h"

#include <atomic>
#include <cstring>

namespace tilewright::vgpu::amdgcn {

// -- Meanings

template <typename T, auto function> static u64 apply(u64 old, u64 data, u64) {
  return bitsOf(T(function(fromBits<T>(old), fromBits<T>(data))));
}
template <typename T> static T plus(T a, T b) { return T(a + b); }
template <typename T> static T minus(T a, T b) { return T(a - b); }
template <typename T> static T reverseMinus(T a, T b) { return T(b - a); }
template <typename T> static T least(T a, T b) { return b < a ? b : a; }
template <typename T> static T greatest(T a, T b) { return b > a ? b : a; }
template <typename T> static T bitAnd(T a, T b) { return a & b; }
template <typename T> static T bitOr(T a, T b) { return a | b; }
template <typename T> static T bitXor(T a, T b) { return a ^ b; }
template <typename T> static T second(T, T b) { return b; }
template <typename T> static T increment(T a, T b) { return a >= b ? T(0) : T(a + 1); }
template <typename T> static T decrement(T a, T b) { return a == 0 || a > b ? b : T(a - 1); }
/// In memory instructions, the new value comes first and then the value to compare with.
static u64 compareSwap(u64 old, u64 data, u64 compared) { return old == compared ? data : old; }
static u64 addHalves(u64 old, u64 data, u64) {
  const u64 low = apply<f16, plus<f16>>(old, data, 0);
  return low | apply<f16, plus<f16>>(old >> 16, data >> 16, 0) << 16;
}
static u64 addBfloats(u64 old, u64 data, u64) {
  auto part = [](u64 bits, unsigned shift) {
    return fromBits<f32>((bits >> shift & 0xffff) << 16);
  };
  return toBfloat(part(old, 0) + part(data, 0)) | u64(toBfloat(part(old, 16) + part(data, 16)))
                                                      << 16;
}

static constexpr MemoryMeaning atomicOf(std::string_view name, unsigned bytes,
                                        AtomicFunction function) {
  return {name, MemoryKind::atomic, static_cast<uint8_t>(bytes), false, Half::none, function};
}
template <typename T, auto function>
static constexpr MemoryMeaning atomicOf(std::string_view name) {
  return atomicOf(name, sizeof(T), apply<T, function>);
}

static constexpr MemoryMeaning memoryMeanings[] = {
    {"load_ubyte", MemoryKind::load, 1},
    {"load_sbyte", MemoryKind::load, 1, true},
    {"load_ushort", MemoryKind::load, 2},
    {"load_sshort", MemoryKind::load, 2, true},
    {"load_dword", MemoryKind::load, 4},
    {"load_dwordx2", MemoryKind::load, 8},
    {"load_dwordx3", MemoryKind::load, 12},
    {"load_dwordx4", MemoryKind::load, 16},
    {"load_ubyte_d16", MemoryKind::load, 1, false, Half::low},
    {"load_ubyte_d16_hi", MemoryKind::load, 1, false, Half::high},
    {"load_sbyte_d16", MemoryKind::load, 1, true, Half::low},
    {"load_sbyte_d16_hi", MemoryKind::load, 1, true, Half::high},
    {"load_short_d16", MemoryKind::load, 2, false, Half::low},
    {"load_short_d16_hi", MemoryKind::load, 2, false, Half::high},
    {"store_byte", MemoryKind::store, 1},
    {"store_byte_d16_hi", MemoryKind::store, 1, false, Half::high},
    {"store_short", MemoryKind::store, 2},
    {"store_short_d16_hi", MemoryKind::store, 2, false, Half::high},
    {"store_dword", MemoryKind::store, 4},
    {"store_dwordx2", MemoryKind::store, 8},
    {"store_dwordx3", MemoryKind::store, 12},
    {"store_dwordx4", MemoryKind::store, 16},
    {"load_lds_dword", MemoryKind::loadToLds, 4},
    {"load_lds_dwordx3", MemoryKind::loadToLds, 12},
    {"load_lds_dwordx4", MemoryKind::loadToLds, 16},
    atomicOf<u32, second<u32>>("atomic_swap"),
    atomicOf<u32, plus<u32>>("atomic_add"),
    atomicOf<u32, minus<u32>>("atomic_sub"),
    atomicOf<i32, least<i32>>("atomic_smin"),
    atomicOf<u32, least<u32>>("atomic_umin"),
    atomicOf<i32, greatest<i32>>("atomic_smax"),
    atomicOf<u32, greatest<u32>>("atomic_umax"),
    atomicOf<u32, bitAnd<u32>>("atomic_and"),
    atomicOf<u32, bitOr<u32>>("atomic_or"),
    atomicOf<u32, bitXor<u32>>("atomic_xor"),
    atomicOf<u32, increment<u32>>("atomic_inc"),
    atomicOf<u32, decrement<u32>>("atomic_dec"),
    atomicOf("atomic_cmpswap", sizeof(u32), compareSwap),
    atomicOf<u64, second<u64>>("atomic_swap_x2"),
    atomicOf<u64, plus<u64>>("atomic_add_x2"),
    atomicOf<u64, minus<u64>>("atomic_sub_x2"),
    atomicOf<i64, least<i64>>("atomic_smin_x2"),
    atomicOf<u64, least<u64>>("atomic_umin_x2"),
    atomicOf<i64, greatest<i64>>("atomic_smax_x2"),
    atomicOf<u64, greatest<u64>>("atomic_umax_x2"),
    atomicOf<u64, bitAnd<u64>>("atomic_and_x2"),
    atomicOf<u64, bitOr<u64>>("atomic_or_x2"),
    atomicOf<u64, bitXor<u64>>("atomic_xor_x2"),
    atomicOf<u64, increment<u64>>("atomic_inc_x2"),
    atomicOf<u64, decrement<u64>>("atomic_dec_x2"),
    atomicOf("atomic_cmpswap_x2", sizeof(u64), compareSwap),
    atomicOf<f32, plus<f32>>("atomic_add_f32"),
    atomicOf<f64, plus<f64>>("atomic_add_f64"),
    atomicOf<f64, minimum<f64>>("atomic_min_f64"),
    atomicOf<f64, maximum<f64>>("atomic_max_f64"),
    atomicOf("atomic_pk_add_f16", 4, addHalves),
    atomicOf("atomic_pk_add_bf16", 4, addBfloats),
};

/// In DS instructions, the value to compare with comes first and then the new value.
static u64 compareStore(u64 old, u64 compared, u64 data) { return old == compared ? data : old; }

static constexpr MemoryMeaning ldsAtomics[] = {
    atomicOf<u32, plus<u32>>("add_u32"),
    atomicOf<u32, minus<u32>>("sub_u32"),
    atomicOf<u32, reverseMinus<u32>>("rsub_u32"),
    atomicOf<u32, increment<u32>>("inc_u32"),
    atomicOf<u32, decrement<u32>>("dec_u32"),
    atomicOf<i32, least<i32>>("min_i32"),
    atomicOf<i32, greatest<i32>>("max_i32"),
    atomicOf<u32, least<u32>>("min_u32"),
    atomicOf<u32, greatest<u32>>("max_u32"),
    atomicOf<u32, bitAnd<u32>>("and_b32"),
    atomicOf<u32, bitOr<u32>>("or_b32"),
    atomicOf<u32, bitXor<u32>>("xor_b32"),
    atomicOf<u32, second<u32>>("wrxchg_b32"),
    atomicOf<f32, plus<f32>>("add_f32"),
    atomicOf<f32, minimum<f32>>("min_f32"),
    atomicOf<f32, maximum<f32>>("max_f32"),
    atomicOf("cmpst_b32", sizeof(u32), compareStore),
    atomicOf<u64, plus<u64>>("add_u64"),
    atomicOf<u64, minus<u64>>("sub_u64"),
    atomicOf<u64, reverseMinus<u64>>("rsub_u64"),
    atomicOf<u64, increment<u64>>("inc_u64"),
    atomicOf<u64, decrement<u64>>("dec_u64"),
    atomicOf<i64, least<i64>>("min_i64"),
    atomicOf<i64, greatest<i64>>("max_i64"),
    atomicOf<u64, least<u64>>("min_u64"),
    atomicOf<u64, greatest<u64>>("max_u64"),
    atomicOf<u64, bitAnd<u64>>("and_b64"),
    atomicOf<u64, bitOr<u64>>("or_b64"),
    atomicOf<u64, bitXor<u64>>("xor_b64"),
    atomicOf<u64, second<u64>>("wrxchg_b64"),
    atomicOf<f64, plus<f64>>("add_f64"),
    atomicOf<f64, minimum<f64>>("min_f64"),
    atomicOf<f64, maximum<f64>>("max_f64"),
    atomicOf("cmpst_b64", sizeof(u64), compareStore),
    atomicOf("pk_add_f16", 4, addHalves),
    atomicOf("pk_add_bf16", 4, addBfloats),
};

template <size_t count>
static const MemoryMeaning *find(const MemoryMeaning (&table)[count], std::string_view name) {
  for (const MemoryMeaning &meaning : table)
    if (meaning.name == name)
      return &meaning;
  return nullptr;
}
const MemoryMeaning *findMemoryMeaning(std::string_view name) { return find(memoryMeanings, name); }
const MemoryMeaning *findLdsAtomic(std::string_view name) { return find(ldsAtomics, name); }

// -- Addresses

bool Dispatch::mayAccess(uint64_t address, uint64_t bytes) const {
  if (memory.empty())
    return true;
  const auto after = std::ranges::upper_bound(memory, address, {}, &MemoryRange::begin);
  if (after == memory.begin())
    return false;
  const MemoryRange &range = *std::prev(after);
  return address < range.end && range.end - address >= bytes;
}

static void failAccess(Wave &wave, const Op &op, unsigned lane, std::string_view where) {
  const auto &id = wave.group->id;
  wave.fail(Status(Error::vgpuAccess,
                   concat(placeOf(op), ": lane ", lane, " of wave ", wave.number, " in workgroup (",
                          id[0], ", ", id[1], ", ", id[2], ") accesses ", where)));
}

std::byte *locateGlobal(Wave &wave, const Op &op, unsigned lane, uint64_t address, unsigned bytes) {
  if (wave.dispatch().mayAccess(address, bytes)) {
    auto *memory = reinterpret_cast<std::byte *>(address);
    return wave.watch ? wave.watch->access(op, lane, address, bytes, memory) : memory;
  }
  failAccess(wave, op, lane,
             concat(bytes, " bytes at address ", address, ", which is in no allocation"));
  return nullptr;
}

std::byte *locateLds(Wave &wave, const Op &op, unsigned lane, uint64_t offset, unsigned bytes) {
  std::vector<std::byte> &lds = wave.group->lds;
  if (offset <= lds.size() && lds.size() - offset >= bytes) {
    std::byte *memory = lds.data() + offset;
    const auto shared = machine::sharedAddress(0, static_cast<uint32_t>(offset));
    return wave.watch ? wave.watch->access(op, lane, machine::sharedWindow | shared, bytes, memory)
                      : memory;
  }
  failAccess(wave, op, lane,
             concat(bytes, " bytes of LDS at ", offset, ", but the workgroup has ", lds.size()));
  return nullptr;
}

// -- Values

void loadLane(Wave &wave, const MemoryMeaning &meaning, const Slot &slot, unsigned lane,
              const std::byte *memory) {
  if (meaning.bytes >= 4) {
    for (unsigned dword = 0; dword < meaning.bytes / 4u; ++dword)
      std::memcpy(&wave.vectors[slot.index + dword].lanes[lane], memory + 4 * dword, 4);
    return;
  }
  u32 value = 0;
  std::memcpy(&value, memory, meaning.bytes);
  if (meaning.isSigned)
    value = u32(i32(value << (32 - 8 * meaning.bytes)) >> (32 - 8 * meaning.bytes));
  u32 &target = wave.vectors[slot.index].lanes[lane];
  if (meaning.half == Half::none)
    target = value;
  else if (meaning.half == Half::low)
    target = (target & 0xffff0000) | (value & 0xffff);
  else
    target = (target & 0xffff) | value << 16;
}

void storeLane(const Wave &wave, const MemoryMeaning &meaning, const Slot &slot, unsigned lane,
               std::byte *memory) {
  if (meaning.bytes >= 4) {
    for (unsigned dword = 0; dword < meaning.bytes / 4u; ++dword)
      std::memcpy(memory + 4 * dword, &wave.vectors[slot.index + dword].lanes[lane], 4);
    return;
  }
  const u32 value = wave.vectors[slot.index].lanes[lane] >> (meaning.half == Half::high ? 16 : 0);
  std::memcpy(memory, &value, meaning.bytes);
}

template <typename T>
static u64 update(const MemoryMeaning &meaning, u64 data, u64 second, std::byte *memory) {
  std::atomic_ref<T> place(*reinterpret_cast<T *>(memory));
  T old = place.load();
  while (!place.compare_exchange_weak(old, static_cast<T>(meaning.atomic(old, data, second)))) {
  }
  return old;
}
u64 atomicLane(const MemoryMeaning &meaning, u64 data, u64 second, std::byte *memory) {
  return meaning.bytes == 8 ? update<u64>(meaning, data, second, memory)
                            : update<u32>(meaning, data, second, memory);
}

u64 dwordsOf(const Wave &wave, unsigned slot, unsigned lane, unsigned bytes) {
  const u64 low = wave.vectors[slot].lanes[lane];
  return bytes == 8 ? low | u64(wave.vectors[slot + 1].lanes[lane]) << 32 : low;
}
void setDwords(Wave &wave, unsigned slot, unsigned lane, unsigned bytes, u64 value) {
  wave.vectors[slot].lanes[lane] = static_cast<u32>(value);
  if (bytes == 8)
    wave.vectors[slot + 1].lanes[lane] = static_cast<u32>(value >> 32);
}

} // namespace tilewright::vgpu::amdgcn
