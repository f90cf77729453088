// Recompute: which values a kernel computes again from what is in memory, instead of reading them
// from memory where another kernel stores them.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_RECOMPUTE_H
#define TILEWRIGHT_TRANSFORM_FUSE_RECOMPUTE_H

#include "tilewright/transform/fuse/Groups.h"
#include "tilewright/transform/fuse/cost/KernelCost.h"

#include <string>

namespace tilewright::fuse {

/// A value that other kernels than that of its group read.
struct RecomputeDecision {
  mlir::Operation *op = nullptr;
  /// The number of these kernels.
  unsigned readers = 0;
  /// Whether they compute it again; then nothing stores it.
  bool isRecomputed = false;
  /// The cycles that both ways add to the kernels. Unknown if `refusal` says why the value cannot
  /// be computed again.
  double recomputeCycles = 0, storeCycles = 0;
  const char *refusal = nullptr;

  /// The decision in words, with both costs.
  std::string reason() const;
};

/// Decides for each value, and sets Node::recomputed and the costs of the groups. Costs are those
/// of KernelCost; the groups must be final.
std::vector<RecomputeDecision> chooseRecomputed(Groups &groups, exec::TargetAttr target);

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_RECOMPUTE_H
