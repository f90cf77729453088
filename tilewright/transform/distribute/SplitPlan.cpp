#include "tilewright/transform/distribute/SplitPlan.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace tilewright::distribute {

using interpret::Mesh;
using OpPlan = SplitPlan::OpPlan;

bool OpPlan::isDivided() const {
  return llvm::any_of(loops, [](const Axes &axes) { return !axes.empty(); });
}

Axes OpPlan::combinedAxes() const {
  Axes all;
  for (int loop : rule.combined) {
    const Axes &axes = loops[static_cast<size_t>(loop)];
    all.insert(all.end(), axes.begin(), axes.end());
  }
  return all;
}

Cut OpPlan::cutOf(ArrayRef<int> dims) const {
  Cut cut{mesh, std::vector<Axes>(dims.size()), {}};
  if (mesh)
    for (auto [axes, loop] : llvm::zip_equal(cut.dims, dims))
      if (loop != SplitRule::whole)
        axes = loops[static_cast<size_t>(loop)];
  return cut;
}

/// Whether every dimension that runs along `loop` comes out even; else says which does not.
static bool comesOutEven(Operation *op, const SplitRule &rule, int loop, int64_t count,
                         std::string *uneven) {
  auto check = [&](const auto &dimsOfAll, auto values) {
    for (auto [dims, value] : llvm::zip_equal(dimsOfAll, values))
      for (auto [dim, at] : llvm::enumerate(dims)) {
        if (at != loop)
          continue;
        const int64_t size = cast<RankedTensorType>(value.getType()).getShape()[dim];
        if (size % count == 0)
          continue;
        if (uneven)
          *uneven = concat("a dimension of ", size, " does not come out even by ", count);
        return false;
      }
    return true;
  };
  return check(rule.operands, op->getOperands()) && check(rule.results, op->getResults());
}

const Cut &SplitPlan::cutOf(Value value) const {
  static const Cut whole;
  auto found = valueCuts.find(value);
  return found == valueCuts.end() ? whole : found->second;
}

const OpPlan *SplitPlan::find(Operation *op) const {
  auto found = plans.find(op);
  return found == plans.end() ? nullptr : &found->second;
}

Result<SplitPlan> SplitPlan::make(func::FuncOp main, Pieces &pieces) {
  SplitPlan plan(main, pieces);
  TILEWRIGHT_TRY(plan.readShardings());
  plan.forward(main.front());
  plan.backward(main.front());
  return plan;
}

//===- What the program says ----------------------------------------------===//

Status SplitPlan::readShardings() {
  auto ofAttributes = [&](DictionaryAttr attributes, Type type) -> Result<std::optional<Cut>> {
    auto sharding =
        attributes ? attributes.getAs<sdy::TensorShardingAttr>("sdy.sharding") : nullptr;
    if (!sharding)
      return std::optional<Cut>();
    // All axes of the mesh, because nothing around a parameter is per device already.
    TILEWRIGHT_ASSIGN(Cut cut, pieces.cutOf(sharding, std::nullopt));
    if (!cut.isWhole())
      TILEWRIGHT_TRY(pieces.pieceType(type, cut).takeStatus());
    return std::optional(std::move(cut));
  };
  for (BlockArgument argument : main.getArguments()) {
    TILEWRIGHT_ASSIGN(
        std::optional<Cut> cut,
        ofAttributes(main.getArgAttrDict(argument.getArgNumber()), argument.getType()));
    if (cut && !cut->isWhole())
      valueCuts[argument] = std::move(*cut);
  }
  for (auto [number, type] : llvm::enumerate(main.getResultTypes())) {
    TILEWRIGHT_ASSIGN(std::optional<Cut> cut,
                      ofAttributes(main.getResultAttrDict(static_cast<unsigned>(number)), type));
    resultCuts.push_back(std::move(cut));
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

Status SplitPlan::readManual(sdy::ManualComputationOp op) {
  auto names = llvm::to_vector(op.getManualAxes());
  auto read = [&](ArrayRef<sdy::TensorShardingAttr> shardings, TypeRange types,
                  std::vector<Cut> &into) -> Status {
    for (auto [sharding, type] : llvm::zip_equal(shardings, types)) {
      TILEWRIGHT_ASSIGN(Cut cut, pieces.cutOf(sharding, ArrayRef<StringAttr>(names)));
      if (!cut.isWhole())
        TILEWRIGHT_TRY(pieces.pieceType(type, cut).takeStatus());
      into.push_back(std::move(cut));
    }
    return Status();
  };
  Manual &manual = manuals[op];
  TILEWRIGHT_TRY(read(op.getInShardings().getShardings(), op.getOperandTypes(), manual.ownInputs));
  return read(op.getOutShardings().getShardings(), op.getResultTypes(), manual.ownResults);
}

/// Whether a region around `op` is written per device along this axis.
static bool isManual(Operation *op, StringRef axis) {
  for (auto around = op->getParentOfType<sdy::ManualComputationOp>(); around;
       around = around->getParentOfType<sdy::ManualComputationOp>())
    if (llvm::any_of(around.getManualAxes(),
                     [&](StringAttr name) { return name.getValue() == axis; }))
      return true;
  return false;
}

Status SplitPlan::readConstraint(sdy::ShardingConstraintOp op) {
  // In a region that is written per device its axes are taken.
  SmallVector<StringAttr> free;
  for (sdy::DimensionShardingAttr dimension : op.getSharding().getDimShardings())
    for (sdy::AxisRefAttr axis : dimension.getAxes())
      if (!isManual(op, axis.getName()))
        free.push_back(StringAttr::get(op.getContext(), axis.getName()));
  TILEWRIGHT_ASSIGN(Cut cut, pieces.cutOf(op.getSharding(), ArrayRef<StringAttr>(free)));
  // One that does not come out even is a wish that is not followed.
  if (!cut.isWhole())
    if (Status status = pieces.pieceType(op.getInput().getType(), cut).takeStatus();
        !status.isOk()) {
      unfollowed.push_back({op, status.message()});
      return Status();
    }
  Constraint &constraint = constraints[op];
  constraint.cut = std::move(cut);
  for (sdy::DimensionShardingAttr dimension : op.getSharding().getDimShardings())
    constraint.isOpen.push_back(!dimension.getIsClosed() && dimension.getAxes().empty());
  return Status();
}

//===- Forward ------------------------------------------------------------===//

void SplitPlan::forward(Block &block) {
  for (Operation &op : block)
    forward(&op);
}

void SplitPlan::forward(Operation *op) {
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    return forwardLoop(loop);
  if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
    return forwardBranch(op);
  if (auto manual = dyn_cast<sdy::ManualComputationOp>(op))
    return forwardManual(manual);
  if (isa<sdy::ShardingConstraintOp>(op)) {
    const Cut &in = cutOf(op->getOperand(0));
    auto found = constraints.find(op);
    Cut cut = found == constraints.end() ? in : found->second.cut;
    if (found != constraints.end() && in.mesh && (!cut.mesh || cut.mesh == in.mesh)) {
      // Open dimensions stay as they are, as far as their axes are free.
      cut.mesh = in.mesh;
      cut.dims.resize(in.dims.size());
      for (size_t dim = 0; dim < in.dims.size(); ++dim)
        if (found->second.isOpen.size() > dim && found->second.isOpen[dim] &&
            llvm::none_of(cut.dims, [&](const Axes &axes) { return overlap(axes, in.dims[dim]); }))
          cut.dims[dim] = in.dims[dim];
    }
    valueCuts[op->getResult(0)] = std::move(cut);
    return;
  }
  if (passesOn(op)) {
    for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults()))
      valueCuts[result] = Cut(cutOf(operand));
    return;
  }
  divide(op);
}

/// `outer` with `inner` within each of its pieces.
static Cut nested(const Cut &outer, const Cut &inner) {
  if (!inner.isDivided())
    return outer;
  Cut both{inner.mesh, outer.dims, outer.unreduced};
  both.dims.resize(inner.dims.size());
  for (auto [axes, more] : llvm::zip_equal(both.dims, inner.dims))
    axes.insert(axes.end(), more.begin(), more.end());
  return both;
}

/// Whether a dimension may be divided further than its sharding says.
static bool isOpen(sdy::TensorShardingAttr sharding, size_t dim) {
  ArrayRef<sdy::DimensionShardingAttr> dims = sharding.getDimShardings();
  return dim < dims.size() && !dims[dim].getIsClosed();
}

/// What is whole for the body along its own axes is a piece out here. Along the others it is
/// divided as it comes in, and goes out as the body gives it.
void SplitPlan::forwardManual(sdy::ManualComputationOp op) {
  Block &body = op.getBody().front();
  Manual &manual = manuals[op];
  manual.inputs.clear();
  for (auto [operand, own, sharding, argument] :
       llvm::zip_equal(op.getTensors(), manual.ownInputs, op.getInShardings().getShardings(),
                       body.getArguments())) {
    const Cut &in = cutOf(operand);
    Cut rest;
    if (in.isDivided() && (!own.mesh || own.mesh == in.mesh)) {
      Axes taken;
      for (StringAttr name : op.getManualAxes())
        if (Result<Mesh::AxisRef> axis = in.mesh->axis(name.str()); axis.isOk())
          taken.push_back(*axis);
      rest = Cut{in.mesh, std::vector<Axes>(in.dims.size()), {}};
      for (size_t dim = 0; dim < in.dims.size(); ++dim) {
        const Axes &all = in.dims[dim], &first = own.along(dim);
        const auto given = static_cast<std::ptrdiff_t>(first.size());
        if (isOpen(sharding, dim) && all.size() >= first.size() &&
            isSame(first, Axes(all.begin(), all.begin() + given)))
          for (const Mesh::AxisRef &axis : llvm::drop_begin(all, first.size())) {
            if (overlap({axis}, taken))
              break;
            rest.dims[dim].push_back(axis);
          }
      }
    }
    manual.inputs.push_back(nested(own, rest));
    valueCuts[argument] = std::move(rest);
  }
  forward(body);
  for (auto [number, own] : llvm::enumerate(manual.ownResults))
    valueCuts[op->getResult(static_cast<unsigned>(number))] =
        nested(own, givenBy(op, static_cast<unsigned>(number)));
}

Cut SplitPlan::givenBy(sdy::ManualComputationOp op, unsigned number) const {
  const Cut &own = manuals.find(op)->second.ownResults[number];
  const Cut &given = cutOf(op.getBody().front().getTerminator()->getOperand(number));
  if (!given.isDivided() || (own.mesh && own.mesh != given.mesh))
    return Cut();
  Cut open{given.mesh, given.dims, {}};
  for (size_t dim = 0; dim < open.dims.size(); ++dim)
    if (!isOpen(op.getOutShardings().getShardings()[number], dim))
      open.dims[dim].clear();
  return open;
}

void SplitPlan::setResults(Operation *op, const OpPlan &plan) {
  for (auto [result, dims] : llvm::zip_equal(op->getResults(), plan.rule.results))
    valueCuts[result] = plan.cutOf(dims);
}

/// Every division of an operand is followed as far as the rule, evenness and other loops that use
/// the same axes allow. Loops of the result come first: a piece needs no communication, a part of
/// a sum does. Of divisions of one loop that of the largest operand is taken.
void SplitPlan::divide(Operation *op) {
  auto [place, isNew] = plans.try_emplace(op);
  if (isNew) {
    std::optional<SplitRule> rule = splitRuleOf(op);
    if (!rule) {
      plans.erase(op);
      return;
    }
    place->second.rule = std::move(*rule);
  }
  OpPlan &plan = place->second;
  const SplitRule &rule = plan.rule;
  plan.mesh = nullptr;
  plan.loops.assign(static_cast<size_t>(rule.loops), {});
  plan.uneven.clear();

  SmallVector<unsigned> bySize;
  auto elements = [&](unsigned i) {
    return cast<RankedTensorType>(op->getOperand(i).getType()).getNumElements();
  };
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    auto *place = llvm::find_if(bySize, [&](unsigned j) { return elements(j) < elements(i); });
    bySize.insert(place, i);
  }
  for (unsigned i : bySize)
    if (const Cut &cut = cutOf(op->getOperand(i)); !plan.mesh && !cut.isWhole())
      plan.mesh = cut.mesh;
  if (!plan.mesh)
    return setResults(op, plan);

  auto assign = [&](int loop) {
    Axes chosen;
    for (unsigned i : bySize) {
      const Cut &cut = cutOf(op->getOperand(i));
      if (cut.mesh != plan.mesh)
        continue;
      for (auto [dim, at] : llvm::enumerate(rule.operands[i])) {
        const Axes &axes = cut.along(dim);
        // Of the same beginning the longer: more pieces, and cutting further is free.
        if (at == loop && axes.size() > chosen.size() &&
            isSame(chosen,
                   Axes(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(chosen.size()))))
          chosen = axes;
      }
    }
    while (!chosen.empty() &&
           (llvm::any_of(plan.loops, [&](const Axes &other) { return overlap(other, chosen); }) ||
            !comesOutEven(op, rule, loop, countOf(chosen), &plan.uneven)))
      chosen.pop_back();
    plan.loops[static_cast<size_t>(loop)] = std::move(chosen);
  };
  for (bool isCombined : {false, true})
    for (int loop = 0; loop < rule.loops; ++loop)
      if (rule.isCombined(loop) == isCombined)
        assign(loop);
  setResults(op, plan);
}

/// A carried value keeps its division if the body gives it back. One that begins whole and that
/// the body gives back divided, as a buffer that is filled, is divided from the beginning: cutting
/// is free, and gathering in every turn is not.
void SplitPlan::forwardLoop(stablehlo::WhileOp loop) {
  Block &condition = loop.getCond().front(), &body = loop.getBody().front();
  const unsigned count = loop->getNumOperands();
  std::vector<Cut> carried;
  std::vector<bool> isSettled(count);
  for (Value operand : loop->getOperands())
    carried.push_back(cutOf(operand));
  auto visit = [&] {
    for (unsigned i = 0; i < count; ++i)
      for (Block *block : {&condition, &body})
        valueCuts[block->getArgument(i)] = carried[i];
    forward(condition);
    forward(body);
  };
  // Each value is divided more once at most, and less as often as it has axes.
  for (bool changes = true; changes;) {
    changes = false;
    visit();
    for (unsigned i = 0; i < count; ++i) {
      const Cut &next = cutOf(body.getTerminator()->getOperand(i));
      if (carried[i].isWhole() && !next.isWhole() && !isSettled[i]) {
        carried[i] = next;
      } else if (Cut common = carried[i].commonWith(next); !(common == carried[i])) {
        carried[i] = std::move(common);
      } else {
        continue;
      }
      isSettled[i] = true;
      changes = true;
    }
  }
  for (unsigned i = 0; i < count; ++i)
    valueCuts[loop.getResult(i)] = carried[i];
}

void SplitPlan::forwardBranch(Operation *op) {
  for (Value result : op->getResults())
    valueCuts[result] = Cut();
  for (Region &region : op->getRegions()) {
    forward(region.front());
    // The first that is divided decides; cutting the others is free.
    for (auto [result, value] :
         llvm::zip_equal(op->getResults(), region.front().getTerminator()->getOperands()))
      if (cutOf(result).isWhole())
        valueCuts[result] = Cut(cutOf(value));
  }
}

//===- Uses ---------------------------------------------------------------===//

Cut SplitPlan::wanted(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  const unsigned number = operand.getOperandNumber();
  if (const OpPlan *plan = find(op))
    return plan->cutOf(plan->rule.operands[number]);
  if (isa<func::ReturnOp>(op))
    return resultCuts[number].value_or(cutOf(operand.get()));
  if (auto found = manuals.find(op); found != manuals.end())
    return found->second.inputs[number];
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    return cutOf(loop.getBody().front().getArgument(number));
  if (passesOn(op))
    return cutOf(op->getResult(number));
  if (isa<sdy::ShardingConstraintOp>(op))
    return cutOf(op->use_empty() ? operand.get() : op->getResult(0));
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    Operation *parent = op->getParentOp();
    if (auto loop = dyn_cast<stablehlo::WhileOp>(parent))
      return op->getBlock() == &loop.getBody().front() ? cutOf(op->getBlock()->getArgument(number))
                                                       : Cut();
    if (isa<stablehlo::IfOp, stablehlo::CaseOp>(parent))
      return cutOf(parent->getResult(number));
    if (auto manual = dyn_cast<sdy::ManualComputationOp>(parent))
      return givenBy(manual, number);
  }
  return Cut();
}

//===- Backward -----------------------------------------------------------===//

void SplitPlan::backward(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    if (isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp, sdy::ManualComputationOp>(op))
      for (Region &region : op.getRegions())
        backward(region.front());
    else if (plans.contains(&op))
      refine(&op);
    else if (passesOn(&op))
      for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults()))
        if (std::optional<Cut> all = wantedByAll(result); all && all->refines(cutOf(operand)))
          valueCuts[result] = std::move(*all);
  }
}

std::optional<Cut> SplitPlan::wantedByAll(Value value) const {
  std::optional<Cut> all;
  for (OpOperand &use : value.getUses()) {
    Cut cut = wanted(use);
    if (all && !(*all == cut))
      return std::nullopt;
    all = std::move(cut);
  }
  return all;
}

void SplitPlan::refine(Operation *op) {
  OpPlan &plan = plans.find(op)->second;
  OpPlan finer = plan;
  bool changes = false;
  for (auto [result, dims] : llvm::zip_equal(op->getResults(), plan.rule.results)) {
    if (result.use_empty())
      continue;
    std::optional<Cut> all = wantedByAll(result);
    if (!all)
      return;
    const Cut &now = cutOf(result);
    if (*all == now)
      continue;
    if (!all->refines(now) || (finer.mesh && finer.mesh != all->mesh))
      return;
    finer.mesh = all->mesh;
    for (auto [dim, loop] : llvm::enumerate(dims)) {
      const Axes &axes = all->along(dim);
      if (axes.empty())
        continue;
      if (loop == SplitRule::whole)
        return;
      Axes &into = finer.loops[static_cast<size_t>(loop)];
      // Two results that run along one loop have to want the same of it.
      if (!isSame(into, axes) && !isSame(into, plan.loops[static_cast<size_t>(loop)]))
        return;
      into = axes;
    }
    changes = true;
  }
  if (!changes)
    return;
  for (int loop = 0; loop < plan.rule.loops; ++loop) {
    const Axes &axes = finer.loops[static_cast<size_t>(loop)];
    if (!comesOutEven(op, plan.rule, loop, countOf(axes), nullptr))
      return;
    for (int other = 0; other < loop; ++other)
      if (overlap(axes, finer.loops[static_cast<size_t>(other)]))
        return;
  }
  for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), plan.rule.operands))
    if (!finer.cutOf(dims).refines(cutOf(operand)))
      return;
  plan = std::move(finer);
  setResults(op, plan);
}

//===- Remarks ------------------------------------------------------------===//

void SplitPlan::remark(int64_t devices) const {
  if (!main->getContext()->getRemarkEngine())
    return;
  auto opts = remark::RemarkOpts::name("distribute").category("distribute");
  for (const auto &[op, reason] : unfollowed)
    remark::missed(op->getLoc(), opts)
        << remark::add("{0}", "sdy.sharding_constraint divides nothing")
        << remark::reason("{0}", reason);
  auto say = [&](Operation *op, OpOperand &operand) {
    const Cut &from = cutOf(operand.get());
    const Cut to = wanted(operand);
    const Cut lost = from.within(from.commonWith(to));
    size_t dim = 0;
    while (lost.isDivided() && lost.along(dim).empty())
      ++dim;
    const OpPlan *plan = find(op);
    const bool isWhole = !plan || !plan->isDivided();
    const std::string which = op->getNumOperands() == 1
                                  ? std::string("its operand")
                                  : concat("its operand ", operand.getOperandNumber());
    std::string reason = concat(which, " is divided along dimension ", dim);
    if (!lost.isDivided())
      reason = concat(which, " is a sum that has not been taken");
    else if (!plan)
      reason += ", and there is no rule how it is computed in pieces";
    else if (plan->rule.operands[operand.getOperandNumber()][dim] == SplitRule::whole)
      reason += concat(", which it ", plan->rule.why.str());
    else if (!plan->uneven.empty())
      reason += concat(", and ", plan->uneven);
    else
      reason += ", by axes that divide another of its dimensions";
    auto remark = isWhole ? remark::missed(op->getLoc(), opts) : remark::passed(op->getLoc(), opts);
    const std::string name = op->getName().getStringRef().str();
    remark << remark::add("{0}", isWhole ? concat(name, " is computed whole on each of ", devices,
                                                  " devices")
                                         : concat(name, " gathers ", which))
           << remark::reason("{0}", reason);
  };
  main->walk([&](Operation *op) {
    // Control flow, constraints and results pass on what others made.
    const bool isComputed =
        find(op) ||
        !(op->hasTrait<OpTrait::IsTerminator>() ||
          isa<stablehlo::WhileOp, sdy::ManualComputationOp, sdy::ShardingConstraintOp>(op));
    for (OpOperand &operand : op->getOpOperands())
      if (isComputed && !wanted(operand).refines(cutOf(operand.get()))) {
        say(op, operand);
        break; // one reason is enough
      }
  });
}

} // namespace tilewright::distribute
