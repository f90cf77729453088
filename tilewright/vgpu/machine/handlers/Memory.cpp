#include "tilewright/vgpu/machine/decode/MemoryForms.h"
#include "tilewright/vgpu/machine/handlers/Lanes.h"
#include "tilewright/vgpu/machine/memory/SharedReads.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilewright::vgpu::machine::VGPU_ISA {

template <typename T> VGPU_INLINE Lanes<T> laneNumbers() {
  const Lanes<T> numbers = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                            16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
  return numbers;
}

template <typename A> VGPU_INLINE A laneOf(const std::byte *registers, uint32_t slot, int lane) {
  A value;
  std::memcpy(&value, registers + slot + static_cast<size_t>(lane) * sizeof(A), sizeof(A));
  return value;
}

/// The register slot of element `k` of a vector access. The slots of up to four elements are in the
/// fields d, b, c and e of a load, and in b, c, e and f of a store.
template <bool isLoad> VGPU_INLINE uint32_t elementSlot(const Op *op, unsigned k) {
  if constexpr (isLoad)
    return k == 0 ? op->d : k == 1 ? op->b : k == 2 ? op->c : op->e;
  else
    return k == 0 ? op->b : k == 1 ? op->c : k == 2 ? op->e : op->f;
}

/// A pointer to host memory. Addresses are computed as integers, since they do not point to an
/// object that the compiler knows.
VGPU_INLINE std::byte *hostAt(uint64_t address) { return reinterpret_cast<std::byte *>(address); }

/// The relation between the addresses of a warp's lanes.
enum class Pattern : uint8_t { consecutive, same, other };

template <typename A>
VGPU_INLINE Pattern patternOf(Lanes<A> address, A origin, uint32_t first, uint32_t m,
                              unsigned stride) {
  const Lanes<A> distance = address - origin;
  const Lanes<A> expected = (laneNumbers<A>() - A(first)) * A(stride);
  if ((maskOf(distance != expected) & m) == 0)
    return Pattern::consecutive;
  if ((maskOf(distance != A(0)) & m) == 0)
    return Pattern::same;
  return Pattern::other;
}

template <typename T, unsigned N, typename A>
VGPU_INLINE void loadLanes(const Op *op, std::byte *registers, uint32_t m, uint64_t base,
                           Lanes<A> address, A origin, uint32_t first) {
  constexpr unsigned stride = sizeof(T) * N;
  const Pattern pattern = patternOf<A>(address, origin, first, m, stride);
  const std::byte *start = hostAt(base + origin - static_cast<size_t>(first) * stride);
  if constexpr (N == 1) {
    if (pattern == Pattern::consecutive) {
      if (m == ~0u) [[likely]] {
        Lanes<T> value;
        std::memcpy(&value, start, sizeof(value));
        put<T>(registers, op->d, ~0u, value);
      } else {
        for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
          const int lane = std::countr_zero(rest);
          std::memcpy(registers + op->d + lane * sizeof(T), start + lane * sizeof(T), sizeof(T));
        }
      }
      return;
    }
    if (pattern == Pattern::same) {
      T value;
      std::memcpy(&value, hostAt(base + origin), sizeof(T));
      put<T>(registers, op->d, m, Lanes<T>(value));
      return;
    }
    if (m == ~0u) {
      // Tiles of 16 columns: each half of the warp reads a row.
      const A second = address[16];
      const Lanes<A> ramp = laneNumbers<A>() * A(sizeof(T));
      const uint32_t low = maskOf(address - origin != ramp) & 0xffffu;
      const uint32_t high = maskOf(address - second != ramp - A(16 * sizeof(T))) & 0xffff0000u;
      if ((low | high) == 0) {
        std::memcpy(registers + op->d, hostAt(base + origin), 16 * sizeof(T));
        std::memcpy(registers + op->d + 16 * sizeof(T), hostAt(base + second), 16 * sizeof(T));
        return;
      }
    }
    alignas(64) A addresses[32];
    *reinterpret_cast<typename LanesOf<A>::Stored *>(addresses) = address;
    auto *destination = reinterpret_cast<T *>(registers + op->d);
    if (m == ~0u) {
      // Read all values first: the destination may be the address register.
      alignas(64) T values[32];
      for (int lane = 0; lane < 32; ++lane)
        std::memcpy(&values[lane], hostAt(base + addresses[lane]), sizeof(T));
      std::memcpy(destination, values, sizeof(values));
      return;
    }
    for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      std::memcpy(&destination[lane], hostAt(base + addresses[lane]), sizeof(T));
    }
  } else {
    T *destination[N];
    for (unsigned k = 0; k < N; ++k)
      destination[k] = reinterpret_cast<T *>(registers + elementSlot<true>(op, k));
    if (pattern == Pattern::consecutive && m == ~0u) {
      const auto *source = reinterpret_cast<const T *>(start);
      alignas(64) T values[N][32];
      for (int lane = 0; lane < 32; ++lane)
        for (unsigned k = 0; k < N; ++k)
          values[k][lane] = source[lane * N + k];
      for (unsigned k = 0; k < N; ++k)
        std::memcpy(destination[k], values[k], sizeof(values[k]));
      return;
    }
    alignas(64) A addresses[32];
    *reinterpret_cast<typename LanesOf<A>::Stored *>(addresses) = address;
    for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      T values[N];
      std::memcpy(values, hostAt(base + addresses[lane]), sizeof(values));
      for (unsigned k = 0; k < N; ++k)
        destination[k][lane] = values[k];
    }
  }
}

template <typename T, unsigned N, typename A>
VGPU_INLINE void storeLanes(const Op *op, std::byte *registers, uint32_t m, uint64_t base,
                            Lanes<A> address, A origin, uint32_t first) {
  constexpr unsigned stride = sizeof(T) * N;
  const T *source[N];
  for (unsigned k = 0; k < N; ++k)
    source[k] = reinterpret_cast<const T *>(registers + elementSlot<false>(op, k));
  if (m == ~0u && patternOf<A>(address, origin, first, m, stride) == Pattern::consecutive) {
    std::byte *start = hostAt(base + origin);
    if constexpr (N == 1) {
      const Lanes<T> value = get<T>(registers, op->b);
      std::memcpy(start, &value, sizeof(value));
    } else {
      auto *destination = reinterpret_cast<T *>(start);
      for (int lane = 0; lane < 32; ++lane)
        for (unsigned k = 0; k < N; ++k)
          destination[lane * N + k] = source[k][lane];
    }
    return;
  }
  alignas(64) A addresses[32];
  *reinterpret_cast<typename LanesOf<A>::Stored *>(addresses) = address;
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    T values[N];
    for (unsigned k = 0; k < N; ++k)
      values[k] = source[k][lane];
    std::memcpy(hostAt(base + addresses[lane]), values, sizeof(values));
  }
}

static void loadAny(VGPU_ARGS);
static void storeAny(VGPU_ARGS);

/// Misaligned accesses take the slow path, which reports them.
template <typename T, unsigned N, typename A>
VGPU_INLINE bool isMisaligned(Lanes<A> address, uint32_t m) {
  constexpr A low = sizeof(T) * N - 1;
  return (maskOf((address & low) != A(0)) & m) != 0;
}

/// The lanes of `m` that access memory outside of a range.
template <typename T, unsigned N>
VGPU_INLINE uint32_t outside(const ValidRange &range, Lanes<uint64_t> address, uint32_t m) {
  // An empty range contains no address.
  if (range.bytes < sizeof(T) * N)
    return m;
  const uint64_t last = range.bytes - sizeof(T) * N;
  return maskOf(address - range.begin > last) & m;
}
/// Whether all lanes of `m` access the same valid range: the cached range of the operation, or else
/// the range that the first of them accesses, which is then cached. `slot` is the cache slot: field
/// f of a load, field d of a store.
template <typename T, unsigned N>
VGPU_INLINE bool isValid(Warp &warp, uint32_t slot, Lanes<uint64_t> address, uint64_t origin,
                         uint32_t m) {
  if (outside<T, N>(warp.ranges[slot], address, m) == 0) [[likely]]
    return true;
  return findRange(warp, slot, origin) && outside<T, N>(warp.ranges[slot], address, m) == 0;
}

/// The handlers for loads and for stores of any form.
template <bool isLoad> static constexpr Run accessAny = isLoad ? loadAny : storeAny;

template <bool isLoad, typename T, unsigned N, typename A>
VGPU_INLINE void accessLanes(const Op *op, std::byte *registers, uint32_t m, uint64_t base,
                             Lanes<A> address, A origin, uint32_t first) {
  if constexpr (isLoad)
    loadLanes<T, N, A>(op, registers, m, base, address, origin, first);
  else
    storeLanes<T, N, A>(op, registers, m, base, address, origin, first);
}

/// Accesses global memory with 64-bit addresses. Generic addresses of global memory are the same;
/// those of other spaces are not in a valid range.
template <bool isLoad, typename T, unsigned N> static void accessGlobal(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m != 0) {
    const auto first = static_cast<uint32_t>(std::countr_zero(m));
    const Lanes<uint64_t> address = get<uint64_t>(registers, op->a) + op->imm;
    const uint64_t origin = laneOf<uint64_t>(registers, op->a, first) + op->imm;
    const uint32_t range = isLoad ? op->f : op->d;
    if (isMisaligned<T, N, uint64_t>(address, m) || !isValid<T, N>(warp, range, address, origin, m))
        [[unlikely]]
      [[clang::musttail]] return accessAny<isLoad>(warp, op, registers, mask);
    accessLanes<isLoad, T, N, uint64_t>(op, registers, m, 0, address, origin, first);
  }
  VGPU_NEXT;
}

/// Loads 32 bits per lane from shared memory for half a warp, if the lanes read consecutive words
/// or the same word.
VGPU_INLINE bool loadSharedHalf(const std::byte *shared, uint32_t sharedBytes, uint32_t distance,
                                const std::byte *address, std::byte *destination) {
  typedef uint32_t Half __attribute__((ext_vector_type(16)));
  typedef bool HalfMask __attribute__((ext_vector_type(16)));
  const Half ramp = {0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60};
  const Half offsets = *reinterpret_cast<const Half *>(address);
  const uint32_t first = laneOf<uint32_t>(address, 0, 0);
  const uint32_t origin = first + distance;
  if (origin & 3)
    return false;
  const Half relative = offsets - first;
  auto none = [](auto comparison) {
    return std::bit_cast<uint16_t>(__builtin_convertvector(comparison, HalfMask)) == 0;
  };
  if (none(relative != ramp)) {
    if (origin > sharedBytes || sharedBytes - origin < 64)
      return false;
    Half value;
    std::memcpy(&value, shared + origin, sizeof(value));
    *reinterpret_cast<Half *>(destination) = value;
    return true;
  }
  if (!none(relative != 0u) || origin > sharedBytes - 4)
    return false;
  *reinterpret_cast<Half *>(destination) = Half(laneOf<uint32_t>(shared, origin, 0));
  return true;
}

/// An offset beyond the block's memory is in another block's memory, or an error; the slow path
/// handles both.
template <bool isLoad, typename T, unsigned N> static void accessShared(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m != 0) {
    const auto first = static_cast<uint32_t>(std::countr_zero(m));
    const auto distance = static_cast<uint32_t>(op->imm);
    const Lanes<uint32_t> address = get<uint32_t>(registers, op->a) + distance;
    const uint32_t limit = warp.sharedBytes - static_cast<uint32_t>(sizeof(T) * N);
    if ((maskOf((address > limit) | ((address & uint32_t(sizeof(T) * N - 1)) != 0u)) & m) != 0)
        [[unlikely]]
      [[clang::musttail]] return accessAny<isLoad>(warp, op, registers, mask);
    const uint32_t origin = laneOf<uint32_t>(registers, op->a, first) + distance;
    accessLanes<isLoad, T, N, uint32_t>(op, registers, m, reinterpret_cast<uint64_t>(warp.shared),
                                        address, origin, first);
  }
  VGPU_NEXT;
}

// The frequent cases have their own handlers, which need no stack frame: a whole warp reads
// consecutive elements, or each half warp reads consecutive words or a single word of shared
// memory.

/// Like ValidRange::holds(). That function is not used here, because its inline code would be
/// compiled for the handler's instruction set.
VGPU_INLINE bool holds(const ValidRange &range, uint64_t address, uint64_t count) {
  const uint64_t distance = address - range.begin;
  return distance < range.bytes && count <= range.bytes - distance;
}
/// Whether half a warp reads consecutive elements.
template <typename T> VGPU_INLINE bool isRow(const std::byte *address) {
  typedef uint64_t Half __attribute__((ext_vector_type(16)));
  const Half ramp = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  Half place; // registers are aligned to 64 bytes, half of this vector's alignment
  std::memcpy(&place, address, sizeof(place));
  const Half wrong = (place - laneOf<uint64_t>(address, 0, 0)) ^ (ramp * uint64_t(sizeof(T)));
  return __builtin_reduce_or(wrong) == 0;
}
template <typename T> static void loadGlobalRows(VGPU_ARGS) {
  const std::byte *address = registers + op->a;
  const uint64_t low = laneOf<uint64_t>(address, 0, 0) + op->imm,
                 high = laneOf<uint64_t>(address, 0, 16) + op->imm;
  const ValidRange &range = warp.ranges[op->f];
  if (active(op, registers, mask) == ~0u && (low | high) % sizeof(T) == 0 &&
      holds(range, low, 16 * sizeof(T)) && holds(range, high, 16 * sizeof(T)) &&
      isRow<T>(address) && isRow<T>(address + 128)) [[likely]] {
    typedef T Half __attribute__((ext_vector_type(16)));
    Half first, second;
    std::memcpy(&first, hostAt(low), sizeof(first));
    std::memcpy(&second, hostAt(high), sizeof(second));
    std::memcpy(registers + op->d, &first, sizeof(first));
    std::memcpy(registers + op->d + sizeof(Half), &second, sizeof(second));
    VGPU_NEXT;
  }
  [[clang::musttail]] return accessGlobal<true, T, 1>(warp, op, registers, mask);
}
static void loadSharedWords(VGPU_ARGS) {
  if (active(op, registers, mask) == ~0u && op->a != op->d) [[likely]] {
    const auto distance = static_cast<uint32_t>(op->imm);
    const std::byte *from = registers + op->a;
    std::byte *to = registers + op->d;
    if (loadSharedHalf(warp.shared, warp.sharedBytes, distance, from, to) &&
        loadSharedHalf(warp.shared, warp.sharedBytes, distance, from + 64, to + 64)) [[likely]]
      VGPU_NEXT;
  }
  [[clang::musttail]] return accessShared<true, uint32_t, 1>(warp, op, registers, mask);
}

// The handlers that Memory.def names.
template <typename T, unsigned N>
static constexpr Run loadGlobal = N == 1 ? loadGlobalRows<T> : accessGlobal<true, T, N>;
template <typename T, unsigned N> static constexpr Run loadGeneric = accessGlobal<true, T, N>;
template <typename T, unsigned N>
static constexpr Run loadShared =
    sizeof(T) == 4 && N == 1 ? loadSharedWords : accessShared<true, T, N>;
template <typename T, unsigned N> static constexpr Run storeGlobal = accessGlobal<false, T, N>;
template <typename T, unsigned N> static constexpr Run storeShared = accessShared<false, T, N>;

#if defined(__AVX512F__)
static constexpr int atOnce = 16;
#else
static constexpr int atOnce = 8;
#endif
typedef uint32_t Words __attribute__((ext_vector_type(atOnce)));
typedef float Floats __attribute__((ext_vector_type(atOnce)));

VGPU_INLINE Words wordsAt(const void *place) {
  Words value;
  std::memcpy(&value, place, sizeof(value));
  return value;
}
VGPU_INLINE Words inOrder(Words words, Words index) {
#if defined(__AVX512F__)
  return std::bit_cast<Words>(
      _mm512_permutexvar_epi32(std::bit_cast<__m512i>(index), std::bit_cast<__m512i>(words)));
#elif defined(__AVX2__)
  return std::bit_cast<Words>(
      _mm256_permutevar8x32_epi32(std::bit_cast<__m256i>(words), std::bit_cast<__m256i>(index)));
#else
  Words result;
  for (int i = 0; i < atOnce; ++i)
    result[i] = words[index[i]];
  return result;
#endif
}

VGPU_INLINE void learnShared(const Warp &warp, const std::byte *address, SharedFact &fact) {
  uint32_t changed = 0;
  for (int lane = 0; lane < 32; lane += atOnce) {
    const Words before = *reinterpret_cast<const Words *>(fact.address + lane);
    changed |= __builtin_reduce_or(wordsAt(address + 4 * lane) ^ before);
  }
  if (changed == 0 && fact.room != 0) [[likely]]
    return;
  uint32_t highest = 0, wrong = 0;
  for (int lane = 0; lane < 32; lane += atOnce) {
    const Words place = wordsAt(address + 4 * lane);
    const uint32_t start = __builtin_reduce_min(place);
    const Words distance = place - start;
    const uint32_t most = __builtin_reduce_max(distance);
    wrong |= uint32_t(most >= 4 * atOnce) | ((__builtin_reduce_or(distance) | start) & 3) |
             uint32_t(start >= warp.sharedBytes);
    highest = highest > start + most ? highest : start + most;
    *reinterpret_cast<Words *>(fact.index + lane) = distance >> 2u;
    *reinterpret_cast<Words *>(fact.address + lane) = place;
    fact.start[lane / atOnce] = start;
  }
  fact.room = wrong || highest + 4 > warp.sharedBytes ? 0 : warp.sharedBytes - highest - 3;
}
VGPU_INLINE const SharedFact &factOf(const Op *op, const std::byte *registers) {
  return *reinterpret_cast<const SharedFact *>(registers + op->e);
}
VGPU_INLINE Words indexOf(const SharedFact &fact, int lane) {
  return *reinterpret_cast<const Words *>(fact.index + lane);
}

/// e is the slot of the SharedFact. The destination is never the address register.
static void loadSharedKnown(VGPU_ARGS) {
  const SharedFact &fact = factOf(op, registers);
  if (active(op, registers, mask) == ~0u && op->imm < fact.room) [[likely]] {
    for (int lane = 0; lane < 32; lane += atOnce)
      *reinterpret_cast<Words *>(registers + op->d + 4 * lane) =
          inOrder(wordsAt(warp.shared + op->imm + fact.start[lane / atOnce]), indexOf(fact, lane));
    VGPU_NEXT;
  }
  [[clang::musttail]] return loadSharedWords(warp, op, registers, mask);
}
static void loadSharedLearn(VGPU_ARGS) {
  auto &fact = *reinterpret_cast<SharedFact *>(registers + op->e);
  if (active(op, registers, mask) == ~0u)
    learnShared(warp, registers + op->a, fact);
  else
    fact.room = 0;
  [[clang::musttail]] return loadSharedKnown(warp, op, registers, mask);
}

/// Appends a record to the log of reads. The other parameters are the fields of the record.
VGPU_INLINE void writeDown(SharedReads &reads, const SharedReads::Gate &gate, const Warp &warp,
                           const Op *op, uint32_t mask, unsigned rounds, unsigned step,
                           const void *addresses) {
  SharedReads::Record &record = *reads.next++;
  record.op = op;
  record.mask = mask;
  record.warp = warp.index;
  record.epoch = gate.epoch;
  record.rounds = static_cast<uint16_t>(rounds);
  record.step = static_cast<uint16_t>(step);
  std::memcpy(record.addresses, addresses, sizeof(record.addresses));
}

static void observeShared(VGPU_ARGS);

/// A run of: load a, load b, c = a * b + c (see Decoder::fuse). In observed launches, an operation
/// that notifies the observer precedes each load. b of the first operation is the number of
/// iterations, c of the first two loads the largest offset, and f of each operation whether its
/// result must be written to the frame. A NaN stays in the sum until the end. If a sum is a NaN,
/// the original operations run instead, because they determine which NaN it must be.
template <bool isObserved> static void loadSharedRun(VGPU_ARGS) {
  constexpr int atA = isObserved, atB = atA + 1 + isObserved, atSum = atB + 1, step = atSum + 1;
  const SharedFact &factA = factOf(op + atA, registers), &factB = factOf(op + atB, registers);
  const SharedReads::Gate *gate = nullptr;
  uint32_t missing = 0; // bytes at the end of shared memory whose reads may not be logged
  if constexpr (isObserved) {
    gate = warp.reads ? warp.reads->openGate(warp.index, 2) : nullptr;
    if (gate && gate->below < warp.sharedBytes)
      missing = warp.sharedBytes - gate->below;
  }
  if (mask == ~0u && (gate || !isObserved) && op[atA].c + missing < factA.room &&
      op[atB].c + missing < factB.room) [[likely]] {
    constexpr int together = 2;
    const Op *const end = op + size_t(step) * op->b;
    const Lanes<float> before = get<float>(registers, op[atSum].c);
    uint32_t invalid = 0;
    for (int lane = 0; lane < 32; lane += together * atOnce) {
      const std::byte *a[together], *b[together];
      Words indexA[together], indexB[together];
      Floats sum[together];
#pragma clang loop unroll(full)
      for (int i = 0; i < together; ++i) {
        a[i] = warp.shared + factA.start[lane / atOnce + i];
        b[i] = warp.shared + factB.start[lane / atOnce + i];
        indexA[i] = indexOf(factA, lane + i * atOnce);
        indexB[i] = indexOf(factB, lane + i * atOnce);
        sum[i] =
            *reinterpret_cast<const Floats *>(registers + op[atSum].c + 4 * (lane + i * atOnce));
      }
      auto storeAt = [&](const Op &one, auto *values) {
        if (one.f)
          for (int i = 0; i < together; ++i)
            std::memcpy(registers + one.d + 4 * (lane + i * atOnce), &values[i], sizeof(Words));
      };
      for (const Op *next = op; next != end; next += step) {
        Words valueA[together], valueB[together];
#pragma clang loop unroll(full)
        for (int i = 0; i < together; ++i) {
          valueA[i] = inOrder(wordsAt(a[i] + next[atA].imm), indexA[i]);
          valueB[i] = inOrder(wordsAt(b[i] + next[atB].imm), indexB[i]);
          sum[i] = __builtin_elementwise_fma(std::bit_cast<Floats>(valueA[i]),
                                             std::bit_cast<Floats>(valueB[i]), sum[i]);
        }
        storeAt(next[atA], valueA);
        storeAt(next[atB], valueB);
        storeAt(next[atSum], sum);
      }
#pragma clang loop unroll(full)
      for (int i = 0; i < together; ++i)
        invalid |= __builtin_reduce_or(std::bit_cast<Words>(sum[i] != sum[i]));
    }
    if (!invalid) [[likely]] {
      if constexpr (isObserved) {
        writeDown(*warp.reads, *gate, warp, op, mask, op->b, step, factA.address);
        writeDown(*warp.reads, *gate, warp, op + atB - 1, mask, op->b, step, factB.address);
      }
      [[clang::musttail]] return end->run(warp, end, registers, mask);
    }
    put<float>(registers, op[atSum].c, ~0u, before);
  }
  if constexpr (isObserved) [[clang::musttail]]
    return observeShared(warp, op, registers, mask);
  else [[clang::musttail]]
    return loadSharedKnown(warp, op, registers, mask);
}

/// The address of one lane, before its state space is considered.
VGPU_INLINE uint64_t addressOf(const AddressForm &form, const std::byte *registers, int lane) {
  if (form.bytes == 4)
    return static_cast<uint32_t>(laneOf<uint32_t>(registers, form.slot, lane) +
                                 static_cast<uint32_t>(form.offset));
  return laneOf<uint64_t>(registers, form.slot, lane) + static_cast<uint64_t>(form.offset);
}

/// Strong accesses are atomic on the host as well, so that blocks in different host threads can
/// wait for each other: each word of 8 bytes, also of a vector of narrower elements. PTX guarantees
/// only the elements, but GPUs access aligned words whole, and protocols that put a flag beside 4
/// bytes of data (NCCL's LL) rely on it.
constexpr unsigned strongWord(unsigned bytes, unsigned count) {
  const unsigned all = bytes * count;
  return all < 8 ? bytes : 8;
}
static uint64_t loadStrongly(const std::byte *from, unsigned bytes) {
  switch (bytes) {
  case 1:
    return __atomic_load_n(reinterpret_cast<const uint8_t *>(from), __ATOMIC_ACQUIRE);
  case 2:
    return __atomic_load_n(reinterpret_cast<const uint16_t *>(from), __ATOMIC_ACQUIRE);
  case 4:
    return __atomic_load_n(reinterpret_cast<const uint32_t *>(from), __ATOMIC_ACQUIRE);
  default:
    return __atomic_load_n(reinterpret_cast<const uint64_t *>(from), __ATOMIC_ACQUIRE);
  }
}
static void storeStrongly(std::byte *to, uint64_t value, unsigned bytes) {
  switch (bytes) {
  case 1:
    return __atomic_store_n(reinterpret_cast<uint8_t *>(to), uint8_t(value), __ATOMIC_RELEASE);
  case 2:
    return __atomic_store_n(reinterpret_cast<uint16_t *>(to), uint16_t(value), __ATOMIC_RELEASE);
  case 4:
    return __atomic_store_n(reinterpret_cast<uint32_t *>(to), uint32_t(value), __ATOMIC_RELEASE);
  default:
    return __atomic_store_n(reinterpret_cast<uint64_t *>(to), value, __ATOMIC_RELEASE);
  }
}

static void loadAny(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const auto &form = *static_cast<const AccessForm *>(op->extra);
  const unsigned bytes = form.elementBytes;
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::byte *source =
        resolve(warp, op, form.address.space, addressOf(form.address, registers, lane),
                static_cast<uint32_t>(lane), bytes * form.count);
    if (!source)
      return;
    std::byte staged[64];
    if (form.isStrong) {
      const unsigned word = strongWord(bytes, form.count);
      for (unsigned at = 0; at < bytes * form.count; at += word) {
        const uint64_t value = loadStrongly(source + at, word);
        std::memcpy(staged + at, &value, word);
      }
    } else {
      std::memcpy(staged, source, size_t(bytes) * form.count);
    }
    for (unsigned k = 0; k < form.count; ++k) {
      if (bytes == 16) {
        std::memcpy(registers + form.slots[k] + 8 * lane, staged + 16 * k, 8);
        std::memcpy(registers + form.slots[k] + 256 + 8 * lane, staged + 16 * k + 8, 8);
        continue;
      }
      uint64_t value = 0;
      std::memcpy(&value, staged + size_t(k) * bytes, bytes);
      if (form.signExtended)
        value = static_cast<uint64_t>(static_cast<int64_t>(value << (64 - 8 * bytes)) >>
                                      (64 - 8 * bytes));
      std::memcpy(registers + form.slots[k] + static_cast<size_t>(lane) * form.registerBytes,
                  &value, form.registerBytes);
    }
  }
  VGPU_NEXT;
}
static void storeAny(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const auto &form = *static_cast<const AccessForm *>(op->extra);
  const unsigned bytes = form.elementBytes;
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint64_t address = addressOf(form.address, registers, lane);
    if (storeToTeam(form, registers, static_cast<uint32_t>(lane), address))
      continue;
    std::byte *destination = resolve(warp, op, form.address.space, address,
                                     static_cast<uint32_t>(lane), bytes * form.count);
    if (!destination)
      return;
    if (form.isStrong && bytes <= 8) {
      std::byte staged[64];
      for (unsigned k = 0; k < form.count; ++k)
        std::memcpy(staged + size_t(k) * bytes,
                    registers + form.slots[k] + static_cast<size_t>(lane) * form.registerBytes,
                    bytes);
      const unsigned word = strongWord(bytes, form.count);
      for (unsigned at = 0; at < bytes * form.count; at += word) {
        uint64_t value = 0;
        std::memcpy(&value, staged + at, word);
        storeStrongly(destination + at, value, word);
      }
      continue;
    }
    for (unsigned k = 0; k < form.count; ++k) {
      if (bytes == 16) {
        std::memcpy(destination + 16 * k, registers + form.slots[k] + 8 * lane, 8);
        std::memcpy(destination + 16 * k + 8, registers + form.slots[k] + 256 + 8 * lane, 8);
        continue;
      }
      std::memcpy(destination + size_t(k) * bytes,
                  registers + form.slots[k] + static_cast<size_t>(lane) * form.registerBytes,
                  bytes);
    }
  }
  VGPU_NEXT;
}

/// ld.param of a kernel: loads the same value for all lanes, at offset imm of the parameters.
static void loadParameter(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const auto &form = *static_cast<const AccessForm *>(op->extra);
  const unsigned bytes = form.elementBytes;
  for (unsigned k = 0; k < form.count; ++k) {
    uint64_t value = 0;
    std::memcpy(&value, warp.parameters + op->imm + size_t(k) * bytes, bytes < 8 ? bytes : 8);
    if (bytes == 16) {
      uint64_t high = 0;
      std::memcpy(&high, warp.parameters + op->imm + size_t(k) * bytes + 8, 8);
      put<uint64_t>(registers, form.slots[k], m, Lanes<uint64_t>(value));
      put<uint64_t>(registers, form.slots[k] + 256, m, Lanes<uint64_t>(high));
      continue;
    }
    if (form.signExtended)
      value = static_cast<uint64_t>(static_cast<int64_t>(value << (64 - 8 * bytes)) >>
                                    (64 - 8 * bytes));
    if (form.registerBytes == 8)
      put<uint64_t>(registers, form.slots[k], m, Lanes<uint64_t>(value));
    else if (form.registerBytes == 4)
      put<uint32_t>(registers, form.slots[k], m, Lanes<uint32_t>(static_cast<uint32_t>(value)));
    else
      put<uint16_t>(registers, form.slots[k], m, Lanes<uint16_t>(static_cast<uint16_t>(value)));
  }
  VGPU_NEXT;
}
VGPU_INLINE uint64_t readElement(const std::byte *registers, uint32_t slot, unsigned bytes,
                                 int lane) {
  uint64_t value = 0;
  std::memcpy(&value, registers + slot + static_cast<size_t>(lane) * bytes, bytes);
  return value;
}
static void atomicAccess(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const auto &form = *static_cast<const AtomicForm *>(op->extra);
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte *where =
        resolve(warp, op, form.address.space, addressOf(form.address, registers, lane),
                static_cast<uint32_t>(lane), uint32_t(form.bytes) * form.count);
    if (!where)
      return;
    if (form.bytes == 16) {
      auto wide = [&](uint32_t slot) {
        return Wide128{readElement(registers, slot, 8, lane),
                       readElement(registers, slot + 256, 8, lane)};
      };
      const bool isCas = form.operation == AtomicOperation::cas;
      const Wide128 b = wide(form.b[0]), c = isCas ? wide(form.c) : b;
      const Wide128 old = atomicApply128(form, where, isCas ? c : b, b);
      if (form.returns) {
        std::memcpy(registers + form.d[0] + 8 * lane, &old.low, 8);
        std::memcpy(registers + form.d[0] + 256 + 8 * lane, &old.high, 8);
      }
      continue;
    }
    for (unsigned k = 0; k < form.count; ++k) {
      const bool isCas = form.operation == AtomicOperation::cas;
      const uint64_t b = readElement(registers, form.b[k], form.bytes, lane);
      const uint64_t c = isCas ? readElement(registers, form.c, form.bytes, lane) : 0;
      const uint64_t old =
          atomicApply(form, where + size_t(k) * form.bytes, isCas ? c : b, isCas ? b : 0);
      if (form.returns)
        std::memcpy(registers + form.d[k] + static_cast<size_t>(lane) * form.bytes, &old,
                    form.bytes);
    }
  }
  VGPU_NEXT;
}

/// Sets the fields that relate the addresses of adjacent lanes.
template <typename A> VGPU_INLINE void describe(MemoryEvent &event, Lanes<A> address) {
  const uint32_t m = event.mask, both = m & (m >> 1);
  const Lanes<A> distance =
      __builtin_shufflevector(address, address, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                              16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 31) -
      address;
  event.hasPattern = true;
  event.follows = maskOf(distance == A(event.bytes)) & both;
  event.repeats = maskOf(distance == A(0)) & both;
  const Lanes<A> highest = choose<A>(m, address, Lanes<A>(0));
  const Lanes<A> lowest = choose<A>(m, address, ~Lanes<A>(0));
  event.lowest = __builtin_reduce_min(lowest);
  event.highest = __builtin_reduce_max(highest);
}

/// Reports the access that follows to the observer.
static void observeAccess(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m != 0) {
    const auto &form = *static_cast<const ObserveForm *>(op->extra);
    const AddressForm &from = form.address;
    alignas(64) uint64_t addresses[32];
    auto *stored = reinterpret_cast<LanesOf<uint64_t>::Stored *>(addresses);
    MemoryEvent event{warp,      op,         m,          addresses, form.bytes,
                      form.kind, form.proxy, form.order, form.scope};
    StoredValues values;
    if (form.stored) {
      values = {registers, form.stored->slots, form.stored->elementBytes,
                form.stored->registerBytes};
      event.values = &values;
    }
    if (from.space == Space::shared && from.bytes == 4) {
      const Lanes<uint32_t> offset =
          get<uint32_t>(registers, from.slot) + static_cast<uint32_t>(from.offset);
      const uint32_t own = (warp.block->rank + 1) << sharedOffsetBits;
      const Lanes<uint32_t> tagged = offset > sharedOffsetMask ? offset : offset | own;
      *stored = castLanes<uint64_t>(tagged) | sharedWindow;
      describe<uint32_t>(event, tagged);
      event.lowest |= sharedWindow;
      event.highest |= sharedWindow;
    } else {
      const Lanes<uint64_t> address =
          from.bytes == 4
              ? castLanes<uint64_t>(get<uint32_t>(registers, from.slot) +
                                    static_cast<uint32_t>(from.offset))
              : get<uint64_t>(registers, from.slot) + static_cast<uint64_t>(from.offset);
      *stored = address;
      if (from.space != Space::global)
        for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
          const int lane = std::countr_zero(rest);
          addresses[lane] = flatAddress(warp, from.space, addresses[lane]);
        }
      describe<uint64_t>(event, *stored);
      if (form.order != Order::weak && form.kind != AccessKind::write)
        std::memcpy(warp.readAt, addresses, sizeof(warp.readAt));
    }
    warp.block->group->grid->observer->access(event);
  }
  VGPU_NEXT;
}

/// Reports that the preceding strong access has read its values.
static void observeRead(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m != 0) {
    const auto &form = *static_cast<const ObserveForm *>(op->extra);
    const MemoryEvent event{warp,      op,         m,          warp.readAt, form.bytes,
                            form.kind, form.proxy, form.order, form.scope};
    warp.block->group->grid->observer->valueRead(event);
  }
  VGPU_NEXT;
}

/// Like observeAccess, for a weak read of shared memory, which may be logged instead of reported.
static void observeShared(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const SharedReads::Gate *gate = warp.reads ? warp.reads->openGate(warp.index, 1) : nullptr;
  const auto &form = *static_cast<const ObserveForm *>(op->extra);
  if (gate && m != 0 && form.bytes <= gate->below) {
    const std::byte *from = registers + form.address.slot;
    const Lanes<uint32_t> offset =
        get<uint32_t>(from, 0) + static_cast<uint32_t>(form.address.offset);
    if ((maskOf(offset > gate->below - form.bytes) & m) == 0) [[likely]] {
      writeDown(*warp.reads, *gate, warp, op, m, 1, 0, from);
      VGPU_NEXT;
    }
  }
  [[clang::musttail]] return observeAccess(warp, op, registers, mask);
}

/// Emitted before an instruction that uses registers which a wgmma of the function uses, too.
static void reportRegisterAccess(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m != 0)
    reportMatrixRegisters(warp, op, registers, m);
  VGPU_NEXT;
}

extern const Run memoryHandlers[] = {
#define VGPU_OP(name, ...) __VA_ARGS__,
#include "tilewright/vgpu/machine/handlers/Memory.def"
#undef VGPU_OP
};

} // namespace tilewright::vgpu::machine::VGPU_ISA
