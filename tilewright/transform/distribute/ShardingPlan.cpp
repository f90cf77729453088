#include "tilewright/transform/distribute/ShardingPlan.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace tilewright::distribute {

using numerics::AxisRef;
using numerics::MeshCoordinates;

static constexpr llvm::StringLiteral passName = "distribute-split";

const Sharding &ShardingPlan::shardingOf(Value value) const {
  static const Sharding replicated;
  auto found = valueShardings.find(value);
  return found == valueShardings.end() ? replicated : found->second;
}

const OpPlan *ShardingPlan::find(Operation *op) const {
  auto found = plans.find(op);
  return found == plans.end() ? nullptr : &found->second;
}

Result<ShardingPlan> ShardingPlan::make(func::FuncOp main, ShardBuilder &shards) {
  ShardingPlan plan(main, shards);
  TILEWRIGHT_TRY(plan.readShardings());
  plan.forward(main.front());
  if (plan.joinGroups())
    plan.forward(main.front());
  plan.backward(main.front());
  return plan;
}

//===- Shardings in the program -------------------------------------------===//

Status ShardingPlan::readShardings() {
  auto ofAttributes = [&](DictionaryAttr attributes, Type type) -> Result<std::optional<Sharding>> {
    auto attr = attributes ? attributes.getAs<sdy::TensorShardingAttr>("sdy.sharding") : nullptr;
    if (!attr)
      return std::optional<Sharding>();
    // Use all axes of the mesh, because no manual region encloses a parameter or a result.
    TILEWRIGHT_ASSIGN(Sharding sharding, shards.shardingOf(attr, std::nullopt));
    if (!sharding.isReplicated())
      TILEWRIGHT_TRY(shards.shardType(type, sharding).takeStatus());
    return std::optional(std::move(sharding));
  };
  for (BlockArgument argument : main.getArguments()) {
    TILEWRIGHT_ASSIGN(
        std::optional<Sharding> sharding,
        ofAttributes(main.getArgAttrDict(argument.getArgNumber()), argument.getType()));
    if (sharding && !sharding->isReplicated())
      valueShardings[argument] = std::move(*sharding);
  }
  for (auto [number, type] : llvm::enumerate(main.getResultTypes())) {
    TILEWRIGHT_ASSIGN(std::optional<Sharding> sharding,
                      ofAttributes(main.getResultAttrDict(static_cast<unsigned>(number)), type));
    resultShardings.push_back(std::move(sharding));
  }
  Status status;
  main.walk([&](Operation *op) {
    if (auto manual = dyn_cast<sdy::ManualComputationOp>(op))
      status = readManual(manual);
    else if (auto constraint = dyn_cast<sdy::ShardingConstraintOp>(op))
      status = readConstraint(constraint);
    return status.isOk() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return status;
}

Status ShardingPlan::readManual(sdy::ManualComputationOp op) {
  auto names = llvm::to_vector(op.getManualAxes());
  auto read = [&](ArrayRef<sdy::TensorShardingAttr> shardings, TypeRange types,
                  std::vector<Sharding> &into) -> Status {
    for (auto [attr, type] : llvm::zip_equal(shardings, types)) {
      TILEWRIGHT_ASSIGN(Sharding sharding, shards.shardingOf(attr, ArrayRef<StringAttr>(names)));
      if (!sharding.isReplicated())
        TILEWRIGHT_TRY(shards.shardType(type, sharding).takeStatus());
      into.push_back(std::move(sharding));
    }
    return Status();
  };
  Manual &manual = manuals[op];
  TILEWRIGHT_TRY(read(op.getInShardings().getShardings(), op.getOperandTypes(), manual.ownInputs));
  return read(op.getOutShardings().getShardings(), op.getResultTypes(), manual.ownResults);
}

/// Whether `axis` is a manual axis of a region around `op`.
static bool isManual(Operation *op, StringRef axis) {
  for (auto around = op->getParentOfType<sdy::ManualComputationOp>(); around;
       around = around->getParentOfType<sdy::ManualComputationOp>())
    if (llvm::any_of(around.getManualAxes(),
                     [&](StringAttr name) { return name.getValue() == axis; }))
      return true;
  return false;
}

Status ShardingPlan::readConstraint(sdy::ShardingConstraintOp op) {
  if (auto group = op->getAttrOfType<IntegerAttr>(groupAttribute)) {
    // All dimensions are open until the sharding of another member is known.
    groups[group.getInt()].push_back(op);
    const auto rank = static_cast<size_t>(cast<RankedTensorType>(op.getType()).getRank());
    constraints[op] = {Sharding(), std::vector<bool>(rank, true)};
    return Status();
  }
  // A constraint inside a manual region cannot use the manual axes.
  SmallVector<StringAttr> free;
  auto note = [&](ArrayRef<sdy::AxisRefAttr> axes) {
    for (sdy::AxisRefAttr axis : axes)
      if (!isManual(op, axis.getName()))
        free.push_back(StringAttr::get(op.getContext(), axis.getName()));
  };
  for (sdy::DimensionShardingAttr dimension : op.getSharding().getDimShardings())
    note(dimension.getAxes());
  note(op.getSharding().getUnreducedAxes());
  TILEWRIGHT_ASSIGN(Sharding sharding,
                    shards.shardingOf(op.getSharding(), ArrayRef<StringAttr>(free)));
  // Ignore a constraint on a dimension that is not divisible, with a remark.
  if (!sharding.isReplicated())
    if (Status status = shards.shardType(op.getInput().getType(), sharding).takeStatus();
        !status.isOk()) {
      unfollowed.push_back({op, status.message()});
      return Status();
    }
  Constraint &constraint = constraints[op];
  constraint.sharding = std::move(sharding);
  for (sdy::DimensionShardingAttr dimension : op.getSharding().getDimShardings())
    constraint.isOpen.push_back(!dimension.getIsClosed() && dimension.getAxes().empty());
  return Status();
}

bool ShardingPlan::joinGroups() {
  bool changes = false;
  for (auto &[id, members] : groups) {
    const auto first = llvm::find_if(members, [&](sdy::ShardingConstraintOp op) {
      return shardingOf(op.getResult()).isSharded();
    });
    if (first == members.end())
      continue;
    const Sharding sharding = shardingOf((*first).getResult());
    for (sdy::ShardingConstraintOp op : members) {
      if (shardingOf(op.getResult()) == sharding || op.getType() != (*first).getType())
        continue;
      constraints[op] = {sharding, {}};
      changes = true;
    }
  }
  return changes;
}

//===- Forward ------------------------------------------------------------===//

void ShardingPlan::forward(Block &block) {
  for (Operation &op : block)
    forward(&op);
}

void ShardingPlan::forward(Operation *op) {
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    return forwardLoop(loop);
  if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
    return forwardBranch(op);
  if (auto manual = dyn_cast<sdy::ManualComputationOp>(op))
    return forwardManual(manual);
  if (isa<sdy::ShardingConstraintOp>(op)) {
    const Sharding &in = shardingOf(op->getOperand(0));
    auto found = constraints.find(op);
    Sharding sharding = found == constraints.end() ? in : found->second.sharding;
    if (found != constraints.end() && in.mesh && (!sharding.mesh || sharding.mesh == in.mesh)) {
      // Open dimensions keep the operand's sharding, unless the constraint already uses its axes.
      sharding.mesh = in.mesh;
      sharding.dims.resize(in.dims.size());
      for (size_t dim = 0; dim < in.dims.size(); ++dim)
        if (found->second.isOpen.size() > dim && found->second.isOpen[dim] &&
            llvm::none_of(sharding.dims,
                          [&](const Axes &axes) { return overlap(axes, in.dims[dim]); }))
          sharding.dims[dim] = in.dims[dim];
    }
    valueShardings[op->getResult(0)] = std::move(sharding);
    return;
  }
  if (passesOn(op)) {
    for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults()))
      valueShardings[result] = Sharding(shardingOf(operand));
    return;
  }
  forwardByRule(op);
}

/// `outer`, with each of its shards sharded further by `inner`.
static Sharding nested(const Sharding &outer, const Sharding &inner) {
  if (!inner.isSharded())
    return outer;
  Sharding both{inner.mesh, outer.dims, outer.unreduced};
  both.dims.resize(inner.dims.size());
  for (auto [axes, more] : llvm::zip_equal(both.dims, inner.dims))
    axes.insert(axes.end(), more.begin(), more.end());
  return both;
}

/// Whether a dimension may be sharded further than the program specifies.
static bool isOpen(sdy::TensorShardingAttr sharding, size_t dim) {
  ArrayRef<sdy::DimensionShardingAttr> dims = sharding.getDimShardings();
  return dim < dims.size() && !dims[dim].getIsClosed();
}

/// The region declares the sharding of its operands and results along manual axes. Along all other
/// axes, the body takes over the sharding of the operands, and the results have the sharding that
/// the body gives them.
void ShardingPlan::forwardManual(sdy::ManualComputationOp op) {
  Block &body = op.getBody().front();
  Manual &manual = manuals[op];
  manual.inputs.clear();
  for (auto [operand, own, sharding, argument] :
       llvm::zip_equal(op.getTensors(), manual.ownInputs, op.getInShardings().getShardings(),
                       body.getArguments())) {
    const Sharding &in = shardingOf(operand);
    Sharding rest;
    if (in.isSharded() && (!own.mesh || own.mesh == in.mesh)) {
      Axes taken;
      for (StringAttr name : op.getManualAxes())
        if (Result<AxisRef> axis = in.mesh->mesh().axis(name.str()); axis.isOk())
          taken.push_back(*axis);
      rest = Sharding{in.mesh, std::vector<Axes>(in.dims.size()), {}};
      for (size_t dim = 0; dim < in.dims.size(); ++dim) {
        const Axes &all = in.dims[dim], &first = own.along(dim);
        const auto given = static_cast<std::ptrdiff_t>(first.size());
        if (isOpen(sharding, dim) && all.size() >= first.size() &&
            first == Axes(all.begin(), all.begin() + given))
          for (const AxisRef &axis : llvm::drop_begin(all, first.size())) {
            if (overlap({axis}, taken))
              break;
            rest.dims[dim].push_back(axis);
          }
      }
    }
    manual.inputs.push_back(nested(own, rest));
    valueShardings[argument] = std::move(rest);
  }
  forward(body);
  for (auto [number, own] : llvm::enumerate(manual.ownResults))
    valueShardings[op->getResult(static_cast<unsigned>(number))] =
        nested(own, givenBy(op, static_cast<unsigned>(number)));
}

Sharding ShardingPlan::givenBy(sdy::ManualComputationOp op, unsigned number) const {
  const Sharding &own = manuals.find(op)->second.ownResults[number];
  const Sharding &given = shardingOf(op.getBody().front().getTerminator()->getOperand(number));
  if (!given.isSharded() || (own.mesh && own.mesh != given.mesh))
    return Sharding();
  Sharding open{given.mesh, given.dims, {}};
  for (size_t dim = 0; dim < open.dims.size(); ++dim)
    if (!isOpen(op.getOutShardings().getShardings()[number], dim))
      open.dims[dim].clear();
  return open;
}

void ShardingPlan::setResults(Operation *op, const OpPlan &plan) {
  for (auto [result, dims] : llvm::zip_equal(op->getResults(), plan.rule.results))
    valueShardings[result] = plan.shardingOf(dims);
}

/// Propagates the shardings of all operands as far as the rule and divisibility allow, using each
/// axis for one loop only. Loops of the result come first: sharding them needs no communication,
/// whereas partial sums must be reduced. If operands shard the same loop differently, the largest
/// operand wins.
void ShardingPlan::forwardByRule(Operation *op) {
  auto [entry, isNew] = plans.try_emplace(op);
  if (isNew) {
    std::optional<ShardingRule> rule = shardingRuleOf(op);
    if (!rule) {
      plans.erase(op);
      return;
    }
    entry->second.rule = std::move(*rule);
  }
  OpPlan &plan = entry->second;
  const ShardingRule &rule = plan.rule;
  plan.mesh = nullptr;
  plan.loops.assign(rule.loops.size(), {});
  plan.indivisible.clear();

  SmallVector<unsigned> bySize;
  auto elements = [&](unsigned i) {
    return cast<RankedTensorType>(op->getOperand(i).getType()).getNumElements();
  };
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    auto *position = llvm::find_if(bySize, [&](unsigned j) { return elements(j) < elements(i); });
    bySize.insert(position, i);
  }
  for (unsigned i : bySize)
    if (const Sharding &sharding = shardingOf(op->getOperand(i));
        !plan.mesh && !sharding.isReplicated())
      plan.mesh = sharding.mesh;
  if (!plan.mesh)
    return setResults(op, plan);

  auto assign = [&](int loop) {
    Axes chosen;
    for (unsigned i : bySize) {
      const Sharding &sharding = shardingOf(op->getOperand(i));
      if (sharding.mesh != plan.mesh)
        continue;
      for (auto [dim, numbers] : llvm::enumerate(rule.operands[i])) {
        const auto *at = llvm::find(numbers, loop);
        if (at == numbers.end())
          continue;
        Axes axes = axesPerLoop(rule, numbers, sharding.along(dim),
                                &plan.indivisible)[static_cast<size_t>(at - numbers.begin())];
        // If one sharding is a prefix of the other, take the longer: more shards, and slicing
        // further is free.
        if (axes.size() > chosen.size() &&
            chosen == Axes(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(chosen.size())))
          chosen = std::move(axes);
      }
    }
    while (!chosen.empty() && !plan.canSplit(op, loop, chosen, &plan.indivisible))
      chosen.pop_back();
    plan.loops[static_cast<size_t>(loop)] = std::move(chosen);
  };
  for (LoopKind kind : {LoopKind::pass, LoopKind::shifted, LoopKind::reduced})
    for (auto [number, loop] : llvm::enumerate(rule.loops))
      if (loop.kind == kind)
        assign(static_cast<int>(number));
  setResults(op, plan);
}

/// A carried value keeps its sharding if the body returns it with the same sharding. If it starts
/// replicated and the body returns it sharded, like a buffer that is filled, it is sharded from the
/// start: slicing is free, but gathering it in every iteration is not. `begin`, if not empty,
/// replaces the initial shardings; then no value is sharded further.
void ShardingPlan::forwardLoop(stablehlo::WhileOp loop, ArrayRef<Sharding> begin) {
  Block &condition = loop.getCond().front(), &body = loop.getBody().front();
  const unsigned count = loop->getNumOperands();
  std::vector<Sharding> carried(begin.begin(), begin.end());
  std::vector<bool> isSettled(count, !begin.empty());
  if (begin.empty())
    for (Value operand : loop->getOperands())
      carried.push_back(shardingOf(operand));
  auto visit = [&] {
    for (unsigned i = 0; i < count; ++i)
      for (Block *block : {&condition, &body})
        valueShardings[block->getArgument(i)] = carried[i];
    forward(condition);
    forward(body);
  };
  // Terminates: each value gains axes at most once, and loses each axis at most once.
  for (bool changes = true; changes;) {
    changes = false;
    visit();
    for (unsigned i = 0; i < count; ++i) {
      const Sharding &next = shardingOf(body.getTerminator()->getOperand(i));
      if (carried[i].isReplicated() && !next.isReplicated() && !isSettled[i]) {
        carried[i] = next;
      } else if (Sharding common = carried[i].commonWith(next); !(common == carried[i])) {
        carried[i] = std::move(common);
      } else {
        continue;
      }
      isSettled[i] = true;
      changes = true;
    }
  }
  for (unsigned i = 0; i < count; ++i)
    valueShardings[loop.getResult(i)] = carried[i];
}

void ShardingPlan::forwardBranch(Operation *op) {
  for (Value result : op->getResults())
    valueShardings[result] = Sharding();
  for (Region &region : op->getRegions()) {
    forward(region.front());
    // Use the sharding of the first branch that has one; slicing the other results is free.
    for (auto [result, value] :
         llvm::zip_equal(op->getResults(), region.front().getTerminator()->getOperands()))
      if (shardingOf(result).isReplicated())
        valueShardings[result] = Sharding(shardingOf(value));
  }
}

//===- Uses ---------------------------------------------------------------===//

Sharding ShardingPlan::wanted(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  const unsigned number = operand.getOperandNumber();
  if (const OpPlan *plan = find(op))
    return plan->shardingOf(plan->rule.operands[number]);
  if (isa<func::ReturnOp>(op))
    return resultShardings[number].value_or(shardingOf(operand.get()));
  if (auto found = manuals.find(op); found != manuals.end())
    return found->second.inputs[number];
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    return shardingOf(loop.getBody().front().getArgument(number));
  if (passesOn(op))
    return shardingOf(op->getResult(number));
  if (isa<sdy::ShardingConstraintOp>(op))
    return shardingOf(op->use_empty() ? operand.get() : op->getResult(0));
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    Operation *parent = op->getParentOp();
    if (auto loop = dyn_cast<stablehlo::WhileOp>(parent))
      return op->getBlock() == &loop.getBody().front()
                 ? shardingOf(op->getBlock()->getArgument(number))
                 : Sharding();
    if (isa<stablehlo::IfOp, stablehlo::CaseOp>(parent))
      return shardingOf(parent->getResult(number));
    if (auto manual = dyn_cast<sdy::ManualComputationOp>(parent))
      return givenBy(manual, number);
  }
  return Sharding();
}

//===- Backward -----------------------------------------------------------===//

void ShardingPlan::backward(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
      backwardLoop(loop);
    if (isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp, sdy::ManualComputationOp>(op))
      for (Region &region : op.getRegions())
        backward(region.front());
    else if (plans.contains(&op))
      refine(&op);
    else if (passesOn(&op))
      for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults()))
        if (std::optional<Sharding> all = wantedByAll(result);
            all && all->refines(shardingOf(operand)))
          valueShardings[result] = std::move(*all);
  }
}

int64_t ShardingPlan::communicationsIn(Operation *around) const {
  int64_t count = 0;
  around->walk([&](Operation *op) {
    if (op == around)
      return;
    if (const OpPlan *plan = find(op); plan && !plan->reducedAxes().empty())
      ++count;
    for (OpOperand &use : op->getOpOperands())
      if (!wanted(use).refines(shardingOf(use.get())))
        ++count;
  });
  return count;
}

/// Shards a carried value that starts replicated, if all uses after the loop want the same shards,
/// the body returns it sharded too, and no iteration needs extra communication. JAX generates
/// random bits in such a loop.
void ShardingPlan::backwardLoop(stablehlo::WhileOp loop) {
  std::vector<Sharding> now, wish;
  for (Value result : loop.getResults()) {
    now.push_back(shardingOf(result));
    std::optional<Sharding> all = now.back().isReplicated() ? wantedByAll(result) : std::nullopt;
    const bool isPossible = all && all->isSharded() && all->unreduced.empty() &&
                            shards.shardType(result.getType(), *all).isOk();
    wish.push_back(isPossible ? std::move(*all) : now.back());
  }
  if (wish == now)
    return;
  const int64_t before = communicationsIn(loop);
  forwardLoop(loop, wish);
  const int64_t after = communicationsIn(loop);
  TILEWRIGHT_LOG(
      passName, loop, "carried values that start replicated are ", after > before ? "not " : "",
      "sharded as their readers want; communications in its body: ", after, ", otherwise ", before);
  if (after > before)
    forwardLoop(loop, now);
}

std::optional<Sharding> ShardingPlan::wantedByAll(Value value) const {
  std::optional<Sharding> all;
  for (OpOperand &use : value.getUses()) {
    Sharding sharding = wanted(use);
    if (all && !(*all == sharding))
      return std::nullopt;
    all = std::move(sharding);
  }
  return all;
}

void ShardingPlan::refine(Operation *op) {
  auto keep = [&](const char *why) {
    TILEWRIGHT_LOG(passName, op, "is not sharded further: ", why);
  };
  OpPlan &plan = plans.find(op)->second;
  OpPlan finer = plan;
  bool changes = false;
  for (auto [result, dims] : llvm::zip_equal(op->getResults(), plan.rule.results)) {
    if (result.use_empty())
      continue;
    std::optional<Sharding> all = wantedByAll(result);
    if (!all)
      return keep("its readers want different shardings");
    const Sharding &now = shardingOf(result);
    if (*all == now)
      continue;
    if (!all->refines(now) || (finer.mesh && finer.mesh != all->mesh))
      return keep("its readers do not want a finer sharding on the same mesh");
    finer.mesh = all->mesh;
    for (auto [dim, numbers] : llvm::enumerate(dims))
      for (auto [loop, axes] :
           llvm::zip_equal(numbers, axesPerLoop(plan.rule, numbers, all->along(dim)))) {
        if (axes.empty())
          continue;
        Axes &into = finer.loops[static_cast<size_t>(loop)];
        // Two results with a dimension in the same loop must want the same sharding of it.
        if (into != axes && into != plan.axesOf(loop))
          return keep("its readers want different shardings of its results");
        into = axes;
      }
    if (!(finer.shardingOf(dims) == *all))
      return keep("its rule does not shard a dimension that its readers want sharded");
    changes = true;
  }
  if (!changes)
    return;
  for (auto [loop, axes] : llvm::enumerate(finer.loops))
    if (!axes.empty() && (plan.rule.loops[loop].kind == LoopKind::whole ||
                          plan.rule.loops[loop].kind == LoopKind::shifted ||
                          !finer.canSplit(op, static_cast<int>(loop), axes, nullptr)))
      return keep("its rule or its sizes do not allow that");
  for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), plan.rule.operands))
    if (!finer.shardingOf(dims).refines(shardingOf(operand)))
      return keep("an operand would have to be gathered");
  plan = std::move(finer);
  setResults(op, plan);
  TILEWRIGHT_LOG(passName, op, "is sharded further, as its readers want: ",
                 shardingOf(op->getResult(0)).toString());
}

//===- Remarks ------------------------------------------------------------===//

/// Whether a dimension can be sharded at all.
static bool canSplit(const ShardingRule &rule, const ShardingRule::Dim &dim) {
  return !dim.empty() && rule.loop(dim[0]).kind != LoopKind::whole;
}

void ShardingPlan::remark(int64_t devices) const {
  if (!main->getContext()->getRemarkEngine() && !interpret::PassLog::isOn())
    return;
  auto opts = remark::RemarkOpts::name("distribute").category("distribute");
  for (const auto &[op, reason] : unfollowed) {
    TILEWRIGHT_LOG(passName, op, "is ignored: ", reason);
    remark::missed(op->getLoc(), opts) << remark::add("{0}", "sdy.sharding_constraint is ignored")
                                       << remark::reason("{0}", reason);
  }
  auto say = [&](Operation *op, OpOperand &operand) {
    const Sharding &from = shardingOf(operand.get());
    const Sharding to = wanted(operand);
    const Sharding lost = from.within(from.commonWith(to));
    size_t dim = 0;
    while (lost.isSharded() && lost.along(dim).empty())
      ++dim;
    const OpPlan *plan = find(op);
    const bool isReplicated = !plan || !plan->isSharded();
    const std::string which = op->getNumOperands() == 1
                                  ? std::string("its operand")
                                  : concat("its operand ", operand.getOperandNumber());
    std::string reason = concat(which, " is sharded along dimension ", dim);
    if (!lost.isSharded())
      reason = concat(which, " is unreduced");
    else if (!plan)
      reason += ", and the op has no sharding rule";
    else if (!canSplit(plan->rule, plan->rule.operands[operand.getOperandNumber()][dim]))
      reason += concat(", which it ", plan->rule.why.str());
    else if (!plan->indivisible.empty())
      reason += concat(", and ", plan->indivisible);
    else
      reason += ", by axes that also shard another dimension of the op";
    auto remark =
        isReplicated ? remark::missed(op->getLoc(), opts) : remark::passed(op->getLoc(), opts);
    const std::string name = op->getName().getStringRef().str();
    TILEWRIGHT_LOG(passName, op, isReplicated ? "is replicated: " : "gathers an operand: ", reason);
    remark << remark::add("{0}", isReplicated ? concat(name, " is replicated on each of ", devices,
                                                       " devices")
                                              : concat(name, " gathers ", which))
           << remark::reason("{0}", reason);
  };
  main->walk([&](Operation *op) {
    // Skip ops that only pass values on: control flow, constraints and terminators.
    const bool isComputed =
        find(op) ||
        !(op->hasTrait<OpTrait::IsTerminator>() ||
          isa<stablehlo::WhileOp, sdy::ManualComputationOp, sdy::ShardingConstraintOp>(op));
    if (const OpPlan *plan = find(op); plan && op->getNumResults() > 0) {
      const Axes reduced = plan->reducedAxes();
      TILEWRIGHT_LOG(passName, op, "result 0 has the sharding '",
                     shardingOf(op->getResult(0)).toString(), "'",
                     plan->mesh ? "" : ": no operand or reader is sharded",
                     reduced.empty() ? "" : " after an all-reduce along ",
                     reduced.empty() ? "" : toString(reduced, *plan->mesh));
    }
    for (OpOperand &operand : op->getOpOperands())
      if (isComputed && !wanted(operand).refines(shardingOf(operand.get()))) {
        say(op, operand);
        break; // one reason is enough
      }
  });
}

} // namespace tilewright::distribute
