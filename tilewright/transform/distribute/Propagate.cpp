#include "tilewright/transform/distribute/Propagate.h"

#include "tilewright/transform/distribute/OpPlan.h"

using namespace mlir;

namespace tilewright::distribute {
namespace {

class Propagation {
public:
  explicit Propagation(const ShardingGraph &graph) : graph(graph), shardings(graph.values.size()) {}

  void run() {
    // In the second pass, the values that loop bodies return are known.
    for (int pass = 0; pass < 2; ++pass) {
      auto rule = graph.functionRules.begin();
      for (auto [number, node] : llvm::enumerate(graph.nodes)) {
        visit(node);
        for (; rule != graph.functionRules.end() && rule->after == static_cast<int>(number); ++rule)
          visit(rule->node);
      }
    }
  }

  const Sharding &of(int value) const { return shardings[static_cast<size_t>(value)]; }

private:
  void visit(const GraphNode &node) {
    Choice choice;
    choice.loops.resize(node.rule.loops.size());
    if (node.isFixed) {
      choice.mesh = node.mesh;
      choice.loops = node.fixed;
    }
    // If several operands shard a loop, the largest operand determines the axes.
    SmallVector<unsigned, 4> bySize;
    for (unsigned in = 0; in < node.inValues.size(); ++in)
      bySize.push_back(in);
    llvm::stable_sort(bySize, [&](unsigned one, unsigned other) {
      return elements(node, one) > elements(node, other);
    });
    for (unsigned in : bySize)
      follow(node, in, choice);
    for (size_t out = 0; out < node.outs.size(); ++out) {
      Sharding sharding = computedBy(node, choice, out);
      sharding.unreduced.clear();
      shardings[static_cast<size_t>(node.outs[out])] = std::move(sharding);
    }
  }

  int64_t elements(const GraphNode &node, unsigned in) const {
    const GraphValue &value = graph.values[static_cast<size_t>(node.inValues[in])];
    auto type = dyn_cast<RankedTensorType>(value.value.getType());
    return type && type.hasStaticShape() ? type.getNumElements() : 0;
  }

  /// Splits those loops of a node that are still whole in the way in which an operand is sharded.
  void follow(const GraphNode &node, unsigned in, Choice &choice) const {
    const Sharding &from = of(node.inValues[in]);
    if (!from.isSharded() || (choice.mesh && choice.mesh != from.mesh))
      return;
    for (auto [dim, loops] : llvm::enumerate(node.rule.operands[in])) {
      // A manual computation propagates the shardings of its operand along axes that are not
      // manual.
      Axes inner = from.along(dim);
      const Axes &outer = node.outerIn.along(dim);
      if (!llvm::equal(outer, llvm::ArrayRef(inner).take_front(outer.size())))
        continue;
      inner.erase(inner.begin(), inner.begin() + static_cast<std::ptrdiff_t>(outer.size()));
      if (node.manualAxes && llvm::any_of(inner, [&](const numerics::AxisRef &axis) {
            return llvm::is_contained(*node.manualAxes, from.mesh->mesh().axes[axis.axis].name);
          }))
        continue;
      std::vector<Axes> all = axesPerLoop(node.rule, loops, inner);
      for (auto [number, axes] : llvm::zip_equal(loops, all)) {
        const auto loop = static_cast<size_t>(number);
        // Shardings also propagate through a loop that each device computes completely: a value
        // that is sharded before a sort is sharded after it.
        if (axes.empty() || node.rule.loops[loop].kind == LoopKind::reduced ||
            node.rule.loops[loop].blocked || !choice.loops[loop].empty() ||
            (node.isFixed && node.isClosed[loop]) ||
            llvm::any_of(choice.loops, [&](const Axes &used) { return overlap(used, axes); }))
          continue;
        Choice split = choice;
        split.mesh = from.mesh;
        split.loops[loop] = axes;
        if (divides(graph, node, split))
          choice = std::move(split);
      }
    }
  }

  const ShardingGraph &graph;
  std::vector<Sharding> shardings; // of each value
};

} // namespace

void fixResults(ShardingGraph &graph) {
  if (llvm::none_of(graph.nodes, [](const GraphNode &node) { return node.isFreeResult; }))
    return;
  Propagation propagation(graph);
  propagation.run();
  for (GraphNode &node : graph.nodes) {
    if (!node.isFreeResult)
      continue;
    const Sharding &sharding = propagation.of(node.inValues[0]);
    node.isFixed = true;
    node.mesh = sharding.isReplicated() ? nullptr : sharding.mesh;
    node.fixed.assign(node.rule.loops.size(), {});
    node.isClosed.assign(node.rule.loops.size(), true);
    for (size_t dim = 0; dim < node.fixed.size(); ++dim)
      node.fixed[dim] = sharding.along(dim);
  }
}

} // namespace tilewright::distribute
