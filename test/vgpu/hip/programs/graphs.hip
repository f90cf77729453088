// Work of a stream is captured into a graph, which then runs several times.
#include "check.h"

__global__ void step(float *x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = x[i] * 0.5f + 1;
}

int main() {
  const int n = 300, repeats = 4;
  std::vector<float> values = randomFloats(n);
  float *x = toDevice(values), *result = nullptr;
  HIP(hipHostMalloc(&result, n * sizeof(float)));
  hipStream_t stream = nullptr;
  hipGraph_t graph = nullptr;
  hipGraphExec_t exec = nullptr;
  HIP(hipStreamCreate(&stream));
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  step<<<2, 256, 0, stream>>>(x, n);
  step<<<2, 256, 0, stream>>>(x, n);
  HIP(hipMemcpyAsync(result, x, n * sizeof(float), hipMemcpyDeviceToHost, stream));
  HIP(hipStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  HIP(hipGraphGetNodes(graph, nullptr, &nodes));
  if (nodes != 3)
    return std::printf("%zu nodes, expected 3\n", nodes), 1;
  expect(toHost(x, n), values); // nothing ran so far
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < repeats; ++i)
    HIP(hipGraphLaunch(exec, stream));
  HIP(hipStreamSynchronize(stream));
  for (float &value : values)
    for (int i = 0; i < 2 * repeats; ++i)
      value = value * 0.5f + 1;
  expect(std::vector<float>(result, result + n), values);
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
  std::puts("passed");
}
