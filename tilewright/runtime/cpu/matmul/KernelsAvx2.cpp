// Kernels for AVX2 with FMA: sixteen registers of 32 bytes.
#include "tilewright/runtime/cpu/matmul/KernelTemplates.h"

namespace tilewright::runtime::cpu {

namespace {
/// Products of 16-bit integers.
struct IntegerPairs {
  using V = VectorOf<uint32_t, 8>::Type;
  template <typename Words> static V add(V sums, Words left, Words right) {
    return sums + (V)_mm256_madd_epi16((__m256i)left, (__m256i)right);
  }
};
} // namespace

const KernelSet &avx2Kernels() {
  using enum ElementType;
  static constexpr PanelKernel panels[] = {
      {"avx2 f32 6x16", f32, f32, f32, 6, 16, 1, packPanel<float, 6, 1>, packPanel<float, 16, 1>,
       multiplyPanels<float, 8, 6, 2>},
      {"avx2 f64 6x8", f64, f64, f64, 6, 8, 1, packPanel<double, 6, 1>, packPanel<double, 8, 1>,
       multiplyPanels<double, 4, 6, 2>},
      {"avx2 i32 6x16", i32, i32, i32, 6, 16, 1, packPanel<uint32_t, 6, 1>,
       packPanel<uint32_t, 16, 1>, multiplyPanels<uint32_t, 8, 6, 2>},
      {"avx2 i64 4x8", i64, i64, i64, 4, 8, 1, packPanel<uint64_t, 4, 1>, packPanel<uint64_t, 8, 1>,
       multiplyPanels<uint64_t, 4, 4, 2>},
      {"avx2 i16 6x16", i16, i16, i32, 6, 16, 2, packPanel<int16_t, 6, 2>,
       packPanel<int16_t, 16, 2>, multiplyPairs<IntegerPairs, uint32_t, 8, 6>},
      {"avx2 c64 3x16", c64, c64, c64, 3, 16, 1, packComplexPanel<float, 3>,
       packComplexPanel<float, 16>, multiplyComplexPanels<float, 8, 3, 2>},
      {"avx2 c128 3x8", c128, c128, c128, 3, 8, 1, packComplexPanel<double, 3>,
       packComplexPanel<double, 8>, multiplyComplexPanels<double, 4, 3, 2>},
  };
  static constexpr DirectKernel direct[] = {
      {f32, multiplyDirect<float, 8, 4, 2>},
      {f64, multiplyDirect<double, 4, 4, 2>},
      {i32, multiplyDirect<uint32_t, 8, 4, 2>},
      {i64, multiplyDirect<uint64_t, 4, 4, 2>},
  };
  static constexpr VectorKernel vectors[] = {
      {f32, f32, f32, addRowsTimesMatrix<float, float, 8>, rowsTimesTransposed<float, float, 8>},
      {f32, bf16, f32, addRowsTimesMatrix<Bf16, float, 8>, rowsTimesTransposed<Bf16, float, 8>},
      {f32, f16, f32, addRowsTimesMatrix<_Float16, float, 8>,
       rowsTimesTransposed<_Float16, float, 8>},
      {f64, f64, f64, addRowsTimesMatrix<double, double, 4>,
       rowsTimesTransposed<double, double, 4>},
      {i32, i8, i32, addRowsTimesMatrix<int8_t, uint32_t, 8>,
       rowsTimesTransposed<int8_t, uint32_t, 8>},
      {i32, ui8, i32, addRowsTimesMatrix<uint8_t, uint32_t, 8>,
       rowsTimesTransposed<uint8_t, uint32_t, 8>},
      {i32, i32, i32, addRowsTimesMatrix<uint32_t, uint32_t, 8>,
       rowsTimesTransposed<uint32_t, uint32_t, 8>},
  };
  static constexpr ConvertKernel conversions[] = {
      {bf16, f32, widenRun<Bf16, float, 8>},    {f32, bf16, narrowRunToBf16<8>},
      {f16, f32, widenRun<_Float16, float, 8>}, {f32, f16, widenRun<float, _Float16, 8>},
      {i8, i16, widenRun<int8_t, int16_t, 8>},  {ui8, i16, widenRun<uint8_t, int16_t, 8>},
      {i8, i32, widenRun<int8_t, uint32_t, 8>}, {ui8, i32, widenRun<uint8_t, uint32_t, 8>},
  };
  static constexpr KernelSet set = {panels, direct, vectors, conversions};
  return set;
}

} // namespace tilewright::runtime::cpu
