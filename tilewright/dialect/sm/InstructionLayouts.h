// The layouts that instructions prescribe. Sources: the fragment tables of the PTX ISA and of AMD's
// CDNA 3 and CDNA 4 instruction set manuals.
#ifndef TILEWRIGHT_DIALECT_SM_INSTRUCTIONLAYOUTS_H
#define TILEWRIGHT_DIALECT_SM_INSTRUCTIONLAYOUTS_H

#include "tilewright/dialect/sm/Layout.h"

namespace tilewright::sm::instruction {

/// `mma.sync.m16n8kK` for operands of `bits` bits: 32 (tf32), 16, 8 or 4, where K is 256 / bits; or
/// 64, which means `m8n8k4` of f64. A is (m, k), B is (k, n), C and D are (m, n). `half` selects
/// m16n8k8 for 16-bit operands.
Layout mmaA(int64_t bits, bool half = false);
Layout mmaB(int64_t bits, bool half = false);
Layout mmaC(int64_t bits = 16);

/// AMD's `v_mfma_…_16x16x…` or `…_32x32x…` (`size`) over 64 lanes, for operands of `bits` bits: as
/// many instructions along k as multiply the 16 bytes that a lane holds of each operand. Their
/// order along k is ours, because a sum over k may have any order. The instruction computes the
/// transposed product, so that a lane's sums are in one row.
///
/// With the depth of sums, the elements that a lane holds along k are those whose sums it would
/// hold of a product with k columns: groups of four. So the sums of one product are the left
/// operand of the next one where they are.
enum class MfmaDepth { consecutive, ofSums };
Layout mfmaA(int64_t bits, MfmaDepth depth = MfmaDepth::consecutive, int64_t size = 16);
Layout mfmaB(int64_t bits, MfmaDepth depth = MfmaDepth::consecutive, int64_t size = 16);
Layout mfmaC(int64_t bits, int64_t size = 16);

/// One 8x8 matrix of 16-bit elements as `ldmatrix` and `stmatrix` distribute it over a warp.
Layout matrixFragment(bool transposed);
/// The lane that provides the address of each row of 1, 2 or 4 matrices.
Layout matrixRows(int64_t matrices);

/// `wgmma.m64nNkK`: the accumulator (m, n), and A (m, k) if it is in registers.
Layout wgmmaAccumulator(int64_t n);
Layout wgmmaA(int64_t bits);

/// A box of `rows` x `columns` elements in shared memory, as TMA writes it. `swizzleBytes` is 0 (no
/// swizzle), 32, 64 or 128. nullopt if it is neither 0 nor the length of a row in bytes, or if
/// `rows` cannot be divided into the groups of a power of two that the swizzle permutes.
std::optional<Layout> tmaBox(int64_t rows, int64_t columns, int64_t elementBytes,
                             int64_t swizzleBytes);

/// The layout of the `tcgen05` accumulator (m, n) of `ctas` CTAs in tensor memory; nullopt for
/// shapes that tcgen05 does not have.
std::optional<Layout> tensorAccumulator(int64_t m, int64_t n, int64_t ctas);

/// The left operand (m, k) of `tcgen05.mma` in tensor memory: its rows are in the lanes of the
/// accumulator's rows. The column axis counts elements, of which a column holds 32 bits. nullopt
/// for shapes that tcgen05 does not have, or whose rows are in more lanes than the accumulator's.
std::optional<Layout> tensorOperand(int64_t m, int64_t k, int64_t ctas);

/// A layout in tensor memory whose rows are permuted in groups of 16: row 2r is in the lane of row
/// r of its group, and row 2r + 1 is eight lanes higher. The rows of a product may be in any order,
/// if it is the same for its left operand and its accumulator.
Layout withPairedRows(const Layout &layout);

/// The shapes of `tcgen05.ld` and `tcgen05.st`, and the layout of their registers, as a function of
/// (lane, column) in tensor memory; `count` is the N of `.xN`.
enum class TensorLoad { x32b32, x16b64, x16b128, x16b256 };
Layout tensorLoad(TensorLoad shape, int64_t count);

/// The registers in which `groups` warpgroups hold a tile of tensor memory (a result of
/// tensorAccumulator or tensorOperand) with elements of `bits` bits: they read 32 bits with
/// `tcgen05.ld` of shape 16x256b, and write less, packed into words, with `tcgen05.st` of shape
/// 16x128b. So a thread has the same pairs of an accumulator's columns as of an operand's.
/// A warp accesses only its quarter of the lanes, which is warp % 4: one group accesses both halves
/// of a quarter, two groups one half each, so that every row stays in one warp.
Layout tensorRegisters(const Layout &tile, int64_t groups, int64_t bits = 32);

/// The registers in which `groups` warpgroups hold a tile of 128 rows for each of them, one row for
/// each thread: they read and write it with shape 32x32b, each in tensor memory of its own. A
/// reduction along a row needs no other thread.
Layout tensorRows(int64_t columns, int64_t groups);

} // namespace tilewright::sm::instruction

#endif // TILEWRIGHT_DIALECT_SM_INSTRUCTIONLAYOUTS_H
