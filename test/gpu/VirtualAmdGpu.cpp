#include "test/gpu/VirtualAmdGpu.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/execute/Launch.h"
#include "tilewright/vgpu/check/Checker.h"

#include <algorithm>

namespace tilewright::amdgcn {

namespace execute = vgpu::amdgcn;

VirtualAmdGpu::VirtualAmdGpu() = default;
VirtualAmdGpu::~VirtualAmdGpu() = default;

std::string VirtualAmdGpu::load(const GpuCode &code) {
  for (const gpu::KernelInfo &kernel : code.kernels)
    kernels[kernel.name] = kernel;
  if (code.object.empty())
    return "";
  auto loaded = execute::LoadedObject::load(std::as_bytes(std::span(code.object)));
  if (!loaded.isOk())
    return std::move(loaded).takeStatus().toString();
  object = *std::move(loaded);
  return "";
}

std::string VirtualAmdGpu::run(const std::string &name, const std::vector<void *> &buffers,
                               int completion, uint64_t seed) {
  const gpu::KernelInfo &kernel = kernels.at(name);
  // Nothing to compute: the driver skips such a launch, too.
  if (std::ranges::find(kernel.grid, 0) != kernel.grid.end())
    return "";
  execute::LaunchConfig config;
  for (size_t i = 0; i < 3; ++i)
    config.grid[i] = static_cast<uint32_t>(kernel.grid[i]);
  config.block = {static_cast<uint32_t>(kernel.threads), 1, 1};
  config.dynamicLdsBytes = static_cast<uint32_t>(kernel.sharedBytes);
  config.completion = completion == 0   ? execute::Completion::eager
                      : completion == 1 ? execute::Completion::latest
                                        : execute::Completion::seeded;
  config.seed = seed;
  vgpu::check::Checker checker(*vgpu::check::Options::parse("all"));
  config.observer = &checker;
  const Status status =
      execute::launch(*object, kernel.symbol, config, std::as_bytes(std::span(buffers)));
  if (!status.isOk())
    return concat("launch of ", kernel.symbol, ": ", status.toString());
  return checker.report().isEmpty() ? "" : checker.report().text();
}

} // namespace tilewright::amdgcn
