#include "tilewright/transform/fuse/Recompute.h"

#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/support/Concat.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;

namespace tilewright::fuse {
namespace {

/// The maximum number of ops that are computed again for one value.
constexpr size_t maxCopiedOps = 64;
/// The maximum number of kernels that compute a value again.
constexpr unsigned maxRecomputing = 16;
/// The cost of an op whose elements are computed one at a time, each with its own indices and
/// masks, relative to one that is computed in vectors. Estimated.
constexpr double scatteredOp = 4;

/// A kernel's work, and the values that it reads and computes.
struct Kernel {
  KernelWork work;
  DenseSet<Value> reads;
  DenseSet<Operation *> copies; // ops of other groups that it computes again
  int64_t outputs = 0;
};

/// How a value is computed from values in memory.
struct Expression {
  llvm::SetVector<unsigned> ops; // nodes
  llvm::SetVector<Value> sources;
  /// Sources that nothing stores so far.
  SmallVector<unsigned> newlyStored;
  const char *refusal = nullptr;
};

class Chooser {
public:
  Chooser(Groups &groups, exec::TargetAttr target)
      : groups(groups), cost(target), isGpu(target.isGpu()) {}

  std::vector<RecomputeDecision> run() {
    describeKernels();
    std::vector<RecomputeDecision> decisions;
    // In program order: a value is decided after those from which it is computed.
    for (unsigned number = 0; number < groups.nodes.size(); ++number)
      if (std::optional<RecomputeDecision> decision = decide(number))
        decisions.push_back(*decision);
    return decisions;
  }

private:
  unsigned groupOf(unsigned node) {
    const unsigned group = groups.nodes[node].group;
    return group == ~0u ? group : groups.find(group);
  }
  double instructionsFor(Operation *op, int64_t elements) {
    if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
      elements = elementsOf(reduce.getInputs()[0].getType());
    return instructionsOf(op) * double(elements);
  }

  void describeKernels();
  void express(unsigned number, Expression &expression);
  void expressOperand(Value value, Expression &expression);
  const char *refuseSource(Value source, unsigned group);
  const char *refuseReader(unsigned group, const Expression &expression);
  std::optional<RecomputeDecision> decide(unsigned number);
  /// The number of points at which a kernel computes a value that it reads, or would read.
  double pointsRead(unsigned number, unsigned reader);
  /// Whether a value is computed from the result of an op by movement alone.
  bool isMoved(Value value, const Operation *from);

  Groups &groups;
  const KernelCost cost;
  const bool isGpu;
  std::vector<Kernel> kernels; // by group
};

void Chooser::describeKernels() {
  kernels.resize(groups.groups.size());
  for (unsigned number = 0; number < groups.nodes.size(); ++number) {
    const unsigned group = groupOf(number);
    if (group == ~0u)
      continue;
    const Node &node = groups.nodes[number];
    Kernel &kernel = kernels[group];
    kernel.work.instructions +=
        instructionsFor(node.op, elementsOf(node.op->getResult(0).getType()));
    for (Value source : node.sources) {
      Operation *producer = source.getDefiningOp();
      if ((!producer || groups.groupOf(producer) != group) && kernel.reads.insert(source).second)
        cost.addValue(kernel.work, source.getType());
    }
    if (!groups.isStored(number))
      continue;
    for (Value result : node.op->getResults())
      cost.addValue(kernel.work, result.getType());
    ++kernel.outputs;
  }
}

/// Whether an op updates a part of this value, in place if nothing else reads it later.
bool isOverwritten(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    return isa<stablehlo::DynamicUpdateSliceOp, stablehlo::ScatterOp>(use.getOwner()) &&
           use.getOperandNumber() == 0;
  });
}

void Chooser::expressOperand(Value value, Expression &expression) {
  SmallVector<Value> pending{value};
  while (!pending.empty() && !expression.refusal) {
    Value current = pending.pop_back_val();
    Operation *op = current.getDefiningOp();
    Node *node = op ? groups.nodeOf(op) : nullptr;
    if (op && groups.isFloating(op)) {
      llvm::append_range(pending, op->getOperands());
      continue;
    }
    if (!node || node->group == ~0u) {
      expression.sources.insert(current);
      continue;
    }
    const auto number = static_cast<unsigned>(node - groups.nodes.data());
    if (groups.isStored(number)) {
      expression.sources.insert(current);
    } else if (node->role == Role::row) {
      expression.sources.insert(current);
      expression.newlyStored.push_back(number);
    } else if (node->role == Role::full && node->opClass == OpClass::elementwise) {
      express(number, expression);
    } else {
      expression.refusal = "it is computed from elements that are not in memory";
    }
  }
}

void Chooser::express(unsigned number, Expression &expression) {
  if (!expression.ops.insert(number))
    return;
  if (expression.ops.size() > maxCopiedOps)
    expression.refusal = "too many ops would be computed again";
  for (Value operand : groups.nodes[number].op->getOperands())
    if (!expression.refusal)
      expressOperand(operand, expression);
}

/// Why the kernels of a group's readers should not read one of its sources; null if they may.
const char *Chooser::refuseSource(Value source, unsigned group) {
  if (isOverwritten(source))
    return "it is computed from memory that is overwritten";
  // A product computes its only reader in its own kernel and then stores no result of its own.
  Operation *op = source.getDefiningOp();
  Node *node = op ? groups.nodeOf(op) : nullptr;
  if (!node || node->group != ~0u)
    return nullptr;
  const bool hasOtherReader =
      llvm::any_of(node->followers, [&](unsigned follower) { return groupOf(follower) != group; });
  return hasOtherReader ? nullptr
                        : "it is computed from the result of a product that no other kernel reads";
}

/// Why a kernel should not compute the ops; null if it may.
const char *Chooser::refuseReader(unsigned group, const Expression &expression) {
  const Group &reader = groups.groups[group];
  const Kernel &kernel = kernels[group];
  int64_t more = 0, inputs = 0;
  bool isCostly = false;
  for (unsigned number : expression.ops) {
    Operation *op = groups.nodes[number].op;
    more += !kernel.copies.contains(op);
    isCostly = isCostly || isExpensive(op);
  }
  for (Value source : expression.sources)
    inputs += !kernel.reads.contains(source);
  if (int64_t(reader.weight + kernel.copies.size()) + more > groups.limits.maxOps)
    return "a reader would have more than fuse.max-ops ops";
  if (int64_t(kernel.reads.size()) + inputs + kernel.outputs > groups.limits.maxOperands)
    return "a reader would have more than fuse.max-operands inputs and outputs";
  if (!isGpu ||
      (!isCostly && int64_t(reader.weight + kernel.copies.size()) + more <= maxPrologueOps))
    return nullptr;
  // A matrix product that is the only reader of a kernel computes it for each tile.
  llvm::SmallDenseSet<unsigned> followers;
  for (unsigned member : reader.members)
    for (unsigned follower : groups.nodes[member].followers)
      if (groupOf(follower) != group)
        followers.insert(follower);
  if (followers.size() != 1 || groupOf(*followers.begin()) != ~0u ||
      groups.nodes[*followers.begin()].op->hasTrait<OpTrait::IsTerminator>())
    return nullptr;
  return "a reader would have too many ops to become a part of the product that reads it";
}

bool Chooser::isMoved(Value value, const Operation *from) {
  SmallVector<Value> pending{value};
  llvm::SmallDenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (op == from)
      return true;
    if (op && groups.isFloating(op) && seen.insert(op).second)
      llvm::append_range(pending, op->getOperands());
  }
  return false;
}

double Chooser::pointsRead(unsigned number, unsigned reader) {
  const Operation *op = groups.nodes[number].op;
  const auto own = double(elementsOf(groups.nodes[number].op->getResult(0).getType()));
  double elsewhere = 0;
  bool isSame = false;
  llvm::SmallDenseSet<Value> places;
  for (unsigned follower : groups.nodes[number].followers) {
    if (groupOf(follower) != reader)
      continue;
    const Node &node = groups.nodes[follower];
    for (Value operand : node.op->getOperands()) {
      Access access = groups.resolve(operand);
      // Elements that a pad or a concatenate moves have no box, so they are computed at single
      // indices.
      const bool isScattered = !access.source && isMoved(operand, op);
      if (!isScattered && (!access.source || access.source.getDefiningOp() != op))
        continue;
      if (!places.insert(operand).second)
        continue;
      if (!isScattered && access.kind == Access::same && !node.moves)
        isSame = true;
      else
        elsewhere += (isGpu && isScattered ? scatteredOp : 1) *
                     std::max(own, double(groups.groups[reader].space.elements));
    }
  }
  return std::max(own, elsewhere + (isSame ? own : 0));
}

std::optional<RecomputeDecision> Chooser::decide(unsigned number) {
  Node &node = groups.nodes[number];
  const unsigned group = groupOf(number);
  if (group == ~0u || node.opClass != OpClass::elementwise || node.role != Role::full)
    return std::nullopt;
  llvm::SmallSetVector<unsigned, 4> readers;
  bool isReadInside = false;
  for (unsigned follower : node.followers) {
    const unsigned reader = groupOf(follower);
    if (reader == ~0u)
      return std::nullopt; // it must be stored anyway
    if (reader != group)
      readers.insert(reader);
    else
      isReadInside = true;
  }
  if (readers.empty() || readers.size() > maxRecomputing)
    return std::nullopt;

  RecomputeDecision decision{.op = node.op, .readers = unsigned(readers.size())};
  Expression expression;
  express(number, expression);
  decision.refusal = expression.refusal;
  for (Value source : expression.sources)
    if (!decision.refusal)
      decision.refusal = refuseSource(source, group);
  for (unsigned reader : readers) {
    if (!decision.refusal)
      decision.refusal = refuseReader(reader, expression);
    for (unsigned parameter : groups.groups[reader].parameters)
      if (parameter == number)
        decision.refusal = "it is a parameter, which must be known before the kernel starts";
  }
  if (decision.refusal)
    return decision;

  // Three versions of each kernel: without the value, storing or loading it, and computing it
  // again.
  const Type type = node.op->getResult(0).getType();
  KernelWork stores = kernels[group].work, rest = stores;
  cost.addValue(rest, type, -1);
  if (!isReadInside)
    rest.instructions -= instructionsFor(node.op, elementsOf(type));
  KernelWork producer = rest;
  for (unsigned row : expression.newlyStored)
    cost.addValue(producer, groups.nodes[row].op->getResult(0).getType());
  decision.storeCycles = cost.cyclesOf(stores) - cost.cyclesOf(rest);
  decision.recomputeCycles = cost.cyclesOf(producer) - cost.cyclesOf(rest);
  SmallVector<KernelWork> works;
  SmallVector<std::pair<double, double>> costs; // of computing again, and of loading
  for (unsigned reader : readers) {
    const Kernel &kernel = kernels[reader];
    KernelWork loads = kernel.work, without = loads;
    cost.addValue(without, type, -1);
    KernelWork computes = without;
    const double points = pointsRead(number, reader) / double(elementsOf(type));
    for (unsigned op : expression.ops)
      if (!kernel.copies.contains(groups.nodes[op].op))
        computes.instructions +=
            points * instructionsFor(groups.nodes[op].op,
                                     elementsOf(groups.nodes[op].op->getResult(0).getType()));
    for (Value source : expression.sources)
      if (!kernel.reads.contains(source))
        cost.addValue(computes, source.getType());
    costs.push_back({cost.cyclesOf(computes) - cost.cyclesOf(without),
                     cost.cyclesOf(loads) - cost.cyclesOf(without)});
    decision.recomputeCycles += costs.back().first;
    decision.storeCycles += costs.back().second;
    works.push_back(computes);
  }
  decision.isRecomputed = decision.recomputeCycles < decision.storeCycles;
  if (!decision.isRecomputed)
    return decision;

  node.recomputed = true;
  kernels[group].work = producer;
  kernels[group].outputs += int64_t(expression.newlyStored.size()) - 1;
  for (unsigned row : expression.newlyStored)
    groups.nodes[row].storedAsSource = true;
  for (auto [reader, work, both] : llvm::zip_equal(readers, works, costs)) {
    Kernel &kernel = kernels[reader];
    kernel.work = work;
    kernel.reads.erase(node.op->getResult(0));
    kernel.reads.insert(expression.sources.begin(), expression.sources.end());
    for (unsigned op : expression.ops)
      kernel.copies.insert(groups.nodes[op].op);
    Group &changed = groups.groups[reader];
    ++changed.recomputed;
    changed.recomputeCycles += both.first;
    changed.storeCycles +=
        both.second + (cost.cyclesOf(stores) - cost.cyclesOf(rest)) / double(readers.size());
  }
  return decision;
}

} // namespace

std::string RecomputeDecision::reason() const {
  if (refusal)
    return refusal;
  return concat("computing it again takes ", std::llround(recomputeCycles),
                " cycles, storing and loading it ", std::llround(storeCycles));
}

std::vector<RecomputeDecision> chooseRecomputed(Groups &groups, exec::TargetAttr target) {
  return Chooser(groups, target).run();
}

} // namespace tilewright::fuse
