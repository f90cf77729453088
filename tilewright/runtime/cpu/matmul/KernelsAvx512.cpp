// Kernels for AVX-512: thirty-two registers of 64 bytes.
#include "tilewright/runtime/cpu/matmul/KernelTemplates.h"

namespace tilewright::runtime::cpu {

namespace {
/// Products of 16-bit integers.
struct IntegerPairs {
  using V = VectorOf<uint32_t, 16>::Type;
  template <typename Words> static V add(V sums, Words left, Words right) {
    return sums + (V)_mm512_madd_epi16((__m512i)left, (__m512i)right);
  }
};
} // namespace

const KernelSet &avx512Kernels() {
  using enum ElementType;
  static constexpr PanelKernel panels[] = {
      {"avx512 f32 14x32", f32, f32, f32, 14, 32, 1, packPanel<float, 14, 1>,
       packPanel<float, 32, 1>, multiplyPanels<float, 16, 14, 2>},
      {"avx512 f64 14x16", f64, f64, f64, 14, 16, 1, packPanel<double, 14, 1>,
       packPanel<double, 16, 1>, multiplyPanels<double, 8, 14, 2>},
      {"avx512 i32 8x32", i32, i32, i32, 8, 32, 1, packPanel<uint32_t, 8, 1>,
       packPanel<uint32_t, 32, 1>, multiplyPanels<uint32_t, 16, 8, 2>},
      {"avx512 i64 8x16", i64, i64, i64, 8, 16, 1, packPanel<uint64_t, 8, 1>,
       packPanel<uint64_t, 16, 1>, multiplyPanels<uint64_t, 8, 8, 2>},
      {"avx512 i16 12x32", i16, i16, i32, 12, 32, 2, packPanel<int16_t, 12, 2>,
       packPanel<int16_t, 32, 2>, multiplyPairs<IntegerPairs, uint32_t, 16, 12>},
      {"avx512 c64 6x32", c64, c64, c64, 6, 32, 1, packComplexPanel<float, 6>,
       packComplexPanel<float, 32>, multiplyComplexPanels<float, 16, 6, 2>},
      {"avx512 c128 6x16", c128, c128, c128, 6, 16, 1, packComplexPanel<double, 6>,
       packComplexPanel<double, 16>, multiplyComplexPanels<double, 8, 6, 2>},
  };
  static constexpr DirectKernel direct[] = {
      {f32, multiplyDirect<float, 16, 8, 2>},
      {f64, multiplyDirect<double, 8, 8, 2>},
      {i32, multiplyDirect<uint32_t, 16, 8, 2>},
      {i64, multiplyDirect<uint64_t, 8, 8, 2>},
  };
  static constexpr VectorKernel vectors[] = {
      {f32, f32, f32, addRowsTimesMatrix<float, float, 16>, rowsTimesTransposed<float, float, 16>},
      {f32, bf16, f32, addRowsTimesMatrix<Bf16, float, 16>, rowsTimesTransposed<Bf16, float, 16>},
      {f32, f16, f32, addRowsTimesMatrix<_Float16, float, 16>,
       rowsTimesTransposed<_Float16, float, 16>},
      {f64, f64, f64, addRowsTimesMatrix<double, double, 8>,
       rowsTimesTransposed<double, double, 8>},
      {i32, i8, i32, addRowsTimesMatrix<int8_t, uint32_t, 16>,
       rowsTimesTransposed<int8_t, uint32_t, 16>},
      {i32, ui8, i32, addRowsTimesMatrix<uint8_t, uint32_t, 16>,
       rowsTimesTransposed<uint8_t, uint32_t, 16>},
      {i32, i32, i32, addRowsTimesMatrix<uint32_t, uint32_t, 16>,
       rowsTimesTransposed<uint32_t, uint32_t, 16>},
  };
  static constexpr ConvertKernel conversions[] = {
      {bf16, f32, widenRun<Bf16, float, 16>},    {f32, bf16, narrowRunToBf16<16>},
      {f16, f32, widenRun<_Float16, float, 16>}, {f32, f16, widenRun<float, _Float16, 16>},
      {i8, i16, widenRun<int8_t, int16_t, 16>},  {ui8, i16, widenRun<uint8_t, int16_t, 16>},
      {i8, i32, widenRun<int8_t, uint32_t, 16>}, {ui8, i32, widenRun<uint8_t, uint32_t, 16>},
  };
  static constexpr KernelSet set = {panels, direct, vectors, conversions};
  return set;
}

} // namespace tilewright::runtime::cpu
