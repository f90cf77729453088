// The sums of products of a matrix instruction, rounded once.
#ifndef TILEWRIGHT_VGPU_MACHINE_TILEPRODUCT_H
#define TILEWRIGHT_VGPU_MACHINE_TILEPRODUCT_H

#include "tilewright/vgpu/machine/TileKernels.h"
#include "tilewright/vgpu/ptx/Modifier.h"

#include <memory>
#include <span>

namespace tilewright::vgpu::machine {

/// 16 rows of A times n columns of B, which is what one warp computes of an mma or
/// a wgmma. An element of D is the exact sum of the element of C and the k exact
/// products, rounded once, to nearest even, to D's type. How that is reached:
///
/// - Products of two factors are exact in f64: they have at most 22 bits.
/// - If all products of an octet of columns are multiples of 2^q and no sum of
///   their magnitudes reaches 2^(q + 53), every partial sum is an f64, so nothing
///   is lost in any order. That is decided from the largest and the smallest
///   factor, and holds for numbers that spread over not too many binades.
/// - Otherwise what each addition loses is summed beside (Knuth's two-sum). Where
///   that sum loses something too, the element is summed in fixed point.
/// - In each case there are two doubles whose exact sum is the answer. Their f64
///   sum is rounded to odd, and that to D's type. Rounding to odd keeps what lies
///   beyond the last bit in it, so the two roundings are one (Boldo, Melquiond).
///
/// A sum of zeros is -0 if all terms are, else +0. Infinities and NaNs are those of
/// IEEE 754; a NaN is the canonical one.
///
///   product.begin(Modifier::f16, Modifier::f16, 128, 16);
///   product.readA(shared, placesOfA, false, false);
///   product.readB(shared, placesOfB, false);
///   product.accumulate(registers, true);
///
/// Used by one thread; keeps its memory for the next product.
class TileProduct {
public:
  /// Other kernels than those for this host; for tests.
  explicit TileProduct(const TileKernels &kernels = tileKernels()) : kernels(kernels) {}

  /// k is a power of two. f64 has no place here.
  void begin(ptx::Modifier aType, ptx::Modifier bType, unsigned n, unsigned k);

  /// Elements in 16 bytes of a type.
  static unsigned perChunk(ptx::Modifier type) { return 128 / ptx::bitsOf(type); }

  /// Reads A by chunks of 16 bytes at base + places[i]: those of row 0, of row 1,
  /// and so on; transposed, those of column 0 and so on. Rows that are missing are zero.
  void readA(const std::byte *base, std::span<const uint32_t> places, bool isTransposed,
             bool isNegated);
  /// Reads B: the chunks of column 0, of column 1; transposed, of row 0, of row 1.
  void readB(const std::byte *base, std::span<const uint32_t> places, bool isTransposed);

  /// Adds to registers of 32 f32, four for each octet of columns, or sets them.
  void accumulate(float *const *registers, bool adds);
  /// The sums of one octet and `start`, 128 doubles in the order of TileKernels; what
  /// is left is to round them to D's type.
  void sums(unsigned octet, const double *start, double *results);

  /// Elements as they were read, for other arithmetic.
  double a(unsigned row, unsigned l) const { return aPanel.get()[64 * l + 4 * row]; }
  double b(unsigned l, unsigned column) const {
    return bPanels.get()[size_t(column / 8) * 8 * k + 8 * l + 4 * (column % 2) + column % 8 / 2];
  }
  unsigned depth() const { return k; }

private:
  bool isExact(unsigned octet) const;
  double exactSum(unsigned octet, unsigned element, double start) const;

  const TileKernels &kernels;
  ptx::Modifier aType{}, bType{};
  unsigned n = 0, k = 0;
  size_t capacity = 0; // elements of B
  struct Free {
    void operator()(void *memory) const;
  };
  std::unique_ptr<float, Free> staged;
  std::unique_ptr<double, Free> aPanel, bPanels;
  std::unique_ptr<TileExtent[]> bExtents;
  TileExtent aExtent;
};

/// The product of this thread.
TileProduct &threadProduct();

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_TILEPRODUCT_H
