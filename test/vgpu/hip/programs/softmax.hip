// The softmax of rows: functions of the mathematical library, reductions across the lanes of a wave.
#include "check.h"

// expf() is declared in a header of clang that -nogpuinc leaves out.
extern "C" __device__ float __ocml_exp_f32(float);

__device__ float larger(float a, float b) { return a > b ? a : b; }

__global__ void softmax(const float *in, float *out, int columns) {
  const float *row = in + blockIdx.x * columns;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += warpSize)
    most = larger(most, row[i]);
  for (int distance = warpSize / 2; distance > 0; distance /= 2)
    most = larger(most, __shfl_xor(most, distance));
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += warpSize)
    sum += __ocml_exp_f32(row[i] - most);
  for (int distance = warpSize / 2; distance > 0; distance /= 2)
    sum += __shfl_xor(sum, distance);
  for (int i = threadIdx.x; i < columns; i += warpSize)
    out[blockIdx.x * columns + i] = __ocml_exp_f32(row[i] - most) / sum;
}

int main() {
  const int rows = 7, columns = 150;
  std::vector<float> in = randomFloats(rows * columns), expected(in.size());
  for (float &value : in)
    value *= 10;
  for (int y = 0; y < rows; ++y) {
    double sum = 0;
    for (int x = 0; x < columns; ++x)
      sum += std::exp(double(in[y * columns + x]));
    for (int x = 0; x < columns; ++x)
      expected[y * columns + x] = float(std::exp(double(in[y * columns + x])) / sum);
  }
  float *from = toDevice(in), *to = toDevice(std::vector<float>(in.size()));
  softmax<<<rows, 64>>>(from, to, columns);
  expect(toHost(to, in.size()), expected, 1e-6);
  std::puts("passed");
}
