// Calls: direct, recursive, through pointers, virtual, with structures, printf and assert.
#include <cassert>
#include <cstdio>

struct Big { double a[5]; int b; char c; };
struct Shape { __device__ virtual float area() const = 0; };
struct Square : Shape { float s; __device__ float area() const override { return s * s; } };
struct Circle : Shape { float r; __device__ float area() const override { return 3.14f * r * r; } };

__device__ __noinline__ Big grow(Big in, short extra) {
  in.b += extra;
  in.a[2] *= 2;
  return in;
}
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ float twice(float x) { return x * 2; }
__device__ __noinline__ float half(float x) { return x / 2; }
typedef float (*Function)(float);
__device__ Function table[2] = {twice, half};
__device__ __noinline__ void nothing() {}

extern "C" __global__ void useCalls(Big *data, float *out, int n, Big byValue) {
  Big b = grow(data[threadIdx.x], 3);
  data[threadIdx.x] = grow(b, (short)byValue.b);
  out[0] = fibonacci(n);
  out[1] = table[n & 1](out[2]);
  Square square;
  square.s = out[3];
  Circle circle;
  circle.r = out[4];
  const Shape *shape = n > 5 ? (const Shape *)&square : &circle;
  out[5] = shape->area();
  nothing();
  if (n == 77)
    printf("n is %d and %f\n", n, out[5]);
  assert(n < 1000);
  void *p = malloc(n);
  free(p);
}
