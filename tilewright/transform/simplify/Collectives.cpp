// A collective whose groups have one process each returns each process its own operand.
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/interpret/ranks/RankGroups.h"
#include "tilewright/transform/simplify/Patterns.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

/// Whether the module declares that it runs as a single process.
bool runsAlone(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  if (!module || !module->hasAttr("mhlo.num_partitions"))
    return false;
  const interpret::RankGrid grid = interpret::rankGridOf(module);
  return grid.replicas == 1 && grid.partitions == 1;
}

/// Whether every group of the collective has one process, whatever the number of processes.
bool isAlone(Operation *op) {
  auto groups = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
  if (runsAlone(op))
    return true;
  if (!groups || groups.getNumElements() == 0 || groups.getType().getDimSize(1) != 1)
    return false;
  // With a channel and without global ids, a group of one replica contains all of its partitions.
  auto channel = op->getAttrOfType<stablehlo::ChannelHandleAttr>("channel_handle");
  return op->hasAttr("use_global_device_ids") || !channel || channel.getHandle() <= 0;
}

/// Whether every process is in a group. A process outside of all groups gets zeros from a
/// collective_broadcast or a collective_reduce; other collectives have no such processes.
bool hasAllProcesses(Operation *op) {
  if (!isa<stablehlo::CollectiveBroadcastOp, stablehlo::CollectiveReduceOp>(op))
    return true;
  auto module = op->getParentOfType<ModuleOp>();
  if (!module || !module->hasAttr("mhlo.num_partitions"))
    return false;
  const interpret::RankGrid grid = interpret::rankGridOf(module);
  Result<interpret::RankGroups> groups = interpret::rankGroupsOf(op, grid);
  int64_t members = 0;
  if (groups.isOk())
    for (const std::vector<int64_t> &group : *groups)
      members += static_cast<int64_t>(group.size());
  return members == grid.count();
}

template <typename Op> LogicalResult dropCollectiveOfOne(Op op, PatternRewriter &rewriter) {
  if (!isAlone(op))
    return rewriter.notifyMatchFailure(op, "a group may have several processes");
  if (!hasAllProcesses(op))
    return rewriter.notifyMatchFailure(op, "a process may be in no group, and gets zeros");
  if (op->getResultTypes() != op->getOperandTypes())
    return rewriter.notifyMatchFailure(op, "the result types differ from the operand types");
  rewriter.replaceOp(op, op->getOperands());
  return success();
}

LogicalResult dropPermuteOfOne(stablehlo::CollectivePermuteOp op, PatternRewriter &rewriter) {
  if (!runsAlone(op))
    return rewriter.notifyMatchFailure(op, "the program may run as several processes");
  // The only possible pair is (0, 0). Without it, the process receives nothing.
  if (op.getSourceTargetPairs().getNumElements() != 0) {
    rewriter.replaceOp(op, op.getOperand());
    return success();
  }
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return rewriter.notifyMatchFailure(op, "has no constant of zeros");
  rewriter.replaceOpWithNewOp<stablehlo::ConstantOp>(
      op, DenseElementsAttr::get(type, rewriter.getZeroAttr(type.getElementType())));
  return success();
}

template <typename Op> LogicalResult numberTheOnlyProcess(Op op, PatternRewriter &rewriter) {
  if (!runsAlone(op))
    return rewriter.notifyMatchFailure(op, "the program may run as several processes");
  auto type = cast<RankedTensorType>(op.getType());
  rewriter.replaceOpWithNewOp<stablehlo::ConstantOp>(
      op, DenseElementsAttr::get(type, rewriter.getIntegerAttr(type.getElementType(), 0)));
  return success();
}

} // namespace

void addCollectivePatterns(RewritePatternSet &patterns) {
  constexpr llvm::StringLiteral drop = "dropCollectiveOfOne", number = "numberTheOnlyProcess";
  addPattern<stablehlo::AllGatherOp>(patterns, drop, dropCollectiveOfOne);
  addPattern<stablehlo::AllReduceOp>(patterns, drop, dropCollectiveOfOne);
  addPattern<stablehlo::AllToAllOp>(patterns, drop, dropCollectiveOfOne);
  addPattern<stablehlo::ReduceScatterOp>(patterns, drop, dropCollectiveOfOne);
  addPattern<stablehlo::CollectiveBroadcastOp>(patterns, drop, dropCollectiveOfOne);
  addPattern<stablehlo::CollectiveReduceOp>(patterns, drop, dropCollectiveOfOne);
  addPattern<stablehlo::CrossReplicaSumOp>(patterns, drop, dropCollectiveOfOne);
  addPattern<stablehlo::CollectivePermuteOp>(patterns, "dropPermuteOfOne", dropPermuteOfOne);
  addPattern<stablehlo::PartitionIdOp>(patterns, number, numberTheOnlyProcess);
  addPattern<stablehlo::ReplicaIdOp>(patterns, number, numberTheOnlyProcess);
}

} // namespace tilewright::simplify
