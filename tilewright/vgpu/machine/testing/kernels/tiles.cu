// Kernels that the tests of the machine run. tiles.ptx is what nvcc 13.0 makes of
// it: nvcc -arch=sm_80 -ptx tiles.cu

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

// C = A * B for square matrices whose size is a multiple of 16.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
  constexpr int tile = 16;
  __shared__ float left[tile][tile], right[tile][tile];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
  float sum = 0;
  for (int k = 0; k < n; k += tile) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < tile; ++i)
      sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// The row softmax of 1024 columns by 128 threads, as a compiler for tiles writes it.
extern "C" __global__ void softmax(const float *in, float *out, int columns) {
  __shared__ float scratch[4];
  const float4 *row = reinterpret_cast<const float4 *>(in + blockIdx.x * columns);
  float4 *result = reinterpret_cast<float4 *>(out + blockIdx.x * columns);
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float4 v[2];
  v[0] = row[threadIdx.x];
  v[1] = row[threadIdx.x + 128];
  float most = -INFINITY;
  for (int i = 0; i < 2; ++i)
    most = fmaxf(most, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
  for (int d = 16; d; d /= 2)
    most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  if (lane == 0)
    scratch[warp] = most;
  __syncthreads();
  most = fmaxf(fmaxf(scratch[0], scratch[1]), fmaxf(scratch[2], scratch[3]));
  float sum = 0;
  for (int i = 0; i < 2; ++i) {
    v[i].x = exp2f((v[i].x - most) * 1.44269504f);
    v[i].y = exp2f((v[i].y - most) * 1.44269504f);
    v[i].z = exp2f((v[i].z - most) * 1.44269504f);
    v[i].w = exp2f((v[i].w - most) * 1.44269504f);
    sum += v[i].x + v[i].y + v[i].z + v[i].w;
  }
  for (int d = 16; d; d /= 2)
    sum += __shfl_xor_sync(~0u, sum, d);
  __syncthreads();
  if (lane == 0)
    scratch[warp] = sum;
  __syncthreads();
  sum = scratch[0] + scratch[1] + scratch[2] + scratch[3];
  for (int i = 0; i < 2; ++i) {
    v[i].x /= sum;
    v[i].y /= sum;
    v[i].z /= sum;
    v[i].w /= sum;
  }
  result[threadIdx.x] = v[0];
  result[threadIdx.x + 128] = v[1];
}
