// How matrix instructions add products.
#ifndef TILEWRIGHT_VGPU_AMDGCN_EXECUTE_MATRIXARITHMETIC_H
#define TILEWRIGHT_VGPU_AMDGCN_EXECUTE_MATRIXARITHMETIC_H

#include "tilewright/numerics/ElementType.h"
#include "tilewright/vgpu/amdgcn/execute/Types.h"

#include <array>
#include <span>
#include <vector>

namespace tilewright::vgpu::amdgcn {

/// A factor: rows of `depth` numbers. With `hasParts`, which addAsCdna3 needs, it also has each
/// number as an integer times 2^(exponent - the mantissa bits of the format).
class MatrixFactor {
public:
  MatrixFactor(numerics::ElementType type, unsigned depth, bool hasParts)
      : type(type), depth(depth), hasParts(hasParts) {}

  numerics::ElementType element() const { return type; }
  void add(f64 value);
  std::span<const f64> row(unsigned number) const {
    return std::span(values).subspan(size_t(number) * depth, depth);
  }
  std::span<const i64> integers(unsigned number) const {
    return std::span(significands).subspan(size_t(number) * depth, depth);
  }
  std::span<const int> exponentsOf(unsigned number) const {
    return std::span(exponents).subspan(size_t(number) * depth, depth);
  }

private:
  numerics::ElementType type;
  unsigned depth;
  bool hasParts;
  std::vector<f64> values;
  std::vector<i64> significands;
  std::vector<int> exponents;
};

/// Adds the products to c in the order of the elements; each addition is rounded once.
template <typename T> T addInOrder(std::span<const f64> a, std::span<const f64> b, T c) {
  for (size_t k = 0; k < a.size(); ++k)
    c = std::fma(static_cast<T>(a[k]), static_cast<T>(b[k]), c);
  return c;
}

/// c plus the sum of the products, rounded once. Products must be exact in f64.
f32 addExactly(std::span<const f64> a, std::span<const f64> b, f32 c);

/// The arithmetic of CDNA3 as Microsoft's MMA-Sim found it on hardware. A group of products is
/// aligned to the largest exponent among them and cut off after 24 fractional bits, then added;
/// the sum and c are aligned to the larger exponent, rounded down (the sum after 31 fractional
/// bits, c after 24), added, and rounded to the nearest. The result is the c of the next group.
f32 addAsCdna3(const MatrixFactor &a, unsigned row, const MatrixFactor &b, unsigned column, f32 c);

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_EXECUTE_MATRIXARITHMETIC_H
