// Collective ops.
#include "tilewright/dialect/source/Source.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/kernels/Elementwise.h"
#include "tilewright/interpret/kernels/Movement.h"
#include "tilewright/interpret/ranks/RankGroups.h"
#include "tilewright/support/Concat.h"

#include "llvm/ADT/STLExtras.h"

namespace tilewright::interpret {

static std::string whereOf(mlir::Operation *op) {
  const std::string source = source::placeOf(op->getLoc());
  return concat("'", op->getName().getStringRef().str(), "'", source.empty() ? "" : " at ", source);
}

namespace {
/// The state of a rank after exchanging with its group: the operands of all members in the group's
/// order, and its own position.
struct GroupOperands {
  std::vector<RuntimeValues> members;
  size_t self;

  /// Operand `index` of every member.
  std::vector<Tensor> tensors(size_t index) const {
    std::vector<Tensor> tensors;
    for (const RuntimeValues &values : members)
      tensors.push_back(values[index].tensor());
    return tensors;
  }
};
} // namespace

/// Exchanges operands with this rank's group; nullopt if the rank is in no group.
static Result<std::optional<GroupOperands>> exchange(OpCall &call) {
  const Rank &rank = call.evaluation.rank;
  TILEWRIGHT_ASSIGN(RankGroups groups, rankGroupsOf(call.op, rank.world->grid()));
  for (const std::vector<int64_t> &group : groups) {
    auto self = llvm::find(group, rank.number);
    if (self == group.end())
      continue;
    const auto index = static_cast<size_t>(self - group.begin());
    TILEWRIGHT_ASSIGN(std::vector<RuntimeValues> members,
                      rank.world->exchange(call.op, group, rank.number, std::move(call.operands),
                                           whereOf(call.op)));
    return std::optional<GroupOperands>(GroupOperands{std::move(members), index});
  }
  return std::optional<GroupOperands>();
}

/// Like exchange(), for ops that require every rank to be in a group.
static Result<GroupOperands> mustExchange(OpCall &call) {
  TILEWRIGHT_ASSIGN(std::optional<GroupOperands> group, exchange(call));
  if (!group)
    return Status(Error::interpretGroups,
                  concat("rank ", call.evaluation.rank.number, " is not in any replica group"));
  return *std::move(group);
}

/// Folds one tensor per member in group order. Computes in the body's argument type and converts
/// the sum to `result`.
static Result<Tensor> fold(OpCall &call, std::vector<Tensor> tensors, const ScalarFunction &body,
                           ElementType result) {
  const ElementType type = body.argumentTypes().front();
  auto converted = [&](const Tensor &tensor, ElementType to) -> Result<Tensor> {
    if (tensor.type() == to)
      return tensor;
    return elementwise(ScalarOp::convert, std::span(&tensor, 1), to, call.context());
  };
  TILEWRIGHT_ASSIGN(Tensor sum, converted(tensors.front(), type));
  for (const Tensor &tensor : std::span(tensors).subspan(1)) {
    TILEWRIGHT_ASSIGN(Tensor next, converted(tensor, type));
    TILEWRIGHT_ASSIGN(std::vector<Tensor> sums,
                      elementwise(body, std::vector{sum, next}, call.context()));
    sum = std::move(sums.front());
  }
  return converted(sum, result);
}

/// Part `index` of `count` equal parts along `dimension`.
static Result<Tensor> part(const Tensor &tensor, int64_t dimension, int64_t count, int64_t index,
                           Context &context) {
  const int64_t size = tensor.shape()[dimension];
  if (count < 1 || size % count != 0)
    return Status(Error::interpretShape, concat("dimension ", dimension, " of size ", size,
                                                " cannot be split into ", count, " parts"));
  std::vector<int64_t> start(static_cast<size_t>(tensor.rank()), 0);
  std::vector<int64_t> sizes(tensor.shape().dims().begin(), tensor.shape().dims().end());
  sizes[static_cast<size_t>(dimension)] = size / count;
  start[static_cast<size_t>(dimension)] = size / count * index;
  return dynamicSlice(tensor, start, sizes, context);
}

static Status giveZeros(OpCall &call) {
  for (size_t i = 0; i < call.op->getNumResults(); ++i) {
    TILEWRIGHT_ASSIGN(Shape shape, call.resultShape(i));
    const ElementType type = call.resultElementType(i);
    TILEWRIGHT_TRY(call.give(Tensor::filled(type, std::move(shape), zeroOf(type), call.context())));
  }
  return Status();
}

static Status evaluateAllGather(stablehlo::AllGatherOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(GroupOperands group, mustExchange(call));
  for (size_t i = 0; i < op->getNumResults(); ++i)
    TILEWRIGHT_TRY(call.give(
        concatenate(group.tensors(i), static_cast<int64_t>(op.getAllGatherDim()), call.context())));
  return Status();
}

static Status evaluateAllReduce(stablehlo::AllReduceOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(GroupOperands group, mustExchange(call));
  TILEWRIGHT_ASSIGN(ScalarFunction body, call.scalarFunction(op.getComputation()));
  for (size_t i = 0; i < op->getNumResults(); ++i)
    TILEWRIGHT_TRY(call.give(fold(call, group.tensors(i), body, call.resultElementType(i))));
  return Status();
}

static Status evaluateReduceScatter(stablehlo::ReduceScatterOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(GroupOperands group, mustExchange(call));
  TILEWRIGHT_ASSIGN(ScalarFunction body, call.scalarFunction(op.getComputation()));
  TILEWRIGHT_ASSIGN(Tensor sum, fold(call, group.tensors(0), body, call.resultElementType()));
  return call.give(part(sum, static_cast<int64_t>(op.getScatterDimension()),
                        static_cast<int64_t>(group.members.size()),
                        static_cast<int64_t>(group.self), call.context()));
}

static Status evaluateAllToAll(stablehlo::AllToAllOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(GroupOperands group, mustExchange(call));
  const auto count = static_cast<int64_t>(op.getSplitCount());
  if (count != static_cast<int64_t>(group.members.size()))
    return Status(Error::interpretGroups,
                  concat("split_count must equal the size of the group, got ", count, " and ",
                         group.members.size()));
  for (size_t i = 0; i < op->getNumResults(); ++i) {
    std::vector<Tensor> parts;
    for (const Tensor &tensor : group.tensors(i)) {
      TILEWRIGHT_ASSIGN(Tensor mine, part(tensor, static_cast<int64_t>(op.getSplitDimension()),
                                          count, static_cast<int64_t>(group.self), call.context()));
      parts.push_back(std::move(mine));
    }
    TILEWRIGHT_TRY(call.give(
        concatenate(parts, static_cast<int64_t>(op.getConcatDimension()), call.context())));
  }
  return Status();
}

/// The index in the group of the rank that sends result `i` (broadcast) or receives it (reduce): 0,
/// or with a dynamic root the value in the last operand.
static Result<size_t> rootOf(const GroupOperands &group, size_t i, bool dynamic) {
  if (!dynamic)
    return size_t(0);
  const int64_t root = group.members[group.self].back().tensor().indexAt(static_cast<int64_t>(i));
  if (root < 0 || root >= static_cast<int64_t>(group.members.size()))
    return Status(Error::interpretGroups,
                  concat("root must be the index of a member of the group, in [0, ",
                         group.members.size(), "), got ", root));
  return static_cast<size_t>(root);
}

static Status evaluateBroadcast(stablehlo::CollectiveBroadcastOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(std::optional<GroupOperands> group, exchange(call));
  if (!group)
    return giveZeros(call);
  for (size_t i = 0; i < op->getNumResults(); ++i) {
    TILEWRIGHT_ASSIGN(size_t root, rootOf(*group, i, op.getHasDynamicRoot()));
    call.results.push_back(group->members[root][i]);
  }
  return Status();
}

static Status evaluateCollectiveReduce(stablehlo::CollectiveReduceOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(std::optional<GroupOperands> group, exchange(call));
  if (!group)
    return giveZeros(call);
  TILEWRIGHT_ASSIGN(ScalarFunction body, call.scalarFunction(op.getComputation()));
  for (size_t i = 0; i < op->getNumResults(); ++i) {
    TILEWRIGHT_ASSIGN(size_t root, rootOf(*group, i, op.getHasDynamicRoot()));
    const ElementType type = call.resultElementType(i);
    if (root == group->self) {
      TILEWRIGHT_TRY(call.give(fold(call, group->tensors(i), body, type)));
      continue;
    }
    TILEWRIGHT_ASSIGN(Shape shape, call.resultShape(i));
    TILEWRIGHT_TRY(call.give(Tensor::filled(type, std::move(shape), zeroOf(type), call.context())));
  }
  return Status();
}

static Status evaluatePermute(stablehlo::CollectivePermuteOp op, OpCall &call) {
  const Rank &rank = call.evaluation.rank;
  TILEWRIGHT_ASSIGN(RankGroups pairs, rankGroupsOf(op, rank.world->grid()));
  for (const std::vector<int64_t> &pair : pairs)
    if (pair[0] == rank.number)
      rank.world->send({op, 0, pair[0], pair[1]}, call.operands);
  for (const std::vector<int64_t> &pair : pairs)
    if (pair[1] == rank.number)
      return call.give(rank.world->receive({op, 0, pair[0], pair[1]}, whereOf(op)));
  return giveZeros(call);
}

Status evaluateRaggedAllToAll(OpCall &call) {
  TILEWRIGHT_ASSIGN(GroupOperands group, mustExchange(call));
  const RuntimeValues &own = group.members[group.self];
  Tensor result = own[1].tensor();
  const int64_t entries = own[2].tensor().shape()[0];
  const int64_t each = entries / static_cast<int64_t>(group.members.size());
  std::vector<int64_t> start(static_cast<size_t>(result.rank()), 0);
  for (size_t member = 0; member < group.members.size(); ++member)
    for (int64_t i = 0; i < each; ++i) {
      const RuntimeValues &theirs = group.members[member];
      auto at = [&](size_t list) {
        return theirs[list].tensor().indexAt(static_cast<int64_t>(group.self) * each + i);
      };
      const Tensor &from = theirs[0].tensor();
      const int64_t offset = at(2), rows = at(3), to = at(4);
      const int64_t awaited = own[5].tensor().indexAt(static_cast<int64_t>(member) * each + i);
      auto isWithin = [&](int64_t first, const Tensor &tensor) {
        return first >= 0 && first <= tensor.shape()[0] && rows <= tensor.shape()[0] - first;
      };
      if (rows != awaited || rows < 0 || !isWithin(offset, from) || !isWithin(to, result))
        return Status(Error::raggedRows,
                      concat("member ", member, " of ", whereOf(call.op), " sends rows ", offset,
                             " to ", offset + rows, " of ", from.shape()[0], " to row ", to, " of ",
                             result.shape()[0], " of member ", group.self, ", which expects ",
                             awaited, " rows"));
      if (rows == 0)
        continue;
      std::vector<int64_t> sizes(from.shape().dims().begin(), from.shape().dims().end());
      sizes[0] = rows;
      start[0] = offset;
      TILEWRIGHT_ASSIGN(Tensor piece, dynamicSlice(from, start, sizes, call.context()));
      start[0] = to;
      TILEWRIGHT_ASSIGN(result,
                        dynamicUpdateSlice(std::move(result), piece, start, call.context()));
    }
  return call.give(std::move(result));
}

static Status evaluateCrossReplicaSum(stablehlo::CrossReplicaSumOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(GroupOperands group, mustExchange(call));
  return call.give(fold(call, group.tensors(0),
                        ScalarFunction::single(ScalarOp::add, group.tensors(0).front().type()),
                        call.resultElementType()));
}

static Status evaluateSend(stablehlo::SendOp op, OpCall &call) {
  const Rank &rank = call.evaluation.rank;
  const int64_t channel = op.getChannelHandle().getHandle();
  call.operands.pop_back(); // the token
  call.results.emplace_back();
  if (op.getIsHostTransfer()) {
    rank.world->putOutfeed(std::move(call.operands));
    return Status();
  }
  if (!op.getSourceTargetPairs())
    return Status(Error::interpretGroups, "a send to another device must have source_target_pairs");
  TILEWRIGHT_ASSIGN(RankGroups pairs, rankGroupsOf(op, rank.world->grid()));
  for (const std::vector<int64_t> &pair : pairs)
    if (pair[0] == rank.number)
      rank.world->send({nullptr, channel, pair[0], pair[1]}, call.operands);
  return Status();
}

static Status evaluateRecv(stablehlo::RecvOp op, OpCall &call) {
  const Rank &rank = call.evaluation.rank;
  const int64_t channel = op.getChannelHandle().getHandle();
  if (op.getIsHostTransfer()) {
    TILEWRIGHT_ASSIGN(call.results, rank.world->takeInfeed());
    call.results.emplace_back();
    return Status();
  }
  if (!op.getSourceTargetPairs())
    return Status(Error::interpretGroups,
                  "a recv from another device must have source_target_pairs");
  TILEWRIGHT_ASSIGN(RankGroups pairs, rankGroupsOf(op, rank.world->grid()));
  for (const std::vector<int64_t> &pair : pairs) {
    if (pair[1] != rank.number)
      continue;
    TILEWRIGHT_ASSIGN(call.results,
                      rank.world->receive({nullptr, channel, pair[0], pair[1]}, whereOf(op)));
    call.results.emplace_back();
    return Status();
  }
  // No rank sends to this rank: it gets zeros, as in collective_permute.
  for (size_t i = 0; i + 1 < op->getNumResults(); ++i) {
    TILEWRIGHT_ASSIGN(Shape shape, call.resultShape(i));
    const ElementType type = call.resultElementType(i);
    TILEWRIGHT_TRY(call.give(Tensor::filled(type, std::move(shape), zeroOf(type), call.context())));
  }
  call.results.emplace_back();
  return Status();
}

static Status giveNumber(OpCall &call, int64_t number) {
  return call.give(Tensor::scalar(
      ElementType::ui32, Scalar::ofUnsigned(static_cast<uint64_t>(number)), call.context()));
}

void addCollectiveHandlers(HandlerTable &table) {
  add<stablehlo::AllGatherOp, evaluateAllGather>(table);
  add<stablehlo::AllReduceOp, evaluateAllReduce>(table);
  add<stablehlo::AllToAllOp, evaluateAllToAll>(table);
  add<stablehlo::ReduceScatterOp, evaluateReduceScatter>(table);
  add<stablehlo::CollectiveBroadcastOp, evaluateBroadcast>(table);
  add<stablehlo::CollectiveReduceOp, evaluateCollectiveReduce>(table);
  add<stablehlo::CollectivePermuteOp, evaluatePermute>(table);
  add<stablehlo::CrossReplicaSumOp, evaluateCrossReplicaSum>(table);
  add<stablehlo::SendOp, evaluateSend>(table);
  add<stablehlo::RecvOp, evaluateRecv>(table);
  add<stablehlo::PartitionIdOp>(table, [](stablehlo::PartitionIdOp op, OpCall &call) {
    return giveNumber(call, call.evaluation.rank.partition());
  });
  add<stablehlo::ReplicaIdOp>(table, [](stablehlo::ReplicaIdOp op, OpCall &call) {
    return giveNumber(call, call.evaluation.rank.replica());
  });
  // Run the started op to completion at once: every asynchronous schedule must allow that.
  add<stablehlo::AsyncStartOp>(table, [](stablehlo::AsyncStartOp op, OpCall &call) {
    TILEWRIGHT_ASSIGN(RuntimeValues results, call.run(op.getBody(), std::move(call.operands)));
    call.results.push_back(RuntimeValue::tuple(std::move(results)));
    return Status();
  });
  add<stablehlo::AsyncDoneOp>(table, [](stablehlo::AsyncDoneOp op, OpCall &call) {
    call.results = call.operands[0].elements();
    return Status();
  });
}

} // namespace tilewright::interpret
