// A program as users write it: compiled with CUDA's and NCCL's own headers, linked with -lcuda and
// -lnccl. One thread drives two GPUs.
#include <cuda.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(expression)                                                                          \
  do {                                                                                             \
    const int code = static_cast<int>(expression);                                                 \
    if (code != 0) {                                                                               \
      std::fprintf(stderr, "%s:%d: %s: %d %s\n", __FILE__, __LINE__, #expression, code,            \
                   ncclGetLastError(nullptr));                                                     \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)

int main() {
  constexpr int ranks = 2;
  constexpr size_t count = 1000;
  int version = 0;
  CHECK(ncclGetVersion(&version));
  CHECK(cuInit(0));
  ncclComm_t comms[ranks];
  CHECK(ncclCommInitAll(comms, ranks, nullptr));
  CUcontext contexts[ranks];
  CUdeviceptr data[ranks], all[ranks];
  CUstream streams[ranks];
  for (int i = 0; i < ranks; ++i) {
    CHECK(cuDevicePrimaryCtxRetain(&contexts[i], i));
    CHECK(cuCtxSetCurrent(contexts[i]));
    CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&data[i], count * sizeof(float)));
    CHECK(cuMemAlloc(&all[i], ranks * count * sizeof(float)));
    const std::vector<float> values(count, static_cast<float>(i + 1));
    CHECK(cuMemcpyHtoD(data[i], values.data(), count * sizeof(float)));
  }
  CHECK(ncclGroupStart());
  for (int i = 0; i < ranks; ++i) {
    CHECK(ncclAllReduce(reinterpret_cast<void *>(data[i]), reinterpret_cast<void *>(data[i]), count,
                        ncclFloat, ncclSum, comms[i], reinterpret_cast<cudaStream_t>(streams[i])));
    CHECK(ncclAllGather(reinterpret_cast<void *>(data[i]), reinterpret_cast<void *>(all[i]), count,
                        ncclFloat, comms[i], reinterpret_cast<cudaStream_t>(streams[i])));
  }
  CHECK(ncclGroupEnd());
  for (int i = 0; i < ranks; ++i) {
    CHECK(cuCtxSetCurrent(contexts[i]));
    CHECK(cuStreamSynchronize(streams[i]));
    std::vector<float> got(ranks * count);
    CHECK(cuMemcpyDtoH(got.data(), all[i], got.size() * sizeof(float)));
    for (float value : got)
      if (value != 3) {
        std::fprintf(stderr, "rank %d got %g, expected 3\n", i, static_cast<double>(value));
        return 1;
      }
    CHECK(ncclCommFinalize(comms[i]));
    CHECK(ncclCommDestroy(comms[i]));
  }
  std::printf("NCCL %d: %d GPUs agree\n", version, ranks);
  return 0;
}
