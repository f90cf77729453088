#include "tilewright/vgpu/nccl/Batch.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/nccl/Cuda.h"
#include "tilewright/vgpu/nccl/Progress.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace tilewright::vgpu::nccl {

static constexpr std::array kindNames = {
    "ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclBroadcast", "ncclReduce",
    "ncclAlltoAll",  "ncclGather",    "ncclScatter",       "ncclSend",      "ncclRecv"};
static constexpr std::array<const char *, ncclNumTypes> typeNames = {
    "ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
    "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
    "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
static constexpr std::array<const char *, ncclNumOps> operationNames = {
    "ncclSum", "ncclProd", "ncclMax", "ncclMin", "ncclAvg"};

const char *nameOf(CallKind kind) { return kindNames[static_cast<size_t>(kind)]; }

size_t bytesOf(ncclDataType_t type) {
  static constexpr std::array<size_t, ncclNumTypes> bytes = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return bytes[type];
}

static bool isReduction(CallKind kind) {
  return kind == CallKind::allReduce || kind == CallKind::reduce || kind == CallKind::reduceScatter;
}

std::string describe(const CallRecord &call) {
  const auto kind = static_cast<CallKind>(call.function);
  std::string text = concat(nameOf(kind), "(count ", call.count, ", ", typeNames[call.type]);
  if (isReduction(kind))
    text +=
        concat(", ", call.operation < ncclNumOps ? operationNames[call.operation] : "premulsum");
  if (call.root >= 0)
    text += concat(kind == CallKind::send      ? ", to rank "
                   : kind == CallKind::receive ? ", from rank "
                                               : ", root ",
                   call.root);
  return text + ")";
}

CallRecord Operation::record() const {
  return {.function = static_cast<uint32_t>(kind),
          .type = static_cast<uint32_t>(type),
          // Ranks may number user-defined operators differently, so the record only says that it is
          // one.
          .operation = isReduction(kind) ? std::min<uint32_t>(operation, ncclNumOps) : 0,
          .root = root,
          .count = count,
          .number = 0};
}

std::vector<tilewright_vgpu_range> Operation::ranges(int rank, int ranks) const {
  const size_t one = bytes(), all = one * static_cast<size_t>(ranks);
  const bool isRoot = root == rank;
  size_t read = one, written = one;
  switch (kind) {
  case CallKind::allReduce:
    break;
  case CallKind::reduce:
    written = isRoot ? one : 0;
    break;
  case CallKind::broadcast:
    read = isRoot ? one : 0;
    break;
  case CallKind::allGather:
    written = all;
    break;
  case CallKind::reduceScatter:
    read = all;
    break;
  case CallKind::allToAll:
    read = written = all;
    break;
  case CallKind::gather:
    written = isRoot ? all : 0;
    break;
  case CallKind::scatter:
    read = isRoot ? all : 0;
    break;
  case CallKind::send:
    written = 0;
    break;
  case CallKind::receive:
    read = 0;
    break;
  }
  std::vector<tilewright_vgpu_range> found;
  if (read)
    found.push_back({reinterpret_cast<uint64_t>(in), read, 0});
  if (written)
    found.push_back({reinterpret_cast<uint64_t>(out), written, 1});
  if (factor && factor->onDevice)
    found.push_back({reinterpret_cast<uint64_t>(factor->onDevice), bytesOf(type), 0});
  return found;
}

Batch::Batch(std::shared_ptr<Comm> comm, std::vector<Operation> operations)
    : comm(std::move(comm)), operations(std::move(operations)) {}

Batch::~Batch() {
  if (isSubmitted && !isCaptured)
    --comm->outstanding;
}

// The first use of an algorithm or of a pair of ranks connects them, and their hosts wait for the
// connection. This is why a thread that drives several devices needs groups.
void Batch::announceConnections() const {
  const Board &board = comm->board;
  RankSlot &own = board.slot(comm->rank);
  for (const Operation &operation : operations) {
    if (operation.kind == CallKind::send)
      board.mailbox(comm->rank, operation.root).senderConnected = 1;
    else if (operation.kind == CallKind::receive)
      board.mailbox(operation.root, comm->rank).receiverConnected = 1;
    else
      own.connected |= 1u << static_cast<unsigned>(operation.kind);
  }
  board.notify();
}

ncclResult_t Batch::waitForConnections(const std::function<bool()> &isOver) const {
  const Board &board = comm->board;
  const int rank = comm->rank;
  for (const Operation &operation : operations) {
    const std::string what = concat("the first ", describe(operation.record()),
                                    " of the communicator (the calls of a "
                                    "thread that drives several ranks must be in one group)");
    if (operation.isMessage()) {
      NCCL_TRY(comm->waitForMembers(
          {&operation.root, 1},
          [&](int other) {
            return operation.kind == CallKind::send
                       ? board.mailbox(rank, other).receiverConnected != 0
                       : board.mailbox(other, rank).senderConnected != 0;
          },
          what, isOver));
    } else {
      NCCL_TRY(comm->waitForMembers(
          comm->everyone(),
          [&](int other) {
            return (board.slot(other).connected & 1u << static_cast<unsigned>(operation.kind)) != 0;
          },
          what, isOver));
    }
  }
  return ncclSuccess;
}

static ncclResult_t failCuda(Comm &comm, CUresult result, const char *what) {
  const char *name = "an unknown error";
  cuGetErrorName(result, &name);
  return comm.fail(ncclUnhandledCudaError, concat(what, ": ", name));
}

#define TRY_CUDA(comm, expression, what)                                                           \
  if (const CUresult result = (expression); result != CUDA_SUCCESS)                                \
    return failCuda(comm, result, what);

namespace {
/// Owns an event. It may be destroyed while a stream still waits for it, as in CUDA.
struct TemporaryEvent {
  ~TemporaryEvent() {
    if (event)
      cuEventDestroy_v2(event);
  }
  CUevent event = nullptr;
};
} // namespace

ncclResult_t Batch::submit(std::unique_ptr<Batch> batch) {
  Comm &comm = *batch->comm;
  const std::shared_ptr<Comm> keep = batch->comm;
  const ContextScope scope(comm.context);
  std::vector<CUstream> streams;
  std::vector<tilewright_vgpu_range> ranges;
  for (const Operation &operation : batch->operations) {
    if (std::find(streams.begin(), streams.end(), operation.stream) == streams.end())
      streams.push_back(operation.stream);
    for (const tilewright_vgpu_range &range : operation.ranges(comm.rank, comm.ranks))
      ranges.push_back(range);
  }
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  TRY_CUDA(comm, cuStreamIsCapturing(streams[0], &capture), "the stream of a call");
  batch->isCaptured = capture != CU_STREAM_CAPTURE_STATUS_NONE;
  const bool isCaptured = batch->isCaptured;

  // The batch runs on the first stream, after all of its streams and after the previous batch.
  for (CUstream other : std::span(streams).subspan(1)) {
    TemporaryEvent before;
    TRY_CUDA(comm, cuEventCreate(&before.event, CU_EVENT_DISABLE_TIMING), "an event");
    TRY_CUDA(comm, cuEventRecord(before.event, other), "the stream of a call");
    TRY_CUDA(comm, cuStreamWaitEvent(streams[0], before.event, 0), "the stream of a call");
  }
  if (!isCaptured && comm.hasLast && comm.lastStream != streams[0])
    TRY_CUDA(comm, cuStreamWaitEvent(streams[0], comm.lastEvent, 0), "the stream of a call");

  const char *name = nameOf(batch->operations.front().kind);
  if (!isCaptured)
    ++comm.outstanding;
  batch->isSubmitted = true;
  const tilewright_vgpu_function function{
      name,
      [](void *data) { return static_cast<Batch *>(data)->run(); },
      [](void *data) { delete static_cast<Batch *>(data); },
      batch.release(),
      ranges.data(),
      ranges.size()};
  TRY_CUDA(comm, static_cast<CUresult>(tilewright_vgpu_submit(streams[0], &function)), name);

  if (!isCaptured) {
    if (!comm.lastEvent)
      TRY_CUDA(comm, cuEventCreate(&comm.lastEvent, CU_EVENT_DISABLE_TIMING), "an event");
    TRY_CUDA(comm, cuEventRecord(comm.lastEvent, streams[0]), "the stream of a call");
    comm.lastStream = streams[0];
    comm.hasLast = true;
  }
  for (CUstream other : std::span(streams).subspan(1)) {
    TemporaryEvent after;
    TRY_CUDA(comm, cuEventCreate(&after.event, CU_EVENT_DISABLE_TIMING), "an event");
    TRY_CUDA(comm, cuEventRecord(after.event, streams[0]), "the stream of a call");
    TRY_CUDA(comm, cuStreamWaitEvent(other, after.event, 0), "the stream of a call");
  }
  return ncclSuccess;
}

int Batch::run() {
  for (const Operation &operation : operations)
    if (const ncclResult_t result = meetFaults(nameOf(operation.kind), comm->rank, true);
        result != ncclSuccess) {
      comm->fail(result, concat(nameOf(operation.kind), " failed on demand"));
      comm->setState(result);
      return CUDA_SUCCESS;
    }
  std::lock_guard lock(comm->turn);
  Progress progress(*comm, operations);
  return progress.run();
}

} // namespace tilewright::vgpu::nccl
