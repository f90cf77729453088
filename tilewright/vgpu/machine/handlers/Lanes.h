// 32 lanes as one host vector. Only handlers include it; they are compiled once for each
// instruction set, each time in another namespace.
#ifndef TILEWRIGHT_VGPU_MACHINE_HANDLERS_LANES_H
#define TILEWRIGHT_VGPU_MACHINE_HANDLERS_LANES_H

#include "tilewright/vgpu/machine/Warp.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#ifndef VGPU_ISA
#error "define VGPU_ISA, the namespace of the instruction set these handlers are compiled for"
#endif

namespace tilewright::vgpu::machine::VGPU_ISA {

template <typename T> struct LanesOf {
  typedef T Type __attribute__((ext_vector_type(32)));
  // The type in memory, where the alignment is only guaranteed to be 64 bytes.
  typedef T Stored __attribute__((ext_vector_type(32), aligned(sizeof(T) == 1 ? 32 : 64)));
};
template <typename T> using Lanes = typename LanesOf<T>::Type;
typedef bool MaskLanes __attribute__((ext_vector_type(32)));

template <unsigned bytes> struct IntegerOf;
template <> struct IntegerOf<1> {
  using Signed = int8_t;
  using Unsigned = uint8_t;
};
template <> struct IntegerOf<2> {
  using Signed = int16_t;
  using Unsigned = uint16_t;
};
template <> struct IntegerOf<4> {
  using Signed = int32_t;
  using Unsigned = uint32_t;
};
template <> struct IntegerOf<8> {
  using Signed = int64_t;
  using Unsigned = uint64_t;
};
template <typename T> using SignedOf = typename IntegerOf<sizeof(T)>::Signed;
template <typename T> using UnsignedOf = typename IntegerOf<sizeof(T)>::Unsigned;

#define VGPU_INLINE [[gnu::always_inline]] inline
#define VGPU_ARGS [[maybe_unused]] Warp &warp, const Op *op, std::byte *registers, uint32_t mask
/// Continues with the next operation; must be the last statement of a handler.
#define VGPU_NEXT [[clang::musttail]] return op[1].run(warp, op + 1, registers, mask)
/// Continues with other lanes of the warp that can run, after the current lanes were parked.
#define VGPU_RESUME                                                                                \
  do {                                                                                             \
    if (!chooseFragment(warp))                                                                     \
      return;                                                                                      \
    [[clang::musttail]] return warp.current.pc->run(                                               \
        warp, warp.current.pc, warp.current.frame->registers, warp.current.mask);                  \
  } while (false)

/// The lanes that execute `op`: those whose guard is true.
VGPU_INLINE uint32_t active(const Op *op, const std::byte *registers, uint32_t mask) {
  return mask & (*reinterpret_cast<const uint32_t *>(registers + op->guard) ^ op->flip);
}

template <typename T> VGPU_INLINE Lanes<T> get(const std::byte *registers, uint32_t slot) {
  return *reinterpret_cast<const typename LanesOf<T>::Stored *>(registers + slot);
}
VGPU_INLINE uint32_t &predicate(std::byte *registers, uint32_t slot) {
  return *reinterpret_cast<uint32_t *>(registers + slot);
}

/// A vector with all ones in the lanes of the mask and zeros elsewhere; its elements are as wide as
/// T.
template <typename T> VGPU_INLINE Lanes<SignedOf<T>> spread(uint32_t mask) {
  return __builtin_convertvector(std::bit_cast<MaskLanes>(mask), Lanes<SignedOf<T>>) != 0;
}
/// The lanes where a comparison holds.
template <typename V> VGPU_INLINE uint32_t maskOf(V comparison) {
  return std::bit_cast<uint32_t>(__builtin_convertvector(comparison, MaskLanes));
}
template <typename T> VGPU_INLINE Lanes<T> choose(uint32_t mask, Lanes<T> yes, Lanes<T> no) {
  return spread<T>(mask) ? yes : no;
}

/// Writes the lanes in `mask`.
template <typename T>
VGPU_INLINE void put(std::byte *registers, uint32_t slot, uint32_t mask, Lanes<T> value) {
  auto *destination = reinterpret_cast<typename LanesOf<T>::Stored *>(registers + slot);
  if (mask == ~0u) [[likely]]
    *destination = value;
  else
    *destination = choose<T>(mask, value, Lanes<T>(*destination));
}
VGPU_INLINE void putPredicate(std::byte *registers, uint32_t slot, uint32_t mask, uint32_t value) {
  uint32_t &destination = predicate(registers, slot);
  destination = (destination & ~mask) | (value & mask);
}

template <typename To, typename V> VGPU_INLINE Lanes<To> castLanes(V value) {
  return __builtin_convertvector(value, Lanes<To>);
}
template <typename To, typename V> VGPU_INLINE Lanes<To> bitsAs(V value) {
  return std::bit_cast<Lanes<To>>(value);
}

/// Defines a handler for each T that computes d = expression, from the operand a or from the
/// operands a and b.
#define VGPU_UNARY(name, expression)                                                               \
  template <typename T> static void name(VGPU_ARGS) {                                              \
    const uint32_t m = active(op, registers, mask);                                                \
    const Lanes<T> a = get<T>(registers, op->a);                                                   \
    put<T>(registers, op->d, m, expression);                                                       \
    VGPU_NEXT;                                                                                     \
  }
#define VGPU_BINARY(name, expression)                                                              \
  template <typename T> static void name(VGPU_ARGS) {                                              \
    const uint32_t m = active(op, registers, mask);                                                \
    const Lanes<T> a = get<T>(registers, op->a), b = get<T>(registers, op->b);                     \
    put<T>(registers, op->d, m, expression);                                                       \
    VGPU_NEXT;                                                                                     \
  }

} // namespace tilewright::vgpu::machine::VGPU_ISA

#endif // TILEWRIGHT_VGPU_MACHINE_HANDLERS_LANES_H
