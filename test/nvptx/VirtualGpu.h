// For tests: runs kernels on the virtual GPU, with every check on.
#ifndef TEST_NVPTX_VIRTUALGPU_H
#define TEST_NVPTX_VIRTUALGPU_H

#include "tilewright/target/nvptx/GenerateCode.h"
#include "tilewright/vgpu/include/tilewright_vgpu.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::nvptx {

/// The kernels of a module, loaded.
class VirtualGpu {
public:
  /// Returns what is wrong, or "".
  std::string load(const GpuCode &code, const std::string &chip);

  /// Runs the kernel that has this name in the module. Asynchronous copies and products complete at
  /// once (completion 0), as late as possible (1) or at random (2). Returns what went wrong or what
  /// the checks found, or "".
  std::string run(const std::string &name, const std::vector<void *> &buffers, int completion,
                  uint64_t seed);

private:
  struct Unload {
    void operator()(tilewright_vgpu_module *module) const { tilewright_vgpu_unload(module); }
  };
  std::unique_ptr<tilewright_vgpu_module, Unload> module;
  std::map<std::string, KernelInfo> kernels;
};

} // namespace tilewright::nvptx

#endif // TEST_NVPTX_VIRTUALGPU_H
