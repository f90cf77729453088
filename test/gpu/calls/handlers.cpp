// Handlers of jax.ffi as users write them: for CUDA, with the driver's functions and a kernel in
// PTX, and for the host.
#include "xla/ffi/api/ffi.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace ffi = xla::ffi;

// The part of cuda.h that is used here; the test links the virtual GPU's libcuda.so.1.
extern "C" {
using CUstream = struct CUstream_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUdeviceptr = unsigned long long;
int cuModuleLoadData(CUmodule *module, const void *image);
int cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
int cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                   unsigned by, unsigned bz, unsigned shared, CUstream stream, void **arguments,
                   void **extra);
int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
int cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
int cuPointerGetAttribute(void *data, int attribute, CUdeviceptr pointer);
}

static CUdeviceptr addressOf(const void *data) { return reinterpret_cast<CUdeviceptr>(data); }

/// y[i] = by * x[i], one block.
static const char *const scalePtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 by)
{
  .reg .b64 %x, %y, %o; .reg .b32 %i, %n; .reg .f32 %v, %by; .reg .pred %p;
  ld.param.u32 %n, [n];
  mov.u32 %i, %tid.x;
  setp.ge.u32 %p, %i, %n;
  @%p bra end;
  ld.param.u64 %x, [x];
  ld.param.u64 %y, [y];
  ld.param.f32 %by, [by];
  mul.wide.u32 %o, %i, 4;
  add.u64 %x, %x, %o;
  add.u64 %y, %y, %o;
  ld.global.f32 %v, [%x];
  mul.f32 %v, %v, %by;
  st.global.f32 [%y], %v;
end:
  ret;
}
)";

static ffi::Error launch(CUstream stream, const void *x, void *y, size_t count, float by) {
  static CUfunction function = [] {
    CUmodule module = nullptr;
    CUfunction found = nullptr;
    if (cuModuleLoadData(&module, scalePtx) || cuModuleGetFunction(&found, module, "scale"))
      return CUfunction(nullptr);
    return found;
  }();
  CUdeviceptr from = addressOf(x), to = addressOf(y);
  auto n = static_cast<uint32_t>(count);
  void *arguments[] = {&from, &to, &n, &by};
  if (!function || cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr))
    return ffi::Error::Internal("the launch failed");
  return ffi::Error::Success();
}

/// A copy to scratch memory and a kernel, both only queued.
static ffi::Error scaleCuda(CUstream stream, ffi::ScratchAllocator scratch, float by,
                            ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  if (x.element_count() == 0)
    return ffi::Error::Success();
  int kind = 0;
  if (cuPointerGetAttribute(&kind, 2, addressOf(x.typed_data())) || kind != 2)
    return ffi::Error::InvalidArgument("the operand is not in device memory");
  std::optional<void *> copy = scratch.Allocate(x.size_bytes());
  if (!copy ||
      cuMemcpyDtoDAsync_v2(addressOf(*copy), addressOf(x.typed_data()), x.size_bytes(), stream))
    return ffi::Error::Internal("the copy failed");
  return launch(stream, *copy, y->typed_data(), x.element_count(), by);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(ScaleCuda, scaleCuda,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<CUstream>>()
                                  .Ctx<ffi::ScratchAllocator>()
                                  .Attr<float>("by")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

static ffi::Error scaleHost(float by, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = by * x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    ScaleHost, scaleHost,
    ffi::Ffi::Bind().Attr<float>("by").Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

/// Asks for a stream, which only a handler for CUDA has.
static ffi::Error needStream(CUstream, ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer>) {
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(NeedStream, needStream,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<CUstream>>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>());

static ffi::Error refuse(ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer>) {
  return ffi::Error(ffi::ErrorCode::kFailedPrecondition, "the handler refuses");
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Refuse, refuse,
                              ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

/// Copies any buffer as it is and writes the dimensions that it sees, on the device.
static ffi::Error shapeCuda(CUstream stream, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y,
                            ffi::ResultBuffer<ffi::S64> dims) {
  static int64_t seen[8]; // lives until the copy has ended
  for (size_t i = 0; i < x.dimensions().size(); ++i)
    seen[i] = x.dimensions()[i];
  if (cuMemcpyDtoDAsync_v2(addressOf(y->untyped_data()), addressOf(x.untyped_data()),
                           x.size_bytes(), stream) ||
      cuMemcpyHtoDAsync_v2(addressOf(dims->typed_data()), seen, dims->size_bytes(), stream))
    return ffi::Error::Internal("the copy failed");
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(ShapeCuda, shapeCuda,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<CUstream>>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>()
                                  .Ret<ffi::Buffer<ffi::S64>>());

/// Doubles its operand in place.
static ffi::Error doubleCuda(CUstream stream, ffi::Buffer<ffi::F32> x,
                             ffi::ResultBuffer<ffi::F32> y) {
  if (x.typed_data() != y->typed_data())
    return ffi::Error::InvalidArgument("the result is not in the operand's memory");
  return launch(stream, x.typed_data(), y->typed_data(), x.element_count(), 2);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(DoubleCuda, doubleCuda,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<CUstream>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

/// State from the stage `instantiate`: a count of the runs of one call.
struct Counter {
  static ffi::TypeId id __asm__("CounterId"); // a name without mangling, for Python
  static inline std::atomic<int> alive = 0;
  std::atomic<float> runs = 0;
  Counter() { ++alive; }
  ~Counter() { --alive; }
};
ffi::TypeId Counter::id = {};
extern "C" {
int countersAlive() { return Counter::alive; }
ffi::TypeInfo CounterInfo = ffi::MakeTypeInfo<Counter>();
}

static ffi::ErrorOr<std::unique_ptr<Counter>> makeCounter(float first) {
  auto counter = std::make_unique<Counter>();
  counter->runs = first;
  return counter;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(MakeCounter, makeCounter,
                              ffi::Ffi::BindInstantiate().Attr<float>("first"));

static ffi::Error count(CUstream stream, Counter *counter, int32_t ordinal, ffi::Buffer<ffi::F32> x,
                        ffi::ResultBuffer<ffi::F32> y) {
  if (ordinal != 0)
    return ffi::Error::Internal("not the first device");
  counter->runs = counter->runs + 1;
  return launch(stream, x.typed_data(), y->typed_data(), x.element_count(), counter->runs);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Count, count,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<CUstream>>()
                                  .Ctx<ffi::State<Counter>>()
                                  .Ctx<ffi::DeviceOrdinal>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
