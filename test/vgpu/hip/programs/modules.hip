// The module API: a code object from a file, its kernel and variable by name, arguments in a buffer, attributes, occupancy.
// The first argument is the bundle of this program.
#include "check.h"

#include <cstring>

extern "C" __device__ float factor = 2;

extern "C" __global__ void scale(float *x, int n, double shift) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = x[i] * factor + float(shift);
}

int main(int, char **words) {
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  HIP(hipModuleLoad(&module, words[1]));
  HIP(hipModuleGetFunction(&function, module, "scale"));

  float *variable = nullptr, three = 3;
  size_t bytes = 0;
  HIP(hipModuleGetGlobal(reinterpret_cast<hipDeviceptr_t *>(&variable), &bytes, module, "factor"));
  if (bytes != sizeof(float) || toHost(variable, 1)[0] != 2)
    return std::puts("the variable is wrong"), 1;
  HIP(hipMemcpyHtoD(variable, &three, sizeof three));

  const std::vector<float> before = randomFloats(300);
  std::vector<float> expected;
  for (float value : before)
    expected.push_back(value * 3 + 1);
  float *x = toDevice(before);
  struct {
    float *x;
    int n;
    double shift;
  } packed = {x, 300, 1};
  size_t size = sizeof packed;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
  HIP(hipModuleLaunchKernel(function, 2, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
  expect(toHost(x, 300), expected, 1e-6);

  // The kernel that is compiled in is another copy, with its own variable.
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(factor), &three, sizeof three));
  x = toDevice(before);
  scale<<<2, 256>>>(x, 300, 1);
  expect(toHost(x, 300), expected, 1e-6);

  int registers = 0, blocks = 0, grid = 0, block = 0;
  HIP(hipFuncGetAttribute(&registers, HIP_FUNC_ATTRIBUTE_NUM_REGS, function));
  HIP(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
  HIP(hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, function, 0, 0));
  if (registers < 1 || blocks != 8 || block != 1024)
    return std::printf("%d registers, %d blocks, best block %d\n", registers, blocks, block), 1;
  if (hipModuleGetFunction(&function, module, "missing") != hipErrorNotFound)
    return std::puts("a kernel was found that does not exist"), 1;
  HIP(hipModuleUnload(module));
  std::puts("passed");
}
