// The operations of one communicator in one group, and how a stream executes them.
#ifndef TILEWRIGHT_VGPU_NCCL_BATCH_H
#define TILEWRIGHT_VGPU_NCCL_BATCH_H

#include "tilewright/vgpu/driver/HostTools.h"
#include "tilewright/vgpu/nccl/Comm.h"

namespace tilewright::vgpu::nccl {

enum class CallKind : uint32_t {
  allReduce,
  allGather,
  reduceScatter,
  broadcast,
  reduce,
  allToAll,
  gather,
  scatter,
  send,
  receive,
};
/// "ncclAllReduce"
const char *nameOf(CallKind kind);
size_t bytesOf(ncclDataType_t type);

struct Operation {
  CallKind kind = CallKind::allReduce;
  const std::byte *in = nullptr;
  std::byte *out = nullptr;
  size_t count = 0; // elements of NCCL's parameter `count`
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t operation = ncclSum;
  int root = -1; // or the peer; -1: none
  CUstream stream = nullptr;
  std::optional<PreMulSum> factor = {};

  bool isMessage() const { return kind == CallKind::send || kind == CallKind::receive; }
  size_t bytes() const { return count * bytesOf(type); }
  CallRecord record() const;
  /// The memory that the rank accesses.
  std::vector<tilewright_vgpu_range> ranges(int rank, int ranks) const;
};

/// The operations of one rank in one group. Collectives execute in the order of their calls,
/// messages all at once; only those with the same sender and receiver keep their order.
class Batch {
public:
  Batch(std::shared_ptr<Comm> comm, std::vector<Operation> operations);
  ~Batch();
  Batch(const Batch &) = delete;
  Batch &operator=(const Batch &) = delete;

  /// Announces to the other ranks that this one is about to use these connections.
  void announceConnections() const;
  /// Waits until all ranks that the first use of a connection needs have announced it, or until
  /// `isOver`.
  ncclResult_t waitForConnections(const std::function<bool()> &isOver) const;

  /// Submits the batch to its streams; they own it then.
  static ncclResult_t submit(std::unique_ptr<Batch> batch);
  /// Executes the operations; returns a CUresult.
  int run();

  const std::shared_ptr<Comm> comm;
  const std::vector<Operation> operations;

private:
  bool isCaptured = false, isSubmitted = false;
};

} // namespace tilewright::vgpu::nccl

#endif // TILEWRIGHT_VGPU_NCCL_BATCH_H
