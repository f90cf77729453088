// TensorCost: how long the ops of a program will take, before it is known which of them become one
// kernel.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_TENSORCOST_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_TENSORCOST_H

#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/transform/Prices.h"

namespace tilewright::communicate {

/// The kind of an all_reduce, all_gather, reduce_scatter, all_to_all or collective_permute; nullopt
/// for other ops.
std::optional<numerics::CollectiveKind> kindOf(mlir::Operation *op);

/// The groups of such a collective, or the pairs of a permute, if they are written as numbers.
mlir::DenseIntElementsAttr groupsOf(mlir::Operation *op);

/// Prices of ops in nanoseconds. Products and collectives count in full; elementwise ops and
/// reductions count if their result is stored, that is, if not only ops that fuse with them read
/// it.
class TensorCost {
public:
  explicit TensorCost(transform::Prices prices) : prices(std::move(prices)) {}

  /// A collective counts as if nothing hid it.
  double of(mlir::Operation *op) const;
  double collective(mlir::Operation *op) const;
  /// The dimension along which a product is divided.
  enum class Along : uint8_t { batches, rows, columns, sums };
  /// `share` of a product.
  double product(stablehlo::DotGeneralOp op, double share = 1, Along along = Along::rows) const;
  /// Moves so many bytes.
  double movement(double bytes) const;
  const transform::Prices &rates() const { return prices; }

private:
  double ofBlock(mlir::Block &block) const;

  transform::Prices prices;
};

/// The size of a tensor; 0 for other types and dynamic shapes.
double bytesOf(mlir::Type type);

} // namespace tilewright::communicate

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_TENSORCOST_H
