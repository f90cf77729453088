// Compares our declarations of HIP with AMD's own, if those are installed. The comparison is at
// compile time; the test reports that it took place.
#include "tilewright/hip-api/HipTypes.h"

#include "gtest/gtest.h"

#include <type_traits>

namespace ours = tilewright::hip_api;
// AMD's header defines this name as a macro, so use ours before including it.
using OurProperties = ours::hipDeviceProp_t;

#define __HIP_PLATFORM_AMD__
#define __HIP_DISABLE_CPP_FUNCTIONS__ // overloads of the C functions
#include <hip/hip_runtime_api.h>

#define SAME(name) static_assert(int(ours::name) == int(::name), #name);
#define SAME_SIZE(type) static_assert(sizeof(ours::type) == sizeof(::type), #type);
#define SAME_MEMBER(our, their, member)                                                            \
  static_assert(offsetof(our, member) == offsetof(their, member) &&                                \
                    sizeof(our::member) == sizeof(their::member),                                  \
                #member);

#define TILEWRIGHT_HIP_ERROR(name, number, text) SAME(name)
#include "tilewright/hip-api/HipErrors.def"

SAME(hipMemcpyHostToHost)
SAME(hipMemcpyHostToDevice)
SAME(hipMemcpyDeviceToHost)
SAME(hipMemcpyDeviceToDevice)
SAME(hipMemcpyDefault)
SAME(hipMemoryTypeUnregistered)
SAME(hipMemoryTypeHost)
SAME(hipMemoryTypeDevice)
SAME(hipMemoryTypeManaged)
SAME(hipDeviceAttributeComputeCapabilityMajor)
SAME(hipDeviceAttributeComputeCapabilityMinor)
SAME(hipDeviceAttributeMaxThreadsPerBlock)
SAME(hipDeviceAttributeMultiprocessorCount)
SAME(hipDeviceAttributeMaxSharedMemoryPerBlock)

// Flags and numbers of CUDA that the runtime passes to HIP.
static_assert(int(ours::CU_MEMHOSTALLOC_PORTABLE) == int(hipHostMallocPortable));
static_assert(int(ours::CU_STREAM_NON_BLOCKING) == int(hipStreamNonBlocking));
static_assert(int(ours::CU_EVENT_DISABLE_TIMING) == int(hipEventDisableTiming));
static_assert(int(ours::CU_EVENT_BLOCKING_SYNC) == int(hipEventBlockingSync));
static_assert(int(ours::CU_MEM_ALLOCATION_TYPE_PINNED) == int(hipMemAllocationTypePinned));
static_assert(int(ours::CU_MEM_HANDLE_TYPE_NONE) == int(hipMemHandleTypeNone));
static_assert(int(ours::CU_MEM_LOCATION_TYPE_DEVICE) == int(hipMemLocationTypeDevice));
static_assert(int(ours::CU_MEM_ACCESS_FLAGS_PROT_READWRITE) == int(hipMemAccessFlagsProtReadWrite));
static_assert(int(ours::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ==
              int(HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(int(ours::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) ==
              int(HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
static_assert(int(ours::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) ==
              int(HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));

SAME_SIZE(dim3)
SAME_SIZE(hipPointerAttribute_t)
SAME_SIZE(hipFuncAttributes)
SAME_SIZE(hipKernelNodeParams)
SAME_MEMBER(ours::hipKernelNodeParams, ::hipKernelNodeParams, blockDim)
SAME_MEMBER(ours::hipKernelNodeParams, ::hipKernelNodeParams, extra)
SAME_MEMBER(ours::hipKernelNodeParams, ::hipKernelNodeParams, func)
SAME_MEMBER(ours::hipKernelNodeParams, ::hipKernelNodeParams, gridDim)
SAME_MEMBER(ours::hipKernelNodeParams, ::hipKernelNodeParams, kernelParams)
SAME_MEMBER(ours::hipKernelNodeParams, ::hipKernelNodeParams, sharedMemBytes)
static_assert(sizeof(OurProperties) == sizeof(::hipDeviceProp_t));
SAME_MEMBER(OurProperties, ::hipDeviceProp_t, gcnArchName)
SAME_MEMBER(OurProperties, ::hipDeviceProp_t, multiProcessorCount)
static_assert(sizeof(ours::CUmemPoolProps) == sizeof(::hipMemPoolProps));
SAME_MEMBER(ours::CUmemPoolProps, ::hipMemPoolProps, location)
SAME_MEMBER(ours::CUmemPoolProps, ::hipMemPoolProps, maxSize)
static_assert(sizeof(ours::CUmemAccessDesc) == sizeof(::hipMemAccessDesc));
SAME_MEMBER(ours::CUmemAccessDesc, ::hipMemAccessDesc, location)
SAME_MEMBER(ours::CUmemAccessDesc, ::hipMemAccessDesc, flags)

/// Whether a call through either type passes the same registers: as many parameters, of the same
/// sizes, none of them a floating-point number.
template <typename Our, typename Their> struct SameCall : std::false_type {};
template <typename... Our, typename... Their>
  requires(sizeof...(Our) == sizeof...(Their))
struct SameCall<ours::hipError_t(Our...), ::hipError_t(Their...)>
    : std::bool_constant<((sizeof(Our) == sizeof(Their) && !std::is_floating_point_v<Our> &&
                           !std::is_floating_point_v<Their>) &&
                          ...)> {};

// AMD's header always adds an overload in C++ to this one, so take the C function under a name of
// its own.
using PoolAllocation = ::hipError_t(void **, size_t, hipMemPool_t, hipStream_t);
extern PoolAllocation ofPool;
static_assert(sizeof(static_cast<PoolAllocation *>(&::hipMallocFromPoolAsync)) > 0);
namespace tilewright::hip_api::signature {
using ofPool = hipMallocFromPoolAsync;
}
#define hipMallocFromPoolAsync ofPool

#define TILEWRIGHT_HIP_SIGNATURE(name, parameters)                                                 \
  static_assert(SameCall<ours::signature::name, decltype(::name)>::value, #name);
#include "tilewright/hip-api/Functions.def"

TEST(HipTypes, AreThoseOfTheInstalledHeader) {
  RecordProperty("HIP_VERSION", HIP_VERSION);
  EXPECT_GE(HIP_VERSION, 60000000);
}
