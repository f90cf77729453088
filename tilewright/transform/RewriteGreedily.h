// Runs rewrite patterns with MLIR's greedy driver and logs each attempt.
#ifndef TILEWRIGHT_TRANSFORM_REWRITEGREEDILY_H
#define TILEWRIGHT_TRANSFORM_REWRITEGREEDILY_H

#include "tilewright/interpret/PassLog.h"
#include "tilewright/interpret/PatternLog.h"

#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tilewright::transform {

/// Calls mlir::applyPatternsGreedily(). If `compile.log-passes` selects `pass`, every pattern that
/// applies or does not apply is printed with its reason. All passes run their patterns through this
/// function; a test checks that.
inline mlir::LogicalResult rewriteGreedily(llvm::StringRef pass, mlir::Operation *op,
                                           mlir::RewritePatternSet patterns,
                                           mlir::GreedyRewriteConfig config) {
  interpret::PatternLog log(pass, config.getListener());
  if (interpret::PassLog::isOn() && interpret::PassLog::isOn(pass, op->getContext()))
    config.setListener(&log);
  return mlir::applyPatternsGreedily(op, std::move(patterns), config);
}

} // namespace tilewright::transform

#endif // TILEWRIGHT_TRANSFORM_REWRITEGREEDILY_H
