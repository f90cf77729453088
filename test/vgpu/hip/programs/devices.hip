// Two devices: each has its own copy of a variable, memory is copied between them, and a kernel reads that of its peer.
#include "check.h"

#include <cstring>

__device__ int number = 7;

__global__ void add(const int *in, int *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[i] + number;
}

int main() {
  int count = 0, can = 0;
  HIP(hipGetDeviceCount(&count));
  if (count != 2)
    return std::printf("%d devices, expected 2\n", count), 1;
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 1));
  if (properties.warpSize != 64 || std::strncmp(properties.gcnArchName, "gfx9", 4) != 0)
    return std::printf("device 1 is %s\n", properties.gcnArchName), 1;
  HIP(hipDeviceCanAccessPeer(&can, 1, 0));
  const int n = 100, hundred = 100;
  std::vector<int> values(n), expected(n);
  for (int i = 0; i < n; ++i)
    expected[i] = (values[i] = i) + hundred;
  int *first = toDevice(values);
  HIP(hipSetDevice(1));
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(number), &hundred, sizeof hundred)); // of device 1 only
  int *second = toDevice(std::vector<int>(n)), *copied = toDevice(std::vector<int>(n));
  HIP(hipMemcpyPeer(copied, 1, first, 0, n * sizeof(int)));
  add<<<1, 128>>>(copied, second, n);
  expect(toHost(second, n), expected);
  if (!can)
    return std::puts("device 1 cannot access device 0"), 1;
  HIP(hipDeviceEnablePeerAccess(0, 0));
  add<<<1, 128>>>(first, second, n);
  expect(toHost(second, n), expected);
  HIP(hipSetDevice(0));
  int own = 0;
  HIP(hipMemcpyFromSymbol(&own, HIP_SYMBOL(number), sizeof own));
  if (own != 7)
    return std::printf("the variable of device 0 is %d, expected 7\n", own), 1;
  std::puts("passed");
}
