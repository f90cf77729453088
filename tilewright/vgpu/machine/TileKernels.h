// The inner loops of matrix instructions, compiled once for each instruction set
// of the host.
#ifndef TILEWRIGHT_VGPU_MACHINE_TILEKERNELS_H
#define TILEWRIGHT_VGPU_MACHINE_TILEKERNELS_H

#include <cstddef>
#include <cstdint>

namespace tilewright::vgpu::machine {

/// How the elements of a factor lie in 16 bytes. A float holds each of them exactly.
enum class TileElement : uint8_t { f16, bf16, tf32, e4m3, e5m2, u8, s8, u4, s4, b1 };

/// The largest and the smallest magnitude of finite elements that are not zero,
/// as the bits of floats; 0 and all ones if there are none.
struct TileExtent {
  uint32_t largest = 0, smallest = ~0u;
};

/// One warp computes 16 rows, eight columns (an octet) at a time. The 128 sums of
/// an octet are in the order of the accumulators' registers: with g = lane / 4 and
/// q = lane % 4, element 32 * (2 * h + p) + lane is row g + 8 * h, column 2 * q + p.
/// So are the panels, and no sum is ever moved:
///   A  at 64 * l + 8 * t + 4 * i + q    row 2 * t + i, whatever q, of column l
///   B  at 8 * l + 4 * p + q             column 2 * q + p, of row l
struct TileKernels {
  /// Turns chunks of 16 bytes at base + places[i] into floats, one after the other.
  /// `table` has the values of all 256 patterns of e4m3 and e5m2.
  void (*widen)(TileElement element, const float *table, const std::byte *base,
                const uint32_t *places, unsigned chunks, float *to);
  /// From rows of k floats, or k rows of 16 where the matrix came transposed.
  void (*packA)(const float *from, bool isTransposed, unsigned k, float sign, double *panel,
                TileExtent *extent);
  /// From columns of k floats, or k rows of n; one panel and extent for each octet.
  void (*packB)(const float *from, bool isTransposed, unsigned n, unsigned k, double *panels,
                TileExtent *extents);
  /// sums = a * b, in doubles.
  void (*multiply)(const double *a, const double *b, unsigned k, double *sums);
  /// high + low = high + a * b, where the lanes in bit i of `doubtful[i / 32]` may
  /// have lost something.
  void (*multiplyCarefully)(const double *a, const double *b, unsigned k, double *high, double *low,
                            uint32_t (&doubtful)[4]);
  /// results = high + low rounded to odd, so that one more rounding, to 51 bits or
  /// fewer, gives what one rounding of the sum would have.
  void (*roundToOdd)(const double *high, const double *low, double *results);
  /// The sums of an octet onto its four registers of f32, or in place of them, rounded once;
  /// for factors whose products sum up exactly in doubles.
  void (*accumulate)(const double *a, const double *b, unsigned k, bool adds,
                     float *const *registers);
};

/// The kernels for this host; they all give the same bits.
const TileKernels &tileKernels();
/// Those of "v3", "v4" or "portable"; null if the host lacks it.
const TileKernels *tileKernelsFor(const char *instructionSet);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_TILEKERNELS_H
