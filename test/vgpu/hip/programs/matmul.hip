// A product of matrices by tiles in LDS, as a template over the element type; sizes are not multiples of the tile.
#include "check.h"

template <typename T, int tile>
__global__ __launch_bounds__(tile *tile) void multiply(const T *a, const T *b, T *c, int m, int n, int k) {
  __shared__ T left[tile][tile + 1], right[tile][tile + 1];
  const int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
  T sum = 0;
  for (int begin = 0; begin < k; begin += tile) {
    const int x = begin + threadIdx.x, y = begin + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : T(0);
    right[threadIdx.y][threadIdx.x] = y < k && column < n ? b[y * n + column] : T(0);
    __syncthreads();
    for (int i = 0; i < tile; ++i)
      sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}

template <typename T> void check(double tolerance) {
  const int m = 33, n = 50, k = 41;
  std::vector<T> a, b, expected(m * n);
  for (float value : randomFloats(m * k, 1))
    a.push_back(static_cast<T>(value * 8));
  for (float value : randomFloats(k * n, 2))
    b.push_back(static_cast<T>(value * 8));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l)
        expected[i * n + j] += a[i * k + l] * b[l * n + j];
  T *c = toDevice(std::vector<T>(m * n));
  multiply<T, 16><<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(toDevice(a), toDevice(b), c, m, n, k);
  expect(toHost(c, m * n), expected, tolerance);
}

int main() {
  check<float>(1e-3);
  check<double>(1e-10);
  check<int>(0);
  std::puts("passed");
}
