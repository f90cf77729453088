// Kernels that the tests of the machine run. threads.ptx is what nvcc 13.0 makes of
// it: nvcc -arch=sm_80 -ptx threads.cu

extern "C" __global__ void sum(const int *values, int *result, int n) {
  __shared__ int partial[32];
  int total = 0;
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    total += values[i];
  for (int distance = 16; distance > 0; distance /= 2)
    total += __shfl_down_sync(0xffffffff, total, distance);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x < 32) {
    total = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int distance = 16; distance > 0; distance /= 2)
      total += __shfl_down_sync(0xffffffff, total, distance);
    if (threadIdx.x == 0)
      atomicAdd(result, total);
  }
}

extern "C" __global__ void histogram(const unsigned char *values, unsigned *bins, int n) {
  extern __shared__ unsigned local[];
#pragma unroll 1
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    local[i] = 0;
  __syncthreads();
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[values[i]], 1);
  __syncthreads();
#pragma unroll 1
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&bins[i], local[i]);
}

// Every thread takes another number of steps.
extern "C" __global__ void collatz(const unsigned *start, unsigned *steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned value = start[i], count = 0;
  while (value != 1) {
    if (value % 2 == 0)
      value /= 2;
    else
      value = 3 * value + 1;
    ++count;
  }
  steps[i] = count;
}

static __device__ __noinline__ unsigned fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern "C" __global__ void recursion(unsigned *result) {
  result[threadIdx.x] = fibonacci(threadIdx.x % 12);
}

static __device__ __noinline__ int twice(int x) { return 2 * x; }
static __device__ __noinline__ int square(int x) { return x * x; }
static __device__ __noinline__ int negative(int x) { return -x; }
static __device__ int (*const table[])(int) = {twice, square, negative};
extern "C" __global__ void indirect(const int *which, int *values) {
  values[threadIdx.x] = table[which[threadIdx.x]](values[threadIdx.x]);
}

// A small array that is indexed at run time lives in local memory.
extern "C" __global__ void local_array(const int *order, int *result) {
  int values[16];
#pragma unroll 1
  for (int i = 0; i < 16; ++i)
    values[(i + order[i]) % 16] = i * (threadIdx.x + 1);
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < 16; ++i)
    sum = sum * 3 + values[order[threadIdx.x % 16 ^ i] % 16];
  result[threadIdx.x] = sum;
}

__device__ int counter;
extern "C" __global__ void spin_lock(int *total) {
  // Each lane of a warp takes the lock alone; the others spin at a lower place.
  bool done = false;
  while (!done)
    if (atomicCAS(&counter, 0, 1) == 0) {
      *(volatile int *)total = *(volatile int *)total + 1;
      __threadfence();
      atomicExch(&counter, 0);
      done = true;
    }
}
