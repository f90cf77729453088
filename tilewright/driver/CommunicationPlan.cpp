#include "tilewright/driver/CommunicationPlan.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/source/Source.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/plan/Verify.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/distribute/Replication.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <map>

using namespace mlir;

namespace tilewright::driver {
namespace {

using collective::CliqueSpec;
using collective::Guard;
using collective::PlanIndex;
using collective::Site;

class Planner {
public:
  explicit Planner(numerics::Mesh mesh) { plan.mesh = std::move(mesh); }

  Result<collective::CommPlan> run(func::FuncOp main) {
    TILEWRIGHT_TRY(addBlock(main.front(), collective::nothing, 0));
    addWindows();
    TILEWRIGHT_TRY(checkPlan(plan));
    return std::move(plan);
  }

private:
  Status addBlock(Block &block, PlanIndex guard, uint32_t arm) {
    for (Operation &op : block) {
      const uint32_t here = position++;
      if (auto start = dyn_cast<exec::CollectiveStartOp>(op)) {
        TILEWRIGHT_TRY(addSite(start, guard, arm, here));
      } else if (auto done = dyn_cast<exec::CollectiveDoneOp>(op)) {
        auto begun = siteOf.find(done.getId());
        if (begun == siteOf.end())
          return Status(Code::internal,
                        concat("collective ", done.getId(), " ends before it begins"));
        plan.sites[begun->second].done = here;
      } else if (isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op) &&
                 hasCollective(op)) {
        const PlanIndex inner = addGuard(op, guard, arm, here);
        for (Region &region : op.getRegions())
          TILEWRIGHT_TRY(addBlock(region.front(), inner, region.getRegionNumber()));
      }
    }
    return Status();
  }

  static bool hasCollective(Operation &op) {
    return op.walk([](exec::CollectiveStartOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  }

  PlanIndex addGuard(Operation &op, PlanIndex parent, uint32_t arm, uint32_t here) {
    Guard guard;
    const bool isLoop = isa<stablehlo::WhileOp>(op);
    guard.kind = isLoop ? Guard::Kind::loop : Guard::Kind::branch;
    guard.parent = parent;
    guard.arm = arm;
    guard.position = here;
    guard.arms = op.getNumRegions();
    guard.location = source::placeOf(op.getLoc());
    const distribute::ControlFacts facts = distribute::factsOf(&op, plan.mesh);
    guard.varies = facts.varies;
    if (auto count = op.getAttrOfType<IntegerAttr>("exec.trip_count"); isLoop && count) {
      guard.tripCount = count.getInt();
      guard.varies = 0;
    }
    guard.choices.assign(facts.choices.begin(), facts.choices.end());
    plan.guards.push_back(std::move(guard));
    return static_cast<PlanIndex>(plan.guards.size() - 1);
  }

  Status addSite(exec::CollectiveStartOp start, PlanIndex guard, uint32_t arm, uint32_t here) {
    const exec::CollectiveAttr collective = start.getCollective();
    Site site;
    site.kind = collective.getKind();
    site.collectiveId = static_cast<uint32_t>(plan.sites.size());
    site.guard = guard;
    site.arm = arm;
    site.start = here;
    site.done = here;
    site.name = concat(nameOf(site.kind), ".", start.getId());
    site.location = source::placeOf(start.getLoc());
    site.reduction = collective.getReduction();
    int64_t all = 0;
    for (ValueRange values : {ValueRange(start.getInputs()), ValueRange(start.getResults())})
      for (Value value : values)
        if (auto type = dyn_cast<RankedTensorType>(value.getType())) {
          TILEWRIGHT_ASSIGN(numerics::Shape shape, interpret::staticShapeOf(type));
          const numerics::ElementType element = *interpret::elementTypeOf(type.getElementType());
          all += shape.byteCount(element);
          if (value == start.getInputs().front())
            site.element = element;
        }
    for (Value value : start.getInputs())
      if (auto type = dyn_cast<RankedTensorType>(value.getType())) {
        TILEWRIGHT_ASSIGN(numerics::Shape shape, interpret::staticShapeOf(type));
        site.bytes += shape.byteCount(*interpret::elementTypeOf(type.getElementType()));
      }
    site.clique = cliqueOf(start, site.kind);
    largest[site.clique] = std::max(largest[site.clique], all);
    siteOf[start.getId()] = static_cast<PlanIndex>(plan.sites.size());
    plan.sites.push_back(std::move(site));
    return Status();
  }

  PlanIndex cliqueOf(exec::CollectiveStartOp start, collective::Kind kind) {
    DenseIntElementsAttr groups = start.getGroups();
    // Equal groups are the same attribute, so the clique of a large group is computed once.
    auto [known, isNew] = cliqueOfGroups.try_emplace(
        {groups.getAsOpaquePointer(), kind == collective::Kind::permute}, 0);
    if (!isNew)
      return known->second;
    std::vector<std::vector<int64_t>> lists;
    ArrayRef<int64_t> shape = cast<ShapedType>(groups.getType()).getShape();
    auto value = groups.value_begin<APInt>();
    for (int64_t row = 0; row < shape[0]; ++row) {
      lists.emplace_back();
      for (int64_t column = 0; column < shape[1]; ++column, ++value)
        if (!(*value).isAllOnes())
          lists.back().push_back((*value).getSExtValue());
      if (lists.back().empty())
        lists.pop_back();
    }
    CliqueSpec clique = kind == collective::Kind::permute
                            ? CliqueSpec{CliqueSpec::Form::pairs, {}, std::move(lists)}
                            : collective::cliqueSpecOf(plan.mesh, std::move(lists));
    auto same = std::find(plan.cliques.begin(), plan.cliques.end(), clique);
    known->second = static_cast<PlanIndex>(same - plan.cliques.begin());
    if (same == plan.cliques.end())
      plan.cliques.push_back(std::move(clique));
    return known->second;
  }

  void addWindows() {
    for (const auto &[clique, bytes] : largest)
      plan.windows.push_back({clique, (bytes + 63) / 64 * 64, 64});
  }

  collective::CommPlan plan;
  uint32_t position = 0;
  std::map<int64_t, PlanIndex> siteOf; // by id
  std::map<std::pair<const void *, bool>, PlanIndex> cliqueOfGroups;
  std::map<PlanIndex, int64_t> largest; // bytes in and out, by clique
};

} // namespace

Result<collective::CommPlan> communicationPlanOf(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return Status(Error::planSignature, "the module has no function @main to compile");
  return Planner(distribute::meshOf(module)).run(main);
}

Status proveCommunication(const collective::CommPlan &plan) {
  TILEWRIGHT_ASSIGN(auto verdict, collective::verify(plan));
  const auto *found = std::get_if<collective::Counterexample>(&verdict);
  if (!found)
    return Status();
  Status status = collective::toStatus(plan, *found);
  return Status(
      *status.error(),
      concat(status.message(),
             "\n  note: --compile.verify-comm=false compiles the program without this check"));
}

} // namespace tilewright::driver
