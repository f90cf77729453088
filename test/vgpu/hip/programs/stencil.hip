// A stencil of five points on pitched memory, with weights in constant memory, repeated from one buffer to the other.
#include "check.h"

#include <utility>

__constant__ float weights[5];

__global__ void step(const float *in, float *out, size_t pitch, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  auto at = [&](int column, int row) {
    const bool isInside = column >= 0 && column < width && row >= 0 && row < height;
    return isInside ? reinterpret_cast<const float *>(reinterpret_cast<const char *>(in) + row * pitch)[column] : 0.0f;
  };
  reinterpret_cast<float *>(reinterpret_cast<char *>(out) + y * pitch)[x] =
      weights[0] * at(x, y) + weights[1] * at(x - 1, y) + weights[2] * at(x + 1, y) + weights[3] * at(x, y - 1) +
      weights[4] * at(x, y + 1);
}

int main() {
  const int width = 37, height = 21, steps = 3;
  const float weight[5] = {0.5f, 0.125f, 0.25f, 0.0625f, 0.0625f};
  std::vector<float> host = randomFloats(width * height), next(host.size());
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(weights), weight, sizeof weight));
  float *in = nullptr, *out = nullptr;
  size_t pitch = 0;
  HIP(hipMallocPitch(reinterpret_cast<void **>(&in), &pitch, width * sizeof(float), height));
  HIP(hipMallocPitch(reinterpret_cast<void **>(&out), &pitch, width * sizeof(float), height));
  HIP(hipMemcpy2D(in, pitch, host.data(), width * sizeof(float), width * sizeof(float), height, hipMemcpyHostToDevice));
  for (int i = 0; i < steps; ++i) {
    step<<<dim3((width + 15) / 16, (height + 7) / 8), dim3(16, 8)>>>(in, out, pitch, width, height);
    std::swap(in, out);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        auto at = [&](int column, int row) {
          return column >= 0 && column < width && row >= 0 && row < height ? host[row * width + column] : 0.0f;
        };
        next[y * width + x] = weight[0] * at(x, y) + weight[1] * at(x - 1, y) + weight[2] * at(x + 1, y) +
                              weight[3] * at(x, y - 1) + weight[4] * at(x, y + 1);
      }
    std::swap(host, next);
  }
  std::vector<float> result(host.size());
  HIP(hipMemcpy2D(result.data(), width * sizeof(float), in, pitch, width * sizeof(float), height, hipMemcpyDeviceToHost));
  expect(result, host, 1e-6);
  std::puts("passed");
}
