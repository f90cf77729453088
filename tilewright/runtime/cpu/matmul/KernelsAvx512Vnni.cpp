// Kernels for AVX-512 with VNNI: one instruction adds products of 16-bit pairs. Products of bytes
// use it too, widened when packed, because the instruction for bytes requires one unsigned operand.
#include "tilewright/runtime/cpu/matmul/KernelTemplates.h"

namespace tilewright::runtime::cpu {

namespace {
/// Products of 16-bit integers.
struct IntegerPairs {
  using V = VectorOf<uint32_t, 16>::Type;
  template <typename Words> static V add(V sums, Words left, Words right) {
    return (V)_mm512_dpwssd_epi32((__m512i)sums, (__m512i)left, (__m512i)right);
  }
};
} // namespace

const KernelSet &avx512VnniKernels() {
  using enum ElementType;
  static constexpr PanelKernel panels[] = {
      {"avx512-vnni i16 14x32", i16, i16, i32, 14, 32, 2, packPanel<int16_t, 14, 2>,
       packPanel<int16_t, 32, 2>, multiplyPairs<IntegerPairs, uint32_t, 16, 14>},
  };
  static constexpr KernelSet set = {panels, {}, {}, {}};
  return set;
}

} // namespace tilewright::runtime::cpu
