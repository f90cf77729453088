#include "bench/vgpu/HostLoops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace tilewright::bench {

void hostSoftmax(const float *in, float *out, int rows, int columns) {
  for (int row = 0; row < rows; ++row) {
    const float *x = in + int64_t(row) * columns;
    float *y = out + int64_t(row) * columns;
    float most = x[0], sum = 0;
    for (int i = 1; i < columns; ++i)
      most = std::max(most, x[i]);
    for (int i = 0; i < columns; ++i)
      sum += y[i] = std::exp2((x[i] - most) * 1.44269504f);
    for (int i = 0; i < columns; ++i)
      y[i] /= sum;
  }
}

void hostMatmul(const float *a, const float *b, float *c, int n) {
  for (int i = 0; i < n; ++i) {
    std::fill_n(c + int64_t(i) * n, n, 0.0f);
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
  }
}

void hostHalfMatmul(const uint16_t *a, const uint16_t *b, float *c, int n) {
  static std::vector<float> left, right;
  left.resize(size_t(n) * n);
  right.resize(size_t(n) * n);
  auto widen = [](uint16_t bits) {
    _Float16 value;
    std::memcpy(&value, &bits, 2);
    return static_cast<float>(value);
  };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      left[i * n + j] = widen(a[i * n + j]);
      right[j * n + i] = widen(b[i * n + j]);
    }
  hostMatmul(left.data(), right.data(), c, n);
}

} // namespace tilewright::bench
