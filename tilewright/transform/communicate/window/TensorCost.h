// TensorCost: estimates the time of ops before fusion has decided which of them share a kernel.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_TENSORCOST_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_TENSORCOST_H

#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/transform/Prices.h"

namespace tilewright::communicate {

/// Prices of ops in nanoseconds. Products and collectives have their full price. Elementwise ops
/// and reductions have a price only if their result is stored: if several ops read it, or one that
/// cannot be fused with them.
class TensorCost {
public:
  explicit TensorCost(transform::Prices prices) : prices(std::move(prices)) {}

  /// The price of an op; a collective has its whole time, as if no other op overlapped with it.
  double of(mlir::Operation *op) const;
  double collective(mlir::Operation *op) const;
  /// The dimension along which a product is divided.
  enum class Along : uint8_t { batches, rows, columns, sums };
  /// The price of a fraction `share` of a product.
  double product(stablehlo::DotGeneralOp op, double share = 1, Along along = Along::rows) const;
  /// The price of moving this number of bytes.
  double movement(double bytes) const;
  const transform::Prices &rates() const { return prices; }

private:
  double ofBlock(mlir::Block &block) const;

  transform::Prices prices;
};

/// The size of a tensor in bytes; 0 for other types and dynamic shapes.
double bytesOf(mlir::Type type);

} // namespace tilewright::communicate

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_TENSORCOST_H
