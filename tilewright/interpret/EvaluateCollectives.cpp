// Ops that several ranks carry out together.
#include "tilewright/dialect/stablehlo/CallOps.h"
#include "tilewright/dialect/stablehlo/CollectiveOps.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/RankGroups.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/kernels/Elementwise.h"
#include "tilewright/interpret/kernels/Movement.h"
#include "tilewright/support/Concat.h"

#include "llvm/ADT/STLExtras.h"

namespace tilewright::interpret {

static std::string whereOf(mlir::Operation *op) {
  const std::string place = placeOf(op->getLoc());
  return concat("'", op->getName().getStringRef().str(), "'", place.empty() ? "" : " at ", place);
}

namespace {
/// What a rank knows after meeting its group: everybody's operands in the
/// group's order, and its own place in it.
struct Meeting {
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

/// Meets the group that this rank is in; nothing if it is in none.
static Result<std::optional<Meeting>> meet(OpCall &call) {
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
    return std::optional<Meeting>(Meeting{std::move(members), index});
  }
  return std::optional<Meeting>();
}

/// The same for ops that every rank must be in a group of.
static Result<Meeting> mustMeet(OpCall &call) {
  TILEWRIGHT_ASSIGN(std::optional<Meeting> meeting, meet(call));
  if (!meeting)
    return Status(Error::interpretGroups, concat("rank ", call.evaluation.rank.number,
                                                 " is in none of the replica groups"));
  return *std::move(meeting);
}

/// Combines one tensor per member, in order, in the type that the body takes.
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

/// Part `index` of `count` equal ones along `dimension`.
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
  TILEWRIGHT_ASSIGN(Meeting meeting, mustMeet(call));
  for (size_t i = 0; i < op->getNumResults(); ++i)
    TILEWRIGHT_TRY(call.give(concatenate(
        meeting.tensors(i), static_cast<int64_t>(op.getAllGatherDim()), call.context())));
  return Status();
}

static Status evaluateAllReduce(stablehlo::AllReduceOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(Meeting meeting, mustMeet(call));
  TILEWRIGHT_ASSIGN(ScalarFunction body, call.scalarFunction(op.getComputation()));
  for (size_t i = 0; i < op->getNumResults(); ++i)
    TILEWRIGHT_TRY(call.give(fold(call, meeting.tensors(i), body, call.resultElementType(i))));
  return Status();
}

static Status evaluateReduceScatter(stablehlo::ReduceScatterOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(Meeting meeting, mustMeet(call));
  TILEWRIGHT_ASSIGN(ScalarFunction body, call.scalarFunction(op.getComputation()));
  TILEWRIGHT_ASSIGN(Tensor sum, fold(call, meeting.tensors(0), body, call.resultElementType()));
  return call.give(part(sum, static_cast<int64_t>(op.getScatterDimension()),
                        static_cast<int64_t>(meeting.members.size()),
                        static_cast<int64_t>(meeting.self), call.context()));
}

static Status evaluateAllToAll(stablehlo::AllToAllOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(Meeting meeting, mustMeet(call));
  const auto count = static_cast<int64_t>(op.getSplitCount());
  if (count != static_cast<int64_t>(meeting.members.size()))
    return Status(Error::interpretGroups, concat("split_count must be the size of the group, got ",
                                                 count, " and ", meeting.members.size()));
  for (size_t i = 0; i < op->getNumResults(); ++i) {
    std::vector<Tensor> parts;
    for (const Tensor &tensor : meeting.tensors(i)) {
      TILEWRIGHT_ASSIGN(Tensor mine,
                        part(tensor, static_cast<int64_t>(op.getSplitDimension()), count,
                             static_cast<int64_t>(meeting.self), call.context()));
      parts.push_back(std::move(mine));
    }
    TILEWRIGHT_TRY(call.give(
        concatenate(parts, static_cast<int64_t>(op.getConcatDimension()), call.context())));
  }
  return Status();
}

/// The member whose value `results[i]` is, or goes to: the first, or with a
/// dynamic root the one that the last operand names.
static Result<size_t> rootOf(const Meeting &meeting, size_t i, bool dynamic) {
  if (!dynamic)
    return size_t(0);
  const int64_t root =
      meeting.members[meeting.self].back().tensor().indexAt(static_cast<int64_t>(i));
  if (root < 0 || root >= static_cast<int64_t>(meeting.members.size()))
    return Status(Error::interpretGroups,
                  concat("root ", root, " is not in a group of ", meeting.members.size()));
  return static_cast<size_t>(root);
}

static Status evaluateBroadcast(stablehlo::CollectiveBroadcastOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(std::optional<Meeting> meeting, meet(call));
  if (!meeting)
    return giveZeros(call);
  for (size_t i = 0; i < op->getNumResults(); ++i) {
    TILEWRIGHT_ASSIGN(size_t root, rootOf(*meeting, i, op.getHasDynamicRoot()));
    call.results.push_back(meeting->members[root][i]);
  }
  return Status();
}

static Status evaluateCollectiveReduce(stablehlo::CollectiveReduceOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(std::optional<Meeting> meeting, meet(call));
  if (!meeting)
    return giveZeros(call);
  TILEWRIGHT_ASSIGN(ScalarFunction body, call.scalarFunction(op.getComputation()));
  for (size_t i = 0; i < op->getNumResults(); ++i) {
    TILEWRIGHT_ASSIGN(size_t root, rootOf(*meeting, i, op.getHasDynamicRoot()));
    const ElementType type = call.resultElementType(i);
    if (root == meeting->self) {
      TILEWRIGHT_TRY(call.give(fold(call, meeting->tensors(i), body, type)));
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

static Status evaluateCrossReplicaSum(stablehlo::CrossReplicaSumOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(Meeting meeting, mustMeet(call));
  return call.give(fold(call, meeting.tensors(0),
                        ScalarFunction::single(ScalarOp::add, meeting.tensors(0).front().type()),
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
    return Status(Error::interpretGroups, "a send to another device needs source_target_pairs");
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
    return Status(Error::interpretGroups, "a recv from another device needs source_target_pairs");
  TILEWRIGHT_ASSIGN(RankGroups pairs, rankGroupsOf(op, rank.world->grid()));
  for (const std::vector<int64_t> &pair : pairs) {
    if (pair[1] != rank.number)
      continue;
    TILEWRIGHT_ASSIGN(call.results,
                      rank.world->receive({nullptr, channel, pair[0], pair[1]}, whereOf(op)));
    call.results.emplace_back();
    return Status();
  }
  // Nobody sends to this rank: it gets zeros, as from collective_permute.
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
  // What is started has finished before anything else runs: an order that
  // every asynchronous execution allows.
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
