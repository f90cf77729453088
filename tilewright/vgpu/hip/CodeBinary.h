// A module with AMD machine code.
#ifndef TILEWRIGHT_VGPU_HIP_CODEBINARY_H
#define TILEWRIGHT_VGPU_HIP_CODEBINARY_H

#include "tilewright/vgpu/amdgcn/execute/Program.h"
#include "tilewright/vgpu/driver/module/Module.h"

namespace tilewright::vgpu::hip {

struct CodeBinary final : driver::LoadedBinary {
  CodeBinary(driver::Device &device, std::unique_ptr<amdgcn::LoadedObject> object);
  ~CodeBinary() override { dropVariables(); }

  std::vector<std::string> kernelNames() const override;
  /// - CUDA_ERROR_NOT_SUPPORTED: the kernel contains an instruction that cannot be executed. The
  ///   instruction's name is printed and listed in the summary of the run.
  cuda_api::CUresult describe(std::string_view name, driver::Function &function) override;
  Result<std::span<std::byte>> variable(std::string_view name) override;
  cuda_api::CUresult check(const driver::KernelWork &work) const override;
  Status launch(driver::Context &context, const driver::KernelWork &work,
                const std::atomic<bool> &stop) override;

private:
  const std::unique_ptr<amdgcn::LoadedObject> object;
};

/// The number of workgroups of `threads` work-items that fit on a compute unit, limited by
/// registers, waves and LDS.
unsigned residentBlocks(const driver::Function &function, unsigned threads, size_t dynamicLds);

} // namespace tilewright::vgpu::hip

#endif // TILEWRIGHT_VGPU_HIP_CODEBINARY_H
