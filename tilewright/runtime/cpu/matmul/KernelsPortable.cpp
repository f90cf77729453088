// Kernels for any machine. They use 16-byte vectors, which the compiler splits on machines without
// them.
#include "tilewright/runtime/cpu/matmul/KernelTemplates.h"

namespace tilewright::runtime::cpu {

/// Panels of 16-bit pairs; sums of 32 bits.
static void multiplyPairs(int64_t summed, const void *lhsPanel, const void *rhsPanel, void *sums,
                          int64_t stride, int64_t rows, int64_t columns, bool add) {
  using V = VectorOf<uint32_t, 4>::Type;
  constexpr int rowCount = 4, vectors = 2;
  const auto *lhs = static_cast<const int16_t *>(lhsPanel);
  const auto *rhs = static_cast<const int16_t *>(rhsPanel);
  V block[rowCount][vectors] = {};
  for (int64_t k = 0; k < summed; k += 2, lhs += 2 * rowCount, rhs += 8 * vectors)
    for (int j = 0; j < vectors; ++j)
      for (int lane = 0; lane < 4; ++lane) {
        const int32_t even = rhs[j * 8 + lane * 2], odd = rhs[j * 8 + lane * 2 + 1];
        for (int i = 0; i < rowCount; ++i)
          block[i][j][lane] += static_cast<uint32_t>(lhs[2 * i] * even) +
                               static_cast<uint32_t>(lhs[2 * i + 1] * odd);
      }
  storeBlock<uint32_t, 4, rowCount, vectors>(block, static_cast<uint32_t *>(sums), stride, rows,
                                             columns, add);
}

const KernelSet &portableKernels() {
  using enum ElementType;
  static constexpr PanelKernel panels[] = {
      {"portable f32", f32, f32, f32, 4, 8, 1, packPanel<float, 4, 1>, packPanel<float, 8, 1>,
       multiplyPanels<float, 4, 4, 2>},
      {"portable f64", f64, f64, f64, 4, 4, 1, packPanel<double, 4, 1>, packPanel<double, 4, 1>,
       multiplyPanels<double, 2, 4, 2>},
      {"portable i32", i32, i32, i32, 4, 8, 1, packPanel<uint32_t, 4, 1>, packPanel<uint32_t, 8, 1>,
       multiplyPanels<uint32_t, 4, 4, 2>},
      {"portable i64", i64, i64, i64, 4, 4, 1, packPanel<uint64_t, 4, 1>, packPanel<uint64_t, 4, 1>,
       multiplyPanels<uint64_t, 2, 4, 2>},
      {"portable i16", i16, i16, i32, 4, 8, 2, packPanel<int16_t, 4, 2>, packPanel<int16_t, 8, 2>,
       multiplyPairs},
      {"portable c64", c64, c64, c64, 2, 4, 1, packComplexPanel<float, 2>,
       packComplexPanel<float, 4>, multiplyComplexPanels<float, 4, 2, 1>},
      {"portable c128", c128, c128, c128, 2, 2, 1, packComplexPanel<double, 2>,
       packComplexPanel<double, 2>, multiplyComplexPanels<double, 2, 2, 1>},
  };
  static constexpr DirectKernel direct[] = {
      {f32, multiplyDirect<float, 4, 4, 2>},
      {f64, multiplyDirect<double, 2, 4, 2>},
      {i32, multiplyDirect<uint32_t, 4, 4, 2>},
      {i64, multiplyDirect<uint64_t, 2, 4, 2>},
  };
  static constexpr VectorKernel vectors[] = {
      {f32, f32, f32, addRowsTimesMatrix<float, float, 4>, rowsTimesTransposed<float, float, 4>},
      {f32, bf16, f32, addRowsTimesMatrix<Bf16, float, 4>, rowsTimesTransposed<Bf16, float, 4>},
      {f64, f64, f64, addRowsTimesMatrix<double, double, 2>,
       rowsTimesTransposed<double, double, 2>},
      {i32, i8, i32, addRowsTimesMatrix<int8_t, uint32_t, 4>,
       rowsTimesTransposed<int8_t, uint32_t, 4>},
      {i32, ui8, i32, addRowsTimesMatrix<uint8_t, uint32_t, 4>,
       rowsTimesTransposed<uint8_t, uint32_t, 4>},
      {i32, i32, i32, addRowsTimesMatrix<uint32_t, uint32_t, 4>,
       rowsTimesTransposed<uint32_t, uint32_t, 4>},
  };
  static constexpr ConvertKernel conversions[] = {
      {bf16, f32, widenRun<Bf16, float, 4>},    {f32, bf16, narrowRunToBf16<4>},
      {i8, i16, widenRun<int8_t, int16_t, 4>},  {ui8, i16, widenRun<uint8_t, int16_t, 4>},
      {i8, i32, widenRun<int8_t, uint32_t, 4>}, {ui8, i32, widenRun<uint8_t, uint32_t, 4>},
  };
  static constexpr KernelSet set = {panels, direct, vectors, conversions};
  return set;
}

} // namespace tilewright::runtime::cpu
