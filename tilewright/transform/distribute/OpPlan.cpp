#include "tilewright/transform/distribute/OpPlan.h"

#include "tilewright/support/Concat.h"

#include "mlir/IR/BuiltinTypes.h"

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

bool OpPlan::canSplit(Operation *op, int loop, const Axes &axes, std::string *obstacle) const {
  auto refuse = [&](std::string why) {
    if (obstacle)
      *obstacle = std::move(why);
    return false;
  };
  const int64_t count = countOf(axes);
  for (int other = 0; other < static_cast<int>(loops.size()); ++other)
    if (other != loop && overlap(axesOf(other), axes))
      return false;
  auto check = [&](const auto &dimsOfAll, auto values) {
    for (auto [dims, value] : llvm::zip_equal(dimsOfAll, values))
      for (auto [dim, numbers] : llvm::enumerate(dims)) {
        if (!llvm::is_contained(numbers, loop))
          continue;
        const int64_t size = numbers.size() > 1
                                 ? rule.loop(loop).size
                                 : cast<RankedTensorType>(value.getType()).getShape()[dim];
        if (size % count != 0)
          return refuse(concat("a dimension of size ", size, " is not divisible by ", count));
        for (int outer : llvm::make_range(numbers.begin(), llvm::find(numbers, loop)))
          if (countOf(axesOf(outer)) != rule.loop(outer).size)
            return refuse("its shards would not be contiguous");
      }
    return true;
  };
  return check(rule.operands, op->getOperands()) && check(rule.results, op->getResults());
}

std::vector<Axes> axesPerLoop(const ShardingRule &rule, const ShardingRule::Dim &dim,
                              const Axes &axes, std::string *obstacle) {
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
      if (taken == 1) {
        if (obstacle && !dim.empty())
          *obstacle = concat("a dimension of size ", rule.loop(dim[at]).size,
                             " is not divisible by ", countOf(axes));
        return all;
      }
      append(all[at], {axis.axis, axis.preSize, taken});
      axis = {axis.axis, axis.preSize * taken, axis.size / taken};
      left /= taken;
    }
  return all;
}

} // namespace tilewright::distribute
