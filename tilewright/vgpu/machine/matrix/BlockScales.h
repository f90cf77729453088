// Block scales: factors that several elements of a row share, in tcgen05.mma and mma.sync.
#ifndef TILEWRIGHT_VGPU_MACHINE_MATRIX_BLOCKSCALES_H
#define TILEWRIGHT_VGPU_MACHINE_MATRIX_BLOCKSCALES_H

#include <cstdint>
#include <vector>

namespace tilewright::vgpu::machine {

/// The value of a scale: ue8m0, or ue4m3, whose sign bit is ignored.
float scaleValue(bool isE8, uint8_t bits);

/// Rows of k elements, and k / block scales for each row.
struct ScaledRows {
  std::vector<float> values, scales;
  unsigned k = 0, block = 0;

  /// Computes values · scales; returns false if one of the products is not representable as a
  /// float.
  bool multiplied(std::vector<float> &products) const;
  double at(unsigned row, unsigned l) const {
    return double(values[size_t(row) * k + l]) *
           double(scales[size_t(row) * (k / block) + l / block]);
  }
};

/// start + sign · (row of a) · (row of b), computed exactly and rounded once to f32, for factors
/// outside the range of f32.
double sumScaled(const ScaledRows &a, unsigned row, const ScaledRows &b, unsigned column,
                 double start, double sign);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MATRIX_BLOCKSCALES_H
