#include "tilewright/transform/fuse/Groups.h"

#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/interpret/StopAt.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::fuse {

/// The maximum number of ops that cloning one op may copy; a heavier op becomes a member of a group
/// instead.
static constexpr unsigned maxFloatingWeight = 24;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

bool Space::sameReduction(const Space &other) const {
  if (!reduces || !other.reduces || elements != other.elements || rows != other.rows)
    return false;
  if (trailing && other.trailing)
    return true;
  return shape == other.shape && reduced == other.reduced && !reshaped && !other.reshaped;
}

std::string Space::toString() const {
  std::string text;
  for (auto [index, size] : llvm::enumerate(shape))
    text += (index ? "x" : "") + std::to_string(size);
  if (text.empty())
    text = "a scalar";
  if (!reduces)
    return text;
  text += " reduced over [";
  for (auto [index, dim] : llvm::enumerate(reduced))
    text += (index ? ", " : "") + std::to_string(dim);
  return text + "]";
}

Groups::Groups(Block &block, Limits limits, Report report)
    : limits(limits), block(block), report(std::move(report)) {}

Node *Groups::nodeOf(Operation *op) {
  auto found = index.find(op);
  return found == index.end() ? nullptr : &nodes[found->second];
}

unsigned Groups::find(unsigned group) {
  while (groups[group].parent != group) {
    groups[group].parent = groups[groups[group].parent].parent;
    group = groups[group].parent;
  }
  return group;
}

bool Groups::isStored(unsigned member) {
  const Node &node = nodes[member];
  if (node.recomputed || node.storedAsSource)
    return node.storedAsSource;
  return llvm::any_of(node.followers, [&](unsigned follower) {
    return nodes[follower].group == ~0u || find(nodes[follower].group) != find(node.group);
  });
}

unsigned Groups::groupOf(Operation *op) {
  Node *node = nodeOf(op);
  return node && node->group != ~0u ? find(node->group) : ~0u;
}

bool Groups::isFloating(Operation *op) const {
  auto found = index.find(op);
  if (found != index.end())
    return nodes[found->second].floating;
  // Clone ops of an outer block if recomputing them here is free.
  return isa<stablehlo::BroadcastInDimOp, stablehlo::IotaOp>(op) || classify(op) == OpClass::splat;
}

/// Whether an op is cheap and reads only generated values, so it needs no memory.
static bool isGenerated(Operation *op, llvm::function_ref<bool(Value)> isGeneratedValue) {
  return classify(op) == OpClass::elementwise && !isExpensive(op) && op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), isGeneratedValue);
}

void Groups::classifyNodes() {
  for (Operation &op : block) {
    index[&op] = static_cast<unsigned>(nodes.size());
    nodes.emplace_back();
    nodes.back().op = &op;
    Node &node = nodes.back();
    node.opClass = limits.fusesGathers && canFuseGather(&op) ? OpClass::gather : classify(&op);
    node.moves =
        node.opClass == OpClass::movement ||
        (node.opClass == OpClass::gather && !isPointwiseGather(cast<stablehlo::GatherOp>(op)));
  }
  // Find, in program order, the values that can be computed without reading memory.
  DenseSet<Operation *> generated;
  for (Node &node : nodes) {
    auto isGeneratedValue = [&](Value value) {
      Operation *op = value.getDefiningOp();
      return op && (generated.contains(op) || classify(op) == OpClass::splat);
    };
    if (isa<stablehlo::IotaOp>(node.op) || isGenerated(node.op, isGeneratedValue) ||
        (isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp, stablehlo::SliceOp>(node.op) &&
         isGeneratedValue(node.op->getOperand(0))))
      generated.insert(node.op);
    // These ops are cloned regardless of their readers.
    node.floating = node.opClass == OpClass::splat || node.opClass == OpClass::reshape ||
                    isa<stablehlo::BroadcastInDimOp, stablehlo::IotaOp, stablehlo::SliceOp,
                        stablehlo::DynamicSliceOp>(node.op);
    if (node.opClass == OpClass::other)
      node.floating = false;
    // Conversions and generated values are cloned unless the second loop finds that they must be
    // stored.
    if (node.opClass == OpClass::elementwise)
      node.floating = isa<stablehlo::ConvertOp>(node.op) || generated.contains(node.op);
    if (!node.floating)
      continue;
    for (Value operand : node.op->getOperands())
      if (Node *producer = operand.getDefiningOp() ? nodeOf(operand.getDefiningOp()) : nullptr)
        if (producer->floating)
          node.weight += producer->weight;
    if (node.weight > maxFloatingWeight && node.opClass != OpClass::reshape) {
      node.floating = false;
      node.weight = 1;
    }
  }
  // A conversion or a generated value that must be stored anyway becomes an ordinary group member.
  DenseSet<Operation *> stored;
  for (Node &node : llvm::reverse(nodes)) {
    bool needed = false;
    for (OpOperand &use : node.op->getUses()) {
      Operation *user = use.getOwner();
      Node *reader = nodeOf(user);
      needed = needed || !reader || reader->opClass == OpClass::other || isParameter(use) ||
               (reader->floating && stored.contains(user));
    }
    if (needed)
      stored.insert(node.op);
    if (needed && node.opClass == OpClass::elementwise)
      node.floating = false;
  }
}

Access Groups::resolve(Value value) const {
  Access access;
  while (Operation *op = value.getDefiningOp()) {
    if (!isFloating(op))
      break;
    if (op->getNumOperands() == 0)
      return access;
    if (isa<stablehlo::ReshapeOp>(op)) {
      access.reshaped = true;
    } else if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
      ArrayRef<int64_t> from = shapeOf(broadcast.getOperand()), to = shapeOf(broadcast);
      if (access.kind != Access::same) {
        access.kind = Access::other;
      } else {
        access.kind = Access::broadcast;
        access.dims.assign(broadcast.getBroadcastDimensions().begin(),
                           broadcast.getBroadcastDimensions().end());
        // Check whether the source maps to exactly the leading dimensions of the result.
        int64_t product = 1;
        size_t next = 0;
        bool leading = true;
        for (auto [dim, size] : llvm::zip_equal(access.dims, from)) {
          if (size == 1)
            continue;
          while (next < to.size() && to[next] == 1)
            ++next;
          leading = leading && static_cast<size_t>(dim) == next && to[next] == size;
          ++next;
          product *= size;
        }
        access.leading = leading ? product : -1;
      }
    } else if (op->getNumOperands() > 1 && !isa<stablehlo::DynamicSliceOp>(op)) {
      return Access(); // generated
    } else if (!isa<stablehlo::ConvertOp>(op) && classify(op) != OpClass::elementwise) {
      access.kind = Access::other;
    }
    value = op->getOperand(0);
  }
  access.source = value;
  return access;
}

void Groups::addDependencies(Node &node) {
  SmallVector<Value> pending;
  DenseSet<Value> seen;
  node.op->walk([&](Operation *inner) { llvm::append_range(pending, inner->getOperands()); });
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    auto found = index.find(op);
    if (found == index.end())
      continue;
    if (nodes[found->second].floating)
      llvm::append_range(pending, op->getOperands());
    else
      node.dependencies.push_back(found->second);
  }
  llvm::sort(node.dependencies);
  node.dependencies.erase(llvm::unique(node.dependencies), node.dependencies.end());
}

static Space spaceOf(Operation *op) {
  Space space;
  Value value = op->getResult(0);
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
    value = reduce.getInputs()[0];
    space.reduced.assign(reduce.getDimensions().begin(), reduce.getDimensions().end());
    llvm::sort(space.reduced);
    space.reduces = true;
  }
  space.shape.assign(shapeOf(value).begin(), shapeOf(value).end());
  for (auto [dim, size] : llvm::enumerate(space.shape)) {
    space.elements *= size;
    if (!llvm::is_contained(space.reduced, static_cast<int64_t>(dim)))
      space.rows *= size;
  }
  if (space.reduces) {
    // Whether the reduced dimensions are the innermost ones, ignoring dimensions of size 1.
    space.trailing = true;
    bool seen = false;
    for (auto [dim, size] : llvm::enumerate(space.shape)) {
      const bool reduced = llvm::is_contained(space.reduced, static_cast<int64_t>(dim));
      if (!reduced && seen && size != 1)
        space.trailing = false;
      seen = seen || (reduced && size != 1);
    }
  }
  return space;
}

void Groups::setSources(Node &node) {
  node.sources.clear();
  for (Value operand : node.op->getOperands())
    if (Value source = resolve(operand).source)
      node.sources.push_back(source);
}

void Groups::makeGroup(unsigned position) {
  Node &node = nodes[position];
  const auto number = static_cast<unsigned>(groups.size());
  node.group = number;
  node.role = node.opClass == OpClass::reduce ? Role::row : Role::full;
  Group group;
  group.space = spaceOf(node.op);
  group.parent = number;
  group.members = {position};
  group.rank = position;
  group.weight = 1;
  group.expensive = isExpensive(node.op);
  group.gathers = node.opClass == OpClass::gather;
  group.operands = node.op->getNumOperands() + node.op->getNumResults();
  // Collect the values that the kernel needs before it starts: the parameters of the op and of the
  // cloned ops that it reads.
  SmallVector<Operation *> pending{node.op};
  DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!seen.insert(op).second)
      continue;
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      Node *from = producer ? nodeOf(producer) : nullptr;
      if (!from)
        continue;
      if (from->floating) {
        pending.push_back(producer);
        if (from->opClass != OpClass::splat)
          ++group.weight;
      }
      if (isParameter(operand)) {
        Access access = resolve(operand.get());
        Operation *source = access.source ? access.source.getDefiningOp() : nullptr;
        if (Node *parameter = source ? nodeOf(source) : nullptr)
          group.parameters.push_back(static_cast<unsigned>(parameter - nodes.data()));
      }
    }
  }
  setSources(node);
  groups.push_back(std::move(group));
}

void Groups::run() {
  classifyNodes();
  unsigned lastEffect = ~0u;
  for (unsigned i = 0; i < nodes.size(); ++i) {
    if (interpret::mustStopAt(nodes[i].op))
      return;
    addDependencies(nodes[i]);
    // Ops with side effects keep their order.
    if (hasEffects(nodes[i].op)) {
      if (lastEffect != ~0u)
        nodes[i].dependencies.push_back(lastEffect);
      lastEffect = i;
    }
    nodes[i].rank = i;
    for (unsigned dependency : nodes[i].dependencies)
      nodes[dependency].followers.push_back(i);
  }
  for (unsigned i = 0; i < nodes.size(); ++i)
    if (!nodes[i].floating && nodes[i].opClass != OpClass::other) {
      if (interpret::mustStopAt(nodes[i].op))
        return;
      makeGroup(i);
      joinProducers(i);
    }
  joinRefused();
  joinSiblings();
  joinScalars();
  joinConversions();
  for (Group &group : groups)
    llvm::sort(group.members);
  dissolve();
}

/// Dissolves groups that consist of a single data movement op or gather, for which the library has
/// fast routines.
void Groups::dissolve() {
  for (unsigned g = 0; g < groups.size(); ++g) {
    Group &group = groups[g];
    if (group.parent != g || group.members.size() != 1)
      continue;
    Node &node = nodes[group.members[0]];
    if (node.opClass != OpClass::movement && node.opClass != OpClass::gather)
      continue;
    bool alone = true;
    for (Value operand : node.op->getOperands()) {
      Operation *op = operand.getDefiningOp();
      while (isa_and_present<stablehlo::ReshapeOp>(op))
        op = op->getOperand(0).getDefiningOp();
      alone = alone && (!op || !isFloating(op) || classify(op) == OpClass::splat);
    }
    if (!alone)
      continue;
    TILEWRIGHT_LOG(
        "fuse-group", node.op,
        "does not become a kernel: the library moves data faster than a kernel of its own");
    node.group = ~0u;
  }
}

} // namespace tilewright::fuse
