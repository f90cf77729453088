// Two streams that wait for each other by events, a callback of the host, and events that measure time.
#include "check.h"

__global__ void fill(int *x, int n, int value) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] = value;
}
__global__ void addTo(int *to, const int *from, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    to[i] = to[i] * 10 + from[i];
}

int main() {
  const int n = 500;
  int *x = nullptr, *y = nullptr, *host = nullptr, calls = 0;
  HIP(hipMalloc(&x, n * sizeof(int)));
  HIP(hipMalloc(&y, n * sizeof(int)));
  HIP(hipHostMalloc(&host, n * sizeof(int)));
  hipStream_t one = nullptr, two = nullptr;
  HIP(hipStreamCreateWithFlags(&one, hipStreamNonBlocking));
  HIP(hipStreamCreate(&two));
  hipEvent_t start = nullptr, filled = nullptr, stop = nullptr;
  HIP(hipEventCreate(&start));
  HIP(hipEventCreateWithFlags(&filled, hipEventDisableTiming));
  HIP(hipEventCreate(&stop));
  HIP(hipEventRecord(start, one));
  fill<<<2, 128, 0, one>>>(x, n, 1);
  fill<<<2, 128, 0, two>>>(y, n, 2);
  HIP(hipEventRecord(filled, two));
  HIP(hipStreamWaitEvent(one, filled, 0));
  addTo<<<2, 128, 0, one>>>(x, y, n);
  HIP(hipMemcpyAsync(host, x, n * sizeof(int), hipMemcpyDeviceToHost, one));
  HIP(hipLaunchHostFunc(one, [](void *data) { ++*static_cast<int *>(data); }, &calls));
  HIP(hipEventRecord(stop, one));
  HIP(hipEventSynchronize(stop));
  float milliseconds = -1;
  HIP(hipEventElapsedTime(&milliseconds, start, stop));
  if (hipStreamQuery(one) != hipSuccess || calls != 1 || !(milliseconds >= 0))
    return std::printf("%d calls, %g ms\n", calls, milliseconds), 1;
  expect(std::vector<int>(host, host + n), std::vector<int>(n, 12));
  HIP(hipStreamDestroy(one));
  HIP(hipStreamDestroy(two));
  HIP(hipEventDestroy(stop));
  HIP(hipHostFree(host));
  std::puts("passed");
}
