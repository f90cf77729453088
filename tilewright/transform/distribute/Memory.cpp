#include "tilewright/transform/distribute/Memory.h"

#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::distribute {
namespace {

/// A node reads at the first of its two moments and writes at the second.
int readOf(int node) { return 2 * node; }
int writeOf(int node) { return 2 * node + 1; }

/// The last node inside of each loop.
llvm::DenseMap<Operation *, int> lastNodes(const ShardingGraph &graph) {
  llvm::DenseMap<Operation *, int> last;
  for (auto [number, node] : llvm::enumerate(graph.nodes))
    for (Operation *around = node.op; around; around = around->getParentOp())
      if (isa<stablehlo::WhileOp>(around))
        last[around] = static_cast<int>(number);
  return last;
}

/// Whether the caller keeps a parameter.
bool isKept(BlockArgument parameter) {
  auto main = dyn_cast<func::FuncOp>(parameter.getOwner()->getParentOp());
  if (!main)
    return false;
  const unsigned number = parameter.getArgNumber();
  return !main.getArgAttr(number, "tf.aliasing_output") &&
         !main.getArgAttr(number, "jax.buffer_donor");
}

/// Whether a node's results are its operands under another name.
bool passesThrough(const GraphNode &node) {
  return !node.isOp || isa<stablehlo::ReshapeOp>(node.op);
}

/// The part of a tensor that one device holds.
double partOf(const Sharding &sharding) {
  double part = 1;
  for (const Axes &axes : sharding.dims)
    part /= static_cast<double>(countOf(axes));
  return part;
}

} // namespace

bool isReshardedLate(const Sharding &computed, ArrayRef<Sharding> others) {
  double parts = 0;
  for (const Sharding &other : others)
    parts += partOf(other);
  return parts > partOf(computed);
}

Memory::Memory(const ShardingGraph &graph, const Prices &prices, ArrayRef<int> types)
    : prices(prices), types(types), moments(readOf(static_cast<int>(graph.nodes.size()))) {
  const llvm::DenseMap<Operation *, int> lastIn = lastNodes(graph);
  for (const GraphValue &value : graph.values) {
    Value given = value.value;
    Operation *made = given.getDefiningOp();
    Span span;
    span.isStored =
        !isa_and_nonnull<stablehlo::BroadcastInDimOp, stablehlo::IotaOp, stablehlo::ConstantOp>(
            made);
    span.begin = writeOf(std::max(value.maker, 0));
    // Inside of a loop, what it carries is the argument of its body; its result is that behind it.
    if (isa_and_nonnull<stablehlo::WhileOp>(made))
      span.begin = writeOf(lastIn.lookup(made));
    span.end = span.begin;
    Block *block = given.getParentBlock();
    if (auto argument = dyn_cast<BlockArgument>(given)) {
      if (isKept(argument))
        span.end = moments - 1;
      else if (isa<stablehlo::WhileOp>(block->getParentOp()))
        span.end = writeOf(lastIn.lookup(block->getParentOp()));
    }
    for (const GraphValue::Use &use : value.uses) {
      const GraphNode &user = graph.nodes[static_cast<size_t>(use.node)];
      int last = passesThrough(user) ? readOf(use.node) : writeOf(use.node);
      // A loop that reads the value holds it until it ends.
      for (Operation *around = user.op; around && around->getBlock() != block;
           around = around->getParentOp())
        if (Operation *loop = around->getParentOp(); isa_and_nonnull<stablehlo::WhileOp>(loop))
          last = std::max(last, writeOf(lastIn.lookup(loop)));
      span.use.push_back(std::min(readOf(use.node), last));
      span.last.push_back(std::max(last, span.begin));
    }
    spans.push_back(std::move(span));
  }
}

Memory::Peak Memory::peakOf(ArrayRef<Placed> values) const {
  std::vector<double> change(static_cast<size_t>(moments) + 1, 0);
  std::vector<Copy> copies;
  auto hold = [&](int value, int sharding, int begin, int end) {
    const double bytes = prices.shardBytes(types[static_cast<size_t>(value)], sharding);
    begin = std::clamp(begin, 0, moments - 1);
    end = std::clamp(end, begin, moments - 1);
    change[static_cast<size_t>(begin)] += bytes;
    change[static_cast<size_t>(end) + 1] -= bytes;
    copies.push_back({value, sharding, begin, end});
  };
  for (int value = 0; value < static_cast<int>(values.size()); ++value) {
    const Span &span = spans[static_cast<size_t>(value)];
    const Placed &placed = values[static_cast<size_t>(value)];
    if (!span.isStored)
      continue;
    int end = span.end, first = moments;
    SmallVector<std::pair<int, int>, 4> others; // shardings, and until when they are used
    for (auto [wanted, use, last] : llvm::zip_equal(placed.wanted, span.use, span.last)) {
      if (wanted == placed.computed) {
        end = std::max(end, last);
        continue;
      }
      first = std::min(first, std::max(use, span.begin));
      auto *other = llvm::find_if(others, [&](const auto &one) { return one.first == wanted; });
      if (other == others.end())
        others.push_back({wanted, last});
      else
        other->second = std::max(other->second, last);
    }
    SmallVector<Sharding, 4> made;
    for (auto [sharding, last] : others)
      made.push_back(prices[sharding]);
    if (!isReshardedLate(prices[placed.computed], made))
      first = span.begin;
    for (auto [sharding, last] : others)
      hold(value, sharding, first, last);
    hold(value, placed.computed, span.begin, others.empty() ? end : std::max(end, first));
  }
  Peak peak;
  double held = 0;
  int moment = 0;
  for (int at = 0; at < moments; ++at) {
    held += change[static_cast<size_t>(at)];
    if (held > peak.bytes) {
      peak.bytes = held;
      moment = at;
    }
  }
  llvm::copy_if(copies, std::back_inserter(peak.copies),
                [&](const Copy &copy) { return copy.begin <= moment && moment <= copy.end; });
  return peak;
}

} // namespace tilewright::distribute
