#include "tilewright/transform/distribute/OpPlan.h"

#include <numeric>

using namespace mlir;

namespace tilewright::distribute {

using numerics::AxisRef;

bool OpPlan::isSharded() const {
  return llvm::any_of(loops, [](const Axes &axes) { return !axes.empty(); });
}

Axes OpPlan::reducedAxes() const {
  Axes all;
  for (auto [loop, axes] : llvm::zip(rule.loops, loops))
    if (loop.kind == LoopKind::reduced)
      for (const AxisRef &axis : axes)
        append(all, axis);
  return all;
}

StringRef OpPlan::combine() const {
  for (auto [loop, axes] : llvm::zip(rule.loops, loops))
    if (loop.kind == LoopKind::reduced && !axes.empty())
      return loop.combine;
  return {};
}

Sharding OpPlan::shardingOf(const ShardingRule::Dims &dims) const {
  Sharding sharding{mesh, std::vector<Axes>(dims.size()), {}};
  if (mesh)
    for (auto [axes, numbers] : llvm::zip_equal(sharding.dims, dims))
      for (int loop : numbers)
        for (const AxisRef &axis : axesOf(loop))
          append(axes, axis);
  return sharding;
}

std::vector<Axes> axesPerLoop(const ShardingRule &rule, const ShardingRule::Dim &dim,
                              const Axes &axes) {
  std::vector<Axes> all(dim.size());
  if (dim.size() == 1) {
    all[0] = axes; // sizes of shifted loops differ from those of dimensions
    return all;
  }
  size_t at = 0;
  int64_t left = dim.empty() ? 1 : rule.loop(dim[0]).size;
  for (AxisRef axis : axes)
    while (axis.size > 1) {
      while (left == 1 && at + 1 < dim.size())
        left = rule.loop(dim[++at]).size;
      const int64_t taken = std::gcd(left, axis.size);
      if (taken == 1)
        return all;
      append(all[at], {axis.axis, axis.preSize, taken});
      axis = {axis.axis, axis.preSize * taken, axis.size / taken};
      left /= taken;
    }
  return all;
}

} // namespace tilewright::distribute
