#include "tilewright/transform/distribute/Replication.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/interpret/ranks/RankGroups.h"
#include "tilewright/transform/distribute/RankScalars.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::distribute {

static constexpr llvm::StringLiteral variesAttr = "exec.varies", choicesAttr = "exec.choices";
// For transform/communicate.
static constexpr llvm::StringLiteral replicatedAttr = "exec.replicated",
                                     ownPartAttr = "exec.own_part";

namespace {

class Analysis {
public:
  /// `unsharded`: the axes along which a parameter without a sharding varies.
  Analysis(ModuleOp module, const Mesh &mesh, AxisSet unsharded)
      : module(module), mesh(mesh), coordinates(mesh), all(mesh.proper()), unsharded(unsharded),
        grid(interpret::rankGridOf(module)), scalars(coordinates, grid) {}

  void run(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      varies[argument] = ofParameter(function, argument.getArgNumber());
    visit(function.front());
  }
  /// Stores facts for the proof of communication.
  void markControl(func::FuncOp function) {
    function.walk([&](Operation *op) { mark(op); });
  }
  /// Stores facts for transform/communicate.
  void markCollectives(func::FuncOp function) {
    function.walk([&](Operation *op) {
      markReplicated(op);
      markOwnPart(op);
    });
  }

private:
  AxisSet of(Value value) const {
    auto found = varies.find(value);
    return found == varies.end() ? 0 : found->second;
  }
  bool join(Value value, AxisSet bits) {
    AxisSet &known = varies[value];
    const bool changes = (known | bits) != known;
    known |= bits;
    return changes;
  }

  AxisSet named(StringRef name) const {
    for (size_t i = 0; i < mesh.axes.size(); ++i)
      if (mesh.axes[i].name == name)
        return (AxisSet(1) << i) & all;
    return all; // an axis of another mesh
  }

  AxisSet ofParameter(func::FuncOp function, unsigned number) const {
    DictionaryAttr attributes = function.getArgAttrDict(number);
    AxisSet bits = 0;
    auto same =
        attributes ? attributes.getAs<BoolAttr>("mhlo.is_same_data_across_replicas") : BoolAttr();
    if (grid.replicas > 1 && !(same && same.getValue()))
      bits |= mesh.axes.front().name == "replica" ? (AxisSet(1) & all) : all;
    if (!attributes)
      return bits | unsharded;
    if (auto sharding = attributes.getAs<sdy::TensorShardingAttr>("sdy.sharding")) {
      for (sdy::DimensionShardingAttr dimension : sharding.getDimShardings())
        for (sdy::AxisRefAttr axis : dimension.getAxes())
          bits |= named(axis.getName());
      // Each rank holds a different term.
      for (sdy::AxisRefAttr axis : sharding.getUnreducedAxes())
        bits |= named(axis.getName());
      return bits;
    }
    if (auto text = attributes.getAs<StringAttr>("mhlo.sharding"))
      return text.getValue() == "{replicated}" ? bits : all;
    return attributes.get("exec.sharding") ? all : bits | unsharded;
  }

  /// The default: a result varies along every axis along which an input varies.
  AxisSet ofInputs(Operation *op) const {
    AxisSet bits = 0;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        bits |= of(operand);
    });
    return bits;
  }

  AxisSet ofCollective(Operation *op) const {
    const AxisSet in = ofInputs(op);
    Result<interpret::RankGroups> groups = interpret::rankGroupsOf(op, grid);
    // A permutation gives each rank a different value, and a reduction to a root leaves the result
    // on the root only.
    if (!groups.isOk() || isa<stablehlo::CollectivePermuteOp, stablehlo::CollectiveReduceOp>(op))
      return all;
    const GroupFacts facts = coordinates.factsOf(*groups);
    const bool isMember = isa<stablehlo::ReduceScatterOp, stablehlo::AllToAllOp>(op) ||
                          stablehlo::isRaggedAllToAll(op);
    if (isMember)
      return facts.isAligned ? in | (all & ~facts.varies) : all;
    return facts.isAligned ? in & facts.varies : facts.varies;
  }

  void visit(Block &block) {
    for (Operation &op : block)
      visit(&op);
  }

  void visit(Operation *op) {
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
      return visitLoop(loop);
    if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
      return visitBranch(op);
    if (op->getNumResults() == 0)
      return;
    if (stablehlo::isCollective(op)) {
      const AxisSet bits = ofCollective(op);
      for (Value result : op->getResults())
        join(result, bits);
      return;
    }
    if (isa<stablehlo::OptimizationBarrierOp>(op) && op->getNumOperands() == op->getNumResults()) {
      for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults()))
        join(result, of(operand));
      return;
    }
    if (scalars.visit(op)) {
      join(op->getResult(0), scalars.varies(op->getResult(0)));
      return;
    }
    const AxisSet bits = isFromOutside(op) || stablehlo::hasCollective(op) ? all : ofInputs(op);
    for (Value result : op->getResults())
      join(result, bits);
  }

  static bool isFromOutside(Operation *op) {
    if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
      return call.getHasSideEffect();
    // An op with side effects may return anything.
    return op->getNumRegions() == 0 && !isMemoryEffectFree(op);
  }

  void visitLoop(stablehlo::WhileOp loop) {
    Block &condition = loop.getCond().front(), &body = loop.getBody().front();
    Operation *test = condition.getTerminator(), *next = body.getTerminator();
    for (unsigned i = 0; i < loop->getNumOperands(); ++i) {
      join(condition.getArgument(i), of(loop->getOperand(i)));
      join(body.getArgument(i), of(loop->getOperand(i)));
    }
    // Bits are only added, so this terminates after at most as many rounds as there are values.
    for (bool changes = true; changes;) {
      changes = false;
      visit(condition);
      const AxisSet trips = of(test->getOperand(0));
      visit(body);
      for (unsigned i = 0; i < loop->getNumOperands(); ++i) {
        // Ranks with different trip counts end with different values.
        changes |= join(condition.getArgument(i), of(next->getOperand(i)));
        changes |= join(body.getArgument(i), of(next->getOperand(i)));
        join(loop.getResult(i), of(condition.getArgument(i)) | trips);
      }
    }
  }

  void visitBranch(Operation *op) {
    const AxisSet choice = of(op->getOperand(0));
    for (Region &region : op->getRegions()) {
      visit(region.front());
      for (auto [result, value] :
           llvm::zip_equal(op->getResults(), region.front().getTerminator()->getOperands()))
        join(result, of(value) | choice);
    }
  }

  void mark(Operation *op) {
    auto loop = dyn_cast<stablehlo::WhileOp>(op);
    if (!loop && !isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
      return;
    if (!stablehlo::hasCollective(op))
      return;
    Builder builder(op->getContext());
    Value decides =
        loop ? loop.getCond().front().getTerminator()->getOperand(0) : op->getOperand(0);
    AxisSet bits = of(decides);
    if (const std::vector<int64_t> *table = loop ? nullptr : scalars.find(decides)) {
      bits = scalars.varies(decides);
      const auto regions = static_cast<int64_t>(op->getNumRegions());
      SmallVector<int64_t> choices(coordinates.count(bits));
      for (int64_t rank = 0; rank < mesh.size(); ++rank) {
        const int64_t value = (*table)[table->size() == 1 ? 0 : static_cast<size_t>(rank)];
        choices[coordinates.along(bits, rank)] =
            isa<stablehlo::IfOp>(op) ? (value != 0 ? 0 : 1)
                                     : (value < 0 || value >= regions ? regions - 1 : value);
      }
      op->setAttr(choicesAttr, builder.getDenseI64ArrayAttr(choices));
    }
    SmallVector<int64_t> axes;
    for (size_t i = 0; i < mesh.axes.size(); ++i)
      if (bits >> i & 1)
        axes.push_back(static_cast<int64_t>(i));
    op->setAttr(variesAttr, builder.getDenseI64ArrayAttr(axes));
  }

  /// Marks an all_reduce whose operands are the same on all ranks of each group.
  void markReplicated(Operation *op) {
    if (!isa<stablehlo::AllReduceOp>(op))
      return;
    Result<interpret::RankGroups> groups = interpret::rankGroupsOf(op, grid);
    if (!groups.isOk())
      return;
    const GroupFacts facts = coordinates.factsOf(*groups);
    if (facts.isAligned && (ofInputs(op) & ~facts.varies) == 0)
      op->setAttr(replicatedAttr, UnitAttr::get(op->getContext()));
  }

  /// Marks a slice of an all_reduce that gives each rank the part of its position in the group,
  /// with the dimension.
  void markOwnPart(Operation *op) {
    auto slice = dyn_cast<stablehlo::DynamicSliceOp>(op);
    auto reduce = slice ? slice.getOperand().getDefiningOp<stablehlo::AllReduceOp>()
                        : stablehlo::AllReduceOp();
    if (!reduce)
      return;
    Result<interpret::RankGroups> groups = interpret::rankGroupsOf(reduce, grid);
    auto type = dyn_cast<RankedTensorType>(slice.getOperand().getType());
    if (!groups.isOk() || groups->empty() || !type || !type.hasStaticShape())
      return;
    const auto members = static_cast<int64_t>(groups->front().size());
    std::optional<unsigned> dimension;
    for (unsigned i = 0; i < type.getRank(); ++i)
      if (slice.getSliceSizes()[i] != type.getDimSize(i)) {
        if (dimension || slice.getSliceSizes()[i] * members != type.getDimSize(i))
          return;
        dimension = i;
      }
    const std::vector<int64_t> *starts =
        dimension ? scalars.find(slice.getStartIndices()[*dimension]) : nullptr;
    if (!starts || starts->size() == 1)
      return;
    const int64_t size = slice.getSliceSizes()[*dimension];
    int64_t covered = 0;
    for (const std::vector<int64_t> &group : *groups) {
      if (static_cast<int64_t>(group.size()) != members)
        return;
      for (int64_t position = 0; position < members; ++position, ++covered)
        if ((*starts)[static_cast<size_t>(group[static_cast<size_t>(position)])] != position * size)
          return;
    }
    if (covered == mesh.size())
      op->setAttr(ownPartAttr, Builder(op->getContext()).getI64IntegerAttr(*dimension));
  }

  ModuleOp module;
  const Mesh &mesh;
  const RankCoordinates coordinates;
  const AxisSet all, unsharded;
  const interpret::RankGrid grid;
  RankScalars scalars;
  llvm::DenseMap<Value, AxisSet> varies;
};

} // namespace

void markControl(ModuleOp module) {
  const Mesh mesh = meshOf(module);
  if (mesh.size() == 1)
    return;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return;
  Analysis control(module, mesh, /*unsharded=*/0);
  control.run(main);
  control.markControl(main);
  if (!stablehlo::hasCollective(main))
    return;
  // The proof may assume that a parameter without a sharding is replicated. A rewrite that changes
  // values may not: a caller can pass each rank its own.
  Analysis values(module, mesh, mesh.proper());
  values.run(main);
  values.markCollectives(main);
}

ControlFacts factsOf(Operation *op, const Mesh &mesh) {
  ControlFacts facts;
  auto axes = op->getAttrOfType<DenseI64ArrayAttr>(variesAttr);
  if (!axes) {
    facts.varies = mesh.proper();
    return facts;
  }
  for (int64_t axis : axes.asArrayRef())
    facts.varies |= AxisSet(1) << axis;
  if (auto choices = op->getAttrOfType<DenseI64ArrayAttr>(choicesAttr))
    facts.choices.assign(choices.asArrayRef().begin(), choices.asArrayRef().end());
  return facts;
}

} // namespace tilewright::distribute
