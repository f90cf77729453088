// The layout of wgmma's matrices in shared memory.
#ifndef TILEWRIGHT_VGPU_MACHINE_MATRIX_MATRIXDESCRIPTOR_H
#define TILEWRIGHT_VGPU_MACHINE_MATRIX_MATRIXDESCRIPTOR_H

#include <cstdint>

namespace tilewright::vgpu::machine {

/// A matrix in shared memory, as described by its descriptor.
struct MatrixDescriptor {
  explicit MatrixDescriptor(uint64_t bits)
      : start(static_cast<uint32_t>(bits & 0x3fff) << 4),
        leading(static_cast<uint32_t>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<uint32_t>(bits >> 32 & 0x3fff) << 4),
        baseOffset(static_cast<uint32_t>(bits >> 49 & 7)),
        swizzle(static_cast<uint32_t>(bits >> 62)) {}

  uint32_t start, leading, stride, baseOffset;
  uint32_t swizzle; // 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes

  uint32_t span() const { return swizzle == 1 ? 128 : swizzle == 2 ? 64 : swizzle == 3 ? 32 : 16; }
  uint32_t swizzled(uint32_t address) const {
    const uint32_t bits = swizzle == 1 ? 0x70 : swizzle == 2 ? 0x30 : swizzle == 3 ? 0x10 : 0;
    return address ^ ((address >> 3) & bits);
  }
  /// The address of element (row, k); `bytes` is the size of an element.
  uint32_t addressOf(uint32_t row, uint32_t k, uint32_t bytes, bool isTransposed) const {
    return swizzled(unswizzled(row, k, bytes, isTransposed));
  }
  /// The address before swizzling: `start`, a distance that depends on the row, and one that
  /// depends on k.
  uint32_t unswizzled(uint32_t row, uint32_t k, uint32_t bytes, bool isTransposed) const {
    const uint32_t per = 16 / bytes;
    if (!isTransposed) {
      const uint32_t chunk = k / per, rest = (k % per) * bytes;
      if (swizzle == 0)
        return start + row / 8 * stride + row % 8 * 16 + chunk * leading + rest;
      return start + row / 8 * stride + row % 8 * span() + chunk * 16 + rest;
    }
    const uint32_t chunk = row / per, rest = (row % per) * bytes, wide = span() / 16;
    if (swizzle == 0)
      return start + chunk * stride + k % 8 * 16 + k / 8 * leading + rest;
    return start + chunk / wide * leading + chunk % wide * 16 + k % 8 * span() + k / 8 * stride +
           rest;
  }
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MATRIX_MATRIXDESCRIPTOR_H
