// For tests: the virtual NCCL as programs use it, through dlopen(), and ranks on virtual devices.
#ifndef TILEWRIGHT_VGPU_NCCL_TESTING_NCCL_H
#define TILEWRIGHT_VGPU_NCCL_TESTING_NCCL_H

#include "tilewright/vgpu/driver/testing/Driver.h"
#include "tilewright/vgpu/nccl/NcclTypes.h"

#include <chrono>
#include <thread>

namespace tilewright::vgpu::nccl {

using namespace cuda_api;
using driver::cuda;

struct NcclApi {
#define TILEWRIGHT_NCCL_FUNCTION(name, since, parameters, arguments)                               \
  ncclResult_t(*name) parameters = nullptr;
#include "tilewright/collective/nccl/Functions.def"
#undef TILEWRIGHT_NCCL_FUNCTION
  const char *(*ncclGetLastError)(ncclComm_t) = nullptr;
  const char *(*ncclGetErrorString)(ncclResult_t) = nullptr;
  void *library = nullptr;
  std::vector<std::string> absent;

  NcclApi() {
    setenv("TILEWRIGHT_VGPU_CHIP", "sm_90a", 0);
    setenv("TILEWRIGHT_VGPU_DEVICES", "8", 0);
    cuda(); // loads libcuda.so.1
    library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
#define TILEWRIGHT_NCCL_FUNCTION(name, since, parameters, arguments) find(name, #name);
#include "tilewright/collective/nccl/Functions.def"
#undef TILEWRIGHT_NCCL_FUNCTION
    find(ncclGetLastError, "ncclGetLastError");
    find(ncclGetErrorString, "ncclGetErrorString");
  }
  template <typename F> void find(F *&function, const std::string &symbol) {
    function = reinterpret_cast<F *>(dlsym(library, symbol.c_str()));
    if (!function)
      absent.push_back(symbol);
    if (!dlsym(library, ("p" + symbol).c_str()))
      absent.push_back("p" + symbol);
  }
};

inline NcclApi &nccl() {
  static NcclApi api;
  return api;
}

/// The result, with the reason if there is one.
inline std::string explain(ncclResult_t result) {
  return std::to_string(result) + " " + nccl().ncclGetErrorString(result) +
         (result == ncclSuccess ? "" : std::string(": ") + nccl().ncclGetLastError(nullptr));
}
#define EXPECT_NCCL(expression)                                                                    \
  do {                                                                                             \
    const ncclResult_t nccledResult = (expression);                                                \
    EXPECT_EQ(nccledResult, ncclSuccess) << explain(nccledResult);                                 \
  } while (false)

/// A device with a context, a stream, and memory that is freed at the end. Current in the thread
/// that made it.
class RankDevice {
public:
  explicit RankDevice(int number) : number(number) {
    EXPECT_CUDA(cuda().cuInit(0));
    EXPECT_CUDA(cuda().cuDevicePrimaryCtxRetain(&context, number));
    makeCurrent();
    EXPECT_CUDA(cuda().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  ~RankDevice() {
    makeCurrent();
    for (CUdeviceptr address : memory)
      cuda().cuMemFree_v2(address);
    cuda().cuStreamDestroy_v2(stream);
    cuda().cuDevicePrimaryCtxRelease_v2(number);
  }
  RankDevice(const RankDevice &) = delete;
  RankDevice &operator=(const RankDevice &) = delete;

  void makeCurrent() const { cuda().cuCtxSetCurrent(context); }

  template <typename T> T *upload(const std::vector<T> &values, size_t spare = 0) {
    makeCurrent();
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuda().cuMemAlloc_v2(&address, (values.size() + spare) * sizeof(T) + 1));
    memory.push_back(address);
    if (!values.empty())
      EXPECT_CUDA(cuda().cuMemcpyHtoD_v2(address, values.data(), values.size() * sizeof(T)));
    return reinterpret_cast<T *>(address);
  }
  template <typename T> std::vector<T> download(const T *address, size_t count) {
    makeCurrent();
    std::vector<T> values(count);
    if (count)
      EXPECT_CUDA(cuda().cuMemcpyDtoH_v2(values.data(), reinterpret_cast<CUdeviceptr>(address),
                                         count * sizeof(T)));
    return values;
  }
  void synchronise() const { EXPECT_CUDA(cuda().cuStreamSynchronize(stream)); }

  const int number;
  CUcontext context = nullptr;
  CUstream stream = nullptr;

private:
  std::vector<CUdeviceptr> memory;
};

/// Runs `rank(number, device, communicator)` on a thread for each rank, in a communicator of all.
/// The function must end the communicator.
template <typename Rank> void runRanks(int ranks, Rank rank) {
  ncclUniqueId id;
  EXPECT_NCCL(nccl().ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int i = 0; i < ranks; ++i)
    threads.emplace_back([&, i] {
      RankDevice device(i);
      ncclComm_t comm = nullptr;
      EXPECT_NCCL(nccl().ncclCommInitRank(&comm, ranks, id, i));
      rank(i, device, comm);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Waits until a communicator that does not block has done its call.
inline ncclResult_t settle(ncclComm_t comm) {
  for (;;) {
    ncclResult_t state = ncclInProgress;
    if (const ncclResult_t asked = nccl().ncclCommGetAsyncError(comm, &state); asked != ncclSuccess)
      return asked;
    if (state != ncclInProgress)
      return state;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

} // namespace tilewright::vgpu::nccl

#endif // TILEWRIGHT_VGPU_NCCL_TESTING_NCCL_H
