// Goes wrong as the first argument says. Prints the name of the error that the program got.
#include "check.h"

#include <csignal>
#include <cstring>

__global__ void store(int *x, int i) { x[i] = 1; }
__global__ void wait(volatile int *x) {
  while (*x == 0) {
  }
}
// Lacks a barrier between the stores of one wave and the loads of another.
__global__ void reverse(int *x) {
  __shared__ int values[128];
  values[threadIdx.x] = x[threadIdx.x % 100];
  x[threadIdx.x % 100] = values[127 - threadIdx.x];
}
__global__ void copy(int *to, const int *from) { to[threadIdx.x] = from[threadIdx.x]; }

int main(int, char **words) {
  const char *what = words[1];
  int *x = toDevice(std::vector<int>(100));
  hipError_t error = hipSuccess;
  if (!std::strcmp(what, "address")) {
    store<<<1, 1>>>(x, 1 << 20);
    error = hipDeviceSynchronize();
  } else if (!std::strcmp(what, "freed")) {
    HIP(hipFree(x));
    store<<<1, 1>>>(x, 3);
    error = hipDeviceSynchronize();
  } else if (!std::strcmp(what, "host")) {
    int own = 0;
    store<<<1, 1>>>(&own, 0);
    error = hipDeviceSynchronize();
  } else if (!std::strcmp(what, "endless")) {
    std::signal(SIGINT, [](int) {}); // a signal before the kernel begins must not end the program
    std::fputs("begins\n", stderr);
    wait<<<1, 64>>>(x);
    error = hipDeviceSynchronize();
  } else if (!std::strcmp(what, "race")) {
    reverse<<<1, 128>>>(x);
    error = hipDeviceSynchronize();
  } else if (!std::strcmp(what, "unwritten")) {
    int *fresh = nullptr;
    HIP(hipMalloc(&fresh, 256));
    copy<<<1, 64>>>(x, fresh);
    error = hipDeviceSynchronize();
  } else if (!std::strcmp(what, "memory")) {
    void *much = nullptr;
    error = hipMalloc(&much, size_t(1) << 45);
  } else if (!std::strcmp(what, "block")) {
    store<<<1, 2048>>>(x, 0);
    error = hipGetLastError();
  } else if (!std::strcmp(what, "lds")) {
    store<<<1, 1, 1 << 20>>>(x, 0);
    error = hipGetLastError();
  } else if (!std::strcmp(what, "copy")) {
    error = hipMemcpy(x, x + 50, 60 * sizeof(int), hipMemcpyDefault);
  } else if (!std::strcmp(what, "twice")) {
    HIP(hipFree(x));
    error = hipFree(x);
  } else if (!std::strcmp(what, "image")) {
    hipModule_t module = nullptr;
    error = hipModuleLoadData(&module, "this is not a code object");
  } else if (!std::strcmp(what, "missing")) {
    void *function = nullptr;
    error = hipGetProcAddress("hipTexRefSetAddress", &function, HIP_VERSION, 0, nullptr);
  } else if (!std::strcmp(what, "device")) {
    error = hipSetDevice(5);
  }
  std::printf("%s\n", hipGetErrorName(error));
  return error == hipSuccess;
}
