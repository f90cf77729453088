// The layouts that instructions prescribe. Sources: the PTX ISA's fragment tables.
#ifndef TILEWRIGHT_DIALECT_SM_ATOMS_H
#define TILEWRIGHT_DIALECT_SM_ATOMS_H

#include "tilewright/dialect/sm/Layout.h"

namespace tilewright::sm::atoms {

/// `mma.sync.m16n8kK` of operands with `bits` an element (32 is tf32, 16, 8, 4): K is 256 / bits.
/// A is (m, k), B is (k, n), C and D are (m, n). `half` is the m16n8k8 of 16-bit operands. 64 is
/// `m8n8k4` of f64.
Layout mmaA(int64_t bits, bool half = false);
Layout mmaB(int64_t bits, bool half = false);
Layout mmaC(int64_t bits = 16);

/// One 8x8 matrix of 16-bit elements as `ldmatrix` and `stmatrix` spread it over a warp.
Layout matrixFragment(bool transposed);
/// Which lane gives the address of which row: of 1, 2 or 4 matrices.
Layout matrixRows(int64_t matrices);

/// `wgmma.m64nNkK`: the accumulator (m, n), and A (m, k) where it is in registers.
Layout wgmmaAccumulator(int64_t n);
Layout wgmmaA(int64_t bits);

/// A box of rows of `columns` elements in shared memory as TMA writes it. `swizzleBytes` is 0, 32,
/// 64 or 128, and a row is as long. Nothing if it is not, or if a swizzle would cut the rows at
/// other than powers of two.
std::optional<Layout> tmaBox(int64_t rows, int64_t columns, int64_t elementBytes,
                             int64_t swizzleBytes);

/// `tcgen05`: where the accumulator (m, n) of `ctas` CTAs is in tensor memory.
std::optional<Layout> tensorAccumulator(int64_t m, int64_t n, int64_t ctas);

/// `tcgen05.ld`: (lane, column) of tensor memory to registers, for the shapes 32x32b, 16x64b,
/// 16x128b and 16x256b; `count` is its `.xN`.
enum class TensorLoad { x32b32, x16b64, x16b128, x16b256 };
Layout tensorLoad(TensorLoad shape, int64_t count);

} // namespace tilewright::sm::atoms

#endif // TILEWRIGHT_DIALECT_SM_ATOMS_H
