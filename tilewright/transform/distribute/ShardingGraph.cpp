#include "tilewright/transform/distribute/ShardingGraph.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::distribute {

using numerics::AxisRef;

Sharding nested(const Sharding &outer, Sharding inner) {
  if (outer.isReplicated())
    return inner;
  if (inner.isReplicated())
    return outer;
  Sharding both = outer;
  both.dims.resize(std::max(outer.dims.size(), inner.dims.size()));
  for (size_t dim = 0; dim < inner.dims.size(); ++dim)
    for (const AxisRef &axis : inner.dims[dim])
      append(both.dims[dim], axis);
  for (const AxisRef &axis : inner.unreduced)
    append(both.unreduced, axis);
  return both;
}

/// The trip count of a loop that counts from a constant to a constant in steps of one, as JAX
/// writes fori_loop and scan; otherwise a guess.
static double tripsOf(stablehlo::WhileOp loop) {
  constexpr double guess = 8;
  Block &condition = loop.getCond().front();
  auto compare = condition.getTerminator()->getOperand(0).getDefiningOp<stablehlo::CompareOp>();
  if (!compare)
    return guess;
  auto counter = dyn_cast<BlockArgument>(compare.getLhs());
  DenseIntElementsAttr limit, start;
  if (!counter || counter.getOwner() != &condition ||
      !matchPattern(compare.getRhs(), m_Constant(&limit)) || !limit.isSplat() ||
      !matchPattern(loop->getOperand(counter.getArgNumber()), m_Constant(&start)) ||
      !start.isSplat())
    return guess;
  const double trips = static_cast<double>(limit.getSplatValue<APInt>().getSExtValue()) -
                       static_cast<double>(start.getSplatValue<APInt>().getSExtValue());
  return trips >= 1 && trips < 1e9 ? trips : guess;
}

class ShardingGraph::Reader {
public:
  Reader(func::FuncOp main, ShardBuilder &shards, ShardingGraph &graph)
      : main(main), shards(shards), graph(graph) {}

  Status read() {
    for (BlockArgument argument : main.getArguments()) {
      const unsigned number = argument.getArgNumber();
      TILEWRIGHT_ASSIGN(std::optional<Sharding> sharding,
                        ofAttributes(main.getArgAttrDict(number), argument.getType()));
      GraphNode &node = addTie(nullptr, argument.getType(), {}, {argument}, 1);
      // A parameter without a sharding is replicated.
      fix(node, sharding.value_or(Sharding()));
      node.linear.clear();
    }
    return readBlock(main.front(), 1, nullptr);
  }

private:
  Result<std::optional<Sharding>> ofAttributes(DictionaryAttr attributes, Type type) {
    auto attr = attributes ? attributes.getAs<sdy::TensorShardingAttr>("sdy.sharding") : nullptr;
    if (!attr)
      return std::optional<Sharding>();
    // Use all axes of the mesh, because no manual region encloses a parameter or a result.
    TILEWRIGHT_ASSIGN(Sharding sharding, shards.shardingOf(attr, std::nullopt));
    if (!sharding.isReplicated())
      TILEWRIGHT_TRY(shards.shardType(type, sharding).takeStatus());
    return std::optional(std::move(sharding));
  }

  int number(Value value, double repeats) {
    auto [entry, isNew] = graph.numberOf.try_emplace(value, static_cast<int>(graph.values.size()));
    if (isNew)
      graph.values.push_back({value, -1, 0, repeats, false, {}});
    return entry->second;
  }

  GraphNode &add(Operation *op, ArrayRef<OpOperand *> ins, ArrayRef<Value> outs, double repeats) {
    const auto at = static_cast<int>(graph.nodes.size());
    GraphNode &node = graph.nodes.emplace_back();
    node.op = op;
    node.repeats = repeats;
    node.manualAxes = manualAxes;
    for (OpOperand *use : ins)
      addIn(at, use);
    for (Value out : outs)
      addOut(at, out, repeats);
    return node;
  }

  void addIn(int at, OpOperand *use) {
    GraphNode &node = graph.nodes[static_cast<size_t>(at)];
    const int value = number(use->get(), node.repeats);
    graph.values[static_cast<size_t>(value)].uses.push_back(
        {at, static_cast<unsigned>(node.ins.size())});
    node.ins.push_back(use);
    node.inValues.push_back(value);
  }

  void addOut(int at, Value out, double repeats) {
    GraphNode &node = graph.nodes[static_cast<size_t>(at)];
    const int value = number(out, repeats);
    GraphValue &made = graph.values[static_cast<size_t>(value)];
    made.maker = at;
    made.makerOut = static_cast<int>(node.outs.size());
    made.repeats = repeats;
    node.outs.push_back(value);
  }

  /// Values of one type that have the same sharding.
  GraphNode &addTie(Operation *op, Type type, ArrayRef<OpOperand *> ins, ArrayRef<Value> outs,
                    double repeats) {
    GraphNode &node = add(op, ins, outs, repeats);
    auto tensor = dyn_cast<RankedTensorType>(type);
    ShardingRule::Dims dims;
    if (tensor && tensor.hasStaticShape())
      for (int64_t size : tensor.getShape())
        dims.push_back({node.rule.add(size)});
    node.rule.operands.assign(ins.size(), dims);
    node.rule.results.assign(outs.size(), dims);
    SmallVector<unsigned, 2> all;
    for (unsigned i = 0; i < ins.size(); ++i)
      all.push_back(i);
    if (tensor && tensor.hasStaticShape() && !tensor.getElementType().isInteger(1) &&
        tensor.getElementType().isIntOrFloat())
      node.linear.push_back(all);
    return node;
  }

  void addMesh(const std::shared_ptr<const numerics::MeshCoordinates> &mesh) {
    if (mesh && !llvm::is_contained(graph.meshes, mesh))
      graph.meshes.push_back(mesh);
  }

  /// Restricts the node to this sharding.
  void fix(GraphNode &node, const Sharding &sharding) {
    addMesh(sharding.mesh);
    node.isFixed = true;
    node.mesh = sharding.mesh;
    node.fixed.assign(node.rule.loops.size(), {});
    node.isClosed.assign(node.rule.loops.size(), true);
    for (size_t dim = 0; dim < node.fixed.size(); ++dim)
      node.fixed[dim] = sharding.along(dim);
    node.fixedOpen = sharding.unreduced;
    node.combine = sharding.combine;
    node.linear.clear();
    if (node.fixedOpen.empty())
      return;
    // Values that are only passed on are terms if the program says so, whatever their type.
    SmallVector<unsigned, 2> &all = node.linear.emplace_back();
    for (unsigned i = 0; i < node.ins.size(); ++i)
      all.push_back(i);
  }

  Status readBlock(Block &block, double repeats, Operation *parent);
  Status readOp(Operation *op, double repeats);
  Status readLoop(stablehlo::WhileOp loop, double repeats);
  Status readManual(sdy::ManualComputationOp op, double repeats);
  Status readConstraint(sdy::ShardingConstraintOp op, double repeats);
  void readRuleOfFunction(Operation *op, double repeats);
  void readOther(Operation *op, double repeats);

  func::FuncOp main;
  ShardBuilder &shards;
  ShardingGraph &graph;
  const std::vector<std::string> *manualAxes = nullptr;
  /// The node of each sharding group. The manual axes are part of the key: a value in a manual
  /// region is a shard along them, and cannot be sharded along them again as values outside can.
  std::map<std::pair<int64_t, std::vector<std::string>>, int> groups;
};

/// Whether a loop inside `region` encloses the op.
static bool isInLoopWithin(Operation *op, Region *region) {
  while (op->getParentRegion() != region) {
    op = op->getParentOp();
    if (isa<stablehlo::WhileOp>(op))
      return true;
  }
  return false;
}

Result<ShardingGraph> ShardingGraph::make(func::FuncOp main, ShardBuilder &shards) {
  ShardingGraph graph;
  TILEWRIGHT_TRY(Reader(main, shards, graph).read());
  for (GraphValue &value : graph.values)
    value.isHeld = llvm::any_of(value.uses, [&](const GraphValue::Use &use) {
      Operation *user = graph.nodes[static_cast<size_t>(use.node)].ins[use.in]->getOwner();
      return isInLoopWithin(user, value.value.getParentRegion());
    });
  return graph;
}

Status ShardingGraph::Reader::readBlock(Block &block, double repeats, Operation *parent) {
  for (Operation &op : block.without_terminator())
    TILEWRIGHT_TRY(readOp(&op, repeats));
  Operation *terminator = block.getTerminator();
  if (parent)
    return Status(); // its node takes the operands
  for (OpOperand &use : terminator->getOpOperands()) {
    const unsigned number = use.getOperandNumber();
    TILEWRIGHT_ASSIGN(std::optional<Sharding> sharding,
                      ofAttributes(main.getResultAttrDict(number), use.get().getType()));
    GraphNode &node = addTie(terminator, use.get().getType(), {&use}, {}, repeats);
    if (sharding)
      fix(node, *sharding);
    else
      node.isFreeResult = true;
    node.linear.resize(node.fixedOpen.empty() ? 0 : 1);
  }
  return Status();
}

void ShardingGraph::Reader::readRuleOfFunction(Operation *op, double repeats) {
  for (auto [use, result] : llvm::zip_equal(returnedBy(op), op->getResults()))
    addTie(op, result.getType(), {&use}, {result}, repeats);
  std::optional<ShardingRule> rule = writtenRule(op);
  if (!rule)
    return;
  GraphNode node;
  node.op = op;
  node.isOp = true;
  node.manualAxes = manualAxes;
  for (Value parameter : op->getOperands().drop_back(op->getNumResults()))
    node.inValues.push_back(number(parameter, repeats));
  for (Value result : op->getResults())
    node.outs.push_back(number(result, repeats));
  node.rule = std::move(*rule);
  node.rule.operands.truncate(node.inValues.size());
  graph.functionRules.push_back({static_cast<int>(graph.nodes.size()) - 1, std::move(node)});
}

/// An op that must be computed on replicated operands.
void ShardingGraph::Reader::readOther(Operation *op, double repeats) {
  SmallVector<OpOperand *> ins;
  for (OpOperand &use : op->getOpOperands())
    ins.push_back(&use);
  // Regions of other ops read outer values, which must therefore be replicated.
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (OpOperand &use : inner->getOpOperands())
        if (!op->isAncestor(use.get().getParentRegion()->getParentOp()))
          ins.push_back(&use);
    });
  GraphNode &node = add(op, ins, SmallVector<Value>(op->getResults()), repeats);
  node.rule.operands.resize(ins.size());
  node.rule.results.resize(op->getNumResults());
}

Status ShardingGraph::Reader::readOp(Operation *op, double repeats) {
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    return readLoop(loop, repeats);
  if (auto manual = dyn_cast<sdy::ManualComputationOp>(op))
    return readManual(manual, repeats);
  if (auto constraint = dyn_cast<sdy::ShardingConstraintOp>(op))
    return readConstraint(constraint, repeats);
  if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op)) {
    add(op, {&op->getOpOperand(0)}, {}, repeats).rule.operands.resize(1);
    for (Region &region : op->getRegions())
      TILEWRIGHT_TRY(readBlock(region.front(), repeats, op));
    for (OpResult result : op->getResults()) {
      SmallVector<OpOperand *> ins;
      for (Region &region : op->getRegions())
        ins.push_back(&region.front().getTerminator()->getOpOperand(result.getResultNumber()));
      addTie(op, result.getType(), ins, {result}, repeats);
    }
    return Status();
  }
  if (passesOn(op)) {
    for (auto [use, result] : llvm::zip_equal(op->getOpOperands(), op->getResults()))
      addTie(op, result.getType(), {&use}, {result}, repeats);
    return Status();
  }
  if (isRuleOfFunction(op)) {
    readRuleOfFunction(op, repeats);
    return Status();
  }
  std::optional<ShardingRule> rule = shardingRuleOf(op);
  if (!rule) {
    readOther(op, repeats);
    return Status();
  }
  SmallVector<OpOperand *> ins;
  for (OpOperand &use : op->getOpOperands())
    ins.push_back(&use);
  GraphNode &node = add(op, ins, SmallVector<Value>(op->getResults()), repeats);
  node.isOp = true;
  node.rule = std::move(*rule);
  node.linear = linearOperands(op);
  return Status();
}

Status ShardingGraph::Reader::readLoop(stablehlo::WhileOp loop, double repeats) {
  Block &condition = loop.getCond().front(), &body = loop.getBody().front();
  const double inside = repeats * tripsOf(loop);
  const auto first = static_cast<int>(graph.nodes.size());
  for (OpOperand &use : loop->getOpOperands()) {
    const unsigned i = use.getOperandNumber();
    const int at = first + static_cast<int>(i);
    addTie(loop, use.get().getType(), {&use}, {loop.getResult(i)}, repeats);
    addOut(at, condition.getArgument(i), inside);
    addOut(at, body.getArgument(i), inside);
    GraphNode &node = graph.nodes[static_cast<size_t>(at)];
    node.rule.results.assign(3, node.rule.results[0]);
  }
  TILEWRIGHT_TRY(readBlock(condition, inside, loop));
  add(loop, {&condition.getTerminator()->getOpOperand(0)}, {}, inside).rule.operands.resize(1);
  TILEWRIGHT_TRY(readBlock(body, inside, loop));
  for (OpOperand &use : body.getTerminator()->getOpOperands()) {
    const int at = first + static_cast<int>(use.getOperandNumber());
    number(use.get(), inside);
    addIn(at, &use);
    GraphNode &node = graph.nodes[static_cast<size_t>(at)];
    node.rule.operands.push_back(ShardingRule::Dims(node.rule.operands[0]));
    if (!node.linear.empty())
      node.linear[0].push_back(1);
  }
  return Status();
}

/// Whether a dimension may be sharded further than the program specifies.
static bool isOpen(sdy::TensorShardingAttr sharding, size_t dim) {
  ArrayRef<sdy::DimensionShardingAttr> dims = sharding.getDimShardings();
  return dim < dims.size() && !dims[dim].getIsClosed();
}

/// The region declares the sharding of its operands and results along manual axes. Along all other
/// axes, operands and results are sharded like values in its body, if their dimensions are open.
Status ShardingGraph::Reader::readManual(sdy::ManualComputationOp op, double repeats) {
  auto names = llvm::to_vector(op.getManualAxes());
  Block &body = op.getBody().front();
  auto read = [&](sdy::TensorShardingAttr attr, Type type) -> Result<Sharding> {
    TILEWRIGHT_ASSIGN(Sharding sharding, shards.shardingOf(attr, ArrayRef<StringAttr>(names)));
    if (!sharding.isReplicated())
      TILEWRIGHT_TRY(shards.shardType(type, sharding).takeStatus());
    addMesh(sharding.mesh);
    return sharding;
  };
  auto close = [&](GraphNode &node, sdy::TensorShardingAttr attr) {
    node.isFixed = true;
    node.fixed.assign(node.rule.loops.size(), {});
    for (size_t dim = 0; dim < node.rule.loops.size(); ++dim)
      node.isClosed.push_back(!isOpen(attr, dim));
    node.linear.clear();
  };
  auto inner = std::make_unique<std::vector<std::string>>();
  if (manualAxes)
    *inner = *manualAxes;
  for (StringAttr name : names)
    inner->push_back(name.str());
  const std::vector<std::string> *around = manualAxes;
  const std::vector<std::string> *within =
      graph.manualAxisLists.emplace_back(std::move(inner)).get();
  manualAxes = within;
  for (auto [use, argument, attr] : llvm::zip_equal(op->getOpOperands(), body.getArguments(),
                                                    op.getInShardings().getShardings())) {
    TILEWRIGHT_ASSIGN(Sharding own, read(attr, use.get().getType()));
    GraphNode &node = addTie(op, argument.getType(), {&use}, {argument}, repeats);
    close(node, attr);
    node.outerIn = std::move(own);
  }
  TILEWRIGHT_TRY(readBlock(body, repeats, op));
  for (auto [use, result, attr] :
       llvm::zip_equal(body.getTerminator()->getOpOperands(), op->getResults(),
                       op.getOutShardings().getShardings())) {
    TILEWRIGHT_ASSIGN(Sharding own, read(attr, result.getType()));
    GraphNode &node = addTie(op, use.get().getType(), {&use}, {result}, repeats);
    close(node, attr);
    node.outerOut = std::move(own);
  }
  manualAxes = around;
  return Status();
}

Status ShardingGraph::Reader::readConstraint(sdy::ShardingConstraintOp op, double repeats) {
  OpOperand &use = op->getOpOperand(0);
  if (auto group = op->getAttrOfType<IntegerAttr>(groupAttribute)) {
    const std::pair key(group.getInt(), manualAxes ? *manualAxes : std::vector<std::string>());
    auto found = groups.find(key);
    if (found != groups.end() &&
        graph.values[static_cast<size_t>(graph.nodes[static_cast<size_t>(found->second)].outs[0])]
                .value.getType() == op.getType()) {
      addIn(found->second, &use);
      addOut(found->second, op.getResult(), repeats);
      GraphNode &node = graph.nodes[static_cast<size_t>(found->second)];
      node.rule.operands.push_back(ShardingRule::Dims(node.rule.operands[0]));
      node.rule.results.push_back(ShardingRule::Dims(node.rule.results[0]));
      return Status();
    }
    groups.try_emplace(key, static_cast<int>(graph.nodes.size()));
    addTie(op, op.getType(), {&use}, {op.getResult()}, repeats).linear.clear();
    return Status();
  }
  // A constraint inside a manual region cannot use the manual axes.
  SmallVector<StringAttr> free;
  auto note = [&](ArrayRef<sdy::AxisRefAttr> axes) {
    for (sdy::AxisRefAttr axis : axes)
      if (!manualAxes || !llvm::is_contained(*manualAxes, axis.getName()))
        free.push_back(StringAttr::get(op.getContext(), axis.getName()));
  };
  for (sdy::DimensionShardingAttr dimension : op.getSharding().getDimShardings())
    note(dimension.getAxes());
  note(op.getSharding().getUnreducedAxes());
  TILEWRIGHT_ASSIGN(Sharding sharding,
                    shards.shardingOf(op.getSharding(), ArrayRef<StringAttr>(free)));
  GraphNode &node = addTie(op, op.getType(), {&use}, {op.getResult()}, repeats);
  // Ignore a constraint on a dimension that is not divisible, with a remark.
  if (!sharding.isReplicated())
    if (Status status = shards.shardType(op.getInput().getType(), sharding).takeStatus();
        !status.isOk()) {
      graph.unfollowed.push_back({op, status.message()});
      return Status();
    }
  fix(node, sharding);
  for (auto [dim, given] : llvm::enumerate(op.getSharding().getDimShardings()))
    node.isClosed[dim] = given.getIsClosed() || !given.getAxes().empty();
  return Status();
}

} // namespace tilewright::distribute
