// RewriteWatch: stops rewriting that does not terminate, and reports the rules that are involved.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_REWRITEWATCH_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_REWRITEWATCH_H

#include "tilewright/transform/simplify/Measure.h"

#include "mlir/IR/PatternMatch.h"

#include <optional>
#include <vector>

namespace tilewright::simplify {

/// Counts the rewrites of each original op: an op that a rule creates inherits the origin of the op
/// that the rule was applied to. More than `maxRewrites` is an error. With `checksProgress`, so is
/// a rewrite that does not decrease the measure of its rule. After an error, and once the
/// compilation's work limit is reached, no rule is applied any more.
///
///   RewriteWatch watch(function, 1000, /*checksProgress=*/false);
///   watch.watch(patterns);
///   config.setListener(&watch);
///   (void)rewriteGreedily("simplify-canonicalize", function, std::move(patterns), config);
///   if (failed(watch.verdict())) …
class RewriteWatch : public mlir::RewriterBase::Listener {
public:
  RewriteWatch(mlir::Operation *root, int64_t maxRewrites, bool checksProgress)
      : root(root), maxRewrites(maxRewrites), checksProgress(checksProgress) {}

  /// Wraps each pattern in a guard.
  void watch(mlir::RewritePatternSet &patterns);

  /// Reports the error, if any (E2003).
  mlir::LogicalResult verdict() const;

  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override;
  void notifyOperationErased(mlir::Operation *op) override;

private:
  class Guard;
  /// An op of the original program and the number of rewrites of ops derived from it.
  struct Origin {
    mlir::OperationName name;
    mlir::Location location;
    int64_t rewrites = 0;
  };

  mlir::LogicalResult apply(const mlir::RewritePattern &rule, mlir::Operation *op,
                            mlir::PatternRewriter &rewriter);
  void complainOfRewrites(const Origin &origin);
  void complainOfProgress(const Origin &origin, llvm::StringRef rule, const Measure &before,
                          const Measure &after);

  mlir::Operation *root;
  const int64_t maxRewrites;
  const bool checksProgress;
  std::vector<Origin> origins;
  llvm::DenseMap<mlir::Operation *, size_t> originOfOp;
  /// The op that a rule is being applied to (null once it is erased), and its origin.
  struct Applied {
    mlir::Operation *op;
    size_t origin;
  };
  std::optional<Applied> applied;
  std::vector<llvm::StringRef> lastRules; // the last rules before the limit
  std::string complaint;
  std::optional<mlir::Location> place; // location of the error
};

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_REWRITEWATCH_H
