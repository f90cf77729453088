// A product of f16 matrices by MFMA, one wave for a tile of 32 x 32; the result is f32.
#include "check.h"

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));

/// c[m, n] = sum over k of a[m, k] * b[n, k]
__global__ void multiply(const _Float16 *a, const _Float16 *b, float *c, int n, int k) {
  const int lane = threadIdx.x, row = lane % 32, group = lane / 32;
  const _Float16 *left = a + (blockIdx.y * 32 + row) * k, *right = b + (blockIdx.x * 32 + row) * k;
  float16v sum = {};
  for (int i = 0; i < k; i += 8) {
    half4 x, y;
    for (int j = 0; j < 4; ++j) {
      x[j] = left[i + group * 4 + j];
      y[j] = right[i + group * 4 + j];
    }
    sum = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sum, 0, 0, 0);
  }
  for (int j = 0; j < 16; ++j)
    c[(blockIdx.y * 32 + j / 4 * 8 + group * 4 + j % 4) * n + blockIdx.x * 32 + row] = sum[j];
}

int main() {
  const int m = 64, n = 96, k = 72;
  std::vector<_Float16> a, b;
  for (float value : randomFloats(m * k, 1))
    a.push_back(static_cast<_Float16>(value));
  for (float value : randomFloats(n * k, 2))
    b.push_back(static_cast<_Float16>(value));
  std::vector<float> expected(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l)
        sum += double(a[i * k + l]) * double(b[j * k + l]);
      expected[i * n + j] = float(sum);
    }
  float *c = toDevice(std::vector<float>(m * n));
  multiply<<<dim3(n / 32, m / 32), 64>>>(toDevice(a), toDevice(b), c, n, k);
  expect(toHost(c, m * n), expected, 1e-5);
  std::puts("passed");
}
