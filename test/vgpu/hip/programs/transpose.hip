// A transposed matrix through a padded tile in LDS whose size the launch gives; sizes are not multiples of the tile.
#include "check.h"

constexpr int tile = 16;

__global__ void transpose(const float *in, float *out, int rows, int columns) {
  extern __shared__ float square[];
  const int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
  if (x < columns && y < rows)
    square[threadIdx.y * (tile + 1) + threadIdx.x] = in[y * columns + x];
  __syncthreads();
  const int toX = blockIdx.y * tile + threadIdx.x, toY = blockIdx.x * tile + threadIdx.y;
  if (toX < rows && toY < columns)
    out[toY * rows + toX] = square[threadIdx.x * (tile + 1) + threadIdx.y];
}

int main() {
  const int rows = 45, columns = 70;
  const std::vector<float> in = randomFloats(rows * columns);
  std::vector<float> expected(in.size());
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x)
      expected[x * rows + y] = in[y * columns + x];
  float *from = toDevice(in), *to = toDevice(std::vector<float>(in.size()));
  const dim3 grid((columns + tile - 1) / tile, (rows + tile - 1) / tile), block(tile, tile);
  transpose<<<grid, block, tile *(tile + 1) * sizeof(float)>>>(from, to, rows, columns);
  HIP(hipDeviceSynchronize());
  expect(toHost(to, in.size()), expected);
  std::puts("passed");
}
