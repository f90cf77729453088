// Kernels for AVX-512 with BF16: products of bf16 pairs are added to f32.
#include "tilewright/runtime/cpu/matmul/KernelTemplates.h"

namespace tilewright::runtime::cpu {

namespace {
/// Products of bf16.
struct Bf16Pairs {
  using V = VectorOf<float, 16>::Type;
  template <typename Words> static V add(V sums, Words left, Words right) {
    return _mm512_dpbf16_ps(sums, (__m512bh)left, (__m512bh)right);
  }
};
} // namespace

const KernelSet &avx512Bf16Kernels() {
  using enum ElementType;
  static constexpr PanelKernel panels[] = {
      {"avx512-bf16 14x32", bf16, bf16, f32, 14, 32, 2, packPanel<uint16_t, 14, 2>,
       packPanel<uint16_t, 32, 2>, multiplyPairs<Bf16Pairs, float, 16, 14>},
  };
  static constexpr KernelSet set = {panels, {}, {}, {}};
  return set;
}

} // namespace tilewright::runtime::cpu
