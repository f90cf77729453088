// The formats of a module image: PTX text, or a container with PTX.
#ifndef TILEWRIGHT_VGPU_DRIVER_MODULE_BINARY_H
#define TILEWRIGHT_VGPU_DRIVER_MODULE_BINARY_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Chip.h"

#include <cstddef>
#include <span>
#include <string>

namespace tilewright::vgpu::driver {

/// The PTX in an image that fits the chip best.
///  - vgpuBinary: the image is damaged, or its format is unknown.
///  - vgpuMachineCode: the image has code, but no PTX for this chip.
Result<std::string> ptxOf(std::span<const std::byte> image, const machine::Chip &chip);

/// The bytes of the image that begins at `image`. The header of the image gives its size; a text
/// ends at its terminating zero. Follows the pointer in nvcc's wrapper, so `image` must be trusted,
/// like every pointer that a program passes to the driver.
///  - vgpuBinary: the format is unknown.
Result<std::span<const std::byte>> wholeImage(const void *image);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_MODULE_BINARY_H
