// The few declarations that these kernels need, so that they compile without ROCm.
#ifndef TEST_VGPU_AMDGCN_HIP_DEVICE_H
#define TEST_VGPU_AMDGCN_HIP_DEVICE_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define KERNEL extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(64, 256)))

typedef unsigned int uint;
typedef unsigned long long u64;
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef _Float16 half2v __attribute__((ext_vector_type(2)));
typedef _Float16 half4v __attribute__((ext_vector_type(4)));
typedef double double4v __attribute__((ext_vector_type(4)));

static inline __device__ uint lane() { return __builtin_amdgcn_workitem_id_x(); }
static inline __device__ uint group() { return __builtin_amdgcn_workgroup_id_x(); }
static inline __device__ uint index() { return group() * 256 + lane(); }
static inline __device__ void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#endif // TEST_VGPU_AMDGCN_HIP_DEVICE_H
