#include "tilewright/transform/fuse/Build.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/SortBlock.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;

namespace tilewright::fuse {
namespace {

/// The content of a fusion: the ops to clone, in order, and its inputs and outputs.
struct Content {
  SmallVector<Operation *> ops;
  llvm::SetVector<Value> inputs;
  llvm::SetVector<Value> outputs;
  SmallVector<unsigned> members; // nodes
  unsigned group = ~0u;
};

class Builder {
public:
  Builder(Block &block, Groups &groups) : block(block), groups(groups) {}

  void run() {
    for (unsigned g = 0; g < groups.groups.size(); ++g) {
      const Group &group = groups.groups[g];
      if (group.parent != g || groups.groupOf(groups.nodes[group.members[0]].op) != g)
        continue;
      contents.emplace_back();
      contents.back().group = g;
      contents.back().members = usedMembers(g);
      for (unsigned member : contents.back().members)
        include(groups.nodes[member].op, contents.back());
    }
    findNeeded();
    for (Content &content : contents)
      build(content);
    for (auto [value, replacement] : replacements)
      value.replaceAllUsesWith(replacement);
    eraseGone();
    transform::sortBlock(block, hasEffects);
  }

private:
  /// The members whose results this or another kernel uses: other kernels may compute the rest
  /// again.
  SmallVector<unsigned> usedMembers(unsigned group) {
    DenseSet<unsigned> used;
    SmallVector<unsigned> members;
    for (unsigned member : llvm::reverse(groups.groups[group].members)) {
      const Node &node = groups.nodes[member];
      if (!groups.isStored(member) && !node.followers.empty() &&
          llvm::none_of(node.followers, [&](unsigned follower) { return used.contains(follower); }))
        continue;
      used.insert(member);
      members.push_back(member);
    }
    std::reverse(members.begin(), members.end());
    return members;
  }

  /// Adds the op and, recursively, the ops outside its group that are cloned into the fusion.
  void include(Operation *op, Content &content) {
    DenseSet<Operation *> &seen = included;
    if (content.ops.empty())
      seen.clear();
    SmallVector<std::pair<Operation *, bool>> pending{{op, false}};
    while (!pending.empty()) {
      auto [current, operandsDone] = pending.pop_back_val();
      if (operandsDone) {
        content.ops.push_back(current);
        continue;
      }
      if (!seen.insert(current).second)
        continue;
      pending.push_back({current, true});
      SmallVector<Value> operands;
      current->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (!current->isProperAncestor(operand.getParentBlock()->getParentOp()) &&
              operand.getParentBlock()->getParentOp() != current)
            operands.push_back(operand);
      });
      for (Value operand : operands) {
        Operation *producer = operand.getDefiningOp();
        if (producer && groups.groupOf(producer) == content.group)
          continue; // a member, which was added before
        if (producer && (goesInside(producer, content) || isRecomputed(producer)))
          pending.push_back({producer, false});
        else
          content.inputs.insert(operand);
      }
    }
  }

  /// Whether an op is cloned into the fusion. All cloned ops (Node::floating) are, except a reshape
  /// of a value in memory: it only renames that memory and stays outside.
  bool goesInside(Operation *op, const Content &content) {
    if (!groups.isFloating(op))
      return false;
    while (isa<stablehlo::ReshapeOp>(op)) {
      op = op->getOperand(0).getDefiningOp();
      if (!op)
        return false;
      if (groups.groupOf(op) == content.group)
        return true;
      if (!groups.isFloating(op))
        return false;
    }
    return true;
  }

  /// Whether a member of another group is cloned into the fusion instead of being stored there.
  /// Its own operands may be members of that group that no other kernel reads: then they are
  /// cloned, too, unless their kernel stores them.
  bool isRecomputed(Operation *op) {
    Node *node = groups.nodeOf(op);
    return node && groups.groupOf(op) != ~0u && node->opClass == OpClass::elementwise &&
           node->role == Role::full &&
           !groups.isStored(static_cast<unsigned>(node - groups.nodes.data()));
  }

  /// Finds the values that are needed outside of fusions, and the cloned ops whose original must
  /// stay outside because a value outside of fusions needs it.
  void findNeeded() {
    for (Content &content : contents)
      needed.insert(content.inputs.begin(), content.inputs.end());
    for (Node &node : llvm::reverse(groups.nodes)) {
      if (groups.groupOf(node.op) != ~0u)
        continue;
      const bool gone = node.floating && llvm::none_of(node.op->getResults(), [&](Value result) {
                          return needed.contains(result) || isUsedFromElsewhere(result);
                        });
      if (gone)
        continue;
      standing.insert(node.op);
      node.op->walk(
          [&](Operation *inner) { needed.insert(inner->operand_begin(), inner->operand_end()); });
    }
    // An iota that stays outside becomes a fusion of its own.
    for (unsigned i = 0; i < groups.nodes.size(); ++i) {
      Operation *op = groups.nodes[i].op;
      if (!isa<stablehlo::IotaOp>(op) || !standing.erase(op))
        continue;
      Content content;
      content.ops.push_back(op);
      content.members.push_back(i);
      contents.push_back(std::move(content));
    }
    for (Content &content : contents)
      for (unsigned member : content.members)
        for (Value result : groups.nodes[member].op->getResults())
          if (needed.contains(result))
            content.outputs.insert(result);
  }

  /// Whether an op in a nested region uses the value. Fusions in nested regions are built first, so
  /// they already have copies of the ops that they need.
  bool isUsedFromElsewhere(Value value) {
    return llvm::any_of(value.getUsers(),
                        [&](Operation *user) { return user->getBlock() != &block; });
  }

  static std::string nameOf(const Content &content) {
    // Name the fusion after its computing ops, in program order; data movement contributes to the
    // name only if there are no other ops.
    SmallVector<StringRef> names;
    for (bool movements : {false, true}) {
      for (Operation *op : content.ops) {
        OpClass opClass = classify(op);
        if (opClass == OpClass::splat || opClass == OpClass::reshape ||
            (opClass == OpClass::movement) != movements)
          continue;
        StringRef name = op->getName().stripDialect();
        if (auto composite = op->getAttrOfType<StringAttr>("name"))
          name = composite.getValue().rsplit('.').second;
        if (!llvm::is_contained(names, name))
          names.push_back(name);
      }
      if (!names.empty())
        break;
    }
    const size_t count = names.size();
    if (count > 4)
      names.erase(names.begin() + 2, names.end() - 2);
    std::string text;
    for (StringRef name : names)
      text += (text.empty() ? "" : "_") + name.str();
    return text.empty() ? "fusion" : text;
  }

  std::string reasonOf(const Content &content) {
    if (content.group == ~0u)
      return "an op by itself";
    const Group &group = groups.groups[content.group];
    std::string reason = "over " + group.space.toString();
    if (content.ops.size() == 1)
      return reason + ", an op by itself";
    if (group.joins)
      reason += concat(", ", group.joins, group.joins == 1 ? " join" : " joins");
    if (group.siblings)
      reason += concat(" (", group.siblings, " because both read the same tensor)");
    if (group.recomputed)
      reason +=
          concat(", ", group.recomputed, group.recomputed == 1 ? " value" : " values",
                 " of other kernels computed again (", std::llround(group.recomputeCycles),
                 " cycles instead of ", std::llround(group.storeCycles), " to store and load)");
    return reason;
  }

  void build(Content &content) {
    if (content.outputs.empty())
      return; // dead: eraseGone() erases it
    Operation *last = groups.nodes[content.members.back()].op;
    OpBuilder builder(last);
    SmallVector<Type> types;
    for (Value output : content.outputs)
      types.push_back(output.getType());
    Location location = last->getLoc();
    auto fusion = exec::FusionOp::create(
        builder, location, types, builder.getStringAttr(nameOf(content)),
        content.inputs.getArrayRef(), builder.getStringAttr(reasonOf(content)));
    Block *body = builder.createBlock(&fusion.getBody());
    IRMapping mapping;
    for (Value input : content.inputs)
      mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
    builder.setInsertionPointToEnd(body);
    for (Operation *op : content.ops)
      builder.clone(*op, mapping);
    SmallVector<Value> results;
    for (Value output : content.outputs)
      results.push_back(mapping.lookup(output));
    exec::YieldOp::create(builder, location, results);
    for (auto [output, result] : llvm::zip_equal(content.outputs, fusion.getResults()))
      replacements.push_back({output, result});
  }

  void eraseGone() {
    for (Node &node : llvm::reverse(groups.nodes))
      if (!standing.contains(node.op))
        node.op->erase();
  }

  Block &block;
  Groups &groups;
  std::vector<Content> contents;
  DenseSet<Value> needed;
  DenseSet<Operation *> standing, included;
  SmallVector<std::pair<Value, Value>> replacements;
};

} // namespace

void buildFusions(Block &block, Groups &groups) { Builder(block, groups).run(); }

} // namespace tilewright::fuse
