// Matrix instructions other than plain mma.sync and wgmma of dense matrices: wmma, the four
// products of mma.m8n8k4 (Volta), products of narrow types with block scales, and products with a
// sparse A.
#ifndef TILEWRIGHT_VGPU_MACHINE_MATRIX_WARPMATRIX_H
#define TILEWRIGHT_VGPU_MACHINE_MATRIX_WARPMATRIX_H

#include "tilewright/vgpu/machine/matrix/Matrix.h"

namespace tilewright::vgpu::machine {

/// The mapping of the elements of a wmma fragment to lanes. PTX leaves it unspecified, and only
/// wmma instructions depend on it, so any mapping is valid. Loads, products and stores must use the
/// same mapping, and so must fragments of the same shape with different types.
struct WmmaFragment {
  unsigned rows = 0, columns = 0;
  ptx::Modifier type{};
  unsigned perLane = 0; // elements; some types replicate them
  bool isAccumulator = false;

  /// The row-major index of the `v`-th element of a lane.
  unsigned element(unsigned lane, unsigned v) const;
};

/// wmma.load and wmma.store.
struct WmmaMoveForm {
  ExternalForm head;
  AddressForm address;
  WmmaFragment fragment;
  bool isStore = false, byColumns = false, hasStride = false;
  uint32_t stride = 0; // slot; in elements
  std::vector<uint32_t> slots;
};
After runWmmaMove(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// The form of wmma.mma, and of mma.m8n8k4 of f16, whose operands also have a row or column layout.
struct WarpMatrixForm {
  MatrixForm base;
  WmmaFragment a, b, c, d;
  bool aByColumns = false, bByColumns = false; // m8n8k4
  int rounding = 0;                            // of f64, as for fesetround
};
After runWmma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runQuadMma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
/// mma of f64 with a rounding mode other than to nearest.
After runRoundedMma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// mma of kind::f8f6f4 and with block scales.
struct NarrowForm {
  MatrixForm base;
  bool inBytes = false; // elements of 4 and 6 bits have a byte
  // Of scales; `block` is the number of elements that share one, or 0.
  unsigned block = 0;
  bool hasE8Scales = false;          // ue8m0, otherwise ue4m3
  uint32_t scaleA = 0, scaleB = 0;   // slots
  uint32_t byteA = 0, byteB = 0;     // slots of the first byte of the scales
  uint32_t threadA = 0, threadB = 0; // slots of the lanes of a quad that have them
};
After runNarrowMma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// mma.sp and wgmma.mma_async.sp.
struct SparseForm {
  MatrixForm base;
  uint32_t metadata = 0; // slot
  unsigned selector = 0;
};
After runSparseMma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runSparseWgmma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// sums += a * b in the launch's arithmetic mode; a is row-major m × k, b is k × n.
void multiplyMatrices(Warp &warp, const MatrixForm &form, unsigned m, const double *a,
                      const double *b, double *sums);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MATRIX_WARPMATRIX_H
