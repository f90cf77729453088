// The sums of products of a matrix instruction, rounded once.
#ifndef TILEWRIGHT_VGPU_MACHINE_MATRIX_TILEPRODUCT_H
#define TILEWRIGHT_VGPU_MACHINE_MATRIX_TILEPRODUCT_H

#include "tilewright/vgpu/machine/matrix/TileKernels.h"
#include "tilewright/vgpu/ptx/Modifier.h"

#include <memory>
#include <span>

namespace tilewright::vgpu::machine {

/// 16 rows of A times n columns of B: the part of an mma or a wgmma that one warp computes. An
/// element of D is the exact sum of the element of C and the k exact products, rounded once, to
/// nearest even, to D's type. The method:
///
/// - Products of two factors are exact in f64: they have at most 22 bits.
/// - If all products of an octet of columns are multiples of 2^q and no sum of their magnitudes
///   reaches 2^(q + 53), every partial sum is exact in f64, so no order of summation loses bits.
///   The largest and the smallest factor determine whether this holds; it does unless the factors
///   spread over too many binades.
/// - Otherwise the rounding error of each addition is summed separately (Knuth's two-sum). If that
///   sum loses bits too, the element is summed in fixed point.
/// - In each case the result is the exact sum of two doubles. Their f64 sum is rounded to odd, and
///   then to D's type. Rounding to odd keeps a sticky bit, so the two roundings are equivalent to
///   one (Boldo, Melquiond).
///
/// A sum of zeros is -0 if all terms are -0, otherwise +0. Infinities and NaNs follow IEEE 754; a
/// NaN result is the canonical NaN.
///
///   product.begin(Modifier::f16, Modifier::f16, 128, 16);
///   product.readA(shared, placesOfA, false, false);
///   product.readB(shared, placesOfB, false);
///   product.accumulate(registers, true);
///
/// Not thread-safe; reuses its memory for the next product.
class TileProduct {
public:
  /// Tests pass kernels for other instruction sets.
  explicit TileProduct(const TileKernels &kernels = tileKernels()) : kernels(kernels) {}

  /// Starts a product. k must be a power of two. f64 is not supported. With `isFast`, sums are
  /// those of Arithmetic::fast, which are not exact.
  void begin(ptx::Modifier aType, ptx::Modifier bType, unsigned n, unsigned k, bool isFast = false);

  /// Starts a product of floats whose significands have at most `bits` bits, for readAValues() and
  /// readBValues().
  void beginValues(int aBits, int bBits, unsigned n, unsigned k, bool isFast);
  /// 16 rows of k floats.
  void readAValues(const float *rows, bool isNegated);
  /// n columns of k floats.
  void readBValues(const float *columns);

  /// The number of elements in 16 bytes.
  static unsigned perChunk(ptx::Modifier type) { return 128 / ptx::bitsOf(type); }

  /// Reads A from chunks of 16 bytes at base + offsets[i], in the order of rows, or of columns if
  /// the matrix is transposed. Missing rows are zero.
  void readA(const std::byte *base, std::span<const uint32_t> offsets, bool isTransposed,
             bool isNegated);
  /// Reads B from chunks of 16 bytes, in the order of columns, or of rows if the matrix is
  /// transposed. A fast product can leave the n * k floats that it makes of them in `packed`, so
  /// that other products with the same B can share them.
  void readB(const std::byte *base, std::span<const uint32_t> offsets, bool isTransposed,
             float *packed = nullptr);
  void shareB(const float *packed) { fastB = packed; }

  /// Adds the product to `registers`, or overwrites them if `adds` is false. Each register holds 32
  /// f32 (one per lane); every eight columns use four registers.
  void accumulate(float *const *registers, bool adds);
  /// The sums of one octet plus `start`, 128 doubles in the order of TileKernels. The caller rounds
  /// them to D's type.
  void sums(unsigned octet, const double *start, double *results);

  /// The elements of A and B, for other arithmetic; not of a fast product.
  double a(unsigned row, unsigned l) const { return aPanel.get()[64 * l + 4 * row]; }
  double b(unsigned l, unsigned column) const {
    return bPanels.get()[size_t(column / 8) * 8 * k + 8 * l + 4 * (column % 2) + column % 8 / 2];
  }
  unsigned depth() const { return k; }

private:
  /// Bounds on the elements of a factor.
  struct Precision {
    int bits; // of the significand
    int last; // elements are multiples of 2^last
  };
  void begin(unsigned n, unsigned k, bool isFast);
  void packA(const float *values, bool isTransposed, bool isNegated);
  void packB(const float *values, bool isTransposed, float *packed);
  static int lastBit(const TileExtent &extent, const Precision &precision);
  bool isExact(unsigned octet) const;
  double exactSum(unsigned octet, unsigned element, double start) const;

  const TileKernels &kernels;
  ptx::Modifier aType{}, bType{};
  Precision aPrecision{}, bPrecision{};
  unsigned n = 0, k = 0;
  bool isFast = false;
  size_t capacity = 0; // elements of B
  struct Free {
    void operator()(void *memory) const;
  };
  std::unique_ptr<float, Free> staged;
  std::unique_ptr<double, Free> aPanel, bPanels; // of a fast product: floats
  const float *fastB = nullptr;
  std::unique_ptr<TileExtent[]> bExtents;
  TileExtent aExtent;
};

TileElement tileElementOf(ptx::Modifier type);

/// The instance of this thread.
TileProduct &threadProduct();

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MATRIX_TILEPRODUCT_H
