#include "tilewright/transform/distribute/Memory.h"

#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::distribute {
namespace {

/// Each node has two moments: it reads its operands at the first and writes its results at the
/// second.
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

/// Whether a node's results share the memory of its operands.
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
    // Inside of the loop, the argument of its body holds the carried value; the result exists only
    // after the loop.
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

bool Memory::mayDrop(const Copy &copy, const Placed &placed, int moment) const {
  if (!copy.isMade)
    return false;
  const Span &span = spans[static_cast<size_t>(copy.value)];
  bool isBefore = false, isBehind = false;
  for (auto [wanted, use, last] : llvm::zip_equal(placed.wanted, span.use, span.last)) {
    if (wanted != copy.sharding)
      continue;
    if (use <= moment && moment <= last)
      return false;
    isBefore |= last < moment;
    isBehind |= use > moment;
  }
  return isBefore && isBehind;
}

int Memory::dropsBefore(int value, size_t use, int sharding, const Drops &drops) const {
  auto found = drops.find({value, sharding});
  if (found == drops.end())
    return 0;
  const int begin = spans[static_cast<size_t>(value)].use[use];
  return static_cast<int>(std::distance(found->second.begin(), found->second.lower_bound(begin)));
}

Memory::Peak Memory::peakOf(ArrayRef<Placed> values, const Drops &drops) const {
  std::vector<double> change(static_cast<size_t>(moments) + 1, 0);
  std::vector<Copy> copies;
  auto hold = [&](int value, int sharding, int begin, int end, bool isMade) {
    const double bytes = prices.shardBytes(types[static_cast<size_t>(value)], sharding);
    begin = std::clamp(begin, 0, moments - 1);
    end = std::clamp(end, begin, moments - 1);
    change[static_cast<size_t>(begin)] += bytes;
    change[static_cast<size_t>(end) + 1] -= bytes;
    copies.push_back({value, sharding, begin, end, isMade});
  };
  for (int value = 0; value < static_cast<int>(values.size()); ++value) {
    const Span &span = spans[static_cast<size_t>(value)];
    const Placed &placed = values[static_cast<size_t>(value)];
    if (!span.isStored)
      continue;
    int end = span.end, first = moments, lastMade = 0;
    // The interval from the first use to the last, by sharding and by how often the copy was
    // dropped before.
    std::map<std::pair<int, int>, std::pair<int, int>> others;
    SmallVector<Sharding, 4> made;
    for (size_t i = 0; i < placed.wanted.size(); ++i) {
      const int wanted = placed.wanted[i], use = std::max(span.use[i], span.begin);
      if (wanted == placed.computed) {
        end = std::max(end, span.last[i]);
        continue;
      }
      first = std::min(first, use);
      auto [other, isNew] =
          others.try_emplace({wanted, dropsBefore(value, i, wanted, drops)}, use, span.last[i]);
      other->second.first = std::min(other->second.first, use);
      other->second.second = std::max(other->second.second, span.last[i]);
    }
    for (const auto &[which, time] : others)
      if (made.empty() || !(made.back() == prices[which.first]))
        made.push_back(prices[which.first]);
    if (!isReshardedLate(prices[placed.computed], made))
      first = span.begin;
    for (const auto &[which, time] : others) {
      // First copies in all shardings are made at the same time.
      const int begin = which.second == 0 ? first : time.first;
      hold(value, which.first, begin, time.second, /*isMade=*/true);
      lastMade = std::max(lastMade, begin);
    }
    hold(value, placed.computed, span.begin, others.empty() ? end : std::max(end, lastMade),
         /*isMade=*/false);
  }
  Peak peak;
  double held = 0;
  for (int at = 0; at < moments; ++at) {
    held += change[static_cast<size_t>(at)];
    if (held > peak.bytes) {
      peak.bytes = held;
      peak.moment = at;
    }
  }
  llvm::copy_if(copies, std::back_inserter(peak.copies), [&](const Copy &copy) {
    return copy.begin <= peak.moment && peak.moment <= copy.end;
  });
  return peak;
}

void Memory::dropIdle(Peak &peak, double limit, ArrayRef<Placed> values, Drops &drops,
                      llvm::function_ref<bool(const Copy &, double)> isCheaper) const {
  constexpr int maxDrops = 256;
  for (int count = 0; count < maxDrops && peak.bytes > limit; ++count) {
    const Copy *largest = nullptr;
    double most = 0;
    for (const Copy &copy : peak.copies) {
      const auto value = static_cast<size_t>(copy.value);
      const double bytes = prices.shardBytes(types[value], copy.sharding);
      if (bytes > most && mayDrop(copy, values[value], peak.moment) && isCheaper(copy, bytes)) {
        largest = &copy;
        most = bytes;
      }
    }
    if (!largest)
      return;
    drops[{largest->value, largest->sharding}].insert(peak.moment);
    peak = peakOf(values, drops);
  }
}

llvm::DenseMap<int, SmallVector<int>> Memory::copiesOf(ArrayRef<Placed> values,
                                                       const Drops &drops) const {
  llvm::DenseMap<int, SmallVector<int>> copies;
  for (const auto &[which, moments] : drops) {
    const Placed &placed = values[static_cast<size_t>(which.first)];
    SmallVector<int> &list = copies[which.first];
    list.assign(placed.wanted.size(), 0);
    for (auto [use, wanted] : llvm::enumerate(placed.wanted))
      if (wanted != placed.computed)
        list[use] = dropsBefore(which.first, use, wanted, drops);
  }
  return copies;
}

} // namespace tilewright::distribute
