// Abi: the functions of NCCL that we call, declared here so that the build needs no CUDA.
#ifndef TILEWRIGHT_COLLECTIVE_NCCL_ABI_H
#define TILEWRIGHT_COLLECTIVE_NCCL_ABI_H

#include "tilewright/collective/nccl/NcclTypes.h"

namespace tilewright::collective::nccl::abi {

using cudaStream_t = void *; // which is CUstream

// Declared for their types; Library has pointers to them.
#define TILEWRIGHT_NCCL_FUNCTION(name, since, parameters, arguments)                               \
  ncclResult_t name parameters;                                                                    \
  inline constexpr int name##Since = since;
#include "tilewright/collective/nccl/Functions.def"
#undef TILEWRIGHT_NCCL_FUNCTION

} // namespace tilewright::collective::nccl::abi

/// Functions that every library from 2.23 on has, without the prefix nccl.
#define TILEWRIGHT_NCCL_FUNCTIONS(F)                                                               \
  F(AllGather)                                                                                     \
  F(AllReduce)                                                                                     \
  F(Broadcast)                                                                                     \
  F(CommAbort)                                                                                     \
  F(CommDeregister)                                                                                \
  F(CommDestroy)                                                                                   \
  F(CommFinalize)                                                                                  \
  F(CommGetAsyncError)                                                                             \
  F(CommInitRankConfig)                                                                            \
  F(CommInitRankScalable)                                                                          \
  F(CommRegister)                                                                                  \
  F(CommSplit)                                                                                     \
  F(GetUniqueId)                                                                                   \
  F(GetVersion)                                                                                    \
  F(GroupEnd)                                                                                      \
  F(GroupStart)                                                                                    \
  F(MemAlloc)                                                                                      \
  F(MemFree)                                                                                       \
  F(Recv)                                                                                          \
  F(ReduceScatter)                                                                                 \
  F(Send)

/// Functions of later versions; null if the library does not have them.
#define TILEWRIGHT_NCCL_LATER_FUNCTIONS(F)                                                         \
  F(CommWindowRegister) F(CommWindowDeregister) F(CommShrink) F(AlltoAll) F(CommRevoke)

#endif // TILEWRIGHT_COLLECTIVE_NCCL_ABI_H
