// The inner loops of matrix instructions, compiled once for each instruction set of the host.
#ifndef TILEWRIGHT_VGPU_MACHINE_MATRIX_TILEKERNELS_H
#define TILEWRIGHT_VGPU_MACHINE_MATRIX_TILEKERNELS_H

#include <cstddef>
#include <cstdint>

namespace tilewright::vgpu::machine {

/// The element type of a matmul operand. Elements are stored in chunks of 16 bytes, and a float
/// represents each of them exactly.
enum class TileElement : uint8_t { f16, bf16, tf32, e4m3, e5m2, u8, s8, u4, s4, b1 };

/// The largest and the smallest magnitude of the finite nonzero elements, as the bits of floats; 0
/// and all ones if there are no such elements.
struct TileExtent {
  uint32_t largest = 0, smallest = ~0u;
};

/// The registers of a fragment of A or B.
struct FragmentOperand {
  TileElement element = TileElement::f16;
  const float *table = nullptr;
  const uint32_t *slots = nullptr;
  unsigned count = 0;
};

/// One warp computes 16 rows, eight columns (an octet) at a time. The 128 sums of an octet are in
/// the order of the accumulator registers: with g = lane / 4 and q = lane % 4, element 32 * (2 * h
/// + p) + lane is row g + 8 * h, column 2 * q + p. The panels have the same order, so sums never
/// move:
///   A  at 64 * l + 8 * t + 4 * i + q    row 2 * t + i, for every q, of column l
///   B  at 8 * l + 4 * p + q             column 2 * q + p, of row l
struct TileKernels {
  /// Converts the 16-byte chunks at base + offsets[i] to floats, in order. `table` holds the values
  /// of all 256 bit patterns of e4m3 or e5m2.
  void (*widen)(TileElement element, const float *table, const std::byte *base,
                const uint32_t *offsets, unsigned chunks, float *to);
  /// Packs A from 16 rows of k floats, or from k rows of 16 floats if the matrix is transposed.
  void (*packA)(const float *from, bool isTransposed, unsigned k, float sign, double *panel,
                TileExtent *extent);
  /// Packs B from n columns of k floats, or from k rows of n floats if the matrix is transposed;
  /// one panel and one extent for each octet.
  void (*packB)(const float *from, bool isTransposed, unsigned n, unsigned k, double *panels,
                TileExtent *extents);
  /// sums = a * b, in f64.
  void (*multiply)(const double *a, const double *b, unsigned k, double *sums);
  /// high + low = high + a * b. Bit i % 32 of `doubtful[i / 32]` is set if element i may have lost
  /// bits.
  void (*multiplyCarefully)(const double *a, const double *b, unsigned k, double *high, double *low,
                            uint32_t (&doubtful)[4]);
  /// results = high + low rounded to odd. Rounding the result again, to 51 bits or fewer, gives the
  /// same value as rounding the exact sum once.
  void (*roundToOdd)(const double *high, const double *low, double *results);
  /// Adds the products of an octet to its four f32 registers, or overwrites the registers, with one
  /// rounding. Only for factors whose products have an exact sum in f64.
  void (*accumulate)(const double *a, const double *b, unsigned k, bool adds,
                     float *const *registers);

  // Products in f32, for Arithmetic::fast. Each sum is a chain of fused multiply-adds, from C and
  // the first column of A to the last. The panels have the same order, as floats.
  void (*packAFast)(const float *from, bool isTransposed, unsigned k, float sign, float *panel);
  void (*packBFast)(const float *from, bool isTransposed, unsigned n, unsigned k, float *panels);
  /// Adds the products of all octets to their f32 registers, or overwrites the registers.
  void (*accumulateFast)(const float *a, const float *b, unsigned k, unsigned octets, bool adds,
                         float *const *registers);
  /// d = a * b + c for 16 rows and one octet whose fragments are in registers, which are located by
  /// their offsets from `base`; the tables are those of widen(). Only for elements of at least 8
  /// bits.
  void (*multiplyFragments)(const FragmentOperand &a, const FragmentOperand &b,
                            const std::byte *base, const float *const *c, float *const *d);
};

/// The kernels for this host. The kernels for all hosts give bitwise equal results.
const TileKernels &tileKernels();
/// The kernels for "v3", "v4" or "portable"; null if the host does not support them.
const TileKernels *tileKernelsFor(const char *instructionSet);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MATRIX_TILEKERNELS_H
