// Decides which groups may become one kernel, and merges them.
#include "tilewright/transform/fuse/Groups.h"

#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::fuse {

/// A row that is read again after its reduction should still be in the core's cache.
static constexpr int64_t maxRowElements = int64_t(1) << 17;
/// Like maxRowElements, for a strided row, where each element needs its own cache line.
static constexpr int64_t maxSpreadElements = 4096;
/// The minimum number of elements for which a second thread pays off.
static constexpr int64_t parallelElements = 65536;
/// The maximum number of units that one search for a cycle visits before it gives up.
static constexpr unsigned maxVisited = 512;
/// The maximum number of times that an op is computed for each element of a kernel, because it is
/// read at several places. A chain of n ops that each read two places would be computed 2^n times.
static constexpr int64_t maxCopies = 4;
/// The maximum number of readers of one value that are considered.
static constexpr unsigned maxReaders = 64;

static constexpr const char *otherReaders = "other ops also read its result, in another order";

/// Whether the broadcast operand maps to exactly the rows of the space.
static bool followsRows(const Access &access, const Space &space) {
  if (space.trailing)
    return access.leading == space.rows;
  if (access.reshaped || space.reshaped)
    return false;
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < static_cast<int64_t>(space.shape.size()); ++dim)
    if (!llvm::is_contained(space.reduced, dim))
      kept.push_back(dim);
  return ArrayRef<int64_t>(access.dims) == ArrayRef<int64_t>(kept);
}

/// Whether two groups can iterate over the same points.
static bool sameSpace(const Space &a, const Space &b, bool reshaped) {
  if (a.elements != b.elements)
    return false;
  if (a.reduces && b.reduces)
    return a.sameReduction(b) && (!reshaped || a.trailing);
  if (!a.reduces && !b.reduces)
    return true;
  const Space &reduction = a.reduces ? a : b;
  return reduction.trailing || (!reshaped && !a.reshaped && !b.reshaped && a.shape == b.shape);
}

static Space joined(const Space &a, const Space &b, bool reshaped) {
  Space space = a.reduces || !b.reduces ? a : b;
  space.reshaped = a.reshaped || b.reshaped || reshaped || a.shape != b.shape;
  return space;
}

Groups::Plan Groups::planInternal(unsigned producer, unsigned consumer) {
  const Group &from = groups[find(nodes[producer].group)];
  const Group &to = groups[find(nodes[consumer].group)];
  Plan plan;
  plan.space = to.space;
  plan.producers = Role::internal;
  plan.reason = "read by only one op, which computes it inline";
  const int64_t places = placesRead(from, consumer);
  plan.copies = from.copies * places;
  if (from.space.reduces)
    plan.refusal = "a reduction would be computed more than once";
  else if (isa<stablehlo::ConcatenateOp, stablehlo::PadOp>(nodes[consumer].op) && from.expensive)
    plan.refusal = "an expensive op would be computed for elements that are not used";
  else if (from.gathers)
    plan.refusal = "it gathers, and its elements would be read in another order";
  else if (places == 0)
    plan.refusal = otherReaders;
  else if (plan.copies > maxCopies)
    plan.refusal = "an op would be computed more than four times for each element";
  return plan;
}

Groups::Plan Groups::plan(unsigned producer, unsigned consumer, const Access &access) {
  const Node &from = nodes[producer], &to = nodes[consumer];
  const Space &source = groups[find(from.group)].space, &target = groups[find(to.group)].space;
  auto refuse = [](const char *reason) {
    Plan plan;
    plan.refusal = reason;
    return plan;
  };
  // A reduction has the role `row` but reads the whole space.
  const bool readsFull = to.opClass == OpClass::reduce || to.role != Role::row;
  if (from.role == Role::internal)
    return refuse("it is computed only inside another kernel");
  if (to.moves || access.kind == Access::other)
    return planInternal(producer, consumer);

  Plan plan;
  if (access.kind == Access::same) {
    if (from.role == Role::full && readsFull) {
      if (!sameSpace(source, target, access.reshaped))
        return refuse(source.elements == target.elements ? "they reduce different dimensions"
                                                         : "they iterate over different spaces");
      const Space &reduction = target.reduces ? target : source;
      if (source.reduces != target.reduces && reduction.rows < 4 &&
          reduction.elements >= parallelElements)
        return refuse("the reduction has too few rows for the threads to share");
      plan.space = joined(source, target, access.reshaped);
      plan.reason =
          target.reduces ? "reduces the elements of the producer" : "computes the same elements";
      return plan;
    }
    if (from.role == Role::row && !readsFull) {
      if (!source.sameReduction(target))
        return refuse("they reduce different dimensions");
      plan.space = joined(source, target, false);
      plan.producers = plan.consumers = Role::row;
      plan.reason = "computes the same rows";
      return plan;
    }
    if (from.role == Role::row && !target.reduces) {
      if (target.elements != source.rows || (access.reshaped && !source.trailing))
        return refuse("its elements do not correspond to the rows of the reduction");
      plan.space = source;
      plan.producers = plan.consumers = Role::row;
      plan.reason = "continues with the rows of the reduction";
      return plan;
    }
    if (from.role == Role::row)
      return refuse("it reduces the result of another reduction");
    // The producer's elements must be the rows of the consumer.
    if (source.reduces || source.elements != target.rows || (access.reshaped && !target.trailing))
      return refuse("its elements do not correspond to the rows of the reduction");
    plan.space = target;
    plan.producers = plan.consumers = Role::row;
    plan.reason = "computes the rows of the reduction";
    return plan;
  }

  // A broadcast.
  if (source.reduces) {
    if (from.role != Role::row || !readsFull || !followsRows(access, source))
      return refuse("the result of the reduction is broadcast over another space");
    if (target.reduces ? !source.sameReduction(target)
                       : !sameSpace(source, target, source.reshaped || target.reshaped))
      return refuse("the result of the reduction is broadcast over another space");
    if (source.rowLength() > (source.trailing ? maxRowElements : maxSpreadElements))
      return refuse("a row is too long to be cached until its reduction is complete");
    if (source.rows < 4 && source.elements >= parallelElements)
      return refuse("the reduction has too few rows for the threads to share");
    plan.space = joined(source, target, false);
    plan.producers = Role::row;
    plan.reason = "reads its row again after the reduction";
    return plan;
  }
  if (target.reduces && readsFull && source.elements == target.rows &&
      followsRows(access, target)) {
    plan.space = target;
    plan.producers = Role::row;
    plan.reason = "computes a value for each row";
    return plan;
  }
  return planInternal(producer, consumer);
}

const char *Groups::refuseEdge(const Node &from, Role fromRole, const Node &to, Role toRole,
                               const Space &space) {
  for (OpOperand &operand : to.op->getOpOperands()) {
    Access access = resolve(operand.get());
    if (!access.source || access.source.getDefiningOp() != from.op)
      continue;
    if (isParameter(operand))
      return "it is a parameter, which must be known before the kernel starts";
    if (fromRole == Role::internal)
      continue; // recomputed wherever it is read
    if (toRole == Role::internal || to.moves || access.kind == Access::other)
      return "it is read in a different order than it is computed";
    const bool readsFull = to.opClass == OpClass::reduce || toRole == Role::full;
    if (access.kind == Access::same) {
      if ((fromRole == Role::full) != readsFull)
        return "an element of one corresponds to a row of the other";
      continue;
    }
    if (fromRole != Role::row || !readsFull || !followsRows(access, space))
      return "it is not broadcast along rows";
    if (space.rowLength() > (space.trailing ? maxRowElements : maxSpreadElements))
      return "a row is too long to be cached until its reduction is complete";
    if (space.rows < 4 && space.elements >= parallelElements)
      return "the reduction has too few rows for the threads to share";
  }
  return nullptr;
}

const char *Groups::refuseEdges(unsigned producers, unsigned consumers, const Plan &plan) {
  auto roleOf = [&](unsigned node, unsigned group) {
    const Role planned = group == producers ? plan.producers : plan.consumers;
    return nodes[node].role == Role::full && !groups[group].space.reduces ? planned
                                                                          : nodes[node].role;
  };
  // Every edge between the two groups has an end in the smaller one.
  const bool swap = groups[producers].members.size() > groups[consumers].members.size();
  const unsigned small = swap ? consumers : producers, large = swap ? producers : consumers;
  for (unsigned member : groups[small].members) {
    for (unsigned other : nodes[member].dependencies)
      if (nodes[other].group != ~0u && find(nodes[other].group) == large)
        if (const char *refusal = refuseEdge(nodes[other], roleOf(other, large), nodes[member],
                                             roleOf(member, small), plan.space))
          return refusal;
    for (unsigned other : nodes[member].followers)
      if (nodes[other].group != ~0u && find(nodes[other].group) == large)
        if (const char *refusal = refuseEdge(nodes[member], roleOf(member, small), nodes[other],
                                             roleOf(other, large), plan.space))
          return refusal;
  }
  return nullptr;
}

int64_t Groups::placesRead(const Group &group, unsigned reader) {
  if (group.members.size() > maxReaders)
    return 0;
  const unsigned self = find(nodes[group.members[0]].group), other = find(nodes[reader].group);
  llvm::SmallDenseSet<unsigned> readers;
  for (unsigned member : group.members) {
    SmallVector<Operation *> pending;
    unsigned count = 0;
    llvm::append_range(pending, nodes[member].op->getUsers());
    while (!pending.empty()) {
      Operation *user = pending.pop_back_val();
      Node *node = nodeOf(user);
      if (++count > maxReaders || !node)
        return 0;
      if (node->floating) {
        llvm::append_range(pending, user->getUsers());
        continue;
      }
      if (node->group == ~0u || (find(node->group) != self && find(node->group) != other))
        return 0;
      if (find(node->group) == other)
        readers.insert(static_cast<unsigned>(node - nodes.data()));
    }
  }
  if (group.expensive && readers.size() > 1)
    return 0;
  int64_t places = 0;
  for (unsigned number : readers) {
    // A data movement reads one place for each of its elements, because concatenated slices do not
    // overlap.
    llvm::SmallDenseSet<Value> operands;
    for (Value operand : nodes[number].op->getOperands())
      if (Value source = resolve(operand).source)
        if (Node *node = source.getDefiningOp() ? nodeOf(source.getDefiningOp()) : nullptr;
            node && node->group != ~0u && find(node->group) == self)
          operands.insert(operand);
    places += nodes[number].moves ? 1 : std::max<int64_t>(1, int64_t(operands.size()));
  }
  return std::max<int64_t>(1, places);
}

/// Groups keep their number; nodes without a group are numbered after all possible groups.
Groups::Unit Groups::unitOf(unsigned node) {
  return nodes[node].group == ~0u ? static_cast<unsigned>(nodes.size()) + node
                                  : find(nodes[node].group);
}

unsigned &Groups::rankOf(Unit unit) {
  return unit < nodes.size() ? groups[unit].rank : nodes[unit - nodes.size()].rank;
}

void Groups::forEachMember(Unit unit, llvm::function_ref<void(unsigned)> visit) {
  if (unit >= nodes.size())
    return visit(unit - static_cast<unsigned>(nodes.size()));
  for (unsigned member : groups[unit].members)
    visit(member);
}

/// Ranks of units increase along dependencies, so only units ranked between the two can lie on a
/// path from one to the other (Pearce and Kelly, "A dynamic topological sort algorithm for directed
/// acyclic graphs", 2006).
bool Groups::findOrder(unsigned a, unsigned b) {
  if (rankOf(a) > rankOf(b))
    std::swap(a, b);
  before.clear();
  after.clear();
  const unsigned low = rankOf(a), high = rankOf(b);
  DenseSet<Unit> seen;
  // Collect the transitive followers of `a` that rank below `b`. If `b` depends on one of them,
  // that unit must run between the two.
  after.push_back(a);
  for (size_t i = 0; i < after.size(); ++i) {
    bool blocked = false;
    forEachMember(after[i], [&](unsigned member) {
      for (unsigned follower : nodes[member].followers) {
        Unit unit = unitOf(follower);
        if (unit == b) {
          blocked = blocked || i > 0;
        } else if (unit != a && rankOf(unit) < high && seen.insert(unit).second) {
          after.push_back(unit);
        }
      }
    });
    if (blocked || after.size() > maxVisited)
      return false;
  }
  before.push_back(b);
  for (size_t i = 0; i < before.size(); ++i) {
    forEachMember(before[i], [&](unsigned member) {
      for (unsigned dependency : nodes[member].dependencies) {
        Unit unit = unitOf(dependency);
        if (unit != a && unit != b && rankOf(unit) > low && seen.insert(unit).second)
          before.push_back(unit);
      }
    });
    if (before.size() > maxVisited)
      return false;
  }
  auto byRank = [&](Unit one, Unit other) { return rankOf(one) < rankOf(other); };
  llvm::sort(before, byRank);
  llvm::sort(after, byRank);
  return true;
}

int64_t Groups::countOperands(unsigned a, unsigned b) {
  llvm::SmallDenseSet<Value, 32> values;
  int64_t outputs = 0;
  for (unsigned group : {a, b})
    for (unsigned member : groups[group].members) {
      for (Value source : nodes[member].sources)
        values.insert(source);
      outputs += llvm::any_of(nodes[member].followers, [&](unsigned follower) {
        const unsigned to = nodes[follower].group == ~0u ? ~0u : find(nodes[follower].group);
        return to != a && to != b;
      });
    }
  // Values that a member computes are not inputs.
  int64_t inputs = static_cast<int64_t>(values.size());
  for (unsigned group : {a, b})
    for (unsigned member : groups[group].members)
      for (Value result : nodes[member].op->getResults())
        inputs -= values.contains(result);
  return inputs + outputs;
}

const char *Groups::refuseMerge(unsigned a, unsigned b) {
  const Group &one = groups[a], &two = groups[b];
  if (one.weight + two.weight > limits.maxOps)
    return "the kernel would have more than fuse.max-ops ops";
  for (auto [group, other] : {std::pair{&one, b}, std::pair{&two, a}})
    for (unsigned parameter : group->parameters)
      if (nodes[parameter].group != ~0u && find(nodes[parameter].group) == other)
        return "it is a parameter, which must be known before the kernel starts";
  // `operands` is an upper bound; count exactly only if the sum exceeds the limit.
  if (one.operands + two.operands > limits.maxOperands) {
    const int64_t operands = countOperands(a, b);
    if (operands > limits.maxOperands)
      return "the kernel would have more than fuse.max-operands inputs and outputs";
    groups[a].operands = operands;
    groups[b].operands = 0;
  }
  if (!findOrder(a, b))
    return "another op must run between them";
  return nullptr;
}

unsigned Groups::merge(unsigned into, unsigned from, const Plan &plan, bool fromIsProducer) {
  // Redistribute the ranks of all units that findOrder() visited: predecessors, the merged group,
  // successors.
  std::vector<unsigned> ranks;
  for (const std::vector<Unit> *units : {&before, &after})
    for (Unit unit : *units)
      ranks.push_back(rankOf(unit));
  llvm::sort(ranks);
  size_t next = 0;
  for (Unit unit : before)
    if (unit != into && unit != from)
      rankOf(unit) = ranks[next++];
  const unsigned rank = ranks[next];
  next += 2;
  for (Unit unit : after)
    if (unit != into && unit != from)
      rankOf(unit) = ranks[next++];

  // Merge the smaller group into the larger one, so that each op moves a logarithmic number of
  // times.
  unsigned producers = fromIsProducer ? from : into, consumers = fromIsProducer ? into : from;
  for (auto [group, role] : {std::pair{producers, plan.producers}, {consumers, plan.consumers}})
    if (role != Role::full)
      for (unsigned member : groups[group].members)
        if (nodes[member].role == Role::full && !groups[group].space.reduces)
          nodes[member].role = role;
  if (groups[into].members.size() < groups[from].members.size())
    std::swap(into, from);
  Group &kept = groups[into], &gone = groups[from];
  kept.members.insert(kept.members.end(), gone.members.begin(), gone.members.end());
  kept.parameters.append(gone.parameters.begin(), gone.parameters.end());
  kept.weight += gone.weight;
  kept.expensive |= gone.expensive;
  kept.gathers |= gone.gathers;
  kept.copies = std::max({kept.copies, gone.copies, plan.copies});
  kept.operands += gone.operands;
  kept.joins += gone.joins + 1;
  kept.siblings += gone.siblings;
  kept.space = plan.space;
  kept.rank = rank;
  gone.members = {};
  gone.parent = into;
  return into;
}

void Groups::joinProducers(unsigned position) {
  for (OpOperand &operand : nodes[position].op->getOpOperands()) {
    if (isParameter(operand))
      continue;
    Access access = resolve(operand.get());
    Operation *source = access.source ? access.source.getDefiningOp() : nullptr;
    Node *producer = source ? nodeOf(source) : nullptr;
    if (!producer)
      continue;
    if (producer->group == ~0u) {
      if (!producer->floating && classify(source) == OpClass::other &&
          !source->hasTrait<OpTrait::ConstantLike>())
        report(source, nodes[position].op, false, "no kernel is generated for the producer");
      continue;
    }
    const unsigned from = find(producer->group), to = find(nodes[position].group);
    if (from == to)
      continue;
    const auto number = static_cast<unsigned>(producer - nodes.data());
    const char *refusal = tryJoin(number, position, this->plan(number, position, access));
    if (!refusal)
      continue;
    report(source, nodes[position].op, false, refusal);
    if (refusal == otherReaders)
      refused.push_back({number, position});
  }
}

const char *Groups::tryJoin(unsigned producer, unsigned consumer, Plan plan) {
  const unsigned from = find(nodes[producer].group), to = find(nodes[consumer].group);
  if (!plan.refusal)
    plan.refusal = refuseEdges(from, to, plan);
  if (!plan.refusal)
    plan.refusal = refuseMerge(from, to);
  if (plan.refusal)
    return plan.refusal;
  report(nodes[producer].op, nodes[consumer].op, true, plan.reason);
  merge(to, from, plan, /*fromIsProducer=*/true);
  return nullptr;
}

void Groups::joinRefused() {
  for (auto [producer, consumer] : refused)
    if (find(nodes[producer].group) != find(nodes[consumer].group))
      tryJoin(producer, consumer, planInternal(producer, consumer));
}

/// Merges groups that read the same large tensor at the same points, so that it is read once.
void Groups::joinSiblings() {
  // Readers of each value, in program order.
  llvm::DenseMap<Value, SmallVector<unsigned, 4>> readers;
  SmallVector<Value> order;
  for (unsigned i = 0; i < nodes.size(); ++i) {
    if (nodes[i].group == ~0u || nodes[i].moves || nodes[i].role == Role::internal)
      continue;
    for (OpOperand &operand : nodes[i].op->getOpOperands()) {
      if (isParameter(operand))
        continue;
      Access access = resolve(operand.get());
      if (!access.source || access.kind != Access::same)
        continue;
      if (elementsOf(access.source.getType()) < 2)
        continue;
      auto [entry, isNew] = readers.try_emplace(access.source);
      if (isNew)
        order.push_back(access.source);
      entry->second.push_back(i);
    }
  }
  for (Value value : order) {
    SmallVector<unsigned, 4> &list = readers[value];
    if (list.size() < 2 || list.size() > maxReaders)
      continue;
    for (size_t i = 1; i < list.size(); ++i) {
      // Try the closest preceding readers first.
      const unsigned b = find(nodes[list[i]].group);
      for (size_t back = 1; back <= std::min<size_t>(i, 4); ++back) {
        const unsigned a = find(nodes[list[i - back]].group);
        if (a == b)
          break;
        const Space &one = groups[a].space, &two = groups[b].space;
        const bool fits = one.shape == two.shape &&
                          (one.reduces == two.reduces ? !one.reduces || one.sameReduction(two)
                                                      : (one.reduces ? one : two).trailing &&
                                                            one.rows >= 4 && two.rows >= 4) &&
                          one.elements == elementsOf(value.getType());
        if (!fits)
          continue;
        Plan plan;
        plan.space = joined(one, two, false);
        if (refuseEdges(a, b, plan))
          continue; // reported when the reader was tried
        if (const char *refusal = refuseMerge(a, b)) {
          report(nodes[list[i - back]].op, nodes[list[i]].op, false, refusal);
          continue;
        }
        report(nodes[list[i - back]].op, nodes[list[i]].op, true, "reads the same tensor");
        ++groups[merge(a, b, plan, true)].siblings;
        break;
      }
    }
  }
}

/// Merges independent scalar ops into one kernel, because a launch takes longer than computing one
/// element.
void Groups::joinScalars() {
  unsigned last = ~0u; // the preceding scalar
  for (unsigned i = 0; i < nodes.size(); ++i) {
    if (nodes[i].group == ~0u || nodes[i].opClass != OpClass::elementwise ||
        nodes[i].role != Role::full)
      continue;
    const unsigned group = find(nodes[i].group);
    if (groups[group].space.reduces || groups[group].space.elements != 1)
      continue;
    const unsigned before = last == ~0u ? group : find(nodes[last].group);
    if (before != group && groups[before].space.shape == groups[group].space.shape) {
      Plan plan;
      plan.space = joined(groups[before].space, groups[group].space, false);
      if (!refuseEdges(before, group, plan) && !refuseMerge(before, group)) {
        report(nodes[last].op, nodes[i].op, true, "also computes a single element");
        merge(before, group, plan, true);
      }
    }
    last = i;
  }
}

} // namespace tilewright::fuse
