#include "tilewright/vgpu/machine/CApiModule.h"
#include "tilewright/vgpu/machine/async/TensorMap.h"

#include <cstdlib>
#include <cstring>

using namespace tilewright;
using namespace tilewright::vgpu::machine;

namespace tilewright::vgpu::machine {

char *handOver(const std::string &text) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (copy)
    std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

int handOver(const Status &status, char **error) {
  if (!status.isOk() && error)
    *error = handOver(status.toString());
  return static_cast<int>(status.code());
}

LaunchConfig launchConfigOf(const tilewright_vgpu_config &config) {
  LaunchConfig launched;
  for (int i = 0; i < 3; ++i) {
    launched.grid[i] = config.grid[i];
    launched.block[i] = config.block[i];
    launched.cluster[i] = config.cluster[i];
  }
  launched.dynamicSharedBytes = config.dynamic_shared_bytes;
  launched.cooperative = config.cooperative != 0;
  launched.arithmetic = config.hopper_arithmetic ? Arithmetic::hopper : Arithmetic::exact;
  launched.completion = config.completion == 1   ? Completion::latest
                        : config.completion == 2 ? Completion::seeded
                                                 : Completion::eager;
  launched.seed = config.seed;
  return launched;
}

} // namespace tilewright::vgpu::machine

tilewright_vgpu_module *tilewright_vgpu_load(const char *text, const char *chip, char **error) {
  Result<std::unique_ptr<LoadedModule>> module = LoadedModule::create(text, chip);
  if (!module.isOk()) {
    handOver(std::move(module).takeStatus(), error);
    return nullptr;
  }
  return new tilewright_vgpu_module{*std::move(module)};
}

void tilewright_vgpu_unload(tilewright_vgpu_module *module) { delete module; }

int tilewright_vgpu_launch(tilewright_vgpu_module *module, const char *kernel,
                           const tilewright_vgpu_config *config, const void *const *arguments,
                           size_t argument_count, char **error) {
  LaunchConfig launched = launchConfigOf(*config);
  std::optional<ThreadPool> pool;
  if (config->threads > 1) {
    pool.emplace(config->threads);
    launched.pool = &*pool;
  }
  return handOver(launch(*module->module, kernel, launched, std::span(arguments, argument_count)),
                  error);
}

void *tilewright_vgpu_variable(tilewright_vgpu_module *module, const char *name, size_t *bytes) {
  Result<std::span<std::byte>> found = module->module->variable(name);
  if (!found.isOk())
    return nullptr;
  if (bytes)
    *bytes = found->size();
  return found->data();
}

int tilewright_vgpu_encode_tensor_map(void *map, uint32_t element, uint32_t rank, void *address,
                                      const uint64_t *sizes, const uint64_t *strides,
                                      const uint32_t *box, const uint32_t *element_strides,
                                      uint32_t swizzle, int fill_nan, char **error) {
  if (rank < 1 || rank > 5 || element > static_cast<uint32_t>(TensorElement::u6Padded) ||
      swizzle > static_cast<uint32_t>(TensorSwizzle::atoms64))
    return handOver(
        Status(Code::invalidArgument,
               "a tensor map must have 1 to 5 dimensions, an element type of 0 to 15 and a "
               "swizzle of 0 to 6"),
        error);
  TensorMap encoded;
  encoded.address = reinterpret_cast<uint64_t>(address);
  encoded.rank = rank;
  encoded.element = static_cast<TensorElement>(element);
  encoded.swizzle = static_cast<TensorSwizzle>(swizzle);
  encoded.fillsNan = fill_nan != 0;
  for (uint32_t i = 0; i < rank; ++i) {
    encoded.size[i] = sizes[i];
    encoded.box[i] = box[i];
    encoded.step[i] = element_strides ? element_strides[i] : 1;
    encoded.stride[i] = i == 0 ? 0 : strides[i - 1];
  }
  if (Status status = encoded.check(); !status.isOk())
    return handOver(status, error);
  encoded.encode(static_cast<std::byte *>(map));
  return 0;
}

void tilewright_vgpu_free_error(char *error) { std::free(error); }
