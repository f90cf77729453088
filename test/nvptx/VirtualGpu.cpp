#include "test/nvptx/VirtualGpu.h"

#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/testing/Launches.h"

namespace tilewright::nvptx {

static std::string take(char *text) {
  std::string copy = text ? text : "";
  tilewright_vgpu_free_error(text);
  return copy;
}

std::string VirtualGpu::load(const GpuCode &code, const std::string &chip) {
  char *error = nullptr;
  module.reset(tilewright_vgpu_load(code.ptx.c_str(), chip.c_str(), &error));
  for (const KernelInfo &kernel : code.kernels)
    kernels[kernel.name] = kernel;
  return take(error);
}

std::string VirtualGpu::run(const std::string &name, const std::vector<void *> &buffers,
                            int completion, uint64_t seed) {
  const KernelInfo &kernel = kernels.at(name);
  // Nothing to compute: the driver skips such a launch, too.
  if (llvm::is_contained(kernel.grid, 0))
    return "";
  tilewright_vgpu_config config = {};
  for (size_t i = 0; i < 3; ++i) {
    config.grid[i] = static_cast<uint32_t>(kernel.grid[i]);
    if (kernel.cluster != std::array<int64_t, 3>{1, 1, 1})
      config.cluster[i] = static_cast<uint32_t>(kernel.cluster[i]);
  }
  config.block[0] = static_cast<uint32_t>(kernel.threads);
  config.block[1] = config.block[2] = 1;
  config.dynamic_shared_bytes = static_cast<uint32_t>(kernel.sharedBytes);
  config.completion = completion;
  config.seed = seed;
  std::vector<const void *> arguments;
  for (void *const &buffer : buffers)
    arguments.push_back(&buffer);
  size_t findings = 0;
  char *report = nullptr, *error = nullptr;
  std::vector<std::unique_ptr<tile::GuardedMemory>> maps;
  for (const TensorMapInfo &map : kernel.tensorMaps) {
    maps.push_back(std::make_unique<tile::GuardedMemory>(128));
    std::vector<uint64_t> dims(map.dims.begin(), map.dims.end());
    std::vector<uint64_t> strides(map.byteStrides.begin(), map.byteStrides.end());
    std::vector<uint32_t> box(map.box.begin(), map.box.end()),
        steps(map.elementStrides.begin(), map.elementStrides.end());
    // Values of CUtensorMapDataType: only the size of elements matters here, and that tf32 rounds.
    const uint32_t element = map.elementType.isF16()    ? 6
                             : map.elementType.isBF16() ? 9
                             : map.elementType.isF32()  ? 7
                             : map.elementType.isTF32() ? 11
                                                        : 0;
    if (tilewright_vgpu_encode_tensor_map(
            maps.back()->data, element, static_cast<uint32_t>(dims.size()),
            buffers[static_cast<size_t>(map.argument)], dims.data(), strides.data(), box.data(),
            steps.data(), /*swizzle=*/map.swizzleBytes == 64 ? 2 : 3, 0, &error) != 0)
      return concat("a tensor map of ", kernel.symbol, ": ", take(error));
    arguments.push_back(maps.back()->data);
  }
  if (tilewright_vgpu_launch_checked(module.get(), kernel.symbol.c_str(), &config, arguments.data(),
                                     arguments.size(), "all", "text", &findings, &report,
                                     &error) != 0)
    return concat("launch of ", kernel.symbol, ": ", take(error));
  const std::string found = take(report);
  return findings ? found : "";
}

} // namespace tilewright::nvptx
