// ScaledProducts: the kernels of an executable that compute exactly one product of block-scaled
// matrices, so that a library may compute it instead.
#ifndef TILEWRIGHT_ARTIFACT_SCALEDPRODUCTS_H
#define TILEWRIGHT_ARTIFACT_SCALEDPRODUCTS_H

#include "tilewright/artifact/Executable.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::artifact {

/// `result[b, m, n] = factor * sum over k of (lhs[b, m, k] * scale) * (rhs[b, n, k] * scale)`,
/// rounded once. Operands are contiguous along k, 4-bit elements are packed, and scales are ordered
/// as in `exec.scaled_matmul` (dialect/exec/ScaledOps.td).
struct ScaledProduct {
  Index kernel = 0; // of Executable::kernels
  /// Indices into LaunchStep::buffers. `factor` is one f32; `none` if there is none.
  Index lhs = 0, rhs = 0, lhsScale = 0, rhsScale = 0, factor = none, result = 0;
  ElementType lhsType = ElementType::f8E4M3FN, rhsType = ElementType::f8E4M3FN,
              scaleType = ElementType::f8E8M0FNU, resultType = ElementType::f32;
  int64_t block = 0; // elements that share a scale
  int64_t batch = 0, rows = 0, columns = 0, depth = 0;
  bool operator==(const ScaledProduct &) const = default;

  /// The number of bytes that the operands, scales and results of one matrix of the batch take.
  int64_t lhsBytes() const { return operandBytes(rows, lhsType); }
  int64_t rhsBytes() const { return operandBytes(columns, rhsType); }
  int64_t lhsScaleBytes() const { return scaleBytes(rows); }
  int64_t rhsScaleBytes() const { return scaleBytes(columns); }
  int64_t resultBytes() const;
  /// The number of blocks along k for which the scales have room: a multiple of 4.
  int64_t paddedBlocks() const;

  /// "f8E4M3FN x f8E4M3FN scaled by f8E8M0FNU for 32, 1 x 64 x 128 x 256 -> f32, with a factor"
  std::string text() const;

private:
  int64_t operandBytes(int64_t lines, ElementType type) const;
  int64_t scaleBytes(int64_t lines) const;
};

/// Adds the products as a statistic.
void addScaledProducts(Executable &executable, const std::vector<ScaledProduct> &products);
/// The products; empty if the executable has none, or if one does not match its kernel: a runtime
/// may pass the addresses of the buffers to a library without further checks.
std::vector<ScaledProduct> scaledProductsOf(const Executable &executable);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_SCALEDPRODUCTS_H
