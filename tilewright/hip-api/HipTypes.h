// The types of HIP that differ from those of CUDA's driver API, with the layouts of HIP 6 and 7.
// All other types are the same, so the functions take CUDA's: CUstream, CUevent, CUlaunchConfig ….
#ifndef TILEWRIGHT_HIP_API_HIPTYPES_H
#define TILEWRIGHT_HIP_API_HIPTYPES_H

#include "tilewright/cuda-api/CudaTypes.h"
#include "tilewright/cuda-api/GraphTypes.h"

#include <cstddef>
#include <cstdint>

namespace tilewright::hip_api {

using namespace cuda_api;

/// Errors have the same numbers as in CUresult; HIP also has some that CUDA's driver lacks.
enum hipError_t : int {
#define TILEWRIGHT_HIP_ERROR(name, number, text) name = number,
#include "tilewright/hip-api/HipErrors.def"
};

struct dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

enum hipMemcpyKind : int {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4,
};

enum hipMemoryType : int {
  hipMemoryTypeUnregistered = 0,
  hipMemoryTypeHost = 1,
  hipMemoryTypeDevice = 2,
  hipMemoryTypeManaged = 3,
};

struct hipPointerAttribute_t {
  hipMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

/// The parameters of a graph node that launches a kernel. `func` is a CUfunction, or the host
/// address of a kernel that is compiled into the program.
struct hipKernelNodeParams {
  dim3 blockDim;
  void **extra;
  void *func;
  dim3 gridDim;
  void **kernelParams;
  unsigned sharedMemBytes;
};

struct hipFuncAttributes {
  int binaryVersion, cacheModeCA;
  size_t constSizeBytes, localSizeBytes;
  int maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion;
  size_t sharedSizeBytes;
};

/// hipDeviceProp_tR0600, the version since HIP 6. Fields that only textures and other systems use
/// are merged into one field, which stays 0.
struct hipDeviceProp_t {
  char name[256];
  char uuid[16], luid[8];
  unsigned luidDeviceNodeMask;
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory,
      computeMode;
  int texturesAndSurfaces[40];
  size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver,
      asyncEngineCount, unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize,
      persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported,
      globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID,
      hostNativeAtomicSupported, singleToDoublePrecisionPerfRatio, pageableMemoryAccess,
      concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem,
      cooperativeLaunch, cooperativeMultiDeviceLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost,
      maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, sparseHipArraySupported, hostRegisterReadOnlySupported,
      timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
  unsigned gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned memoryPoolSupportedHandleTypes;
  int deferredMappingHipArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
  int reserved[63], hipReserved[32];
  char gcnArchName[256];
  size_t maxSharedMemoryPerMultiProcessor;
  int clockInstructionRate;
  unsigned arch; // one bit for each feature
  unsigned *hdpMemFlushCntl, *hdpRegFlushCntl;
  int cooperativeMultiDeviceUnmatchedFunc, cooperativeMultiDeviceUnmatchedGridDim,
      cooperativeMultiDeviceUnmatchedBlockDim, cooperativeMultiDeviceUnmatchedSharedMem;
  int isLargeBar, asicRevision;
};
static_assert(sizeof(hipDeviceProp_t) == 1472 && offsetof(hipDeviceProp_t, gcnArchName) == 1160 &&
              offsetof(hipDeviceProp_t, arch) == 1428);

/// The values of hipDeviceAttribute_t that the runtime queries.
enum hipDeviceAttribute_t : int {
  hipDeviceAttributeComputeCapabilityMajor = 23,
  hipDeviceAttributeMaxThreadsPerBlock = 56,
  hipDeviceAttributeComputeCapabilityMinor = 61,
  hipDeviceAttributeMultiprocessorCount = 63,
  hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
};

/// The types of the functions that the runtime calls.
namespace signature {
#define TILEWRIGHT_HIP_SIGNATURE(name, parameters) using name = hipError_t parameters;
#include "tilewright/hip-api/Functions.def"
using hipGetErrorName = const char *(hipError_t error);
using hipGetErrorString = const char *(hipError_t error);
} // namespace signature

} // namespace tilewright::hip_api

#endif // TILEWRIGHT_HIP_API_HIPTYPES_H
