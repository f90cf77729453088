// The collectives and messages: checks arguments and adds operations to the group.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/nccl/Functions.h"
#include "tilewright/vgpu/nccl/Group.h"

namespace tilewright::vgpu::nccl {

static ncclResult_t add(ncclComm_t handle, Operation operation, bool reduces = false) {
  std::shared_ptr<Comm> comm = findComm(handle);
  if (!comm)
    return failCall(ncclInvalidArgument, "invalid or destroyed communicator");
  NCCL_TRY(comm->checkReady());
  const char *name = nameOf(operation.kind);
  if (comm->isRevoked || comm->isFinalized)
    return comm->fail(ncclInvalidUsage, concat(name, " on a communicator that was ",
                                               comm->isRevoked ? "revoked" : "finalized"));
  if (operation.type < 0 || operation.type >= ncclNumTypes)
    return comm->fail(ncclInvalidArgument,
                      concat(name, ": invalid data type ", int(operation.type)));
  const bool hasRoot = operation.root != -1;
  if (hasRoot && (operation.root < 0 || operation.root >= comm->ranks))
    return comm->fail(ncclInvalidArgument,
                      concat(name, ": invalid root or peer ", operation.root,
                             ", the communicator has ", comm->ranks, " ranks"));
  if (reduces && operation.operation >= ncclNumOps) {
    auto found = comm->reductions.find(operation.operation);
    if (found == comm->reductions.end() || found->second.type != operation.type)
      return comm->fail(ncclInvalidArgument,
                        concat(name, ": the operator ", int(operation.operation),
                               found == comm->reductions.end()
                                   ? " was not made for this communicator, or was destroyed"
                                   : " was made for another data type"));
    operation.factor = found->second;
  } else if (reduces && operation.operation < 0) {
    return comm->fail(ncclInvalidArgument,
                      concat(name, ": invalid operator ", int(operation.operation)));
  }
  size_t bytes = 0;
  if (__builtin_mul_overflow(operation.count, bytesOf(operation.type) * size_t(comm->ranks),
                             &bytes))
    return comm->fail(ncclInvalidArgument,
                      concat(name, ": count ", operation.count, " is too large"));
  for (const tilewright_vgpu_range &range : operation.ranges(comm->rank, comm->ranks))
    if (range.begin == 0)
      return comm->fail(ncclInvalidArgument,
                        concat(name, ": a buffer of ", range.bytes, " bytes is a null pointer"));
  // NCCL drops collectives without data; messages without data still need their partner.
  if (operation.count != 0 || operation.isMessage())
    addOperation(comm, operation);
  return ncclSuccess;
}

/// A call outside of a group is a group of its own.
static ncclResult_t call(ncclComm_t comm, const Operation &operation, bool reduces = false) {
  beginGroup();
  const ncclResult_t added = noteGroupError(add(comm, operation, reduces));
  const ncclResult_t ended = endGroup();
  return added != ncclSuccess ? added : ended;
}

/// -1 means "no root" in an operation, so it must not be a root that the program passed.
static int rootOf(int given) { return given < 0 ? INT_MAX : given; }

static const std::byte *from(const void *buffer) { return static_cast<const std::byte *>(buffer); }
static std::byte *into(void *buffer) { return static_cast<std::byte *>(buffer); }

namespace api {

ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  return call(
      comm, {CallKind::allReduce, from(sendbuff), into(recvbuff), count, datatype, op, -1, stream},
      true);
}
ncclResult_t ncclReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return call(
      comm,
      {CallKind::reduce, from(sendbuff), into(recvbuff), count, datatype, op, rootOf(root), stream},
      true);
}
ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return call(comm,
              {CallKind::reduceScatter, from(sendbuff), into(recvbuff), recvcount, datatype, op, -1,
               stream},
              true);
}
ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {CallKind::allGather, from(sendbuff), into(recvbuff), sendcount, datatype,
                     ncclSum, -1, stream});
}
ncclResult_t ncclAlltoAll(const void *sendbuff, void *recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {CallKind::allToAll, from(sendbuff), into(recvbuff), count, datatype, ncclSum,
                     -1, stream});
}
ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return call(comm, {CallKind::broadcast, from(sendbuff), into(recvbuff), count, datatype, ncclSum,
                     rootOf(root), stream});
}
ncclResult_t ncclBcast(void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}
ncclResult_t ncclGather(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {CallKind::gather, from(sendbuff), into(recvbuff), count, datatype, ncclSum,
                     rootOf(root), stream});
}
ncclResult_t ncclScatter(const void *sendbuff, void *recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {CallKind::scatter, from(sendbuff), into(recvbuff), count, datatype, ncclSum,
                     rootOf(root), stream});
}
ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {CallKind::send, from(sendbuff), nullptr, count, datatype, ncclSum,
                     rootOf(peer), stream});
}
ncclResult_t ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {CallKind::receive, nullptr, into(recvbuff), count, datatype, ncclSum,
                     rootOf(peer), stream});
}

ncclResult_t ncclGroupStart() {
  beginGroup();
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() { return endGroup(); }

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *simInfo) {
  if (simInfo && simInfo->magic != simulationMagic)
    return failCall(ncclInvalidArgument, "the information was not initialised with "
                                         "NCCL_SIM_INFO_INITIALIZER");
  double seconds = 0;
  NCCL_TRY(dropGroup(seconds));
  if (simInfo)
    simInfo->estimatedTime = static_cast<float>(seconds * 1e6);
  return ncclSuccess;
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t handle) {
  std::shared_ptr<Comm> comm = findComm(handle);
  if (!comm)
    return failCall(ncclInvalidArgument, "invalid or destroyed communicator");
  NCCL_TRY(comm->checkReady());
  if (!op || !scalar || datatype < 0 || datatype >= ncclNumTypes)
    return comm->fail(ncclInvalidArgument, "a null pointer or an invalid data type");
  PreMulSum made{datatype, residence == ncclScalarDevice ? scalar : nullptr, {}};
  if (residence == ncclScalarHostImmediate)
    std::copy_n(static_cast<const std::byte *>(scalar), bytesOf(datatype), made.value);
  *op = static_cast<ncclRedOp_t>(comm->nextReduction++);
  comm->reductions[*op] = made;
  return ncclSuccess;
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t handle) {
  std::shared_ptr<Comm> comm = findComm(handle);
  if (!comm)
    return failCall(ncclInvalidArgument, "invalid or destroyed communicator");
  if (op < ncclNumOps)
    return comm->fail(ncclInvalidArgument, concat("the operator ", int(op), " is one of NCCL"));
  if (comm->reductions.erase(op) == 0)
    return comm->fail(ncclInvalidArgument, concat("the operator ", int(op), " does not exist"));
  return ncclSuccess;
}

} // namespace api
} // namespace tilewright::vgpu::nccl
