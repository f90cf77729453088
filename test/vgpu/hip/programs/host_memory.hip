// Managed memory, pinned memory that a kernel writes, registered memory, and what HIP says about pointers.
#include "check.h"

__global__ void twice(const int *in, int *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = 2 * in[i];
}

int main() {
  const int n = 200;
  int *managed = nullptr, *pinned = nullptr, *seen = nullptr;
  HIP(hipMallocManaged(&managed, n * sizeof(int)));
  HIP(hipHostMalloc(&pinned, n * sizeof(int), hipHostMallocMapped));
  HIP(hipHostGetDevicePointer(reinterpret_cast<void **>(&seen), pinned, 0));
  for (int i = 0; i < n; ++i)
    managed[i] = i;
  twice<<<1, 256>>>(managed, seen, n);
  HIP(hipDeviceSynchronize());
  std::vector<int> own(n), expected(n);
  for (int i = 0; i < n; ++i)
    expected[i] = 2 * i;
  expect(std::vector<int>(pinned, pinned + n), expected);

  HIP(hipHostRegister(own.data(), n * sizeof(int), hipHostRegisterDefault));
  twice<<<1, 256>>>(pinned, own.data(), n);
  HIP(hipDeviceSynchronize());
  for (int &value : expected)
    value *= 2;
  expect(own, expected);
  HIP(hipHostUnregister(own.data()));

  hipPointerAttribute_t attributes;
  HIP(hipPointerGetAttributes(&attributes, managed + 3));
  if (attributes.type != hipMemoryTypeManaged || !attributes.isManaged)
    return std::puts("managed memory is not recognised"), 1;
  HIP(hipPointerGetAttributes(&attributes, pinned));
  if (attributes.type != hipMemoryTypeHost || attributes.hostPointer != pinned)
    return std::puts("pinned memory is not recognised"), 1;
  HIP(hipPointerGetAttributes(&attributes, &n));
  if (attributes.type != hipMemoryTypeUnregistered)
    return std::puts("memory of the host is not recognised"), 1;
  HIP(hipFree(managed));
  HIP(hipHostFree(pinned));
  std::puts("passed");
}
