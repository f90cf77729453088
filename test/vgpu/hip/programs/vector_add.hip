// A sum with a ragged end, `<<<>>>`, and copies in both directions.
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

int main() {
  for (const int n : {1, 63, 64, 257, 1000}) {
    const std::vector<float> a = randomFloats(n, 1), b = randomFloats(n, 2);
    std::vector<float> expected(n);
    for (int i = 0; i < n; ++i)
      expected[i] = a[i] + b[i];
    float *x = toDevice(a), *y = toDevice(b), *z = toDevice(std::vector<float>(n));
    add<<<(n + 255) / 256, 256>>>(x, y, z, n);
    HIP(hipGetLastError());
    expect(toHost(z, n), expected);
    HIP(hipFree(x));
    HIP(hipFree(y));
    HIP(hipFree(z));
  }
  std::puts("passed");
}
