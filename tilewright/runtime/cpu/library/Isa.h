// Isa: compiles the same source for several vector widths and chooses at run time.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_ISA_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_ISA_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// Functions that a loop calls must be inlined into it: only then are they compiled for the
/// instruction set of the loop's version.
#define TILEWRIGHT_INLINE __attribute__((always_inline)) inline

namespace tilewright::runtime::cpu {

enum class Isa : uint8_t { baseline, avx2, avx512 };

/// The best instruction set of this machine. TILEWRIGHT_CPU_ISA=baseline|avx2|avx512 lowers it, for
/// tests.
Isa isaOfMachine();

/// The width of a vector register, as a compile-time constant.
template <int bytes> using VectorBytes = std::integral_constant<int, bytes>;

/// `count` elements in registers. The compiler splits vectors that are wider than the machine's.
template <typename T, int count> using Vector __attribute__((ext_vector_type(count))) = T;

/// Loads a vector from an address of any alignment; storeVector() stores one.
template <typename V> TILEWRIGHT_INLINE V loadVector(const void *from) {
  V value;
  __builtin_memcpy(&value, from, sizeof(V));
  return value;
}
template <typename V> TILEWRIGHT_INLINE void storeVector(void *to, V value) {
  __builtin_memcpy(to, &value, sizeof(V));
}

namespace detail {
#if defined(__x86_64__)
template <typename Fn>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,bmi,bmi2,f16c,popcnt,"
                      "lzcnt"),
               noinline)) void callAvx512(Fn &fn) {
  fn(VectorBytes<64>());
}
template <typename Fn>
__attribute__((target("avx2,fma,bmi,bmi2,f16c,popcnt,lzcnt"), noinline)) void callAvx2(Fn &fn) {
  fn(VectorBytes<32>());
}
#endif
template <typename Fn> __attribute__((noinline)) void callBaseline(Fn &fn) {
  fn(VectorBytes<16>());
}
} // namespace detail

/// Calls `fn(VectorBytes<…>())`, compiled for the machine it runs on. The lambda must be marked
/// always_inline, and so must everything hot in it:
///
///   withVectors([&](auto width) TILEWRIGHT_LAMBDA { … });
#define TILEWRIGHT_LAMBDA __attribute__((always_inline))
template <typename Fn> void withVectors(Fn &&fn) {
#if defined(__x86_64__)
  switch (isaOfMachine()) {
  case Isa::avx512:
    return detail::callAvx512(fn);
  case Isa::avx2:
    return detail::callAvx2(fn);
  case Isa::baseline:
    break;
  }
#endif
  detail::callBaseline(fn);
}

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_ISA_H
