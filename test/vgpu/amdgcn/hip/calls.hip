// Calls, function pointers, recursion and a switch: s_swappc_b64, s_getpc_b64, s_setpc_b64, scratch.
#include "device.h"

__device__ __attribute__((noinline)) float square(float x) { return x * x; }
__device__ __attribute__((noinline)) float cube(float x) { return x * square(x); }
__device__ __attribute__((noinline)) uint fibonacci(uint n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

KERNEL void pointers(const int *which, float *x) {
  float (*const functions[])(float) = {square, cube};
  x[index()] = functions[which[group()] & 1](x[index()]);
}
KERNEL void recursive(uint *x) { x[index()] = fibonacci(x[index()] & 7); }
KERNEL void choose(const int *which, uint *x) {
  uint value = x[index()];
  switch (which[index()]) {
  case 0: value += 3; break;
  case 1: value *= 5; break;
  case 2: value ^= 0xff00ff; break;
  case 3: value = __builtin_bitreverse32(value); break;
  case 7: value >>= 4; break;
  default: value = 0;
  }
  x[index()] = value;
}
