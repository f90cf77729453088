#include "tilewright/collective/nccl/testing/Gpus.h"
#include "tilewright/support/Concat.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <thread>

namespace tilewright::collective::nccl::test {

namespace {
struct Cuda {
  int (*cuInit)(unsigned);
  int (*cuDevicePrimaryCtxRetain)(void **, int);
  int (*cuDevicePrimaryCtxRelease_v2)(int);
  int (*cuCtxSetCurrent)(void *);
  int (*cuStreamCreate)(void **, unsigned);
  int (*cuStreamDestroy_v2)(void *);
  int (*cuStreamQuery)(void *);
  int (*cuMemAlloc_v2)(unsigned long long *, size_t);
  int (*cuMemFree_v2)(unsigned long long);
  int (*cuMemcpyAsync)(unsigned long long, unsigned long long, size_t, void *);
  int (*cuMemsetD8Async)(unsigned long long, unsigned char, size_t, void *);

  Cuda() {
    setenv("TILEWRIGHT_VGPU_CHIP", "sm_90a", 0);
    setenv("TILEWRIGHT_VGPU_DEVICES", "8", 0);
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
#define TILEWRIGHT_FIND(name) name = reinterpret_cast<decltype(name)>(dlsym(library, #name))
    TILEWRIGHT_FIND(cuInit);
    TILEWRIGHT_FIND(cuDevicePrimaryCtxRetain);
    TILEWRIGHT_FIND(cuDevicePrimaryCtxRelease_v2);
    TILEWRIGHT_FIND(cuCtxSetCurrent);
    TILEWRIGHT_FIND(cuStreamCreate);
    TILEWRIGHT_FIND(cuStreamDestroy_v2);
    TILEWRIGHT_FIND(cuStreamQuery);
    TILEWRIGHT_FIND(cuMemAlloc_v2);
    TILEWRIGHT_FIND(cuMemFree_v2);
    TILEWRIGHT_FIND(cuMemcpyAsync);
    TILEWRIGHT_FIND(cuMemsetD8Async);
#undef TILEWRIGHT_FIND
    cuInit(0);
  }
};

const Cuda &cuda() {
  static const Cuda api;
  return api;
}

Status check(int result, const char *function) {
  return result == 0 ? Status()
                     : Status(Code::internal, concat(function, " failed with error ", result));
}

unsigned long long address(const std::byte *data) {
  return reinterpret_cast<unsigned long long>(data);
}
} // namespace

Gpus::Gpus(int64_t ranksEach)
    : ranksEach(ranksEach), contexts(static_cast<size_t>(ranksEach)), streams(contexts.size()) {
  for (size_t i = 0; i < contexts.size(); ++i) {
    cuda().cuDevicePrimaryCtxRetain(&contexts[i], static_cast<int>(i));
    cuda().cuCtxSetCurrent(contexts[i]);
    constexpr unsigned nonBlocking = 1;
    cuda().cuStreamCreate(&streams[i], nonBlocking);
  }
}

Gpus::~Gpus() {
  for (size_t i = 0; i < contexts.size(); ++i) {
    cuda().cuCtxSetCurrent(contexts[i]);
    cuda().cuStreamDestroy_v2(streams[i]);
    cuda().cuDevicePrimaryCtxRelease_v2(static_cast<int>(i));
  }
}

Status Gpus::makeCurrent(int64_t rank) {
  return check(cuda().cuCtxSetCurrent(contexts[indexOf(rank)]), "cuCtxSetCurrent");
}

Status Gpus::copy(DeviceStream stream, std::byte *to, const std::byte *from, size_t bytes) {
  return check(cuda().cuMemcpyAsync(address(to), address(from), bytes, stream), "cuMemcpyAsync");
}

Status Gpus::fillWithZeros(DeviceStream stream, std::byte *to, size_t bytes) {
  return check(cuda().cuMemsetD8Async(address(to), 0, bytes, stream), "cuMemsetD8Async");
}

Result<std::byte *> Gpus::allocate(size_t bytes) {
  unsigned long long data = 0;
  TILEWRIGHT_TRY(check(cuda().cuMemAlloc_v2(&data, bytes), "cuMemAlloc"));
  return reinterpret_cast<std::byte *>(data);
}

void Gpus::free(std::byte *data) { cuda().cuMemFree_v2(address(data)); }

Status Gpus::wait(DeviceStream stream, const std::function<Status()> &checkOthers,
                  Deadline deadline) {
  constexpr int notReady = 600;
  for (int round = 0;; ++round) {
    const int result = cuda().cuStreamQuery(stream);
    if (result != notReady)
      return check(result, "cuStreamQuery");
    if (round % 16 == 15)
      TILEWRIGHT_TRY(checkOthers());
    if (std::chrono::steady_clock::now() >= deadline)
      return Status(Error::collectiveStuck, "a stream did not end in time");
    if (round < 32)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

std::string ncclLibrary() {
  cuda(); // libnccl.so.2 then uses the same driver
  return "libnccl.so.2";
}

} // namespace tilewright::collective::nccl::test
