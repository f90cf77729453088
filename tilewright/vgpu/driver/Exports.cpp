// Generates the C symbols of libcuda.so.1 from Functions.def.
#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/driver/Functions.h"

namespace tilewright::vgpu::driver {

static thread_local bool defaultStreamIsPerThread = false;

bool isDefaultStreamPerThread() { return defaultStreamIsPerThread; }

namespace {
/// During its lifetime, stream 0 means the per-thread default stream.
struct PerThreadStreams {
  PerThreadStreams() { defaultStreamIsPerThread = true; }
  ~PerThreadStreams() { defaultStreamIsPerThread = false; }
};

/// Functions that a program may call before cuInit().
constexpr bool worksWithoutInit(std::string_view name) {
  return name == "cuInit" || name == "cuDriverGetVersion" || name == "cuGetErrorName" ||
         name == "cuGetErrorString" || name == "cuGetProcAddress" || name == "cuGetExportTable";
}
} // namespace

// clang-format off
#define VGPU_EXPORTED extern "C" __attribute__((visibility("default"))) CUresult
#define VGPU_BODY(name, arguments)                                                                 \
  if (!worksWithoutInit(#name) && !Driver::isInitialised())                                        \
    return Driver::refuseUninitialised();                                                          \
  return api::name arguments;
#define VGPU_EXTRA_none(name, suffix, parameters, arguments)
#define VGPU_EXTRA_ptds(name, suffix, parameters, arguments)                                       \
  VGPU_EXPORTED name##suffix##_ptds parameters { PerThreadStreams scope; VGPU_BODY(name, arguments) }
#define VGPU_EXTRA_ptsz(name, suffix, parameters, arguments)                                       \
  VGPU_EXPORTED name##suffix##_ptsz parameters { PerThreadStreams scope; VGPU_BODY(name, arguments) }
#define TILEWRIGHT_CUDA_FUNCTION(name, suffix, since, stream, parameters, arguments)                          \
  VGPU_EXPORTED name##suffix parameters { VGPU_BODY(name, arguments) }                             \
  VGPU_EXTRA_##stream(name, suffix, parameters, arguments)
#include "tilewright/cuda-api/Functions.def"
#undef TILEWRIGHT_CUDA_FUNCTION

#define VGPU_ADDRESS_none(name) nullptr
#define VGPU_ADDRESS_ptds(name) reinterpret_cast<void *>(&name##_ptds)
#define VGPU_ADDRESS_ptsz(name) reinterpret_cast<void *>(&name##_ptsz)
#define TILEWRIGHT_CUDA_FUNCTION(name, suffix, since, stream, parameters, arguments)                          \
  {#name, #name #suffix, since, reinterpret_cast<void *>(&name##suffix), VGPU_ADDRESS_##stream(name##suffix)},
// clang-format on

std::span<const Export> exports() {
  static const Export table[] = {
#include "tilewright/cuda-api/Functions.def"
      // Since CUDA 12.0 the name cuGraphInstantiate means the function with flags.
      {"cuGraphInstantiate", "cuGraphInstantiateWithFlags", 12000,
       reinterpret_cast<void *>(&cuGraphInstantiateWithFlags), nullptr},
  };
  return table;
}

} // namespace tilewright::vgpu::driver
