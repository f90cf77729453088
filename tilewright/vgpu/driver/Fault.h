// What a person sees when a kernel makes this process touch memory that it has not.
#ifndef TILEWRIGHT_VGPU_DRIVER_FAULT_H
#define TILEWRIGHT_VGPU_DRIVER_FAULT_H

#include <string_view>

namespace tilewright::vgpu::driver {

/// While it lives, a SIGSEGV or SIGBUS is told with the name of the kernel before it takes
/// its usual way. Kernels use the host's memory under its own addresses, so a wild
/// pointer of theirs is one of the process.
class RunningKernel {
public:
  explicit RunningKernel(std::string_view name);
  ~RunningKernel();
  RunningKernel(const RunningKernel &) = delete;

private:
  int slot;
};

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_FAULT_H
