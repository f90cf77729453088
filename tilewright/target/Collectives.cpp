#include "tilewright/target/Collectives.h"

#include "tilewright/dialect/exec/LibraryOps.h"
#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/interpret/ranks/RankGroups.h"
#include "tilewright/support/Errors.h"
#include "tilewright/target/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::target {

#define GEN_PASS_DEF_LOWERCOLLECTIVESPASS
#include "tilewright/target/Passes.h.inc"

using numerics::CollectiveKind;
using numerics::ReductionKind;
using Groups = interpret::RankGroups;

/// The groups as rows of equal length, padded with -1.
static DenseIntElementsAttr toAttribute(Builder &builder, const Groups &groups) {
  size_t columns = 1;
  for (const std::vector<int64_t> &group : groups)
    columns = std::max(columns, group.size());
  SmallVector<int64_t> flat;
  for (const std::vector<int64_t> &group : groups) {
    flat.append(group.begin(), group.end());
    flat.resize(flat.size() + columns - group.size(), -1);
  }
  auto type = RankedTensorType::get(
      {static_cast<int64_t>(groups.size()), static_cast<int64_t>(columns)}, builder.getI64Type());
  return DenseIntElementsAttr::get(type, flat);
}

ReductionKind reductionOf(Operation *op) {
  if (isa<stablehlo::CrossReplicaSumOp>(op))
    return ReductionKind::add;
  if (op->getNumRegions() != 1)
    return ReductionKind::none;
  Block &body = op->getRegion(0).front();
  if (body.getNumArguments() != 2)
    return ReductionKind::function;
  Operation *combiner = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2)
    return ReductionKind::function;
  const Value x = body.getArgument(0), y = body.getArgument(1), left = combiner->getOperand(0),
              right = combiner->getOperand(1);
  if (!(left == x && right == y) && !(left == y && right == x))
    return ReductionKind::function;
  return numerics::reductionNamed(combiner->getName().stripDialect())
      .value_or(ReductionKind::function);
}

std::string lowerCollective(Operation *op, int64_t id, ArrayAttr bodies) {
  Result<Groups> ranks =
      interpret::rankGroupsOf(op, interpret::rankGridOf(op->getParentOfType<ModuleOp>()));
  if (!ranks.isOk())
    return std::move(ranks).takeStatus().message();
  const std::optional<CollectiveKind> kind =
      isa<stablehlo::CrossReplicaSumOp>(op) ? CollectiveKind::allReduce
      : stablehlo::isRaggedAllToAll(op)     ? CollectiveKind::raggedAllToAll
                                        : numerics::collectiveNamed(op->getName().stripDialect());
  if (!kind || op->hasAttr("has_dynamic_root"))
    return !kind ? "is not supported by the collective engines"
                 : "has a dynamic root, which is not supported";

  int64_t dimension = 0, splitDimension = 0;
  if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op)) {
    dimension = static_cast<int64_t>(gather.getAllGatherDim());
  } else if (auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(op)) {
    dimension = static_cast<int64_t>(scatter.getScatterDimension());
  } else if (auto all = dyn_cast<stablehlo::AllToAllOp>(op)) {
    dimension = static_cast<int64_t>(all.getConcatDimension());
    splitDimension = static_cast<int64_t>(all.getSplitDimension());
  }
  OpBuilder builder(op);
  auto start = exec::CollectiveStartOp::create(
      builder, op->getLoc(), op->getResultTypes(),
      exec::CollectiveAttr::get(op->getContext(), *kind, dimension, splitDimension,
                                reductionOf(op)),
      op->getOperands(), builder.getI64IntegerAttr(id), toAttribute(builder, *ranks), bodies);
  auto done = exec::CollectiveDoneOp::create(builder, op->getLoc(), op->getResultTypes(),
                                             start.getResults(), builder.getI64IntegerAttr(id));
  op->replaceAllUsesWith(done);
  op->erase();
  return "";
}

namespace {

struct LowerCollectives : impl::LowerCollectivesPassBase<LowerCollectives> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isPrivate()) // a private function is never called: it only describes another op
        function.walk([&](Operation *op) {
          if (stablehlo::isCollective(op) ||
              isa<stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp>(op))
            ops.push_back(op);
        });
    int64_t id = 0;
    for (Operation *op : ops) {
      if (!stablehlo::isCollective(op)) {
        lowerRank(op);
        continue;
      }
      if (stablehlo::isRaggedAllToAll(op))
        if (std::string why = lowerCollective(exchangeOffsets(op), id++); !why.empty()) {
          op->emitError() << idOf(Error::gpuOp) << " target: the exchange of the offsets of '"
                          << op->getName() << "' " << why;
          return signalPassFailure();
        }
      std::string why = reductionOf(op) == ReductionKind::function
                            ? "combines elements with a function, but engines on devices know "
                              "only single operations such as a sum"
                            : lowerCollective(op, id++);
      if (why.empty())
        continue;
      op->emitError() << idOf(Error::gpuOp) << " target: '" << op->getName() << "' " << why;
      signalPassFailure();
    }
  }

  /// A device needs to know where incoming rows belong in its own result. So the ranks first
  /// exchange the output offsets of a ragged_all_to_all, which are positions in the receivers'
  /// results.
  static Operation *exchangeOffsets(Operation *op) {
    OpBuilder builder(op);
    const DictionaryAttr config = stablehlo::raggedConfigOf(op);
    auto groups = config.getAs<DenseIntElementsAttr>("replica_groups");
    auto channel = config.getAs<IntegerAttr>("channel_id");
    const Value offsets = op->getOperand(4);
    auto exchange = stablehlo::AllToAllOp::create(
        builder, op->getLoc(), offsets.getType(), offsets, 0, 0, groups.getType().getDimSize(1),
        groups,
        channel ? stablehlo::ChannelHandleAttr::get(op->getContext(), channel.getInt(), 1)
                : stablehlo::ChannelHandleAttr());
    op->setOperand(4, exchange->getResult(0));
    return exchange;
  }

  static void lowerRank(Operation *op) {
    OpBuilder builder(op);
    auto rank =
        exec::RankIdOp::create(builder, op->getLoc(), op->getResultTypes(),
                               isa<stablehlo::PartitionIdOp>(op) ? numerics::RankKind::partition
                                                                 : numerics::RankKind::replica);
    op->replaceAllUsesWith(rank.getOperation());
    op->erase();
  }
};

} // namespace
} // namespace tilewright::target
