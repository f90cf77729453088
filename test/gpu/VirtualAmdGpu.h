// For tests: runs kernels on a virtual GPU of AMD, with every check on.
#ifndef TEST_GPU_VIRTUALAMDGPU_H
#define TEST_GPU_VIRTUALAMDGPU_H

#include "tilewright/target/amdgcn/GenerateCode.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::vgpu::amdgcn {
class LoadedObject;
}

namespace tilewright::amdgcn {

/// The kernels of a module, loaded.
class VirtualAmdGpu {
public:
  VirtualAmdGpu();
  ~VirtualAmdGpu();
  /// Returns what is wrong, or "".
  std::string load(const GpuCode &code);

  /// Runs the kernel that has this name in the module. Memory operations complete at once
  /// (completion 0), as late as possible (1) or at random (2). Returns what went wrong or what the
  /// checks found, or "".
  std::string run(const std::string &name, const std::vector<void *> &buffers, int completion,
                  uint64_t seed);

private:
  std::unique_ptr<vgpu::amdgcn::LoadedObject> object;
  std::map<std::string, gpu::KernelInfo> kernels;
};

} // namespace tilewright::amdgcn

#endif // TEST_GPU_VIRTUALAMDGPU_H
