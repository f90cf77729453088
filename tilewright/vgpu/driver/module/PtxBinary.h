// A module of PTX.
#ifndef TILEWRIGHT_VGPU_DRIVER_MODULE_PTXBINARY_H
#define TILEWRIGHT_VGPU_DRIVER_MODULE_PTXBINARY_H

#include "tilewright/vgpu/driver/module/Module.h"
#include "tilewright/vgpu/machine/LoadedModule.h"

namespace tilewright::vgpu::driver {

/// The properties of a kernel that ptxas reported, if it ran for validation.
struct PtxasFacts {
  uint32_t registers = 0; // 0: not known
  uint32_t spillBytes = 0;
};

struct PtxBinary final : LoadedBinary {
  /// `text` is the PTX of the module, with the properties that our ptxas appended.
  PtxBinary(Device &device, std::unique_ptr<machine::LoadedModule> module, std::string_view text);
  ~PtxBinary() override { dropVariables(); }

  std::vector<std::string> kernelNames() const override;
  CUresult describe(std::string_view name, Function &function) override;
  Result<std::span<std::byte>> variable(std::string_view name) override;
  CUresult check(const KernelWork &work) const override;
  Status launch(Context &context, const KernelWork &work, const std::atomic<bool> &stop) override;

  const std::unique_ptr<machine::LoadedModule> module;

private:
  uint32_t registersOf(const machine::Program &program) const;

  const std::map<std::string, PtxasFacts, std::less<>> facts;
};

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_MODULE_PTXBINARY_H
