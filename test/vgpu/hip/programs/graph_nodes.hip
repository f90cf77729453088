// Graphs whose nodes the program adds and changes itself, memory of a pool, values that a stream writes.
#include "check.h"

__global__ void scale(const float *x, float *y, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] * factor;
}

/// The error that a call must return.
#define FAILS(call, wanted)                                                                        \
  if (const hipError_t error = (call); error != (wanted))                                          \
  return std::printf("%s is %s\n", #call, hipGetErrorName(error)), 1

int main() {
  const int n = 300;
  const size_t bytes = n * sizeof(float);
  hipStream_t stream = nullptr;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));

  hipMemPool_t pool = nullptr;
  hipMemPoolProps properties = {};
  properties.allocType = hipMemAllocationTypePinned;
  properties.location = {hipMemLocationTypeDevice, 0};
  HIP(hipMemPoolCreate(&pool, &properties));
  hipMemAccessDesc access = {{hipMemLocationTypeDevice, 1}, hipMemAccessFlagsProtReadWrite};
  HIP(hipMemPoolSetAccess(pool, &access, 1));
  float *y = nullptr, *z = nullptr;
  HIP(hipMallocFromPoolAsync((void **)&y, bytes, pool, stream));
  HIP(hipMallocFromPoolAsync((void **)&z, bytes, pool, stream));
  HIP(hipStreamSynchronize(stream));

  std::vector<float> first = randomFloats(n), second = randomFloats(n, 7);
  float *x1 = toDevice(first), *x2 = toDevice(second);
  float factor = 2;
  int count = n;
  void *values[] = {&x1, &y, &factor, &count};
  hipKernelNodeParams launch = {};
  launch.func = (void *)scale; // the kernel's address on the host
  launch.gridDim = dim3(2);
  launch.blockDim = dim3(256);
  launch.kernelParams = values;
  hipGraph_t graph = nullptr;
  hipGraphNode_t kernel = nullptr, copy = nullptr;
  HIP(hipGraphCreate(&graph, 0));
  HIP(hipGraphAddKernelNode(&kernel, graph, nullptr, 0, &launch));
  HIP(hipGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, z, y, bytes, hipMemcpyDeviceToDevice));
  hipGraphNode_t node = nullptr;
  FAILS(hipGraphAddMemcpyNode1D(&node, graph, nullptr, 0, z, y, bytes, (hipMemcpyKind)9), hipErrorInvalidMemcpyDirection);
  FAILS(hipGraphAddKernelNode(&node, graph, nullptr, 0, nullptr), hipErrorInvalidValue);
  hipGraphExec_t exec = nullptr;
  HIP(hipGraphInstantiateWithFlags(&exec, graph, 0));
  auto run = [&](const std::vector<float> &input) {
    HIP(hipGraphLaunch(exec, stream));
    HIP(hipStreamSynchronize(stream));
    std::vector<float> wanted(n);
    for (int i = 0; i < n; ++i)
      wanted[i] = input[i] * factor;
    expect(toHost(z, n), wanted);
  };
  run(first);

  // Other values; the function of the module behind the kernel is a valid `func`, too.
  hipFunction_t function = nullptr;
  HIP(hipGetFuncBySymbol(&function, (void *)scale));
  launch.func = (void *)function;
  values[0] = &x2;
  factor = -3;
  HIP(hipGraphExecKernelNodeSetParams(exec, kernel, &launch));
  run(second);

  // A node that is switched off leaves z as it is; then it copies from elsewhere.
  HIP(hipGraphNodeSetEnabled(exec, copy, 0));
  HIP(hipMemset(z, 0, bytes));
  HIP(hipGraphLaunch(exec, stream));
  HIP(hipStreamSynchronize(stream));
  expect(toHost(z, n), std::vector<float>(n, 0));
  HIP(hipGraphNodeSetEnabled(exec, copy, 1));
  HIP(hipGraphExecMemcpyNodeSetParams1D(exec, copy, z, x1, bytes, hipMemcpyDefault));
  HIP(hipGraphLaunch(exec, stream));
  HIP(hipStreamSynchronize(stream));
  expect(toHost(z, n), first);

  unsigned *word = nullptr;
  HIP(hipHostMalloc((void **)&word, sizeof *word, hipHostMallocPortable));
  *word = 0;
  HIP(hipStreamWriteValue32(stream, word, 41, 0));
  HIP(hipStreamSynchronize(stream));
  if (*word != 41)
    return std::printf("the stream wrote %u\n", *word), 1;

  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
  HIP(hipFreeAsync(y, stream));
  HIP(hipFreeAsync(z, stream));
  HIP(hipStreamSynchronize(stream));
  HIP(hipMemPoolDestroy(pool));
  std::puts("passed");
}
