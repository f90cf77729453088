// For tests: the driver as programs use it, through dlopen().
#ifndef TILEWRIGHT_VGPU_DRIVER_TESTING_DRIVER_H
#define TILEWRIGHT_VGPU_DRIVER_TESTING_DRIVER_H

#include "tilewright/cuda-api/CudaTypes.h"
#include "tilewright/cuda-api/GraphTypes.h"

#include "gtest/gtest.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace tilewright::vgpu::driver {

using namespace cuda_api;

/// All functions of the table under their exported names.
struct Api {
#define TILEWRIGHT_CUDA_FUNCTION(name, suffix, since, stream, parameters, arguments)               \
  CUresult(*name##suffix) parameters = nullptr;
#include "tilewright/cuda-api/Functions.def"
#undef TILEWRIGHT_CUDA_FUNCTION
  void *library = nullptr;
  std::vector<std::string> absent;

  Api() {
    // Devices 0 and 2 are sm_90a, 1 is sm_80; they have little memory, so that tests can exhaust
    // it.
    setenv("TILEWRIGHT_VGPU_CHIP", "sm_90a,sm_80,sm_90a", 0);
    setenv("TILEWRIGHT_VGPU_MEMORY", "64M", 0);
    setenv("TILEWRIGHT_VGPU_THREADS", "2", 0);
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
#define TILEWRIGHT_CUDA_FUNCTION(name, suffix, since, stream, parameters, arguments)               \
  find(name##suffix, #name #suffix);
#include "tilewright/cuda-api/Functions.def"
#undef TILEWRIGHT_CUDA_FUNCTION
  }
  template <typename F> void find(F *&function, const char *symbol) {
    function = reinterpret_cast<F *>(dlsym(library, symbol));
    if (!function)
      absent.emplace_back(symbol);
  }
};

inline Api &cuda() {
  static Api api;
  return api;
}

#define EXPECT_CUDA(expression) EXPECT_EQ(expression, CUDA_SUCCESS)
#define ASSERT_CUDA(expression) ASSERT_EQ(expression, CUDA_SUCCESS)

/// Each test has its own context, so that a failure does not affect other tests.
class DriverTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_CUDA(cuda().cuInit(0));
    ASSERT_CUDA(cuda().cuCtxCreate_v2(&context, 0, device()));
  }
  void TearDown() override {
    if (context)
      cuda().cuCtxDestroy_v2(context);
  }
  virtual CUdevice device() const { return 0; }

  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuda().cuMemAlloc_v2(&address, bytes));
    return address;
  }
  CUmodule load(const char *text) {
    CUmodule module = nullptr;
    EXPECT_CUDA(cuda().cuModuleLoadData(&module, text));
    return module;
  }
  CUfunction function(CUmodule module, const char *name) {
    CUfunction found = nullptr;
    EXPECT_CUDA(cuda().cuModuleGetFunction(&found, module, name));
    return found;
  }
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream made = nullptr;
    EXPECT_CUDA(cuda().cuStreamCreate(&made, flags));
    return made;
  }
  CUevent event(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent made = nullptr;
    EXPECT_CUDA(cuda().cuEventCreate(&made, flags));
    return made;
  }
  /// Launches with the given arguments on `blocks` blocks of 32 threads.
  template <typename... Arguments>
  CUresult launch(CUfunction kernel, CUstream in, unsigned blocks, Arguments... arguments) {
    void *values[] = {&arguments..., nullptr};
    return cuda().cuLaunchKernel(kernel, blocks, 1, 1, 32, 1, 1, 0, in, values, nullptr);
  }

  CUcontext context = nullptr;
};

/// Holds a stream until the test opens it: cuLaunchHostFunc(stream, Gate::wait, &gate).
struct Gate {
  std::atomic<bool> isOpen = false;
  static void wait(void *self) { static_cast<Gate *>(self)->isOpen.wait(false); }
  void open() {
    isOpen = true;
    isOpen.notify_one();
  }
};

/// The kernels of the tests: `add_one` adds 1 to each of n ints; `trap` fails; `spin` waits until
/// an int is not 0; `wide` uses dynamic shared memory; `many` has static shared memory and a limit
/// on threads; `counter` is a variable, `bump` increments it.
inline constexpr char testPtx[] = R"(
.version 7.8
.target sm_80
.address_size 64
.visible .global .align 4 .u32 counter = 7;
.visible .const .align 4 .b8 table[16];
.extern .shared .align 16 .b8 dynamic[];

.visible .entry add_one(.param .u64 p, .param .u32 n)
{
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.u32 %rd2, %r5, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r1, [%rd3];
  add.s32 %r1, %r1, 1;
  st.global.u32 [%rd3], %r1;
done:
  ret;
}
.visible .entry trap() { trap; }
.visible .entry deadlock()
{
  .reg .pred %p<2>; .reg .b32 %r<2>;
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p1, %r1, 32;
  @%p1 bra done;
  bar.sync 1, 64;
done:
  bar.sync 2, 64;
  ret;
}
.visible .entry outside()
{
  .reg .b32 %r<3>;
  .shared .align 4 .b8 small[16];
  mov.u32 %r1, small;
  add.u32 %r1, %r1, 400000;
  st.shared.u32 [%r1], %r2;
  ret;
}
.visible .entry spin(.param .u64 flag)
{
  .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [flag];
again:
  atom.acquire.sys.global.or.b32 %r1, [%rd1], 0;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra again;
  ret;
}
.visible .entry release(.param .u64 flag)
{
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [flag];
  atom.release.sys.global.exch.b32 %r1, [%rd1], 1;
  ret;
}
.visible .entry wide(.param .u64 p, .param .u32 last)
{
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [last];
  mov.u32 %r2, dynamic;
  add.u32 %r2, %r2, %r1;
  st.shared.u32 [%r2], %r1;
  ld.shared.u32 %r3, [%r2];
  st.global.u32 [%rd1], %r3;
  ret;
}
.visible .entry many(.param .u64 p) .maxntid 128, 1, 1
{
  .reg .b32 %r<2>;
  .shared .align 4 .b8 fixed[2048];
  mov.u32 %r1, 5;
  st.shared.u32 [fixed + 2044], %r1;
  ret;
}
.visible .entry bump()
{
  .reg .b32 %r<2>;
  atom.global.add.u32 %r1, [counter], 1;
  ret;
}
.visible .entry nothing() { ret; }
)";

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_TESTING_DRIVER_H
