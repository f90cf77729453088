// OpPlan: which axes of the mesh split which loops of an op.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_OPPLAN_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_OPPLAN_H

#include "tilewright/transform/distribute/Sharding.h"
#include "tilewright/transform/distribute/ShardingRules.h"

namespace tilewright::distribute {

struct OpPlan {
  ShardingRule rule;
  std::shared_ptr<const numerics::MeshCoordinates> mesh;
  std::vector<Axes> loops; // the axes that split each loop
  Axes open;               // the axes along which operands, and so results, are partial sums

  const Axes &axesOf(int loop) const { return loops[static_cast<size_t>(loop)]; }
  /// Whether any loop is split.
  bool isSharded() const;
  /// The axes of all reduced loops: each device computes a partial result along them.
  Axes reducedAxes() const;
  /// The op that reduces partial results; empty if no reduced loop is split.
  llvm::StringRef combine() const;
  Sharding shardingOf(const ShardingRule::Dims &dims) const;
};

/// Distributes the axes of a dimension over its loops, outermost first. An axis that is larger than
/// the remainder of a loop is split into sub-axes. Stops where a loop is not divisible or the
/// dimension has no more loops. Returns the axes of each loop of the list.
std::vector<Axes> axesPerLoop(const ShardingRule &rule, const ShardingRule::Dim &dim,
                              const Axes &axes);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_OPPLAN_H
