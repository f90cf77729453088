// Matrix instructions beside mma.sync and wgmma of dense matrices: wmma, the four
// products of Volta, and products with a sparse A.
#ifndef TILEWRIGHT_VGPU_MACHINE_WARPMATRIX_H
#define TILEWRIGHT_VGPU_MACHINE_WARPMATRIX_H

#include "tilewright/vgpu/machine/Matrix.h"

namespace tilewright::vgpu::machine {

/// How the elements of a wmma fragment are spread over lanes. PTX leaves that open
/// and lets only wmma instructions see it, so any choice is one; loads, products and
/// stores must agree, and so must fragments of one shape with different types.
struct WmmaFragment {
  unsigned rows = 0, columns = 0;
  ptx::Modifier type{};
  unsigned perLane = 0; // elements; some types hold each several times
  bool isAccumulator = false;

  /// The element, counted by rows, that lane holds as its `v`-th.
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

/// wmma.mma, and mma.m8n8k4 of f16, whose fragments have layouts too.
struct WarpMatrixForm {
  MatrixForm base;
  WmmaFragment a, b, c, d;
  bool aByColumns = false, bByColumns = false; // m8n8k4
  int rounding = 0;                            // of f64, as fesetround takes it
};
After runWmma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runQuadMma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
/// mma of f64 that rounds otherwise than to nearest.
After runRoundedMma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// mma.sp and wgmma.mma_async.sp.
struct SparseForm {
  MatrixForm base;
  uint32_t metadata = 0; // slot
  unsigned selector = 0;
};
After runSparseMma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runSparseWgmma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// sums += a * b in the arithmetic of the launch; a is m × k by rows, b is k × n.
void multiplyMatrices(Warp &warp, const MatrixForm &form, unsigned m, const double *a,
                      const double *b, double *sums);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_WARPMATRIX_H
