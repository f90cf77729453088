#include "tilewright/vgpu/amdgcn/execute/Memory.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/execute/Arithmetic.h"

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
/// Memory instructions have the new value first, the compared one second.
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

#define ATOMICS(suffix, unsignedType, signedType, bytes)                                           \
  {"atomic_swap" suffix,                                                                           \
   MemoryKind::atomic,                                                                             \
   bytes,                                                                                          \
   false,                                                                                          \
   Half::none,                                                                                     \
   apply<unsignedType, second<unsignedType>>},                                                     \
      {"atomic_cmpswap" suffix, MemoryKind::atomic, bytes, false, Half::none, compareSwap},        \
      {"atomic_add" suffix,                                                                        \
       MemoryKind::atomic,                                                                         \
       bytes,                                                                                      \
       false,                                                                                      \
       Half::none,                                                                                 \
       apply<unsignedType, plus<unsignedType>>},                                                   \
      {"atomic_sub" suffix,                                                                        \
       MemoryKind::atomic,                                                                         \
       bytes,                                                                                      \
       false,                                                                                      \
       Half::none,                                                                                 \
       apply<unsignedType, minus<unsignedType>>},                                                  \
      {"atomic_smin" suffix,                                                                       \
       MemoryKind::atomic,                                                                         \
       bytes,                                                                                      \
       false,                                                                                      \
       Half::none,                                                                                 \
       apply<signedType, least<signedType>>},                                                      \
      {"atomic_umin" suffix,                                                                       \
       MemoryKind::atomic,                                                                         \
       bytes,                                                                                      \
       false,                                                                                      \
       Half::none,                                                                                 \
       apply<unsignedType, least<unsignedType>>},                                                  \
      {"atomic_smax" suffix,                                                                       \
       MemoryKind::atomic,                                                                         \
       bytes,                                                                                      \
       false,                                                                                      \
       Half::none,                                                                                 \
       apply<signedType, greatest<signedType>>},                                                   \
      {"atomic_umax" suffix,                                                                       \
       MemoryKind::atomic,                                                                         \
       bytes,                                                                                      \
       false,                                                                                      \
       Half::none,                                                                                 \
       apply<unsignedType, greatest<unsignedType>>},                                               \
      {"atomic_and" suffix,                                                                        \
       MemoryKind::atomic,                                                                         \
       bytes,                                                                                      \
       false,                                                                                      \
       Half::none,                                                                                 \
       apply<unsignedType, bitAnd<unsignedType>>},                                                 \
      {"atomic_or" suffix,                                                                         \
       MemoryKind::atomic,                                                                         \
       bytes,                                                                                      \
       false,                                                                                      \
       Half::none,                                                                                 \
       apply<unsignedType, bitOr<unsignedType>>},                                                  \
      {"atomic_xor" suffix,                                                                        \
       MemoryKind::atomic,                                                                         \
       bytes,                                                                                      \
       false,                                                                                      \
       Half::none,                                                                                 \
       apply<unsignedType, bitXor<unsignedType>>},                                                 \
      {"atomic_inc" suffix,                                                                        \
       MemoryKind::atomic,                                                                         \
       bytes,                                                                                      \
       false,                                                                                      \
       Half::none,                                                                                 \
       apply<unsignedType, increment<unsignedType>>},                                              \
      {"atomic_dec" suffix,                                                                        \
       MemoryKind::atomic,                                                                         \
       bytes,                                                                                      \
       false,                                                                                      \
       Half::none,                                                                                 \
       apply<unsignedType, decrement<unsignedType>>},

static constexpr MemoryMeaning meanings[] = {
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
    ATOMICS("", u32, i32, 4) ATOMICS("_x2", u64, i64, 8) // the macro ends with a comma
    {"atomic_add_f32", MemoryKind::atomic, 4, false, Half::none, apply<f32, plus<f32>>},
    {"atomic_add_f64", MemoryKind::atomic, 8, false, Half::none, apply<f64, plus<f64>>},
    {"atomic_min_f64", MemoryKind::atomic, 8, false, Half::none, apply<f64, minimum<f64>>},
    {"atomic_max_f64", MemoryKind::atomic, 8, false, Half::none, apply<f64, maximum<f64>>},
    {"atomic_pk_add_f16", MemoryKind::atomic, 4, false, Half::none, addHalves},
    {"atomic_pk_add_bf16", MemoryKind::atomic, 4, false, Half::none, addBfloats},
};
#undef ATOMICS

#define LDS_ATOMICS(bits)                                                                          \
  {"add_u" #bits, MemoryKind::atomic, bits / 8, false, Half::none, apply<u##bits, plus<u##bits>>}, \
      {"sub_u" #bits, MemoryKind::atomic, bits / 8,                                                \
       false,         Half::none,         apply<u##bits, minus<u##bits>>},                         \
      {"rsub_u" #bits, MemoryKind::atomic, bits / 8,                                               \
       false,          Half::none,         apply<u##bits, reverseMinus<u##bits>>},                 \
      {"inc_u" #bits, MemoryKind::atomic, bits / 8,                                                \
       false,         Half::none,         apply<u##bits, increment<u##bits>>},                     \
      {"dec_u" #bits, MemoryKind::atomic, bits / 8,                                                \
       false,         Half::none,         apply<u##bits, decrement<u##bits>>},                     \
      {"min_i" #bits, MemoryKind::atomic, bits / 8,                                                \
       false,         Half::none,         apply<i##bits, least<i##bits>>},                         \
      {"max_i" #bits, MemoryKind::atomic, bits / 8,                                                \
       false,         Half::none,         apply<i##bits, greatest<i##bits>>},                      \
      {"min_u" #bits, MemoryKind::atomic, bits / 8,                                                \
       false,         Half::none,         apply<u##bits, least<u##bits>>},                         \
      {"max_u" #bits, MemoryKind::atomic, bits / 8,                                                \
       false,         Half::none,         apply<u##bits, greatest<u##bits>>},                      \
      {"and_b" #bits, MemoryKind::atomic, bits / 8,                                                \
       false,         Half::none,         apply<u##bits, bitAnd<u##bits>>},                        \
      {"or_b" #bits, MemoryKind::atomic, bits / 8,                                                 \
       false,        Half::none,         apply<u##bits, bitOr<u##bits>>},                          \
      {"xor_b" #bits, MemoryKind::atomic, bits / 8,                                                \
       false,         Half::none,         apply<u##bits, bitXor<u##bits>>},                        \
      {"wrxchg_b" #bits, MemoryKind::atomic,                                                       \
       bits / 8,         false,                                                                    \
       Half::none,       apply<u##bits, second<u##bits>>},                                         \
      {"add_f" #bits, MemoryKind::atomic, bits / 8,                                                \
       false,         Half::none,         apply<f##bits, plus<f##bits>>},                          \
      {"min_f" #bits, MemoryKind::atomic, bits / 8,                                                \
       false,         Half::none,         apply<f##bits, minimum<f##bits>>},                       \
      {"max_f" #bits, MemoryKind::atomic, bits / 8,                                                \
       false,         Half::none,         apply<f##bits, maximum<f##bits>>},

/// DS compares with the first operand and writes the second one.
static u64 compareStore(u64 old, u64 compared, u64 data) { return old == compared ? data : old; }

static constexpr MemoryMeaning ldsAtomics[] = {
    LDS_ATOMICS(32)
        LDS_ATOMICS(64){"cmpst_b32", MemoryKind::atomic, 4, false, Half::none, compareStore},
    {"cmpst_b64", MemoryKind::atomic, 8, false, Half::none, compareStore},
    {"pk_add_f16", MemoryKind::atomic, 4, false, Half::none, addHalves},
    {"pk_add_bf16", MemoryKind::atomic, 4, false, Half::none, addBfloats},
};
#undef LDS_ATOMICS

template <size_t count>
static const MemoryMeaning *find(const MemoryMeaning (&table)[count], std::string_view name) {
  for (const MemoryMeaning &meaning : table)
    if (meaning.name == name)
      return &meaning;
  return nullptr;
}
const MemoryMeaning *findMemoryMeaning(std::string_view name) { return find(meanings, name); }
const MemoryMeaning *findLdsAtomic(std::string_view name) { return find(ldsAtomics, name); }

// -- Addresses

bool Dispatch::mayAccess(uint64_t address, uint64_t bytes) const {
  if (memory.empty())
    return true;
  for (const MemoryRange &range : memory)
    if (address >= range.begin && address < range.end && range.end - address >= bytes)
      return true;
  return false;
}

static void failAccess(Wave &wave, const Op &op, unsigned lane, std::string_view where) {
  const auto &id = wave.group->id;
  wave.fail(Status(Error::vgpuAccess, concat("'", toText(op.instruction), "' at ", op.address,
                                             " of the code object: lane ", lane, " of wave ",
                                             wave.number, " in workgroup (", id[0], ", ", id[1],
                                             ", ", id[2], ") accesses ", where)));
}

std::byte *locateGlobal(Wave &wave, const Op &op, unsigned lane, uint64_t address, unsigned bytes) {
  if (wave.dispatch().mayAccess(address, bytes))
    return reinterpret_cast<std::byte *>(address);
  failAccess(wave, op, lane,
             concat(bytes, " bytes at address ", address, ", which is in no allocation"));
  return nullptr;
}

std::byte *locateLds(Wave &wave, const Op &op, unsigned lane, uint64_t offset, unsigned bytes) {
  std::vector<std::byte> &lds = wave.group->lds;
  if (offset <= lds.size() && lds.size() - offset >= bytes)
    return lds.data() + offset;
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
