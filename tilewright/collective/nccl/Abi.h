// Abi: the part of NCCL's C interface that we use, declared here so that the build needs no CUDA.
#ifndef TILEWRIGHT_COLLECTIVE_NCCL_ABI_H
#define TILEWRIGHT_COLLECTIVE_NCCL_ABI_H

#include <climits>
#include <cstddef>

namespace tilewright::collective::nccl::abi {

using Comm = struct CommTag *;
using Window = struct WindowTag *;
using Stream = void *; // cudaStream_t, which is CUstream

struct UniqueId {
  char internal[128];
};

enum Result : int {
  success = 0,
  unhandledCudaError = 1,
  systemError = 2,
  internalError = 3,
  invalidArgument = 4,
  invalidUsage = 5,
  remoteError = 6,
  inProgress = 7,
};

enum DataType : int {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9,
  float8e4m3 = 10, // from 2.24 on, as float8e5m2
  float8e5m2 = 11,
};

enum RedOp : int { sum = 0, prod = 1, max = 2, min = 3 };

inline constexpr int undefined = INT_MIN;
inline constexpr int noColor = -1;
inline constexpr int windowSymmetric = 1;
inline constexpr int shrinkDefault = 0, shrinkAbort = 1;
inline constexpr int revokeDefault = 0;

/// ncclConfig_t of 2.28. Older libraries read less of it, newer ones take their defaults for what
/// they have added.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 22809;
  int blocking = undefined;
  int cgaClusterSize = undefined;
  int minCTAs = undefined;
  int maxCTAs = undefined;
  const char *netName = nullptr;
  int splitShare = undefined;
  int trafficClass = undefined;
  const char *commName = nullptr;
  int collnetEnable = undefined;
  int CTAPolicy = undefined;
  int shrinkShare = undefined;
  int nvlsCTAs = undefined;
  int nChannelsPerNetPeer = undefined;
  int nvlinkCentricSched = undefined;
};

} // namespace tilewright::collective::nccl::abi

/// Functions that every library from 2.23 on has, named as in NCCL without the prefix nccl, with
/// their parameters. All return abi::Result.
#define TILEWRIGHT_NCCL_FUNCTIONS(F)                                                               \
  F(AllGather, const void *in, void *out, size_t count, abi::DataType, abi::Comm, abi::Stream)     \
  F(AllReduce, const void *in, void *out, size_t count, abi::DataType, abi::RedOp, abi::Comm,      \
    abi::Stream)                                                                                   \
  F(Broadcast, const void *in, void *out, size_t count, abi::DataType, int root, abi::Comm,        \
    abi::Stream)                                                                                   \
  F(CommAbort, abi::Comm)                                                                          \
  F(CommDeregister, abi::Comm, void *handle)                                                       \
  F(CommDestroy, abi::Comm)                                                                        \
  F(CommFinalize, abi::Comm)                                                                       \
  F(CommGetAsyncError, abi::Comm, abi::Result *)                                                   \
  F(CommInitRankConfig, abi::Comm *, int ranks, abi::UniqueId, int rank, abi::Config *)            \
  F(CommInitRankScalable, abi::Comm *, int ranks, int rank, int ids, abi::UniqueId *,              \
    abi::Config *)                                                                                 \
  F(CommRegister, abi::Comm, void *data, size_t bytes, void **handle)                              \
  F(CommSplit, abi::Comm, int color, int key, abi::Comm *, abi::Config *)                          \
  F(GetUniqueId, abi::UniqueId *)                                                                  \
  F(GetVersion, int *version)                                                                      \
  F(GroupEnd, void)                                                                                \
  F(GroupStart, void)                                                                              \
  F(MemAlloc, void **data, size_t bytes)                                                           \
  F(MemFree, void *data)                                                                           \
  F(Recv, void *out, size_t count, abi::DataType, int from, abi::Comm, abi::Stream)                \
  F(ReduceScatter, const void *in, void *out, size_t count, abi::DataType, abi::RedOp, abi::Comm,  \
    abi::Stream)                                                                                   \
  F(Send, const void *in, size_t count, abi::DataType, int to, abi::Comm, abi::Stream)

/// Functions of later versions; null if the library does not have them.
#define TILEWRIGHT_NCCL_LATER_FUNCTIONS(F)                                                         \
  F(CommWindowRegister, abi::Comm, void *data, size_t bytes, abi::Window *, int flags) /* 2.27 */  \
  F(CommWindowDeregister, abi::Comm, abi::Window)                                                  \
  F(CommShrink, abi::Comm, int *without, int count, abi::Comm *, abi::Config *, int flags)         \
  F(AlltoAll, const void *in, void *out, size_t count, abi::DataType, abi::Comm,                   \
    abi::Stream)                      /* 2.28 */                                                   \
  F(CommRevoke, abi::Comm, int flags) /* 2.28.7 */

#endif // TILEWRIGHT_COLLECTIVE_NCCL_ABI_H
