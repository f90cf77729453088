// Kernels for AVX-512 with VNNI: one instruction adds products of 16-bit pairs. Products of bytes
// use it too, widened when packed, because the instruction for bytes requires one unsigned operand.
#include "tilewright/runtime/cpu/matmul/KernelTemplates.h"

namespace tilewright::runtime::cpu {

static void multiplyPairs(int64_t summed, const void *lhsPanel, const void *rhsPanel, void *sums,
                          int64_t stride, int64_t rows, int64_t columns, bool add) {
  constexpr int rowCount = 14, vectors = 2;
  const auto *lhs = static_cast<const int32_t *>(lhsPanel);
  const auto *rhs = static_cast<const __m512i *>(rhsPanel);
  using V = VectorOf<uint32_t, 16>::Type;
  V block[rowCount][vectors] = {};
  for (int64_t k = 0; k < summed; k += 2, lhs += rowCount, rhs += vectors) {
    const __m512i right[vectors] = {_mm512_loadu_si512(rhs), _mm512_loadu_si512(rhs + 1)};
    TILEWRIGHT_UNROLL
    for (int i = 0; i < rowCount; ++i) {
      const __m512i left = _mm512_set1_epi32(lhs[i]);
      TILEWRIGHT_UNROLL
      for (int j = 0; j < vectors; ++j)
        block[i][j] = (V)_mm512_dpwssd_epi32((__m512i)block[i][j], left, right[j]);
    }
  }
  storeBlock<uint32_t, 16, rowCount, vectors>(block, static_cast<uint32_t *>(sums), stride, rows,
                                              columns, add);
}

const KernelSet &avx512VnniKernels() {
  using enum ElementType;
  static constexpr PanelKernel panels[] = {
      {"avx512-vnni i16 14x32", i16, i16, i32, 14, 32, 2, packPanel<int16_t, 14, 2>,
       packPanel<int16_t, 32, 2>, multiplyPairs},
  };
  static constexpr KernelSet set = {panels, {}, {}, {}};
  return set;
}

} // namespace tilewright::runtime::cpu
