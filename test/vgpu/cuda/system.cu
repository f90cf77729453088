// What a device program asks of the system, and calls of every kind.
//   nvcc -std=c++17 -arch=sm_80 -ptx system.cu
#include <cassert>
#include <cstdio>

extern "C" __global__ void print_values(const int *values, const char *name, double scale) {
  const int i = threadIdx.x;
  printf("%s[%d] = %5d 0x%x %-6.2f| %c %llu %g%%\n", name, i, values[i], values[i],
         scale * values[i], 'a' + i, 1ull << (40 + i), float(values[i]) / 8);
}

extern "C" __global__ void check_values(const int *values) { assert(values[threadIdx.x] < 100); }

// Each thread builds a list on the heap, sums it and frees it.
struct Node {
  Node *next;
  long long value;
};
extern "C" __global__ void build_lists(long long *sums) {
  Node *first = nullptr;
  for (int i = 0; i <= threadIdx.x; ++i) {
    Node *node = static_cast<Node *>(malloc(sizeof(Node)));
    if (!node)
      return;
    node->next = first;
    node->value = i * 3;
    first = node;
  }
  long long sum = 0;
  while (first) {
    Node *next = first->next;
    sum += first->value;
    free(first);
    first = next;
  }
  sums[threadIdx.x] = sum;
}

extern "C" __global__ void free_twice(int *) {
  void *block = malloc(16);
  free(block);
  free(block);
}

// Calls through tables of virtual functions and of pointers, and of itself.
struct Shape {
  __device__ virtual int area(int n) const = 0;
};
struct Square : Shape {
  __device__ int area(int n) const override { return n * n; }
};
struct Triangle : Shape {
  __device__ int area(int n) const override { return n * (n + 1) / 2; }
};
__device__ __noinline__ int twice(int n) { return 2 * n; }
__device__ __noinline__ int negate(int n) { return -n; }
__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ int (*const functions[])(int) = {twice, negate};

extern "C" __global__ void call_everything(int *out) {
  const int i = threadIdx.x;
  Square square;
  Triangle triangle;
  const Shape *shape = i % 3 == 0 ? static_cast<const Shape *>(&square) : &triangle;
  out[i] = shape->area(i) + functions[i % 2](1000 * i) + fibonacci(i % 12);
}
