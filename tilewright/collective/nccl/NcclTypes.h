// The types and numbers of NCCL's C interface, version 2.28, under NCCL's names: for the engine
// that calls the library, and for the virtual one (vgpu/nccl). NcclTypesTest compares them with
// nccl.h where that is installed.
#ifndef TILEWRIGHT_COLLECTIVE_NCCL_NCCLTYPES_H
#define TILEWRIGHT_COLLECTIVE_NCCL_NCCLTYPES_H

#include <climits>
#include <cstddef>

namespace tilewright::collective::nccl::abi {

using ncclComm_t = struct ncclComm *;
using ncclWindow_t = struct ncclWindow_vidmem *;

inline constexpr int NCCL_UNIQUE_ID_BYTES = 128;
struct ncclUniqueId {
  char internal[NCCL_UNIQUE_ID_BYTES];
};

enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclNumResults = 8,
};

inline constexpr int NCCL_CONFIG_UNDEF_INT = INT_MIN;
inline constexpr int NCCL_SPLIT_NOCOLOR = -1;
inline constexpr int NCCL_WIN_DEFAULT = 0, NCCL_WIN_COLL_SYMMETRIC = 1;
inline constexpr int NCCL_WIN_REQUIRED_ALIGNMENT = 4096;
inline constexpr int NCCL_SHRINK_DEFAULT = 0, NCCL_SHRINK_ABORT = 1;
inline constexpr int NCCL_REVOKE_DEFAULT = 0;
inline constexpr unsigned configMagic = 0xcafebeef, simulationMagic = 0x74685283;

/// Of 2.28. Older libraries read less of it, newer ones take their defaults for what they have
/// added.
struct ncclConfig_t {
  size_t size = sizeof(ncclConfig_t);
  unsigned magic = configMagic, version = 22809;
  int blocking = NCCL_CONFIG_UNDEF_INT;
  int cgaClusterSize = NCCL_CONFIG_UNDEF_INT;
  int minCTAs = NCCL_CONFIG_UNDEF_INT, maxCTAs = NCCL_CONFIG_UNDEF_INT;
  const char *netName = nullptr;
  int splitShare = NCCL_CONFIG_UNDEF_INT;
  int trafficClass = NCCL_CONFIG_UNDEF_INT;
  const char *commName = nullptr;
  int collnetEnable = NCCL_CONFIG_UNDEF_INT;
  int CTAPolicy = NCCL_CONFIG_UNDEF_INT;
  int shrinkShare = NCCL_CONFIG_UNDEF_INT;
  int nvlsCTAs = NCCL_CONFIG_UNDEF_INT;
  int nChannelsPerNetPeer = NCCL_CONFIG_UNDEF_INT;
  int nvlinkCentricSched = NCCL_CONFIG_UNDEF_INT;
};

struct ncclSimInfo_t {
  size_t size = sizeof(ncclSimInfo_t);
  unsigned magic = simulationMagic, version = 22809;
  float estimatedTime = -1.0f;
};

enum ncclRedOp_t {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5,
  ncclMaxRedOp = 0x7fffffff,
};

enum ncclDataType_t {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12,
};

enum ncclScalarResidence_t { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 };

} // namespace tilewright::collective::nccl::abi

#endif // TILEWRIGHT_COLLECTIVE_NCCL_NCCLTYPES_H
