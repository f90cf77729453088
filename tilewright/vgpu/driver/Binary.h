// What a module comes in: PTX text, or a container that holds PTX.
#ifndef TILEWRIGHT_VGPU_DRIVER_BINARY_H
#define TILEWRIGHT_VGPU_DRIVER_BINARY_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Chip.h"

#include <cstddef>
#include <span>
#include <string>

namespace tilewright::vgpu::driver {

/// The PTX of an image that fits the chip best.
///  - vgpuBinary: the image is damaged, or nothing that is known.
///  - vgpuMachineCode: it has code, but no PTX for this chip.
Result<std::string> ptxOf(std::span<const std::byte> image, const machine::Chip &chip);

/// The size of an image that begins at `image`, as its own header says it; of text, up to
/// its zero. Follows the pointer of a wrapper of nvcc, so `image` must be trusted as far
/// as any argument of the driver is.
///  - vgpuBinary: it is nothing that is known.
Result<std::span<const std::byte>> wholeImage(const void *image);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_BINARY_H
