#include "tilewright/vgpu/driver/Binary.h"

#include "tilewright/support/Concat.h"

#include <cstring>

namespace tilewright::vgpu::driver {

Result<std::string> ptxOf(std::span<const std::byte> image, const machine::Chip &chip) {
  return std::string(reinterpret_cast<const char *>(image.data()),
                     strnlen(reinterpret_cast<const char *>(image.data()), image.size()));
}

Result<std::span<const std::byte>> wholeImage(const void *image) {
  return std::span(static_cast<const std::byte *>(image),
                   std::strlen(static_cast<const char *>(image)));
}

} // namespace tilewright::vgpu::driver
